//! Observer of a run, such as a tracer. It watches from just before the creation of the process to
//! just after the end of its main process.
//!
//! This module has only the interface. This crate knows nothing of tracing, so that it can measure
//! without the requirements of a tracer. The caller supplies the observer.

use std::error::Error;

use morecores_study::{Nanos, Point};

use crate::executor::Outcome;

/// Watches one run at a time.
pub trait RunObserver {
    /// Result of the watching.
    type Observation;

    /// Starts watching, just before the calling thread creates the process of a run. Caches have
    /// been dropped and `--prepare` has ended, and neither is to be observed.
    ///
    /// A program may have to be started by other means, for example a script without `#!`. Each
    /// further attempt then calls this method again, after [`on_end`](Self::on_end) for the
    /// previous attempt.
    ///
    /// # Errors
    /// The observer cannot watch; the run is then not made.
    fn on_begin(&mut self, point: &Point) -> Result<(), ObserverError>;

    /// Stops watching after the end of the main process; processes that outlived it may still run.
    /// Called once after each successful `begins`, even if no process could be created.
    ///
    /// # Errors
    /// The observations cannot be kept; the run itself is still valid.
    fn on_end(&mut self) -> Result<Self::Observation, ObserverError>;
}

/// Reason for which a run could not be observed, in the observer's own words.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ObserverError(Box<dyn Error + Send + Sync>);

impl ObserverError {
    /// Wraps the error of an observer.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// A run with its observation.
#[derive(Debug)]
pub struct ObservedRun<O> {
    /// The run, accounted for like any other.
    pub outcome: Outcome,
    /// `CLOCK_MONOTONIC` at the main process's exec.
    pub began: Nanos,
    /// `CLOCK_MONOTONIC` at the main process's end.
    pub ended: Nanos,
    /// Result of the watching.
    pub observed: Result<O, ObserverError>,
}

/// Observer that watches nothing, for timed runs.
#[derive(Debug)]
pub(crate) struct NoObserver;

impl RunObserver for NoObserver {
    type Observation = ();

    fn on_begin(&mut self, _: &Point) -> Result<(), ObserverError> {
        Ok(())
    }

    fn on_end(&mut self) -> Result<(), ObserverError> {
        Ok(())
    }
}
