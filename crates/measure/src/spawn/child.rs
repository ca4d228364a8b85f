//! Code of the child between `clone` and `exec`. It runs in the memory of this process, which is
//! suspended meanwhile.
//!
//! The code must not allocate, lock, unwind or return. It makes only system calls, through libc's
//! thin wrappers.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};

use morecores_study::Nanos;

use super::{SpawnError, Start};
use morecores_machine::process::affinity_mask;

/// Step at which the child failed; the variants are in the order of the steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    ProcessGroup,
    DieWithParent,
    Cgroup,
    Descriptors,
    Affinity,
    Exec,
}

/// Instructions for the child, and its report.
#[derive(Debug)]
pub(super) struct Plan {
    path: *const libc::c_char,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
    stdio: [RawFd; 3],
    joined_cgroup: Option<RawFd>,
    affinity: Option<Vec<libc::c_ulong>>,
    parent: libc::pid_t,
    /// Blocked signals of the caller, before it blocked all signals for the time of the clone.
    pub(super) mask: libc::sigset_t,
    exec_at: libc::timespec,
    failed: Option<(Step, libc::c_int)>,
}

impl Plan {
    pub(super) fn new(start: &Start<'_>) -> Self {
        // SAFETY: getpid has no preconditions; an all-zero sigset_t is a valid, empty one.
        #[allow(unsafe_code)]
        let (parent, mask) = unsafe { (libc::getpid(), MaybeUninit::zeroed().assume_init()) };
        Self {
            path: start.image.path.as_ptr(),
            argv: start.image.argv.pointers.as_ptr(),
            envp: start.image.envp.pointers.as_ptr(),
            stdio: [start.stdin, start.stdout, start.stderr].map(|fd| fd.as_raw_fd()),
            joined_cgroup: start.joined_cgroup.map(|fd| fd.as_raw_fd()),
            affinity: start.affinity.map(affinity_mask),
            parent,
            mask,
            exec_at: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            failed: None,
        }
    }

    /// Instant just before `execve(2)`.
    pub(super) fn exec_at(&self) -> Nanos {
        Nanos::from_timespec(self.exec_at.tv_sec, self.exec_at.tv_nsec)
    }

    /// Reason for which the child did not become the program, if any.
    pub(super) fn failure(&self) -> Option<SpawnError> {
        let (step, errno) = self.failed?;
        let error = io::Error::from_raw_os_error(errno);
        let step = match step {
            Step::ProcessGroup => "give the command a process group",
            Step::DieWithParent => "tie the command to this process",
            Step::Cgroup => "move the command to its cgroup",
            Step::Descriptors => "connect the command's input and output",
            Step::Affinity => "hold the command to its CPUs",
            Step::Exec => return Some(SpawnError::Exec(error)),
        };
        Some(SpawnError::Child { step, error })
    }
}

/// Entry point of the child. It ends in the program or in `_exit`.
///
/// # Safety
/// `plan` must be valid for reading and writing, and the parent must be suspended until the child
/// has called `execve` or `_exit`.
#[allow(unsafe_code)]
pub(super) unsafe extern "C" fn enter(plan: *mut Plan) -> ! {
    // SAFETY: the caller guarantees that `plan` is valid, and no other code uses it while the
    // parent is suspended.
    let plan = unsafe { &mut *plan };
    // SAFETY: the same guarantee holds; this is the child.
    let step = unsafe { prepare_and_exec(plan) };
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    plan.failed = Some((step, errno));
    // SAFETY: always sound. The status 127 is never seen, because the parent checks `failed` first.
    unsafe { libc::_exit(127) }
}

/// Prepares the process and calls `execve`. Returns only on failure: the step that failed, with its
/// reason in errno.
///
/// # Safety
/// Call this function only in the child, with valid pointers in `plan`.
#[allow(unsafe_code)]
unsafe fn prepare_and_exec(plan: &mut Plan) -> Step {
    // SAFETY: system calls on the child itself, with valid pointers.
    unsafe {
        // The child gets its own process group, so that `kill 0` in a script ends the script and
        // not this process. It also allows a signal to the whole group.
        if libc::setpgid(0, 0) != 0 {
            return Step::ProcessGroup;
        }
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 || libc::getppid() != plan.parent {
            return Step::DieWithParent;
        }
    }
    if let Some(file) = plan.joined_cgroup {
        // SAFETY: the kernel reads one byte of a constant. "0" is the writing process (cgroups(7)).
        if unsafe { libc::write(file, b"0".as_ptr().cast(), 1) } != 1 {
            return Step::Cgroup;
        }
    }
    // SAFETY: the call changes only descriptors.
    if unsafe { connect(plan.stdio) }.is_none() {
        return Step::Descriptors;
    }
    if let Some(mask) = &plan.affinity {
        let size = std::mem::size_of_val(mask.as_slice());
        // SAFETY: the kernel reads `size` bytes at the pointer, a slice of that size.
        if unsafe { libc::sched_setaffinity(0, size, mask.as_ptr().cast()) } != 0 {
            return Step::Affinity;
        }
    }
    // SAFETY: `clone` has reset the handlers to their defaults, so unblocking runs no handler in
    // the shared memory. Rust's runtime ignores SIGPIPE, which a program must not inherit. Strings
    // and arrays are null-terminated and alive, because the parent is suspended.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_SETMASK, &plan.mask, std::ptr::null_mut());
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut plan.exec_at);
        libc::execve(plan.path, plan.argv, plan.envp);
    }
    Step::Exec
}

/// Duplicates the three descriptors to 0, 1 and 2.
///
/// # Safety
/// Call this function only in the child, because it replaces descriptors of the whole process.
#[allow(unsafe_code)]
unsafe fn connect(stdio: [RawFd; 3]) -> Option<()> {
    for (target, source) in (0..).zip(stdio) {
        if source == target {
            // dup2 of a descriptor onto itself would leave close-on-exec set.
            // SAFETY: the call changes only a flag of a descriptor.
            unsafe { libc::fcntl(source, libc::F_SETFD, 0) };
        // SAFETY: the call changes only descriptors. A source below 3 cannot have been replaced
        // already: descriptors 0 to 2 are inherited in place, and all others are opened above them.
        } else if unsafe { libc::dup2(source, target) } < 0 {
            return None;
        }
    }
    Some(())
}
