//! Creates the child: with `clone3(2)` if its features are needed, otherwise with `clone(2)`.
//!
//! This module only creates the child; `child` has the child's own code.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use super::SpawnError;
use super::child::{self, Plan};

/// Size of the child's stack. The child calls a handful of libc wrappers. glibc's own `posix_spawn`
/// reserves 32 KiB besides the arguments (sysdeps/unix/sysv/linux/spawni.c).
const STACK_BYTES: usize = 64 * 1024;

/// Stack that serves one child after another, each until its `exec`.
#[derive(Debug)]
pub struct ChildStack(Box<[Aligned]>);

/// Sixteen bytes with the stack alignment that the x86-64 and AArch64 ABIs require.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Aligned {
    _bytes: [u8; 16],
}

impl ChildStack {
    /// Allocates a stack.
    pub fn new() -> Self {
        Self(vec![Aligned { _bytes: [0; 16] }; STACK_BYTES / 16].into_boxed_slice())
    }
}

impl Default for ChildStack {
    fn default() -> Self {
        Self::new()
    }
}

/// Creates a child that shares this process's memory and runs `child::enter(plan)` on `stack`.
/// Returns the child's process number after the child has called `exec` or ended.
pub(super) fn vfork_with(
    plan: &mut Plan,
    cgroup: Option<BorrowedFd<'_>>,
    stack: &mut ChildStack,
) -> Result<libc::pid_t, SpawnError> {
    // A signal handler must not run in the child, which shares this process's memory. All signals
    // stay blocked until the child has no handlers.
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset fills the set that it gets; the mask in `plan` is a valid place for the
    // old mask.
    #[allow(unsafe_code)]
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), &mut plan.mask);
    }
    let mask = plan.mask;
    let made = match cgroup {
        Some(cgroup) => arch::clone3(plan, cgroup, stack).map_err(SpawnError::IntoCgroup),
        None => clone(plan, stack).map_err(SpawnError::Clone),
    };
    // SAFETY: `mask` is the set that was in force before.
    #[allow(unsafe_code)]
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
    }
    made
}

/// Calls `clone(2)` through libc, on every architecture.
fn clone(plan: &mut Plan, stack: &mut ChildStack) -> io::Result<libc::pid_t> {
    extern "C" fn enter(plan: *mut libc::c_void) -> libc::c_int {
        // SAFETY: this is the child, and its handlers are its own copy (no CLONE_SIGHAND).
        #[allow(unsafe_code)]
        unsafe {
            default_handlers()
        };
        // SAFETY: `plan` is the pointer given to clone below, and the parent is suspended
        // (CLONE_VFORK).
        #[allow(unsafe_code)]
        unsafe {
            child::enter(plan.cast())
        }
    }
    let top = stack.0.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: `top` is the end of a stack that no other code uses; `plan` outlives the child's use
    // of it.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::clone(enter, top.cast(), flags, std::ptr::from_mut(plan).cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Resets every signal that has a handler to its default.
///
/// # Safety
/// Call this function only in the child, before `exec`.
#[allow(unsafe_code)]
unsafe fn default_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: reads the present action; fails harmlessly for the two signals that libc
        // reserves.
        if unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } != 0 {
            continue;
        }
        // SAFETY: all-zero bytes are a valid sigaction, and the kernel filled it.
        let handler = unsafe { action.assume_init() }.sa_sigaction;
        if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
            // SAFETY: sets a default.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    //! Direct `clone3(2)` system call: glibc offers no wrapper that takes a function and a stack.

    use std::arch::asm;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    use super::super::child::{self, Plan};
    use super::ChildStack;

    /// Flag of Linux 5.5: handlers return to their defaults in the child
    /// (include/uapi/linux/sched.h).
    const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
    /// Flag of Linux 5.7: the child is born in the given version 2 cgroup.
    const CLONE_INTO_CGROUP: u64 = 1 << 33;

    pub(super) fn clone3(
        plan: &mut Plan,
        cgroup: BorrowedFd<'_>,
        stack: &mut ChildStack,
    ) -> io::Result<libc::pid_t> {
        let shared = (libc::CLONE_VM | libc::CLONE_VFORK) as u64;
        let args = libc::clone_args {
            flags: shared | CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP,
            pidfd: 0,
            child_tid: 0,
            parent_tid: 0,
            exit_signal: libc::SIGCHLD as u64,
            stack: stack.0.as_mut_ptr() as u64,
            stack_size: std::mem::size_of_val(&*stack.0) as u64,
            tls: 0,
            set_tid: 0,
            set_tid_size: 0,
            cgroup: cgroup.as_raw_fd() as u64,
        };
        let result: libc::c_long;
        // SAFETY: the kernel reads `args` of the given size. In the parent, the call changes only
        // rax, rcx and r11, and returns after the child has left the shared memory. The child
        // starts after `syscall` with rax zero, at the end of its own, 16-byte aligned stack. It
        // enters `child::enter` and never returns, so it does not touch this frame. r12 and r13 are
        // preserved across the system call.
        #[allow(unsafe_code)]
        unsafe {
            asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp", // Ends the chain of frames for unwinders; the ABI requires it.
                "mov rdi, r13",
                "call r12",
                "ud2",
                "2:",
                inlateout("rax") libc::SYS_clone3 => result,
                in("rdi") &raw const args,
                in("rsi") size_of::<libc::clone_args>(),
                in("r12") child::enter as unsafe extern "C" fn(*mut Plan) -> !,
                in("r13") std::ptr::from_mut(plan),
                lateout("rcx") _,
                lateout("r11") _,
            );
        }
        if result < 0 { Err(io::Error::from_raw_os_error(-result as i32)) } else { Ok(result as libc::pid_t) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod arch {
    //! Placeholder: this architecture has no `clone3(2)` call yet, so accounting falls back to an
    //! estimator that needs no cgroup.

    use std::io;
    use std::os::fd::BorrowedFd;

    use super::super::child::Plan;
    use super::ChildStack;

    pub(super) fn clone3(_: &mut Plan, _: BorrowedFd<'_>, _: &mut ChildStack) -> io::Result<libc::pid_t> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}
