//! Samples of a program without frame pointers: their functions, their callers, and their number.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;

use morecores_study::trace::{AddressSpaces, CodeAddress, EventKind, SampleMode, StackEnd, StackFrame};
use morecores_symbols::Symbolizer;
use morecores_testkit::{CProgram, report_skip};

use crate::support::{TracedRun, trace};
use crate::tracer;

/// Computes in one function below another one, in two threads.
const PROGRAM: &str = r#"
#include <pthread.h>

#define OUT_OF_LINE __attribute__((noinline, noclone))

OUT_OF_LINE static void inner(volatile double *sum)
{
	for (int i = 0; i < 100000000; i++)
		*sum += i;
	__asm__ volatile("" : : : "memory");
}

OUT_OF_LINE static void outer(volatile double *sum)
{
	char room[3000];

	__asm__ volatile("" : : "r"(room) : "memory");
	inner(sum);
	*sum += 1;
}

static void *work(void *unused)
{
	volatile double sum = 0;

	outer(&sum);
	sum += 1;
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	return 0;
}
"#;

/// Names of functions in the files of a trace.
struct Names<'t> {
    traced: &'t TracedRun,
    symbolizer: Symbolizer,
    known: BTreeMap<CodeAddress, String>,
}

impl Names<'_> {
    /// Name of the function that contains an instruction; `?` if it has none.
    fn name(&mut self, code: CodeAddress) -> String {
        if let Some(name) = self.known.get(&code) {
            return name.clone();
        }
        let module = &self.traced.recorded.modules[code.module as usize];
        let offsets = BTreeSet::from([code.offset]);
        let functions = self.symbolizer.functions(code.module, module, &offsets).unwrap_or_default();
        let name = functions.into_iter().find_map(|function| function.name);
        let name = name.unwrap_or_else(|| "?".to_owned());
        self.known.insert(code, name.clone());
        name
    }
}

#[test]
fn samples_are_in_the_functions_that_compute() {
    const NAME: &str = "samples_are_in_the_functions_that_compute";
    let Some(mut tracer) = tracer(NAME) else { return };
    let program = CProgram::compile("stacks", PROGRAM);
    let traced = trace(&mut tracer, &mut Command::new(program.path()));
    traced.assert_complete();
    let Some(period) = traced.recorded.sample_period else {
        return report_skip(NAME, "the kernel copies no registers and stack memory");
    };
    let (mut spaces, mut samples) = (AddressSpaces::default(), Vec::new());
    let mut frames: HashMap<u32, StackFrame> = HashMap::new();
    let (mut stack, mut threads) = (None, BTreeSet::new());
    for event in &traced.events {
        spaces.apply(&event.kind);
        match event.kind {
            EventKind::Frame(frame) => {
                frames.insert(frame.number, frame);
            }
            EventKind::UserStack(recorded) => stack = Some(recorded),
            EventKind::Sample(sample) => {
                assert_eq!(sample.mode, SampleMode::User);
                let stack = stack.take().filter(|stack| stack.tid == sample.tid);
                samples.push((spaces.locate(sample.tid, sample.address), stack.expect("a stack")));
                threads.insert(sample.tid);
            }
            _ => {}
        }
    }
    let mut names = Names { traced: &traced, symbolizer: Symbolizer::new(), known: BTreeMap::new() };
    let (mut inside, mut complete) = (0, 0);
    for (code, stack) in &samples {
        let innermost = code.map_or_else(|| "?".to_owned(), |code| names.name(code));
        let next = |frame: &StackFrame| frame.caller.and_then(|number| frames.get(&number)).copied();
        let calls = std::iter::successors(stack.frame.and_then(|number| frames.get(&number)).copied(), next);
        let calls: Vec<String> = calls.map(|frame| names.name(frame.code)).collect();
        let nested = calls.iter().map(String::as_str).take(3).eq(["inner", "outer", "work"]);
        inside += usize::from(innermost == "inner" && nested);
        complete += usize::from(stack.end == StackEnd::Outermost);
    }
    let all = samples.len();
    println!("{inside} of {all} samples in the nested functions, {complete} complete, threads {threads:?}");
    assert!(inside * 10 > all * 9 && complete * 10 > all * 9, "{inside} and {complete} of {all}");
    assert_eq!(threads.len(), 2, "{threads:?}");
    // A thread has no sample after its last whole period, and none in the kernel.
    let time: u64 = threads.iter().map(|thread| traced.runtime(*thread).0).sum();
    // The switches between two threads belong to neither: a tenth is more than they take here.
    assert!(all as u64 * period.0 <= time + time / 10, "{all} samples of {} ns in {time} ns", period.0);
}
