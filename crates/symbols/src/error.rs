//! Reasons why a module or the kernel has no names.

/// Reason why a module or the kernel has no names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// The code has no file, as that of the vDSO.
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
    /// A debug file is that of another file.
    #[error("{path} has another build identifier")]
    OtherBuildId {
        /// Path of the debug file.
        path: String,
    },
    /// A process generated code and wrote no map of it.
    #[error("code generated at run time needs a map of its functions in /tmp/perf-PID.map")]
    NoMap,
    /// The map of generated code is not to be trusted.
    #[error("{path} is not used: {why}")]
    RefusedMap {
        /// Path of the map.
        path: String,
        /// Reason of the refusal.
        why: &'static str,
    },
    /// The kernel hides the addresses of its functions from this process.
    #[error("the kernel hides their addresses; run as root with kernel.kptr_restrict below 2")]
    HiddenKernel,
}
