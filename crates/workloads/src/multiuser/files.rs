//! File activities: files are made, written, read, renamed, listed and removed.

use std::fs;
use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::user::expect_equal;
use crate::WorkloadError;
use crate::outcome::TMPDIR;

/// Concurrent files, and bytes of the largest one: sizes of a small program's source.
const FILES: usize = 16;
const MAX_FILE_BYTES: usize = 32 * 1024;

/// Writes files and reads them again.
pub(super) fn write_and_read(home: &Path, random: &mut ChaCha8Rng) -> Result<u64, WorkloadError> {
    let file_error = |operation: &'static str| {
        move |source| WorkloadError::File { operation, path: home.to_owned(), source, option: TMPDIR }
    };
    let mut all = crc32fast::Hasher::new();
    let mut written = Vec::new();
    for number in 0..FILES {
        let mut bytes = vec![0; 1 + random.next_u32() as usize % MAX_FILE_BYTES];
        random.fill_bytes(&mut bytes);
        all.update(&bytes);
        fs::write(home.join(format!("new-{number:02}")), &bytes).map_err(file_error("write a file in"))?;
        written.push(bytes);
    }
    for number in 0..FILES {
        let name = |state: &str| home.join(format!("{state}-{number:02}"));
        fs::rename(name("new"), name("old")).map_err(file_error("rename a file in"))?;
    }
    let entries = fs::read_dir(home).map_err(file_error("list"))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    expect_equal("files in a directory", &FILES, &names.len())?;
    for (name, bytes) in names.iter().zip(&written) {
        let path = home.join(name);
        let read = fs::read(&path).map_err(file_error("read a file in"))?;
        expect_equal("the checksum of a file", &crc32fast::hash(bytes), &crc32fast::hash(&read))?;
        fs::remove_file(&path).map_err(file_error("remove a file in"))?;
    }
    Ok(u64::from(all.finalize()))
}
