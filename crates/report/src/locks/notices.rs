//! Notices needed to read the figures of a study of locks, the most serious first.

use morecores_statistics::MIN_RUNS;
use morecores_view::locks::LocksView;

use crate::format::{join_with_and, percent};
use crate::warning::lock_notices;
use crate::{Notice, Severity};

/// Share of steal above which there is a warning, as for any study: 1% of the CPUs' time.
const LEAST_STEAL: f64 = 0.01;

/// Notices of `view`.
pub(crate) fn notices(view: &LocksView) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut add = |severity, text: String| notices.push(Notice { severity, text });
    if view.points.is_empty() && view.locks.iter().all(|lock| lock.free_ns.is_none()) {
        add(Severity::Serious, "Nothing measured yet.".to_owned());
        return notices;
    }
    if !view.whole {
        let text = "The study is not finished: some figures come from fewer rounds than others, and some advice from fewer points. \
                    Continue with morecores locks --resume -o STUDY.";
        add(Severity::Serious, text.to_owned());
    }
    if view.damaged_lines > 0 {
        let lines = if view.damaged_lines == 1 { "line is" } else { "lines are" };
        add(
            Severity::Serious,
            format!("{} damaged {lines} in no figure; the others are whole.", view.damaged_lines),
        );
    }
    notices.extend(lock_notices(&view.warnings));
    let mut add = |severity, text: String| notices.push(Notice { severity, text });
    if let Some(steal) = view.steal.filter(|steal| *steal > LEAST_STEAL) {
        add(
            Severity::Caution,
            format!(
                "The hypervisor took {} of the CPUs' time during the measurements (steal), from owners and waiters alike. Repeat at a \
                 quieter time, or on a machine with CPUs of its own.",
                percent(steal)
            ),
        );
    }
    if (view.rounds as usize) < MIN_RUNS {
        let rounds = if view.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", view.rounds) };
        add(
            Severity::Caution,
            format!(
                "There are no intervals: {rounds} of the {MIN_RUNS} that they need. Small differences may be noise. Use --runs {MIN_RUNS}."
            ),
        );
    }
    if let Some(hypervisor) = &view.host.hypervisor {
        add(
            Severity::Note,
            format!(
                "These CPUs are virtual ({hypervisor}): the host may stop one while its thread holds a lock, and waking an idle CPU \
                 costs more than on the bare machine."
            ),
        );
    }
    let mixed = unwatched_locks(view);
    if !mixed.is_empty() {
        add(
            Severity::Note,
            format!(
                "The longest waits of {} are not known, because these waits were not timed.",
                join_with_and(mixed)
            ),
        );
    }
    notices
}

/// Locks without a timed wait, if other locks have one.
fn unwatched_locks(view: &LocksView) -> Vec<&'static str> {
    let is_watched = |lock: &&morecores_view::locks::LockCosts| lock.longest_wait_ns.is_some();
    if !view.locks.iter().any(|lock| is_watched(&lock)) {
        return Vec::new();
    }
    view.locks.iter().filter(|lock| !is_watched(lock)).map(|lock| lock.lock.name()).collect()
}
