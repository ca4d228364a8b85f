//! The first lines of the report: the command, the machine and the method.

use std::collections::BTreeSet;

use morecores_study::{Cache, QuotaPercent, StopReason};
use morecores_view::{PointView, View};

use super::Style;
use crate::command;
use crate::format::{cpus, duration, join_with_and};

/// Largest number of CPU counts listed one by one; the table below lists them anyway.
const MAX_LISTED: usize = 5;

/// Command, machine and method of the measurement.
pub(super) fn headline_lines(view: &View, style: &Style) -> Vec<String> {
    let command = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let mut lines: Vec<String> = command.iter().map(|line| style.paint().bold(line)).collect();
    for text in [Some(machine_line(view)), method_line(view)].into_iter().flatten().chain(ending_text(view)) {
        lines.extend(style.wrap(&text, "  "));
    }
    lines
}

fn machine_line(view: &View) -> String {
    let host = &view.host;
    let mut parts =
        vec![format!("on {}", host.hostname), host.cpu_model.clone(), format!("Linux {}", host.kernel)];
    parts.extend(host.hypervisor.clone());
    parts.retain(|part| !part.trim().is_empty());
    parts.join(" · ")
}

fn method_line(view: &View) -> Option<String> {
    let values_of = |value: fn(&PointView) -> u32| -> Vec<u32> {
        let values: BTreeSet<u32> = view.points.iter().map(value).collect();
        values.into_iter().collect()
    };
    let counts = values_of(|point| point.cpus);
    let counts = match counts.as_slice() {
        [] => return None,
        [only] => cpus(*only),
        [first, .., last] if counts.len() > MAX_LISTED => {
            format!("{} CPU counts from {first} to {last}", counts.len())
        }
        _ => format!("{} CPUs", join_with_and(&counts)),
    };
    let n = values_of(|point| point.n);
    let values = match n.as_slice() {
        _ if view.rankings.is_empty() => None,
        [first, .., last] if n.len() > MAX_LISTED => {
            Some(format!("{} values of n from {first} to {last}", n.len()))
        }
        _ => Some(format!("n = {}", join_with_and(&n))),
    };
    let least = view.points.iter().map(|p| p.runs).min().unwrap_or(0);
    let most = view.points.iter().map(|p| p.runs).max().unwrap_or(0);
    let runs = match (least, most) {
        (1, 1) => "1 run each".to_owned(),
        _ if least == most => format!("{most} runs each"),
        _ => format!("{least} to {most} runs each"),
    };
    let measured: f64 = view.points.iter().map(|p| p.elapsed_s.mean * f64::from(p.runs)).sum();
    let mut parts = vec![format!("{counts} by {}", view.plan.limit)];
    let quotas: Vec<QuotaPercent> =
        view.quota.iter().flat_map(|quota| &quota.quotas).map(|quota| quota.quota_percent).collect();
    if !quotas.is_empty() {
        parts.push(format!("limits of {} CPUs", join_with_and(&quotas)));
    }
    parts.extend(values);
    parts.extend([runs, format!("{} in timed runs", duration(measured))]);
    if matches!(view.plan.cache, Cache::Cold { .. }) {
        parts.push("cold cache".to_owned());
    }
    Some(parts.join(" · "))
}

/// Limit that ended the study.
fn time_limit_text(view: &View) -> String {
    let stop = &view.plan.stop;
    let time = stop.time().map(|time| format!(" after {}", duration(time.as_secs_f64()))).unwrap_or_default();
    let default = if stop.budget.is_some() { "the default of " } else { "" };
    format!("Ended{time}, {default}--max-time.")
}

/// Reason why the study ended, unless it ended normally.
fn ending_text(view: &View) -> Option<String> {
    let reason = view.closing.as_ref().map(|closing| closing.reason);
    let text = match reason {
        Some(StopReason::Precise | StopReason::RunsExhausted) => return None,
        Some(StopReason::TimeExhausted) => return Some(time_limit_text(view)),
        Some(StopReason::RunFailed) => "Ended early, because a run failed.",
        Some(StopReason::AlreadyDone) => {
            "Stopped, because the first run left the later runs almost nothing to do."
        }
        Some(StopReason::Interrupted) => "Interrupted: --resume continues it.",
        None => "Not finished: --resume continues it.",
    };
    Some(text.to_owned())
}
