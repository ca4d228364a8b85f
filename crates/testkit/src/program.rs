//! Small programs of tests: shell scripts, C programs compiled on demand, and how a program starts.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Executable file in a temporary directory of its own, which is removed on drop.
#[derive(Debug)]
pub struct CProgram {
    /// Temporary directory, kept for its removal on drop.
    _home: tempfile::TempDir,
    binary: PathBuf,
}

impl CProgram {
    /// Compiles `text`, with threads, by the C compiler that Rust links with. `name` names the
    /// program.
    ///
    /// # Panics
    /// Panics if the program does not compile without a warning.
    pub fn compile(name: &str, text: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let binary = home.path().join(name);
        // The compiler reads the text from a pipe, because the test's user may not reach the
        // source.
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

    /// Returns the path of the executable file.
    pub fn path(&self) -> &Path {
        &self.binary
    }
}

/// Writes an executable file. A shell writes it, because a test has threads that fork. A fork that
/// holds the file open for writing prevents its execution (ETXTBSY).
///
/// # Panics
/// Panics if the file cannot be written.
pub fn write_script(path: &Path, text: &str) {
    let status = Command::new("sh")
        .args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .arg(text)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "cannot write {}", path.display());
}

/// Starts `command` with the default effect of the signals that end a program. A shell ignores
/// SIGINT and SIGQUIT for the programs that it starts in the background, `nohup` ignores SIGHUP,
/// and a program inherits this from the tests. The standard library empties the signal mask.
pub fn with_default_signals(command: &mut Command) -> &mut Command {
    const SIGNALS: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    let reset = || {
        for signal in SIGNALS {
            // SAFETY: `SIG_DFL` is a valid disposition, and `signal` is async-signal-safe.
            #[allow(unsafe_code)]
            if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `reset` calls only async-signal-safe functions and allocates
    // nothing.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(reset)
    }
}
