//! A trace leaves nothing behind in the kernel. This test is alone in its binary: it examines the
//! programs of the whole machine, and the tests of one binary run concurrently.

#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::process::Command;

use libbpf_rs::query::ProgInfoIter;
use morecores_testkit::{report_skip, wait_until};
use morecores_trace::{Options, Tracer};

fn programs() -> Vec<u32> {
    ProgInfoIter::default().map(|info| info.id).collect()
}

#[test]
fn nothing_stays_attached() {
    const NAME: &str = "nothing_stays_attached";
    let before = programs();
    let mut tracer = match Tracer::open(&Options::new("0".parse().unwrap())) {
        Ok(tracer) if tracer.bpf_refusal().is_none() => tracer,
        Ok(tracer) => return report_skip(NAME, &tracer.bpf_refusal().unwrap().to_string()),
        Err(error) => return report_skip(NAME, &error.to_string()),
    };
    tracer.begin(Box::new(|_, _| Ok(()))).unwrap();
    assert!(Command::new("true").status().unwrap().success());
    tracer.end().unwrap();
    let during: Vec<u32> = programs().into_iter().filter(|id| !before.contains(id)).collect();
    assert!(during.len() >= 15, "{during:?}");
    drop(tracer);
    // The kernel frees a program after a grace period.
    wait_until("all programs are gone", || !programs().iter().any(|id| during.contains(id)));
}
