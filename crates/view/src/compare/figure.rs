//! Figures of a view by their names: `speedup@2`, `points.elapsed_s.max@4`, `idle_disk@2`.
//!
//! The names are the keys of the view's JSON, which is a public contract. This module knows how a
//! view writes an interval, and nothing else about the meaning of the keys.

use crate::Estimate;
use serde_json::Value;

/// Places that are searched for a name without a path, in this order. Each place is a list whose
/// members have a field `cpus`, and the part of the member that holds the figure.
const PLACES: [(&str, &str); 6] = [
    ("/points", ""),
    ("/stack", "/losses"),
    ("/stack", ""),
    ("/traces", ""),
    ("/traces", "/components"),
    ("/prediction/points", ""),
];

/// Figure of a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    /// Figure of several runs; its interval is none if the runs are too few for one.
    Estimate(Estimate),
    /// Figure for which the view has no interval, however many runs there are.
    WithoutInterval(WhyNoInterval),
}

/// Reason why a figure has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNoInterval {
    /// Smallest value, largest value or mean of the runs.
    ExtremeOrMean,
    /// Figure of one traced run.
    OneTracedRun,
    /// Number, sum or setting.
    NotAMedian,
}

/// Returns the figure `name` at `cpus` CPUs in a view as JSON; none if it does not exist or is not
/// a number.
pub(super) fn find_figure(view: &Value, name: &str, cpus: u32) -> Option<Figure> {
    let (path, key) = name.rsplit_once('.').map_or(("", name), |(path, key)| (path, key));
    PLACES.iter().find_map(|(list, within)| {
        let at = format!("{list}{within}").replace('/', ".");
        let member = member_for_cpus(view.pointer(list)?, cpus)?;
        // `points.elapsed_s.max`, `elapsed_s.max` and `max_rss_bytes` are all found at this place.
        let path = path.strip_prefix(at.trim_start_matches('.')).unwrap_or(path).trim_matches('.');
        let path = if path.is_empty() {
            String::from(*within)
        } else {
            format!("{within}/{}", path.replace('.', "/"))
        };
        let object = member.pointer(&path)?;
        // The intervals of `losses` and `components` are in an object of their own.
        let intervals = member.pointer(&format!("{path}_ci95"));
        [key.to_owned(), format!("{key}_s")].iter().find_map(|key| {
            let interval = intervals.and_then(|intervals| interval_beside(&path, intervals, key));
            let estimate = parse_figure(object, key, interval)?;
            Some(
                estimate
                    .map_or_else(|| Figure::WithoutInterval(missing_interval(list, key)), Figure::Estimate),
            )
        })
    })
}

/// Returns the member for `cpus` CPUs. Of several traces, the trace of the timed runs comes before
/// a trace made for a prediction.
fn member_for_cpus(list: &Value, cpus: u32) -> Option<&Value> {
    let has_count = |member: &&Value| member.get("cpus").and_then(Value::as_u64) == Some(u64::from(cpus));
    let members = || list.as_array().into_iter().flatten().filter(has_count);
    members()
        .find(|m| m.get("overhead").is_none_or(|overhead| !overhead.is_null()))
        .or_else(|| members().next())
}

/// Returns the interval of the component `key` in an object of intervals. Their names have no unit.
/// A null in place of the object of losses means too few runs for the interval of the speedup.
fn interval_beside<'a>(path: &str, intervals: &'a Value, key: &str) -> Option<&'a Value> {
    match path {
        "/losses" if intervals.is_null() => Some(intervals),
        _ => intervals.get(key.strip_suffix("_s").unwrap_or(key)),
    }
}

/// Returns the figure under `key`, with the interval beside it; the inner option is none if the
/// view has no place for an interval of this figure. `interval` is one that stands elsewhere.
fn parse_figure(object: &Value, key: &str, interval: Option<&Value>) -> Option<Option<Estimate>> {
    let value = object.get(key)?;
    let estimate = |value: f64, interval: &Value| Estimate {
        value,
        ci95: serde_json::from_value(interval.clone()).unwrap_or_default(),
    };
    if let Some(number) = value.as_f64() {
        let beside = match key {
            "median" | "value" => "ci95",
            "speedup" if object.get("band90").is_some() => "band90",
            "elapsed_s" if object.get("elapsed_band90_s").is_some() => "elapsed_band90_s",
            _ => &format!("{key}_ci95"),
        };
        return Some(interval.or(object.get(beside)).map(|interval| estimate(number, interval)));
    }
    let number = value.get("median").or_else(|| value.get("value"))?.as_f64()?;
    Some(value.get("ci95").map(|interval| estimate(number, interval)))
}

