//! Failures of runs, and the option that counts expected exit statuses, in words.

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::Failure;
use morecores_view::{FailureCount, Warning};

/// Number of failures of each kind, over all counts: ` (3 exited with status 1, 1 printed no figure
/// that can be read)`.
pub(super) fn failure_list(group: &[&Warning]) -> String {
    let mut ways: BTreeMap<&Failure, u32> = BTreeMap::new();
    failures(group).for_each(|failure| *ways.entry(&failure.how).or_default() += failure.count);
    let words: Vec<String> =
        ways.into_iter().map(|(how, count)| format!("{count} {}", failure_text(how))).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Option that counts runs by their exit statuses, if any run failed by its exit status.
pub(super) fn success_advice(group: &[&Warning]) -> String {
    let statuses = failures(group).filter_map(|failure| match failure.how {
        Failure::Status(status) => u8::try_from(status).ok(),
        _ => None,
    });
    let failed: BTreeSet<u8> = statuses.collect();
    if failed.is_empty() {
        return String::new();
    }
    let success = group.iter().find_map(|warning| match warning {
        Warning::FailedRuns { success, .. } => Some(success.clone()),
        _ => None,
    });
    let all: BTreeSet<u8> = success.unwrap_or_default().into_iter().chain(failed).collect();
    format!(" Where such exit statuses are expected, --success {} counts them.", success_list(&all))
}

/// Exit statuses in the form that `--success` takes: `0,1`.
pub fn success_list(statuses: &BTreeSet<u8>) -> String {
    statuses.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
}

fn failures<'a>(group: &[&'a Warning]) -> impl Iterator<Item = &'a FailureCount> {
    group.iter().flat_map(|warning| match warning {
        Warning::FailedRuns { failures, .. } => failures.as_slice(),
        _ => &[],
    })
}

fn failure_text(how: &Failure) -> String {
    match how {
        Failure::Status(status) => format!("exited with status {status}"),
        Failure::Signal(signal) => format!("ended by signal {signal}"),
        Failure::TimedOut => "ran past --timeout".to_owned(),
        Failure::NoFigure(None) => "printed no figure that can be read".to_owned(),
        Failure::NoFigure(Some(name)) => format!("printed no figure {name} that can be read"),
    }
}
