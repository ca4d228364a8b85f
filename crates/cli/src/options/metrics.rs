//! Turns the texts of `--metric` and its companions into the figures to measure.

use anyhow::{Result, bail, ensure};
use morecores_study::{Better, DecimalMark, FurtherMetric, Metric, Output, Run};

use crate::args::RunArgs;

/// Requested figures from the command's output.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Metric that decides.
    pub(super) metric: Option<Metric>,
    pub(super) further: Vec<FurtherMetric>,
    pub(super) decimal_mark: Option<DecimalMark>,
}

impl Metrics {
    /// Reads the arguments.
    pub(super) fn new(args: &RunArgs) -> Result<Self> {
        let named: Vec<(Option<&str>, &str)> = args.metric.iter().map(|text| split_name(text)).collect();
        let Some(((name, regex), rest)) = named.split_first() else { return Ok(Self::default()) };
        ensure!(
            matches!(args.output, Output::Captured),
            "--metric reads what the command prints: leave --output at capture"
        );
        check_names(&named)?;
        let units = Units::new(&args.unit, &named)?;
        let better = if args.lower_is_better { Better::Lower } else { Better::Higher };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let further = rest.iter().filter_map(|(name, regex)| {
            let name = (*name)?;
            Some(FurtherMetric {
                name: name.to_owned(),
                regex: (*regex).to_owned(),
                unit: owned(units.unit_for(Some(name))),
            })
        });
        Ok(Self {
            metric: Some(Metric {
                name: owned(*name),
                regex: (*regex).to_owned(),
                unit: owned(units.first.or(units.unit_for(*name))),
                better,
            }),
            further: further.collect(),
            decimal_mark: args.decimal_mark,
        })
    }
}

/// Splits a metric into name and expression. A name starts with a letter and contains letters,
/// digits, `_`, `.` and `-`. If the command prints a name as text, the parser of the figures
/// refuses it.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    match text.split_once('=') {
        Some((name, regex)) if is_name(name) => (Some(name), regex),
        _ => (None, text),
    }
}

fn check_names(named: &[(Option<&str>, &str)]) -> Result<()> {
    for (at, (name, regex)) in named.iter().enumerate() {
        match name {
            None if named.len() > 1 => {
                bail!(
                    "--metric {regex}: each of several metrics needs a name, as in --metric latency='{regex}'"
                )
            }
            Some(name) if named[..at].iter().any(|(other, _)| other == &Some(*name)) => {
                bail!("--metric {name} is given twice: give each figure a name of its own")
            }
            _ => {}
        }
        ensure!(!regex.is_empty(), "--metric {}: the expression is missing", name.unwrap_or_default());
    }
    Ok(())
}

/// Units from the arguments: of the first metric, and of named ones.
struct Units<'a> {
    first: Option<&'a str>,
    named: Vec<(&'a str, &'a str)>,
}

impl<'a> Units<'a> {
    fn new(texts: &'a [String], metrics: &[(Option<&str>, &str)]) -> Result<Self> {
        let mut units = Self { first: None, named: Vec::new() };
        for text in texts {
            match text.split_once('=') {
                Some((name, unit)) if metrics.iter().any(|(own, _)| *own == Some(name)) => {
                    ensure!(
                        units.unit_for(Some(name)).is_none(),
                        "--unit {name}= is given twice: leave out one"
                    );
                    units.named.push((name, unit));
                }
                _ => {
                    let first = metrics.first().and_then(|(name, _)| *name).unwrap_or("NAME");
                    ensure!(
                        units.first.is_none(),
                        "--unit {text}: the first metric has a unit already; write NAME=TEXT for another metric"
                    );
                    ensure!(
                        metrics.len() < 2 || !text.contains('='),
                        "--unit {text}: no --metric has this name; the first is {first}"
                    );
                    units.first = Some(text);
                }
            }
        }
        Ok(units)
    }

    fn unit_for(&self, name: Option<&str>) -> Option<&'a str> {
        self.named.iter().find(|(own, _)| Some(*own) == name).map(|(_, unit)| *unit)
    }
}

/// Note on a resumed study whose figures an older version read. That version took every comma for a
/// thousands separator, and kept only the value.
pub(crate) fn note_of_older_figures(runs: &[Run]) -> Option<String> {
    let older = runs.iter().filter(|run| run.metric.is_some() && run.figures.is_empty()).count();
    (older > 0).then(|| {
        format!(
            "an older morecores read the figures of {older} run{} and took every comma for a thousands separator: if the \
             command prints decimal commas, measure again with another -o",
            if older == 1 { "" } else { "s" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::{Figure, Nanos};

    #[test]
    fn figures_of_an_older_version_are_recognised_by_missing_fields() {
        let older =
            Run { metric: Some(99.0), ..morecores_testkit::run(&morecores_testkit::point(1), Nanos(1)) };
        let figure = Figure { name: None, value: 9.9, text: "9,9".to_owned(), unit: None };
        let newer = Run { figures: vec![figure], ..older.clone() };
        assert_eq!(note_of_older_figures(std::slice::from_ref(&newer)), None);
        let note = note_of_older_figures(&[older, newer]).unwrap();
        assert!(note.contains("of 1 run "), "{note}");
    }

    #[test]
    fn a_name_is_the_word_before_the_first_equals_sign() {
        assert_eq!(split_name("p99=lat ([0-9]+)"), (Some("p99"), "lat ([0-9]+)"));
        assert_eq!(split_name("a=b=(.*)"), (Some("a"), "b=(.*)"));
        for text in ["Requests/sec: +([0-9.]+)", "p99 lat=(.*)", "=(.*)", "(a)=(.*)", "9=(.*)"] {
            assert_eq!(split_name(text), (None, text));
        }
    }

    #[test]
    fn a_unit_belongs_to_the_first_or_to_the_named_metric() {
        let metrics = [(Some("rate"), "x"), (Some("p99"), "y")];
        let texts = ["req/s".to_owned(), "p99=ms".to_owned()];
        let units = Units::new(&texts, &metrics).unwrap();
        assert_eq!(
            (units.first, units.unit_for(Some("p99")), units.unit_for(Some("rate"))),
            (Some("req/s"), Some("ms"), None)
        );
        for wrong in [["s", "ms"], ["p99=ms", "p99=s"], ["s", "p50=ms"]] {
            let texts = wrong.map(str::to_owned);
            assert!(Units::new(&texts, &metrics).is_err(), "{texts:?}");
        }
    }
}
