//! The share of a program's work that only waits, and the random choice of short waits whose stacks
//! are taken.

use std::path::Path;
use std::process::Command;

use crate::support::{TracedRun, all_cpus, trace_with};
use morecores_study::Nanos;
use morecores_study::trace::{EventKind, SampleMode};
use morecores_testkit::{CProgram, report_skip};
use morecores_trace::Options;

/// Loops for 0.3 s of CPU time. `loops yield` calls `sched_yield`. `loops timed` loops around the
/// bytes of a TPAUSE that is jumped over, so that any CPU runs them. `loops fence` loops around an
/// MFENCE, which has these bytes without the prefix. `loops call` loops in a system call.
const LOOPS: &str = r#"
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

static long used(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	while (used() < 300) {
		for (int i = 0; i < 1000; i++) {
			long turns = 1000;

			if (!strcmp(how, "yield"))
				sched_yield();
			else if (!strcmp(how, "call"))
				syscall(SYS_getppid);
			else if (!strcmp(how, "timed"))
				asm volatile("1: jmp 2f; .byte 0x66, 0x0f, 0xae, 0xf1; 2: dec %0; jnz 1b" : "+r"(turns) : : "cc");
			else
				asm volatile("1: jmp 2f; .byte 0x0f, 0xae, 0xf0; 2: dec %0; jnz 1b" : "+r"(turns) : : "cc");
		}
	}
	return 0;
}
"#;

/// Samples of the main process in this mode, in order of time: whether each of them spins.
fn samples(traced: &TracedRun, mode: SampleMode) -> Vec<bool> {
    let found = traced.events.iter().filter_map(|event| match &event.kind {
        EventKind::Sample(sample) if sample.tid == traced.recorded.root && sample.mode == mode => {
            Some(sample.spins)
        }
        _ => None,
    });
    found.collect()
}

fn trace_loop(test: &str, program: &Path, how: &str) -> Option<TracedRun> {
    let traced = trace_with(test, &Options::new(all_cpus()), Command::new(program).arg(how))?;
    if traced.recorded.sample_period_ns.is_none() {
        report_skip(test, "no sampling clock could be started");
        return None;
    }
    Some(traced)
}

#[test]
fn waiting_loops_are_distinguished_from_working_ones() {
    const NAME: &str = "waiting_loops_are_distinguished_from_working_ones";
    let program = CProgram::compile("loops", LOOPS);
    for (how, mode, waits) in [
        ("yield", SampleMode::Kernel, true),
        ("call", SampleMode::Kernel, false),
        ("timed", SampleMode::User, true),
        ("fence", SampleMode::User, false),
    ] {
        let Some(traced) = trace_loop(NAME, program.path(), how) else { return };
        let samples = samples(&traced, mode);
        assert!(!samples.is_empty(), "{how}: no sample");
        // The program starts before it loops. On an emulated machine, the start takes longer.
        let looping: Vec<bool> = samples.iter().copied().skip_while(|spins| !spins).collect();
        let spinning = looping.iter().filter(|spins| **spins).count();
        if waits {
            assert!(2 * spinning > looping.len(), "{how}: {spinning} of {} samples spin", looping.len());
        } else {
            assert_eq!(spinning, 0, "{how}: of {} samples", samples.len());
        }
    }
}

/// Four threads that write to one pipe and read from it. The pipe has one lock.
const CROWD: &str = r#"
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *work(void *unused)
{
	char byte = 0;

	for (int i = 0; i < 50000; i++)
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			break;
	return unused;
}

int main(void)
{
	pthread_t others[3];

	if (pipe(ends))
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&others[i], NULL, work, NULL))
			return 1;
	work(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(others[i], NULL);
	return 0;
}
"#;

/// Number of short waits between two waits with a stack, on each CPU.
fn gaps(traced: &TracedRun) -> Vec<usize> {
    let mut gaps = Vec::new();
    for cpu in all_cpus().iter() {
        let short =
            traced.events.iter().filter(|event| event.cpu == cpu).filter_map(|event| match &event.kind {
                EventKind::Contention(wait) if wait.waited < Nanos::from_micros(10) => Some(wait.stack),
                _ => None,
            });
        let drawn: Vec<usize> = short.enumerate().filter_map(|(index, stack)| stack.map(|_| index)).collect();
        gaps.extend(drawn.windows(2).map(|pair| pair[1] - pair[0]));
    }
    gaps
}

#[test]
fn stacks_of_short_waits_are_drawn_by_chance() {
    const NAME: &str = "stacks_of_short_waits_are_drawn_by_chance";
    const ENOUGH: usize = 8;
    let program = CProgram::compile("crowd", CROWD);
    let mut found = Vec::new();
    let mut share = None;
    // If other programs keep the CPUs busy, the threads rarely meet.
    for _ in 0..8 {
        let options = Options::new(all_cpus());
        let Some(traced) = trace_with(NAME, &options, &mut Command::new(program.path())) else { return };
        share = traced.recorded.stack_share;
        found.extend(gaps(&traced));
        if found.len() >= ENOUGH {
            break;
        }
    }
    let Some(share) = share else { return report_skip(NAME, "the kernel has no tracepoints for its locks") };
    if found.len() < ENOUGH {
        return report_skip(NAME, "too few waits for a lock of the kernel");
    }
    // A regular choice would make all gaps equal.
    assert!(found.iter().any(|gap| gap % share as usize != 0), "{found:?}");
}
