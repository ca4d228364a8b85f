//! Rounds of a study of a command: the rule of its plan, and the rounds behind the figures.
//!
//! Which rounds count depends on the record of the disturbance alone, never on a measured value.

use std::borrow::Cow;
use std::collections::BTreeSet;

use morecores_statistics::{MIN_RUNS, OnDisturbance, Question, RoundRule, Tuning};
use morecores_study::{Goal, Phase, Plan, Point, RunRecord, Study};

use crate::sample::Sample;
use crate::verdict::DEFAULT_WORTH;

/// Returns the rule that decides after each round of this plan whether the sweep ends.
pub fn round_rule(plan: &Plan) -> RoundRule {
    if let Some(tuning) = tuning(plan) {
        let alone = || (0..plan.points.len()).collect();
        return RoundRule::search(n_groups(plan).unwrap_or_else(alone), tuning);
    }
    let question = match n_groups(plan).or_else(|| quota_groups(plan)) {
        Some(groups) => Question::best_of_groups(groups, plan.better()),
        None => speedup_question(plan),
    };
    let on_disturbance = if plan.keep_disturbed { OnDisturbance::Count } else { OnDisturbance::Repeat };
    RoundRule::new(question, &plan.stop, on_disturbance)
}

/// Difference of two values of `{n}`, as a share, below which a search takes them for equally good,
/// unless the plan has a precision. A choice.
const TOLERANCE: f64 = 0.02;

/// Returns the rule of a plan that searches for the best value of `{n}`.
pub(crate) fn tuning(plan: &Plan) -> Option<Tuning> {
    let tolerance = plan.stop.precision.unwrap_or(TOLERANCE);
    let max_rounds = plan.stop.max_runs as usize;
    (plan.goal == Goal::Tune).then(|| Tuning { better: plan.better(), tolerance, max_rounds })
}

/// Returns the first point with the CPU count and the further axes of each, if some of these groups
/// has several values of `{n}`.
pub(crate) fn n_groups(plan: &Plan) -> Option<Vec<usize>> {
    let points = &plan.points;
    let first = |point: &Point| points.iter().position(|p| p.cpus == point.cpus && p.axes == point.axes);
    let groups: Vec<usize> = points.iter().filter_map(first).collect();
    groups.iter().enumerate().any(|(place, group)| place != *group).then_some(groups)
}

/// Returns the first point with the CPU count and the value of `{n}` of each, if some of these
/// groups has several quotas.
fn quota_groups(plan: &Plan) -> Option<Vec<usize>> {
    let points = &plan.points;
    let first = |point: &Point| points.iter().position(|p| p.cpus == point.cpus && p.n == point.n);
    let groups: Vec<usize> = points.iter().filter_map(first).collect();
    let several = |(place, group): (usize, &usize)| points[place].quota() != points[*group].quota();
    groups.iter().enumerate().any(several).then_some(groups)
}

fn speedup_question(plan: &Plan) -> Question {
    let work = plan.points.iter().map(|point| plan.scaling.work(point.n)).collect();
    let question = Question::speedups(plan.experiment().base_positions(), plan.better()).with_work(work);
    match plan.goal {
        Goal::Precision | Goal::Tune => question,
        Goal::Answer => {
            let cpus = plan.points.iter().map(|point| point.cpus).collect();
            question.with_worth(plan.worth.unwrap_or(DEFAULT_WORTH), cpus)
        }
    }
}

/// Returns the timed rounds in which others took too much CPU time.
pub(crate) fn disturbed_rounds(study: &Study) -> BTreeSet<u32> {
    let disturbed = study.runs.iter().filter(|run| run.phase == Phase::Timed && run.is_disturbed());
    disturbed.map(|run| run.round).collect()
}

/// Returns the study without the timed runs of its disturbed rounds. Returns the study as it is if
/// no round was disturbed, if the plan counts disturbed rounds, or if the other rounds are too few
/// for an interval.
pub(crate) fn without_disturbed_rounds(study: &Study) -> Cow<'_, Study> {
    let plan = &study.header.plan;
    let disturbed = disturbed_rounds(study);
    if plan.keep_disturbed || plan.goal == Goal::Tune || disturbed.is_empty() {
        return Cow::Borrowed(study);
    }
    let mut quiet = study.clone();
    quiet.runs.retain(|run| run.phase != Phase::Timed || !disturbed.contains(&run.round));
    let measured = |study: &Study| -> Vec<usize> {
        plan.points.iter().map(|point| Sample::new(study, point).runs.len()).collect()
    };
    let has_intervals =
        measured(study).into_iter().zip(measured(&quiet)).all(|(all, quiet)| all == 0 || quiet >= MIN_RUNS);
    if has_intervals { Cow::Owned(quiet) } else { Cow::Borrowed(study) }
}
