//! Cache of pages, reused while the files of their studies do not change.
//!
//! A page is as old as the files from which it was made. Other modules decide its content.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use super::Reply;

/// Largest number of pages in the cache, for a reader who switches between a few studies. A page
/// takes some megabytes.
const MOST: usize = 8;

/// Path, time of the last change and length of each file behind a page.
type Stamp = Vec<(PathBuf, SystemTime, u64)>;

/// Cached replies, by the study's directory.
#[derive(Default)]
pub(super) struct Cache {
    replies: HashMap<PathBuf, (Stamp, Reply)>,
}

impl Cache {
    /// Reply about the study at `path`. The cached answer is reused if no file of the study has
    /// changed; otherwise `make` supplies it. An answer that changes is made each time.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn cached_reply(
        &mut self,
        path: &Path,
        make: impl FnOnce() -> Result<Reply>,
    ) -> Result<Reply> {
        // The stamp is taken before the files are read. If a file changes in between, the next
        // request makes the page again.
        let stamp = stamp(path);
        if let Some((_, reply)) = self.replies.get(path).filter(|(made_of, _)| *made_of == stamp) {
            return Ok(reply.clone());
        }
        let reply = make()?;
        if !reply.changes {
            if self.replies.len() >= MOST {
                self.replies.clear();
            }
            self.replies.insert(path.to_owned(), (stamp, reply.clone()));
        }
        Ok(reply)
    }
}

/// Stamps of the files of the study and of its traces, by name.
fn stamp(path: &Path) -> Stamp {
    let directories = [path.to_owned(), path.join("traces")];
    let entries = directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
    let mut stamp: Stamp = entries
        .filter_map(|entry| {
            let facts = entry.metadata().ok()?;
            Some((entry.path(), facts.modified().ok()?, facts.len()))
        })
        .collect();
    stamp.sort();
    stamp
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached_text(cache: &mut Cache, path: &Path, text: &str, changes: bool) -> String {
        let made = Reply { changes, ..Reply::plain(200, text.to_owned()) };
        cache.cached_reply(path, || Ok(made)).map(|reply| reply.text).unwrap_or_default()
    }

    #[test]
    fn a_changed_file_renews_the_page() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut cache = Cache::default();
        fs::write(dir.path().join("runs.jsonl"), "1").expect("written");
        assert_eq!(cached_text(&mut cache, dir.path(), "first", false), "first");
        assert_eq!(cached_text(&mut cache, dir.path(), "second", false), "first");
        fs::write(dir.path().join("runs.jsonl"), "12").expect("written");
        assert_eq!(cached_text(&mut cache, dir.path(), "third", false), "third");
        // An answer that changes is not cached.
        let other = tempfile::tempdir().expect("a directory");
        assert_eq!(cached_text(&mut cache, other.path(), "now", true), "now");
        assert_eq!(cached_text(&mut cache, other.path(), "later", true), "later");
    }
}
