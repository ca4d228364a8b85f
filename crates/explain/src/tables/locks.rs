//! The table of kernel locks: the waiting code, its locks, the number of waits and their time.
//!
//! A stack costs more than most waits, so only long waits and a share of the short ones have a
//! stack. A short wait without a stack is attributed to the callers seen waiting for the same lock,
//! in proportion. If its lock was never seen with a stack, it is attributed to the callers of the
//! sampled short waits of its kind. Number and time of the waits are counted, not estimated. Only
//! the division of the waits without a stack over callers is estimated.

use std::collections::{BTreeMap, HashMap};

use morecores_study::Nanos;
use morecores_study::trace::{KnownLock, LockFlags, TraceHeader};
use morecores_view::LockView;

use super::callers::{LockSite, lock_site};
use super::waiting::WaitTimes;
use crate::trace::{LockWait, Timeline};

/// Smallest number of sampled waits of a kind that is used for its other waits: with ten, a
/// caller's share has a standard error of up to 16 points.
const MIN_SAMPLED_WAITS: f64 = 10.0;
/// Symbol of an unidentified lock.
const UNKNOWN_SYMBOL: &str = "unknown";

/// Key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Row<'a> {
    kind: &'static str,
    symbol: &'a str,
    caller: Option<&'a str>,
}

/// Sum of waits.
#[derive(Clone, Copy, Debug, Default)]
struct WaitSum {
    count: f64,
    /// Time of the waits, in nanoseconds.
    wait: f64,
    /// Time spent spinning, in nanoseconds.
    spin: f64,
    max: Nanos,
}

impl WaitSum {
    fn from_times(times: WaitTimes) -> Self {
        let total = times.total();
        Self { count: 1.0, wait: total.0 as f64, spin: times.spin.0 as f64, max: total }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.wait += other.wait;
        self.spin += other.spin;
        self.max = self.max.max(other.max);
    }

    /// A share of these waits. The waits in the share are unknown, so the longest wait may be one
    /// of them.
    fn part(self, share: f64) -> Self {
        Self { count: self.count * share, wait: self.wait * share, spin: self.spin * share, max: self.max }
    }
}

/// Number of sampled waits of each row, in short waits and in all waits.
#[derive(Clone, Debug, Default)]
struct RowCounts<'a>(BTreeMap<Row<'a>, (f64, f64)>);

impl<'a> RowCounts<'a> {
    fn add(&mut self, row: Row<'a>, short: bool) {
        let (short_waits, all) = self.0.entry(row).or_default();
        *short_waits += f64::from(u8::from(short));
        *all += 1.0;
    }

    fn short(&self) -> f64 {
        self.0.values().map(|(short, _)| short).sum()
    }

    /// Share of each row among the short waits, or among all waits if there are no short ones.
    fn shares(&self) -> impl Iterator<Item = (Row<'a>, f64)> + '_ {
        let short = self.short();
        let all: f64 = self.0.values().map(|(_, all)| all).sum();
        self.0
            .iter()
            .map(move |(row, counts)| (*row, if short > 0.0 { counts.0 / short } else { counts.1 / all }))
    }
}

/// Builds the table, longest waits first. Each wait of the tree's threads counts, also one nested
/// in another.
pub(super) fn locks(header: &TraceHeader, timeline: &Timeline) -> Vec<LockView> {
    let sites: HashMap<u32, LockSite<'_>> =
        header.facts.stacks.iter().map(|(key, stack)| (*key, lock_site(stack))).collect();
    let site_of = |wait: &LockWait| sites.get(&wait.stack?).filter(|site| **site != LockSite::default());
    let tree_waits = || timeline.contentions.iter().filter(|wait| timeline.thread(wait.thread).in_tree);
    // Every long wait has a stack. A wait is therefore short if it is no longer than the longest
    // wait without a stack.
    let longest_short = tree_waits()
        .filter(|wait| site_of(wait).is_none())
        .map(|wait| wait.to.since(wait.from))
        .max()
        .unwrap_or_default();

    let mut rows: BTreeMap<Row<'_>, WaitSum> = BTreeMap::new();
    let mut by_lock: HashMap<(&str, u64), RowCounts<'_>> = HashMap::new();
    let mut by_kind: HashMap<(&str, Option<&str>), RowCounts<'_>> = HashMap::new();
    let mut unattributed: BTreeMap<(&'static str, Option<&'static str>, u64), WaitSum> = BTreeMap::new();
    for wait in tree_waits() {
        let (kind, known) = (lock_kind(wait.flags), known_symbol(wait.known));
        let sum =
            WaitSum::from_times(WaitTimes::from_segments(timeline.thread(wait.thread), wait.from, wait.to));
        let Some(site) = site_of(wait) else {
            unattributed.entry((kind, known, wait.lock)).or_default().add(sum);
            continue;
        };
        let symbol = known.or(site.primitive).unwrap_or(UNKNOWN_SYMBOL);
        let row = Row { kind, symbol, caller: site.caller };
        rows.entry(row).or_default().add(sum);
        let short = wait.to.since(wait.from) <= longest_short;
        by_lock.entry((kind, wait.lock)).or_default().add(row, short);
        by_kind.entry((kind, known)).or_default().add(row, short);
    }
    for ((kind, known, lock), sum) in unattributed {
        let same_lock = by_lock.get(&(kind, lock));
        let same_kind = || by_kind.get(&(kind, known)).filter(|counts| counts.short() >= MIN_SAMPLED_WAITS);
        match same_lock.or_else(same_kind) {
            Some(counts) => {
                counts.shares().filter(|(_, share)| *share > 0.0).for_each(|(row, share)| {
                    rows.entry(row).or_default().add(sum.part(share));
                });
            }
            None => {
                let row = Row { kind, symbol: known.unwrap_or(UNKNOWN_SYMBOL), caller: None };
                rows.entry(row).or_default().add(sum);
            }
        }
    }
    lock_views(rows)
}

/// Rows with whole counts, whose sum equals the sum of the fractional counts.
fn lock_views(rows: BTreeMap<Row<'_>, WaitSum>) -> Vec<LockView> {
    let counts = round_with_sum(&rows.values().map(|sum| sum.count).collect::<Vec<_>>());
    let view = |((row, sum), count): ((Row<'_>, WaitSum), u64)| LockView {
        kind: row.kind.to_owned(),
        symbol: row.symbol.to_owned(),
        caller: row.caller.map(str::to_owned),
        count,
        wait_s: sum.wait / 1e9,
        spin_s: sum.spin / 1e9,
        max_wait_s: sum.max.as_secs_f64(),
    };
    let mut views: Vec<LockView> = rows.into_iter().zip(counts).map(view).collect();
    views.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s));
    views
}

