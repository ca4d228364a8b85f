//! Stacks of a real program's threads, from the run to the tables and the page.
#![cfg(feature = "trace")]

mod harness;

use std::collections::BTreeMap;

use harness::browser::play;
use harness::{World, report_skip};
use morecores_testkit::CProgram;
use serde_json::Value;

/// A thread that waits in turn for objects of each kind, some 20 ms each, and computes.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define OUT_OF_LINE __attribute__((noinline, noclone)) static

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int ends[2];
static volatile int ready;
/* Written after each call, so that no call is a jump. */
static volatile double sum;

OUT_OF_LINE void on_mutex(void)
{
	pthread_mutex_lock(&mutex);
	sum += 1;
	pthread_mutex_unlock(&mutex);
	sum += 1;
}

OUT_OF_LINE void on_readers(void)
{
	pthread_rwlock_rdlock(&readers);
	sum += 1;
	pthread_rwlock_unlock(&readers);
	sum += 1;
}

OUT_OF_LINE void on_condition(void)
{
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	sum += 1;
}

OUT_OF_LINE void on_semaphore(void) { sem_wait(&semaphore); sum += 1; }
OUT_OF_LINE void on_barrier(void) { pthread_barrier_wait(&barrier); sum += 1; }
OUT_OF_LINE void on_pipe(void) { char byte; sum += read(ends[0], &byte, 1); }
OUT_OF_LINE void on_join(pthread_t thread) { pthread_join(thread, NULL); sum += 1; }

OUT_OF_LINE void compute(void)
{
	for (int i = 0; i < 40000000; i++)
		sum += i;
}

OUT_OF_LINE void *work(void *unused)
{
	on_mutex();
	on_readers();
	on_semaphore();
	on_condition();
	on_barrier();
	on_pipe();
	compute();
	return unused;
}

OUT_OF_LINE void pause_shortly(void) { usleep(20000); sum += 1; }

int main(void)
{
	pthread_t thread;

	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pipe(ends))
		return 1;
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&readers);
	pthread_create(&thread, NULL, work, NULL);
	pause_shortly();
	pthread_mutex_unlock(&mutex);
	pause_shortly();
	pthread_rwlock_unlock(&readers);
	pause_shortly();
	sem_post(&semaphore);
	pause_shortly();
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	pause_shortly();
	on_barrier();
	pause_shortly();
	if (write(ends[1], "", 1) != 1)
		return 1;
	on_join(thread);
	return 0;
}
"#;

