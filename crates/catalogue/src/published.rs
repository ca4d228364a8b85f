//! Published measurements that the built-in workloads repeat, as the sources printed them.
//!
//! The facts are in `fixtures/published.json`. This module reads them and decides between two
//! values if a source contradicts itself. This module must not compare the facts with anything.

use std::collections::BTreeMap;
use std::num::ParseFloatError;

use serde::Deserialize;

/// All published facts.
#[derive(Clone, Debug, Deserialize)]
pub struct PublishedFacts {
    /// Author and title of each source, by the source's number.
    pub sources: BTreeMap<String, String>,
    /// Year of each source with a known year, by the source's number.
    pub years: BTreeMap<String, u32>,
    /// Machines of the sources, by key.
    pub systems: BTreeMap<String, PublishedSystem>,
    /// Measurements, in the order of the sources.
    pub measurements: Vec<PublishedRow>,
}

/// Machine of a source.
#[derive(Clone, Debug, Deserialize)]
pub struct PublishedSystem {
    /// Processors of the machine.
    pub cpu: String,
    /// Processors of the machine in morecores' own words, for a narrow table.
    pub short: String,
    /// Number of processors.
    pub n_cpus: u32,
    /// Operating system of the machine.
    pub os: String,
}

/// Percentage that a source gives.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "PrintedPercentage")]
pub enum Percentage {
    /// Percentage itself.
    Exact(f64),
    /// Bound that the percentage is below.
    LessThan(f64),
}

/// Percentage as it was printed: a number, or words such as `less than 0.1`.
#[derive(Deserialize)]
#[serde(untagged)]
enum PrintedPercentage {
    Number(f64),
    Text(String),
}

impl TryFrom<PrintedPercentage> for Percentage {
    type Error = ParseFloatError;

    fn try_from(printed: PrintedPercentage) -> Result<Self, ParseFloatError> {
        let text = match &printed {
            PrintedPercentage::Number(percent) => return Ok(Self::Exact(*percent)),
            // A leading dash is the empty cell beside it.
            PrintedPercentage::Text(text) => text.trim_start_matches(['–', ' ']),
        };
        match text.strip_prefix("less than ") {
            Some(bound) => bound.parse().map(Self::LessThan),
            None => text.parse().map(Self::Exact),
        }
    }
}

/// Row of a table, or figure in a text. A value that the source does not give is absent.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PublishedRow {
    /// Identifier: source, table and row, such as `003.T1.2CPU`.
    pub id: String,
    /// Number of the source.
    pub source: String,
    /// Table or section of the source.
    #[serde(rename = "where", default)]
    pub place: String,
    /// Key of the machine in [`PublishedFacts::systems`].
    pub system: Option<String>,
    /// Workload that was run.
    #[serde(default)]
    pub workload: String,
    /// Configuration of the machine, in the source's words.
    pub config: Option<String>,
    /// Number of CPUs.
    pub n_cpus: Option<u32>,
    /// Number of CPUs, and the difference from other rows on the same number, in morecores' own
    /// words: `2, average`.
    pub label: Option<String>,
    #[serde(rename = "elapsed_s_printed")]
    elapsed_s: Option<f64>,
    #[serde(rename = "speedup_printed")]
    speedup: Option<f64>,
    /// Operations per second.
    #[serde(rename = "throughput_ops_s_printed")]
    pub operations_per_s: Option<f64>,
    /// Time holding the kernel's lock over CPU time, in percent.
    #[serde(rename = "lock_ratio_pct_printed")]
    pub lock_ratio_percent: Option<Percentage>,
    /// Time waiting for the kernel's lock over CPU time, in percent.
    #[serde(rename = "waiting_ratio_pct_printed")]
    pub waiting_ratio_percent: Option<Percentage>,
    /// CPU time in user mode, in seconds.
    #[serde(rename = "user_s_printed")]
    pub user_s: Option<f64>,
    /// CPU time in the kernel, in seconds.
    #[serde(rename = "system_s_printed")]
    pub system_s: Option<f64>,
    /// Part that one process did alone, in minutes.
    #[serde(rename = "serial_part_min_printed")]
    pub serial_minutes: Option<f64>,
    /// Name of the command; only in rows about a command of the workload.
    pub command: Option<String>,
    /// Number of starts of a command; only in rows about a command.
    pub calls: Option<u64>,
    /// Share of a command in the time, in percent; only in rows about a command.
    #[serde(rename = "exec_time_ratio_pct_printed")]
    pub cpu_ratio_percent: Option<f64>,
    #[serde(default)]
    derived: Derived,
}

