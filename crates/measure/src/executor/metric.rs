//! Finds the figures that a command prints, and parses them so that none can be mistaken for
//! another.
//!
//! A reader remembers facts from a study's earlier runs: the decimal mark, and the unit of the
//! first figure. It rejects a number that has two possible values, or is part of a longer number.

mod context;
mod error;
mod marks;
mod number;
mod unit;

use std::ops::Range;

use morecores_study::{Better, Figure, Plan, Run};
use regex::Regex;

pub use error::{MetricError, MetricFault};

use context::PrintedNumber;
use marks::Marks;
use unit::{PrintedUnit, adjacent_unit, conversion};

/// Readers of all figures of a plan.
#[derive(Debug)]
pub(super) struct MetricReaders {
    readers: Vec<MetricReader>,
}

impl MetricReaders {
    /// Creates readers of the plan's metrics, for a command that prints its numbers under `locale`.
    pub(super) fn new(plan: &Plan, locale: &str) -> Result<Self, MetricError> {
        let marks = Marks::new(plan.decimal_mark, locale);
        let first = plan.metric.as_ref().map(|metric| {
            let range = match metric.better {
                Better::Higher => ValueRange::Rates,
                Better::Lower => ValueRange::Costs,
            };
            MetricReader::new(metric.name.as_deref(), &metric.regex, metric.unit.as_deref(), range, marks)
        });
        let further = plan.further_metrics.iter().map(|metric| {
            let unit = metric.unit.as_deref();
            MetricReader::new(Some(&metric.name), &metric.regex, unit, ValueRange::Anything, marks)
        });
        Ok(Self { readers: first.into_iter().chain(further).collect::<Result<_, _>>()? })
    }

    /// Learns from the runs that a study already has.
    pub(super) fn recall(&mut self, runs: &[Run]) {
        for figure in runs.iter().flat_map(|run| &run.figures) {
            let own = self.readers.iter_mut().find(|reader| reader.name == figure.name);
            own.into_iter().for_each(|reader| reader.recall(figure));
        }
    }

    /// All figures of one run, in the order of the plan, or the error of the first missing one.
    pub(super) fn read(&mut self, output: &str) -> Result<Vec<Figure>, MetricError> {
        self.readers.iter_mut().map(|reader| reader.read(output)).collect()
    }
}

/// Range of values that a metric can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueRange {
    /// Values above zero: a rate of zero allows no speedup.
    Rates,
    /// Values of zero and above.
    Costs,
    Anything,
}

/// Reader of one figure.
#[derive(Debug)]
struct MetricReader {
    name: Option<String>,
    regex: Regex,
    /// The option's text as a single expression, for the case that `NAME=` was meant as part of the
    /// expression.
    literal: Option<Regex>,
    range: ValueRange,
    marks: Marks,
    /// Unit that the user named, if it is a known one.
    label: Option<String>,
    /// Unit beside the first figure; the inner value is absent if that figure had no unit.
    first_unit: Option<Option<String>>,
}

impl MetricReader {
    fn new(
        name: Option<&str>,
        regex: &str,
        unit: Option<&str>,
        range: ValueRange,
        marks: Marks,
    ) -> Result<Self, MetricError> {
        let literal = name.and_then(|name| compile(&format!("{name}={regex}")).ok());
        let regex = compile(regex).map_err(|fault| MetricError {
            name: name.map(str::to_owned),
            metric: regex.to_owned(),
            fault: Box::new(fault),
        })?;
        let label = unit.filter(|unit| PrintedUnit::parse(unit).is_some()).map(str::to_owned);
        Ok(Self { name: name.map(str::to_owned), regex, literal, range, marks, label, first_unit: None })
    }

    fn recall(&mut self, figure: &Figure) {
        self.first_unit.get_or_insert_with(|| figure.unit.clone());
        // The text was parsed successfully when it was first read.
        let _ = self.marks.value(&figure.text);
    }

    fn read(&mut self, output: &str) -> Result<Figure, MetricError> {
        self.figure(output).map_err(|fault| {
            let name = self.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
            MetricError {
                name: self.name.clone(),
                metric: format!("{name}{}", self.regex),
                fault: Box::new(fault),
            }
        })
    }

