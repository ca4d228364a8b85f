//! Steps before any command that looks at the machine: the refusal of machines on which no figure
//! would be right, and the repair of what a killed morecores left changed.

use anyhow::{Result, ensure};
use morecores_machine::undo;

use crate::terminal;

/// Names that `uname -m` reports on an x86-64 kernel: the second and third under `setarch`.
const X86_64: [&str; 3] = ["x86_64", "i686", "i386"];

/// Checks that this machine is supported, and repairs the system state that an earlier morecores
/// left changed when it was killed.
///
/// # Errors
/// One line on a machine of another architecture.
pub(crate) fn prepare_machine() -> Result<()> {
    check_machine(&rustix::system::uname().machine().to_string_lossy())?;
    repair_leftovers();
    Ok(())
}

/// Refuses other machines than x86-64. The build refuses other targets
/// (`crates/study/src/lib.rs`). This check is for a program built for x86-64 that an emulator runs
/// on another machine. The emulator's times say nothing about the machine.
fn check_machine(machine: &str) -> Result<()> {
    ensure!(
        X86_64.contains(&machine),
        "this machine is {machine}, and morecores measures Linux on x86-64 only: run it on such a machine \
         (studies can be shown anywhere)"
    );
    Ok(())
}

/// Undoes the changes and reports them: they affect the measurements and figures of this process.
fn repair_leftovers() {
    let repairs = undo::repair_leftovers().unwrap_or_else(|error| {
        terminal::note(&error.to_string());
        Vec::new()
    });
    for repair in repairs {
        for change in &repair.undone {
            terminal::note(&format!(
                "undid a change that process {} left when it was killed: {change}",
                repair.pid
            ));
        }
        for error in &repair.errors {
            terminal::note(&format!(
                "cannot undo a change that process {} left: {error}; every start tries again until {} is deleted",
                repair.pid,
                repair.file.display()
            ));
        }
    }
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
