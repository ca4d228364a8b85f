//! Order of runs and the end of a sweep, with an executor that runs nothing and a clock that the
//! test sets.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::cell::Cell;
use std::collections::BTreeSet;

use morecores_measure::budget::Budget;
use morecores_measure::done_once::FirstRoundRuns;
use morecores_measure::executor::{ExecuteError, Outcome};
use morecores_measure::sweep::{
    AfterRound, Executor, Finish, PreviousRuns, RunRecorder, SweepContext, SweepError, TimedRounds, Trial,
    after_all_runs, sweep,
};
use morecores_study::*;
use morecores_testkit::point;

/// A plan for 1 and 2 CPUs without warm-up.
fn plan() -> Plan {
    morecores_testkit::plan(vec![point(1), point(2)])
}

/// State of the simulated machine: time passes only in runs.
#[derive(Default)]
struct World {
    now: Cell<u64>,
    interrupted: Cell<bool>,
    out_of_time: Cell<bool>,
}

impl SweepContext for World {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    fn is_out_of_time(&self) -> bool {
        self.out_of_time.get()
    }
}

/// Decides how a run ends.
type ExitRule<'a> = dyn Fn(&Trial<Point>) -> Exit + 'a;

/// Executor whose runs take 2 s divided by n, and end as instructed.
struct Pretend<'a> {
    world: &'a World,
    plan: Plan,
    exit: Box<ExitRule<'a>>,
}

impl<'a> Pretend<'a> {
    fn new(world: &'a World) -> Self {
        Self::ending(world, &plan(), |_| Exit::Code(0))
    }

    fn ending(world: &'a World, plan: &Plan, exit: impl Fn(&Trial<Point>) -> Exit + 'a) -> Self {
        Self { world, plan: plan.clone(), exit: Box::new(exit) }
    }
}

impl Executor<Point> for Pretend<'_> {
    type Outcome = Outcome;
    type Error = ExecuteError;

    fn value(&self, outcome: &Outcome) -> Option<f64> {
        outcome.run.counts(&self.plan).then(|| outcome.run.value())
    }

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Outcome, ExecuteError> {
        let elapsed = Nanos(2_000_000_000 / u64::from(trial.cell.cpus));
        self.world.now.set(self.world.now.get() + elapsed.0);
        let run = Run {
            index: trial.index,
            round: trial.round,
            phase: trial.phase,
            exit: (self.exit)(trial),
            cpu: CpuTime { user_ns: elapsed, system_ns: Nanos::ZERO, estimator: CpuEstimator::Cgroup },
            ..morecores_testkit::run(&trial.cell, elapsed)
        };
        Ok(Outcome { run, output: String::new(), no_figure: None, other_programs: None })
    }
}

/// Recorder that holds runs in memory; the disk is full after `room` of them.
#[derive(Default)]
struct Memory {
    runs: Vec<Run>,
    room: Option<usize>,
}

impl RunRecorder<Point, Outcome> for Memory {
    type Error = &'static str;

    fn on_begin(&mut self, _: &Trial<Point>) {}

    fn on_end(&mut self, outcome: &Outcome) -> Result<(), Self::Error> {
        if self.room == Some(self.runs.len()) {
            return Err("disk full");
        }
        self.runs.push(outcome.run.clone());
        Ok(())
    }
}

type CommandFinish = Finish<Point, Outcome, ExecuteError>;

/// Runs of an earlier session.
fn earlier(plan: &Plan, done: &[Run]) -> PreviousRuns {
    PreviousRuns::new(&plan.experiment(), done, |run| run.counts(plan))
}

/// Rule that is satisfied after `enough` rounds, and ends at the maximum of the plan.
fn enough_rounds(plan: &Plan, enough: usize) -> impl FnMut(&TimedRounds<'_>) -> AfterRound + use<> {
    let mut all_runs = after_all_runs(&plan.experiment());
    move |rounds| match rounds.samples.iter().all(|sample| sample.len() >= enough) {
        true => AfterRound::End(StopReason::Precise),
        false => all_runs(rounds),
    }
}

