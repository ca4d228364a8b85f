//! Figures of a study of locks beside their targets, as lines of text.
//!
//! `morecores_lock_lab::figures` defines the figures; this module defines the targets.

use morecores_lock_lab::figures::{PeerComparison, compare_with_peers, free_ratio, longest_wait};
use morecores_lock_lab::locks_view;
use morecores_study::lock::{LockName, LockStudy};
use morecores_view::Estimate;

/// Locks with which the uncontended cost is compared: the pthread mutexes, std and parking_lot.
const PEERS: [LockName; 4] = LockName::PEERS;

/// All figures, as lines of text.
pub(crate) fn lines(study: &LockStudy) -> Vec<String> {
    let mut lines = vec!["FREE: time of lock and unlock over the cheapest peer's".to_owned()];
    for (lock, peers, target) in
        [(LockName::Adaptive, &PEERS[..], 1.05), (LockName::Spin, &[LockName::PthreadSpin][..], 1.0)]
    {
        let ratio = free_ratio(study, lock, peers).map_or_else(|| "not measured".to_owned(), in_words);
        lines.push(format!("  {lock:<10} {ratio}   (aim: at most {target})"));
    }
    lines.push(String::new());
    for lock in [LockName::Adaptive, LockName::Std] {
        let peers: Vec<_> = PEERS.into_iter().filter(|peer| *peer != lock).collect();
        let names: Vec<_> = peers.iter().map(|peer| peer.name()).collect();
        lines.push(format!("THROUGHPUT: {lock} over the best of {} at each point", names.join(", ")));
        throughput(&compare_with_peers(study, lock, &peers), lock == LockName::Adaptive, &mut lines);
        lines.push(String::new());
    }
    waits(study, &mut lines);
    cost_model(study, &mut lines);
    lines
}

fn in_words(estimate: Estimate) -> String {
    match estimate.ci95 {
        Some([low, high]) => format!("{:.3} [{low:.3}, {high:.3}]", estimate.value),
        None => format!("{:.3}", estimate.value),
    }
}

fn throughput(comparison: &PeerComparison, is_adaptive: bool, lines: &mut Vec<String>) {
    for point in &comparison.points {
        let cpu = point
            .cpu_per_hold
            .map_or_else(String::new, |ratio| format!("   CPU per hold {}", in_words(ratio)));
        let mark = if point.ratio.ci95.is_some_and(|[_, high]| high < 0.95) { "  SLOWER" } else { "" };
        let ratio = in_words(point.ratio);
        lines.push(format!(
            "  {} at it, hold {:>6} ns, think {:>6} ns: {ratio} of {:<16}{cpu}{mark}",
            point.threads,
            point.hold_ns,
            point.think_ns,
            point.best.name(),
        ));
    }
    let aim = |text: &str| {
        if is_adaptive { format!("   (aim: {text})") } else { "   (to show what is noise)".to_owned() }
    };
    if let Some(mean) = comparison.geometric_mean {
        lines.push(format!("  geometric mean {mean:.3}{}", aim("at least 1.0")));
    }
    let (slower, points) = (comparison.slower().count(), comparison.points.len());
    lines.push(format!("  points wholly below 0.95: {slower} of {points}{}", aim("none")));
    let worst = comparison
        .points
        .iter()
        .filter_map(|point| point.cpu_per_hold)
        .max_by(|a, b| a.value.total_cmp(&b.value));
    if let (true, Some(worst)) = (is_adaptive, worst) {
        let above = comparison
            .points
            .iter()
            .filter(|p| p.cpu_per_hold.is_some_and(|ratio| ratio.value > 1.1))
            .count();
        lines.push(format!(
            "  CPU time per hold over the fastest peer's, more threads than CPUs: at most {}, {above} points above 1.1   (aim: none)",
            in_words(worst)
        ));
    }
}

fn waits(study: &LockStudy, lines: &mut Vec<String>) {
    lines.push("LONGEST WAIT of any thread at any point   (aim for adaptive: at most 100 ms)".to_owned());
    for &lock in &study.header.plan.locks {
        if let Some(ns) = longest_wait(study, lock) {
            lines.push(format!("  {:<17} {:>8.1} ms", lock.name(), ns as f64 / 1e6));
        }
    }
    lines.push(String::new());
}

fn cost_model(study: &LockStudy, lines: &mut Vec<String>) {
    let Some(model) = locks_view(study).cost_model else { return };
    lines.push(format!(
        "COST MODEL: bound {:.1} µs; names the better of {} and {} at {} of {} points that can be told apart   (aim: 90%)",
        model.bound_ns / 1e3,
        model.spinning,
        model.blocking,
        model.right,
        model.told_apart,
    ));
    for point in model.points.iter().filter(|point| point.right == Some(false)) {
        lines.push(format!(
            "  wrong: {} threads, hold {} ns, think {} ns: expected {:.2}, measured {}",
            point.threads,
            point.hold_ns,
            point.think_ns,
            point.expected,
            in_words(point.measured),
        ));
    }
}
