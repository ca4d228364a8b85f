//! Reasons why the context switches of a command cannot be recorded, with their remedies. This
//! module decides from error numbers and one setting, and makes no system call.

use std::io;

use morecores_study::CpuId;
use rustix::io::Errno;

/// The highest `perf_event_paranoid` at which an ordinary user may trace the user's own processes,
/// in user mode only (Documentation/admin-guide/sysctl/kernel.rst). Debian's and Android's 3, and
/// Ubuntu's 4, forbid this too.
const MAX_PARANOID: i32 = 2;

/// Reason why the context switches of a command cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The administrator denies perf events to ordinary users.
    #[error(
        "this machine keeps perf events from ordinary users (kernel.perf_event_paranoid is {level}): \
         allow them for own processes with `sudo sysctl kernel.perf_event_paranoid={MAX_PARANOID}`"
    )]
    Paranoid {
        /// Value of the setting.
        level: i32,
    },
    /// Another mechanism refuses perf events: most often a container's filter of system calls.
    #[error(
        "perf events are refused ({error}) although kernel.perf_event_paranoid would allow them: a container's seccomp \
         profile or a security module forbids perf_event_open; with Docker, `--cap-add PERFMON` allows it"
    )]
    Refused {
        /// The kernel's error number.
        error: Errno,
    },
    /// The kernel has no perf events.
    #[error("this kernel has no perf events: it was built without CONFIG_PERF_EVENTS")]
    Absent,
    /// The kernel does not support one of the requested settings.
    #[error("this kernel's perf events do not record context switches: Linux 4.3 or later does")]
    TooOld,
    /// The limit of open files is too low for one descriptor per CPU.
    #[error(
        "too many open files: tracing needs one for each CPU; raise the limit with `ulimit -n`, or in this shell \
         `ulimit -n $(ulimit -Hn)`"
    )]
    Descriptors,
    /// The kernel could not open an event, for another reason.
    #[error("cannot open a perf event on CPU {cpu}: {error}")]
    Open {
        /// CPU of the event.
        cpu: CpuId,
        /// The kernel's error number.
        error: Errno,
    },
    /// This user may not lock enough memory, or has locked it for another purpose.
    #[error(
        "no memory for the buffers of perf events, {kib} KiB for each of {cpus} CPUs: end other uses of perf by this user, \
         or allow more with `sudo sysctl kernel.perf_event_mlock_kb=516` (the kernel's default) or `ulimit -l`"
    )]
    MemoryLimit {
        /// Memory for each CPU, in KiB.
        kib: usize,
        /// Number of CPUs.
        cpus: usize,
    },
    /// The kernel could not map a buffer, for another reason.
    #[error("cannot map the buffer of CPU {cpu}, {kib} KiB: {error}")]
    Map {
        /// CPU of the buffer.
        cpu: CpuId,
        /// Size of the buffer, in KiB.
        kib: usize,
        /// The kernel's error number.
        error: Errno,
    },
    /// An event could not be enabled, disabled or read.
    #[error("cannot control the perf event of CPU {cpu}: {error}")]
    Control {
        /// CPU of the event.
        cpu: CpuId,
        /// The kernel's error number.
        error: Errno,
    },
    /// The reader thread could not be created.
    #[error("cannot make a thread that reads perf events: {0}")]
    Thread(io::Error),
    /// The reader cannot sleep or receive the stop signal.
    #[error("cannot wait for perf events: {0}")]
    Wait(Errno),
    /// The recorded events could not be handed on.
    #[error("cannot keep the events of CPU {cpu}: {error}")]
    Sink {
        /// CPU of the events.
        cpu: CpuId,
        /// The sink's error.
        error: io::Error,
    },
    /// A recording began while another was in progress.
    #[error("a recording is already running: end it first")]
    AlreadyRunning,
    /// A recording ended that had not begun.
    #[error("no recording has begun")]
    NotRunning,
}

impl PerfError {
    /// Reason for a failure of `perf_event_open(2)`, from its error number and the content of
    /// `/proc/sys/kernel/perf_event_paranoid` (manual page of the call, ERRORS).
    pub(super) fn from_open(cpu: CpuId, error: Errno, paranoid: Option<i32>) -> Self {
        match error {
            Errno::ACCESS | Errno::PERM => match paranoid {
                Some(level) if level > MAX_PARANOID => Self::Paranoid { level },
                _ => Self::Refused { error },
            },
            Errno::NOSYS | Errno::NOENT | Errno::OPNOTSUPP => Self::Absent,
            Errno::INVAL | Errno::TOOBIG => Self::TooOld,
            Errno::MFILE | Errno::NFILE => Self::Descriptors,
            _ => Self::Open { cpu, error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_advice() {
        for (errno, paranoid, part) in [
            (Errno::ACCESS, Some(3), "sudo sysctl kernel.perf_event_paranoid=2"),
            (Errno::ACCESS, Some(4), "paranoid is 4"),
            (Errno::PERM, Some(2), "seccomp"),
            (Errno::PERM, None, "seccomp"),
            (Errno::NOSYS, None, "CONFIG_PERF_EVENTS"),
            (Errno::NOENT, Some(2), "CONFIG_PERF_EVENTS"),
            (Errno::INVAL, Some(2), "Linux 4.3"),
            (Errno::MFILE, Some(2), "ulimit -n"),
            (Errno::NODEV, Some(2), "CPU 7"),
        ] {
            let message = PerfError::from_open(CpuId(7), errno, paranoid).to_string();
            assert!(message.contains(part), "{errno:?}, {paranoid:?}: {message}");
        }
    }
}
