//! Stacks of threads at samples, waits and wake-ups, in a program without frame pointers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use morecores_study::Bytes;
use morecores_study::trace::{CodeAddress, Comm, EventKind, StackEnd, StackMoment, Tid, UserStack};
use morecores_symbols::Symbolizer;
use morecores_testkit::{CProgram, report_skip};
use morecores_trace::{Options, StackOwner};

use crate::support::{TracedRun, all_cpus, trace_with};

/// Computes, waits and wakes, each below callers of its own.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

static sem_t turn;
static volatile double sum;

#define OUT_OF_LINE __attribute__((noinline, noclone))

OUT_OF_LINE static void pause_shortly(int deep)
{
	char room[20000];

	room[deep] = 1;
	__asm__ volatile("" : : "r"(room) : "memory");
	usleep(3000);
	__asm__ volatile("" : : : "memory");
}

OUT_OF_LINE static void first_pause(int deep) { pause_shortly(deep); sum += deep; }
OUT_OF_LINE static void second_pause(int deep) { pause_shortly(deep + 1); sum += deep; }

OUT_OF_LINE static void compute(void)
{
	for (int i = 0; i < 50000000; i++)
		sum += i;
	__asm__ volatile("" : : : "memory");
}

OUT_OF_LINE static void release(void) { sem_post(&turn); sum += 1; }
OUT_OF_LINE static void acquire(void) { sem_wait(&turn); sum += 1; }

OUT_OF_LINE static void *work(void *unused)
{
	for (int i = 0; i < 50; i++)
		acquire();
	sum += 1;
	return unused;
}

int main(void)
{
	pthread_t thread;

	sem_init(&turn, 0, 0);
	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 50; i++) {
		first_pause(i);
		release();
	}
	for (int i = 0; i < 50; i++)
		second_pause(i);
	compute();
	pthread_join(thread, NULL);
	return 0;
}
"#;

/// Names of the functions of the traced command, by module and offset.
struct Names(BTreeMap<CodeAddress, String>);

impl Names {
    fn of_frames(traced: &TracedRun) -> Self {
        let mut offsets: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for event in &traced.events {
            if let EventKind::Frame(frame) = event.kind {
                offsets.entry(frame.code.module).or_default().insert(frame.code.offset);
            }
        }
        let (mut symbolizer, mut names) = (Symbolizer::new(), BTreeMap::new());
        for (module, offsets) in offsets {
            let file = &traced.recorded.modules[module as usize];
            let functions = symbolizer.functions(module, file, &offsets).unwrap_or_default();
            for offset in offsets {
                let function = functions.iter().find(|f| (f.start..f.end).contains(&offset));
                let name = function.and_then(|function| function.name.clone());
                names.insert(CodeAddress { module, offset }, name.unwrap_or_else(|| "?".to_owned()));
            }
        }
        Self(names)
    }
}

/// Stacks with their moments: the names of the functions, the innermost first, without the C
/// library's own between the program's and the kernel.
fn stacks(traced: &TracedRun) -> Vec<(UserStack, Vec<String>)> {
    let names = Names::of_frames(traced);
    let frames: HashMap<u32, _> = traced
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Frame(frame) => Some((frame.number, frame)),
            _ => None,
        })
        .collect();
    let of = |stack: UserStack| {
        let mut names_of = Vec::new();
        let mut next = stack.frame;
        while let Some(number) = next {
            let frame = frames[&number];
            names_of.push(names.0[&frame.code].clone());
            next = frame.caller;
        }
        (stack, names_of)
    };
    let user_stacks = traced.events.iter().filter_map(|event| match event.kind {
        EventKind::UserStack(stack) => Some(of(stack)),
        _ => None,
    });
    user_stacks.collect()
}

