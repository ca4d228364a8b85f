//! Classic benchmarks: for each one, the published results and the studies that measure it again.
//!
//! This module is a table of names and arguments. It must not run anything and holds no figure: the
//! figures are in [`PublishedFacts`](crate::PublishedFacts) and in the studies.

/// Benchmark of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benchmark {
    /// Name of the workload.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// Measured parts, in the order in which they are shown.
    pub parts: &'static [BenchmarkPart],
}

/// One study of a benchmark, and the corresponding published results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchmarkPart {
    /// Name of the study; parts with the same name are shown from one study.
    pub study: &'static str,
    /// Property that distinguishes the part within the benchmark.
    pub what: &'static str,
    /// Prefixes of the identifiers of the published rows.
    pub published: &'static [&'static str],
    /// Workload arguments for a run of some tenths of a second; `{n}` becomes the CPU count.
    pub quick: &'static str,
    /// Workload arguments for a run as long as with the workload's defaults: seconds.
    pub full: &'static str,
    /// Compared quantity.
    pub measure: Measure,
}

/// Compared quantity of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Elapsed time.
    Elapsed,
    /// Time of the parallel part, which the workload prints in seconds. The first group of the
    /// regular expression is that time. The rest of the elapsed time is the serial part.
    ParallelPart(&'static str),
    /// Figure that the workload prints; more is better. The first group of the regular expression
    /// is the figure; the second string is its unit.
    Figure(&'static str, &'static str),
}

impl Measure {
    /// Returns whether a ratio of two measured values is a speedup. A ratio of shares in percent is
    /// not.
    pub fn is_speed(self) -> bool {
        !matches!(self, Self::Figure(_, unit) if unit.starts_with('%'))
    }
}

/// Creates a part that is compared by its elapsed time.
const fn part(
    study: &'static str,
    what: &'static str,
    published: &'static [&'static str],
    quick: &'static str,
    full: &'static str,
) -> BenchmarkPart {
    BenchmarkPart { study, what, published, quick, full, measure: Measure::Elapsed }
}

impl BenchmarkPart {
    const fn by(self, measure: Measure) -> Self {
        Self { measure, ..self }
    }
}

/// Program that holds the workloads, as it is found on the PATH.
pub const WORK: &str = "morecores-work";

