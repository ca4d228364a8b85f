//! One perf event of one CPU. This module contains only the system calls.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use morecores_study::CpuId;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_LOST, PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use perf_event_open_sys::ioctls;
use rustix::io::Errno;

use super::PerfError;
use super::samples::{REGISTERS, SAMPLE_FIELDS, Sampling};
use crate::SAMPLE_PERIOD;

/// Fields that the kernel appends to every record: thread and time. The CPU is known from the
/// buffer, since an event of one CPU gets only that CPU's records. Without the CPU field, a switch
/// record is a quarter shorter.
const SAMPLE_TYPE: u64 = (PERF_SAMPLE_TID | PERF_SAMPLE_TIME) as u64;

/// Records that an event makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    /// Context switches, creation, names and end of the calling thread and its descendants, and
    /// their samples with mappings of code. One event makes all of these, because the kernel
    /// switches each event of a thread with the thread.
    Command(Sampling),
    /// Mappings of code by all processes on the CPU. The event belongs to no thread, so that it
    /// costs nothing at a context switch; it needs CAP_PERFMON.
    Mappings,
}

/// Abilities that only some kernels have. An event is opened with all of them if possible.
#[derive(Clone, Copy, Debug)]
struct Abilities {
    /// Whether the kernel reports the number of lost records on request (Linux 6.0).
    reports_lost: bool,
    /// Whether a mapping has the build identifier of its file (Linux 5.12).
    has_build_ids: bool,
}

impl Abilities {
    /// Abilities of new and old kernels, the newest first.
    const ALL: [Self; 3] = [
        Self { reports_lost: true, has_build_ids: true },
        Self { reports_lost: false, has_build_ids: true },
        Self { reports_lost: false, has_build_ids: false },
    ];
}

/// An open event. Only its records matter, not its count.
#[derive(Debug)]
pub(super) struct Counter {
    cpu: CpuId,
    fd: OwnedFd,
    /// Whether the kernel reports the number of lost records on request (Linux 6.0).
    reports_lost: bool,
}

impl Counter {
    /// Opens a disabled event. The kernel wakes its reader for each `wake_bytes` of records.
    pub(super) fn open(cpu: CpuId, records: Records, wake_bytes: usize) -> Result<Self, PerfError> {
        let mut refusal = Errno::INVAL;
        for abilities in Abilities::ALL {
            match perf_event_open(cpu, records, wake_bytes, abilities) {
                Ok(fd) => return Ok(Self { cpu, fd, reports_lost: abilities.reports_lost }),
                Err(Errno::INVAL) => {}
                Err(errno) => {
                    refusal = errno;
                    break;
                }
            }
        }
        Err(PerfError::from_open(cpu, refusal, paranoid_level()))
    }

    pub(super) fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// Enables the event, for its thread's descendants too.
    pub(super) fn enable(&self) -> Result<(), PerfError> {
        // SAFETY: the request takes no pointer, and the descriptor is open.
        #[allow(unsafe_code)]
        let result = unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) };
        self.check_result(result)
    }

    /// Disables the event, for its thread's descendants too. The kernel writes no record
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

/// Opens an event.
fn perf_event_open(
    cpu: CpuId,
    records: Records,
    wake_bytes: usize,
    abilities: Abilities,
) -> Result<OwnedFd, Errno> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_DUMMY),
        sample_type: SAMPLE_TYPE,
        read_format: if abilities.reports_lost { u64::from(PERF_FORMAT_LOST) } else { 0 },
        clockid: libc::CLOCK_MONOTONIC,
        ..perf_event_attr::default()
    };
    attributes.set_disabled(1);
    let thread = match records {
        Records::Command(sampling) => {
            attributes.set_inherit(1);
            attributes.set_context_switch(1);
            attributes.set_task(1);
            attributes.set_comm(1);
            attributes.set_comm_exec(1);
            if let Sampling::Stacks { bytes } = sampling {
                attributes.config = u64::from(PERF_COUNT_SW_CPU_CLOCK);
                attributes.__bindgen_anon_1.sample_period = SAMPLE_PERIOD.0;
                attributes.sample_type |= SAMPLE_FIELDS;
                attributes.sample_regs_user = REGISTERS;
                attributes.sample_stack_user = bytes;
                request_mappings(&mut attributes, abilities);
            }
            CALLING_THREAD
        }
        Records::Mappings => {
            request_mappings(&mut attributes, abilities);
            ALL_THREADS
        }
    };
    attributes.set_sample_id_all(1);
    attributes.set_use_clockid(1);
    // The condition under which an ordinary user may open the event (perf_event_paranoid 2). The
    // clock then makes no samples in kernel mode.
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    // The kernel wakes the reader after this many bytes, never for a single record.
    attributes.set_watermark(1);
    attributes.__bindgen_anon_2.wakeup_watermark = wake_bytes as u32;
    open(&mut attributes, thread, cpu)
}

/// Requests records of the mappings of code.
fn request_mappings(attributes: &mut perf_event_attr, abilities: Abilities) {
    attributes.set_mmap(1);
    attributes.set_mmap2(1);
    attributes.set_build_id(abilities.has_build_ids.into());
}

/// Threads of an event, as the system call names them.
const CALLING_THREAD: libc::pid_t = 0;
pub(crate) const ALL_THREADS: libc::pid_t = -1;

/// Makes the system call: an event of a thread on one CPU.
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
