//! Waits of threads for each other in OpenMP's parallel regions, on traces whose truth is set event
//! by event: a master on CPU 0, and threads of the runtime's pool on the others.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod event_trace;
#[path = "../../view/tests/studies/mod.rs"]
mod studies;

use event_trace::{EventTrace, ROOT, S};
use morecores_study::trace::*;
use morecores_view::OpenMpView;

/// The thread of the pool.
const MEMBER: u32 = 101;

/// A frame: a function by its module and its name.
type Place = (u32, &'static str);

const PROGRAM: u32 = 0;
const RUNTIME: u32 = 1;
const LIBRARY: u32 = 2;

/// Functions of the modules, in their order; one that the runtime does not export has no symbol.
const FUNCTIONS: [Place; 11] = [
    (PROGRAM, "main"),
    (PROGRAM, "main._omp_fn.0"),
    (PROGRAM, "main._omp_fn.1"),
    (PROGRAM, "helper"),
    (RUNTIME, "GOMP_parallel"),
    (RUNTIME, "GOMP_barrier"),
    (RUNTIME, "GOMP_critical_start"),
    (RUNTIME, "GOMP_loop_dynamic_next"),
    (RUNTIME, ""),
    (LIBRARY, "start_thread"),
    (LIBRARY, "sched_yield"),
];

const MAIN: Place = FUNCTIONS[0];
const BODY: Place = FUNCTIONS[1];
const OTHER_BODY: Place = FUNCTIONS[2];
const HELPER: Place = FUNCTIONS[3];
const PARALLEL: Place = FUNCTIONS[4];
const INTERNAL: Place = FUNCTIONS[8];
const THREAD: Place = FUNCTIONS[9];

/// Stacks, innermost first.
const SERIAL: &[Place] = &[MAIN];
const MASTER_WORKS: &[Place] = &[BODY, PARALLEL, MAIN];
const MASTER_WAITS: &[Place] = &[INTERNAL, PARALLEL, MAIN];
const WORKS: &[Place] = &[BODY, INTERNAL, THREAD];
const IN_POOL: &[Place] = &[INTERNAL, THREAD];
const YIELDS: &[Place] = &[FUNCTIONS[10], INTERNAL, THREAD];

struct Team {
    trace: EventTrace,
    frames: u32,
}

impl Team {
    /// A master whose pool has a thread from `created_us` on.
    fn new(elapsed_us: u64, created_us: u64) -> Self {
        let mut trace = EventTrace::new(2, elapsed_us);
        let paths = ["/usr/bin/main", "/usr/lib/libgomp.so.1.0.0", "/usr/lib/libc.so.6"];
        let module = |path: &str| Module { path: path.to_owned(), build_id: None };
        trace.header.facts.modules = paths.map(module).to_vec();
        let function = |(index, (module, name)): (usize, &Place)| Function {
            module: *module,
            start: 0x1000 + 0x100 * index as u64,
            end: 0x1100 + 0x100 * index as u64,
            name: (!name.is_empty()).then(|| (*name).to_owned()),
            source: None,
        };
        trace.header.facts.functions = FUNCTIONS.iter().enumerate().map(function).collect();
        trace.thread(created_us, 0, ROOT, MEMBER, ROOT);
        trace.wake(created_us, 0, MEMBER, ROOT);
        trace.sleep(created_us, 1, MEMBER);
        Self { trace, frames: 0 }
    }

    fn stack(&mut self, us: u64, tid: u32, moment: StackMoment, places: &[Place]) {
        let cpu = u32::from(tid != ROOT);
        let mut caller = None;
        for place in places.iter().rev() {
            let index = FUNCTIONS.iter().position(|function| function == place).unwrap();
            let code = CodeAddress { module: place.0, offset: 0x1010 + 0x100 * index as u64 };
            let number = self.frames;
            self.trace.push(us, cpu, EventKind::Frame(StackFrame { number, caller, code }));
            caller = Some(number);
            self.frames += 1;
        }
        let stack =
            UserStack { tid: Tid(tid), moment, frame: caller, end: StackEnd::Outermost, weight_log2: 0 };
        self.trace.push(us, cpu, EventKind::UserStack(stack));
    }

    fn sample(&mut self, us: u64, tid: u32, places: &[Place], spins: bool) {
        self.stack(us, tid, StackMoment::Sample, places);
        self.trace.sample(us, u32::from(tid != ROOT), tid, SampleMode::User, spins);
    }

    /// Samples of a thread every 5 ms of a span.
    fn runs(&mut self, tid: u32, from_us: u64, to_us: u64, places: &[Place]) {
        for us in (from_us..to_us).filter(|us| us % 5000 == 2500) {
            self.sample(us, tid, places, places.first() == Some(&INTERNAL));
        }
    }

    /// The member sleeps with this stack until the master wakes it.
    fn sleeps(&mut self, from_us: u64, to_us: u64, places: &[Place]) {
        self.stack(from_us, MEMBER, StackMoment::Wait, places);
        self.trace.push(from_us, 1, EventKind::Awaits { tid: Tid(MEMBER), object: Object::Futex(0x40) });
        self.trace.sleep(from_us, 1, 0);
        self.trace.wake(to_us, 0, MEMBER, ROOT);
        self.trace.sleep(to_us, 1, MEMBER);
    }

    fn row(self) -> OpenMpView {
        let mut rows = self.trace.view().openmp;
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }
}

#[track_caller]
fn assert_seconds(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.011, "{value} instead of {expected}");
}

