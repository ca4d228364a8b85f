//! Makes the child: `clone3(2)` where its abilities are needed, `clone(2)` elsewhere.
//!
//! Nothing but the making: what the child does is in `child`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use super::SpawnError;
use super::child::{self, Plan};

/// Stack for the child. It calls a handful of libc wrappers; glibc's own `posix_spawn` reserves 32 KiB
/// beside the arguments (sysdeps/unix/sysv/linux/spawni.c).
const STACK_BYTES: usize = 64 * 1024;

/// A stack that is used by one child after another, each until its `exec`.
#[derive(Debug)]
pub struct ChildStack(Box<[Aligned]>);

/// Sixteen bytes at the alignment that the x86-64 and AArch64 ABIs want of a stack.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Aligned {
    _bytes: [u8; 16],
}

impl ChildStack {
    /// Allocates one.
    pub fn new() -> Self {
        Self(vec![Aligned { _bytes: [0; 16] }; STACK_BYTES / 16].into_boxed_slice())
    }
}

impl Default for ChildStack {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a child that shares our memory and runs `child::enter(plan)` on `stack`; returns its process number
/// once it has called `exec` or ended.
pub(super) fn vfork_with(
    plan: &mut Plan,
    cgroup: Option<BorrowedFd<'_>>,
    stack: &mut ChildStack,
) -> Result<libc::pid_t, SpawnError> {
    // A handler must not run in the child, in our memory: all signals stay blocked until it has none.
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset fills the set it is given; the mask in `plan` is a valid place for the old one.
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

/// `clone(2)` through libc, for every architecture.
fn clone(plan: &mut Plan, stack: &mut ChildStack) -> io::Result<libc::pid_t> {
    extern "C" fn enter(plan: *mut libc::c_void) -> libc::c_int {
        // SAFETY: this is the child, its handlers are its own copy (no CLONE_SIGHAND).
        #[allow(unsafe_code)]
        unsafe {
            default_handlers()
        };
        // SAFETY: `plan` is the pointer given to clone below, and the parent stands still (CLONE_VFORK).
        #[allow(unsafe_code)]
        unsafe {
            child::enter(plan.cast())
        }
    }
    let top = stack.0.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: `top` is the end of a stack that nobody else uses; `plan` outlives the child's use of it.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::clone(enter, top.cast(), flags, std::ptr::from_mut(plan).cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Sets every signal that has a handler back to its default.
///
/// # Safety
/// Only in the child before `exec`.
#[allow(unsafe_code)]
unsafe fn default_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks for the present action; fails harmlessly for the two signals that libc keeps.
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
    //! `clone3(2)` by hand: glibc offers no wrapper that takes a function and a stack.

    use std::arch::asm;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    use super::super::child::{self, Plan};
    use super::ChildStack;

    /// Linux 5.5: handlers go back to their defaults in the child (include/uapi/linux/sched.h).
    const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
    /// Linux 5.7: the child is born in the given version 2 cgroup.
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
        // SAFETY: the kernel reads `args` of the size given. In the parent the call changes rax, rcx and r11
        // only, and returns after the child has left our memory. The child starts behind `syscall` with rax
        // zero on the end of its own, 16-byte aligned stack, enters `child::enter` and never comes back, so
        // that it leaves this frame untouched; r12 and r13 are kept across the system call.
        #[allow(unsafe_code)]
        unsafe {
            asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp", // Ends the chain of frames for unwinders, as the ABI asks of a first frame.
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
    //! No `clone3(2)` here yet; accounting falls back to an estimator that needs no cgroup.

    use std::io;
    use std::os::fd::BorrowedFd;

    use super::super::child::Plan;
    use super::ChildStack;

    pub(super) fn clone3(_: &mut Plan, _: BorrowedFd<'_>, _: &mut ChildStack) -> io::Result<libc::pid_t> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}
