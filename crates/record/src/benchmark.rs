//! The classic benchmarks: for each, what the sources published and the studies that measure it again.
//!
//! A table of names and arguments. It must not run anything, and holds no figure: those are in
//! [`Published`](crate::Published) and in the studies.

/// A benchmark of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// The workload's name.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What is measured of it, in the order in which it is shown.
    pub parts: &'static [BenchmarkPart],
}

/// One study of a benchmark beside what was published of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchmarkPart {
    /// Name of the study; parts with the same name are shown from one study.
    pub study: &'static str,
    /// What sets it apart within the benchmark.
    pub what: &'static str,
    /// How the ids of the published rows begin.
    pub published: &'static [&'static str],
    /// Arguments of the workload with which a run takes some tenths of a second; `{n}` becomes the CPU count.
    pub quick: &'static str,
    /// Arguments with which it takes as long as its defaults: seconds.
    pub full: &'static str,
    /// What is compared.
    pub measure: Measure,
}

/// What of a benchmark is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Elapsed time.
    Elapsed,
    /// Elapsed time outside the serial phases, which the trace tells.
    ParallelPart,
    /// A figure that the workload prints: a regular expression whose first group it is, and its unit. More is better.
    Figure(&'static str, &'static str),
}

impl Benchmark {
    /// All of them, in alphabetical order.
    pub const ALL: &'static [Self] = &[Self {
        name: "soften",
        title: "the softening of a true-colour bitmap",
        parts: &[BenchmarkPart {
            study: "soften",
            what: "1280x1024",
            published: &["001.soften."],
            quick: "--threads {n} --passes 1200",
            full: "--threads {n}",
            measure: Measure::Elapsed,
        }],
    }];

    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|benchmark| benchmark.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Published;
    use std::collections::BTreeMap;

    #[test]
    fn every_part_finds_what_was_published_and_studies_have_one_meaning() {
        let published = Published::read().unwrap();
        let mut studies = BTreeMap::new();
        for benchmark in Benchmark::ALL {
            assert!(!benchmark.parts.is_empty(), "{}", benchmark.name);
            for part in benchmark.parts {
                for prefix in part.published {
                    assert!(published.rows(prefix).next().is_some(), "{}: {prefix}", part.study);
                }
                assert!(part.study.starts_with(benchmark.name), "{}", part.study);
                let arguments = (part.quick, part.full);
                let before = studies.insert(part.study, arguments);
                assert!(before.is_none_or(|before| before == arguments), "{}", part.study);
            }
        }
    }

    #[test]
    fn they_are_in_alphabetical_order() {
        assert!(Benchmark::ALL.is_sorted_by_key(|benchmark| benchmark.name));
    }
}
