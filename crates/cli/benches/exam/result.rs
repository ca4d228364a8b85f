//! Result of a command in the exam, and the table of all results.

use std::collections::BTreeMap;

use morecores_statistics::quantile;
use morecores_view::Prediction;

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
        })
    }

    fn error(&self) -> Option<f64> {
        self.predicted.map(|predicted| predicted / self.truth - 1.0)
    }

    fn covers(&self) -> bool {
        self.band[0] <= self.truth && self.truth <= self.band[1]
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
