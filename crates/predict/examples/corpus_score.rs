//! Prediction errors for the tuning programs of the corpus. The exit status is 1 if a target is
//! missed, for continuous integration:
//!
//!     cargo run --release -p morecores-predict --example corpus_score [-- more each]

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/score/mod.rs"]
mod score;

use std::process::ExitCode;

fn main() -> ExitCode {
    let has_argument = |word: &str| std::env::args().any(|argument| argument == word);
    let seeds = if has_argument("more") { corpus::MORE_TUNING } else { corpus::TUNING };
    if score::score_corpus(seeds, has_argument("each")) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
