//! Counters of cgroups: kernel files that stay open for repeated reads, and the peak of memory.
//!
//! A read costs one system call and no allocation, because reads surround every run.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use morecores_study::Bytes;

/// An open file of counters.
#[derive(Debug)]
pub(super) struct Counter {
    file: File,
    text: Vec<u8>,
}

/// Buffer size: several times the length of the longest file, `memory.stat`.
const MAX_FILE_BYTES: usize = 16 * 1024;

impl Counter {
    /// Opens the file; `None` if it does not exist or may not be read.
    pub(super) fn open(path: PathBuf) -> Option<Self> {
        Some(Self { file: File::open(path).ok()?, text: Vec::new() })
    }

    /// Reads a file that holds one number.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.read()?.trim().parse().ok()
    }

    /// Reads the values of some names from a file of lines `name value`. A value is absent if its
    /// name is.
    pub(super) fn fields<const N: usize>(&mut self, names: [&str; N]) -> Option<[Option<u64>; N]> {
        let text = self.read()?;
        let mut values = [None; N];
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            if let Some(at) = names.iter().position(|wanted| *wanted == name) {
                values[at] = value.parse().ok();
            }
        }
        Some(values)
    }

    /// Reads `io.stat`: bytes read and written, over all devices.
    pub(super) fn block_bytes(&mut self) -> Option<(u64, u64)> {
        let text = self.read()?;
        let sum = |name: &str| {
            let words = text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(name));
            words.filter_map(|value| value.parse::<u64>().ok()).sum()
        };
        Some((sum("rbytes="), sum("wbytes=")))
    }

    fn read(&mut self) -> Option<&str> {
        self.text.resize(MAX_FILE_BYTES, 0);
        let length = self.file.read_at(&mut self.text, 0).ok()?;
        std::str::from_utf8(&self.text[..length]).ok()
    }
}

/// High-water mark of memory, and the file that resets it.
#[derive(Debug)]
pub(super) struct PeakMemory {
    counter: Counter,
    /// Memory that is charged now.
    current: Option<Counter>,
    /// File that resets the mark when written, if the kernel allows that.
    reset: Option<File>,
    last: u64,
}

impl PeakMemory {
    pub(super) fn open(dir: &Path, peak: &str, current: &str) -> Option<Self> {
        let path = dir.join(peak);
        let reset = File::options().write(true).open(&path).ok();
        Some(Self {
            counter: Counter::open(path)?,
            current: Counter::open(dir.join(current)),
            reset,
            last: 0,
        })
    }

    /// Memory that is charged now.
    pub(super) fn current(&mut self) -> Option<Bytes> {
        self.current.as_mut()?.number().map(Bytes)
    }

    pub(super) fn reset(&mut self) {
        // Both versions accept any number, and both reset the mark to the current value.
        if self.reset.as_mut().is_none_or(|file| file.write_all(b"0").is_err()) {
            self.reset = None;
            self.last = self.counter.number().unwrap_or(0);
        }
    }

    pub(super) fn value(&mut self) -> Option<Bytes> {
        let peak = self.counter.number()?;
        (self.reset.is_some() || peak > self.last).then_some(Bytes(peak))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn all_three_forms_are_read_again_after_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "usage_usec 12\nuser_usec 5\n").unwrap();
        let mut counter = Counter::open(path.clone()).unwrap();
        assert_eq!(counter.fields(["user_usec", "usage_usec", "none"]), Some([Some(5), Some(12), None]));
        fs::write(&path, "7\n").unwrap();
        assert_eq!(counter.number(), Some(7));
        fs::write(&path, "8:0 rbytes=1 wbytes=2 rios=9\n8:16 rbytes=10 wbytes=20\n").unwrap();
        assert_eq!(counter.block_bytes(), Some((11, 22)));
        assert!(Counter::open(dir.path().join("absent")).is_none());
    }
}
