//! Probe that counts a few cycles and instructions of this process.

use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, perf_event_attr,
};
use rustix::io::Errno;

/// Whether this process's cycles in user mode can be counted.
pub(in crate::doctor) fn cycles() -> Result<(), Errno> {
    try_counter(u64::from(PERF_COUNT_HW_CPU_CYCLES))
}

/// Whether this process's instructions in user mode can be counted.
pub(in crate::doctor) fn instructions() -> Result<(), Errno> {
    try_counter(u64::from(PERF_COUNT_HW_INSTRUCTIONS))
}

/// Opens a counter of the calling thread on any CPU, works a little, and checks that the counter
/// moved. In some virtual machines, counters open but never count.
fn try_counter(event: u64) -> Result<(), Errno> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_HARDWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: event,
        ..perf_event_attr::default()
    };
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    // SAFETY: the structure is complete and outlives the call; no flags are set.
    #[allow(unsafe_code)]
    let fd = unsafe { perf_event_open_sys::perf_event_open(&mut attributes, 0, -1, -1, 0) };
    if fd < 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: the kernel has just created this descriptor for this process.
    #[allow(unsafe_code)]
    let counter = unsafe { OwnedFd::from_raw_fd(fd) };
    std::hint::black_box((0..10_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i)));
    let mut value = [0; 8];
    let length = rustix::io::read(&counter, &mut value)?;
    // NODATA means "no data available": the counter opened but does not count.
    if length == value.len() && u64::from_ne_bytes(value) > 0 { Ok(()) } else { Err(Errno::NODATA) }
}
