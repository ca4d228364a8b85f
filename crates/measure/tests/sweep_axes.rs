//! Sweeps over other axes than CPU counts: those of the lock laboratory, and one that no code
//! knows.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::cell::Cell as Shared;
use std::collections::BTreeSet;

use morecores_measure::budget::Budget;
use morecores_measure::executor::ExecuteError;
use morecores_measure::sweep::{
    Executor, Finish, PreviousRuns, RunRecorder, SweepContext, SweepError, Trial, after_all_runs, sweep,
};
use morecores_study::lock::*;
use morecores_study::*;
use morecores_testkit::{header, lock_plan, lock_time, plan, point};

#[derive(Default)]
struct World {
    interrupted: Shared<bool>,
}

impl SweepContext for World {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }
}

/// Failure of a cell.
#[derive(Debug, PartialEq, Eq)]
enum CellError {
    /// Failure of this cell alone.
    OutOfTime,
    /// Failure of every cell.
    NoLaboratory,
}

/// Decides, by the number of the attempt and its cell, whether a measurement fails.
type Fails<'a> = dyn Fn(usize, &LockCell) -> Option<CellError> + 'a;

/// Laboratory that fails as instructed, and counts its attempts.
struct Pretend<'a> {
    attempts: usize,
    fails: Box<Fails<'a>>,
}

impl<'a> Pretend<'a> {
    fn new() -> Self {
        Self::failing(|_, _| None)
    }

    fn failing(fails: impl Fn(usize, &LockCell) -> Option<CellError> + 'a) -> Self {
        Self { attempts: 0, fails: Box::new(fails) }
    }
}

impl Executor<LockCell> for Pretend<'_> {
    type Outcome = LockRun;
    type Error = CellError;

    fn execute(&mut self, trial: &Trial<LockCell>) -> Result<LockRun, CellError> {
        self.attempts += 1;
        let run = || lock_time(trial.round, trial.cell, 1.0);
        (self.fails)(self.attempts, &trial.cell).map_or_else(|| Ok(run()), Err)
    }

    fn value(&self, run: &LockRun) -> Option<f64> {
        Some(run.value())
    }

    fn concerns_one_cell(&self, error: &CellError) -> bool {
        *error != CellError::NoLaboratory
    }
}

/// Recorder that holds runs in memory; the disk is full after `room` of them.
struct Memory<R> {
    begun: usize,
    runs: Vec<R>,
    room: usize,
}

impl<R> Default for Memory<R> {
    fn default() -> Self {
        Self { begun: 0, runs: Vec::new(), room: usize::MAX }
    }
}

impl<C, R: Clone> RunRecorder<C, R> for Memory<R> {
    type Error = &'static str;

    fn on_begin(&mut self, _: &Trial<C>) {
        self.begun += 1;
    }

    fn on_end(&mut self, run: &R) -> Result<(), Self::Error> {
        if self.room == self.runs.len() {
            return Err("disk full");
        }
        self.runs.push(run.clone());
        Ok(())
    }
}

type LockFinish = Finish<LockCell, LockRun, CellError>;

fn sweep_locks(
    done: &[LockRun],
    laboratory: &mut Pretend<'_>,
    memory: &mut Memory<LockRun>,
    world: &World,
) -> Result<LockFinish, SweepError<CellError, &'static str>> {
    let experiment = lock_plan().experiment();
    let earlier = PreviousRuns::new(&experiment, done, |_| true);
    let mut all_runs = after_all_runs(&experiment);
    sweep(&experiment, earlier, laboratory, memory, &mut all_runs, &mut Budget::unlimited(), world)
}

fn swept(done: &[LockRun], laboratory: &mut Pretend<'_>, world: &World) -> (LockFinish, Vec<LockRun>) {
    let mut memory = Memory::default();
    let finish = sweep_locks(done, laboratory, &mut memory, world).unwrap();
    assert_eq!(memory.begun, laboratory.attempts);
    (finish, memory.runs)
}

fn failure() -> CellError {
    CellError::OutOfTime
}

