//! Probes that open perf events: the samples and context switches of a trace, and counters of
//! cycles and instructions.

use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY,
    PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use rustix::io::Errno;

/// Whether a whole CPU, including all users' work and the kernel's, can be sampled by its clock.
pub(in crate::doctor) fn samples() -> Result<(), Errno> {
    let cpu = crate::process::affinity(0).ok().and_then(|cpus| cpus.first()).map_or(0, |cpu| cpu.0);
    let mut attributes = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    attributes.set_disabled(1);
    open(&mut attributes, -1, cpu as libc::c_int).map(drop)
}

/// Whether a process of the same user reports its context switches and new threads. The kernel
/// allows this to every user if `perf_event_paranoid` is 2 or less (perf_event_open(2)).
pub(in crate::doctor) fn own_switches() -> Result<(), Errno> {
    let mut attributes = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attributes.set_disabled(1);
    attributes.set_context_switch(1);
    attributes.set_task(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    open(&mut attributes, 0, -1).map(drop)
}

/// Whether this process's cycles in user mode can be counted.
pub(in crate::doctor) fn cycles() -> Result<(), Errno> {
    try_counter(PERF_COUNT_HW_CPU_CYCLES)
}

/// Whether this process's instructions in user mode can be counted.
pub(in crate::doctor) fn instructions() -> Result<(), Errno> {
    try_counter(PERF_COUNT_HW_INSTRUCTIONS)
}

/// Opens a counter of the calling thread on any CPU, works a little, and checks that the counter
/// moved. In some virtual machines, counters open but never count.
fn try_counter(hardware: u32) -> Result<(), Errno> {
    let mut attributes = event(PERF_TYPE_HARDWARE, hardware);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    let counter = open(&mut attributes, 0, -1)?;
    std::hint::black_box((0..10_000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i)));
    let mut value = [0; 8];
    let length = rustix::io::read(&counter, &mut value)?;
    // NODATA means "no data available": the counter opened but does not count.
    if length == value.len() && u64::from_ne_bytes(value) > 0 { Ok(()) } else { Err(Errno::NODATA) }
}

fn event(kind: u32, config: u32) -> perf_event_attr {
    perf_event_attr {
        type_: kind,
        size: size_of::<perf_event_attr>() as u32,
        config: config.into(),
        ..perf_event_attr::default()
    }
}

fn open(attributes: &mut perf_event_attr, process: libc::pid_t, cpu: libc::c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: the structure is complete and outlives the call; no flags are set.
    #[allow(unsafe_code)]
    let fd = unsafe { perf_event_open_sys::perf_event_open(attributes, process, cpu, -1, 0) };
    if fd < 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: the kernel has just created this descriptor for this process.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
