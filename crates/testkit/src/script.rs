//! Executable files that tests write and start.

use std::path::Path;
use std::process::Command;

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
