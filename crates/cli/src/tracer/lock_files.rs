//! Files in which a command takes its locks: its program if it has no dynamic linker, else the
//! program and the libraries that its dynamic linker finds for it. This module starts the dynamic
//! linker, which lists the libraries, and not the program.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use morecores_symbols::dynamic_linker;

/// Longest first line of a script that the kernel reads, in bytes: `BINPRM_BUF_SIZE` of
/// include/uapi/linux/binfmts.h.
const FIRST_LINE: u64 = 256;
/// Largest number of scripts that the kernel follows to a program: fs/exec.c.
const SCRIPTS: usize = 5;

/// Files of the command with this program, in the order in which the dynamic linker searches them.
/// For a script, those of its interpreter.
pub(crate) fn lock_files(program: &Path) -> Result<Vec<PathBuf>> {
    let program = interpreted(program)?;
    let linker = dynamic_linker(&program).context("--locks exact")?;
    let Some(linker) = linker else { return Ok(vec![program]) };
    let libraries = list_libraries(&linker, &program)
        .with_context(|| format!("--locks exact: cannot list the libraries of {}", program.display()))?;
    Ok([program].into_iter().chain(libraries).collect())
}

/// Program that runs a file: the interpreter of a script, `/bin/sh` for a text without one, else
/// the file itself.
fn interpreted(file: &Path) -> Result<PathBuf> {
    let mut program = file.to_owned();
    for _ in 0..SCRIPTS {
        let mut head = Vec::new();
        let reading = || format!("--locks exact: cannot read {}", program.display());
        let file = File::open(&program).with_context(reading)?;
        file.take(FIRST_LINE).read_to_end(&mut head).with_context(reading)?;
        if head.starts_with(b"\x7fELF") {
            break;
        }
        program = script_interpreter(&head).unwrap_or_else(|| PathBuf::from("/bin/sh"));
    }
    Ok(program)
}

/// Interpreter in the first line of a script.
fn script_interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    (!word.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(word)))
}

/// Libraries of a program, as its dynamic linker finds them in the environment of this process.
/// glibc's and musl's have the option.
fn list_libraries(linker: &Path, program: &Path) -> Result<Vec<PathBuf>> {
    // Without a slash the linker would take the name for that of a library.
    let program = program.canonicalize()?;
    let output = Command::new(linker).arg("--list").arg(program).stdin(Stdio::null()).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", linker.display(), error.trim());
    Ok(output.stdout.split(|byte| *byte == b'\n').filter_map(listed_file).collect())
}

/// File in a line of the list: `NAME => FILE (ADDRESS)` or `FILE (ADDRESS)`.
fn listed_file(line: &[u8]) -> Option<PathBuf> {
    let line = line.trim_ascii();
    let arrow = line.windows(4).position(|part| part == b" => ").map_or(0, |at| at + 4);
    let file = line[arrow..].strip_suffix(b")")?;
    let end = file.windows(2).rposition(|part| part == b" (")?;
    let file = &file[..end];
    file.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_a_dynamic_linker_is_read() {
        let file = |line: &str| listed_file(line.as_bytes());
        assert_eq!(file("\tlinux-vdso.so.1 (0x00007fe0dda5a000)"), None);
        assert_eq!(file("\tlibc.so.6 => /lib/libc.so.6 (0x00007fe0dd738000)"), Some("/lib/libc.so.6".into()));
        assert_eq!(file("\t/lib64/ld-linux.so.2 (0x00007fe0dda5c000)"), Some("/lib64/ld-linux.so.2".into()));
        assert_eq!(
            file("\tlibx.so => /opt/a (b) => c/libx.so (0x1)"),
            Some("/opt/a (b) => c/libx.so".into())
        );
        assert_eq!(file("\tlibgone.so.1 => not found"), None);
        assert_eq!(file(""), None);
    }

    #[test]
    fn interpreter_of_a_script_is_the_first_word() {
        let interpreter = |head: &str| script_interpreter(head.as_bytes());
        assert_eq!(interpreter("#! /usr/bin/env python3\nimport os\n"), Some("/usr/bin/env".into()));
        assert_eq!(interpreter("#!/bin/sh"), Some("/bin/sh".into()));
        assert_eq!(interpreter("#!\n"), None);
        assert_eq!(interpreter("echo text\n"), None);
    }

    #[test]
    fn shell_has_the_files_of_its_c_library() {
        let directory = tempfile::tempdir().expect("a directory");
        let script = directory.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").expect("written");
        let files = lock_files(&script).expect("the files of the shell");
        assert_eq!(files[0], Path::new("/bin/sh"));
        assert_eq!(files, lock_files(Path::new("/bin/sh")).expect("the same files"));
        let error = lock_files(&directory.path().join("absent")).expect_err("no file").to_string();
        assert!(error.starts_with("--locks exact: cannot read "), "{error}");
    }
}