/// A complete sweep; its rule is satisfied after `enough` rounds.
fn swept(plan: &Plan, world: &World, executor: &mut Pretend<'_>, enough: usize) -> (CommandFinish, Vec<Run>) {
    let mut budget = Budget::new(world.now(), plan.stop.time(), &[], Vec::new());
    swept_within(plan, &[], world, executor, enough, &mut budget)
}

/// The rest of a sweep, within a budget.
fn swept_within(
    plan: &Plan,
    done: &[Run],
    world: &World,
    executor: &mut Pretend<'_>,
    enough: usize,
    budget: &mut Budget,
) -> (CommandFinish, Vec<Run>) {
    let mut memory = Memory::default();
    let mut rule = enough_rounds(plan, enough);
    let experiment = plan.experiment();
    let finish =
        sweep(&experiment, earlier(plan, done), executor, &mut memory, &mut rule, budget, world).unwrap();
    (finish, memory.runs)
}

fn cpus(runs: &[Run]) -> Vec<u32> {
    runs.iter().map(|run| run.cpus).collect()
}

#[test]
fn every_round_measures_every_count_once_and_orders_differ() {
    let world = World::default();
    let (finish, runs) = swept(&plan(), &world, &mut Pretend::new(&world), 10);
    assert_eq!(finish.reason, StopReason::Precise);
    assert_eq!(runs.len(), 20);
    let rounds: Vec<&[Run]> = runs.chunks(2).collect();
    for (number, round) in rounds.iter().enumerate() {
        let mut counts = cpus(round);
        counts.sort_unstable();
        assert_eq!(counts, [1, 2]);
        assert!(round.iter().all(|run| run.round == number as u32));
    }
    assert!(
        rounds.iter().any(|round| cpus(round) == [1, 2]) && rounds.iter().any(|round| cpus(round) == [2, 1])
    );
    assert!(runs.iter().enumerate().all(|(at, run)| run.index == at as u32));
}

#[test]
fn the_rule_decides_after_every_round_and_the_maximum_ends_the_sweep() {
    for enough in [1, 6, 7] {
        let world = World::default();
        let (finish, runs) = swept(&plan(), &world, &mut Pretend::new(&world), enough);
        assert_eq!((finish.reason, runs.len()), (StopReason::Precise, 2 * enough));
    }
    let world = World::default();
    let (finish, runs) = swept(&plan(), &world, &mut Pretend::new(&world), 99);
    assert_eq!((finish.reason, runs.len()), (StopReason::RunsExhausted, 2 * 30));
}

/// A plan with a time limit in milliseconds. A run on 1 CPU takes 2 s, and a run on 2 CPUs 1 s.
fn limited(ms: u64, warmup: u32) -> Plan {
    Plan { warmup, stop: Stop { max_time: Some(Nanos::from_millis(ms)), ..plan().stop }, ..plan() }
}

#[test]
fn no_run_begins_if_it_would_end_after_the_limit() {
    // The duration of the first run is unknown; the other run of the first round is expected to
    // scale ideally.
    for (limit, made) in [(1, 1), (2_999, 1), (3_000, 2), (5_999, 2), (6_000, 4), (10_000, 6)] {
        let world = World::default();
        let (finish, runs) = swept(&limited(limit, 0), &world, &mut Pretend::new(&world), 99);
        assert_eq!((finish.reason, runs.len()), (StopReason::TimeExhausted, made), "limit {limit} ms");
    }
}

