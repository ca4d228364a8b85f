//! CPU counts that a sweep measures.
//!
//! The functions are pure: they turn text or an order into ascending counts.

use std::collections::BTreeSet;

use morecores_study::CpuKind;
use morecores_study::topology::Topology;
use morecores_study::usable::Restriction;

use crate::placement::CpuOrder;

/// Largest number of usable CPUs for which the default measures every count. Six points suffice to
/// judge a two-parameter model of scaling, and six CPUs give no more than six points.
const MAX_COMPLETE_LIST: usize = 6;

/// Reason for which a list of CPU counts cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountsError {
    /// The list names no count.
    #[error("no CPU count given: write counts like 1,2,4-8,all")]
    Empty,
    /// A part of the list is not a count.
    #[error("`{0}` is not a CPU count or range: write counts like 1,2,4-8,all")]
    Syntax(String),
    /// A count is zero.
    #[error("a run on 0 CPUs is not possible: counts begin at 1")]
    Zero,
    /// A count exceeds the number of allowed CPUs.
    #[error("cannot measure {requested} CPUs: allowed are {allowed} of the {present} in this machine{why}")]
    TooMany {
        /// Requested count.
        requested: usize,
        /// Number of CPUs that can be allotted.
        allowed: usize,
        /// Number of CPUs in the machine.
        present: usize,
        /// Reason for fewer CPUs, after a colon; empty if all CPUs are allowed.
        why: String,
        /// Measurable counts of the list, ascending.
        within: Vec<usize>,
        /// Other counts of the list, ascending; only the last count of a range.
        beyond: Vec<usize>,
    },
}

/// Parses `1,2,4-8,all`: counts, ranges of counts, and `all` for the number of CPUs that can run at
/// full speed at once. Returns ascending counts without duplicates.
///
/// A quota forbids no count. The study measures the larger counts under the quota, with a warning.
pub fn parse_counts(text: &str, topology: &Topology) -> Result<Vec<usize>, CountsError> {
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
        let first = parse_number(first).ok_or_else(syntax)?;
        let last = parse_number(last).filter(|last| *last >= first).ok_or_else(syntax)?;
        if first == 0 {
            return Err(CountsError::Zero);
        }
        // A range may be absurdly long, so the counts beyond the machine are not enumerated.
        counts.extend(first..=last.min(allowed));
        if last > allowed {
            beyond.insert(last);
        }
    }
    let (within, beyond) = (counts.into_iter().collect(), Vec::from_iter(beyond));
    match beyond.last() {
        Some(&requested) => Err(too_many_error(requested, within, beyond, topology)),
        None => Ok(within),
    }
}

/// Counts that are measured by default, for the first `count` CPUs of `order`.
///
/// - Up to 6 usable CPUs: every count.
/// - Beyond 6: the powers of two and `count` itself; the last count before each new kind of CPU
///   (the first node, all fast cores, all whole cores), so that the end of each kind's part of the
///   curve is measured; and three quarters of `count` if there are otherwise fewer than 6 points. A
///   curve bends in the last doubling, and the runs on many CPUs are the short ones.
///
/// Examples: 2: 1,2. 4: 1,2,3,4. 8: 1,2,4,6,8. 16: 1,2,4,8,12,16. 2 sockets of 48 cores with SMT:
/// 1,2,4,8,16,32,48,64,96,128,192.
pub fn default_counts(order: &CpuOrder, count: usize) -> Vec<usize> {
    let count = count.min(order.steps().len());
    if count <= MAX_COMPLETE_LIST {
        return (1..=count).collect();
    }
    let powers = std::iter::successors(Some(1), |n: &usize| n.checked_mul(2)).take_while(|n| *n <= count);
    let mut counts: BTreeSet<usize> = powers.chain([count]).collect();
    counts.extend(last_counts_of_kinds(order).into_iter().filter(|end| *end < count));
    if counts.len() < MAX_COMPLETE_LIST {
        counts.insert(count - count / 4);
    }
    counts.into_iter().collect()
}

/// Number of CPUs before the first CPU of each new kind. Policies that alternate between kinds
/// begin all of them early, so they get no further points.
fn last_counts_of_kinds(order: &CpuOrder) -> Vec<usize> {
    let mut seen = BTreeSet::from([CpuKind::First]);
    let begins = order.steps().iter().enumerate().filter(|(_, step)| seen.insert(step.kind));
    begins.map(|(before, _)| before).collect()
}

fn too_many_error(
    requested: usize,
    within: Vec<usize>,
    beyond: Vec<usize>,
    topology: &Topology,
) -> CountsError {
    let forbids = |reason: &&Restriction| !matches!(reason, Restriction::Quota { .. });
    let reasons: Vec<String> =
        topology.usable.binding_restrictions().filter(forbids).map(ToString::to_string).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    let (allowed, present) = (topology.usable.cpus.len(), topology.present.len());
    CountsError::TooMany { requested, allowed, present, why, within, beyond }
}

/// Parses a number of digits only; `usize::from_str` would also accept a sign.
fn parse_number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}
