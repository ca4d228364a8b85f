//! The lock library as C programs meet it: what the header says is what the library has; the example builds and ends well by every way
//! to link; the checkers of races find it clean, and find each fault of a wrong program.
#![allow(clippy::expect_used, reason = "a test may panic")]

mod built;
mod checkers;
mod example;
mod header;