#[test]
fn warm_up_runs_and_further_rounds_yield_to_the_traces() {
    // The warm-up takes 3 s, a round 3 s, the traces 3.6 s.
    for (limit, warm, timed) in [(9_600, 2, 2), (9_599, 1, 2), (12_599, 2, 2), (12_600, 2, 4)] {
        let world = World::default();
        let plan = limited(limit, 1);
        let cells: Vec<_> = plan.points.iter().map(InCell::cell).collect();
        let mut budget = Budget::new(world.now(), plan.stop.time(), &[], cells.clone());
        let (finish, runs) = swept_within(&plan, &[], &world, &mut Pretend::new(&world), 99, &mut budget);
        let made = |phase| runs.iter().filter(|run| run.phase == phase).count();
        assert_eq!(finish.reason, StopReason::TimeExhausted);
        assert_eq!((made(Phase::Warmup), made(Phase::Timed)), (warm, timed), "limit {limit} ms");
        assert!(cells.iter().all(|cell| budget.allows_traced_run(world.now(), cell)));
        assert!(world.now() + Nanos::from_millis(3_600) <= Nanos::from_millis(limit));

        // Warm-up runs that were left out are not made up for after the timed runs.
        let more = limited(limit + 3_000, 1);
        let (_, rest) = swept_within(&more, &runs, &world, &mut Pretend::new(&world), 99, &mut budget);
        assert!(rest.iter().all(|run| run.phase == Phase::Timed));
    }
}

#[test]
fn a_run_cut_short_by_the_time_limit_is_not_recorded() {
    let world = World::default();
    let cut = |trial: &Trial<Point>| {
        world.out_of_time.set(trial.index == 3);
        if trial.index == 3 { Exit::Signal(15) } else { Exit::Code(0) }
    };
    let mut executor = Pretend::ending(&world, &plan(), cut);
    let (finish, runs) = swept(&plan(), &world, &mut executor, 99);
    assert_eq!((finish.reason, runs.len()), (StopReason::TimeExhausted, 3));
    assert!(finish.failed.is_none());
}

#[test]
fn warm_up_runs_come_first_and_count_for_nothing() {
    let world = World::default();
    let warm = Plan { warmup: 2, ..plan() };
    let (_, runs) = swept(&warm, &world, &mut Pretend::new(&world), 6);
    let phases: Vec<Phase> = runs.iter().map(|run| run.phase).collect();
    assert_eq!(phases[..4], [Phase::Warmup; 4]);
    assert_eq!(phases[4..], [Phase::Timed; 12]);
}

#[test]
fn a_failing_run_is_recorded_and_ends_the_sweep_unless_failures_are_ignored() {
    let world = World::default();
    let fails = |trial: &Trial<Point>| Exit::Code(i32::from(trial.round == 2 && trial.cell.cpus == 2));
    let mut executor = Pretend::ending(&world, &plan(), fails);
    let (finish, runs) = swept(&plan(), &world, &mut executor, 6);
    assert_eq!(finish.reason, StopReason::RunFailed);
    assert_eq!(finish.failed.unwrap().run, *runs.last().unwrap());
    assert_eq!(runs.last().unwrap().exit, Exit::Code(1));

    let ignoring = Plan { ignore_failure: true, ..plan() };
    let (finish, runs) = swept(&ignoring, &world, &mut executor, 6);
    // One more round is necessary, because one count has one run fewer.
    assert_eq!((finish.reason, runs.len()), (StopReason::Precise, 2 * 7));
}

#[test]
fn exit_statuses_of_success_count_and_a_missing_figure_or_a_signal_never_does() {
    let world = World::default();
    let lenient = Plan { success: [0, 1].into(), ..plan() };
    let exits = |plan: &Plan, exit: Exit| Pretend::ending(&world, plan, move |_| exit);
    let (finish, runs) = swept(&lenient, &world, &mut exits(&lenient, Exit::Code(1)), 6);
    assert_eq!((finish.reason, runs.len()), (StopReason::Precise, 2 * 6));
    for exit in [Exit::Code(2), Exit::Signal(1), Exit::TimedOut] {
        let (finish, runs) = swept(&lenient, &world, &mut exits(&lenient, exit), 6);
        assert_eq!((finish.reason, runs.len()), (StopReason::RunFailed, 1), "{exit:?}");
    }
    // These runs have no figure.
    let metric = Metric { name: None, regex: "x".into(), unit: None, better: Better::Higher };
    let without = Plan { metric: Some(metric), ..plan() };
    let (finish, _) = swept(&without, &world, &mut exits(&without, Exit::Code(0)), 6);
    assert_eq!(finish.reason, StopReason::RunFailed);
    let ignoring = Plan { ignore_failure: true, ..without };
    let (finish, runs) = swept(&ignoring, &world, &mut exits(&ignoring, Exit::Code(0)), 1);
    assert_eq!((finish.reason, runs.len()), (StopReason::RunsExhausted, 2 * 30));
}

