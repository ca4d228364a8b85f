//! CPU numbers and sets of CPU numbers, in the kernel's list format.
//!
//! A set says nothing about the properties of its CPUs; the topology holds those.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Number that the kernel gave a logical CPU (one hardware thread). The numbers may have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Largest accepted CPU number. Linux's `NR_CPUS` is at most 8192 (`arch/x86/Kconfig`), so that a
/// larger number is a typing error. A range up to such a number must not allocate gigabytes.
pub(crate) const MAX_CPU: u32 = 8191;

/// Ordered set of CPUs. The text form is the kernel's list format, `0-3,8,10-11`; JSON uses the
/// same form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "String"))]
pub struct CpuSet(BTreeSet<CpuId>);

impl CpuSet {
    /// Creates the empty set.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the set has no CPUs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `cpu` is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds `cpu`; returns false if the CPU was already in the set.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        self.0.insert(cpu)
    }

    /// Removes `cpu`; returns false if the CPU was not in the set.
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        self.0.remove(&cpu)
    }

    /// Lowest CPU of the set.
    pub fn first(&self) -> Option<CpuId> {
        self.0.first().copied()
    }

    /// CPUs in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    /// CPUs of this set that are not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        self.0.difference(&other.0).copied().collect()
    }

    /// CPUs in either set.
    pub fn union(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }

    /// Returns whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = CpuId> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    /// Writes the kernel's list format, `%*pbl`: ranges of consecutive numbers, joined by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|c| c.0).peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

/// Error for a text that is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` is not a CPU number or range: write a list like 0-3,8")]
pub struct ParseCpuSetError {
    part: String,
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    /// Parses the kernel's list format; the empty text is the empty set. Strides (`0-31:2/4`) are
    /// rejected: the kernel accepts them but never prints them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut set = Self::new();
        for part in text.trim().split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
            let (first, last) = range.ok_or_else(|| ParseCpuSetError { part: part.to_owned() })?;
            set.0.extend((first..=last).map(CpuId));
        }
        Ok(set)
    }
}

/// Parses a CPU number that consists of digits only; `u32::from_str` would also accept a sign.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&n| digits && n <= MAX_CPU)
}

impl Serialize for CpuSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_read_as_the_kernel_writes_them() {
        let set: CpuSet = "0-3,8,10-11\n".parse().unwrap();
        assert_eq!(set.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(set.to_string(), "0-3,8,10-11");
        assert_eq!("".parse::<CpuSet>().unwrap(), CpuSet::new());
    }

    #[test]
    fn bad_lists_are_refused_by_name() {
        for text in ["a", "3-1", "1,,2", "-1", "+1", "0-", "0-99999999", "1;2"] {
            let error = text.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.contains("write a list like"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(cpus in prop::collection::btree_set(0u32..600, 0..100)) {
            let set: CpuSet = cpus.into_iter().map(CpuId).collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }
    }
}