#[test]
fn waits_have_their_place_and_kind() {
    const NAME: &str = "waits_have_their_place_and_kind";
    let (world, program) = (World::new(), CProgram::compile("kinds", PROGRAM));
    let path = program.path().to_str().expect("a path of letters");
    world.run("-q --cpus 1 --runs 1 --warmup 0 --traced-runs 1", &[path]).success();
    let view = world.shown("--json");
    let trace = &view["traces"][0];
    if trace["stack_coverage"].is_null() {
        return report_skip(NAME, "no stacks are recorded here");
    }
    let waits = trace["waits"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found: BTreeMap<_, _> = waits
        .iter()
        .filter_map(|wait| Some((text(&wait["function"])?, (text(&wait["kind"]), text(&wait["caller"])))))
        .collect();
    let expected = [
        ("on_mutex", Some("mutex"), "work"),
        ("on_readers", Some("read_write_lock"), "work"),
        ("on_semaphore", Some("semaphore"), "work"),
        ("on_condition", Some("condition_variable"), "work"),
        ("on_barrier", Some("barrier"), "work"),
        ("on_pipe", None, "work"),
        ("on_join", Some("join"), "main"),
        ("pause_shortly", None, "main"),
    ];
    for (function, kind, caller) in expected {
        let expected = (kind.map(str::to_owned), Some(caller.to_owned()));
        assert_eq!(found.get(function), Some(&expected), "{function}: {found:#?}");
    }
    let coverage = |key: &str| trace["stack_coverage"][key].as_u64().expect("a number");
    // A wait that events lost or that began before the trace has none.
    let (waits, with_stack) = (coverage("waits"), coverage("wait_stacks"));
    assert!(with_stack <= waits && 10 * with_stack >= 8 * waits, "{with_stack} of {waits}");
    let stacks: u64 = ["sample_stacks", "wait_stacks", "wake_stacks"].map(coverage).iter().sum();
    assert_eq!(coverage("complete"), stacks);
    world.morecores(&["trace", "--cpus", "1", "--", path]).success().prints(&[
        "waits of all threads",
        "on_join (main)",
        "end of a thread",
        // A sample of the end of a thread has no stack.
        "User stacks: of ",
        "calls on 1 CPU",
    ]);
    world.morecores(&["report", "-o", "page.html", "study"]).success();
    play(NAME, "calls", &world.path("page.html").to_string_lossy());
}

/// Two threads that wake each other in turn from deep stacks, each after a fifth of a millisecond
/// of computation. The tracer is stopped for less than the first quarter of the turns.
const FASTER_THAN_THE_TRACER: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t there, back;

/* A stack of 40 kB. */
__attribute__((noinline, noclone)) static void take_turn(sem_t *own, sem_t *other, int depth)
{
	volatile char memory[4000];

	memory[0] = depth;
	if (depth > 0) {
		take_turn(own, other, depth - 1);
	} else {
		sem_post(other);
		sem_wait(own);
		for (volatile int i = 0; i < 200000; i++)
			;
	}
	memory[1] = memory[0];
}

static void *second(void *unused)
{
	sem_wait(&there);
	for (int turn = 0; turn < 17999; turn++)
		take_turn(&there, &back, 10);
	sem_post(&back);
	return unused;
}

int main(void)
{
	pthread_t thread;

	sem_init(&there, 0, 0);
	sem_init(&back, 0, 0);
	pthread_create(&thread, NULL, second, NULL);
	kill(getppid(), SIGSTOP);
	for (int turn = 0; turn < 18000; turn++) {
		if (turn == 4000)
			kill(getppid(), SIGCONT);
		take_turn(&back, &there, 10);
	}
	return pthread_join(thread, NULL) != 0;
}
"#;

/// While the tracer cannot read, the memory for stacks fills up. That costs these stacks alone, and
/// the report gives their number.
#[test]
fn a_tracer_that_cannot_follow_loses_stacks_alone() {
    const NAME: &str = "a_tracer_that_cannot_follow_loses_stacks_alone";
    let (world, program) = (World::new(), CProgram::compile("turns", FASTER_THAN_THE_TRACER));
    let path = program.path().to_str().expect("a path of letters");
    let ran = world.morecores(&["trace", "--json", "--", path]);
    let view: Value = serde_json::from_str(&ran.success().stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"));
    if view["source"] != "bpf" || view["stack_coverage"].is_null() {
        return report_skip(NAME, "no stacks here");
    }
    assert_eq!(view["lost_events"], 0, "{view}");
    let coverage = |what: &str| view["stack_coverage"][what].as_f64().expect("a number");
    assert!(coverage("waits") >= 5_000.0, "{}", view["stack_coverage"]);
    let facts = view["untraced"].as_array().expect("a list");
    let lost = facts.iter().find(|fact| fact["why"].as_str().is_some_and(|why| why.contains("faster")));
    let what = lost.unwrap_or_else(|| panic!("{facts:#?}"))["what"].as_str().expect("a text");
    let mut numbers = what.split(' ').filter_map(|word| word.parse::<f64>().ok());
    let (Some(dropped), Some(all)) = (numbers.next(), numbers.next()) else { panic!("{what}") };
    // Stacks of the first turns have no room; those after the pause have.
    assert!(dropped > 0.0 && dropped < 0.5 * all, "{what}");
    assert!(coverage("complete") > 0.3 * all, "{what} {}", view["stack_coverage"]);
}
