//! Estimate of the time that a study will still take.
//!
//! The functions are pure. The caller supplies the clock, the cost of runs and the number of
//! rounds.

use std::ops::RangeInclusive;

use morecores_measure::budget::Costs;
use morecores_measure::schedule::{Stream, round_order};
use morecores_measure::sweep::{PreviousRuns, Trial};
use morecores_study::{Cell, Experiment, InCell, Nanos, Phase};

/// Facts known during a run from which the time left is estimated.
#[derive(Debug)]
pub(super) struct TimeEstimate<'a, C> {
    pub(super) experiment: &'a Experiment<C>,
    pub(super) costs: &'a Costs,
    pub(super) trial: &'a Trial<C>,
    /// Time since the run began.
    pub(super) running: Nanos,
    /// Runs of earlier sessions.
    pub(super) earlier: &'a PreviousRuns,
    /// Expected total of timed rounds by the stopping rule: minimum and maximum.
    pub(super) rounds: RangeInclusive<usize>,
    /// Cells that will be traced after this run.
    pub(super) traces: &'a [Cell],
    /// Remainder of the time limit for the study; none without a limit.
    pub(super) budget: Option<Nanos>,
}

impl<C: InCell> TimeEstimate<'_, C> {
    /// Time until the end: minimum and maximum. None before the first run has ended.
    pub(super) fn time_left(&self) -> Option<RangeInclusive<Nanos>> {
        let cell = self.trial.cell.cell();
        let traces = self.costs.traced_runs(self.traces)?;
        let (run, rest) = match self.trial.phase {
            Phase::Traced => (self.costs.traced_runs([&cell])?, Nanos::ZERO),
            _ => (self.costs.run(&cell)?, self.cost_of_remaining_round(&cell)?),
        };
        let certain = run.since(self.running) + rest + traces;
        // The first round may hold more cells than the others.
        let next = if self.trial.phase == Phase::Timed { self.trial.round + 1 } else { 0 };
        let round = self.costs.runs(&self.cells(next))?;
        let made = self.cost_of_earlier_runs(next)?;
        let with_rounds =
            |rounds: usize| certain + round.times(self.further_rounds(rounds, round, certain)).since(made);
        Some(with_rounds(*self.rounds.start())..=with_rounds(*self.rounds.end()))
    }

    fn cells(&self, round: u32) -> Vec<Cell> {
        self.experiment.cells_of_round(round).into_iter().map(InCell::cell).collect()
    }

    /// Expected time of the remaining runs of this round, after that of `cell`.
    fn cost_of_remaining_round(&self, cell: &Cell) -> Option<Nanos> {
        let cells = self.cells(self.trial.round);
        let stream = if self.trial.phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let order = round_order(self.experiment.schedule.seed, stream, self.trial.round, cells.len());
        let (phase, round) = (self.trial.phase, self.trial.round);
        let to_come = order.iter().map(|at| &cells[*at]).skip_while(|other| *other != cell).skip(1);
        self.costs.runs(to_come.filter(|cell| !self.earlier.contains(phase, round, cell)))
    }

    /// Expected time of the runs that earlier sessions made in the timed rounds from `round` on.
    fn cost_of_earlier_runs(&self, round: u32) -> Option<Nanos> {
        let rounds = round..self.experiment.schedule.stop.max_runs;
        let made = rounds.flat_map(|round| {
            let cells = self.cells(round).into_iter();
            cells.filter(move |cell| self.earlier.contains(Phase::Timed, round, cell))
        });
        self.costs.runs(&made.collect::<Vec<_>>())
    }

    /// Number of rounds after this one if the stopping rule takes `rounds` timed ones, limited by
    /// the time left.
    fn further_rounds(&self, rounds: usize, round: Nanos, certain: Nanos) -> usize {
        let made = self.trial.round as usize + 1;
        let further = match self.trial.phase {
            Phase::Warmup => (self.experiment.schedule.warmup as usize).saturating_sub(made) + rounds,
            Phase::Timed => rounds.saturating_sub(made),
            Phase::Traced => 0,
        };
        let fitting =
            self.budget.filter(|_| round > Nanos::ZERO).map(|budget| budget.since(certain).0 / round.0);
        further.min(fitting.map_or(usize::MAX, |fitting| fitting as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::{Plan, Point};
    use morecores_testkit::{plan, point};

    fn cells(points: &[Point]) -> Vec<Cell> {
        points.iter().map(InCell::cell).collect()
    }

    /// Costs of a study with runs of 20 s on 1 CPU and 10 s on 2.
    fn costs() -> Costs {
        let mut costs = Costs::default();
        costs.add(Phase::Timed, &point(1).cell(), Nanos::from_millis(20_000));
        costs.add(Phase::Timed, &point(2).cell(), Nanos::from_millis(10_000));
        costs
    }

    /// Seconds left at the start of the first run of a round: minimum and maximum.
    fn seconds_left(
        phase: Phase,
        round: u32,
        rounds: RangeInclusive<usize>,
        traces: &[Point],
        budget: Option<u64>,
    ) -> [f64; 2] {
        let plan = Plan { warmup: 1, ..plan(vec![point(1), point(2)]) };
        let stream = if phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let first = round_order(plan.seed, stream, round, 2)[0];
        let trial = Trial { index: 0, round, phase, cell: plan.points[first].clone() };
        let budget = budget.map(|seconds| Nanos::from_millis(seconds * 1000));
        let (costs, running, traces) = (costs(), Nanos::ZERO, &cells(traces)[..]);
        let experiment = &plan.experiment();
        let earlier = &PreviousRuns::default();
        let estimate = TimeEstimate {
            experiment,
            earlier,
            costs: &costs,
            trial: &trial,
            running,
            rounds,
            traces,
            budget,
        };
        let left = estimate.time_left().unwrap();
        [left.start(), left.end()].map(|time| time.as_secs_f64())
    }

    #[test]
    fn remaining_rounds_and_traces_are_counted() {
        assert_eq!(seconds_left(Phase::Timed, 1, 6..=9, &[], None), [150.0, 240.0]);
        assert_eq!(seconds_left(Phase::Warmup, 0, 6..=6, &[], None), [210.0; 2]);
        let traces = [point(1), point(2)];
        assert_eq!(
            seconds_left(Phase::Timed, 5, 6..=6, &traces, None),
            [66.0; 2],
            "traced runs take a fifth longer"
        );
    }

    #[test]
    fn only_rounds_within_the_time_limit_are_expected() {
        // This round takes 30 s and the traces take 36 s. The remaining 84 s suffice for two
        // rounds.
        let traces = [point(1), point(2)];
        assert_eq!(seconds_left(Phase::Timed, 1, 6..=30, &traces, Some(150)), [126.0; 2]);
        assert_eq!(seconds_left(Phase::Timed, 1, 3..=30, &traces, Some(150)), [96.0, 126.0]);
    }

    #[test]
    fn the_current_run_counts_with_its_remaining_time() {
        let plan = plan(vec![point(1), point(2)]);
        let of = |phase: Phase, running: u64, traces: &[Point]| {
            let trial = Trial { index: 9, round: 0, phase, cell: point(2) };
            let running = Nanos::from_millis(running);
            let costs = costs();
            TimeEstimate {
                experiment: &plan.experiment(),
                earlier: &PreviousRuns::default(),
                costs: &costs,
                trial: &trial,
                running,
                rounds: 1..=1,
                traces: &cells(traces),
                budget: None,
            }
            .time_left()
            .map(|left| left.end().as_secs_f64())
        };
        assert_eq!(of(Phase::Traced, 2_000, &[point(1)]), Some(10.0 + 24.0));
        assert_eq!(of(Phase::Traced, 99_000, &[]), Some(0.0));
    }

    #[test]
    fn runs_of_earlier_sessions_are_not_expected_again() {
        let plan = Plan {
            stop: morecores_study::Stop { max_runs: 6, ..plan(vec![]).stop },
            ..plan(vec![point(1), point(2)])
        };
        let experiment = plan.experiment();
        // Rounds 1 to 5 are complete except for the runs on 1 CPU in round 5.
        let made = (1..6).flat_map(|round| [1, 2].map(|cpus| (round, cpus))).filter(|made| *made != (5, 1));
        let runs: Vec<morecores_study::Run> = made
            .map(|(round, cpus)| morecores_study::Run {
                round,
                ..morecores_testkit::run(&point(cpus), Nanos(1))
            })
            .collect();
        let earlier = PreviousRuns::new(&experiment, &runs, |_| true);
        let first = round_order(plan.seed, Stream::Timed, 0, 2)[0];
        let trial = Trial { index: 0, round: 0, phase: Phase::Timed, cell: plan.points[first].clone() };
        let (costs, running) = (costs(), Nanos::ZERO);
        let estimate = TimeEstimate {
            experiment: &experiment,
            earlier: &earlier,
            costs: &costs,
            trial: &trial,
            running,
            rounds: 6..=6,
            traces: &[],
            budget: None,
        };
        // Round 0 takes 30 s, and the missing run 20 s.
        assert_eq!(estimate.time_left().unwrap().end().as_secs_f64(), 50.0);
    }
}
