//! Messages on the time for a study: before it begins, and after a time limit that was too short.
//!
//! The functions are pure: figures in, lines out.

use std::path::Path;

use morecores_report::duration;
use morecores_study::{Nanos, Stop};

use super::super::resume::resume_line;

/// Factor between the estimated and the proposed time. The margin covers errors of the estimate.
const MARGIN: f64 = 1.25;

/// Message on the longest duration of the study; none if the user set the limit.
pub(super) fn start_note(stop: &Stop) -> Option<String> {
    let budget = duration(stop.budget?.as_secs_f64());
    Some(format!(
        "measures for {budget} at most, warm-up and traced runs included; --max-time 30m measures longer, --max-time 0 \
         without a limit"
    ))
}

/// Message with the command line that resumes a study whose time is used up. `needs` is the
/// expected time of the part not begun: a shorter time limit would achieve nothing.
pub(super) fn end_note(stop: &Stop, needs: Option<Nanos>, path: &Path) -> String {
    let time = stop.time().unwrap_or_default();
    let needs = needs.map(|needs| Nanos::from_secs_f64(MARGIN * needs.as_secs_f64()));
    let (why, option) = match needs.filter(|needs| *needs > time) {
        Some(needs) => {
            let expected = duration(needs.as_secs_f64() / MARGIN);
            (
                format!(" before the next step, which takes about {expected}"),
                format!("--max-time {} ", format_time(needs)),
            )
        }
        None => (String::new(), String::new()),
    };
    format!(
        "the time limit ({}) ended the study{why}. Continue with: {}",
        duration(time.as_secs_f64()),
        resume_line("run", path, &option)
    )
}

/// Time in the form of an option's value, rounded up: `40s`, `12m`.
fn format_time(time: Nanos) -> String {
    let seconds = time.as_secs_f64();
    if seconds <= 90.0 {
        format!("{:.0}s", (seconds / 10.0).ceil() * 10.0)
    } else {
        format!("{:.0}m", (seconds / 60.0).ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(max_time: Option<u64>, budget: Option<u64>) -> Stop {
        let [max_time, budget] = [max_time, budget].map(|time| time.map(|s| Nanos::from_millis(s * 1000)));
        Stop { precision: None, min_runs: 6, max_runs: 30, max_time, budget }
    }

    fn seconds(seconds: u64) -> Option<Nanos> {
        Some(Nanos::from_millis(seconds * 1000))
    }

    #[test]
    fn the_default_limit_is_reported() {
        assert!(start_note(&stop(None, Some(300))).is_some_and(|text| text.contains("for 5 min at most")));
        assert_eq!(start_note(&stop(Some(300), None)), None);
        assert_eq!(start_note(&stop(None, None)), None);
    }

    #[test]
    fn the_line_that_continues_allows_enough_time_for_the_next_run() {
        let end_note = |stop, needs| end_note(&stop, needs, Path::new("a b.study"));
        assert_eq!(
            end_note(stop(Some(60), None), seconds(40)),
            "the time limit (60 s) ended the study. Continue with: morecores run --resume -o 'a b.study'"
        );
        assert_eq!(
            end_note(stop(None, Some(300)), seconds(900)),
            "the time limit (5 min) ended the study before the next step, which takes about 15 min. \
             Continue with: morecores run --resume --max-time 19m -o 'a b.study'"
        );
        assert!(end_note(stop(Some(60), None), None).ends_with("--resume -o 'a b.study'"));
        assert_eq!(
            [seconds(41), seconds(90), seconds(91)].map(|time| format_time(time.unwrap())),
            ["50s", "90s", "2m"]
        );
    }
}
