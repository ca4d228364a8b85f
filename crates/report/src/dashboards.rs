//! A study in the formats of dashboards that follow figures over time: Bencher, the GitHub action
//! `github-action-benchmark`, and OpenMetrics.
//!
//! Each CPU count is one benchmark. The figures are those of the view, with intervals where the
//! format has them. Nothing here estimates.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicU64;

use morecores_study::Better;
use morecores_view::{Estimate, PointView, View};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;

use crate::command::display_command_with_variables;
use crate::format::point_name;

const NANOSECONDS_PER_SECOND: f64 = 1e9;

/// Measure of a benchmark in the Bencher Metric Format
/// (<https://bencher.dev/docs/reference/bencher-metric-format/>).
#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Benchmark of github-action-benchmark's tools `customSmallerIsBetter` and `customBiggerIsBetter`
/// (<https://github.com/benchmark-action/github-action-benchmark>).
#[derive(Serialize)]
struct GithubBenchmark {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// JSON in the Bencher Metric Format. `latency` is the elapsed time in nanoseconds, the unit of
/// Bencher's own measure of this name; `speedup` is the speedup over the smallest count; a metric
/// that the command printed is the measure `metric`.
///
/// # Errors
///
/// Fails only if a figure cannot be written as JSON, which does not happen for a study read from a
/// directory.
pub fn bencher_json(view: &View) -> Result<String, serde_json::Error> {
    let metric = |Estimate { value, ci95 }: Estimate, factor: f64| BencherMetric {
        value: value * factor,
        lower_value: ci95.map(|[low, _]| low * factor),
        upper_value: ci95.map(|[_, high]| high * factor),
    };
    let measures = |point: &PointView| {
        let mut measures = BTreeMap::new();
        measures.insert("latency", metric(elapsed(point), NANOSECONDS_PER_SECOND));
        if point.speedup.value.is_finite() {
            measures.insert("speedup", metric(point.speedup, 1.0));
        }
        if let Some(printed) = metric_estimate(point) {
            measures.insert("metric", metric(printed, 1.0));
        }
        measures
    };
    let benchmarks: BTreeMap<String, _> =
        view.points.iter().map(|point| (benchmark_name(view, point), measures(point))).collect();
    pretty_json(&benchmarks)
}

/// JSON for github-action-benchmark: the elapsed time of each count in seconds, or the metric that
/// the command printed. For a metric that improves upwards the tool is `customBiggerIsBetter`, else
/// `customSmallerIsBetter`.
///
/// # Errors
///
/// As [`bencher_json`].
pub fn github_benchmark_json(view: &View) -> Result<String, serde_json::Error> {
    let benchmark = |point: &PointView| {
        let (unit, estimate) = match (&point.metric, metric_estimate(point)) {
            (Some(metric), Some(estimate)) => (metric.unit.clone().unwrap_or_default(), estimate),
            _ => ("s".to_owned(), elapsed(point)),
        };
        let Estimate { value, ci95 } = estimate;
        GithubBenchmark {
            name: benchmark_name(view, point),
            unit,
            value,
            range: ci95.map(|[low, high]| format!("{low} to {high}")),
            extra: format!("median of {} runs, 95% interval", point.runs),
        }
    };
    pretty_json(&view.points.iter().map(benchmark).collect::<Vec<_>>())
}

/// Direction in which the figures of [`github_benchmark_json`] improve.
pub fn github_benchmark_direction(view: &View) -> Better {
    let metric = view.points.iter().find_map(|point| point.metric.as_ref());
    metric.map_or(Better::Lower, |metric| metric.better)
}

/// Text in the format of OpenMetrics 1.0 (<https://openmetrics.io>): elapsed time and speedup of
/// each count, each with the ends of its 95% interval as gauges of their own.
///
/// # Errors
///
/// Fails only if memory for the text cannot be written.
pub fn openmetrics(view: &View) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("morecores");
    let elapsed_times = view.points.iter().map(|point| (labels(view, point), elapsed(point)));
    register(&mut registry, "elapsed", "Median elapsed time of the command", &Unit::Seconds, elapsed_times);
    // Prometheus names this unit in the singular.
    let ratio = Unit::Other("ratio".to_owned());
    let speedups = view.points.iter().map(|point| (labels(view, point), point.speedup));
    register(&mut registry, "speedup", "Speedup over the smallest CPU count", &ratio, speedups);
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

type Labels = Vec<(String, String)>;

/// Adds the gauges of estimates and of the ends of their intervals.
fn register(
    registry: &mut Registry,
    name: &str,
    meaning: &str,
    unit: &Unit,
    estimates: impl Iterator<Item = (Labels, Estimate)>,
) {
    let [values, lows, highs] = [(); 3].map(|()| Family::<Labels, Gauge<f64, AtomicU64>>::default());
    for (labels, Estimate { value, ci95 }) in estimates.filter(|(_, estimate)| estimate.value.is_finite()) {
        values.get_or_create(&labels).set(value);
        if let Some([low, high]) = ci95 {
            lows.get_or_create(&labels).set(low);
            highs.get_or_create(&labels).set(high);
        }
    }
    registry.register_with_unit(name, meaning, unit.clone(), values);
    for (end, word, family) in [("low", "lower", lows), ("high", "upper", highs)] {
        let meaning = format!("{meaning}, {word} end of the 95% interval");
        registry.register_with_unit(format!("{name}_ci95_{end}"), meaning, unit.clone(), family);
    }
}

fn labels(view: &View, point: &PointView) -> Labels {
    let fixed = [
        ("command", display_command_with_variables(&view.command, &view.plan.env)),
        ("cpus", point.cpus.to_string()),
        ("n", point.n.to_string()),
        ("host", view.host.hostname.clone()),
    ];
    let axes = point.axes.iter().map(|(axis, value)| (axis.clone(), value.to_string()));
    let all = fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(axes);
    all.map(|(name, value)| (name, escape(&value))).collect()
}

/// Value of a label with the escapes of OpenMetrics 1.0, which the encoder leaves to its caller.
fn escape(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// Name of a benchmark, equal in each study of the same command and count.
fn benchmark_name(view: &View, point: &PointView) -> String {
    let command = display_command_with_variables(&view.command, &view.plan.env);
    format!("{command} on {}", point_name(point.cpus, point.n, &point.axes))
}

fn elapsed(point: &PointView) -> Estimate {
    Estimate { value: point.elapsed_s.median, ci95: point.elapsed_s.ci95 }
}

fn metric_estimate(point: &PointView) -> Option<Estimate> {
    point.metric.as_ref().map(|metric| Estimate { value: metric.summary.median, ci95: metric.summary.ci95 })
}

fn pretty_json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escape("sh -c 'echo \"a\\b\"\n'"), r#"sh -c 'echo \"a\\b\"\n'"#);
    }
}
