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
pub(super) struct Figure {
    pub(super) estimate: Estimate,
    /// Whether enough runs would give the figure an interval. Otherwise the figure comes from one
    /// run, or is exact.
    pub(super) is_sampled: bool,
}

/// Returns the figure `name` at `cpus` CPUs in a view as JSON; none if it does not exist or is not
/// a number.
pub(super) fn find_figure(view: &Value, name: &str, cpus: u32) -> Option<Figure> {
    let (path, key) = name.rsplit_once('.').map_or(("", name), |(path, key)| (path, key));
    PLACES.iter().find_map(|(list, within)| {
        let at = format!("{list}{within}").replace('/', ".");
        let object = member_for_cpus(view.pointer(list)?, cpus)?.pointer(within)?;
        // `points.elapsed_s.max`, `elapsed_s.max` and `max_rss_bytes` are all found at this place.
        let path = path.strip_prefix(at.trim_start_matches('.')).unwrap_or(path).trim_matches('.');
        let object =
            if path.is_empty() { object } else { object.pointer(&format!("/{}", path.replace('.', "/")))? };
        [key.to_owned(), format!("{key}_s")].iter().find_map(|key| parse_figure(object, key))
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

fn parse_figure(object: &Value, key: &str) -> Option<Figure> {
    let value = object.get(key)?;
    let ends = |value: &Value| serde_json::from_value::<[f64; 2]>(value.clone()).ok();
    if let Some(number) = value.as_f64() {
        let band = match key {
            "speedup" => Some("band90".to_owned()),
            "elapsed_s" => Some("elapsed_band90_s".to_owned()),
            _ => None,
        };
        let interval =
            [Some(format!("{key}_ci95")), band].into_iter().flatten().find_map(|key| object.get(&key));
        let estimate = Estimate { value: number, ci95: interval.and_then(ends) };
        return Some(Figure { estimate, is_sampled: interval.is_some() });
    }
    let number = value.get("median").or_else(|| value.get("value"))?.as_f64()?;
    let estimate = Estimate { value: number, ci95: value.get("ci95").and_then(ends) };
    Some(Figure { estimate, is_sampled: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view() -> Value {
        json!({
            "points": [
                {"cpus": 1, "elapsed_s": {"median": 10.0, "max": 11.0, "ci95": [9.5, 10.5]}, "max_rss_bytes": 4096},
                {"cpus": 2, "elapsed_s": {"median": 6.0, "max": 7.0, "ci95": null}, "efficiency": 0.8, "efficiency_ci95": [0.7, 0.9],
                 "speedup": {"value": 1.6, "ci95": [1.5, 1.7]}, "kernel_ratio": null},
            ],
            "stack": [{"cpus": 2, "speedup": 1.6, "losses": {"idle_disk": 0.2, "steal": null}}],
            "traces": [
                {"cpus": 2, "n": 8, "overhead": null, "waiting_ratio": 0.5},
                {"cpus": 2, "n": 2, "overhead": 0.01, "waiting_ratio": 0.1, "components": {"idle_disk_s": 3.0}},
            ],
            "prediction": {"points": [{"cpus": 8, "speedup": 4.0, "band90": [3.0, 5.0], "elapsed_s": null}]},
        })
    }

    fn lookup(name: &str, cpus: u32) -> Option<(f64, Option<[f64; 2]>, bool)> {
        find_figure(&view(), name, cpus).map(|f| (f.estimate.value, f.estimate.ci95, f.is_sampled))
    }

    #[test]
    fn figures_are_found_by_their_keys() {
        assert_eq!(lookup("speedup", 2), Some((1.6, Some([1.5, 1.7]), true)));
        assert_eq!(lookup("elapsed", 1), Some((10.0, Some([9.5, 10.5]), true)));
        assert_eq!(lookup("elapsed_s", 2), Some((6.0, None, true)), "a median of too few runs");
        assert_eq!(lookup("elapsed_s.max", 1), Some((11.0, None, false)));
        assert_eq!(lookup("points.elapsed_s.max", 1), Some((11.0, None, false)));
        assert_eq!(lookup("efficiency", 2), Some((0.8, Some([0.7, 0.9]), true)));
        assert_eq!(lookup("max_rss_bytes", 1), Some((4096.0, None, false)));
        assert_eq!(lookup("idle_disk", 2), Some((0.2, None, false)));
        assert_eq!(lookup("traces.components.idle_disk", 2), Some((3.0, None, false)));
        assert_eq!(lookup("waiting_ratio", 2).map(|f| f.0), Some(0.1), "of the timed runs' own trace");
        assert_eq!(lookup("speedup", 8), Some((4.0, Some([3.0, 5.0]), true)));
    }

    #[test]
    fn a_missing_figure_is_none() {
        for (name, cpus) in
            [("speedup", 4), ("speedupp", 2), ("kernel_ratio", 2), ("steal", 2), ("", 2), (".", 2)]
        {
            assert_eq!(lookup(name, cpus), None, "{name}");
        }
    }
}