#[test]
fn every_round_measures_every_lock_cell_once_and_orders_differ() {
    let (finish, runs) = swept(&[], &mut Pretend::new(), &World::default());
    assert_eq!((finish.reason, finish.left_out.len()), (StopReason::RunsExhausted, 0));
    let experiment = lock_plan().experiment();
    let mut orders = Vec::new();
    for round in 0..lock_plan().rounds {
        let cells: Vec<&LockCell> =
            runs.iter().filter(|run| run.round == round).map(|run| &run.cell).collect();
        let planned = experiment.cells_of_round(round);
        assert_eq!(cells.len(), planned.len());
        assert_eq!(cells.iter().collect::<BTreeSet<_>>(), planned.iter().collect(), "round {round}");
        orders.push(cells);
    }
    assert!(runs.is_sorted_by_key(|run| run.round), "one round after the other");
    // Rounds 1 and 2 have the same cells.
    assert_ne!(orders[1], orders[2]);
}

#[test]
fn a_sweep_of_locks_interrupted_anywhere_resumes_to_the_same_cells() {
    let (_, whole) = swept(&[], &mut Pretend::new(), &World::default());
    for cut in 0..=whole.len() {
        let (_, rest) = swept(&whole[..cut], &mut Pretend::new(), &World::default());
        assert_eq!(rest, whole[cut..], "cut at {cut}");
    }
}

#[test]
fn a_failed_lock_cell_loses_only_itself_and_is_not_repeated() {
    let hangs = LockCell::Handoff { lock: LockName::Std };
    let mut laboratory = Pretend::failing(|_, cell| (*cell == hangs).then(failure));
    let (finish, runs) = swept(&[], &mut laboratory, &World::default());
    assert_eq!(finish.reason, StopReason::RunFailed);
    assert_eq!(finish.left_out.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), [hangs]);
    let rounds = lock_plan().rounds;
    let all: usize = (0..rounds).map(|round| lock_plan().experiment().cells_of_round(round).len()).sum();
    assert_eq!(runs.len(), all - rounds as usize);
    assert_eq!(laboratory.attempts, runs.len() + 1);
}

#[test]
fn the_sweep_ends_at_once_if_no_cell_can_be_measured() {
    let mut laboratory = Pretend::failing(|_, _| Some(CellError::NoLaboratory));
    let mut memory = Memory::default();
    let result = sweep_locks(&[], &mut laboratory, &mut memory, &World::default());
    assert!(matches!(result, Err(SweepError::Execute(_))));
    assert_eq!((laboratory.attempts, memory.runs.len()), (1, 0));
}

#[test]
fn an_interruption_ends_the_sweep_and_its_cell_is_not_recorded() {
    let world = World::default();
    let mut laboratory = Pretend::failing(|attempts, _| {
        world.interrupted.set(attempts == 5);
        (attempts == 5).then(failure)
    });
    let (finish, runs) = swept(&[], &mut laboratory, &world);
    assert_eq!((finish.reason, finish.left_out.len(), runs.len()), (StopReason::Interrupted, 0, 4));

    // A cell that was complete when the signal came is kept.
    let world = World::default();
    let mut laboratory = Pretend::failing(|attempts, _| {
        world.interrupted.set(attempts == 5);
        None
    });
    let (finish, runs) = swept(&[], &mut laboratory, &world);
    assert_eq!((finish.reason, runs.len()), (StopReason::Interrupted, 5));
}

#[test]
fn a_cell_that_cannot_be_recorded_ends_the_sweep_at_once() {
    let mut memory = Memory { room: 3, ..Memory::default() };
    let result = sweep_locks(&[], &mut Pretend::new(), &mut memory, &World::default());
    assert!(matches!(result, Err(SweepError::Record("disk full"))));
    assert_eq!(memory.runs.len(), 3);
}

/// A command whose runs take 100 s divided by the size and by the CPUs.
struct Throttled;

impl Executor<Point> for Throttled {
    type Outcome = Run;
    type Error = ExecuteError;

    fn execute(&mut self, trial: &Trial<Point>) -> Result<Run, ExecuteError> {
        let mib = trial.cell.cell().number("size_mib").unwrap();
        let elapsed = Nanos::from_millis(100_000 / (mib * u64::from(trial.cell.cpus)));
        let run = morecores_testkit::run(&trial.cell, elapsed);
        Ok(Run { index: trial.index, round: trial.round, phase: trial.phase, ..run })
    }