#[test]
fn an_interruption_ends_the_sweep_and_its_run_is_not_recorded() {
    let world = World::default();
    let stop = |trial: &Trial<Point>| {
        world.interrupted.set(trial.index == 5);
        if trial.index == 5 { Exit::Signal(2) } else { Exit::Code(0) }
    };
    let mut executor = Pretend::ending(&world, &plan(), stop);
    let (finish, runs) = swept(&plan(), &world, &mut executor, 6);
    assert_eq!((finish.reason, runs.len()), (StopReason::Interrupted, 5));
}

#[test]
fn a_sweep_interrupted_anywhere_resumes_to_the_same_runs() {
    let world = World::default();
    let warm = Plan { warmup: 1, ..plan() };
    let (_, whole) = swept(&warm, &world, &mut Pretend::new(&world), 9);
    for cut in 0..=whole.len() {
        let mut memory = Memory::default();
        let mut rule = enough_rounds(&warm, 9);
        let (done, mut budget) = (earlier(&warm, &whole[..cut]), Budget::unlimited());
        let mut executor = Pretend::new(&world);
        sweep(&warm.experiment(), done, &mut executor, &mut memory, &mut rule, &mut budget, &world).unwrap();
        assert_eq!(memory.runs, whole[cut..], "cut at {cut}");
    }
}

#[test]
fn a_run_that_cannot_be_recorded_ends_the_sweep_at_once() {
    let world = World::default();
    let mut memory = Memory { room: Some(3), ..Memory::default() };
    let (mut executor, mut budget) = (Pretend::new(&world), Budget::unlimited());
    let (experiment, done) =
        (plan().experiment(), PreviousRuns::new(&plan().experiment(), &[] as &[Run], |_| true));
    let result =
        sweep(&experiment, done, &mut executor, &mut memory, &mut |_| AfterRound::all(), &mut budget, &world);
    assert!(matches!(result, Err(SweepError::Record("disk full"))));
    assert_eq!(memory.runs.len(), 3);
}

/// Executor beside which others disturb the runs on two CPUs in some rounds.
struct Beside<'a> {
    pretend: Pretend<'a>,
    disturbed: &'a [u32],
}

impl Executor<Point> for Beside<'_> {
    type Outcome = Outcome;
    type Error = ExecuteError;

    fn value(&self, outcome: &Outcome) -> Option<f64> {
        self.pretend.value(outcome)
    }

    fn is_disturbed(&self, outcome: &Outcome) -> bool {
        outcome.run.cpus == 2 && self.disturbed.contains(&outcome.run.round)
    }

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Outcome, ExecuteError> {
        self.pretend.execute(trial)
    }
}

#[test]
fn the_rule_is_told_which_rounds_were_disturbed() {
    let world = World::default();
    let plan = Plan { warmup: 3, ..plan() };
    let mut beside =
        Beside { pretend: Pretend::ending(&world, &plan, |_| Exit::Code(0)), disturbed: &[1, 2] };
    let (mut memory, mut budget) = (Memory::default(), Budget::unlimited());
    let (experiment, done) = (plan.experiment(), earlier(&plan, &[]));
    let mut told = Vec::new();
    // The rule alone decides on the number of rounds, beyond the maximum of the plan as well.
    let mut rule = |rounds: &TimedRounds<'_>| {
        told.push(rounds.disturbed.clone());
        if rounds.made == 40 { AfterRound::End(StopReason::RunsExhausted) } else { AfterRound::all() }
    };
    let finish = sweep(&experiment, done, &mut beside, &mut memory, &mut rule, &mut budget, &world).unwrap();
    assert_eq!(finish.reason, StopReason::RunsExhausted);
    let expected = [BTreeSet::new(), BTreeSet::from([1]), BTreeSet::from([1, 2])];
    assert_eq!((told.len(), &told[..3]), (40, &expected[..]), "warm-up rounds are not among them");
    assert_eq!(told[39], expected[2]);
}

