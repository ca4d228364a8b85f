//! `file-offset`: one file read through one descriptor. The file offset moves with every read, so
//! each read has to wait for the previous one. No two reads return the same record.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use super::{SharedObject, Tally, call_error};
use crate::WorkloadError;
use crate::outcome::TMPDIR;

/// Bytes of a record: its number.
pub(super) const RECORD_BYTES: usize = size_of::<u64>();

/// A file of numbered records, opened once for all workers.
pub(super) struct Records {
    file: File,
}

impl Records {
    /// A file with one record per read.
    pub(super) fn new(scratch: &Path, operations: u64) -> Result<Self, WorkloadError> {
        let path = scratch.join("records");
        let file_error = |operation| {
            let path = path.clone();
            move |source| WorkloadError::File { operation, path, source, option: TMPDIR }
        };
        let mut writer = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(file_error("make"))?);
        (0..operations)
            .try_for_each(|number| writer.write_all(&number.to_ne_bytes()))
            .and_then(|()| writer.flush())
            .map_err(file_error("write to"))?;
        Ok(Self { file: File::open(&path).map_err(file_error("open"))? })
    }
}

impl SharedObject for Records {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let mut tally = Tally::default();
        for _ in operations {
            let mut record = [0; RECORD_BYTES];
            if rustix::io::read(&self.file, &mut record).map_err(|error| call_error("read", error))?
                == RECORD_BYTES
            {
                tally.add(u64::from_ne_bytes(record));
            }
        }
        Ok(tally)
    }
}
