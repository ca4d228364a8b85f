//! Tracepoints that a BPF trace uses: the tracer attaches to them, and `morecores doctor` looks for
//! them.
//!
//! This module holds names only; other code finds out which tracepoints a kernel has.

/// First Linux version whose tracepoints report enough. Since this version, `sched_switch` passes
/// the state of the leaving thread to a program, as its last argument. Everything else that the
/// programs use is older.
pub const LEAST_LINUX: (u32, u32) = (5, 19);

/// Purpose of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Any trace; no trace works without the tracepoint.
    Every,
    /// Recording of waits for kernel locks.
    Locks,
    /// Exact trace of every system call.
    SystemCalls,
    /// Timer interrupts on x86; there, they are not interrupts of a device.
    X86Timer,
}

/// Tracepoint of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// Directory of the tracepoint in tracefs.
    pub group: &'static str,
    /// Name of the tracepoint.
    pub name: &'static str,
    /// Purpose of the tracepoint.
    pub need: Need,
}

const fn tracepoint(group: &'static str, name: &'static str, need: Need) -> Tracepoint {
    Tracepoint { group, name, need }
}

/// All tracepoints that a BPF trace uses.
pub const TRACEPOINTS: [Tracepoint; 22] = [
    tracepoint("sched", "sched_switch", Need::Every),
    tracepoint("sched", "sched_waking", Need::Every),
    tracepoint("sched", "sched_wakeup_new", Need::Every),
    tracepoint("task", "task_newtask", Need::Every),
    tracepoint("sched", "sched_process_exec", Need::Every),
    tracepoint("sched", "sched_process_exit", Need::Every),
    tracepoint("task", "task_rename", Need::Every),
    tracepoint("irq", "irq_handler_entry", Need::Every),
    tracepoint("irq", "irq_handler_exit", Need::Every),
    tracepoint("irq", "softirq_raise", Need::Every),
    tracepoint("irq", "softirq_entry", Need::Every),
    tracepoint("irq", "softirq_exit", Need::Every),
    tracepoint("irq_vectors", "local_timer_entry", Need::X86Timer),
    tracepoint("irq_vectors", "local_timer_exit", Need::X86Timer),
    tracepoint("workqueue", "workqueue_queue_work", Need::Every),
    tracepoint("workqueue", "workqueue_execute_start", Need::Every),
    tracepoint("workqueue", "workqueue_execute_end", Need::Every),
    tracepoint("cpuhp", "cpuhp_enter", Need::Every),
    tracepoint("lock", "contention_begin", Need::Locks),
    tracepoint("lock", "contention_end", Need::Locks),
    tracepoint("raw_syscalls", "sys_enter", Need::SystemCalls),
    tracepoint("raw_syscalls", "sys_exit", Need::SystemCalls),
];
