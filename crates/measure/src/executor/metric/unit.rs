//! Unit that a program prints beside a number. It must be the same in all runs, or convertible.
//!
//! A prefix whose size depends on the program is never converted (1 MB is 1,000,000 or 1,048,576
//! bytes).

use std::sync::LazyLock;

use regex::Regex;

/// Largest number of letters of a unit; longer words are prose.
const LONGEST: usize = 16;

/// A known unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PrintedUnit {
    /// Measured quantity: units of one kind differ only by a factor.
    kind: String,
    /// Factor to the kind's base unit; absent if it depends on the program.
    scale: Option<f64>,
}

/// Word that can be a unit: letters, percent and degree signs, with `/`, `·`, `^` and `-` between
/// them.
static WORD: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^[\p{L}%‰°$€][\p{L}%‰°/·*^²³⁻¹_-]*$|^/[\p{L}]+$"));
/// Unit of information, frequency or work, with its prefix.
static PREFIXED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^([kKMGTP]i?)?(B|[Bb]ytes?|b|[Bb]its?|Hz|FLOPS?|[Ff]lops?)$"));

fn expression(text: &str) -> Regex {
    #[allow(clippy::expect_used, reason = "the texts are constants; a test reads each")]
    Regex::new(text).expect("an expression")
}

/// Unit beside a number: the word after it, or otherwise the word or the bracket before it.
pub(super) fn adjacent_unit(before: &str, after: &str) -> Option<String> {
    unit_after(after).or_else(|| unit_before(before))
}

fn unit_after(after: &str) -> Option<String> {
    let word = after.trim_start_matches([' ', '\t', '\u{a0}', '\u{202f}']).split_whitespace().next()?;
    parse_word(word.trim_start_matches(['[', '(']))
}

/// Unit before a number: any possible unit in brackets, but only a known unit without brackets.
fn unit_before(before: &str) -> Option<String> {
    let label = before.trim_end_matches(|c: char| c.is_whitespace() || ":=\"'>".contains(c));
    if let Some(bracket) = label.strip_suffix([')', ']']) {
        return parse_word(&bracket[bracket.rfind(['(', '['])? + 1..]);
    }
    let from = label.rfind(|c: char| !(c.is_alphabetic() || "/%$€".contains(c)));
    let word = &label[from.map_or(0, |at| at + label[at..].chars().next().map_or(1, char::len_utf8))..];
    parse_word(word)
        .filter(|word| PrintedUnit::parse(word).is_some() || ["$", "€", "%"].contains(&word.as_str()))
}

fn parse_word(word: &str) -> Option<String> {
    let word = word.trim_end_matches([',', ';', ':', '.', ')', ']', '}', '"', '\'', '!']);
    (word.chars().count() <= LONGEST && WORD.is_match(word)).then(|| word.to_owned())
}

impl PrintedUnit {
    /// Parses a known unit.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (head, per) = match text.split_once('/') {
            Some((head, "s" | "sec" | "second")) => (head, "/s".to_owned()),
            Some((head, rest)) => (head, format!("/{rest}")),
            None => match text.strip_suffix("ps").filter(|head| PREFIXED.is_match(head)) {
                Some(head) => (head, "/s".to_owned()),
                None => (text, String::new()),
            },
        };
        let (kind, scale) = time(head).map(|scale| ("s", Some(scale))).or_else(|| prefixed(head))?;
        Some(Self { kind: format!("{kind}{per}"), scale })
    }
}

/// Size of a unit of time in seconds. A single `m` is not a unit here, because it may mean a
/// minute, a metre or a thousandth.
fn time(head: &str) -> Option<f64> {
    Some(match head {
        "ns" | "nsec" | "nanosecond" | "nanoseconds" => 1e-9,
        "us" | "µs" | "μs" | "usec" | "microsecond" | "microseconds" => 1e-6,
        "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        _ => return None,
    })
}

