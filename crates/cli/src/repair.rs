//! Restores the system state that an earlier morecores left changed when it was killed.

use morecores_machine::undo;

use crate::terminal;

/// Undoes the changes and reports them: they affect the measurements and figures of this process.
pub(crate) fn repair() {
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
