//! Layout of the records in the kernel's buffers (include/uapi/linux/perf_event.h). This module
//! splits a record into its parts and knows no kind of record.

use morecores_study::Nanos;
use morecores_study::trace::Tid;

/// Bytes that end each record except a sample: process and thread, then the time, as `counter`
/// requests (perf_event_open(2), `struct sample_id`).
pub(super) const SAMPLE_ID_BYTES: usize = 16;

/// Kind of a record, `PERF_RECORD_*`; `None` if it is shorter than a header.
pub(super) fn kind_of(bytes: &[u8]) -> Option<u32> {
    Fields(bytes).u32()
}

/// Parts of a record other than a sample.
pub(super) struct Record<'a> {
    /// `PERF_RECORD_*`.
    pub(super) kind: u32,
    /// `PERF_RECORD_MISC_*`.
    pub(super) flags: u32,
    pub(super) body: Fields<'a>,
    /// Process and thread that made the record.
    pub(super) process: Tid,
    pub(super) thread: Tid,
    pub(super) at: Nanos,
}

impl<'a> Record<'a> {
    /// Splits a record; `None` if it is shorter than any record of a kernel.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (body, id) = bytes.split_at_checked(bytes.len().checked_sub(SAMPLE_ID_BYTES)?)?;
        let (mut body, mut id) = (Fields(body), Fields(id));
        let (kind, flags) = (body.u32()?, body.u32()? & 0xffff);
        let (process, thread, at) = (id.tid()?, id.tid()?, Nanos(id.u64()?));
        Some(Self { kind, flags, body, process, thread, at })
    }
}

/// Part of a record: a sequence of numbers.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next bytes, of this number.
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_ne_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_ne_bytes)
    }

    /// Number of a process or thread. The kernel reports 0 for a thread outside the caller's pid
    /// namespace, which means the idle loop here. It reports -1 for a thread that is gone, which is
    /// [`Tid::UNSEEN`].
    pub(super) fn tid(&mut self) -> Option<Tid> {
        let number = self.u32()?;
        Some(if number == 0 { Tid::UNSEEN } else { Tid(number) })
    }

    /// Text up to the first zero or the end.
    pub(super) fn text(&self) -> &'a [u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}
