//! The derived view as JSON: its keys are the public contract of `docs/format.md`.
//!
//! The JSON has the shape of the record; this module adds, omits and rounds nothing.

use morecores_catalogue::PublishedFacts;
use morecores_view::locks::LocksView;
use morecores_view::suite::{SuiteRow, SuiteSummary};
use morecores_view::{Advice, Comparison, Gain, Prediction, View};
use serde::Serialize;

use crate::{BenchmarkResult, suite_summary};

/// Writes the view as JSON for people and programs, indented, with a newline at the end.
///
/// # Errors
///
/// Fails only if the key of a map is not a text, which does not happen for a view computed from a
/// study.
pub fn view_json(view: &View) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(view)?;
    text.push('\n');
    Ok(text)
}

/// Writes a prediction as JSON: the value under `prediction` in the view.
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn prediction_json(prediction: &Prediction) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(prediction)? + "\n")
}

/// Writes the gains as a JSON array.
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn gains_json(gains: &[Gain]) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(gains)? + "\n")
}

/// Writes advice as JSON.
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn advice_json(advice: &Advice) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(advice)? + "\n")
}

/// Writes a comparison as JSON.
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn comparison_json(comparison: &Comparison) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(comparison)? + "\n")
}

/// Writes the view of a study of locks as JSON.
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn locks_json(view: &LocksView) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(view)? + "\n")
}

/// Name of the schema of the suite's JSON.
const SUITE_SCHEMA: &str = "morecores.suite/1";

#[derive(Serialize)]
struct SuiteJson<'a> {
    schema: &'static str,
    benchmarks: Vec<BenchmarkJson<'a>>,
    /// One row for each part, with its speedups then and now.
    summary: Vec<SuiteRow>,
}

#[derive(Serialize)]
struct BenchmarkJson<'a> {
    name: &'static str,
    title: &'static str,
    parts: Vec<PartJson<'a>>,
}

#[derive(Serialize)]
struct PartJson<'a> {
    study: &'static str,
    what: &'static str,
    /// Prefixes of the ids of the published rows.
    published: &'static [&'static str],
    view: Option<&'a View>,
    /// Reason why there is no view.
    missing: Option<&'a str>,
}

/// Writes the benchmarks with the views of their studies as JSON, in the format of [`view_json`].
///
/// # Errors
///
/// Fails under the conditions of [`view_json`].
pub fn suite_json(
    results: &[BenchmarkResult<'_>],
    published: &PublishedFacts,
) -> Result<String, serde_json::Error> {
    let benchmarks = results.iter().map(|result| BenchmarkJson {
        name: result.benchmark.name,
        title: result.benchmark.title,
        parts: result
            .benchmark
            .parts
            .iter()
            .zip(&result.studies)
            .map(|(part, study)| PartJson {
                study: part.study,
                what: part.what,
                published: part.published,
                view: study.as_ref().ok().copied(),
                missing: study.as_ref().err().map(String::as_str),
            })
            .collect(),
    });
    let SuiteSummary { rows, .. } = suite_summary(results, published);
    let suite = SuiteJson { schema: SUITE_SCHEMA, benchmarks: benchmarks.collect(), summary: rows };
    let mut text = serde_json::to_string_pretty(&suite)?;
    text.push('\n');
    Ok(text)
}
