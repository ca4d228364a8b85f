//! Every hold of a lock is counted at the C library's functions, and lasts from the moment at which
//! its thread got the lock.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use morecores_study::Nanos;
use morecores_study::trace::{LockMode, LockUses};
use morecores_testkit::CProgram;
use morecores_trace::{LockProbe, Options};

use crate::support::{all_cpus, trace_with};

/// Takes several locks, each another number of times.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static int items;

static void sleep_ms(int ms)
{
	struct timespec length = { 0, ms * 1000000L };

	nanosleep(&length, NULL);
}

static void *contend(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&contended);
		sleep_ms(1);
		pthread_mutex_unlock(&contended);
	}
	return unused;
}

static void *try_in_vain(void *unused)
{
	for (int i = 0; i < 10; i++)
		if (!pthread_mutex_trylock(&tried))
			pthread_mutex_unlock(&tried);
	return unused;
}

static void *consume(void *unused)
{
	pthread_mutex_lock(&queue);
	for (int i = 0; i < 31; i++) {
		while (!items)
			pthread_cond_wait(&changed, &queue);
		items--;
	}
	pthread_mutex_unlock(&queue);
	return unused;
}

static void *read_shared(void *unused)
{
	for (int i = 0; i < 17; i++) {
		pthread_rwlock_rdlock(&shared);
		sleep_ms(1);
		pthread_rwlock_unlock(&shared);
	}
	return unused;
}

static void run_two(void *(*work)(void *))
{
	pthread_t one, other;

	pthread_create(&one, NULL, work, NULL);
	pthread_create(&other, NULL, work, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
}

int main(void)
{
	pthread_t other;

	for (int i = 0; i < 11; i++) {
		pthread_mutex_lock(&plain);
		sleep_ms(1);
		pthread_mutex_unlock(&plain);
	}
	run_two(contend);
	for (int i = 0; i < 23; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_lock(&recursive);
		pthread_mutex_unlock(&recursive);
		sleep_ms(1);
		pthread_mutex_unlock(&recursive);
	}
	for (int i = 0; i < 7; i++)
		if (!pthread_mutex_trylock(&tried)) {
			if (!i)
				run_two(try_in_vain);
			pthread_mutex_unlock(&tried);
		}
	pthread_create(&other, NULL, consume, NULL);
	for (int i = 0; i < 31; i++) {
		sleep_ms(2);
		pthread_mutex_lock(&queue);
		items++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&queue);
	}
	pthread_join(other, NULL);
	run_two(read_shared);
	for (int i = 0; i < 19; i++) {
		pthread_rwlock_wrlock(&shared);
		pthread_rwlock_unlock(&shared);
	}
	return 0;
}
"#;

/// Sums over the callers of one lock.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    held: Nanos,
    longest: Nanos,
}

/// Sums by lock and mode, of the processes that took a lock this often.
fn sums(uses: &LockUses) -> Vec<(LockMode, Sums)> {
    let mut sums: BTreeMap<(u64, LockMode), Sums> = BTreeMap::new();
    for held in &uses.uses {
        let sum = sums.entry((held.address, held.mode)).or_default();
        sum.count += held.count;
        sum.held += held.held_ns;
        sum.longest = sum.longest.max(held.longest_ns);
    }
    sums.into_iter().map(|((_, mode), sum)| (mode, sum)).collect()
}

fn check_program(test: &str, program: &Path, files: &[&Path]) {
    let files: Vec<_> = files.iter().map(|file| file.to_path_buf()).collect();
    let probes = LockProbe::in_files(&files).unwrap();
    assert!(!probes.is_empty(), "{files:?}");
    let options = Options { lock_probes: probes, ..Options::new(all_cpus()) };
    let Some(traced) = trace_with(test, &options, &mut Command::new(program)) else { return };
    let uses = traced.recorded.lock_uses.expect("the holds were counted");
    assert_eq!(uses.lost, 0);
    assert!(uses.probes_ns.is_some_and(|cost| cost < Nanos::from_micros(100)), "{:?}", uses.probes_ns);
    let sums = sums(&uses);
    let held = |mode, count| {
        let found = sums.iter().find(|(of, sum)| *of == mode && sum.count == count);
        found.unwrap_or_else(|| panic!("no {mode:?} was taken {count} times: {sums:?}")).1
    };
    let ms = |count: u64| Nanos(count * 1_000_000);
    let plain = held(LockMode::Mutex, 11);
    assert!(plain.held >= ms(11) && plain.longest < plain.held, "{plain:?}");
    // Two threads hold it in turns: with their waits the holds would take twice the time.
    let contended = held(LockMode::Mutex, 100);
    let elapsed = traced.events.last().unwrap().at.since(traced.events[0].at);
    assert!((ms(100)..elapsed).contains(&contended.held), "{contended:?} of {elapsed:?}");
    assert!(contended.longest < ms(50), "{contended:?}");
    let recursive = held(LockMode::Mutex, 23);
    assert!(recursive.held >= ms(23), "{recursive:?}");
    held(LockMode::Mutex, 7);
    // 31 holds of the producer, one of the consumer, and one after each of its waits.
    let queue = sums.iter().map(|(_, sum)| sum).find(|sum| (33..=63).contains(&sum.count) && sum.count != 34);
    let queue = queue.unwrap_or_else(|| panic!("no queue: {sums:?}"));
    assert!(queue.held < ms(31), "the waits of the consumer, 62 ms, are no holds: {queue:?}");
    let readers = held(LockMode::Read, 34);
    assert!(readers.held >= ms(34), "{readers:?}");
    held(LockMode::Write, 19);
    // Each count is of one instruction or two, all of them in the program.
    assert!(
        uses.uses.iter().all(|held| held.caller != 0 && held.last_ns <= traced.events.last().unwrap().at)
    );
}

#[test]
fn holds_of_a_dynamic_program_are_counted() {
    let program = CProgram::compile("locks", PROGRAM);
    // The program has the C library of this one, wherever it lies.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = maps.lines().filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])));
    let is_c_library = |path: &&Path| path.file_name().is_some_and(|name| name == "libc.so.6");
    let c_library = files.find(is_c_library).expect("a program with a shared C library");
    check_program("holds_of_a_dynamic_program_are_counted", program.path(), &[program.path(), c_library]);
}