/// Reason why a figure under `key` in `list` has no interval.
fn missing_interval(list: &str, key: &str) -> WhyNoInterval {
    match (list, key) {
        ("/points", "min" | "max" | "mean") => WhyNoInterval::ExtremeOrMean,
        ("/stack" | "/traces", _) => WhyNoInterval::OneTracedRun,
        _ => WhyNoInterval::NotAMedian,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view() -> Value {
        json!({
            "points": [
                {"cpus": 1, "elapsed_s": {"median": 10.0, "max": 11.0, "ci95": [9.5, 10.5]}, "max_rss_bytes": 4096,
                 "max_rss_bytes_ci95": [4000, 4100], "runs": 6},
                {"cpus": 2, "elapsed_s": {"median": 6.0, "max": 7.0, "ci95": null}, "efficiency": 0.8, "efficiency_ci95": [0.7, 0.9],
                 "speedup": {"value": 1.6, "ci95": [1.5, 1.7]}, "kernel_ratio": null},
            ],
            "stack": [
                {"cpus": 2, "speedup": 1.6, "losses": {"idle_disk": 0.2, "steal": null, "user_spin": 0.1},
                 "losses_ci95": {"user_spin": [0.0, 0.2]}},
                {"cpus": 4, "losses": {"idle_disk": 0.3}, "losses_ci95": null},
            ],
            "traces": [
                {"cpus": 2, "n": 8, "overhead": null, "waiting_ratio": 0.5},
                {"cpus": 2, "n": 2, "overhead": 0.01, "waiting_ratio": 0.1, "components": {"idle_disk_s": 3.0},
                 "components_ci95": null},
                {"cpus": 4, "overhead": 0.01, "components": {"idle_disk_s": 3.0},
                 "components_ci95": {"idle_disk": [1.0, 5.0]}},
            ],
            "prediction": {"points": [{"cpus": 8, "speedup": 4.0, "band90": [3.0, 5.0], "elapsed_s": null}]},
        })
    }

    fn lookup(name: &str, cpus: u32) -> Option<(f64, Option<[f64; 2]>)> {
        match find_figure(&view(), name, cpus)? {
            Figure::Estimate(estimate) => Some((estimate.value, estimate.ci95)),
            Figure::WithoutInterval(why) => panic!("{name} has no interval: {why:?}"),
        }
    }

    #[test]
    fn figures_are_found_by_their_keys() {
        assert_eq!(lookup("speedup", 2), Some((1.6, Some([1.5, 1.7]))));
        assert_eq!(lookup("speedup.value", 2), Some((1.6, Some([1.5, 1.7]))));
        assert_eq!(lookup("elapsed", 1), Some((10.0, Some([9.5, 10.5]))));
        assert_eq!(lookup("points.elapsed_s.median", 1), Some((10.0, Some([9.5, 10.5]))));
        assert_eq!(lookup("elapsed_s", 2), Some((6.0, None)), "a median of too few runs");
        assert_eq!(lookup("efficiency", 2), Some((0.8, Some([0.7, 0.9]))));
        assert_eq!(lookup("max_rss_bytes", 1), Some((4096.0, Some([4000.0, 4100.0]))));
        assert_eq!(lookup("user_spin", 2), Some((0.1, Some([0.0, 0.2]))));
        assert_eq!(lookup("idle_disk", 4), Some((0.3, None)), "a speedup of too few runs");
        assert_eq!(lookup("traces.components.idle_disk", 4), Some((3.0, Some([1.0, 5.0]))));
        assert_eq!(lookup("speedup", 8), Some((4.0, Some([3.0, 5.0]))));
    }

    #[test]
    fn figures_without_an_interval_are_told_apart() {
        for (name, cpus, why) in [
            ("elapsed_s.max", 1, WhyNoInterval::ExtremeOrMean),
            ("points.elapsed_s.max", 1, WhyNoInterval::ExtremeOrMean),
            ("runs", 1, WhyNoInterval::NotAMedian),
            ("idle_disk", 2, WhyNoInterval::OneTracedRun),
            ("traces.components.idle_disk", 2, WhyNoInterval::OneTracedRun),
            ("waiting_ratio", 2, WhyNoInterval::OneTracedRun),
        ] {
            assert_eq!(find_figure(&view(), name, cpus), Some(Figure::WithoutInterval(why)), "{name}");
        }
    }

    #[test]
    fn a_missing_figure_is_none() {
        for (name, cpus) in
            [("speedup", 4), ("speedupp", 2), ("kernel_ratio", 2), ("steal", 2), ("", 2), (".", 2)]
        {
            assert_eq!(find_figure(&view(), name, cpus), None, "{name}");
        }
    }

    /// Two traces on 2 CPUs: the one of the timed runs comes first.
    #[test]
    fn the_trace_of_the_timed_runs_is_found() {
        let view = view();
        let member = member_for_cpus(&view["traces"], 2).expect("a trace");
        assert_eq!(member["waiting_ratio"], 0.1);
    }
}
