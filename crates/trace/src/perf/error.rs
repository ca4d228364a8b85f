//! Why the context switches of a command cannot be recorded, and what would help. Decides from error numbers and one
//! setting; asks the kernel nothing.

use std::io;

use morecores_study::CpuId;
use rustix::io::Errno;

/// The highest `perf_event_paranoid` at which an ordinary user may watch processes of its own, their time in user mode
/// alone (Documentation/admin-guide/sysctl/kernel.rst). Debian's 3 and Android's, and Ubuntu's 4, forbid even that.
const MOST_PARANOID: i32 = 2;

/// Why the context switches of a command cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The administrator keeps perf events from ordinary users.
    #[error(
        "this machine keeps perf events from ordinary users (kernel.perf_event_paranoid is {level}): \
         allow them for own processes with `sudo sysctl kernel.perf_event_paranoid={MOST_PARANOID}`"
    )]
    Paranoid {
        /// The setting.
        level: i32,
    },
    /// Something else refuses them: most often a container's filter of system calls.
    #[error(
        "perf events are refused ({source}) though kernel.perf_event_paranoid would allow them: a container's seccomp \
         profile or a security module forbids perf_event_open; with Docker, `--cap-add PERFMON` allows it"
    )]
    Refused {
        /// What the kernel answered.
        source: Errno,
    },
    /// There are none.
    #[error("this kernel has no perf events: it was built without CONFIG_PERF_EVENTS")]
    Absent,
    /// The kernel does not know one of the settings wanted.
    #[error("this kernel's perf events do not record context switches: Linux 4.3 or later does")]
    TooOld,
    /// One descriptor a CPU is too many.
    #[error(
        "too many open files: tracing needs one for each CPU; raise the limit with `ulimit -n`, or in this shell \
         `ulimit -n $(ulimit -Hn)`"
    )]
    Descriptors,
    /// The kernel could not open an event, for another reason.
    #[error("cannot open a perf event on CPU {cpu}: {source}")]
    Open {
        /// Of which CPU.
        cpu: CpuId,
        /// What the kernel answered.
        source: Errno,
    },
    /// This user may not lock so much memory, or has locked it otherwise.
    #[error(
        "no memory for the buffers of perf events, {kib} KiB for each of {cpus} CPUs: end other uses of perf by this user, \
         or allow more with `sudo sysctl kernel.perf_event_mlock_kb=516` (the kernel's default) or `ulimit -l`"
    )]
    MemoryLimit {
        /// Of each CPU, in KiB.
        kib: usize,
        /// Of how many.
        cpus: usize,
    },
    /// The kernel could not give a buffer, for another reason.
    #[error("cannot map the buffer of CPU {cpu}, {kib} KiB: {source}")]
    Map {
        /// Of which CPU.
        cpu: CpuId,
        /// How large.
        kib: usize,
        /// What the kernel answered.
        source: Errno,
    },
    /// An event could not be switched on or off, or read.
    #[error("cannot control the perf event of CPU {cpu}: {source}")]
    Control {
        /// Of which CPU.
        cpu: CpuId,
        /// What the kernel answered.
        source: Errno,
    },
    /// No thread to read with.
    #[error("cannot make a thread that reads perf events: {0}")]
    Thread(io::Error),
    /// The reader cannot sleep or be told to stop.
    #[error("cannot wait for perf events: {0}")]
    Wait(Errno),
    /// What was recorded could not be handed on.
    #[error("cannot keep the events of CPU {cpu}: {source}")]
    Sink {
        /// Of which CPU.
        cpu: CpuId,
        /// What the sink said.
        source: io::Error,
    },
    /// Two recordings at once.
    #[error("a recording has begun already: end it first")]
    Begun,
    /// An end without a beginning.
    #[error("no recording has begun")]
    NotBegun,
}

impl PerfError {
    /// Why `perf_event_open(2)` failed, from its error number and the content of
    /// `/proc/sys/kernel/perf_event_paranoid` (its manual page, ERRORS).
    pub(super) fn of_open(cpu: CpuId, source: Errno, paranoid: Option<i32>) -> Self {
        match source {
            Errno::ACCESS | Errno::PERM => match paranoid {
                Some(level) if level > MOST_PARANOID => Self::Paranoid { level },
                _ => Self::Refused { source },
            },
            Errno::NOSYS | Errno::NOENT | Errno::OPNOTSUPP => Self::Absent,
            Errno::INVAL | Errno::TOOBIG => Self::TooOld,
            Errno::MFILE | Errno::NFILE => Self::Descriptors,
            _ => Self::Open { cpu, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_to_do() {
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
            let message = PerfError::of_open(CpuId(7), errno, paranoid).to_string();
            assert!(message.contains(part), "{errno:?}, {paranoid:?}: {message}");
        }
    }
}
