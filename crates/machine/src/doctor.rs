//! Measurements that this machine allows, and changes that would allow more.
//!
//! The doctor works in two steps. [`Facts::gather`] tries operations and keeps the kernel's
//! answers. [`diagnose`], which is pure, interprets the facts and suggests remedies. No change
//! remains: a probe's cgroup goes through the journal of changes, and a probe's program and
//! counters are closed at once.

mod facts;
mod gather;
mod kernel_locks;
mod measuring;
mod probe;
mod remedy;
mod timing_properties;
mod tracing;

use crate::{CheckedFacility, DIAGNOSIS_SCHEMA, Diagnosis, Finding, Remedy, State};

use crate::cgroup::Hierarchies;

pub use facts::{
    Accounting, Bpf, Capability, Clock, Counters, Cpusets, Facts, Groups, Hotplug, PeakMark, Privilege,
    Settings, Spinlocks, Tracefs, Tracing,
};

/// Examines the running machine. It takes about half a second, mostly to see whether the machine is
/// quiet.
pub fn examine() -> Diagnosis {
    diagnose(Facts::gather())
}

/// Remedy for a refusal to trace; takes no time.
pub fn allow_tracing() -> Remedy {
    tracing::allow_tracing(&gather::privilege(&Hierarchies::read_own()))
}

/// Interprets the facts.
pub fn diagnose(facts: Facts) -> Diagnosis {
    let mut findings = measuring::findings(&facts);
    findings.extend(tracing::findings(&facts));
    findings.extend(timing_properties::findings(&facts));
    Diagnosis { schema: DIAGNOSIS_SCHEMA.to_owned(), host: facts.host, findings }
}

/// Finding without a flaw.
fn fine_finding(what: CheckedFacility, fact: impl Into<String>, matters: &str) -> Finding {
    Finding { what, state: State::Fine, fact: fact.into(), matters: matters.to_owned(), remedy: None }
}

/// Finding with a flaw.
fn flawed_finding(
    what: CheckedFacility,
    state: State,
    fact: impl Into<String>,
    matters: &str,
    remedy: Remedy,
) -> Finding {
    Finding { what, state, fact: fact.into(), matters: matters.to_owned(), remedy: Some(remedy) }
}

/// Finding about a fact that only root can read.
fn unknown_finding(facts: &Facts, what: CheckedFacility, fact: &str, matters: &str) -> Finding {
    let remedy = remedy::root_remedy(&facts.privilege, "morecores doctor");
    flawed_finding(what, State::Limited, fact, matters, remedy)
}
