//! Accuracy of predictions: one outcome per prediction, and a summary line. The steps of the corpus
//! are here for both tuning and scoring.
//!
//! A test that uses this module also includes the modules `corpus` and `ratio_score`.
#![allow(dead_code, clippy::print_stdout, reason = "a part is used by each, and all of them print")]

use std::ops::Range;

use morecores_explain::trace::Timeline;
use morecores_predict::forecast::{Evidence, MeasuredPoint, TracedProgram, forecast};
use morecores_predict::models::{Model, Point, Usl};
use morecores_study::CpuKind;
use morecores_view::{PredictedPoint, Prediction};
use rayon::prelude::*;

use crate::corpus::{
    Feature, Program, Size, TraceDetail, corpus, generate_varied_program, median_times, trace, truth,
};
use crate::ratio_score::{RATIOS, RatioOutcome};

// One program after the other: the replays of a prediction are parallel, and a thread that waits
// for them would begin further programs, with all their traces in memory.

/// Prediction with its true value.
pub(crate) struct Outcome {
    pub(crate) label: String,
    /// Predicted elapsed time, in any unit; `None` after an abstention.
    predicted: Option<f64>,
    pub(crate) band: [f64; 2],
    truth: f64,
}

impl Outcome {
    /// Outcome at the last point of a prediction; `None` without a point.
    pub(crate) fn from_prediction(label: String, found: &Prediction, truth: f64) -> Option<Self> {
        let point = found.points.last()?;
        Some(Self { label, predicted: point.elapsed_s, band: point.elapsed_band90_s?, truth })
    }

    pub(crate) fn error(&self) -> Option<f64> {
        self.predicted.map(|predicted| predicted / self.truth - 1.0)
    }

    pub(crate) fn covers(&self) -> bool {
        self.band[0] <= self.truth && self.truth <= self.band[1]
    }

    fn width(&self) -> f64 {
        (self.band[1] - self.band[0]) / (self.band[1] * self.band[0]).sqrt()
    }

    /// Text of the outcome: the error, and whether the band covers the truth.
    pub(crate) fn render_line(&self) -> String {
        let error = self.error().map_or("withheld".to_owned(), |error| format!("{:+.1}%", 100.0 * error));
        let covers = if self.covers() { "covered" } else { "missed" };
        format!("{error} {covers}, width {:.0}%: {}", 100.0 * self.width(), self.label)
    }
}

/// Quantile of sorted values, as a percentage.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    match sorted {
        [] => f64::NAN,
        _ => 100.0 * sorted[((sorted.len() - 1) as f64 * share).round() as usize],
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Targets for predictions, in percent.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Largest median error.
    pub(crate) median: f64,
    /// Largest 90th percentile of the errors.
    pub(crate) p90: f64,
    /// Smallest share of the bands that cover the truth.
    pub(crate) covered: f64,
    /// Largest median width of the bands.
    pub(crate) width: f64,
}

/// Errors and bands of many predictions, in percent.
struct Score {
    predicted: usize,
    abstained: usize,
    median: f64,
    p90: f64,
    worst: f64,
    covered: f64,
    width: f64,
}

impl Score {
    fn from_outcomes(outcomes: &[Outcome]) -> Self {
        let errors = sorted(outcomes.iter().filter_map(Outcome::error).map(f64::abs));
        let covered = outcomes.iter().filter(|outcome| outcome.covers()).count();
        Self {
            predicted: errors.len(),
            abstained: outcomes.len() - errors.len(),
            median: percentile(&errors, 0.5),
            p90: percentile(&errors, 0.9),
            worst: percentile(&errors, 1.0),
            covered: 100.0 * covered as f64 / outcomes.len() as f64,
            width: percentile(&sorted(outcomes.iter().map(Outcome::width)), 0.5),
        }
    }

    fn meets(&self, target: Target) -> bool {
        self.median <= target.median
            && self.p90 <= target.p90
            && self.covered >= target.covered
            && self.width <= target.width
    }
}

/// Prints the errors and bands of `outcomes`. Returns whether they meet the target, if there is
/// one.
pub(crate) fn print_score(title: &str, outcomes: &[Outcome], target: Option<Target>) -> bool {
    let score = Score::from_outcomes(outcomes);
    let meets_target = target.is_none_or(|target| score.meets(target));
    let wanted = target.map_or("no target".to_owned(), |Target { median, p90, covered, width }| {
        let verdict = if meets_target { "kept" } else { "MISSED" };
        let width = if width.is_finite() { format!(", width {width:.0}%") } else { String::new() };
        format!("target {median:.0}%, {p90:.0}%, {covered:.0}%{width}: {verdict}")
    });
    println!(
        "{title}: {} predicted, {} abstained; error median {:.1}%, 90th percentile {:.1}%, worst {:.1}%; bands cover {:.0}%, median \
         width {:.0}% ({wanted})",
        score.predicted, score.abstained, score.median, score.p90, score.worst, score.covered, score.width
    );
    meets_target
}

/// Measured counts, predicted count, and target of each step. There is no target for the width: at
/// four times the largest count, the chance of a knee decides it.
const STEPS: [(&[u32], u32, Option<Target>); 3] = [
    (&[1], 2, None),
    (&[1, 2], 8, Some(Target { median: 5.0, p90: 12.0, covered: 88.0, width: f64::INFINITY })),
    (&[1, 2, 4], 16, Some(Target { median: 8.0, p90: 15.0, covered: 88.0, width: f64::INFINITY })),
];

