//! What this kernel offers to a trace, read from its own description of its types.
//!
//! Decides nothing about what to do without; says what a trace will lack.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Struct, Typedef, Var};
use morecores_record::Untraced;

use crate::TraceError;

/// What no trace can do without.
const NEEDED: [&str; 6] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup_new",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
];

/// What this kernel offers.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// `contention_begin` and `contention_end`, since Linux 5.19.
    pub(super) locks: bool,
    /// `local_timer_entry`, of x86.
    pub(super) local_timer: bool,
    /// Whether interrupts are taken off a thread's run time (CONFIG_IRQ_TIME_ACCOUNTING).
    pub(super) interrupts_accounted: bool,
    /// The distance from a CPU's runqueue to its preempt_count or to what holds it, in bytes, where both are per-CPU variables that the kernel
    /// describes. Needed where it does not give the address of the latter by name.
    pub(super) preempt_count_from_runqueue: Option<i64>,
}

impl Features {
    pub(super) fn of_this_kernel() -> Result<Self, TraceError> {
        let btf = Btf::from_vmlinux().map_err(|_| TraceError::NoBtf)?;
        if let Some(missing) = NEEDED.into_iter().find(|name| !has_tracepoint(&btf, name)) {
            return Err(TraceError::NoTracepoint(missing));
        }
        Ok(Self {
            locks: has_tracepoint(&btf, "contention_begin"),
            local_timer: has_tracepoint(&btf, "local_timer_entry"),
            interrupts_accounted: has_member(&btf, "rq", "prev_irq_time"),
            // From Linux 6.2 to 6.14 it was a member of `pcpu_hot`; the programs add its place in there.
            preempt_count_from_runqueue: distance(&btf, "runqueues", "__preempt_count")
                .or_else(|| distance(&btf, "runqueues", "pcpu_hot"))
                .filter(|_| has_member(&btf, "cfs_rq", "rq")),
        })
    }

    /// What a trace lacks here.
    pub(super) fn untraced(&self) -> Vec<Untraced> {
        let mut untraced = Vec::new();
        if !self.locks {
            untraced.push(Untraced {
                what: "kernel locks".to_owned(),
                why: "the kernel has no tracepoints for them: Linux 5.19 brought them".to_owned(),
            });
        }
        if self.preempt_count_from_runqueue.is_none() {
            untraced.push(Untraced {
                what: "interrupts from other CPUs as wakers: the thread that they hit stands for them".to_owned(),
                why: "the kernel does not describe where its preempt_count is (CONFIG_FAIR_GROUP_SCHED, per-CPU \
                      variables in BTF)"
                    .to_owned(),
            });
        }
        untraced
    }
}

/// A BTF tracepoint is known by the type of its function.
fn has_tracepoint(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some()
}

fn has_member(btf: &Btf<'_>, name: &str, member: &str) -> bool {
    let found = btf.type_by_name::<Struct<'_>>(name);
    found.is_some_and(|it| it.iter().any(|field| field.name.is_some_and(|name| name == member)))
}

/// Bytes from one per-CPU variable to another.
fn distance(btf: &Btf<'_>, from: &str, to: &str) -> Option<i64> {
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    let offset = |name: &str| {
        section.iter().find_map(|variable| {
            let described = btf.type_by_id::<Var<'_>>(variable.ty)?;
            (described.name()? == name).then_some(i64::from(variable.offset))
        })
    };
    Some(offset(to)? - offset(from)?)
}
