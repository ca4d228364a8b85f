//! Functions of code that a process generated at run time, by the map that its runtime writes for
//! `perf`: `/tmp/perf-PID.map`, with a line `START SIZE NAME` for each function
//! (`tools/perf/Documentation/jit-interface.txt` of Linux). This module must not trust a file that
//! another user may have put there.
//!
//! `blazesym` reads such maps only of living processes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use morecores_study::trace::Tid;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::SymbolError;

/// Largest part of a map that is read, in bytes. A choice: some half a million functions.
const LARGEST: u64 = 64 << 20;

/// Largest lag of the clock that dates files: one tick of the kernel at 100 Hz.
const CLOCK_LAG: Duration = Duration::from_millis(10);

/// Function of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MappedFunction {
    end: u64,
    name: String,
}

/// Functions that a process generated, by their first addresses and without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap(BTreeMap<u64, MappedFunction>);

impl PerfMap {
    /// Reads the map of a process that began after `began`. Only a regular file of this process's
    /// user or of root counts, and only if it was written since then: numbers of processes repeat.
    ///
    /// # Errors
    /// [`SymbolError::NoMap`], [`SymbolError::RefusedMap`] and [`SymbolError::Unreadable`].
    pub fn read(process: Tid, began: SystemTime) -> Result<Self, SymbolError> {
        let path = format!("/tmp/perf-{}.map", process.0);
        Self::read_file(Path::new(&path), geteuid().as_raw(), began)
    }

    fn read_file(path: &Path, user: u32, began: SystemTime) -> Result<Self, SymbolError> {
        let path_text = || path.display().to_string();
        let refused = |why| Err(SymbolError::RefusedMap { path: path_text(), why });
        let unreadable =
            |error: std::io::Error| SymbolError::Unreadable { path: path_text(), why: error.to_string() };
        // To open a pipe would wait for its writer.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => return Err(SymbolError::NoMap),
                Some(Errno::LOOP) => return refused("it is a symbolic link"),
                _ => return Err(unreadable(error)),
            },
        };
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return refused("it is no regular file");
        }
        if metadata.uid() != user && metadata.uid() != 0 {
            return refused("it belongs to another user");
        }
        if metadata.modified().map_err(unreadable)? + CLOCK_LAG < began {
            return refused("it is older than the run");
        }
        Self::parse(file).map_err(unreadable)
    }

    /// Parses the lines of a map, in the order of writing. Lines of another form are skipped: the
    /// last one may be unfinished.
    fn parse(file: File) -> std::io::Result<Self> {
        let mut map = Self::default();
        for line in BufReader::new(file.take(LARGEST)).split(b'\n') {
            if let Some((range, name)) = parse_line(&String::from_utf8_lossy(&line?)) {
                map.insert(range, name);
            }
        }
        Ok(map)
    }

    /// Adds a function. It replaces older ones at its addresses: their memory has been reused.
    fn insert(&mut self, range: Range<u64>, name: &str) {
        let overlapping = self.0.range(..range.end).rev().take_while(|(_, old)| old.end > range.start);
        let overlapping: Vec<u64> = overlapping.map(|(start, _)| *start).collect();
        for start in overlapping {
            self.0.remove(&start);
        }
        self.0.insert(range.start, MappedFunction { end: range.end, name: name.to_owned() });
    }

    /// Addresses and name of the function that contains an address.
    pub fn function(&self, address: u64) -> Option<(Range<u64>, &str)> {
        let (start, function) = self.0.range(..=address).next_back()?;
        (address < function.end).then(|| (*start..function.end, &*function.name))
    }
}