impl Benchmark {
    /// Benchmark that a command such as `morecores-work build …` runs; `None` for any other
    /// command.
    pub fn find_by_command(words: &[String]) -> Option<&'static Self> {
        let [program, name, ..] = words else { return None };
        let is_ours = program.rsplit('/').next() == Some(WORK);
        if is_ours { Self::named(name) } else { None }
    }

    /// All benchmarks, in alphabetical order.
    pub const ALL: &'static [Self] = &[
        Self {
            name: "build",
            title: "a parallel build",
            parts: &[
                // The project exists wherever there is a compiler; `--source debian` builds a
                // kernel, in minutes.
                part(
                    "build",
                    "all of it",
                    &["003.T3.", "003.T4.", "003.T5.", "002.build.", "000.make."],
                    "--threads {n} --files 4",
                    "--threads {n}",
                ),
                part(
                    "build-parallel",
                    "its parallel part",
                    &["004.T3."],
                    "--threads {n} --files 4",
                    "--threads {n}",
                )
                .by(Measure::ParallelPart("parallel ([0-9.]+) s")),
                part(
                    "build-serial",
                    "a serial makefile, its compilations beside it",
                    &["001.wmake."],
                    "--by overlap --threads {n} --files 4",
                    "--by overlap --threads {n}",
                ),
            ],
        },
        Self {
            name: "cache",
            title: "one working set, by threads that stay on their CPU, may leave it, and must",
            parts: &[
                part(
                    "cache-pinned",
                    "256 KiB, pinned",
                    &[],
                    "--placement pinned --threads {n} --sizes 256KiB --loads 20000000",
                    "--placement pinned --threads {n} --sizes 256KiB --loads 200000000",
                )
                .by(Measure::Figure("([0-9.]+) million loads/s", "million/s")),
                part(
                    "cache-free",
                    "256 KiB, free",
                    &[],
                    "--placement free --threads {n} --sizes 256KiB --loads 20000000",
                    "--placement free --threads {n} --sizes 256KiB --loads 200000000",
                )
                .by(Measure::Figure("([0-9.]+) million loads/s", "million/s")),
                part(
                    "cache-migrating",
                    "256 KiB, migrating",
                    &[],
                    "--placement migrating --threads {n} --sizes 256KiB --loads 20000000",
                    "--placement migrating --threads {n} --sizes 256KiB --loads 200000000",
                )
                .by(Measure::Figure("([0-9.]+) million loads/s", "million/s")),
            ],
        },
        Self {
            name: "count",
            title: "processes and threads that only count",
            parts: &[
                part(
                    "count-processes",
                    "eight processes",
                    &["004.T1."],
                    "--threads 4 --fork --each 100000000",
                    "--threads 4 --fork --each 1000000000",
                ),
                part(
                    "count-threads",
                    "threads",
                    &["001.count."],
                    "--by threads --threads {n} --total 1000000000",
                    "--by threads --threads {n}",
                ),
            ],
        },
        Self {
            name: "counter",
            title: "the lost update: what survives where several threads increment one counter",
            parts: &[
                part(
                    "counter-plain",
                    "plain",
                    &[],
                    "--kind plain --threads 4 --increments 50000000",
                    "--kind plain --threads 4",
                )
                .by(Measure::Figure("plain survived ([0-9.]+) %", "% survive")),
                part(
                    "counter-locked",
                    "locked",
                    &[],
                    "--kind locked --threads {n} --increments 8000000",
                    "--kind locked --threads {n}",
                )
                .by(Measure::Figure("locked rate ([0-9.]+) million/s", "million/s")),
                part(
                    "counter-atomic",
                    "atomic",
                    &[],
                    "--kind atomic --threads {n} --increments 25000000",
                    "--kind atomic --threads {n}",
                )
                .by(Measure::Figure("atomic rate ([0-9.]+) million/s", "million/s")),
            ],
        },
        Self {
            name: "kernel-locks",
            title: "operations that meet one lock of the kernel each",
            parts: &[
                part(
                    "kernel-locks-dentry",
                    "directory entries",
                    &[],
                    "--lock dentry --threads {n} --operations 40000",
                    "--lock dentry --threads {n}",
                ),
                part(
                    "kernel-locks-file-offset",
                    "one file's offset",
                    &[],
                    "--lock file-offset --threads {n} --operations 1000000",
                    "--lock file-offset --threads {n} --operations 3000000",
                ),
                part(
                    "kernel-locks-mmap",
                    "mappings of one address space",
                    &[],
                    "--lock mmap --threads {n} --operations 100000",
                    "--lock mmap --threads {n}",
                ),
                part(
                    "kernel-locks-mmap-processes",
                    "mappings of an address space each",
                    &[],
                    "--lock mmap --by processes --threads {n} --operations 100000",
                    "--lock mmap --by processes --threads {n}",
                ),
            ],
        },
        Self {
            name: "keysearch",
            title: "the exhaustive search for an RC5 key",
            parts: &[part("keysearch", "vector registers", &[], "--threads {n} --bits 24", "--threads {n}")],
        },
        Self {
            name: "matmul",
            title: "the product of two matrices",
            parts: &[
                part(
                    "matmul",
                    "classic",
                    &["003.T1.", "003.T2."],
                    "--threads {n} --size 600",
                    "--threads {n}",
                ),
                part(
                    "matmul-tuned",
                    "tuned",
                    &[],
                    "--kernel tuned --threads {n} --repeat 6",
                    "--kernel tuned --threads {n}",
                ),
            ],
        },
        Self {
            name: "multiuser",
            title: "simulated users at terminals",
            parts: &[part(
                "multiuser",
                "four users",
                &["004.T4."],
                "--threads 4 --rounds 4",
                "--threads 4 --rounds 40",
            )],
        },
        Self {
            name: "pipe",
            title: "pairs of processes that pass data back and forth",
            parts: &[
                part(
                    "pipe-1",
                    "one pair",
                    &["004.T2.1copy."],
                    "--threads 1 --operations 12000",
                    "--threads 1 --operations 100000",
                ),
                part(
                    "pipe-2",
                    "two pairs",
                    &["004.T2.2copy."],
                    "--threads 2 --operations 20000",
                    "--threads 2 --operations 100000",
                )
                .by(Measure::Figure("([0-9.]+) operations/s", "op/s")),
                part(
                    "pipe-4",
                    "four pairs",
                    &["004.T2.6.49", "004.T2.8.15"],
                    "--threads 4 --operations 10000",
                    "--threads 4 --operations 50000",
                ),
            ],
        },
        Self {
            name: "quicksort",
            title: "sorting with both sides of a cut in parallel",
            parts: &[part(
                "quicksort",
                "random numbers",
                &[],
                "--threads {n} --items 5000000",
                "--threads {n}",
            )
            .by(Measure::Figure("([0-9.]+) million numbers/s", "million/s"))],
        },
        Self {
            name: "raytrace",
            title: "POV-Ray on a scene of glass, marble and clouds",
            parts: &[part(
                "raytrace",
                "a glass vase",
                &["002.pov"],
                "--threads {n} --width 160 --height 120",
                "--threads {n}",
            )],
        },
        Self {
            name: "soften",
            title: "the softening of a true-colour bitmap",
            parts: &[part(
                "soften",
                "row by row",
                &["001.soften."],
                "--threads {n} --passes 1200",
                "--threads {n}",
            )],
        },
        Self {
            name: "web",
            title: "a web server under load, server and load on the same CPUs",
            parts: &[
                part(
                    "web-15k",
                    "15 KB",
                    &["003.T6.", "003.T8."],
                    "--threads {n} --requests 1500",
                    "--threads {n} --requests 20000",
                )
                .by(Measure::Figure("([0-9.]+) requests/s", "requests/s")),
                part(
                    "web-150k",
                    "150 KB",
                    &["003.T7.", "003.T9."],
                    "--threads {n} --file 150 --requests 800",
                    "--threads {n} --file 150",
                )
                .by(Measure::Figure("([0-9.]+) requests/s", "requests/s")),
            ],
        },
    ];

    /// Benchmark with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|benchmark| benchmark.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PublishedFacts;
    use std::collections::BTreeMap;

    #[test]
    fn every_part_finds_its_published_rows_and_each_study_has_one_meaning() {
        let published = PublishedFacts::read().unwrap();
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
