//! Reasons why a module or the kernel has no names.

/// Reason why a module or the kernel has no names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// The code has no file: the vDSO, or code generated at run time.
    #[error("{name} is no file")]
    NoFile {
        /// Name that the kernel gave to the code.
        name: String,
    },
    /// The file cannot be read now.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// Path of the module.
        path: String,
        /// Reason of the failure.
        why: String,
    },
    /// The file is not the one that was mapped.
    #[error("{path} was replaced during the run")]
    Replaced {
        /// Path of the module.
        path: String,
    },
    /// The kernel hides the addresses of its functions from this process.
    #[error("the kernel hides their addresses; run as root with kernel.kptr_restrict below 2")]
    HiddenKernel,
}
