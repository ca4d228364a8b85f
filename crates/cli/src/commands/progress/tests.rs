//! Tests of the announced time left against the true time left, on a simulated clock.

use std::cell::Cell as Shared;

use morecores_measure::budget::Budget;
use morecores_measure::executor::{ExecuteError, Outcome};
use morecores_measure::sweep::{
    AfterRound, Executor, PreviousRuns, RunRecorder, SweepContext, TimedRounds, sweep,
};
use morecores_statistics::{Decision, Rounds};
use morecores_study::{Plan, Point, Run, RunRecord, Stop, StopReason};
use morecores_testkit::{plan, point};
use morecores_view::round_rule;

use super::*;

/// Largest relative error allowed for the announced time.
const THIRD: f64 = 1.0 / 3.0;

/// Simulated command of 20 s on 1 CPU and 10 s on 2. The first run takes three times as long, and
/// `--prepare` takes half a second before each run. Times vary by up to `noise`.
struct World {
    noise: f64,
    now: Shared<u64>,
    runs: Shared<u64>,
}

impl SweepContext for World {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

impl World {
    fn new(noise: f64) -> Self {
        Self { noise, now: Shared::new(0), runs: Shared::new(0) }
    }

    /// Advances the clock by a run's time and returns the run's elapsed time.
    fn run(&self, trial: &Trial<Point>) -> Nanos {
        let made = self.runs.replace(self.runs.get() + 1);
        let cold = if made == 0 { 3.0 } else { 1.0 };
        let traced = if trial.phase == Phase::Traced { 1.1 } else { 1.0 };
        // Deviation from -1 to 1, each value once in seven runs.
        let chance = (made * 3 % 7) as f64 / 3.0 - 1.0;
        let seconds = 20.0 / f64::from(trial.cell.cpus) * cold * traced * (1.0 + self.noise * chance);
        let elapsed = Nanos::from_secs_f64(seconds);
        self.now.set((self.now() + elapsed + Nanos::from_millis(500)).0);
        elapsed
    }
}

impl Executor<Point> for &World {
    type Outcome = Outcome;
    type Error = ExecuteError;

    fn value(&self, outcome: &Outcome) -> Option<f64> {
        Some(outcome.run.value())
    }

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Outcome, ExecuteError> {
        let elapsed = self.run(trial);
        let run = Run {
            index: trial.index,
            phase: trial.phase,
            round: trial.round,
            ..morecores_testkit::run(&trial.cell, elapsed)
        };
        Ok(Outcome { run, output: String::new(), no_figure: None, other_programs: None })
    }
}

/// Recorder of the announced time left at the start of each run.
struct Watcher<'a> {
    world: &'a World,
    plan: &'a Plan,
    traces: Vec<Cell>,
    costs: Costs,
    so_far: RunningResults,
    began: Nanos,
    announced: Vec<Announcement>,
}

/// Time left as announced at the start of a run.
struct Announcement {
    phase: Phase,
    round: u32,
    at: Nanos,
    left: RangeInclusive<Nanos>,
}

impl RunRecorder<Point, Outcome> for Watcher<'_> {
    type Error = std::convert::Infallible;

    fn on_begin(&mut self, trial: &Trial<Point>) {
        self.began = self.world.now();
        let stop = &self.plan.stop;
        let rounds = self.so_far.expected_rounds().expect("a rule");
        let estimate = TimeEstimate {
            experiment: &self.plan.experiment(),
            earlier: &PreviousRuns::default(),
            costs: &self.costs,
            trial,
            running: Nanos::ZERO,
            rounds,
            traces: &self.traces,
            budget: stop.time().map(|time| time.since(self.began)),
        };
        if let Some(left) = estimate.time_left() {
            self.announced.push(Announcement {
                phase: trial.phase,
                round: trial.round,
                at: self.began,
                left,
            });
        }
    }

    fn on_end(&mut self, outcome: &Outcome) -> Result<(), Self::Error> {
        let run = &outcome.run;
        self.costs.add(run.phase, &run.cell(), self.world.now().since(self.began));
        self.so_far.count_run(run);
        Ok(())
    }
}

/// Makes a study and compares the announced times with the true ones.
#[track_caller]
fn left_is_true(noise: f64, time: Option<u64>, rounds: u32) {
    let world = World::new(noise);
    let budget = time.map(|seconds| Nanos::from_millis(1000 * seconds));
    let plan = plan(vec![point(1), point(2)]);
    let plan = Plan { warmup: 1, stop: Stop { budget, ..plan.stop }, ..plan };
    let traces: Vec<Cell> = plan.points.iter().map(InCell::cell).collect();
    let mut watcher = Watcher {
        world: &world,
        plan: &plan,
        traces: traces.clone(),
        costs: Costs::default(),
        so_far: RunningResults::new(&morecores_testkit::header(plan.clone())),
        began: Nanos::ZERO,
        announced: Vec::new(),
    };
    let rule = round_rule(&plan);
    let mut rounds_rule = |TimedRounds { made, samples, disturbed }: &TimedRounds<'_>| match rule
        .decide(&Rounds { made: *made, samples, disturbed })
    {
        Decision::Continue => AfterRound::all(),
        _ => AfterRound::End(StopReason::Precise),
    };
    let mut budget = Budget::new(Nanos::ZERO, plan.stop.time(), &[], traces.clone());
    let experiment = plan.experiment();
    let earlier = PreviousRuns::new(&experiment, &[] as &[Run], |_| true);
    sweep(&experiment, earlier, &mut &world, &mut watcher, &mut rounds_rule, &mut budget, &world)
        .expect("a sweep");
    for point in &plan.points {
        watcher.traces.remove(0);
        let trial = Trial { index: 0, round: 0, phase: Phase::Traced, cell: point.clone() };
        watcher.on_begin(&trial);
        world.run(&trial);
    }
    let end = world.now();
    if let Some(time) = plan.stop.time() {
        assert!(end <= time, "it took {end:?}");
    }
    assert_eq!(watcher.announced.iter().map(|announced| announced.round + 1).max(), Some(rounds), "rounds");
    for Announcement { phase, round, at, left } in watcher.announced {
        if phase == Phase::Warmup || (phase == Phase::Timed && round == 0) {
            continue;
        }
        let is = end.since(at).as_secs_f64();
        let [least, most] = [left.start(), left.end()].map(|left| left.as_secs_f64());
        assert!(
            least * (1.0 - THIRD) <= is && is <= most * (1.0 + THIRD) && most <= least * ONE_FIGURE,
            "{phase:?} {round} at {at:?}: {least} to {most} s announced, {is} s left"
        );
    }
}

#[test]
fn the_time_left_is_within_a_third_from_the_second_round_on() {
    // The cases are: precise after 6 rounds; noisy to the last round; ended by the time limit,
    // noisy and quiet.
    left_is_true(0.001, None, 6);
    left_is_true(0.12, None, 30);
    left_is_true(0.12, Some(400), 9);
    left_is_true(0.001, Some(200), 3);
}

#[test]
fn distant_times_are_a_range() {
    let announced = |least, most| range(&(Duration::from_secs(least)..=Duration::from_secs(most)));
    assert_eq!(
        [announced(60, 60), announced(60, 80), announced(60, 90)],
        ["about 1 min 00 s", "about 1 min 10 s", "1 min 00 s to 1 min 30 s"]
    );
}