/// Nearest whole numbers with the same sum: each number is rounded down, then the largest
/// remainders are rounded up.
fn round_with_sum(parts: &[f64]) -> Vec<u64> {
    let mut counts: Vec<u64> = parts.iter().map(|part| part.floor() as u64).collect();
    let missing = (parts.iter().sum::<f64>().round() as u64).saturating_sub(counts.iter().sum());
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| parts[*b].fract().total_cmp(&parts[*a].fract()));
    for index in order.into_iter().take(missing as usize) {
        counts[index] += 1;
    }
    counts
}

/// Kind of a lock, by the kernel's flags at the beginning of a wait: kernel/locking/. Mutexes and
/// semaphores also set the bits of their waiting mode, so they are tested first.
fn lock_kind(flags: LockFlags) -> &'static str {
    let has = |bit: u8| flags.0 & bit != 0;
    if has(LockFlags::PERCPU) {
        "percpu_rwsem"
    } else if has(LockFlags::RT) {
        "rtmutex"
    } else if has(LockFlags::MUTEX) {
        "mutex"
    } else if has(LockFlags::SPIN) {
        if has(LockFlags::READ | LockFlags::WRITE) { "rwlock" } else { "spinlock" }
    } else if has(LockFlags::READ | LockFlags::WRITE) {
        "rwsem"
    } else {
        "semaphore"
    }
}

/// Name of a known lock in the kernel's source.
fn known_symbol(known: KnownLock) -> Option<&'static str> {
    match known {
        KnownLock::None => None,
        KnownLock::MmapLock => Some("mmap_lock"),
        KnownLock::RunQueue => Some("rq->__lock"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_kind_follows_the_kernels_flags() {
        let kind = |bits: u8| lock_kind(LockFlags(bits));
        assert_eq!(kind(LockFlags::SPIN), "spinlock");
        assert_eq!(kind(LockFlags::SPIN | LockFlags::READ), "rwlock");
        assert_eq!(kind(LockFlags::SPIN | LockFlags::WRITE), "rwlock");
        assert_eq!(kind(LockFlags::MUTEX), "mutex");
        // A waiter spins first for a mutex whose owner runs.
        assert_eq!(kind(LockFlags::MUTEX | LockFlags::SPIN), "mutex");
        assert_eq!(kind(LockFlags::READ), "rwsem");
        assert_eq!(kind(LockFlags::WRITE), "rwsem");
        assert_eq!(kind(LockFlags::PERCPU | LockFlags::READ), "percpu_rwsem");
        assert_eq!(kind(LockFlags::RT | LockFlags::WRITE), "rtmutex");
        assert_eq!(kind(0), "semaphore");
    }

    #[test]
    fn counts_keep_their_sum() {
        assert_eq!(round_with_sum(&[]), [0; 0]);
        assert_eq!(round_with_sum(&[2.0, 3.0]), [2, 3]);
        assert_eq!(round_with_sum(&[0.5, 1.25, 1.25]), [1, 1, 1]);
        assert_eq!(round_with_sum(&[10.0 / 3.0; 3]), [4, 3, 3]);
    }
}
