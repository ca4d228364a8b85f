//! Rule of a sweep's rounds: which rounds count, when there are enough of them, and which cells a
//! search leaves out.
//!
//! A round in which others took too much CPU time does not count, and is repeated. Whether a round
//! counts depends on the record of the disturbance alone, never on a measured value: a rule that
//! looked at the values could choose the answer. This module makes no run and keeps no time.

use std::collections::BTreeSet;

use morecores_study::{RoundValue, Stop};

use crate::design::MIN_RUNS;
use crate::question::{Question, QuestionSample};
use crate::stopping::{Decision, StoppingRule};
use crate::tuning::{Tuning, TuningState};

/// Treatment of rounds that others disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisturbance {
    /// Disturbed rounds do not count, and are repeated.
    Repeat,
    /// Disturbed rounds count like all others.
    Count,
}

/// Timed rounds of a sweep so far.
#[derive(Clone, Copy, Debug)]
pub struct Rounds<'a> {
    /// Number of rounds made, disturbed ones included.
    pub made: u32,
    /// Values of the successful runs of each cell, with their rounds.
    pub samples: &'a [Vec<RoundValue>],
    /// Rounds that others disturbed.
    pub disturbed: &'a BTreeSet<u32>,
}

/// Rule of the rounds of one sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRule {
    question: Question,
    /// Rule that can end the sweep early, if the plan has one.
    stopping: Option<StoppingRule>,
    /// Number of counted rounds at which the sweep ends, and largest number of repeated rounds.
    max_runs: u32,
    on_disturbance: OnDisturbance,
    /// Search for the best cell of each group, in place of the question.
    search: Option<Tuning>,
}

impl RoundRule {
    /// Rule of a plan for a question. Where the plan allows too few rounds for an interval, no
    /// round is repeated.
    pub fn new(question: Question, stop: &Stop, on_disturbance: OnDisturbance) -> Self {
        let has_intervals = stop.max_runs as usize >= MIN_RUNS;
        Self {
            question,
            stopping: StoppingRule::from_stop(stop),
            max_runs: stop.max_runs,
            on_disturbance: if has_intervals { on_disturbance } else { OnDisturbance::Count },
            search: None,
        }
    }

    /// Rule of a search for the best cell of each group, as [`Question::best_of_groups`] has them.
    /// Disturbed rounds count: what a round shares cancels.
    pub fn search(groups: Vec<usize>, tuning: Tuning) -> Self {
        Self {
            question: Question::best_of_groups(groups, tuning.better),
            stopping: None,
            max_runs: tuning.max_rounds as u32,
            on_disturbance: OnDisturbance::Count,
            search: Some(tuning),
        }
    }

    /// Positions of the cells that a further round leaves out.
    pub fn left_out(&self, rounds: &Rounds<'_>) -> BTreeSet<usize> {
        let stays = |(group, state): &(Vec<usize>, TuningState)| -> Vec<usize> {
            let goes_on = state.decision == Decision::Continue;
            let survives = |(place, _): &(usize, &usize)| goes_on && state.survivors.contains(place);
            group.iter().enumerate().filter(survives).map(|(_, position)| *position).collect()
        };
        let Some(states) = self.states(rounds) else { return BTreeSet::new() };
        let stay: BTreeSet<usize> = states.iter().flat_map(stays).collect();
        (0..rounds.samples.len()).filter(|position| !stay.contains(position)).collect()
    }

    /// State of the search in each group, with the positions of its cells. `None` without a search.
    fn states(&self, rounds: &Rounds<'_>) -> Option<Vec<(Vec<usize>, TuningState)>> {
        let tuning = self.search?;
        let state = |group: Vec<usize>| {
            let samples: Vec<_> = group.iter().map(|position| rounds.samples[*position].clone()).collect();
            (group, tuning.state(&samples, rounds.made))
        };
        Some(self.question.groups().into_values().map(state).collect())
    }

