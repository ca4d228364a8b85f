//! Intermediate results of a running sweep: the answer so far, and the programs that disturb it.
//!
//! The measuring thread only stores; the figures are computed when they are drawn.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use morecores_measure::executor::Outcome;
use morecores_report::{cpus, percent, point_name, ratio};
use morecores_statistics::{Design, QuestionSample, RoundRule, Rounds, speedup, values};
use morecores_study::{
    Cell, Header, InCell, Nanos, OtherProgram, Phase, Plan, Point, RoundValue, Run, RunRecord, Surroundings,
};
use morecores_view::round_rule;

use super::ProgressText;

/// Number of CPUs that other programs must keep busy before the display mentions them. The
/// threshold equals that of the warning about a machine that is not quiet.
const BUSY: f64 = 0.1;

/// Results of the runs so far.
#[derive(Clone, Debug)]
pub(in crate::commands) struct RunningResults {
    plan: Plan,
    rule: RoundRule,
    /// Number of timed rounds begun.
    rounds: u32,
    /// Timed rounds with a disturbed run.
    disturbed: BTreeSet<u32>,
    online: u32,
    points: Vec<Values>,
    /// Surroundings of the last runs, as many as a round has.
    around: VecDeque<Surroundings>,
    /// CPU time of other programs during all runs.
    others: Nanos,
    other_programs: Vec<OtherProgram>,
}

/// Values of one point.
#[derive(Clone, Debug)]
struct Values {
    cell: Cell,
    values: Vec<RoundValue>,
    /// Values of warm-up runs, except the study's first run, which has cold caches.
    warm: Vec<f64>,
}

impl RunningResults {
    pub(in crate::commands) fn new(header: &Header) -> Self {
        let plan = &header.plan;
        let values = |point: &Point| Values { cell: point.cell(), values: vec![], warm: vec![] };
        Self {
            plan: plan.clone(),
            rule: round_rule(plan),
            rounds: 0,
            disturbed: BTreeSet::new(),
            online: header.host.topology.online.len() as u32,
            points: plan.points.iter().map(values).collect(),
            around: VecDeque::new(),
            others: Nanos::ZERO,
            other_programs: Vec::new(),
        }
    }

    /// Counts a finished run.
    pub(in crate::commands) fn count_run(&mut self, run: &Run) {
        if let Some(around) = &run.surroundings {
            self.others += others(around);
            self.around.push_back(around.clone());
            if self.around.len() > self.points.len() {
                self.around.pop_front();
            }
        }
        if run.phase == Phase::Timed {
            self.rounds = self.rounds.max(run.round + 1);
            self.disturbed.extend(run.is_disturbed().then_some(run.round));
        }
        let point = self.points.iter_mut().find(|point| point.cell == run.cell());
        match (point.filter(|_| run.counts(&self.plan)), run.phase) {
            (Some(point), Phase::Timed) => point.values.push(run.round_value()),
            (Some(point), Phase::Warmup) if run.index > 0 => point.warm.push(run.value()),
            _ => {}
        }
    }

    /// Samples for the estimate of the number of rounds, and the number of rounds that were made
    /// and do not count. Before every point has two timed runs, the samples are the values of each
    /// point, with its warm-up runs: two rounds are too few for the spread of their ratios.
    fn samples(&self) -> (Vec<QuestionSample>, usize) {
        if self.points.iter().any(|point| point.values.len() < 2) {
            let all = |point: &Values| [point.warm.clone(), values(&point.values)].concat();
            return (self.points.iter().map(all).map(QuestionSample::without_bound).collect(), 0);
        }
        let samples: Vec<Vec<RoundValue>> = self.points.iter().map(|point| point.values.clone()).collect();
        let rounds = Rounds { made: self.rounds, samples: &samples, disturbed: &self.disturbed };
        (self.rule.samples(&rounds), self.rule.repeated(&rounds) as usize)
    }

    /// Stores the programs that have used the most CPU time so far.
    fn set_other_programs(&mut self, other_programs: &[OtherProgram]) {
        self.other_programs = other_programs.to_vec();
    }
}

impl ProgressText for RunningResults {
    type Cell = Point;
    type Outcome = Outcome;

    fn cell_name(&self, point: &Point) -> String {
        point_name(point.cpus, point.n, &point.axes)
    }

    fn count(&mut self, outcome: &Outcome) -> bool {
        self.count_run(&outcome.run);
        outcome.other_programs.iter().for_each(|other_programs| self.set_other_programs(other_programs));
        outcome.run.counts(&self.plan)
    }

    fn expected_rounds(&self) -> Option<RangeInclusive<usize>> {
        let all = self.plan.stop.max_runs as usize;
        let (samples, repeated) = self.samples();
        let rounds = self.rule.stopping().map_or(all..=all, |rule| rule.expected_rounds(&samples));
        Some(rounds.start() + repeated..=rounds.end() + repeated)
    }

    /// Speedup of the largest CPU count over the smallest: `1.93 times`. None before both have a
    /// run.
    fn headline(&self) -> Option<String> {
        let [base, .., largest] = self.points.as_slice() else { return None };
        let estimate = speedup(&base.values, &largest.values, self.plan.better(), Design::Fixed)?;
        let work = |point: &Point| self.plan.scaling.work(point.n);
        let growth = match self.plan.points.as_slice() {
            [base, .., largest] => work(largest) / work(base),
            _ => 1.0,
        };
        Some(format!("{} times", ratio(estimate.value * growth)))
    }

