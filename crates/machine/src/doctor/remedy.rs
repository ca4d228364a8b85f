//! The commands that enable things, written for a shell and for who runs it.

use crate::Remedy;
use rustix::io::Errno;

use super::facts::{Capability, Privilege};

/// A command that anybody may give.
pub(super) fn command(command: impl Into<String>) -> Remedy {
    Remedy::Command { command: command.into(), root: false, reboot: false }
}

/// A command that needs root, with `sudo` where we are not.
pub(super) fn as_root(privilege: &Privilege, words: impl AsRef<str>) -> Remedy {
    let sudo = if privilege.root { "" } else { "sudo " };
    Remedy::Command { command: format!("{sudo}{}", words.as_ref()), root: true, reboot: false }
}

/// Writes a value to a kernel file, or to all that a pattern matches. `sudo` does not reach a redirection.
pub(super) fn write(privilege: &Privilege, value: &str, file: &str) -> Remedy {
    let sudo = if privilege.root { "" } else { "sudo " };
    Remedy::Command { command: format!("echo {value} | {sudo}tee {file}"), root: true, reboot: false }
}

/// No command helps.
pub(super) fn nothing(why: impl Into<String>) -> Remedy {
    Remedy::Nothing { why: why.into() }
}

/// What a container keeps even from its root.
pub(super) fn outside() -> Remedy {
    nothing("this container may not: start it with --privileged, or measure outside of it")
}

/// What root lacks because it was started without.
pub(super) fn taken_away() -> Remedy {
    nothing(
        "capabilities are missing though this is root: whoever started this session took them away, \
         a service's settings or a container's",
    )
}

/// What only root may do: for others, a run as root; for the root of a container, whoever starts it.
pub(super) fn by_root(privilege: &Privilege, run: &str) -> Remedy {
    if privilege.confined() {
        outside()
    } else if privilege.root && !privilege.has(Capability::SysAdmin) {
        taken_away()
    } else if privilege.root {
        nothing("the kernel refuses it even to root: a security module or kernel lockdown forbids it")
    } else {
        as_root(privilege, run)
    }
}

/// What the kernel said, in a few words.
pub(super) fn said(error: Errno) -> String {
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
