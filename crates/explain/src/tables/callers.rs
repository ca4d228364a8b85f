//! Reads a kernel stack taken in a wait for a lock: the function that locks, and its caller.

use morecores_study::trace::KernelFrame;

/// Prefixes of function names that are above the lock primitive only because the stack was taken:
/// tracepoints (`__traceiter_contention_begin`), BPF programs and trampolines (named by the kernel
/// itself since Linux 5.13, their helpers in kernel/bpf/), and ftrace.
const TRACING_PREFIXES: &[&str] = &[
    "__bpf_",
    "__traceiter_",
    "bpf_",
    "do_perf_trace",
    "ftrace_",
    "get_perf_callchain",
    "perf_",
    "stack_trace_",
    "trace_",
];

/// Functions that sleep on behalf of a lock primitive. They are above it on the stack, never below.
const SLEEP_FUNCTIONS: &[&str] =
    &["__schedule", "io_schedule", "preempt_schedule", "schedule", "schedule_preempt_disabled"];

/// Prefixes of lock primitives' names: kernel/locking/, kernel/sched/core.c for a runqueue's lock,
/// lib/lockref.c, arch/x86/kernel/{kvm,paravirt}.c for spinlocks under a hypervisor. `down` without
/// an underscore is the semaphore's own function and is compared as a whole.
const LOCK_PRIMITIVES: &[&str] = &[
    "__down",
    "__mutex_",
    "__percpu_down_",
    "__percpu_rwsem_",
    "__pv_queued_",
    "__raw_callee_save___",
    "__raw_read_",
    "__raw_spin_",
    "__raw_write_",
    "__rt_mutex_",
    "__rwbase_",
    "__task_rq_lock",
    "__ww_mutex_",
    "__ww_rt_mutex_",
    "_raw_read_",
    "_raw_spin_",
    "_raw_write_",
    "do_raw_",
    "down_",
    "lockref_",
    "mutex_",
    "native_queued_",
    "osq_",
    "percpu_down_",
    "percpu_rwsem_",
    "pv_queued_",
    "pv_wait",
    "queued_read_",
    "queued_spin_",
    "queued_write_",
    "raw_spin_rq_",
    "rt_mutex_",
    "rt_read_",
    "rt_spin_",
    "rt_write_",
    "rtlock_",
    "rwbase_",
    "rwsem_",
    "task_rq_lock",
    "ww_mutex_",
];

/// Place in the kernel at which a thread waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LockSite<'a> {
    /// Lock function that the caller called; none if the stack shows no known one.
    pub(super) primitive: Option<&'a str>,
    /// First function that is no lock primitive; none if the stack ends before it.
    pub(super) caller: Option<&'a str>,
}

/// Reads a stack, innermost function first.
pub(super) fn lock_site(stack: &[KernelFrame]) -> LockSite<'_> {
    let skipped = stack.iter().position(|frame| !is_above_primitive(&frame.symbol)).unwrap_or(stack.len());
    let primitives = stack[skipped..].iter().take_while(|frame| is_primitive(&frame.symbol)).count();
    let symbol = |index: usize| stack.get(index).map(|frame| strip_clone_suffix(&frame.symbol));
    LockSite {
        primitive: if primitives > 0 { symbol(skipped + primitives - 1) } else { None },
        caller: symbol(skipped + primitives),
    }
}

/// Whether a function is above the lock primitive. A function without a name is a BPF program if it
/// is above all others, and a module's function elsewhere.
fn is_above_primitive(symbol: &str) -> bool {
    let begins = |prefix: &&str| symbol.starts_with(*prefix);
    is_address(symbol)
        || TRACING_PREFIXES.iter().any(begins)
        || SLEEP_FUNCTIONS.contains(&strip_clone_suffix(symbol))
}