    /// Precision so far and the goal: `known to 5.1%, goal 3.3%`. None before there are enough runs
    /// for an interval.
    fn precision(&self) -> Option<String> {
        let rule = self.rule.stopping()?;
        let widest = rule.widest(&self.samples().0).filter(|widest| widest.is_finite())?;
        Some(format!("known to {}, goal {}", percent(widest), percent(rule.precision)))
    }

    /// Disturbance during the last runs: `others keep 0.95 of 2 CPUs busy (rustc)`. None below the
    /// threshold.
    fn disturbance(&self) -> Option<String> {
        let sum =
            |what: fn(&Surroundings) -> Nanos| self.around.iter().map(what).sum::<Nanos>().as_secs_f64();
        let busy = sum(others) / sum(|around| around.covers_ns);
        if busy.is_nan() || busy <= BUSY {
            return None;
        }
        let part = self.other_programs.iter().filter(|program| program.is_good_part_of(self.others));
        let names: Vec<&str> = part.map(|program| program.name.as_str()).collect();
        let who = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        Some(format!("others keep {busy:.2} of {} busy{who}", cpus(self.online)))
    }
}

/// CPU time of other programs, on all CPUs.
fn others(around: &Surroundings) -> Nanos {
    (around.busy_allotted_ns + around.busy_elsewhere_ns).since(around.tree_ns + around.own_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::{Better, CpuId, Exit, Metric};
    use morecores_testkit::{header, plan, point, run};

    fn so_far() -> RunningResults {
        let mut header = header(plan(vec![point(1), point(2)]));
        header.host.topology.online = (0..2).map(CpuId).collect();
        RunningResults::new(&header)
    }

    fn timed(cpus: u32, seconds: f64) -> Run {
        run(&point(cpus), Nanos::from_secs_f64(seconds))
    }

    /// Run of 1 s on one CPU that its tree keeps busy, while other programs use `others` seconds.
    fn run_with_others(others: f64) -> Run {
        let [second, others] = [1.0, others].map(Nanos::from_secs_f64);
        let surroundings = Surroundings {
            covers_ns: second,
            steal_ns: Nanos::ZERO,
            throttled_ns: None,
            busy_allotted_ns: second,
            busy_elsewhere_ns: others,
            tree_ns: second,
            own_ns: Nanos::ZERO,
            devices: Vec::new(),
        };
        Run { surroundings: Some(surroundings), ..timed(1, 1.0) }
    }

    fn program(name: &str, seconds: f64) -> OtherProgram {
        OtherProgram { name: name.to_owned(), cpu_ns: Nanos::from_secs_f64(seconds) }
    }

    #[test]
    fn the_answer_appears_once_both_ends_have_a_run() {
        let mut so_far = so_far();
        so_far.count_run(&timed(1, 3.0));
        so_far.count_run(&Run { exit: Exit::Code(1), ..timed(2, 9.0) });
        so_far.count_run(&Run { phase: Phase::Warmup, ..timed(2, 9.0) });
        assert_eq!(so_far.headline(), None);
        [2.0, 1.5, 0.1].into_iter().for_each(|seconds| so_far.count_run(&timed(2, seconds)));
        assert_eq!(so_far.headline().as_deref(), Some("2.00 times"));
        so_far.plan.metric =
            Some(Metric { name: None, regex: "x".to_owned(), unit: None, better: Better::Higher });
        assert_eq!(so_far.headline().as_deref(), Some("0.500 times"));
    }

    #[test]
    fn the_precision_appears_with_its_goal_from_the_first_look_on() {
        let mut so_far = so_far();
        for round in 0..6 {
            assert_eq!(so_far.precision(), None);
            let base = 3.0 + f64::from(round);
            so_far.count_run(&Run { round, ..timed(1, base) });
            so_far.count_run(&Run { round, ..timed(2, base / if round == 5 { 1.9 } else { 2.0 }) });
        }
        assert_eq!(so_far.precision().as_deref(), Some("known to 2.5%, goal 1.0%"));
    }

    #[test]
    fn a_disturbed_round_is_one_round_more() {
        let mut so_far = so_far();
        for round in 0..3 {
            for cpus in [1, 2] {
                so_far.count_run(&Run { round, ..timed(cpus, 2.0 / f64::from(cpus)) });
            }
        }
        assert_eq!(so_far.expected_rounds(), Some(6..=6));
        let round = 3;
        let mut disturbed = run_with_others(0.0);
        disturbed.surroundings.iter_mut().for_each(|around| around.steal_ns = Nanos::from_millis(500));
        so_far.count_run(&Run { round, ..disturbed });
        so_far.count_run(&Run { round, ..timed(2, 9.0) });
        assert_eq!(so_far.expected_rounds(), Some(7..=7));
    }

    #[test]
    fn disturbing_programs_are_named_during_the_study() {
        let mut so_far = so_far();
        assert_eq!(so_far.disturbance(), None);
        so_far.count_run(&run_with_others(0.95));
        assert_eq!(so_far.disturbance().as_deref(), Some("others keep 0.95 of 2 CPUs busy"));
        so_far.set_other_programs(&[program("rustc", 0.9), program("kdamond.0", 0.06)]);
        assert_eq!(so_far.disturbance().as_deref(), Some("others keep 0.95 of 2 CPUs busy (rustc)"));
        // One round later the disturbance has ended.
        (0..2).for_each(|_| so_far.count_run(&run_with_others(0.01)));
        assert_eq!(so_far.disturbance(), None);
    }
}
