//! Image of the vDSO: the code that the kernel maps into every process, for reading the clock, for
//! example. It is in no file system. All 64-bit processes have the same image, so that of this
//! process serves for others. This module must not interpret the image.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, memfd_create};

/// Name of the vDSO among the mappings of a process.
pub(crate) const NAME: &str = "[vdso]";

/// Largest size of an image that is read: the kernel's have two pages or three.
const MOST_BYTES: u64 = 1 << 20;

/// Path of a file in memory with the image; `None` if this process has none. The file stays until
/// the process ends.
pub(crate) fn image_path() -> Option<PathBuf> {
    static IMAGE: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let image = IMAGE.get_or_init(|| copy_image().ok()).as_ref()?;
    Some(PathBuf::from(format!("/proc/self/fd/{}", image.as_raw_fd())))
}

/// Copies the image of this process into a file in memory.
fn copy_image() -> std::io::Result<OwnedFd> {
    let absent = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let (start, end) = maps.lines().find_map(image_range).ok_or_else(absent)?;
    let length = end.checked_sub(start).filter(|length| *length <= MOST_BYTES).ok_or_else(absent)?;
    let mut bytes = vec![0; length as usize];
    let mut memory = File::open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(start))?;
    memory.read_exact(&mut bytes)?;
    let mut image = File::from(memfd_create("vdso", MemfdFlags::CLOEXEC)?);
    image.write_all(&bytes)?;
    Ok(image.into())
}

/// First address and end of the vDSO, if a line of `/proc/PID/maps` is its mapping.
fn image_range(line: &str) -> Option<(u64, u64)> {
    let range = line.strip_suffix(NAME)?.split(' ').next()?;
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::ElfFile;

    #[test]
    fn the_line_of_the_vdso_has_its_range() {
        let line = "7ffc7b9fe000-7ffc7ba00000 r-xp 00000000 00:00 0                          [vdso]";
        assert_eq!(image_range(line), Some((0x7ffc_7b9f_e000, 0x7ffc_7ba0_0000)));
        assert_eq!(image_range("7ffc7b9fa000-7ffc7b9fe000 r--p 00000000 00:00 0          [vvar]"), None);
        assert_eq!(image_range("[vdso]"), None);
    }

    #[test]
    fn the_image_has_unwind_tables() {
        let Some(path) = image_path() else {
            return morecores_testkit::report_skip("the_image_has_unwind_tables", "no vDSO here");
        };
        assert!(ElfFile::read(&path).expect("an ELF file").has_functions());
        assert_eq!(image_path(), Some(path));
    }
}
