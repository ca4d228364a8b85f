//! Path of a new study: the given one, or the first free name made of a program and a time.
//!
//! This module decides on names only. The study's writer makes the directory and detects whether a
//! name is free.

use std::path::{Path, PathBuf};

use jiff::Zoned;
use morecores_study::{Command, StudyError};

/// Number of names to try before the study is refused: more than any user starts within a second.
const MOST_TRIES: u32 = 1000;

/// Path of a new study.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NewStudy {
    /// Path given with `-o`.
    Given(PathBuf),
    /// Name without its extension, in the current directory. A number is added if a study of the
    /// same second has the name.
    Dated(String),
}

impl NewStudy {
    /// Path given with `-o`, or `PROGRAM-YYYYMMDD-HHMMSS` with the program of `command`.
    pub(super) fn for_command(given: Option<&Path>, command: &Command) -> Self {
        let words = command.words();
        let program = match command {
            Command::Program { .. } => words.first(),
            // The line's first word is more informative than `sh`.
            Command::Shell { .. } => words.last(),
        };
        let program = program.and_then(|text| text.split_whitespace().next()).unwrap_or("command");
        let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
        let safe: String =
            name.unwrap_or_default().chars().filter(|c| c.is_alphanumeric() || "-_.+".contains(*c)).collect();
        Self::with_name(given, if safe.is_empty() { "command" } else { &safe })
    }

    /// Path given with `-o`, or `NAME-YYYYMMDD-HHMMSS`.
    pub(super) fn with_name(given: Option<&Path>, name: &str) -> Self {
        match given {
            Some(path) => Self::Given(path.to_owned()),
            None => Self::Dated(format!("{name}-{}", Zoned::now().strftime("%Y%m%d-%H%M%S"))),
        }
    }

    /// Calls `create` with the given path. Without a given path it tries one name after another
    /// until one is free.
    ///
    /// # Errors
    /// Those of `create`. [`StudyError::Exists`] occurs only for a given path.
    pub(crate) fn create<W>(
        &self,
        mut create: impl FnMut(&Path) -> Result<W, StudyError>,
    ) -> Result<W, StudyError> {
        let stem = match self {
            Self::Given(path) => return create(path),
            Self::Dated(stem) => stem,
        };
        let mut created = create(Path::new(&format!("{stem}.study")));
        for number in 2..=MOST_TRIES {
            if !matches!(created, Err(StudyError::Exists(_))) {
                break;
            }
            created = create(Path::new(&format!("{stem}-{number}.study")));
        }
        created
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_named_after_its_program() {
        let name = |command| match NewStudy::for_command(None, &command) {
            NewStudy::Dated(name) => name,
            NewStudy::Given(path) => path.display().to_string(),
        };
        assert!(name(Command::Program { argv: vec!["/usr/bin/x z".into()] }).starts_with("x-"));
        assert!(name(Command::Shell { line: "sort a | wc".into() }).starts_with("sort-"));
        assert!(name(Command::Program { argv: vec!["..".into()] }).starts_with("command-"));
    }

    #[test]
    fn a_default_name_is_made_unique_and_a_given_name_is_kept() {
        let taken = ["make-1.study", "make-1-2.study"].map(PathBuf::from);
        let create = |path: &Path| match taken.contains(&path.to_owned()) {
            true => Err(StudyError::Exists(path.to_owned())),
            false => Ok(path.to_owned()),
        };
        let made = NewStudy::Dated("make-1".to_owned()).create(create);
        assert_eq!(made.ok(), Some(PathBuf::from("make-1-3.study")));
        let given = NewStudy::Given(taken[0].clone()).create(create);
        assert!(matches!(given, Err(StudyError::Exists(_))), "{given:?}");
    }
}