/// Kind and factor of a unit of bytes, bits, hertz or floating-point operations.
fn prefixed(head: &str) -> Option<(&'static str, Option<f64>)> {
    let found = PREFIXED.captures(head)?;
    let base = found.get(2)?.as_str();
    let kind = match base.chars().next()? {
        'B' if base == "B" || base.starts_with("By") => "B",
        'b' if base.starts_with("by") => "B",
        'H' => "Hz",
        'F' | 'f' => "flop",
        _ => "b",
    };
    let prefix = found.get(1).map_or("", |prefix| prefix.as_str());
    let power =
        prefix.chars().next().and_then(|c| "KMGTP".find(c.to_ascii_uppercase())).map_or(0, |at| at + 1);
    let scale = match (prefix.ends_with('i'), power, kind) {
        (true, power, _) => Some(1024_f64.powi(power as i32)),
        (false, 0, _) => Some(1.0),
        // Programs disagree on the size of a kilobyte; networks and clocks count in thousands.
        (false, _, "B") => None,
        (false, power, _) => Some(1000_f64.powi(power as i32)),
    };
    Some((kind, scale))
}

/// Factor that converts a figure from one unit to another; `None` if the factor does not exist or
/// is not known. An absent unit is a unit of its own.
pub(super) fn conversion(from: Option<&str>, to: Option<&str>) -> Option<f64> {
    if from == to || is_plural(from, to) || is_plural(to, from) {
        return Some(1.0);
    }
    let (from, to) = (PrintedUnit::parse(from?)?, PrintedUnit::parse(to?)?);
    if from.kind == to.kind { Some(from.scale? / to.scale?) } else { None }
}

/// Whether one unit is the plural of the other: 1 request, 2 requests. A unit of one letter has no
/// plural: `ms` is not a plural.
fn is_plural(one: Option<&str>, many: Option<&str>) -> bool {
    one.zip(many).is_some_and(|(one, many)| one.len() > 1 && many.strip_suffix('s') == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_follows_a_number_or_is_in_the_label_before_it() {
        for (before, after, expected) in [
            ("rate: ", " MB/s", Some("MB/s")),
            ("rate: ", "k", Some("k")),
            ("(", " per sec.)", Some("per")),
            ("time: ", " [sec]", Some("sec")),
            ("rate=", "%, ", Some("%")),
            ("latency (us): ", "", Some("us")),
            ("MB/s: ", "", Some("MB/s")),
            ("\"latency_us\": ", ",", Some("us")),
            ("<t unit=\"ms\">", "</t>", Some("ms")),
            ("price: $", "", Some("$")),
            ("Requests/sec: ", "", None),
            ("2 CPUs: ", "", None),
            ("ops=", " time=3.2", None),
            ("", ",13.7", None),
            ("", "  3.4", None),
        ] {
            assert_eq!(adjacent_unit(before, after).as_deref(), expected, "{before}…{after}");
        }
    }

    #[track_caller]
    fn converts(from: &str, to: &str, expected: Option<f64>) {
        let unit = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let factor = conversion(unit(from), unit(to));
        let close = factor.zip(expected).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-12);
        assert!(close || (factor.is_none() && expected.is_none()), "{from} to {to}: {factor:?}");
    }

    #[test]
    fn units_of_known_size_are_converted() {
        converts("ms", "s", Some(1e-3));
        converts("min", "s", Some(60.0));
        converts("GiB/s", "MiB/s", Some(1024.0));
        converts("Gbits/sec", "Mbit/s", Some(1000.0));
        converts("Mbps", "kb/s", Some(1000.0));
        converts("GHz", "MHz", Some(1000.0));
        converts("op", "ops", Some(1.0));
        converts("", "", Some(1.0));
        converts("MB/s", "MB/s", Some(1.0));
        converts("KB/s", "MB/s", None);
        converts("MB/s", "MiB/s", None);
        converts("Mb/s", "MB/s", None);
        converts("m", "ms", None);
        converts("k", "M", None);
        converts("k", "", None);
        converts("MB/s", "MB", None);
        converts("us/op", "ns/op", Some(1000.0));
    }
}