/// Addresses and name of the function in a line, if there is one. The name may contain spaces, and
/// OpenJDK writes `0x` before the numbers.
fn parse_line(line: &str) -> Option<(Range<u64>, &str)> {
    let (start, rest) = line.trim_ascii().split_once(' ')?;
    let (size, name) = rest.trim_ascii_start().split_once(' ')?;
    let [start, size] = [start, size].map(|number| {
        let digits = number.strip_prefix("0x").unwrap_or(number);
        u64::from_str_radix(digits, 16).ok()
    });
    let (start, size) = (start?, size.filter(|size| *size > 0)?);
    Some((start..start.checked_add(size)?, name.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};
    use std::path::PathBuf;

    use super::*;

    /// User of the files in a folder, and the map of this text in it.
    fn map_file(folder: &tempfile::TempDir, text: &[u8]) -> (u32, PathBuf) {
        let path = folder.path().join("perf-7.map");
        fs::write(&path, text).expect("written");
        (fs::metadata(&path).expect("there").uid(), path)
    }

    fn read(text: &[u8]) -> PerfMap {
        let folder = tempfile::tempdir().expect("a folder");
        let (user, path) = map_file(&folder, text);
        PerfMap::read_file(&path, user, SystemTime::UNIX_EPOCH).expect("read")
    }

    #[test]
    fn functions_have_the_names_of_their_lines() {
        let map = read(
            b"7f00 10 JS:*sum /home/a b.js:3\n7f20 8 \xff\nnone\n7f30 0 empty\n\
                         7f40 zz bad\nffffffffffffffff 2 beyond\n7f50 8 last",
        );
        assert_eq!(map.function(0x7f00), Some((0x7f00..0x7f10, "JS:*sum /home/a b.js:3")));
        assert_eq!(map.function(0x7f0f), map.function(0x7f00));
        assert_eq!(map.function(0x7f27), Some((0x7f20..0x7f28, "\u{fffd}")));
        assert_eq!(map.function(0x7f57), Some((0x7f50..0x7f58, "last")));
        for address in [0, 0x7eff, 0x7f10, 0x7f28, 0x7f30, 0x7f40, u64::MAX] {
            assert_eq!(map.function(address), None, "{address:#x}");
        }
    }

    /// As recorded of OpenJDK 17.0.15.
    #[test]
    fn numbers_may_have_a_prefix() {
        let map = read(b"0x00007f9198ecc1a0 0x0000000000000338 long Sync.work(int)\n");
        assert_eq!(map.function(0x7f91_98ec_c1a8).map(|(_, name)| name), Some("long Sync.work(int)"));
    }

    #[test]
    fn later_functions_replace_those_whose_memory_they_take() {
        let map = read(b"100 40 first\n140 40 second\n200 40 third\n120 40 new\n");
        let name = |address| map.function(address).map(|(_, name)| name);
        assert_eq!([name(0x100), name(0x120), name(0x15f)], [None, Some("new"), Some("new")]);
        assert_eq!([name(0x160), name(0x200)], [None, Some("third")]);
    }

    #[test]
    fn only_a_new_regular_file_of_the_user_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let (user, path) = map_file(&folder, b"100 40 sum\n");
        let refusal = |path: &Path, user, began| match PerfMap::read_file(path, user, began) {
            Err(SymbolError::RefusedMap { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        let epoch = SystemTime::UNIX_EPOCH;
        let written = fs::metadata(&path).and_then(|file| file.modified()).expect("dated");
        assert!(PerfMap::read_file(&path, user, written).is_ok());
        assert_eq!(refusal(&path, user, written + Duration::from_secs(1)), "it is older than the run");
        assert_eq!(refusal(folder.path(), user, epoch), "it is no regular file");
        let link = folder.path().join("link");
        symlink(&path, &link).expect("linked");
        assert_eq!(refusal(&link, user, epoch), "it is a symbolic link");
        let none = PerfMap::read_file(&folder.path().join("none"), user, epoch);
        assert_eq!(none, Err(SymbolError::NoMap));
        // The files of root count for each user.
        if user == 0 {
            assert!(PerfMap::read_file(&path, 1_000, epoch).is_ok());
            chown(&path, Some(2_000), None).expect("changed");
        }
        assert_eq!(refusal(&path, user.wrapping_add(1_000), epoch), "it belongs to another user");
    }
}
