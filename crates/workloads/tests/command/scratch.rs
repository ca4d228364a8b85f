//! A directory for one test.

use std::fs;
use std::path::{Path, PathBuf};

/// Directory that is removed with its content when the value is dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a directory");
        Self(path)
    }

    /// Makes a file and its parent directories.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.0)).expect("a directory");
        fs::write(&path, text).expect("a file");
    }

    /// Makes a program, and returns a PATH on which it comes before all others.
    pub(crate) fn program(&self, name: &str, script: &str) -> String {
        morecores_testkit::write_script(&self.0.join(name), script);
        format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap_or_default())
    }

    pub(crate) fn is_empty(&self) -> bool {
        walk(&self.0).is_empty()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Paths below a directory, in order, without those that disappear during the walk.
pub(crate) fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    let inner: Vec<_> = paths.iter().filter(|path| path.is_dir()).flat_map(|path| walk(path)).collect();
    paths.extend(inner);
    paths.sort();
    paths
}