    fn figure(&mut self, output: &str) -> Result<Figure, MetricFault> {
        let Some(found) = last_match(&self.regex, output) else {
            let last_line = output.trim_end().lines().next_back().unwrap_or("(nothing)").to_owned();
            return Err(MetricFault::NoMatch { last_line });
        };
        self.check_name(output, &found)?;
        let printed = PrintedNumber::new(output, found);
        let text = printed.text.to_owned();
        if let Some(whole) = printed.complete_text(self.marks.known()) {
            return Err(MetricFault::Part { text, whole });
        }
        let value = self.marks.value(&text)?;
        match self.range {
            ValueRange::Rates if value <= 0.0 => return Err(MetricFault::NoRate { text }),
            ValueRange::Costs if value < 0.0 => return Err(MetricFault::NoCost { text }),
            _ => {}
        }
        let (before, after) = printed.surroundings();
        let unit = adjacent_unit(&before, &after);
        match self.factor(unit.as_deref()) {
            Some(factor) => Ok(Figure { name: self.name.clone(), value: value * factor, text, unit }),
            None => {
                let usual = self.label.clone().or_else(|| self.first_unit.clone().flatten());
                Err(MetricFault::OtherUnit { text, unit, usual })
            }
        }
    }

    /// Rejects a name that the command prints before a figure other than the one that the
    /// expression finds.
    fn check_name(&self, output: &str, found: &Range<usize>) -> Result<(), MetricFault> {
        let (Some(name), Some(literal)) = (&self.name, &self.literal) else { return Ok(()) };
        match last_match(literal, output).filter(|as_text| as_text != found) {
            None => Ok(()),
            Some(as_text) => Err(MetricFault::NameOrText {
                name: name.clone(),
                regex: self.regex.to_string(),
                as_text: output[as_text].to_owned(),
                as_name: output[found.clone()].to_owned(),
            }),
        }
    }

    /// Factor from the unit beside a figure to the study's unit; `None` if it is not known.
    fn factor(&mut self, unit: Option<&str>) -> Option<f64> {
        let first = self.first_unit.get_or_insert_with(|| unit.map(str::to_owned)).as_deref();
        if first.is_some() != unit.is_some() {
            return None;
        }
        let label = self.label.as_deref().filter(|_| unit.and_then(PrintedUnit::parse).is_some());
        conversion(unit, label.or(first))
    }
}

/// Position of the number of the last match: its first group, or the whole match if there is no
/// group.
fn last_match(regex: &Regex, output: &str) -> Option<Range<usize>> {
    let found = regex.captures_iter(output).last()?;
    Some(found.get(1).or(found.get(0))?.range())
}