    /// Decision after a round.
    pub fn decide(&self, rounds: &Rounds<'_>) -> Decision {
        if let Some(states) = self.states(rounds) {
            let has = |decision| states.iter().any(|(_, state)| state.decision == decision);
            let open = [Decision::Continue, Decision::RunsExhausted].into_iter().find(|open| has(*open));
            return open.unwrap_or(Decision::Answered);
        }
        let counted = rounds.made - self.repeated(rounds);
        let stopping = self.stopping.map(|rule| rule.decide(&self.samples(rounds)));
        match stopping {
            Some(Decision::Answered) => Decision::Answered,
            _ if counted >= self.max_runs || rounds.made >= self.max_runs.saturating_mul(2) => {
                Decision::RunsExhausted
            }
            _ => Decision::Continue,
        }
    }

    /// Samples of the question from the rounds that count. A resumed sweep has the values of later
    /// rounds than those made again so far.
    pub fn samples(&self, rounds: &Rounds<'_>) -> Vec<QuestionSample> {
        let last = rounds.samples.iter().flatten().map(|run| run.round + 1).max();
        if self.repeated(&Rounds { made: rounds.made.max(last.unwrap_or(0)), ..*rounds }) == 0 {
            return self.question.samples(rounds.samples);
        }
        let is_quiet = |run: &&RoundValue| !rounds.disturbed.contains(&run.round);
        let quiet = |runs: &Vec<RoundValue>| runs.iter().filter(is_quiet).copied().collect();
        self.question.samples(&rounds.samples.iter().map(quiet).collect::<Vec<_>>())
    }

    /// Number of the rounds made that do not count. All rounds count once the disturbed ones exceed
    /// the quiet ones by half the plan's rounds, but at least by six: on a machine that is hardly
    /// ever quiet, a repetition is in vain.
    pub fn repeated(&self, rounds: &Rounds<'_>) -> u32 {
        let disturbed = rounds.disturbed.range(..rounds.made).count() as u32;
        let quiet = rounds.made - disturbed;
        let is_in_vain = disturbed >= quiet + (self.max_runs / 2).max(MIN_RUNS as u32);
        match self.on_disturbance {
            OnDisturbance::Repeat if !is_in_vain => disturbed,
            _ => 0,
        }
    }