/// The rule names the cells of the next round, and a search warms up with its first cell alone.
#[test]
fn the_rule_leaves_cells_out_of_further_rounds() {
    let world = World::default();
    let plan = Plan { warmup: 1, goal: Goal::Tune, ..plan() };
    let mut executor = Pretend::ending(&world, &plan, |_| Exit::Code(0));
    let (mut memory, mut budget) = (Memory::default(), Budget::unlimited());
    let (experiment, done) = (plan.experiment(), earlier(&plan, &[]));
    let mut rule = |rounds: &TimedRounds<'_>| match rounds.made {
        1 => AfterRound::all(),
        2 | 3 => AfterRound::Continue { without: BTreeSet::from([0]) },
        _ => AfterRound::End(StopReason::Precise),
    };
    sweep(&experiment, done, &mut executor, &mut memory, &mut rule, &mut budget, &world).unwrap();
    let of = |phase, cpus| memory.runs.iter().filter(|run| run.phase == phase && run.cpus == cpus).count();
    assert_eq!([of(Phase::Warmup, 1), of(Phase::Warmup, 2)], [1, 0]);
    assert_eq!([of(Phase::Timed, 1), of(Phase::Timed, 2)], [2, 4]);
}

/// Executor that builds once, in the first run, and later finds everything built.
struct Build<'a> {
    pretend: Pretend<'a>,
    early: FirstRoundRuns,
    /// Whether `--prepare` undoes the build.
    is_prepared: bool,
    made: usize,
}

impl Executor<Point> for Build<'_> {
    type Outcome = Outcome;
    type Error = ExecuteError;

    fn value(&self, outcome: &Outcome) -> Option<f64> {
        self.pretend.value(outcome)
    }

    fn is_already_done(&self) -> bool {
        !self.pretend.plan.incremental && self.early.done_once().is_some()
    }

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Outcome, ExecuteError> {
        let builds = self.is_prepared || self.made == 0;
        self.made += 1;
        let mut outcome = self.pretend.execute(trial)?;
        if !builds {
            outcome.run.elapsed_ns = Nanos::from_millis(2);
            outcome.run.cpu.user_ns = Nanos::from_millis(1);
        }
        self.early.add(&self.pretend.plan, &outcome.run);
        Ok(outcome)
    }
}

/// The end of a sweep over such a build, and its runs.
fn built(plan: &Plan, done: &[Run], is_prepared: bool) -> (StopReason, Vec<Run>) {
    let world = World::default();
    let mut memory = Memory::default();
    let pretend = Pretend::ending(&world, plan, |_| Exit::Code(0));
    let early = FirstRoundRuns::select(plan, done);
    let mut build = Build { pretend, early, is_prepared, made: done.len() };
    let mut rule = enough_rounds(plan, 6);
    let (experiment, done, mut budget) = (plan.experiment(), earlier(plan, done), Budget::unlimited());
    let finish = sweep(&experiment, done, &mut build, &mut memory, &mut rule, &mut budget, &world).unwrap();
    (finish.reason, memory.runs)
}

#[test]
fn a_command_that_does_its_work_once_is_stopped_before_the_second_round() {
    for warmup in [0, 1, 2] {
        let plan = Plan { warmup, ..plan() };
        let (reason, runs) = built(&plan, &[], false);
        assert_eq!(reason, StopReason::AlreadyDone);
        assert_eq!(runs.len(), 2 * (warmup as usize + 1), "what was measured is kept");
        assert_eq!(built(&plan, &[], true).0, StopReason::Precise);

        // A resumed study keeps its result and makes no further run, unless the plan is
        // incremental.
        let (reason, more) = built(&plan, &runs, false);
        assert_eq!((reason, more.len()), (StopReason::AlreadyDone, 0));
        let incremental = Plan { incremental: true, ..plan };
        let (reason, more) = built(&incremental, &runs, false);
        assert_eq!((reason, more.len()), (StopReason::Precise, 2 * 5));
    }
}
