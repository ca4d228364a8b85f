//! The environment of a command. It is read when it is first needed, because most commands that are
//! looked at need none.

use std::cell::LazyCell;
use std::fmt;

/// Reads an environment; `None` if it cannot be read.
type Read = Box<dyn FnOnce() -> Option<Vec<String>>>;

/// Variables by which compilers and awk write or read other files than their arguments name.
const HIDDEN_FILES: &[&str] =
    &["DEPENDENCIES_OUTPUT=", "SUNPRO_DEPENDENCIES=", "GCC_EXEC_PREFIX=", "COLLECT_", "AWKPATH="];

/// Variables of a command, as `NAME=value`.
pub(crate) struct Environment(LazyCell<Option<Vec<String>>, Read>);

impl Environment {
    /// An environment that `read` reads at most once.
    pub(crate) fn new(read: impl FnOnce() -> Option<Vec<String>> + 'static) -> Self {
        Self(LazyCell::new(Box::new(read)))
    }

    /// All variables; `None` if they cannot be read.
    pub(crate) fn variables(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// Names with their values, of which there are none if they cannot be read.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables().into_iter().flatten().filter_map(|variable| variable.split_once('='))
    }

    /// The value of a variable, empty if it has none; `None` if variables cannot be read.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let found =
            self.variables()?.iter().find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='));
        Some(found.unwrap_or_default())
    }

    /// Whether the files of a command may be others than its arguments name.
    pub(crate) fn hides_files(&self) -> bool {
        let hides = |variable: &String| HIDDEN_FILES.iter().any(|name| variable.starts_with(name));
        self.variables().is_none_or(|variables| variables.iter().any(hides))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("Environment")
    }
}
