//! Advice on which lock to take, one statement for each situation.

use morecores_study::Quantity;
use morecores_study::lock::{LockName, WaitStrategy};
use morecores_view::locks::{LockAdvice, LockSituation, LocksView};
use morecores_view::page::Statement;

use super::time;
use crate::format::{join_with_or, percent, two_digits};

/// Advice. Each statement begins with the situation.
pub(crate) fn advice_statements(view: &LocksView) -> Vec<Statement> {
    view.advice
        .iter()
        .filter(|advice| !advice.take.is_empty())
        .map(|advice| advice_statement(view, advice))
        .collect()
}

/// Explains how to read the advice; none if there is no advice.
pub(crate) fn advice_note(view: &LocksView) -> Option<&'static str> {
    (!view.advice.is_empty()).then_some(
        "By the points measured here, with equal weight: the locks that no other beats by more than noise or 5%, the best first. \
         Locks that let a thread starve are left out. \"never\": locks that do not reach half of that rate.",
    )
}

fn advice_statement(view: &LocksView, advice: &LockAdvice) -> Statement {
    let situation = situation_text(view, advice.situation);
    if advice.situation == LockSituation::Free {
        let cheapest = advice.take.first().and_then(|best| view.locks.iter().find(|lock| lock.lock == *best));
        let cost = cheapest.and_then(|lock| lock.free_ns).map(|ns| format!(", {}", time(ns.value)));
        let locks = join_with_or(advice.take.iter());
        return Statement::new(situation, format!("{locks}{}.", cost.unwrap_or_default()));
    }
    let never = if advice.never.is_empty() {
        String::new()
    } else {
        let reach = advice.worst.map(|share| format!(", down to {} of the best one's rate", percent(share)));
        format!("; never {}{}", locks_by_kind(&advice.never), reach.unwrap_or_default())
    };
    Statement::new(situation, format!("{}{never}.", locks_by_kind(&advice.take)))
}

fn situation_text(view: &LocksView, situation: LockSituation) -> String {
    // The situations of holds exist only if the price of a wake-up, which divides them, is known.
    let bound = view.prices.wake_ns.map_or(0.0, |wake| wake.value);
    match situation {
        LockSituation::Free => "No other thread wants it".to_owned(),
        LockSituation::ShortHolds => format!("Hold under {} and a CPU for each thread", rough_time(bound)),
        LockSituation::LongHolds => format!("Hold from {} on and a CPU for each thread", rough_time(bound)),
        LockSituation::MoreThreadsThanCpus => "More threads than CPUs".to_owned(),
    }
}

/// Time in nanoseconds with two digits: the hold time of a lock in a program is never known more
/// exactly.
fn rough_time(ns: f64) -> String {
    let unit = Quantity::Time.column_scale([ns * 1e-9]);
    format!("{} {}", two_digits(ns * 1e-9 / unit.size), unit.symbol)
}

/// Locks by their way of waiting, the way of the first lock first: `spin-then-block (adaptive, std)
/// or block (block)`.
fn locks_by_kind(locks: &[LockName]) -> String {
    let mut kinds: Vec<(WaitStrategy, Vec<&str>)> = Vec::new();
    for lock in locks {
        match kinds.iter_mut().find(|(waits, _)| *waits == lock.wait_strategy()) {
            Some((_, names)) => names.push(lock.name()),
            None => kinds.push((lock.wait_strategy(), vec![lock.name()])),
        }
    }
    join_with_or(kinds.iter().map(|(waits, names)| format!("{} ({})", kind_name(*waits), names.join(", "))))
}

fn kind_name(waits: WaitStrategy) -> &'static str {
    match waits {
        WaitStrategy::Spins => "spin",
        WaitStrategy::Sleeps => "sleep between tries",
        WaitStrategy::Blocks => "block",
        WaitStrategy::SpinsThenBlocks => "spin-then-block",
    }
}
