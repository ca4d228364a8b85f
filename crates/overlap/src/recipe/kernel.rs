//! Helpers of the build of the Linux kernel, which stand in nearly each of its recipe lines.

use super::Command;
use crate::effects::{Effects, Search};

/// Effects of `fixdep DEPENDENCIES TARGET COMMAND`: it also reads the sources and headers in the
/// list, and prints the new list.
pub(super) fn fixdep_effects(command: &Command) -> Option<Effects> {
    let [dependencies, _, _] = command.arguments else { return None };
    Some(Effects { reads: vec![command.path(dependencies)], writes: Vec::new(), search: Search::HEADERS })
}
