//! Advice on which lock to take, one sentence for each situation.

use morecores_study::lock::{LockName, Waits};
use morecores_view::{LockAdvice, LockSituation, LocksView};

use super::time;
use crate::format::{TimeUnit, list, percent, rough};

/// Advice in sentences. Each begins with the situation and a colon.
pub(crate) fn advice(view: &LocksView) -> Vec<String> {
    view.advice.iter().filter(|advice| !advice.take.is_empty()).map(|advice| sentence(view, advice)).collect()
}

/// Explains how to read the advice; none if there is no advice.
pub(crate) fn note(view: &LocksView) -> Option<&'static str> {
    (!view.advice.is_empty()).then_some(
        "Of the points measured here, each weighing the same: locks that nothing beats by more than noise or 5%, the best first, of \
         those that let no thread starve; \"never\" is what does not reach half of that.",
    )
}

fn sentence(view: &LocksView, advice: &LockAdvice) -> String {
    let situation = situation(view, advice.situation);
    if advice.situation == LockSituation::Free {
        let cheapest = advice.take.first().and_then(|best| view.locks.iter().find(|lock| lock.lock == *best));
        let cost = cheapest.and_then(|lock| lock.free_ns).map(|ns| format!(", {}", time(ns.value)));
        return format!("{situation}: {}{}.", either(advice.take.iter()), cost.unwrap_or_default());
    }
    let never = if advice.never.is_empty() {
        String::new()
    } else {
        let reach = advice.worst.map(|share| format!(", down to {} of the best one's rate", percent(share)));
        format!("; never {}{}", kinds(&advice.never), reach.unwrap_or_default())
    };
    format!("{situation}: {}{never}.", kinds(&advice.take))
}

fn situation(view: &LocksView, situation: LockSituation) -> String {
    // The situations of holds exist only if the price of a wake-up, which divides them, is known.
    let bound = view.prices.wake_ns.map_or(0.0, |wake| wake.value);
    match situation {
        LockSituation::Free => "Nobody else wants it".to_owned(),
        LockSituation::ShortHolds => format!("Hold under {} and a CPU for each thread", roughly(bound)),
        LockSituation::LongHolds => format!("Hold from {} on and a CPU for each thread", roughly(bound)),
        LockSituation::MoreThreadsThanCpus => "More threads than CPUs".to_owned(),
    }
}

/// Time in nanoseconds with two digits: nobody knows more exactly how long a lock is held.
fn roughly(ns: f64) -> String {
    let unit = TimeUnit::for_column([ns * 1e-9]);
    format!("{} {}", rough(ns * 1e-9 / unit.seconds()), unit.symbol())
}

/// Locks by their way of waiting, the way of the first lock first: `spin-then-block (adaptive, std)
/// or block (block)`.
fn kinds(locks: &[LockName]) -> String {
    let mut kinds: Vec<(Waits, Vec<&str>)> = Vec::new();
    for lock in locks {
        match kinds.iter_mut().find(|(waits, _)| *waits == lock.waits()) {
            Some((_, names)) => names.push(lock.name()),
            None => kinds.push((lock.waits(), vec![lock.name()])),
        }
    }
    either(kinds.iter().map(|(waits, names)| format!("{} ({})", kind(*waits), names.join(", "))))
}

fn kind(waits: Waits) -> &'static str {
    match waits {
        Waits::Spins => "spin",
        Waits::Sleeps => "sleep between tries",
        Waits::Blocks => "block",
        Waits::SpinsThenBlocks => "spin-then-block",
    }
}

/// Alternatives in words: `a`, `a or b`, `a, b or c`.
fn either<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => list(items),
    }
}
