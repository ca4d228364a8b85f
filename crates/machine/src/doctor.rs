//! What this machine allows to be measured, and what would allow more.
//!
//! In two steps: [`Facts::gather`] tries things out and keeps what the kernel answered; [`diagnose`], which is
//! pure, says what that means and what to do. Nothing is left changed: a probe's cgroup goes through the
//! journal of changes, a probe's program and counters are closed at once.

mod facts;
mod gather;
mod kernel_locks;
mod machine;
mod measuring;
mod probe;
mod remedy;
mod tracing;

use crate::{DIAGNOSIS_SCHEMA, Diagnosis, Finding, Remedy, State, Subject};

use crate::cgroup::Hierarchies;

pub use facts::{
    Accounting, Bpf, Capability, Clock, Counters, Cpusets, Facts, Groups, Hotplug, PeakMark, Privilege,
    Settings, Spinlocks, Tracefs, Tracing,
};

/// Looks at the running machine; takes about half a second, most of it to see whether the machine is quiet.
pub fn examine() -> Diagnosis {
    diagnose(Facts::gather())
}

/// What would let us trace, where the kernel refused it; takes no time.
pub fn allow_tracing() -> Remedy {
    tracing::allow_tracing(&gather::privilege(&Hierarchies::of_this_process()))
}

/// What the facts mean.
pub fn diagnose(facts: Facts) -> Diagnosis {
    let mut findings = measuring::findings(&facts);
    findings.extend(tracing::findings(&facts));
    findings.extend(machine::findings(&facts));
    Diagnosis { schema: DIAGNOSIS_SCHEMA.to_owned(), host: facts.host, findings }
}

/// All is well.
fn fine(what: Subject, fact: impl Into<String>, matters: &str) -> Finding {
    Finding { what, state: State::Fine, fact: fact.into(), matters: matters.to_owned(), remedy: None }
}

/// Not all is well.
fn flaw(what: Subject, state: State, fact: impl Into<String>, matters: &str, remedy: Remedy) -> Finding {
    Finding { what, state, fact: fact.into(), matters: matters.to_owned(), remedy: Some(remedy) }
}
