//! Sizes of the working set: their names, and the default sizes for this machine's caches.

use std::fs;
use std::path::Path;

use morecores_study::Bytes;

/// A power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Index in the table of names.
    index: usize,
}

/// Names from 1 KiB, each size twice the previous one. The names contain no space, so that a figure
/// is one word and its number.
const NAMES: [&str; 27] = [
    "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB", "2MiB",
    "4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB", "256MiB", "512MiB", "1GiB", "2GiB", "4GiB", "8GiB",
    "16GiB", "32GiB", "64GiB",
];

/// Smallest size by default: half of the smallest first-level data cache of current servers, 32
/// KiB.
const MIN_SIZE: Bytes = Bytes::from_kib(16);

/// Ratio of the largest default size to the last cache: three loads of four then miss the cache.
const LAST_CACHE_FACTOR: u64 = 4;

/// Upper bound of the largest default size, for any last cache. A hypervisor may report its host's
/// cache, some hundreds of MiB, of which a guest has a few. On such a guest (504 MiB reported) a
/// load costs 133 ns from 16 MiB on, like main memory. A walk through 2 GiB took half a minute
/// without further information.
const MAX_DEFAULT_SIZE: Bytes = Bytes::from_kib(256 * 1024);

/// Last cache if the kernel does not report it: that of a common server's core complex.
const DEFAULT_LAST_CACHE: Bytes = Bytes::from_kib(32 * 1024);

impl Size {
    /// Name on the command line, such as `16KiB`.
    pub(super) const fn name(self) -> &'static str {
        NAMES[self.index]
    }

    pub(super) const fn bytes(self) -> Bytes {
        Bytes::from_kib(1 << self.index)
    }
}

/// Parses a size as on the command line.
pub(super) fn parse(text: &str) -> Result<Size, String> {
    let index = NAMES.iter().position(|name| *name == text);
    index.map(|index| Size { index }).ok_or_else(|| "it must be a power of two from 1KiB to 64GiB".to_owned())
}

/// Sizes from well inside the first cache to well beyond the last one of this machine's first CPU,
/// or to [`MAX_DEFAULT_SIZE`].
pub(super) fn default_sizes() -> Vec<Size> {
    let last = last_cache(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(DEFAULT_LAST_CACHE);
    sizes_up_to((last.0 * LAST_CACHE_FACTOR).min(MAX_DEFAULT_SIZE.0))
}

fn sizes_up_to(largest: u64) -> Vec<Size> {
    let all = (0..NAMES.len()).map(|index| Size { index }).skip_while(|size| size.bytes() < MIN_SIZE);
    // The first size that is not smaller is the last one.
    let smaller = all.clone().take_while(|size| size.bytes().0 < largest).count();
    all.take(smaller + 1).collect()
}

/// Largest cache that holds data (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn last_cache(directory: &Path) -> Option<Bytes> {
    let caches = fs::read_dir(directory).ok()?.flatten().filter_map(|entry| {
        let read = |file| fs::read_to_string(entry.path().join(file)).ok();
        let holds_data = read("type").is_some_and(|kind| kind.trim() != "Instruction");
        read("size").filter(|_| holds_data).and_then(|size| parse_kib(&size))
    });
    caches.max()
}

/// Parses a size in the kernel's format, such as `32768K`.
fn parse_kib(text: &str) -> Option<Bytes> {
    text.trim().strip_suffix('K')?.parse().ok().map(Bytes::from_kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_agree() {
        for (name, kib) in
            [("1KiB", 1), ("512KiB", 512), ("1MiB", 1024), ("32MiB", 32_768), ("64GiB", 64 << 20)]
        {
            let size = parse(name).unwrap();
            assert_eq!((size.name(), size.bytes()), (name, Bytes::from_kib(kib)));
        }
        for wrong in ["", "3KiB", "16", "16kib", "128GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_go_from_the_first_cache_to_beyond_the_last() {
        let names = |largest| sizes_up_to(largest).iter().map(|size| size.name()).collect::<Vec<_>>();
        assert_eq!(names(64 << 10), ["16KiB", "32KiB", "64KiB"]);
        assert_eq!(names((64 << 10) + 1).last(), Some(&"128KiB"));
        assert_eq!(names(0), ["16KiB"]);
        assert_eq!(names(u64::MAX).last(), Some(&"64GiB"));
        // No machine's last cache is smaller than its first.
        let here = default_sizes();
        assert!(here.len() > 2 && here[0].name() == "16KiB");
    }

    #[test]
    fn the_last_cache_is_read_as_the_kernel_writes_it() {
        assert_eq!(parse_kib("32768K\n"), Some(Bytes::from_kib(32_768)));
        assert_eq!(parse_kib("32M"), None);
        assert_eq!(last_cache(Path::new("/nonexistent")), None);
    }
}
