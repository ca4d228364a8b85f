//! Commands that enable features, written for a shell and for the user who runs it.

use crate::Remedy;
use rustix::io::Errno;

use super::facts::{Capability, Privilege};

/// A command that any user may run.
pub(super) fn plain_command(command: impl Into<String>) -> Remedy {
    Remedy::Command { command: command.into(), root: false, reboot: false }
}

/// A command that needs root, with `sudo` if the process is not root.
pub(super) fn root_command(privilege: &Privilege, words: impl AsRef<str>) -> Remedy {
    let sudo = if privilege.root { "" } else { "sudo " };
    Remedy::Command { command: format!("{sudo}{}", words.as_ref()), root: true, reboot: false }
}

/// Command that writes a value to a kernel file, or to all files that a pattern matches. It uses
/// `tee`, because `sudo` does not apply to a redirection.
pub(super) fn write_command(privilege: &Privilege, value: &str, file: &str) -> Remedy {
    let sudo = if privilege.root { "" } else { "sudo " };
    Remedy::Command { command: format!("echo {value} | {sudo}tee {file}"), root: true, reboot: false }
}

/// No command helps, for the given reason.
pub(super) fn no_remedy(why: impl Into<String>) -> Remedy {
    Remedy::Nothing { why: why.into() }
}

/// Reason for a refusal that affects even the root of a container.
pub(super) fn container_refusal() -> Remedy {
    no_remedy("the container does not allow it: start it with --privileged, or measure outside it")
}

/// Reason for missing capabilities of a root process.
pub(super) fn missing_capabilities() -> Remedy {
    no_remedy(
        "capabilities are missing although this is root: the program that started this session removed them, \
         a service's settings or a container's",
    )
}

/// Remedy for an operation that only root may do: a run as root for an ordinary user, an
/// explanation for root itself.
pub(super) fn root_remedy(privilege: &Privilege, run: &str) -> Remedy {
    if privilege.is_confined() {
        container_refusal()
    } else if privilege.root && !privilege.has(Capability::SysAdmin) {
        missing_capabilities()
    } else if privilege.root {
        no_remedy("the kernel refuses it even to root: a security module or kernel lockdown forbids it")
    } else {
        root_command(privilege, run)
    }
}

/// The kernel's error in a few words.
pub(super) fn error_text(error: Errno) -> String {
    match error {
        Errno::PERM | Errno::ACCESS => "not permitted".to_owned(),
        Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP => "not there".to_owned(),
        Errno::NODATA => "there, but does not count".to_owned(),
        Errno::NOSYS => "not in this kernel".to_owned(),
        other => {
            let text = std::io::Error::from(other).to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}
