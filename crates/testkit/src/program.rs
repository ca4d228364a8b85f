//! Small C programs that tests trace, compiled when a test asks for them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An executable file in a directory of its own, which goes with it.
#[derive(Debug)]
pub struct CProgram {
    /// Held for its removal on drop.
    _home: tempfile::TempDir,
    binary: PathBuf,
}

impl CProgram {
    /// Compiles `text`, with threads, by the C compiler that Rust links with. The program is called `name`.
    ///
    /// # Panics
    /// A program that does not compile without a warning.
    pub fn compile(name: &str, text: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let binary = home.path().join(name);
        // From its text: the user of the test may not be able to reach the source.
        let mut cc = Command::new("cc")
            .args(["-O1", "-Wall", "-Werror", "-pthread", "-x", "c", "-o"])
            .arg(&binary)
            .arg("-")
            .stdin(Stdio::piped())
            .spawn()
            .expect("a C compiler");
        let mut source = cc.stdin.take().expect("it was piped");
        source.write_all(text.as_bytes()).expect("the compiler reads");
        drop(source);
        assert!(cc.wait().expect("a compiler").success(), "{name} does not compile");
        Self { _home: home, binary }
    }

    /// The executable file.
    pub fn path(&self) -> &Path {
        &self.binary
    }
}
