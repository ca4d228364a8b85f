//! Refusal of machines on which no figure would be right.
//!
//! The build refuses other targets (`crates/study/src/lib.rs`). This check is for a program built
//! for x86-64 that an emulator runs on another machine. The emulator's times say nothing about the
//! machine.

use anyhow::{Result, ensure};

/// Names that `uname -m` reports on an x86-64 kernel: the second and third under `setarch`.
const X86_64: [&str; 3] = ["x86_64", "i686", "i386"];

/// Checks that this machine is supported.
///
/// # Errors
/// One line on a machine of another architecture.
pub(crate) fn check() -> Result<()> {
    check_machine(&rustix::system::uname().machine().to_string_lossy())
}

fn check_machine(machine: &str) -> Result<()> {
    ensure!(
        X86_64.contains(&machine),
        "this machine is {machine}, and morecores measures Linux on x86-64 only: run it on such a machine \
         (studies can be shown anywhere)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_architectures_are_refused_by_name() {
        for machine in X86_64 {
            assert!(check_machine(machine).is_ok(), "{machine}");
        }
        let refused = check_machine("aarch64").unwrap_err().to_string();
        assert!(refused.starts_with("this machine is aarch64"), "{refused}");
        assert_eq!(refused.lines().count(), 1);
    }
}
