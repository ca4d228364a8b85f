//! Catalogue of the suite: the classic benchmarks, the command line that measures each, and the
//! published results of each.
//!
//! This crate holds facts alone. It must not run a benchmark, know a study, or compare the facts
//! with anything.

mod benchmark;
mod published;

pub use benchmark::{Benchmark, BenchmarkPart, Measure, WORK};
pub use published::{Percentage, PublishedFacts, PublishedRow, PublishedSystem};
