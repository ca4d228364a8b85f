//! The sampling clock: a timer on each CPU that calls the program `on_sample`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use libbpf_rs::{Link, ProgramMut};
use morecores_record::{CpuId, CpuSet, Nanos};
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_SOFTWARE, perf_event_attr,
};

/// 197 Hz: below 200, and prime, so that it drifts past anything that happens 100, 250 or 1,000 times a second.
pub(super) const PERIOD: Nanos = Nanos(1_000_000_000 / 197);

/// The timers; dropping them stops them.
#[derive(Debug)]
pub(super) struct SamplingClock {
    _links: Vec<Link>,
}

impl SamplingClock {
    /// Starts a timer on each of `cpus` that is online; none where the kernel gives no such timers.
    pub(super) fn start(program: &ProgramMut<'_>, cpus: &CpuSet) -> Option<Self> {
        let timer = |cpu| {
            let event = open(cpu).ok()?;
            let link = program.attach_perf_event(event.as_raw_fd()).ok()?;
            // The link closes it.
            let _ = event.into_raw_fd();
            Some(link)
        };
        let links: Vec<Link> = cpus.iter().filter_map(timer).collect();
        (!links.is_empty()).then_some(Self { _links: links })
    }
}

/// One CPU's timer, over all threads that run there.
fn open(cpu: CpuId) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = PERIOD.0;
    // Not in guests of ours, and not while idle, where there is no thread to ask.
    attributes.set_exclude_idle(1);
    let close_on_exec = PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the kernel reads the attributes, which outlive the call.
    #[allow(unsafe_code)]
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, cpu.0, -1, close_on_exec)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