    fn value(&self, run: &Run) -> Option<f64> {
        Some(run.value())
    }
}

/// Recorder that writes a study.
struct Disk(StudyWriter);

impl RunRecorder<Point, Run> for Disk {
    type Error = StudyError;

    fn on_begin(&mut self, _: &Trial<Point>) {}

    fn on_end(&mut self, run: &Run) -> Result<(), StudyError> {
        self.0.append(run)
    }
}

/// An axis that no code knows, here a size, is a value of each cell: it is swept,
/// kept, read, shown, and resumed like any other.
#[test]
fn a_new_axis_is_a_value_of_the_cells() {
    let size = Axis::new("size", [50_u64, 100]).in_unit("mib");
    let counts = [Axis::new(CPUS_AXIS, [1_u32, 2]), Axis::new(N_AXIS, [AxisSetting::same_as(CPUS_AXIS)])];
    let allot = |cpus| (point(cpus).cpu_set, point(cpus).adds);
    let points = Point::from_axes(&[counts.as_slice(), std::slice::from_ref(&size)].concat(), allot);
    let stop = Stop { precision: None, max_runs: 2, ..plan(Vec::new()).stop };
    let plan = Plan { stop, axes: vec![size], ..plan(points) };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("size.study");
    let mut disk = Disk(StudyWriter::create(&path, header(plan.clone())).unwrap());
    let run_all = |done: &[Run], disk: &mut Disk| {
        let experiment = plan.experiment();
        let earlier = PreviousRuns::new(&experiment, done, |run| run.counts(&plan));
        let (mut all_runs, mut budget) = (after_all_runs(&experiment), Budget::unlimited());
        sweep(&experiment, earlier, &mut Throttled, disk, &mut all_runs, &mut budget, &World::default())
            .unwrap()
    };
    assert_eq!(run_all(&[], &mut disk).reason, StopReason::RunsExhausted);

    let study = Study::read(&path).unwrap();
    assert_eq!(study.header.plan, plan);
    let planned_cells: Vec<String> = plan.points.iter().map(|point| point.cell().to_string()).collect();
    let cell = |cpus, mib| format!("cpus = {cpus}, n = {cpus}, size_mib = {mib}");
    assert_eq!(planned_cells, [cell(1, 50), cell(1, 100), cell(2, 50), cell(2, 100)]);
    for planned in &study.header.plan.points {
        let runs: Vec<&Run> = study.runs.iter().filter(|run| run.cell() == planned.cell()).collect();
        let mib = planned.cell().number("size_mib").unwrap();
        assert_eq!(runs.len(), 2);
        assert!(runs.iter().all(|run| run.elapsed_ns.0 * mib * u64::from(run.cpus) == 100_000_000_000));
    }
    // The view has the figures of each cell, and the tables have a column of the axis.
    let view = morecores_view::view(&study, &[]);
    let cells: Vec<_> = view.cells.iter().map(|shown| shown.cell.clone()).collect();
    assert_eq!(cells, plan.points.iter().map(InCell::cell).collect::<Vec<_>>());
    for shown in &view.cells {
        let (cpus, mib) = (shown.cell.number(CPUS_AXIS).unwrap(), shown.cell.number("size_mib").unwrap());
        let elapsed = &shown.figures[0];
        assert_eq!((elapsed.name.as_str(), elapsed.unit.as_deref(), shown.runs), ("elapsed", Some("s"), 2));
        assert!((elapsed.median * (cpus * mib) as f64 - 100.0).abs() < 1e-6, "{elapsed:?}");
    }
    let mut csv = Vec::new();
    morecores_report::view_csv(&view, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "size_mib").unwrap();
    let quotas: Vec<_> = csv.lines().skip(1).map(|line| line.split(',').nth(column).unwrap()).collect();
    assert_eq!(quotas, ["50", "100", "50", "100"]);

    // A resumed study makes the missing runs only.
    assert_eq!(run_all(&study.runs, &mut disk).reason, StopReason::RunsExhausted);
    assert_eq!(Study::read(&path).unwrap().runs.len(), 8);
}
