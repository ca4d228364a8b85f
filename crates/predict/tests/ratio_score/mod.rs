//! Coverage of bands by the ratio of the predicted count to the largest measured one, and by the
//! features of the programs.
#![allow(dead_code, clippy::print_stdout, reason = "a part is used by each, and all of them print")]

use morecores_statistics::median;
use morecores_view::PredictedPoint;

/// Predicted counts, as multiples of the largest measured count.
pub(crate) const RATIOS: [u32; 3] = [2, 4, 8];

/// Prediction with its truth.
pub(crate) struct RatioOutcome {
    /// Predicted count divided by the largest measured count.
    pub(crate) ratio: u32,
    /// Features of the program and its machine.
    pub(crate) features: Vec<&'static str>,
    /// Program and counts, for the analysis of a wrong prediction.
    pub(crate) label: String,
    /// Predicted elapsed time in seconds; absent if no point is given.
    pub(crate) predicted: Option<f64>,
    /// 90% band of the elapsed time.
    pub(crate) band: [f64; 2],
    /// True elapsed time in seconds.
    pub(crate) truth: f64,
}

impl RatioOutcome {
    /// Outcome of a predicted point with a band of elapsed time.
    pub(crate) fn from_point(point: &PredictedPoint, largest: u32, truth: f64) -> Self {
        Self {
            ratio: point.cpus / largest,
            features: Vec::new(),
            label: String::new(),
            predicted: point.elapsed_s,
            band: point.elapsed_band90_s.expect("a time"),
            truth,
        }
    }

    fn is_slower(&self) -> bool {
        self.truth > self.band[1]
    }

    fn is_faster(&self) -> bool {
        self.truth < self.band[0]
    }

    /// Text of the outcome: the error, the place of the truth, and the program.
    pub(crate) fn render_line(&self) -> String {
        let error = self
            .predicted
            .map_or("no point".to_owned(), |time| format!("{:+.1}%", 100.0 * (time / self.truth - 1.0)));
        let place = match (self.is_slower(), self.is_faster()) {
            (true, _) => "SLOWER",
            (_, true) => "FASTER",
            _ => "covered",
        };
        let [least, most] = self.band.map(|end| end / self.truth);
        format!("{}: {error} {place} {least:.2} to {most:.2}: {}", self.ratio, self.label)
    }
}

/// Figures of some predictions.
struct RatioFigures {
    count: usize,
    covered: f64,
    slower: f64,
    /// Median ratio of the band's ends.
    width: f64,
    points: usize,
    median_error: f64,
    p90_error: f64,
}

impl RatioFigures {
    fn from_outcomes(outcomes: &[&RatioOutcome]) -> Self {
        let count = outcomes.len();
        let share = |is_counted: fn(&RatioOutcome) -> bool| {
            outcomes.iter().filter(|outcome| is_counted(outcome)).count() as f64 / count as f64
        };
        let widths: Vec<f64> = outcomes.iter().map(|outcome| outcome.band[1] / outcome.band[0]).collect();
        let mut errors: Vec<f64> =
            outcomes.iter().filter_map(|found| Some((found.predicted? / found.truth - 1.0).abs())).collect();
        errors.sort_by(f64::total_cmp);
        let p90 = (errors.len().saturating_sub(1) as f64 * 0.9).round() as usize;
        Self {
            count,
            covered: share(|outcome| !outcome.is_slower() && !outcome.is_faster()),
            slower: share(RatioOutcome::is_slower),
            width: median(&widths).unwrap_or(f64::NAN),
            points: errors.len(),
            median_error: median(&errors).unwrap_or(f64::NAN),
            p90_error: errors.get(p90).copied().unwrap_or(f64::NAN),
        }
    }

    fn render(&self) -> String {
        format!(
            "{:3.0}% of {:3} ({:2.0}% slower), ends {:4.2}, {:3} points {:4.1}% {:4.1}%",
            100.0 * self.covered,
            self.count,
            100.0 * self.slower,
            self.width,
            self.points,
            100.0 * self.median_error,
            100.0 * self.p90_error,
        )
    }
}

/// Share of the bands of one ratio that hold the truth.
pub(crate) fn coverage(outcomes: &[RatioOutcome], ratio: u32) -> f64 {
    let of_ratio: Vec<&RatioOutcome> = outcomes.iter().filter(|outcome| outcome.ratio == ratio).collect();
    RatioFigures::from_outcomes(&of_ratio).covered
}

/// Prints a row for each ratio, and for each ratio and feature, with the halves beside each other:
/// coverage, share of truths slower than the band, median ratio of the band's ends, number of
/// points, their median error and its 90th percentile.
pub(crate) fn print_table(title: &str, halves: &[(&str, Vec<RatioOutcome>)]) {
    println!("{title} (target: 85 to 95% covered); the columns are the halves:");
    for (half, outcomes) in halves {
        println!("  {half}: {} predictions", outcomes.len());
    }
    let mut features: Vec<&'static str> =
        halves.iter().flat_map(|(_, outcomes)| outcomes).flat_map(|found| found.features.clone()).collect();
    features.sort_unstable();
    features.dedup();
    for ratio in RATIOS {
        print_row(&format!("{ratio} times the largest count"), halves, |found| found.ratio == ratio);
        for feature in &features {
            print_row(&format!("  {feature}"), halves, |found| {
                found.ratio == ratio && found.features.contains(feature)
            });
        }
    }
}

fn print_row(title: &str, halves: &[(&str, Vec<RatioOutcome>)], is_counted: impl Fn(&RatioOutcome) -> bool) {
    let columns = halves.iter().map(|(_, outcomes)| {
        let counted: Vec<&RatioOutcome> = outcomes.iter().filter(|outcome| is_counted(outcome)).collect();
        RatioFigures::from_outcomes(&counted).render()
    });
    println!("  {title:28} | {}", columns.collect::<Vec<_>>().join(" | "));
}
