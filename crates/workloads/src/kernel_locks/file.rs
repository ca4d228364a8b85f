//! `file-offset`: one file read through one descriptor. The file offset moves with every read, so
//! each read has to wait for the previous one. No two reads return the same record.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use super::{Object, Tally, failed};
use crate::WorkloadError;
use crate::outcome::TMPDIR;

/// Bytes of a record: its number.
pub(super) const RECORD: usize = size_of::<u64>();

/// A file of numbered records, opened once for all workers.
pub(super) struct Records {
    file: File,
}

impl Records {
    /// A file with one record per read.
    pub(super) fn new(scratch: &Path, operations: u64) -> Result<Self, WorkloadError> {
        let path = scratch.join("records");
        let failed = |doing| {
            let path = path.clone();
            move |source| WorkloadError::File { doing, path, source, option: TMPDIR }
        };
        let mut writes = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(failed("make"))?);
        (0..operations)
            .try_for_each(|number| writes.write_all(&number.to_ne_bytes()))
            .and_then(|()| writes.flush())
            .map_err(failed("write to"))?;
        Ok(Self { file: File::open(&path).map_err(failed("open"))? })
    }
}

impl Object for Records {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let mut tally = Tally::default();
        for _ in operations {
            let mut record = [0; RECORD];
            if rustix::io::read(&self.file, &mut record).map_err(|error| failed("read", error))? == RECORD {
                tally.add(u64::from_ne_bytes(record));
            }
        }
        Ok(tally)
    }
}
