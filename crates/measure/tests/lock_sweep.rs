//! Order of the cells of a lock study, and the end of its sweep, with a laboratory that runs
//! nothing.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::cell::Cell;
use std::collections::BTreeSet;

use morecores_measure::lock_cell::{Laboratory, LockCellError};
use morecores_measure::lock_sweep::{CellKeeper, LockFinish, LockSweepError, lock_sweep};
use morecores_measure::program::ProgramError;
use morecores_measure::sweep::Pulse;
use morecores_study::lock::*;
use morecores_study::*;
use morecores_testkit::{lock_plan, lock_time};

#[derive(Default)]
struct World {
    interrupted: Cell<bool>,
}

impl Pulse for World {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }
}

/// Decides, by the number of the request and its cell, whether a measurement fails.
type Fails<'a> = dyn Fn(usize, &LockCell) -> Option<LockCellError> + 'a;

/// Laboratory that fails as instructed, and counts its requests.
struct Pretend<'a> {
    asked: usize,
    fails: Box<Fails<'a>>,
}

impl<'a> Pretend<'a> {
    fn new() -> Self {
        Self::failing(|_, _| None)
    }

    fn failing(fails: impl Fn(usize, &LockCell) -> Option<LockCellError> + 'a) -> Self {
        Self { asked: 0, fails: Box::new(fails) }
    }
}

impl Laboratory for Pretend<'_> {
    fn measure(&mut self, round: u32, cell: &LockCell) -> Result<LockRun, LockCellError> {
        self.asked += 1;
        (self.fails)(self.asked, cell).map_or_else(|| Ok(lock_time(round, *cell, 1.0)), Err)
    }
}

/// Keeper that holds cells in memory; the disk is full after `room` of them.
#[derive(Default)]
struct Memory {
    begun: usize,
    runs: Vec<LockRun>,
    room: Option<usize>,
}

impl CellKeeper for Memory {
    type Error = &'static str;

    fn begins(&mut self, _: u32, _: &LockCell) {
        self.begun += 1;
    }

    fn ended(&mut self, run: &LockRun) -> Result<(), Self::Error> {
        if self.room == Some(self.runs.len()) {
            return Err("disk full");
        }
        self.runs.push(run.clone());
        Ok(())
    }
}

fn swept(done: &[LockRun], laboratory: &mut Pretend<'_>, world: &World) -> (LockFinish, Vec<LockRun>) {
    let mut memory = Memory::default();
    let finish = lock_sweep(&lock_plan(), done, laboratory, &mut memory, world).unwrap();
    assert_eq!(memory.begun, laboratory.asked);
    (finish, memory.runs)
}

fn failure() -> LockCellError {
    LockCellError::TimedOut(Nanos(1))
}

#[test]
fn every_round_measures_every_cell_once_and_orders_differ() {
    let (finish, runs) = swept(&[], &mut Pretend::new(), &World::default());
    assert_eq!((finish.reason, finish.failed.len()), (StopReason::RunsExhausted, 0));
    let plan = lock_plan();
    let mut orders = Vec::new();
    for round in 0..plan.rounds {
        let cells: Vec<LockCell> = runs.iter().filter(|run| run.round == round).map(|run| run.cell).collect();
        assert_eq!(cells.len(), plan.cells(round).len());
        assert_eq!(
            cells.iter().collect::<BTreeSet<_>>(),
            plan.cells(round).iter().collect::<BTreeSet<_>>(),
            "round {round}"
        );
        orders.push(cells);
    }
    assert!(runs.is_sorted_by_key(|run| run.round), "one round after the other");
    // Rounds 1 and 2 have the same cells.
    assert_ne!(orders[1], orders[2]);
}

#[test]
fn a_sweep_cut_anywhere_goes_on_as_if_it_had_not_been() {
    let (_, whole) = swept(&[], &mut Pretend::new(), &World::default());
    for cut in 0..=whole.len() {
        let (_, rest) = swept(&whole[..cut], &mut Pretend::new(), &World::default());
        assert_eq!(rest, whole[cut..], "cut at {cut}");
    }
}

#[test]
fn a_cell_that_fails_costs_only_itself_and_is_not_tried_again() {
    let hangs = LockCell::HandOver { lock: LockName::Std };
    let mut laboratory = Pretend::failing(|_, cell| (*cell == hangs).then(failure));
    let (finish, runs) = swept(&[], &mut laboratory, &World::default());
    assert_eq!(finish.reason, StopReason::RunFailed);
    assert_eq!(finish.failed.iter().map(|(cell, _)| *cell).collect::<Vec<_>>(), [hangs]);
    let plan = lock_plan();
    let all: usize = (0..plan.rounds).map(|round| plan.cells(round).len()).sum();
    assert_eq!(runs.len(), all - plan.rounds as usize);
    assert_eq!(laboratory.asked, runs.len() + 1);
}

#[test]
fn where_nothing_can_be_measured_it_ends_at_once() {
    let missing = || LockCellError::Program(ProgramError::NotFound("morecores-work".into()));
    let mut laboratory = Pretend::failing(|_, _| Some(missing()));
    let mut memory = Memory::default();
    let result = lock_sweep(&lock_plan(), &[], &mut laboratory, &mut memory, &World::default());
    assert!(matches!(result, Err(LockSweepError::Laboratory(_))));
    assert_eq!((laboratory.asked, memory.runs.len()), (1, 0));
}

#[test]
fn an_interruption_ends_it_and_the_cell_cut_short_is_nobodys() {
    let world = World::default();
    let mut laboratory = Pretend::failing(|asked, _| {
        world.interrupted.set(asked == 5);
        (asked == 5).then(failure)
    });
    let (finish, runs) = swept(&[], &mut laboratory, &world);
    assert_eq!((finish.reason, finish.failed.len(), runs.len()), (StopReason::Interrupted, 0, 4));

    // A cell that was complete when the signal came is kept.
    let world = World::default();
    let mut laboratory = Pretend::failing(|asked, _| {
        world.interrupted.set(asked == 5);
        None
    });
    let (finish, runs) = swept(&[], &mut laboratory, &world);
    assert_eq!((finish.reason, runs.len()), (StopReason::Interrupted, 5));
}

#[test]
fn a_cell_that_cannot_be_kept_ends_it_at_once() {
    let mut memory = Memory { room: Some(3), ..Memory::default() };
    let result = lock_sweep(&lock_plan(), &[], &mut Pretend::new(), &mut memory, &World::default());
    assert!(matches!(result, Err(LockSweepError::Keep("disk full"))));
    assert_eq!(memory.runs.len(), 3);
}
