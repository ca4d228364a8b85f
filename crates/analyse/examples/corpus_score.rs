//! How far predictions for the programs of the corpus that are there for tuning are from the truth:
//!
//!     cargo run --release -p morecores-analyse --example corpus_score [-- each]

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/score/mod.rs"]
mod score;

fn main() {
    score::of_corpus(corpus::TUNING, std::env::args().any(|argument| argument == "each"));
}
