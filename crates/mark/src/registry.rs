//! The registry of marked programs: a list of paths, so that a replaced file can be marked again.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::attribute::{MarkError, read};

/// Marked programs by their absolute paths, as they were given. A path may lead to its program by a
/// symbolic link, which an upgrade may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Registry(BTreeMap<PathBuf, NonZeroU32>);

/// The text is no registry.
#[derive(Debug, thiserror::Error)]
#[error("it is no list of marked programs: {0}; move it away, and mark the programs again")]
pub struct RegistryError(#[from] serde_json::Error);

/// State of a file in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// It has the mark.
    Marked,
    /// It has no mark, or another: the file was replaced.
    Replaced,
    /// It is not there.
    Missing,
    /// Its attributes cannot be read.
    Unreadable,
}

impl Registry {
    /// Reads the text of a registry.
    ///
    /// # Errors
    /// The text is no registry.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Text of the registry, as JSON.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Enters a program.
    pub fn insert(&mut self, path: PathBuf, cpus: NonZeroU32) {
        self.0.insert(path, cpus);
    }

    /// Removes all entries that lead to a program, and the one with this path. Returns whether
    /// there was one.
    pub fn remove(&mut self, program: &Path) -> bool {
        let before = self.0.len();
        let file = fs::canonicalize(program).ok();
        self.0.retain(|path, _| path != program && (file.is_none() || fs::canonicalize(path).ok() != file));
        self.0.len() < before
    }

    /// Number of CPUs of the entry that leads to a program.
    pub fn cpus(&self, program: &Path) -> Option<NonZeroU32> {
        if let Some(cpus) = self.0.get(program) {
            return Some(*cpus);
        }
        let file = fs::canonicalize(program).ok()?;
        self.0
            .iter()
            .find(|(path, _)| fs::canonicalize(path).is_ok_and(|it| it == file))
            .map(|(_, cpus)| *cpus)
    }

    /// Paths and numbers of CPUs, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, NonZeroU32)> {
        self.0.iter().map(|(path, cpus)| (path.as_path(), *cpus))
    }
}

/// State of a file that the registry has with this number of CPUs.
pub fn state(path: &Path, cpus: NonZeroU32) -> FileState {
    match read(path) {
        Ok(Some(found)) if found == cpus => FileState::Marked,
        _ if !path.exists() => FileState::Missing,
        Ok(_) | Err(MarkError::Invalid { .. }) => FileState::Replaced,
        Err(_) => FileState::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_entry_is_found_by_every_path_that_leads_to_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("program-1"), folder.path().join("program"));
        fs::write(&file, "").expect("a file");
        symlink("program-1", &link).expect("a link");
        let one = NonZeroU32::MIN;
        let mut registry = Registry::default();
        registry.insert(link.clone(), one);
        let registry = Registry::parse(&registry.to_text()).expect("its own text");
        assert_eq!(registry.cpus(&link), Some(one));
        assert_eq!(registry.cpus(&file), Some(one));
        assert_eq!(registry.cpus(&folder.path().join("other")), None);
        // An upgrade has a new file behind the link.
        fs::write(folder.path().join("program-2"), "").expect("a file");
        fs::remove_file(&link).expect("the link");
        symlink("program-2", &link).expect("a link");
        assert_eq!(registry.cpus(&folder.path().join("program-2")), Some(one));
        assert_eq!(registry.cpus(&file), None);
        let mut rest = registry.clone();
        assert!(rest.remove(&folder.path().join("program-2")));
        assert_eq!(rest, Registry::default());
    }

    #[test]
    fn another_text_is_refused() {
        for text in ["", "[]", "{\"/bin/true\": 0}", "{\"/bin/true\": \"1\"}"] {
            assert!(Registry::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_gone_is_missing() {
        assert_eq!(state(Path::new("/no/such/program"), NonZeroU32::MIN), FileState::Missing);
    }
}
