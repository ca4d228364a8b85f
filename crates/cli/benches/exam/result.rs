//! Result of a command in the exam, and the table of all results.

use std::collections::BTreeMap;

use morecores_statistics::quantile;
use morecores_view::{Caveat, Prediction};

use crate::registry::{Half, Program};

/// Prediction of a command beside its truth. Times are in seconds.
pub(crate) struct Examined {
    name: String,
    class: String,
    half: Half,
    /// Time on the largest count that was predicted from.
    base: f64,
    /// Predicted time; `None` if the prediction gives only the band.
    predicted: Option<f64>,
    band: [f64; 2],
    truth: f64,
    /// Whether its parts share memory or the kernel in a way that the smaller counts do not show.
    shares: bool,
}

impl Examined {
    /// Result at the last point of a prediction; `None` without a point.
    pub(crate) fn from_prediction(
        program: &Program,
        found: &Prediction,
        base: f64,
        truth: f64,
    ) -> Option<Self> {
        let point = found.points.last()?;
        let (name, class, half) = (program.name.clone(), program.class.clone(), program.half());
        Some(Self {
            name,
            class,
            half,
            base,
            predicted: point.elapsed_s,
            band: point.elapsed_band90_s?,
            truth,
            shares: found.caveats.iter().any(is_sharing),
        })
    }

    fn error(&self) -> Option<f64> {
        self.predicted.map(|predicted| predicted / self.truth - 1.0)
    }

    fn covers(&self) -> bool {
        self.band[0] <= self.truth && self.truth <= self.band[1]
    }

    /// Distance of the truth from the prediction, divided by the distance of the band's end on the
    /// same side; both are differences of logarithms.
    fn distance(&self) -> f64 {
        let middle = self.predicted.unwrap_or((self.band[0] * self.band[1]).sqrt());
        let end = self.band[usize::from(self.truth > middle)];
        (self.truth / middle).ln() / (end / middle).ln()
    }

    /// Width of the band, as a share of its geometric middle.
    fn width(&self) -> f64 {
        (self.band[1] - self.band[0]) / (self.band[1] * self.band[0]).sqrt()
    }

    /// Line with the speedups over the largest count that was predicted from.
    pub(crate) fn render_line(&self) -> String {
        let speedup = |time: f64| format!("{:.2}", self.base / time);
        format!(
            "{:7} {:28} {:12} predicted {} ({} to {}), true {}: {}{}",
            format!("{:?}", self.half).to_lowercase(),
            self.name,
            self.class,
            self.predicted.map_or("-".to_owned(), speedup),
            speedup(self.band[1]),
            speedup(self.band[0]),
            speedup(self.truth),
            self.error().map_or("withheld".to_owned(), |error| format!("{:+.1}%", 100.0 * error)),
            if self.covers() { "" } else { ", MISSED" },
        )
    }
}

/// Prints a table in Markdown: a row per class, with both halves beside each other.
pub(crate) fn print_table(results: &[Examined]) {
    let mut classes: BTreeMap<&str, Vec<&Examined>> = BTreeMap::new();
    for result in results {
        classes.entry(&result.class).or_default().push(result);
        classes.entry("~ all").or_default().push(result);
    }
    println!(
        "\n| class | tuning: commands | covered | median error | median width | scoring: commands | covered | median error | median width |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (class, results) in classes {
        let half = |half: Half| {
            let results: Vec<_> = results.iter().filter(|result| result.half == half).collect();
            let covered = results.iter().filter(|result| result.covers()).count();
            let percent = |values: Vec<f64>| {
                quantile(values, 0.5).map_or("-".to_owned(), |value| format!("{:.1}%", 100.0 * value))
            };
            let errors = results.iter().filter_map(|result| result.error()).map(f64::abs).collect();
            let widths = results.iter().map(|result| result.width()).collect();
            format!("{} | {covered} | {} | {}", results.len(), percent(errors), percent(widths))
        };
        println!("| {} | {} | {} |", class.trim_start_matches("~ "), half(Half::Tuning), half(Half::Scoring));
    }
}

/// Class of the commands that no work ends, so that no factor can hold them.
const FIXED_TIME: &str = "fixed time";

const fn is_sharing(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::UnseenSharing)
}

/// Share of the commands that a factor must hold, and the confidence in it.
const HELD_SHARE: f64 = 0.85;
const CONFIDENCE: f64 = 0.9;

/// Place of the tolerance limit among `count` values in ascending order, from 0: the smallest that
/// holds [`HELD_SHARE`] of all such values with [`CONFIDENCE`] (S. S. Wilks, Annals of Mathematical
/// Statistics 12, 1941). `None` for too few values.
fn tolerance_place(count: usize) -> Option<usize> {
    let chance_of = |below: usize| {
        let choices = (0..below).map(|i| (count - i) as f64 / (i + 1) as f64).product::<f64>();
        choices * HELD_SHARE.powi(below as i32) * (1.0 - HELD_SHARE).powi((count - below) as i32)
    };
    (0..count).find(|place| (0..=*place).map(chance_of).sum::<f64>() >= CONFIDENCE)
}

/// Prints the factors that correct the present bands, by the tolerance limits of the tuning half,
/// for the commands with and without unseen sharing.
pub(crate) fn print_calibration(results: &[Examined]) {
    println!();
    for (name, shares) in [("separate", false), ("sharing", true)] {
        let is_used = |result: &&Examined| {
            result.half == Half::Tuning && result.shares == shares && result.class != FIXED_TIME
        };
        let mut distances: Vec<f64> = results.iter().filter(is_used).map(Examined::distance).collect();
        distances.sort_by(f64::total_cmp);
        let factor = tolerance_place(distances.len()).and_then(|place| distances.get(place));
        println!(
            "{name}: {} commands of the tuning half, factor {}",
            distances.len(),
            factor.map_or("unknown: too few commands".to_owned(), |factor| format!("{factor:.2}"))
        );
    }
}
