//! Puts back what an earlier morecores left changed when it was killed.

use morecores_machine::undo;

use crate::terminal;

/// Undoes it and says so: it matters for what is measured or shown now.
pub(crate) fn repair() {
    let repairs = undo::repair_leftovers().unwrap_or_else(|error| {
        terminal::note(&error.to_string());
        Vec::new()
    });
    for repair in repairs {
        for change in &repair.undone {
            terminal::note(&format!(
                "repaired what process {} left when it was killed: {change}",
                repair.pid
            ));
        }
        for error in &repair.errors {
            terminal::note(&format!(
                "could not repair what process {} left: {error}; every start tries again until {} is deleted",
                repair.pid,
                repair.file.display()
            ));
        }
    }
}
