//! What the sources published: the measurements that the built-in workloads repeat, as they were printed.
//!
//! The facts are in `fixtures/published.json`; this module reads them and knows which of two values to believe where a
//! source contradicts itself. It must not compare them with anything.

use std::collections::BTreeMap;

use serde::Deserialize;

/// All of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Published {
    /// Author and title of each source, by its number.
    pub sources: BTreeMap<String, String>,
    /// Year of each source that has a known one, by its number.
    pub years: BTreeMap<String, u32>,
    /// The machines.
    pub systems: BTreeMap<String, PublishedSystem>,
    /// The measurements, in the order of the sources.
    pub measurements: Vec<PublishedRow>,
}

/// A machine of a source.
#[derive(Clone, Debug, Deserialize)]
pub struct PublishedSystem {
    /// Its processors.
    pub cpu: String,
    /// The same in our own words, for a narrow table.
    pub short: String,
    /// How many.
    pub n_cpus: u32,
    /// Its operating system.
    pub os: String,
}

/// A value as it was printed: most are numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Printed {
    /// A number.
    Number(f64),
    /// Words: `less than 0.1`.
    Text(String),
}

/// A row of a table, or a figure of a text. What a source does not give is absent.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PublishedRow {
    /// Source, table and row: `003.T1.2CPU`.
    pub id: String,
    /// The source's number.
    pub source: String,
    /// The table or section.
    #[serde(rename = "where", default)]
    pub place: String,
    /// The machine's key in [`Published::systems`].
    pub system: Option<String>,
    /// What was run.
    #[serde(default)]
    pub workload: String,
    /// On what, in the source's words.
    pub config: Option<String>,
    /// On how many CPUs.
    pub n_cpus: Option<u32>,
    /// The number of CPUs and what sets the row apart from others on as many, in our own words: `2, average`.
    pub label: Option<String>,
    #[serde(rename = "elapsed_s_printed")]
    elapsed_s: Option<f64>,
    #[serde(rename = "speedup_printed")]
    speedup: Option<f64>,
    /// Operations a second.
    #[serde(rename = "throughput_ops_s_printed")]
    pub operations_per_s: Option<f64>,
    /// Time holding the kernel's lock over CPU time, in percent.
    #[serde(rename = "lock_ratio_pct_printed")]
    pub lock_ratio_percent: Option<Printed>,
    /// Time waiting for it over CPU time, in percent.
    #[serde(rename = "waiting_ratio_pct_printed")]
    pub waiting_ratio_percent: Option<Printed>,
    /// CPU time in user mode, in seconds.
    #[serde(rename = "user_s_printed")]
    pub user_s: Option<f64>,
    /// In the kernel.
    #[serde(rename = "system_s_printed")]
    pub system_s: Option<f64>,
    /// The part that one process did alone, in minutes.
    #[serde(rename = "serial_part_min_printed")]
    pub serial_minutes: Option<f64>,
    /// Of a command: how often it was begun.
    pub calls: Option<u64>,
    /// Of a command: its share of the time, in percent.
    #[serde(rename = "exec_time_ratio_pct_printed")]
    pub cpu_ratio_percent: Option<f64>,
    #[serde(default)]
    derived: Derived,
}

/// What follows from a row, or is right where what was printed cannot be.
#[derive(Clone, Debug, Default, Deserialize)]
struct Derived {
    elapsed_s: Option<f64>,
    speedup: Option<f64>,
    #[serde(rename = "speedup_vs_UP")]
    speedup_over_uniprocessor: Option<f64>,
}

impl Published {
    /// The facts that come with this build.
    ///
    /// # Errors
    /// None but with a damaged build: the text is part of it.
    pub fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(include_str!("../../../fixtures/published.json"))
    }

    /// The rows whose id begins like this, in order.
    pub fn rows<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a PublishedRow> {
        self.measurements.iter().filter(move |row| row.id.starts_with(prefix))
    }
}

impl PublishedRow {
    /// Elapsed time in seconds; the corrected one where the printed one stands in the wrong column.
    pub fn elapsed_s(&self) -> Option<f64> {
        self.derived.elapsed_s.or(self.elapsed_s)
    }

    /// Speedup over one CPU; from the times where it was not printed.
    pub fn speedup(&self) -> Option<f64> {
        let Derived { speedup, speedup_over_uniprocessor, .. } = self.derived;
        speedup.or(self.speedup).or(speedup_over_uniprocessor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_read_and_the_columns_that_shifted_are_put_right() {
        let published = Published::read().unwrap();
        let row = published.rows("003.T2.1CPU").next().unwrap();
        assert_eq!((row.elapsed_s(), row.speedup()), (Some(254.0), Some(1.0)));
        assert_eq!(row.lock_ratio_percent, Some(Printed::Text("less than 0.1".to_owned())));
        let make = published.rows("003.T3.2CPU").next().unwrap();
        assert_eq!((make.speedup(), &make.waiting_ratio_percent), (Some(1.81), &Some(Printed::Number(1.52))));
        assert_eq!(published.rows("002.build.SMP2").next().unwrap().speedup(), Some(1.2449));
        assert_eq!(published.rows("003.T5.").filter(|row| row.calls.is_some()).count(), 6);
    }

    #[test]
    fn rows_on_as_many_cpus_of_a_machine_are_told_apart() {
        let published = Published::read().unwrap();
        for prefix in ["000.make.", "001.wmake.", "002.build.", "004.T4."] {
            let mut seen = std::collections::BTreeSet::new();
            for row in published.rows(prefix) {
                assert!(seen.insert((&row.system, &row.label)), "{}", row.id);
            }
        }
        let mut names = std::collections::BTreeSet::new();
        for system in published.systems.values() {
            // The narrowest to which the terminal cuts a column of names.
            assert!(system.short.len() <= 14 && names.insert(&system.short), "{}", system.short);
        }
    }

    #[test]
    fn years_are_of_sources() {
        let published = Published::read().unwrap();
        assert!(published.years.keys().all(|source| published.sources.contains_key(source)));
        assert_eq!(published.years["004"], 1992);
    }

    #[test]
    fn every_row_names_a_source_and_a_system_that_there_are() {
        let published = Published::read().unwrap();
        for row in &published.measurements {
            assert!(published.sources.contains_key(&row.source), "{}", row.id);
            let system = row.system.as_ref();
            assert!(system.is_none_or(|system| published.systems.contains_key(system)), "{}", row.id);
        }
    }
}