    /// Rule that can end the sweep early; `None` if the plan has only a number of runs.
    pub fn stopping(&self) -> Option<&StoppingRule> {
        self.stopping.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::Better;

    fn rule(max_runs: u32, on_disturbance: OnDisturbance) -> RoundRule {
        let stop = Stop { precision: Some(0.01), min_runs: 6, max_runs, max_time: None, budget: None };
        RoundRule::new(Question::speedups(vec![0, 0], Better::Lower), &stop, on_disturbance)
    }

    /// Decision after `made` rounds with a speedup of 2 in quiet rounds, and of 1 in disturbed
    /// ones.
    fn decide(rule: &RoundRule, made: u32, disturbed: &[u32]) -> Decision {
        let disturbed: BTreeSet<u32> = disturbed.iter().copied().collect();
        let base = |round| if disturbed.contains(&round) { 1.0 } else { 2.0 };
        let [slow, fast] = [true, false].map(|is_base| {
            let value = |round| if is_base { base(round) } else { 1.0 };
            (0..made).map(|round| RoundValue { round, value: value(round) }).collect::<Vec<_>>()
        });
        rule.decide(&Rounds { made, samples: &[slow, fast], disturbed: &disturbed })
    }

    #[test]
    fn a_disturbed_round_does_not_count() {
        let repeating = rule(30, OnDisturbance::Repeat);
        assert_eq!(decide(&repeating, 6, &[]), Decision::Answered);
        assert_eq!(decide(&repeating, 6, &[2]), Decision::Continue);
        assert_eq!(decide(&repeating, 7, &[2]), Decision::Answered);
        assert_eq!(decide(&repeating, 9, &[0, 4, 8]), Decision::Answered);
        let counting = rule(30, OnDisturbance::Count);
        assert_eq!(decide(&counting, 9, &[0, 4, 8]), Decision::Continue, "two speeds");
    }

    /// Of each group the worse cells are left out, and a group whose best is known as a whole.
    #[test]
    fn a_search_leaves_out_the_worse_cells_of_each_group() {
        let tuning = Tuning { better: Better::Lower, tolerance: 0.001, max_rounds: 40 };
        let rule = RoundRule::search(vec![0, 0, 0, 3, 3], tuning);
        let noise = |round: u32, cell: u32| 0.01 * f64::from((round * 5 + cell * 3) % 7) / 7.0;
        let runs = |cell: u32, time: f64| -> Vec<RoundValue> {
            (0..4).map(|round| RoundValue { round, value: time + noise(round, cell) }).collect()
        };
        let samples = [runs(0, 2.0), runs(1, 1.0), runs(2, 1.001), runs(3, 5.0), runs(4, 1.0)];
        let none = BTreeSet::new();
        let rounds = |made| Rounds { made, samples: &samples, disturbed: &none };
        assert_eq!(
            (rule.decide(&rounds(1)), rule.left_out(&rounds(1))),
            (Decision::Continue, BTreeSet::new())
        );
        assert_eq!(rule.decide(&rounds(4)), Decision::Continue);
        assert_eq!(rule.left_out(&rounds(4)), BTreeSet::from([0, 3, 4]));
    }

    #[test]
    fn repeated_rounds_have_a_limit() {
        let few = rule(6, OnDisturbance::Repeat);
        let disturbed: Vec<u32> = (0..12).filter(|round| round % 2 == 0).chain([1]).collect();
        assert_eq!(decide(&few, 11, &disturbed), Decision::Continue);
        assert_eq!(decide(&few, 12, &disturbed), Decision::RunsExhausted, "twice the plan's rounds");
        let all: Vec<u32> = (0..6).collect();
        assert_eq!(decide(&few, 5, &all), Decision::Continue);
        assert_eq!(decide(&few, 6, &all), Decision::Answered, "never quiet: every round counts");
        let passing: Vec<u32> = (0..14).collect();
        assert_eq!(decide(&rule(30, OnDisturbance::Repeat), 14, &passing), Decision::Continue);
        assert_eq!(decide(&rule(30, OnDisturbance::Repeat), 20, &passing), Decision::Answered, "quiet again");
        assert_eq!(decide(&rule(5, OnDisturbance::Repeat), 5, &[0]), Decision::RunsExhausted, "no interval");
    }

    #[test]
    fn a_resumed_sweep_counts_no_later_round_that_was_disturbed() {
        let runs: Vec<RoundValue> = (0..9).map(|round| RoundValue { round, value: 1.0 }).collect();
        let (samples, disturbed) = ([runs.clone(), runs], BTreeSet::from([4, 5, 6]));
        let first = Rounds { made: 1, samples: &samples, disturbed: &disturbed };
        assert_eq!(rule(30, OnDisturbance::Repeat).samples(&first)[0].values.len(), 6);
    }

    /// Checks that the rounds that count are the same for any values.
    #[test]
    fn the_values_do_not_choose_the_rounds() {
        let repeating = rule(30, OnDisturbance::Repeat);
        let disturbed = BTreeSet::from([1, 5]);
        let times = [3.0, 9.0, 1.0, 2.0, 7.0, 4.0, 8.0, 5.0, 6.0];
        for turn in 0..times.len() {
            let mut times = times;
            times.rotate_left(turn);
            let runs: Vec<RoundValue> =
                times.iter().zip(0..).map(|(&value, round)| RoundValue { round, value }).collect();
            let samples = [runs.clone(), runs];
            let rounds = Rounds { made: 9, samples: &samples, disturbed: &disturbed };
            assert_eq!(repeating.repeated(&rounds), 2);
            assert_eq!(repeating.samples(&rounds)[0].values, [1.0; 7]);
        }
    }
}
