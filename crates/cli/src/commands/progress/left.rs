//! Estimate of the time that a study will still take.
//!
//! The functions are pure. The caller supplies the clock, the cost of runs and the number of
//! rounds.

use std::ops::RangeInclusive;

use morecores_measure::budget::Costs;
use morecores_measure::executor::Trial;
use morecores_measure::schedule::{Stream, round_order};
use morecores_study::{Nanos, Phase, Plan, Point};

/// Facts known during a run from which the time left is estimated.
#[derive(Debug)]
pub(super) struct Outlook<'a> {
    pub(super) plan: &'a Plan,
    pub(super) costs: &'a Costs,
    pub(super) trial: &'a Trial,
    /// Time since the run began.
    pub(super) running: Nanos,
    /// Expected total of timed rounds by the stopping rule: minimum and maximum.
    pub(super) rounds: RangeInclusive<usize>,
    /// Points that will be traced after this run.
    pub(super) traces: &'a [Point],
    /// Remainder of the time limit for the study; none without a limit.
    pub(super) budget: Option<Nanos>,
}

impl Outlook<'_> {
    /// Time until the end: minimum and maximum. None before the first run has ended.
    pub(super) fn time_left(&self) -> Option<RangeInclusive<Nanos>> {
        let point = &self.trial.point;
        let traces = self.costs.traced_runs(self.traces)?;
        let (run, rest) = match self.trial.phase {
            Phase::Traced => (self.costs.traced_runs([point])?, Nanos::ZERO),
            _ => (self.costs.run(point.cpus)?, self.rest_of_round()?),
        };
        let certain = run.since(self.running) + rest + traces;
        let round = self.costs.runs(&self.plan.points)?;
        let with_rounds = |rounds: usize| certain + round.times(self.further_rounds(rounds, round, certain));
        Some(with_rounds(*self.rounds.start())..=with_rounds(*self.rounds.end()))
    }

    /// Expected time of the remaining runs of this round.
    fn rest_of_round(&self) -> Option<Nanos> {
        let points = &self.plan.points;
        let stream = if self.trial.phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let order = round_order(self.plan.seed, stream, self.trial.round, points.len());
        let is_this = |at: &&usize| points[**at] == self.trial.point;
        let to_come = order.iter().skip_while(|at| !is_this(at)).skip(1);
        self.costs.runs(to_come.map(|at| &points[*at]))
    }

    /// Number of rounds after this one if the stopping rule takes `rounds` timed ones, limited by
    /// the time left.
    fn further_rounds(&self, rounds: usize, round: Nanos, certain: Nanos) -> usize {
        let made = self.trial.round as usize + 1;
        let further = match self.trial.phase {
            Phase::Warmup => (self.plan.warmup as usize).saturating_sub(made) + rounds,
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
    use morecores_testkit::{plan, point};

    /// Costs of a study with runs of 20 s on 1 CPU and 10 s on 2.
    fn costs() -> Costs {
        let mut costs = Costs::default();
        costs.add(Phase::Timed, 1, Nanos::from_millis(20_000));
        costs.add(Phase::Timed, 2, Nanos::from_millis(10_000));
        costs
    }

    /// Seconds left at the start of the first run of a round: minimum and maximum.
    fn left(
        phase: Phase,
        round: u32,
        rounds: RangeInclusive<usize>,
        traces: &[Point],
        budget: Option<u64>,
    ) -> [f64; 2] {
        let plan = Plan { warmup: 1, ..plan(vec![point(1), point(2)]) };
        let stream = if phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let first = round_order(plan.seed, stream, round, 2)[0];
        let trial = Trial { index: 0, round, phase, point: plan.points[first].clone() };
        let budget = budget.map(|seconds| Nanos::from_millis(seconds * 1000));
        let (costs, running) = (costs(), Nanos::ZERO);
        let outlook = Outlook { plan: &plan, costs: &costs, trial: &trial, running, rounds, traces, budget };
        let left = outlook.time_left().unwrap();
        [left.start(), left.end()].map(|time| time.as_secs_f64())
    }

    #[test]
    fn rounds_and_traces_that_are_to_come_are_counted() {
        assert_eq!(left(Phase::Timed, 1, 6..=9, &[], None), [150.0, 240.0]);
        assert_eq!(left(Phase::Warmup, 0, 6..=6, &[], None), [210.0; 2]);
        let traces = [point(1), point(2)];
        assert_eq!(left(Phase::Timed, 5, 6..=6, &traces, None), [66.0; 2], "traced runs take a fifth longer");
    }

    #[test]
    fn only_as_many_rounds_as_there_is_time_for_are_expected() {
        // This round takes 30 s and the traces take 36 s. The remaining 84 s suffice for two
        // rounds.
        let traces = [point(1), point(2)];
        assert_eq!(left(Phase::Timed, 1, 6..=30, &traces, Some(150)), [126.0; 2]);
        assert_eq!(left(Phase::Timed, 1, 3..=30, &traces, Some(150)), [96.0, 126.0]);
    }

    #[test]
    fn a_run_that_is_going_on_counts_with_what_is_left_of_it() {
        let plan = plan(vec![point(1), point(2)]);
        let of = |phase: Phase, running: u64, traces: &[Point]| {
            let trial = Trial { index: 9, round: 0, phase, point: point(2) };
            let running = Nanos::from_millis(running);
            let costs = costs();
            Outlook {
                plan: &plan,
                costs: &costs,
                trial: &trial,
                running,
                rounds: 1..=1,
                traces,
                budget: None,
            }
            .time_left()
            .map(|left| left.end().as_secs_f64())
        };
        assert_eq!(of(Phase::Traced, 2_000, &[point(1)]), Some(10.0 + 24.0));
        assert_eq!(of(Phase::Traced, 99_000, &[]), Some(0.0));
    }
}