/// Predicts all programs of these seeds, and prints every outcome with `each`. Returns whether all
/// targets are met.
pub(crate) fn score_corpus(seeds: Range<u64>, print_each: bool) -> bool {
    let programs: Vec<_> = corpus(seeds).collect();
    let mut meets_target = true;
    for (from, to, target) in STEPS {
        let outcomes: Vec<(Outcome, Option<f64>)> =
            programs.iter().filter_map(|program| score_program(program, from, to)).collect();
        let (outcomes, laws): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
        for outcome in outcomes.iter().filter(|_| print_each) {
            println!("{to}: {}", outcome.render_line());
        }
        meets_target &=
            print_score(&format!("corpus, 1-{} to {to} CPUs", from[from.len() - 1]), &outcomes, target);
        let laws = sorted(laws.into_iter().flatten());
        if !laws.is_empty() {
            let (median, high) = (percentile(&laws, 0.5), percentile(&laws, 0.9));
            println!(
                "  beside it, the universal scalability law: median {median:.1}%, 90th percentile {high:.1}%"
            );
        }
    }
    meets_target
}

/// Noise seed of the traced runs.
const SEED: u64 = 99;

/// Evidence of the counts `from`, each measured and traced, with the traces that a prediction of
/// the counts `targets` needs.
fn measure(program: &Program, from: &[u32], targets: &[u32]) -> Evidence {
    let largest = from[from.len() - 1];
    let trace_program = |(cpus, n): (u32, u32)| {
        let traced = trace(program, Size { cpus, n }, SEED, TraceDetail::Exact);
        TracedProgram::from_timeline(&Timeline::new(&traced.header, &traced.events), cpus, n)
    };
    let point = |&cpus: &u32| {
        let (elapsed, work) = median_times(program, cpus);
        let (elapsed, work) = (elapsed.as_secs_f64(), Some(work.as_secs_f64()));
        let (error, speedup_error, deviation) = (0.005, 0.007, 0.01);
        MeasuredPoint { cpus, elapsed, error, speedup_error, deviation, work, kernel: None }
    };
    // The traces are those of `run --predict`: each count on its own, the targets on the largest
    // count, and the targets and the largest count on one CPU.
    let mut sizes: Vec<(u32, u32)> = from.iter().map(|cpus| (*cpus, *cpus)).collect();
    sizes.extend(targets.iter().flat_map(|to| [(largest, *to), (1, *to)]));
    sizes.push((1, largest));
    sizes.sort_unstable();
    sizes.dedup();
    let cpu_kinds = program.capacity.cpu_kinds();
    let is_sibling = |cpus: u32| cpu_kinds.get(cpus as usize - 1) == Some(&CpuKind::SmtSibling);
    Evidence {
        points: from.par_iter().map(point).collect(),
        programs: sizes.into_par_iter().filter_map(trace_program).collect(),
        receives_n: true,
        is_time: true,
        mixed_from: from.iter().copied().find(|cpus| is_sibling(*cpus)),
        cpu_kinds,
        ..Evidence::default()
    }
}

/// Outcome of a program, and the error of the universal scalability law.
fn score_program(program: &Program, from: &[u32], to: u32) -> Option<(Outcome, Option<f64>)> {
    let evidence = measure(program, from, &[to]);
    let known: Vec<Point> =
        evidence.points.iter().map(|point| Point::new(point.cpus, point.elapsed)).collect();
    let found = forecast(&evidence, &[to])?;
    let outcome = Outcome::from_prediction(program.to_string(), &found, truth(program, to).as_secs_f64())?;
    let law = Usl::fit(&known).filter(|_| from.len() > 1);
    let law = law.map(|law| (law.elapsed(to) / outcome.truth - 1.0).abs());
    Some((outcome, law))
}

/// Measured counts of a varied program.
const COUNTS: [&[u32]; 4] = [&[1], &[1, 2], &[1, 2, 4], &[1, 2, 4, 8]];

/// Predicts the varied programs of these seeds at [`RATIOS`] times their largest count.
pub(crate) fn predict_varied_programs(seeds: Range<u64>) -> Vec<RatioOutcome> {
    seeds.flat_map(predict_varied_program).collect()
}

fn predict_varied_program(seed: u64) -> Vec<RatioOutcome> {
    let program = generate_varied_program(seed);
    let from = COUNTS[(seed % COUNTS.len() as u64) as usize];
    let largest = from[from.len() - 1];
    // A machine with second hardware threads has a known number of CPUs.
    let most = program.capacity.cpus().unwrap_or(u32::MAX);
    let targets: Vec<u32> =
        RATIOS.iter().map(|ratio| ratio * largest).filter(|target| *target <= most).collect();
    if targets.is_empty() {
        return Vec::new();
    }
    let Some(found) = forecast(&measure(&program, from, &targets), &targets) else { return Vec::new() };
    let features: Vec<&'static str> = program.features().into_iter().map(Feature::name).collect();
    let outcome = |point: &PredictedPoint| RatioOutcome {
        features: features.clone(),
        label: format!("1-{largest} to {}: {program}", point.cpus),
        ..RatioOutcome::from_point(point, largest, truth(&program, point.cpus).as_secs_f64())
    };
    found.points.iter().map(outcome).collect()
}
