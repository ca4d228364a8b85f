//! The tracepoints that a trace by BPF programs is made from: what the tracer attaches to and `morecores doctor` looks for.
//!
//! Names alone; which of them a kernel has is found out elsewhere.

/// The first Linux whose tracepoints tell enough: `sched_switch` hands a program the state of the thread that leaves since
/// then, as its last argument. All else that the programs use is older.
pub const LEAST_LINUX: (u32, u32) = (5, 19);

/// What a tracepoint is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// No trace can do without it.
    Every,
    /// Waits for kernel locks.
    Locks,
    /// The exact trace, of every system call.
    SystemCalls,
    /// The timer's interrupts where they are no device's: on x86.
    X86Timer,
}

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its directory in tracefs.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is there for.
    pub need: Need,
}

const fn tracepoint(group: &'static str, name: &'static str, need: Need) -> Tracepoint {
    Tracepoint { group, name, need }
}

/// All of them.
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
