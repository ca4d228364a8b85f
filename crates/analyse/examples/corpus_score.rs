//! How far predictions for the programs of the corpus that are there for tuning are from the truth:
//!
//!     cargo run --release -p morecores-analyse --example corpus_score [-- more each]

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/score/mod.rs"]
mod score;

fn main() {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    let seeds = if asked("more") { corpus::MORE_TUNING } else { corpus::TUNING };
    score::of_corpus(seeds, asked("each"));
}
