//! Finds the figure that a command prints.

use morecores_record::Metric;
use regex::Regex;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum MetricError {
    /// The expression cannot be read.
    #[error("--metric `{regex}`: {reason}")]
    Regex {
        /// The expression.
        regex: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It matched nothing.
    #[error("--metric `{regex}` matched nothing in what the command printed; its last line was: {last_line}")]
    NoMatch {
        /// The expression.
        regex: String,
        /// The last line of the output.
        last_line: String,
    },
    /// It matched something that is no number above zero.
    #[error("--metric `{regex}` matched `{text}`, which is not a number above zero")]
    NotANumber {
        /// The expression.
        regex: String,
        /// What it matched.
        text: String,
    },
}

/// A compiled metric.
#[derive(Debug)]
pub(super) struct MetricReader {
    regex: Regex,
}

impl MetricReader {
    pub(super) fn new(metric: &Metric) -> Result<Self, MetricError> {
        // A person thinks of one line at a time: ^ and $ mean the line's ends.
        let built = regex::RegexBuilder::new(&metric.regex).multi_line(true).build();
        let regex = built.map_err(|error| MetricError::Regex {
            regex: metric.regex.clone(),
            // The lines before draw the expression; the last one says what is wrong.
            reason: error
                .to_string()
                .lines()
                .next_back()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
        })?;
        Ok(Self { regex })
    }

    /// The last match's first group, or the whole match where there is no group. Commas between digits are the
    /// thousands of many benchmarks' output and are passed over.
    pub(super) fn read(&self, output: &str) -> Result<f64, MetricError> {
        let regex = || self.regex.as_str().to_owned();
        let found = self.regex.captures_iter(output).last().and_then(|found| found.get(1).or(found.get(0)));
        let Some(found) = found else {
            let last_line = output.trim_end().lines().next_back().unwrap_or("(nothing)").to_owned();
            return Err(MetricError::NoMatch { regex: regex(), last_line });
        };
        let text = found.as_str().trim();
        let value =
            text.replace(',', "").parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        value.ok_or_else(|| MetricError::NotANumber { regex: regex(), text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_record::Better;

    fn reader(regex: &str) -> MetricReader {
        MetricReader::new(&Metric { regex: regex.into(), unit: None, better: Better::Higher }).unwrap()
    }

    #[test]
    fn the_last_match_counts() {
        let output = "warm-up: 12.5 ops/s\nRequests/sec:  1,234.5\nRequests/sec:  2,345.5\nbye\n";
        assert_eq!(reader(r"Requests/sec:\s+(\S+)").read(output).unwrap(), 2345.5);
        assert_eq!(reader(r"^[0-9.]+$").read("x\n1e3\n42\n").unwrap(), 42.0);
    }

    #[test]
    fn what_is_no_figure_is_said() {
        let no_match = reader("ops=(.*)").read("done\n").unwrap_err().to_string();
        assert!(no_match.contains("its last line was: done"), "{no_match}");
        for text in ["ops=fast", "ops=0", "ops=-3", "ops=inf"] {
            assert!(matches!(reader("ops=(.*)").read(text), Err(MetricError::NotANumber { .. })), "{text}");
        }
        let bad = Metric { regex: "(".into(), unit: None, better: Better::Higher };
        assert!(matches!(MetricReader::new(&bad), Err(MetricError::Regex { .. })));
    }
}