#[test]
fn stacks_have_the_callers_of_each_moment() {
    const NAME: &str = "stacks_have_the_callers_of_each_moment";
    let program = CProgram::compile("stacks", PROGRAM);
    let options = Options::new(all_cpus());
    let Some(traced) = trace_with(NAME, &options, &mut Command::new(program.path())) else { return };
    if let Some(why) = traced.recorded.untraced.iter().find(|fact| fact.what.contains("functions")) {
        return report_skip(NAME, &why.why);
    }
    let stacks = stacks(&traced);
    let complete = |moment, chain: &[&str]| {
        let has = |names: &[String]| {
            names.windows(chain.len()).any(|part| part.iter().zip(chain).all(|(name, wanted)| name == wanted))
        };
        let found = stacks.iter().filter(|(stack, names)| {
            stack.moment == moment && stack.end == StackEnd::Outermost && has(names)
        });
        found.count()
    };
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for (stack, names) in &stacks {
        let UserStack { moment, end, .. } = stack;
        *counts.entry(format!("{moment:?} {end:?} {names:?}")).or_default() += 1;
    }
    let told = || format!("{counts:#?}");
    // The threads of a CPU share 16 stacks of each kind in 17 ms. The waits here are slower, also
    // if both threads wait on one CPU.
    assert_eq!(complete(StackMoment::Wait, &["pause_shortly", "first_pause", "main"]), 50, "{}", told());
    assert_eq!(complete(StackMoment::Wait, &["pause_shortly", "second_pause", "main"]), 50, "{}", told());
    assert!(complete(StackMoment::Wait, &["acquire", "work"]) >= 45, "{}", told());
    assert!(complete(StackMoment::Waking, &["release", "main"]) >= 45, "{}", told());
    assert!(complete(StackMoment::Sample, &["compute", "main"]) >= 5, "{}", told());
    let wrong = complete(StackMoment::Wait, &["first_pause", "second_pause"]);
    assert_eq!(wrong, 0);
}

/// A program of another user may hold secrets in its stack.
#[test]
fn stacks_are_those_of_one_user_alone() {
    const NAME: &str = "stacks_are_those_of_one_user_alone";
    if !rustix::process::getuid().is_root() {
        return report_skip(NAME, "only root can run programs as several users");
    }
    let program = CProgram::compile("stacks", PROGRAM);
    let readable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program.path().parent().unwrap(), readable).unwrap();
    let script = format!(
        "setpriv --reuid 65534 --regid 65534 --clear-groups {0} & setpriv --reuid 65534 {0} & {0} & wait",
        program.path().display()
    );
    let owner = StackOwner { user: 65534, group: 65534 };
    let options = Options { stack_owner: Some(owner), ..Options::new(all_cpus()) };
    let mut command = Command::new("sh");
    let Some(traced) = trace_with(NAME, &options, command.args(["-c", &script])) else { return };
    let owners: BTreeSet<Tid> = traced
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::UserStack(stack) => Some(stack.tid),
            _ => None,
        })
        .collect();
    // The main thread of the first program, its second thread, and no other.
    assert_eq!(owners.len(), 2, "{owners:?}");
}

/// The kernel refuses a map with values of 2 GiB. The rest of the trace does not need it.
#[test]
fn a_kernel_that_refuses_the_memory_for_stacks_costs_the_stacks_alone() {
    const NAME: &str = "a_kernel_that_refuses_the_memory_for_stacks_costs_the_stacks_alone";
    let program = CProgram::compile("stacks", PROGRAM);
    let options = Options { stack_buffers: Some(Bytes(u64::MAX)), ..Options::new(all_cpus()) };
    let Some(traced) = trace_with(NAME, &options, &mut Command::new(program.path())) else { return };
    let count = |is_counted: fn(&EventKind) -> bool| {
        traced.events.iter().filter(|event| is_counted(&event.kind)).count()
    };
    assert_eq!(count(|kind| matches!(kind, EventKind::UserStack(_))), 0);
    assert!(count(|kind| matches!(kind, EventKind::Sample(_))) > 0);
    assert!(count(|kind| matches!(kind, EventKind::Waking(_))) >= 100);
    let facts = &traced.recorded.untraced;
    let stacks = facts.iter().find(|fact| fact.what == "user stacks");
    assert!(stacks.is_some_and(|fact| !fact.why.is_empty()), "{facts:?}");
}

