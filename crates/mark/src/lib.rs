//! The mark of a program that works only on a limited number of CPUs, as the bit "single processor
//! only" in the header of OS/2's programs.
//!
//! The mark is an extended attribute of the file (`attribute`). A registry also names each marked
//! file (`registry`), because a replaced file has no attribute any more. `enforcement` watches the
//! starts of marked programs in the whole system. This crate starts nothing and prints nothing.

mod attribute;
mod caller;
mod cpus;
mod enforcement;
mod registry;

pub use attribute::{MarkError, clear, read, write};
pub use caller::{FileId, executes_script_by};
pub use cpus::launch_cpus;
pub use enforcement::{Enforcement, EnforcementError, Problem, Start};
pub use registry::{FileState, Registry, RegistryError, state};
