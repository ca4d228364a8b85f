//! Prediction errors for the tuning programs of the corpus. The exit status is 1 if a target is
//! missed, for continuous integration:
//!
//!     cargo run --release -p morecores-predict --example corpus_score [-- more varied each]
//!
//! `more` takes further programs, `varied` those with the features of `corpus::features` instead,
//! without a target, and `each` prints every prediction.
#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/ratio_score/mod.rs"]
mod ratio_score;
#[path = "../tests/score/mod.rs"]
mod score;

use std::process::ExitCode;

fn main() -> ExitCode {
    let has_argument = |word: &str| std::env::args().any(|argument| argument == word);
    let seeds = if has_argument("more") { corpus::MORE_TUNING } else { corpus::TUNING };
    if has_argument("varied") {
        let outcomes = score::predict_varied_programs(seeds);
        for outcome in outcomes.iter().filter(|_| has_argument("each")) {
            println!("{}", outcome.render_line());
        }
        ratio_score::print_table("varied programs", &[("tuning", outcomes)]);
        return ExitCode::SUCCESS;
    }
    if score::score_corpus(seeds, has_argument("each")) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
