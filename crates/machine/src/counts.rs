//! Which CPU counts a sweep measures.
//!
//! Pure: text or an order in, ascending counts out.

use std::collections::BTreeSet;

use morecores_study::{CpuKind, Restriction, Topology};

use crate::placement::Order;

/// Up to this many usable CPUs, the default measures every count. Six points leave something to judge a
/// two-parameter model of scaling by, and up to six CPUs every count is no more points than that.
const EVERY_COUNT: usize = 6;

/// Why a list of CPU counts cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountsError {
    /// It names no count.
    #[error("no CPU count given: write counts like 1,2,4-8,all")]
    Empty,
    /// A part of it is no count.
    #[error("`{0}` is not a CPU count or range: write counts like 1,2,4-8,all")]
    Syntax(String),
    /// A run needs a CPU.
    #[error("a run on 0 CPUs is not possible: counts begin at 1")]
    Zero,
    /// More CPUs than may be used.
    #[error("cannot measure {asked} CPUs: allowed are {allowed} of the {present} in this machine{why}")]
    TooMany {
        /// The count asked for.
        asked: usize,
        /// Number that can be allotted.
        allowed: usize,
        /// How many there are.
        present: usize,
        /// Reason for fewer, after a colon; empty where all are allowed.
        why: String,
        /// The counts of the list that can be measured, ascending.
        within: Vec<usize>,
        /// The counts of the list that cannot, ascending; of a range the last alone.
        beyond: Vec<usize>,
    },
}

/// Reads `1,2,4-8,all`: counts, ranges of counts, and `all` for as many as can run at full speed at once. Ascending,
/// each once. A quota forbids no count: what it takes of the larger ones is measured, and warned of.
pub fn parse(text: &str, topology: &Topology) -> Result<Vec<usize>, CountsError> {
    let (all, allowed) = (topology.usable.count, topology.usable.cpus.len());
    if text.trim().is_empty() {
        return Err(CountsError::Empty);
    }
    let mut counts = BTreeSet::new();
    let mut beyond = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        if part == "all" {
            counts.insert(all);
            continue;
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let syntax = || CountsError::Syntax(part.to_owned());
        let first = number(first).ok_or_else(syntax)?;
        let last = number(last).filter(|last| *last >= first).ok_or_else(syntax)?;
        if first == 0 {
            return Err(CountsError::Zero);
        }
        // A range may be absurdly long: what is beyond the machine is not filled in.
        counts.extend(first..=last.min(allowed));
        if last > allowed {
            beyond.insert(last);
        }
    }
    let (within, beyond) = (counts.into_iter().collect(), Vec::from_iter(beyond));
    match beyond.last() {
        Some(&asked) => Err(too_many(asked, within, beyond, topology)),
        None => Ok(within),
    }
}

/// The counts measured unless the user says otherwise, for the first `count` CPUs of `order`.
///
/// - Up to 6 usable CPUs: every count.
/// - Beyond: the powers of two and `count` itself; the last count before a new kind of CPU comes in (the
///   first node, all fast cores, all whole cores), so that each kind's part of the curve has its end
///   measured; and three quarters of `count` where that makes fewer than 6 points. The last doubling is where
///   a curve bends, and the runs on many CPUs are the short ones.
///
/// 2: 1,2. 4: 1,2,3,4. 8: 1,2,4,6,8. 16: 1,2,4,8,12,16. 2 sockets of 48 cores with SMT:
/// 1,2,4,8,16,32,48,64,96,128,192.
pub fn default(order: &Order, count: usize) -> Vec<usize> {
    let count = count.min(order.steps().len());
    if count <= EVERY_COUNT {
        return (1..=count).collect();
    }
    let powers = std::iter::successors(Some(1), |n: &usize| n.checked_mul(2)).take_while(|n| *n <= count);
    let mut counts: BTreeSet<usize> = powers.chain([count]).collect();
    counts.extend(ends_of_kinds(order).into_iter().filter(|end| *end < count));
    if counts.len() < EVERY_COUNT {
        counts.insert(count - count / 4);
    }
    counts.into_iter().collect()
}

/// For each kind after the first two CPUs', how many CPUs come before its first. Policies that alternate
/// between kinds begin them all early and get no further points by it.
fn ends_of_kinds(order: &Order) -> Vec<usize> {
    let mut seen = BTreeSet::from([CpuKind::First]);
    let begins = order.steps().iter().enumerate().filter(|(_, step)| seen.insert(step.kind));
    begins.map(|(before, _)| before).collect()
}

fn too_many(asked: usize, within: Vec<usize>, beyond: Vec<usize>, topology: &Topology) -> CountsError {
    let forbids = |reason: &&Restriction| !matches!(reason, Restriction::Quota { .. });
    let reasons: Vec<String> = topology.usable.why_fewer().filter(forbids).map(ToString::to_string).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let (allowed, present) = (topology.usable.cpus.len(), topology.present.len());
    CountsError::TooMany { asked, allowed, present, why, within, beyond }
}

/// A number in digits only; `usize::from_str` would also take a sign.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}
