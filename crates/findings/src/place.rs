//! Places of instructions: in a file, and as people read them. Types only.

use std::fmt;
use std::path::PathBuf;

use morecores_study::trace::SourceLine;
use serde::{Deserialize, Serialize};

/// Place of an instruction in a file that processes map as code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodePlace {
    /// Path of the file.
    pub file: PathBuf,
    /// Offset of the instruction's first byte in the file.
    pub offset: u64,
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.file.display(), self.offset)
    }
}

/// Instruction as people read it. A part that the file does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Name of the function.
    pub function: Option<String>,
    /// Line in the source code.
    pub source: Option<SourceLine>,
    /// Instruction in Intel's notation.
    pub instruction: Option<String>,
}

/// Stack of a thread, as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDescription {
    /// Number of the thread in its process, from 1, in the order of creation.
    pub thread: usize,
    /// Code of each frame, the innermost first.
    pub frames: Vec<Description>,
}

/// Thread that waits forever, as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitDescription {
    /// Number of the thread in its process, from 1, in the order of creation.
    pub thread: usize,
    /// Name of the lock or condition with the offset in it, if it is a variable of a file.
    pub lock: Option<String>,
    /// Number of the thread that holds it, if it is a mutex of glibc.
    pub holder: Option<usize>,
}
