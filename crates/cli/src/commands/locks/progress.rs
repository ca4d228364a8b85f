//! Progress of a study of locks.
//!
//! The measuring thread only stores what it is about to do; the watching thread draws.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use morecores_study::Nanos;
use morecores_study::lock::{LockCell, LockPlan, LockStudy};

use super::super::display::{Bar, Display, duration};

/// Time of a cell beyond its contest: the start of a process and of its threads. It only weighs the
/// cells against each other in the estimate of the time left, so an approximate value suffices.
const OVERHEAD: Nanos = Nanos::from_millis(10);

/// State of a study of locks.
#[derive(Debug)]
pub(super) struct LockProgress {
    bar: Bar,
    plan: LockPlan,
    /// Sum of the expected times of the cells still to be measured.
    all: Nanos,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Sum of the expected times of the finished cells.
    done: Nanos,
    /// Current cell and its round.
    cell: Option<(u32, LockCell)>,
}

impl LockProgress {
    /// Shows a bar for the cells that `study` does not hold yet. The bar is visible if standard
    /// error is a terminal and `quiet` is false.
    pub(super) fn new(study: &LockStudy, quiet: bool) -> Self {
        let plan = study.header.plan.clone();
        let done: BTreeSet<(u32, LockCell)> = study.runs.iter().map(|run| (run.round, run.cell)).collect();
        let cells =
            (0..plan.rounds).flat_map(|round| plan.cells(round).into_iter().map(move |cell| (round, cell)));
        let all = cells.filter(|cell| !done.contains(cell)).map(|(_, cell)| expected(&plan, &cell)).sum();
        Self { bar: Bar::new(quiet), plan, all, began: Instant::now(), state: Mutex::default() }
    }

    /// Records that a cell is about to be measured.
    pub(super) fn begins(&self, round: u32, cell: &LockCell) {
        if self.bar.is_shown() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, before)) = state.cell.replace((round, *cell)) {
                state.done += expected(&self.plan, &before);
            }
        }
    }

    fn words(&self, state: &State, elapsed: Duration) -> String {
        let Some((round, cell)) = &state.cell else { return "getting ready".to_owned() };
        let left = self.left(state.done, elapsed).map(|left| format!(" · about {} left", duration(left)));
        format!(
            "round {} of {} · {} · {} so far{}",
            round + 1,
            self.plan.rounds,
            in_words(cell),
            duration(elapsed),
            left.unwrap_or_default()
        )
    }

    /// Time left, assuming that the remaining cells deviate from their expected times as the
    /// finished ones did. None until cells with an expected time of 2 s have finished.
    fn left(&self, done: Nanos, elapsed: Duration) -> Option<Duration> {
        const ENOUGH: Nanos = Nanos::from_millis(2_000);
        let left = self.all.since(done).as_secs_f64() / done.as_secs_f64();
        (done >= ENOUGH).then(|| elapsed.mul_f64(left))
    }
}

impl Display for LockProgress {
    fn is_shown(&self) -> bool {
        self.bar.is_shown()
    }

    fn draw(&self) {
        self.bar.show(|| {
            let state = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.words(&state, self.began.elapsed())
        });
    }

    fn clear(&self) {
        self.bar.clear();
    }
}

fn expected(plan: &LockPlan, cell: &LockCell) -> Nanos {
    OVERHEAD + plan.window_of(cell)
}

/// Description of a cell for people.
pub(super) fn in_words(cell: &LockCell) -> String {
    match cell {
        LockCell::Free { lock } => format!("{lock} when it is free"),
        LockCell::HandOver { lock } => format!("{lock} handed over"),
        LockCell::Contest { lock, threads: 1, .. } => format!("{lock} with 1 thread"),
        LockCell::Contest { lock, threads, .. } => format!("{lock} with {threads} threads"),
        LockCell::Preempted { lock } => format!("{lock} whose owner is off its CPU"),
        LockCell::Switch => "a switch between threads".to_owned(),
        LockCell::Line { from, to } => format!("a cache line from CPU {} to {}", from.0, to.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::lock::LockName;
    use morecores_testkit::{lock_header, lock_plan, lock_time};

    #[test]
    fn what_is_left_is_what_the_plan_has_and_the_study_has_not() {
        let plan = lock_plan();
        let mut study = LockStudy { header: lock_header(plan.clone()), runs: Vec::new(), damaged_lines: 0 };
        let whole = LockProgress::new(&study, true);
        // Each of the 6 rounds has 6 cells and 8 contests of 10 ms, and 2 preempted owners of 300
        // ms. The study also has 8 watched contests of 300 ms. Each cell adds 10 ms.
        let rounds = 6 * (14 * 20 + 2 * 310);
        assert_eq!(whole.all, Nanos::from_millis(rounds + 8 * 310));
        let left = |done| whole.left(Nanos::from_millis(done), Duration::from_secs(10));
        assert_eq!((left(480), left(whole.all.0 / 2_000_000)), (None, Some(Duration::from_secs(10))));

        let watched = |cell: &LockCell| matches!(cell, LockCell::Contest { watched: true, .. });
        study.runs.extend(plan.cells(0).into_iter().filter(watched).map(|cell| lock_time(0, cell, 1.0)));
        assert_eq!(LockProgress::new(&study, true).all, Nanos::from_millis(rounds));
    }

    #[test]
    fn a_cell_is_named() {
        let lock = LockName::Mcs;
        let contest = |threads| LockCell::Contest {
            lock,
            threads,
            hold_ns: Nanos::ZERO,
            think_ns: Nanos::ZERO,
            watched: false,
        };
        assert_eq!(
            [in_words(&contest(1)), in_words(&contest(4))],
            ["mcs with 1 thread", "mcs with 4 threads"]
        );
    }
}
