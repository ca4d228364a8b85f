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
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    let seeds = if asked("more") { corpus::MORE_TUNING } else { corpus::TUNING };
    if score::of_corpus(seeds, asked("each")) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