fn compile(regex: &str) -> Result<Regex, MetricFault> {
    // Users think of one line at a time, so ^ and $ match the ends of a line.
    regex::RegexBuilder::new(regex).multi_line(true).build().map_err(|error| {
        // The earlier lines draw the expression; the last line has the reason.
        let text = error.to_string();
        let reason = text.lines().next_back().unwrap_or_default();
        MetricFault::Expression { reason: reason.trim_start_matches("error: ").to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(regex: &str) -> MetricReader {
        MetricReader::new(None, regex, None, ValueRange::Rates, Marks::new(None, "C")).unwrap()
    }

    fn value(regex: &str, output: &str) -> Result<f64, MetricFault> {
        reader(regex).figure(output).map(|figure| figure.value)
    }

    #[test]
    fn the_last_match_counts() {
        let output = "warm-up: 12.5 ops/s\nRequests/sec:  1,234.5\nRequests/sec:  2,345.5\nbye\n";
        assert_eq!(value(r"Requests/sec:\s+(\S+)", output), Ok(2345.5));
        assert_eq!(value(r"^[0-9.e]+$", "x\n1e3\n42\n"), Ok(42.0));
    }

    #[test]
    fn output_without_a_figure_is_reported() {
        let no_match = reader("ops=(.*)").read("done\n").unwrap_err().to_string();
        assert!(no_match.contains("the last line was: done"), "{no_match}");
        for text in ["ops=fast", "ops=inf", "ops=1.2.3"] {
            assert!(matches!(value("ops=(.*)", text), Err(MetricFault::NotANumber { .. })), "{text}");
        }
        for text in ["ops=0", "ops=-3"] {
            assert!(matches!(value("ops=(.*)", text), Err(MetricFault::NoRate { .. })), "{text}");
        }
        let bad = MetricReader::new(None, "(", None, ValueRange::Rates, Marks::new(None, "C")).unwrap_err();
        assert!(matches!(*bad.fault, MetricFault::Expression { .. }));
    }

    #[test]
    fn a_cost_of_zero_is_a_figure() {
        let mut cost =
            MetricReader::new(None, "(.+)", None, ValueRange::Costs, Marks::new(None, "C")).unwrap();
        assert_eq!(cost.figure("0\n").unwrap().value, 0.0);
        assert_eq!(cost.figure("0.00\n").unwrap().value, 0.0);
        assert!(matches!(cost.figure("-1"), Err(MetricFault::NoCost { .. })));
    }

    #[test]
    fn a_decimal_comma_is_no_thousands_separator() {
        let mut reader = reader("throughput: ([0-9.,]+)");
        assert_eq!(reader.figure("throughput: 9,9 MB/s\n").unwrap().value, 9.9);
        assert_eq!(reader.figure("throughput: 10,15 MB/s\n").unwrap().value, 10.15);
        // An expression that matches only part of the number is rejected.
        let part = value("throughput: ([0-9.]+)", "throughput: 9,9 MB/s\n");
        assert_eq!(part, Err(MetricFault::Part { text: "9".into(), whole: "9,9".into() }));
    }

    #[test]
    fn a_unit_that_changes_is_converted_or_refused() {
        let mut time = reader("took ([0-9.]+)");
        assert_eq!(time.figure("took 980 us").unwrap().value, 980.0);
        assert!((time.figure("took 1.02 ms").unwrap().value - 1020.0).abs() < 1e-9);
        assert!(matches!(time.figure("took 1.02 m"), Err(MetricFault::OtherUnit { .. })));
        assert!(matches!(time.figure("took 1.02"), Err(MetricFault::OtherUnit { .. })));
        let mut rate = reader("([0-9.]+) .B/s");
        assert_eq!(rate.figure("980 KB/s").unwrap().unit.as_deref(), Some("KB/s"));
        assert!(matches!(rate.figure("1.02 MB/s"), Err(MetricFault::OtherUnit { .. })));
    }

    #[test]
    fn the_given_unit_is_checked_against_the_printed_one() {
        let labelled = |unit| {
            MetricReader::new(None, "([0-9.]+)", Some(unit), ValueRange::Rates, Marks::new(None, "C"))
                .unwrap()
        };
        assert!((labelled("ms").figure("1.5 s").unwrap().value - 1500.0).abs() < 1e-9);
        assert_eq!(labelled("ms").figure("1.5").unwrap().value, 1.5);
        assert_eq!(labelled("requests/s").figure("12 req/s").unwrap().value, 12.0);
        assert!(matches!(labelled("MB/s").figure("12 Mbit/s"), Err(MetricFault::OtherUnit { .. })));
    }

    #[test]
    fn a_name_that_the_command_prints_must_find_the_same_figure() {
        let named = |name, regex| {
            MetricReader::new(Some(name), regex, None, ValueRange::Rates, Marks::new(None, "C")).unwrap()
        };
        let output = "ops=12 time=3\n";
        assert!(matches!(named("ops", "([0-9]+)").figure(output), Err(MetricFault::NameOrText { .. })));
        assert_eq!(named("time", "([0-9]+)").figure(output).unwrap().value, 3.0);
        assert_eq!(named("ops", "ops=([0-9]+)").figure(output).unwrap().value, 12.0);
    }

    #[test]
    fn a_resumed_study_keeps_the_marks_of_its_figures() {
        let figure = reader("(.+) s").figure("1,5 s").unwrap();
        let mut resumed = reader("(.+) m?s");
        resumed.recall(&figure);
        assert!((resumed.figure("1,234 ms").unwrap().value - 0.001_234).abs() < 1e-12);
    }
}
