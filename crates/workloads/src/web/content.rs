//! The served file: random bytes from a seed, and the expected content of a response.

use std::fs;
use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::outcome::TMPDIR;
use crate::{Checksum, WorkloadError, memory};

/// Name of the file below the root of the server.
pub(super) const FILE_NAME: &str = "file";

/// Expected content of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedBody {
    /// Bytes of the body.
    pub(super) len: u64,
    /// Checksum of the body.
    pub(super) checksum: Checksum,
}

/// Bytes of the file.
#[derive(Debug)]
pub(super) struct Content {
    bytes: Vec<u8>,
    checksum: Checksum,
}

impl Content {
    /// `len` random bytes. The generator is ChaCha8, whose output is permanently defined. The bytes
    /// are incompressible for a server or a network, and no two files are equal, so that a wrong
    /// file is detected.
    pub(super) fn random(len: usize, seed: u64) -> Result<Self, WorkloadError> {
        let mut bytes = memory::reserve(len, "--file")?;
        bytes.resize(len, 0);
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
        let checksum = Checksum(crc32fast::hash(&bytes));
        Ok(Self { bytes, checksum })
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Expected content of a response.
    pub(super) fn expected(&self) -> ExpectedBody {
        ExpectedBody { len: self.bytes.len() as u64, checksum: self.checksum }
    }

    /// Writes the file into a directory, for a server that reads files.
    pub(super) fn write_to(&self, directory: &Path) -> Result<(), WorkloadError> {
        let path = directory.join(FILE_NAME);
        fs::write(&path, &self.bytes).map_err(|source| WorkloadError::File {
            operation: "write to",
            path,
            source,
            option: TMPDIR,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_bytes() {
        let content = |len, seed| Content::random(len, seed).unwrap();
        assert_eq!(content(15_360, 1).bytes(), content(15_360, 1).bytes());
        assert_ne!(content(15_360, 1).expected(), content(15_360, 2).expected());
        // Of 150,000 random bytes each value occurs about 586 times, with a standard deviation of
        // 24.
        let mut counts = [0; 256];
        content(150_000, 1).bytes().iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (436..736).contains(count)), "{counts:?}");
    }
}
