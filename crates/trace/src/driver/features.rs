//! Tracing features of this kernel, read from its own description of its types.
//!
//! This module does not decide how to handle a missing feature; it lists what a trace will lack.

use std::ffi::OsStr;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, FuncProto, Int, Struct, Typedef, Var};
use libbpf_rs::btf::{BtfType, TypeId};
use morecores_study::trace::{Need, TRACEPOINTS, UntracedFact};

use crate::TraceError;

/// Tracing features of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Waits for kernel locks, since Linux 5.19.
    pub(super) locks: bool,
    /// The local timer's interrupts, on x86 only.
    local_timer: bool,
    /// Whether one link attaches a program to many functions, since Linux 6.6.
    pub(super) uprobes_at_once: bool,
    /// Whether every system call is to be recorded.
    system_calls: bool,
    /// Whether the kernel subtracts interrupts from a thread's run time
    /// (CONFIG_IRQ_TIME_ACCOUNTING).
    pub(super) interrupts_accounted: bool,
    /// Distance from a CPU's runqueue to its preempt_count, or to the structure that holds it, in
    /// bytes. It is none unless both are per-CPU variables that the kernel describes. The programs
    /// need it if the kernel does not give the latter's address by name.
    pub(super) preempt_count_from_runqueue: Option<i64>,
}

impl Features {
    /// Reads the features of the running kernel, for a trace with or without system calls.
    pub(super) fn read_kernel(system_calls: bool) -> Result<Self, TraceError> {
        let btf = Btf::from_vmlinux().map_err(|_| TraceError::NoBtf)?;
        let missing = |need| {
            let tracepoints = TRACEPOINTS.iter().filter(move |tracepoint| tracepoint.need == need);
            tracepoints.map(|tracepoint| tracepoint.name).find(|name| !has_tracepoint(&btf, name))
        };
        let calls = || missing(Need::SystemCalls).filter(|_| system_calls);
        if let Some(missing) = missing(Need::Every).or_else(calls) {
            return Err(TraceError::NoTracepoint(missing));
        }
        if !reports_state(&btf) {
            return Err(TraceError::TooOld);
        }
        Ok(Self {
            locks: missing(Need::Locks).is_none(),
            local_timer: missing(Need::X86Timer).is_none(),
            uprobes_at_once: btf.type_by_name::<Struct<'_>>("bpf_uprobe_multi_link").is_some(),
            system_calls,
            interrupts_accounted: has_member(&btf, "rq", "prev_irq_time"),
            // From Linux 6.2 to 6.14, preempt_count was a member of `pcpu_hot`; the programs add
            // its offset in that structure.
            preempt_count_from_runqueue: per_cpu_distance(&btf, "runqueues", "__preempt_count")
                .or_else(|| per_cpu_distance(&btf, "runqueues", "pcpu_hot"))
                .filter(|_| has_member(&btf, "cfs_rq", "rq")),
        })
    }

    /// Whether the program of this section is to run on this kernel.
    pub(super) fn includes_program(&self, section: &OsStr) -> bool {
        let name = section.to_str().and_then(|section| section.strip_prefix("tp_btf/"));
        let found = TRACEPOINTS.iter().find(|tracepoint| name == Some(tracepoint.name));
        // The other programs are not at a tracepoint.
        found.is_none_or(|tracepoint| match tracepoint.need {
            Need::Every => true,
            Need::Locks => self.locks,
            Need::SystemCalls => self.system_calls,
            Need::X86Timer => self.local_timer,
        })
    }

    /// Information that a trace on this kernel lacks.
    pub(super) fn untraced(&self) -> Vec<UntracedFact> {
        let mut untraced = Vec::new();
        if !self.locks {
            untraced.push(UntracedFact {
                what: "kernel locks".to_owned(),
                why: "the kernel has no tracepoints for them: Linux 5.19 and later do".to_owned(),
            });
        }
        if self.preempt_count_from_runqueue.is_none() {
            untraced.push(UntracedFact {
                what: "wake-ups by interrupts from other CPUs: the interrupted thread counts as the waker".to_owned(),
                why: "the kernel does not describe the address of its preempt_count (CONFIG_FAIR_GROUP_SCHED, per-CPU \
                      variables in BTF)"
                    .to_owned(),
            });
        }
        untraced
    }
}

/// Whether the kernel has a BTF tracepoint, identified by the type of its function.
fn has_tracepoint(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some()
}

/// Whether `sched_switch` gives a program the state of the leaving thread as its last argument.
/// Before Linux 5.18 the state was absent, and in 5.18 its position was different.
fn reports_state(btf: &Btf<'_>) -> bool {
    let prototype = || {
        let typedef = btf.type_by_name::<BtfType<'_>>("btf_trace_sched_switch")?;
        FuncProto::try_from(typedef.next_type()?.next_type()?).ok()
    };
    let is_number = |ty: TypeId| {
        let found = btf.type_by_id::<BtfType<'_>>(ty);
        found.is_some_and(|found| Int::try_from(found.skip_mods_and_typedefs()).is_ok())
    };
    // The first argument is the kernel's own; preempt, prev, next and the state follow.
    prototype().and_then(|prototype| prototype.get(4).map(|state| is_number(state.ty))).unwrap_or(false)
}

fn has_member(btf: &Btf<'_>, name: &str, member: &str) -> bool {
    let found = btf.type_by_name::<Struct<'_>>(name);
    found.is_some_and(|it| it.iter().any(|field| field.name.is_some_and(|name| name == member)))
}

/// Distance in bytes from one per-CPU variable to another.
fn per_cpu_distance(btf: &Btf<'_>, from: &str, to: &str) -> Option<i64> {
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    let offset = |name: &str| {
        section.iter().find_map(|variable| {
            let described = btf.type_by_id::<Var<'_>>(variable.ty)?;
            (described.name()? == name).then_some(i64::from(variable.offset))
        })
    };
    Some(offset(to)? - offset(from)?)
}
