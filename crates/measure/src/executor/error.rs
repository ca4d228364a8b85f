//! Reasons for which a run could not be made.

use std::io;

use super::{HookError, MetricError};
use crate::cold::ColdError;
use crate::input::InputError;
use crate::observer::ObserverError;
use crate::program::ProgramError;
use crate::spawn::SpawnError;
use morecores_machine::limit::LimitError;

/// Reason for which a run could not be made. A command that ran and failed is not an error of this
/// type.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The command does not exist, or cannot be executed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The CPUs could not be allotted.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The cache could not be emptied.
    #[error(transparent)]
    Cold(#[from] ColdError),
    /// A command around the runs failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The run could not be observed, and was not made.
    #[error(transparent)]
    Observer(#[from] ObserverError),
    /// The expression of a metric is invalid.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The command cannot get its input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Reason given by the system.
        error: io::Error,
    },
}