/// Sleeps below 300 calls of one function.
const DEEP: &str = r#"
#include <unistd.h>

static volatile int sum;

__attribute__((noinline, noclone)) static void descend(int left)
{
	if (left > 0)
		descend(left - 1);
	else
		usleep(5000);
	sum += left;
}

int main(void)
{
	for (int i = 0; i < 20; i++)
		descend(299);
	return 0;
}
"#;

#[test]
fn a_stack_of_300_frames_is_whole() {
    const NAME: &str = "a_stack_of_300_frames_is_whole";
    let program = CProgram::compile("deep", DEEP);
    let Some(traced) = trace_with(NAME, &Options::new(all_cpus()), &mut Command::new(program.path())) else {
        return;
    };
    if let Some(why) = traced.recorded.untraced.iter().find(|fact| fact.what.contains("functions")) {
        return report_skip(NAME, &why.why);
    }
    let deep = stacks(&traced).into_iter().filter(|(_, names)| names.iter().any(|name| name == "descend"));
    let frames: Vec<(StackEnd, usize, bool)> = deep
        .map(|(stack, names)| {
            let calls = names.iter().filter(|name| *name == "descend").count();
            (stack.end, calls, names.iter().any(|name| name == "main"))
        })
        .collect();
    let whole = frames.iter().filter(|frame| **frame == (StackEnd::Outermost, 300, true)).count();
    assert!(whole >= 20, "{whole} of {frames:?}");
}

/// Starts itself 1,000 times, one after the other. Each process computes shortly and ends.
const SHORT: &str = r#"
#include <sys/wait.h>
#include <unistd.h>

static volatile double sum;

__attribute__((noinline, noclone)) static void compute_shortly(void)
{
	for (int i = 0; i < 100000; i++)
		sum += i;
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	char *child[] = { argv[0], "child", 0 };

	if (argc > 1) {
		compute_shortly();
		return 0;
	}
	for (int i = 0; i < 1000; i++) {
		if (!vfork()) {
			execv(argv[0], child);
			_exit(1);
		}
		wait(0);
	}
	return 0;
}
"#;

/// Short processes are gone when their stacks are unwound: their files were read for the first.
#[test]
fn many_short_processes_have_their_stacks() {
    const NAME: &str = "many_short_processes_have_their_stacks";
    let program = CProgram::compile("short", SHORT);
    let Some(traced) = trace_with(NAME, &Options::new(all_cpus()), &mut Command::new(program.path())) else {
        return;
    };
    if let Some(why) = traced.recorded.untraced.iter().find(|fact| fact.what.contains("functions")) {
        return report_skip(NAME, &why.why);
    }
    let is_start =
        |kind: &EventKind| matches!(kind, EventKind::Exec(exec) if exec.name == Comm::new("short"));
    let started = traced.events.iter().filter(|event| is_start(&event.kind)).count();
    assert_eq!((started, traced.recorded.missed), (1001, 0));
    assert!(traced.recorded.lost.is_empty(), "{:?}", traced.recorded.lost);
    let stacks = stacks(&traced);
    let in_function = |function: &str| {
        let has = |names: &[String]| names.iter().any(|name| name == function);
        let found = stacks.iter().filter(|(_, names)| has(names));
        let whole = found.clone().filter(|(stack, _)| stack.end == StackEnd::Outermost);
        (whole.count(), found.count())
    };
    let (whole, found) = in_function("compute_shortly");
    assert!(found >= 5 && 10 * whole >= 9 * found, "{whole} of {found} stacks in children are whole");
}
