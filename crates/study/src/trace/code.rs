//! Code that the traced processes ran: the files in their address spaces, and the functions of
//! these files. The functions are named right after the run, while the files are as they were.

use serde::{Deserialize, Serialize};

/// File that processes mapped as code, code without a file, or the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path in the mount namespace of the process; a name such as `[vdso]` for code without a file;
    /// [`Module::KERNEL`] for the kernel.
    pub path: String,
    /// Build identifier of the linker (`.note.gnu.build-id`) in hexadecimal, as the kernel read it
    /// at the mapping; absent if the file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

impl Module {
    /// Path that stands for the kernel with its modules.
    pub const KERNEL: &str = "[kernel]";

    /// The kernel. Offsets in it are addresses.
    pub fn kernel() -> Self {
        Self { path: Self::KERNEL.to_owned(), build_id: None }
    }

    /// Whether the module is a file that had a path when it was mapped. Names such as `[vdso]` and
    /// `//anon` are no paths, and `/memfd:` is no file. The kernel appends ` (deleted)` to the path
    /// of a file that had none left.
    pub fn has_path(&self) -> bool {
        let path = &self.path;
        let is_path = path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/memfd:");
        is_path && !path.ends_with(" (deleted)")
    }

    /// Whether the module is memory in which processes put code that they generate at run time:
    /// anonymous memory, a heap, or a file that exists only in memory.
    pub fn is_generated(&self) -> bool {
        matches!(self.path.as_str(), "//anon" | "[heap]") || self.path.starts_with("/memfd:")
    }
}

/// Place of an instruction in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodeAddress {
    /// Index of the module in [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
    /// Offset in the file, in bytes; the address of code in the kernel.
    pub offset: u64,
}

/// Frame of a user stack. The frames of a trace form a forest: stacks with the same callers share
/// their frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Number of the frame in the trace.
    pub number: u32,
    /// Number of the caller's frame; `None` for the outermost known frame.
    pub caller: Option<u32>,
    /// Last byte of the call, or the next instruction in the frame that was running.
    pub code: CodeAddress,
}

/// Function of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Index of the module in [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
    /// Offset of the first byte in the module's file.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// Demangled name; absent if the file names no function there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Place in the source code, if the file or its debug file has line numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
}

/// Function that a process generated at run time, as a compiler for an interpreted language does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedFunction {
    /// Process that generated the function for itself.
    pub process: super::Tid,
    /// Index of the memory with the function in
    /// [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
    /// Offset of the first byte in the memory. For anonymous memory and heaps it is the address in
    /// the process.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// Name from the runtime of the language.
    pub name: String,
}

/// Variable of a module that a thread waited for or took: a lock of the program's own, most often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Process with the variable.
    pub process: super::Tid,
    /// Address of the futex or the lock.
    pub address: u64,
    /// Index of the module in [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
    /// Demangled name.
    pub name: String,
    /// Offset of the address in the variable, in bytes.
    pub offset: u64,
}

/// Line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// Path as the compiler recorded it.
    pub file: String,
    /// Number of the line, from 1.
    pub line: u32,
}

/// Mapping of code into the address space of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Process that has the mapping.
    pub process: super::Tid,
    /// Address of the first byte.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset of the first byte in the module's file.
    pub offset: u64,
    /// Index of the module in [`TraceFacts::modules`](super::TraceFacts::modules).
    pub module: u32,
}

impl Mapping {
    /// Address after the last byte.
    pub const fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }
}