/// Whether a symbol is a kernel address: 16 digits, with or without a prefix.
fn is_address(symbol: &str) -> bool {
    let digits = symbol.strip_prefix("0x").unwrap_or(symbol);
    digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn is_primitive(symbol: &str) -> bool {
    LOCK_PRIMITIVES.iter().any(|prefix| symbol.starts_with(prefix)) || strip_clone_suffix(symbol) == "down"
}

/// Name without the compiler's suffix for a clone: `.isra.0`, `.constprop.0`, `.llvm.…`.
fn strip_clone_suffix(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_stack(symbols: &str) -> (Option<String>, Option<String>) {
        let stack: Vec<KernelFrame> = symbols
            .split_whitespace()
            .map(|symbol| KernelFrame { symbol: symbol.to_owned(), offset: 0 })
            .collect();
        let site = lock_site(&stack);
        (site.primitive.map(str::to_owned), site.caller.map(str::to_owned))
    }

    fn assert_site(symbols: &str, primitive: &str, caller: &str) {
        assert_eq!(read_stack(symbols), (Some(primitive.to_owned()), Some(caller.to_owned())), "{symbols}");
    }

    #[test]
    fn tracing_and_primitives_are_skipped() {
        assert_site(
            "bpf_prog_4a_on_end bpf_trace_run2 __bpf_trace_contention_end __traceiter_contention_end \
             native_queued_spin_lock_slowpath _raw_spin_lock d_alloc lookup_open",
            "_raw_spin_lock",
            "d_alloc",
        );
        assert_site(
            "0xffffffffc0001234 bpf_trampoline_6442 __pv_queued_spin_lock_slowpath _raw_spin_lock_irqsave \
             prepare_to_wait_event pipe_read",
            "_raw_spin_lock_irqsave",
            "prepare_to_wait_event",
        );
        assert_site(
            "rwsem_down_write_slowpath down_write_killable vm_mmap_pgoff",
            "down_write_killable",
            "vm_mmap_pgoff",
        );
        assert_site("__mutex_lock.constprop.0 mutex_lock pipe_write vfs_write", "mutex_lock", "pipe_write");
        assert_site("__mutex_lock.constprop.0 sync_inodes_sb.part.0", "__mutex_lock", "sync_inodes_sb");
        assert_site("__down_common.isra.0 down console_lock", "down", "console_lock");
        assert_site(
            "native_queued_spin_lock_slowpath _raw_spin_lock lockref_get_not_dead __legitimize_path",
            "lockref_get_not_dead",
            "__legitimize_path",
        );
    }

    /// The scheduler is above a primitive that sleeps, and below a primitive that it takes itself.
    #[test]
    fn caller_is_found_above_and_below_the_scheduler() {
        assert_site(
            "__schedule schedule_preempt_disabled __mutex_lock mutex_lock pipe_read",
            "mutex_lock",
            "pipe_read",
        );
        assert_site(
            "native_queued_spin_lock_slowpath _raw_spin_lock raw_spin_rq_lock_nested __schedule schedule",
            "raw_spin_rq_lock_nested",
            "__schedule",
        );
    }

    #[test]
    fn missing_stack_frames_are_none() {
        assert_eq!(read_stack(""), (None, None));
        assert_eq!(read_stack("bpf_prog_1 mutex_lock"), (Some("mutex_lock".to_owned()), None));
        // The primitive was inlined: the stack shows only its caller. A module's function has no
        // name.
        assert_eq!(
            read_stack("bpf_prog_1 ext4_sync_file vfs_fsync"),
            (None, Some("ext4_sync_file".to_owned()))
        );
        assert_eq!(
            read_stack("_raw_spin_lock 0xffffffffc0401000 vfs_read"),
            (Some("_raw_spin_lock".to_owned()), Some("0xffffffffc0401000".to_owned()))
        );
        // A counter's own lock is no per-CPU semaphore.
        assert_site(
            "_raw_spin_lock_irqsave __percpu_counter_sum x",
            "_raw_spin_lock_irqsave",
            "__percpu_counter_sum",
        );
        assert_eq!(read_stack("download_firmware x"), (None, Some("download_firmware".to_owned())));
    }
}
