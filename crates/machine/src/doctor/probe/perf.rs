//! Probe that opens the perf events of a trace: samples and, without privilege, context switches.

use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use rustix::io::Errno;

/// Whether a whole CPU, including all users' work and the kernel's, can be sampled by its clock.
pub(in crate::doctor) fn samples() -> Result<(), Errno> {
    let cpu = crate::process::affinity(0).ok().and_then(|cpus| cpus.first()).map_or(0, |cpu| cpu.0);
    let mut attributes = software(u64::from(PERF_COUNT_SW_CPU_CLOCK));
    attributes.set_disabled(1);
    open(&mut attributes, -1, cpu as libc::c_int)
}

/// Whether a process of the same user reports its context switches and new threads. The kernel
/// allows this to every user if `perf_event_paranoid` is 2 or less (perf_event_open(2)).
pub(in crate::doctor) fn own_switches() -> Result<(), Errno> {
    let mut attributes = software(u64::from(PERF_COUNT_SW_DUMMY));
    attributes.set_disabled(1);
    attributes.set_context_switch(1);
    attributes.set_task(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    open(&mut attributes, 0, -1)
}

fn software(event: u64) -> perf_event_attr {
    perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: event,
        ..perf_event_attr::default()
    }
}

fn open(attributes: &mut perf_event_attr, process: libc::pid_t, cpu: libc::c_int) -> Result<(), Errno> {
    // SAFETY: the structure is complete and outlives the call; no flags are set.
    #[allow(unsafe_code)]
    let fd = unsafe { perf_event_open_sys::perf_event_open(attributes, process, cpu, -1, 0) };
    if fd < 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    // SAFETY: the kernel has just created this descriptor for this process. Dropping it closes the
    // event.
    #[allow(unsafe_code)]
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(())
}
