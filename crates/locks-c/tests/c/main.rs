//! Tests of the lock library as C programs use it: the header matches the library; the example
//! builds and succeeds with every way of linking; the race checkers find no fault in the library
//! and every fault of a faulty program.
#![allow(clippy::expect_used, reason = "a test may panic")]

mod build;
mod checkers;
mod example;
mod header;