/// Values derived from a row, or corrections of printed values that cannot be right.
#[derive(Clone, Debug, Default, Deserialize)]
struct Derived {
    elapsed_s: Option<f64>,
    speedup: Option<f64>,
    #[serde(rename = "speedup_vs_UP")]
    speedup_over_uniprocessor: Option<f64>,
    /// Speedup over the unchanged serial program on the same machine.
    #[serde(rename = "speedup_vs_orig_SMP")]
    speedup_over_original: Option<f64>,
}

impl PublishedFacts {
    /// Reads the facts that are part of this build.
    ///
    /// # Errors
    /// Fails only if the build is damaged, because the text is part of the build.
    pub fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(include_str!("../../../fixtures/published.json"))
    }

    /// Rows whose identifier starts with `prefix`, in order.
    pub fn rows<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a PublishedRow> {
        self.measurements.iter().filter(move |row| row.id.starts_with(prefix))
    }
}

impl PublishedRow {
    /// Elapsed time in seconds; the corrected time if the printed time is in the wrong column.
    pub fn elapsed_s(&self) -> Option<f64> {
        self.derived.elapsed_s.or(self.elapsed_s)
    }

    /// Speedup over one CPU; computed from the times if the source did not print a speedup.
    pub fn speedup(&self) -> Option<f64> {
        let Derived { speedup, speedup_over_uniprocessor, speedup_over_original, .. } = self.derived;
        speedup.or(self.speedup).or(speedup_over_uniprocessor).or(speedup_over_original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_and_shifted_columns_are_corrected() {
        let published = PublishedFacts::read().unwrap();
        let row = published.rows("003.T2.1CPU").next().unwrap();
        assert_eq!((row.elapsed_s(), row.speedup()), (Some(254.0), Some(1.0)));
        assert_eq!(row.lock_ratio_percent, Some(Percentage::LessThan(0.1)));
        let make = published.rows("003.T3.2CPU").next().unwrap();
        assert_eq!((make.speedup(), make.waiting_ratio_percent), (Some(1.81), Some(Percentage::Exact(1.52))));
        assert_eq!(published.rows("002.build.SMP2").next().unwrap().speedup(), Some(1.2449));
        assert_eq!(published.rows("001.wmake.3").next().unwrap().speedup(), Some(1.4857));
        let commands: Vec<_> = published.rows("003.T5.").filter_map(|row| row.command.as_deref()).collect();
        assert_eq!(commands, ["make", "ld", "gcc", "cc1", "cpp", "ar"]);
        assert_eq!(published.rows("").filter(|row| row.calls.is_some() != row.command.is_some()).count(), 0);
        assert!(serde_json::from_str::<Percentage>("\"few\"").is_err());
    }

    #[test]
    fn rows_of_equal_machine_and_cpu_count_are_distinguished() {
        let published = PublishedFacts::read().unwrap();
        for prefix in ["000.make.", "001.wmake.", "002.build.", "004.T4."] {
            let mut seen = std::collections::BTreeSet::new();
            for row in published.rows(prefix) {
                assert!(seen.insert((&row.system, &row.label)), "{}", row.id);
            }
        }
        let mut names = std::collections::BTreeSet::new();
        for system in published.systems.values() {
            // Smallest width to which the terminal cuts a column of names.
            assert!(system.short.len() <= 14 && names.insert(&system.short), "{}", system.short);
        }
    }

    #[test]
    fn years_come_from_the_sources() {
        let published = PublishedFacts::read().unwrap();
        assert!(published.years.keys().all(|source| published.sources.contains_key(source)));
        assert_eq!(published.years["004"], 1992);
    }

    #[test]
    fn every_row_names_an_existing_source_and_system() {
        let published = PublishedFacts::read().unwrap();
        for row in &published.measurements {
            assert!(published.sources.contains_key(&row.source), "{}", row.id);
            let system = row.system.as_ref();
            assert!(system.is_none_or(|system| published.systems.contains_key(system)), "{}", row.id);
        }
    }
}
