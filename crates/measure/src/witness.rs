//! What watches a run from just before its process is made to just after its main process has ended: a tracer.
//!
//! Only the shape. This crate knows nothing of tracing, so that the machine can be measured without what a tracer
//! needs; whoever has one hands it in.

use std::error::Error;

use morecores_study::{Nanos, Point};

use crate::executor::Outcome;

/// Watches one run at a time.
pub trait Witness {
    /// The process of a run is about to be made, by the calling thread. Caches have been dropped and `--prepare` has
    /// ended: nothing of that is to be watched. Where the program has to be started by other means, as a script
    /// without `#!` has, this is called again for the next attempt, after [`ended`](Self::ended) for the one before.
    ///
    /// # Errors
    /// Where it cannot watch; the run is then not made.
    fn begins(&mut self, point: &Point) -> Result<(), WitnessError>;

    /// The main process has ended; what outlived it may still run. Called once after each successful `begins`, also
    /// where no process could be made.
    ///
    /// # Errors
    /// Where what was seen cannot be kept; the run is as good as any.
    fn ended(&mut self) -> Result<(), WitnessError>;
}

/// Why a run could not be watched, in the witness's own words.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WitnessError(Box<dyn Error + Send + Sync>);

impl WitnessError {
    /// From whatever the witness failed with.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// A run that was watched.
#[derive(Debug)]
pub struct Witnessed {
    /// The run, accounted for like any other.
    pub outcome: Outcome,
    /// `CLOCK_MONOTONIC` at the main process's exec.
    pub began: Nanos,
    /// The same when it had ended.
    pub ended: Nanos,
    /// What came of the watching.
    pub watched: Result<(), WitnessError>,
}

/// Watches nothing: for the runs that are timed.
#[derive(Debug)]
pub(crate) struct Nobody;

impl Witness for Nobody {
    fn begins(&mut self, _: &Point) -> Result<(), WitnessError> {
        Ok(())
    }

    fn ended(&mut self) -> Result<(), WitnessError> {
        Ok(())
    }
}
