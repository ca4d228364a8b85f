//! Files that the command's processes map as code, also those that end soon.

use std::collections::HashMap;
use std::process::Command;

use morecores_study::trace::{EventKind, Mapping, SampleMode, Tid};
use morecores_testkit::{CProgram, report_skip};
use morecores_trace::Options;

use crate::support::{TracedRun, all_cpus, trace, trace_with};

/// Computes for 0.3 s of CPU time, in its own code alone.
const COMPUTES: &str = r#"
#include <time.h>

int main(void)
{
	volatile double sum = 0;

	while (clock() < 300000)
		for (int i = 0; i < 1000000; i++)
			sum += i;
	return 0;
}
"#;

/// Becomes the program that its first argument names, or ends.
const CONTINUES: &str = r#"
#include <unistd.h>

int main(int argc, char **argv)
{
	return argc > 1 ? execv(argv[1], argv + 1) : 0;
}
"#;

/// Mappings of the files whose paths end in `name`, by process.
fn mappings(traced: &TracedRun, name: &str) -> HashMap<Tid, Vec<Mapping>> {
    let mut found: HashMap<Tid, Vec<Mapping>> = HashMap::new();
    for event in &traced.events {
        if let EventKind::Mapping(mapping) = event.kind
            && traced.recorded.modules[mapping.module as usize].path.ends_with(name)
        {
            found.entry(mapping.process).or_default().push(mapping);
        }
    }
    found
}

/// Whether this trace has no mappings, which is noted.
fn is_without_mappings(test: &str, traced: &TracedRun) -> bool {
    let why = traced.recorded.untraced.iter().find(|fact| fact.what.contains("functions"));
    why.inspect(|fact| report_skip(test, &fact.why)).is_some()
}

#[test]
fn samples_lie_in_the_mapped_code() {
    const NAME: &str = "samples_lie_in_the_mapped_code";
    let program = CProgram::compile("computes", COMPUTES);
    let options = Options::new(all_cpus());
    let Some(traced) = trace_with(NAME, &options, &mut Command::new(program.path())) else { return };
    if is_without_mappings(NAME, &traced) || traced.recorded.sample_period_ns.is_none() {
        return;
    }
    let own = &mappings(&traced, "/computes")[&traced.recorded.root];
    let build_id = traced.recorded.modules[own[0].module as usize].build_id.as_ref();
    assert!(build_id.is_none_or(|id| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    let addresses = traced.events.iter().filter_map(|event| match &event.kind {
        EventKind::Sample(sample) if sample.mode == SampleMode::User => Some(sample.address),
        _ => None,
    });
    let addresses: Vec<u64> = addresses.collect();
    let is_own = |address: &u64| own.iter().any(|mapping| (mapping.start..mapping.end()).contains(address));
    let inside = addresses.iter().filter(|address| is_own(address)).count();
    assert!(addresses.len() > 20 && 10 * inside > 9 * addresses.len(), "{inside} of {}", addresses.len());
}

#[test]
fn short_processes_have_mappings_too() {
    const NAME: &str = "short_processes_have_mappings_too";
    let [first, second] = ["first", "second"].map(|name| CProgram::compile(name, CONTINUES));
    let path = |program: &CProgram| program.path().to_str().unwrap().to_owned();
    let script = format!("for i in 1 2 3 4 5 6 7 8 9 10; do {} {}; done", path(&first), path(&second));
    let Some(traced) = trace(NAME, &script) else { return };
    if is_without_mappings(NAME, &traced) {
        return;
    }
    let (first, second) = (mappings(&traced, "/first"), mappings(&traced, "/second"));
    // The first program becomes the second one in the same process.
    let both = first.keys().filter(|process| second.contains_key(process)).count();
    assert_eq!((first.len(), both), (10, 10));
    // Processes of others have no place in the trace.
    let tree = traced.tree();
    let strangers = traced.events.iter().filter(|event| match &event.kind {
        EventKind::Mapping(mapping) => !tree.contains(&mapping.process),
        _ => false,
    });
    assert_eq!(strangers.count(), 0);
}