/// The member waits for the master from 2 to 3 s, first spinning and then asleep; its sleep goes on
/// in the serial part until 4 s. The master waits for the member from 5 to 6 s. After 6 s the
/// member spins without a region.
fn two_regions() -> Team {
    let mut team = Team::new(8 * S, S);
    team.runs(ROOT, 0, S, SERIAL);
    team.runs(ROOT, S, 3 * S, MASTER_WORKS);
    team.runs(ROOT, 3 * S, 4 * S, SERIAL);
    team.runs(ROOT, 4 * S, 5 * S, MASTER_WORKS);
    team.runs(ROOT, 5 * S, 6 * S, MASTER_WAITS);
    team.runs(ROOT, 6 * S, 8 * S, SERIAL);
    team.runs(MEMBER, S, 2 * S, WORKS);
    team.runs(MEMBER, 2 * S, 2 * S + S / 4, IN_POOL);
    team.runs(MEMBER, 2 * S + S / 4, 2 * S + S / 2, YIELDS);
    team.sleeps(2 * S + S / 2, 4 * S, IN_POOL);
    team.runs(MEMBER, 4 * S, 6 * S, WORKS);
    team.runs(MEMBER, 6 * S, 8 * S, IN_POOL);
    team
}

#[test]
fn waits_in_regions_are_imbalance_and_waits_between_them_are_not() {
    let row = two_regions().row();
    assert_eq!(row.command, "main");
    assert_seconds(row.waited_s, 1.0 + 1.0);
    assert_seconds(row.slept_s, 0.5);
    assert_seconds(row.spun_s, 1.5);
    assert_seconds(row.spun_between_s, 2.0);
    let [region] = &row.regions[..] else { panic!("{row:?}") };
    assert_eq!((region.caller.as_str(), region.function.as_deref()), ("main", Some("main._omp_fn.0")));
    assert_seconds(region.waited_s, 2.0);
    assert!(row.waited_error_s > 0.0 && row.waited_error_s < 0.2, "{row:?}");
}

#[test]
fn a_trace_without_the_runtime_or_without_stacks_has_no_row() {
    let mut team = two_regions();
    team.trace.header.facts.modules[1].path = "/usr/lib/libother.so.1".to_owned();
    assert_eq!(team.trace.view().openmp, []);
    let mut team = two_regions();
    team.trace.events.retain(|event| !matches!(event.kind, EventKind::UserStack(_)));
    assert_eq!(team.trace.view().openmp, []);
}

