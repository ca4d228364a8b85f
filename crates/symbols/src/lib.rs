//! Names of the functions and variables in the files that a traced process had mapped, the callers
//! of functions by the unwind tables of these files, and names of the functions that the process
//! generated and of the kernel's functions.
//!
//! [`Symbolizer`] reads the files and answers by their offsets. `elf` knows the segments, the build
//! identifier and the unwind table of a file; symbols and lines come from `blazesym`, and the
//! functions of Go without symbols from `go_functions`; `name` writes a symbol as its source
//! language does. [`Unwinder`] turns copies of stack memory into stacks.
//! [`KernelSymbols`] has the functions of the kernel, and [`PerfMap`] those that a process
//! generated at run time. [`DebuginfodClient`] fetches debug files from servers. `namespace`
//! locates the files of other mount namespaces while their processes live, and `vdso` has the code
//! that the kernel maps. `definitions` finds functions by their names, for probes. This crate knows
//! modules and no traces: it must not locate addresses in processes, decide or print.
//!
//! A name is given only where a symbol contains the place. The nearest symbol before it is another
//! function in a stripped file.
#![forbid(unsafe_code)]

mod debuginfod;
mod definitions;
mod elf;
mod error;
mod go_functions;
mod kernel;
mod name;
mod namespace;
mod perf_map;
mod reader_panic;
mod symbolizer;
mod unwinder;
mod vdso;

pub use debuginfod::{DebuginfodClient, FetchError};
pub use definitions::{dynamic_linker, function_offsets};
pub use error::SymbolError;
pub use kernel::KernelSymbols;
pub use name::source_name;
pub use namespace::locate_in_other_namespace;
pub use perf_map::PerfMap;
pub use symbolizer::{DebugFile, Symbolizer};
pub use unwinder::{MappedFiles, Stack, Unwinder, UserRegisters};
