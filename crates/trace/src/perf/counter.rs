//! One perf event, of the calling thread and its descendants while they are on one CPU. This module
//! contains only the system calls.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use morecores_study::CpuId;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_LOST, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE, perf_event_attr,
};
use perf_event_open_sys::ioctls;
use rustix::io::Errno;

use super::PerfError;

/// Fields that the kernel appends to every record: thread and time. The CPU is known from the
/// buffer, since an event of one CPU gets only that CPU's records. Without the CPU field, a switch
/// record is a quarter shorter.
const SAMPLE_TYPE: u64 = (PERF_SAMPLE_TID | PERF_SAMPLE_TIME) as u64;

/// An open event. It counts nothing: only its records matter.
#[derive(Debug)]
pub(super) struct Counter {
    cpu: CpuId,
    fd: OwnedFd,
    /// Whether the kernel reports the number of lost records on request (Linux 6.0).
    reports_lost: bool,
}

impl Counter {
    /// Opens a disabled event of the calling thread. The kernel wakes its reader for each
    /// `wake_bytes` of records.
    pub(super) fn open(cpu: CpuId, wake_bytes: usize) -> Result<Self, PerfError> {
        let opened = match perf_event_open(cpu, wake_bytes, u64::from(PERF_FORMAT_LOST)) {
            Ok(fd) => Ok((fd, true)),
            Err(Errno::INVAL) => perf_event_open(cpu, wake_bytes, 0).map(|fd| (fd, false)),
            Err(errno) => Err(errno),
        };
        let (fd, reports_lost) =
            opened.map_err(|errno| PerfError::from_open(cpu, errno, paranoid_level()))?;
        Ok(Self { cpu, fd, reports_lost })
    }

    pub(super) fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Enables the event, for the calling thread and its descendants.
    pub(super) fn enable(&self) -> Result<(), PerfError> {
        // SAFETY: the request takes no pointer, and the descriptor is open.
        #[allow(unsafe_code)]
        let result = unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) };
        self.check_result(result)
    }

    /// Disables the event for the thread and its descendants. The kernel writes no record
    /// afterwards.
    pub(super) fn disable(&self) -> Result<(), PerfError> {
        // SAFETY: the request takes no pointer, and the descriptor is open.
        #[allow(unsafe_code)]
        let result = unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) };
        self.check_result(result)
    }

    fn check_result(&self, result: std::ffi::c_int) -> Result<(), PerfError> {
        if result < 0 { Err(self.control_error(last_error())) } else { Ok(()) }
    }

    /// Total number of lost records; absent if the kernel does not report it.
    pub(super) fn read_lost_records(&self) -> Result<Option<u64>, PerfError> {
        if !self.reports_lost {
            return Ok(None);
        }
        // PERF_FORMAT_LOST alone: the count, then the lost records.
        let mut values = [0; 16];
        let length = rustix::io::read(&self.fd, &mut values).map_err(|errno| self.control_error(errno))?;
        let (_, lost) = values.split_at(8);
        let lost = <[u8; 8]>::try_from(lost).map(u64::from_ne_bytes).ok();
        Ok(lost.filter(|_| length == values.len()))
    }

    fn control_error(&self, error: Errno) -> PerfError {
        PerfError::Control { cpu: self.cpu, error }
    }
}

impl AsFd for Counter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens an event of the calling thread's switches.
fn perf_event_open(cpu: CpuId, wake_bytes: usize, read_format: u64) -> Result<OwnedFd, Errno> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_DUMMY),
        sample_type: SAMPLE_TYPE,
        read_format,
        clockid: libc::CLOCK_MONOTONIC,
        ..perf_event_attr::default()
    };
    attributes.set_disabled(1);
    attributes.set_inherit(1);
    attributes.set_context_switch(1);
    attributes.set_task(1);
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
    attributes.set_sample_id_all(1);
    attributes.set_use_clockid(1);
    // The condition under which an ordinary user may open the event (perf_event_paranoid 2); a
    // dummy event counts nothing anyway.
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    // The kernel wakes the reader after this many bytes, never for a single record.
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = wake_bytes as u32;
    open(&mut attributes, 0, cpu)
}

/// Makes the system call: an event of a thread, 0 for the calling one and -1 for all, on one CPU.
pub(crate) fn open(
    attributes: &mut perf_event_attr,
    thread: libc::pid_t,
    cpu: CpuId,
) -> Result<OwnedFd, Errno> {
    let flags = libc::c_ulong::from(PERF_FLAG_FD_CLOEXEC);
    // SAFETY: the structure is complete and outlives the call.
    #[allow(unsafe_code)]
    let fd =
        unsafe { perf_event_open_sys::perf_event_open(attributes, thread, cpu.0 as libc::c_int, -1, flags) };
    if fd < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel has just created this descriptor for this process.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The administrator's restriction of perf events for ordinary users; absent if it cannot be read.
fn paranoid_level() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}