/// Regions of 1 ms follow each other after 1 ms, and a sample every 5 ms: no sample of one thread
/// tells whether the other thread's region is open. In each region the member works for 0.25 ms.
#[test]
fn regions_shorter_than_the_time_between_samples_are_unbiased() {
    let (cycle, length, work) = (2_003, 1_000, 250);
    let mut team = Team::new(40 * S, 0);
    let mut at = 0;
    while at < 40 * S {
        let phase = at % cycle;
        team.sample(at, ROOT, if phase < length { MASTER_WORKS } else { SERIAL }, false);
        // The other CPU's clock has another phase.
        let phase = (at + 1_700) % cycle;
        team.sample(at + 1_700, MEMBER, if phase < work { WORKS } else { IN_POOL }, phase >= work);
        at += 5_000;
    }
    let row = team.row();
    let truth = (length - work) as f64 / cycle as f64 * 40.0;
    assert!((row.waited_s - truth).abs() < 2.0 * row.waited_error_s, "{truth}: {row:?}");
    assert!(row.waited_error_s < 0.05 * truth, "{row:?}");
}

/// With a barrier inside, the member waits from 2 to 3 s below the code of the region. A wait for a
/// lock, and the division of a loop, are none for the team.
#[test]
fn a_barrier_inside_a_region_counts_and_a_lock_does_not() {
    for (function, waited) in
        [("GOMP_barrier", 1.0), ("GOMP_critical_start", 0.0), ("GOMP_loop_dynamic_next", 0.0)]
    {
        let mut team = Team::new(4 * S, 0);
        let entry = (RUNTIME, function);
        team.runs(ROOT, 0, S, SERIAL);
        team.runs(ROOT, S, 3 * S, MASTER_WORKS);
        team.runs(ROOT, 3 * S, 4 * S, SERIAL);
        team.runs(MEMBER, 0, S, IN_POOL);
        team.runs(MEMBER, S, 2 * S, WORKS);
        team.runs(MEMBER, 2 * S, 3 * S, &[INTERNAL, entry, BODY, INTERNAL, THREAD]);
        team.runs(MEMBER, 3 * S, 4 * S, IN_POOL);
        let row = team.row();
        assert_seconds(row.waited_s, waited);
        assert_seconds(row.spun_between_s, 2.0);
    }
}

/// The sleep of a thread that wakes for no region from 1 to 2 s is no wait for its team.
#[test]
fn a_thread_outside_the_team_does_not_wait_for_it() {
    let mut team = Team::new(4 * S, 0);
    team.runs(ROOT, 0, S, SERIAL);
    team.runs(ROOT, S, 2 * S, MASTER_WORKS);
    team.runs(ROOT, 2 * S, 4 * S, SERIAL);
    team.runs(MEMBER, 0, S / 2, IN_POOL);
    team.sleeps(S / 2, 3 * S, IN_POOL);
    team.runs(MEMBER, 3 * S, 4 * S, IN_POOL);
    let row = team.row();
    assert_seconds(row.waited_s, 0.0);
    assert_seconds(row.slept_s, 0.0);
}

/// Regions that two functions open have a row each; the member has work in the first alone.
#[test]
fn regions_are_told_apart_by_the_place_that_opens_them() {
    let mut team = Team::new(4 * S, 0);
    team.runs(ROOT, 0, S, SERIAL);
    team.runs(ROOT, S, 2 * S, &[OTHER_BODY, PARALLEL, MAIN]);
    team.runs(ROOT, 2 * S, 3 * S, &[BODY, PARALLEL, HELPER, MAIN]);
    team.runs(ROOT, 3 * S, 4 * S, SERIAL);
    team.runs(MEMBER, 0, S, IN_POOL);
    team.runs(MEMBER, S, S + S / 4, &[OTHER_BODY, INTERNAL, THREAD]);
    team.runs(MEMBER, S + S / 4, 4 * S, IN_POOL);
    let row = team.row();
    assert_seconds(row.waited_s, 0.75 + 1.0);
    let callers: Vec<(&str, f64)> = row
        .regions
        .iter()
        .map(|region| (region.caller.as_str(), (region.waited_s * 10.0).round() / 10.0))
        .collect();
    assert_eq!(callers, [("helper", 1.0), ("main", 0.8)]);
}
