//! Text around a number in its line that changes the number's meaning: a part that the expression
//! left out, a sign, a power, or a larger unit of time before it.
//!
//! This module only examines the text; `error` contains the messages.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use morecores_study::DecimalMark;
use regex::Regex;

use super::number::{Readings, is_separator};

/// A number with the surrounding text of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedNumber<'a> {
    pub(super) before: &'a str,
    /// Text that the expression matched as the number.
    pub(super) text: &'a str,
    pub(super) after: &'a str,
}

/// Beginnings of text after a number that turn it into another number.
static GOES_ON: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions(&[
        r"^\p{N}",
        // An exponent, and common notations of powers.
        r"^[eE][+-]?[0-9]",
        r"^ ?[x×*·⋅] ?10 ?(?:\^|\*\*|[⁻⁺⁰¹²³⁴-⁹])",
        r"^(?:\^|\*\*)",
        // A range, or a date.
        r"^[-–][0-9]",
        // Hours or minutes of a clock.
        r"^:[0-9]{2}(?:[^0-9]|$)",
        // A larger unit of time, followed by a smaller one.
        r"^ ?(?:d|days?|h|hrs?|hours?|m|mins?|minutes?),? ?[0-9]+(?:[.,][0-9]+)? ?(?:h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b",
    ])
});

/// Endings of text before a number that turn it into another number.
static BEGAN_BEFORE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions(&[
        r"\p{N}$",
        r"[0-9][eE][+-]?$",
        r"(?:\^|\*\*)[-+]?$",
        r"\b0[xX][0-9a-fA-F]*$",
        // A minus sign, but not a hyphen after a word; then the end of a range.
        r"(?:^|[\s:=(\[,;|/])[-\u{2212}]$",
        r"[0-9][-–]$",
        // A bound is not a figure. A single `>` ends a tag or an arrow.
        r"[<≤≥] ?$",
        r">=$",
    ])
});

/// Clock before a number of two digits. Digits that belong to a word are not a clock, as in
/// `p99:12.5`.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| expression(r"(?:^|[^\p{L}\p{N}_])((?:[0-9]+:)+)$"));
static TWO_DIGITS: LazyLock<Regex> = LazyLock::new(|| expression(r"^[0-9]{2}(?:[^0-9]|$)"));

/// A larger unit of time before a number with a smaller unit.
static LARGER_UNIT: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"(?:^|[^\p{L}\p{N}_])((?:[0-9]+ ?(?:d|days?|h|hrs?|hours?|m|mins?|minutes?),? ?)+)$")
});
static UNIT_OF_TIME: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^ ?(?:h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?|ms|us|µs|ns)\b"));

/// Hexadecimal, octal and binary numbers of which the expression matched only the 0.
static RADIX: LazyLock<Regex> = LazyLock::new(|| expression(r"^[xXbBoO][0-9a-fA-F]"));

/// Escape sequences, such as colours, which a terminal does not display.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| expression(r"\x1b\[[0-9;?]*[A-Za-z]"));

fn expression(text: &str) -> Regex {
    #[allow(clippy::expect_used, reason = "the texts are constants; a test reads each")]
    Regex::new(text).expect("an expression")
}

fn expressions(texts: &[&str]) -> Vec<Regex> {
    texts.iter().map(|text| expression(text)).collect()
}

impl<'a> PrintedNumber<'a> {
    /// The number at `number` in an output, with its line.
    pub(super) fn new(output: &'a str, number: Range<usize>) -> Self {
        let found = &output[number.clone()];
        let text = found.trim();
        let start = number.start + (found.len() - found.trim_start().len());
        let end = start + text.len();
        let line = |c: char| c == '\n' || c == '\r';
        let from = output[..start].rfind(line).map_or(0, |at| at + 1);
        let to = output[end..].find(line).map_or(output.len(), |at| end + at);
        Self { before: &output[from..start], text, after: &output[end..to] }
    }

    /// Text before and after the number, without escape sequences.
    pub(super) fn surroundings(&self) -> (Cow<'a, str>, Cow<'a, str>) {
        (ESCAPES.replace_all(self.before, ""), ESCAPES.replace_all(self.after, ""))
    }

    /// Complete printed text, if it means another number than the text alone. `mark` is the decimal
    /// mark, if known.
    pub(super) fn complete_text(&self, mark: Option<DecimalMark>) -> Option<String> {
        let (before, after) = self.surroundings();
        let word = || {
            let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
            let end = after.find(char::is_whitespace).unwrap_or(after.len());
            format!("{}{}{}", &before[start..], self.text, &after[..end])
        };
        let radix = self.text == "0" && RADIX.is_match(&after);
        if radix
            || GOES_ON.iter().any(|e| e.is_match(&after))
            || BEGAN_BEFORE.iter().any(|e| e.is_match(&before))
            || self.is_in_a_clock(&before)
        {
            return Some(word());
        }
        if let Some(larger) = LARGER_UNIT.captures(&before).and_then(|found| found.get(1))
            && UNIT_OF_TIME.is_match(&after)
            && !is_zero(larger.as_str())
        {
            return Some(
                larger.as_str().to_owned() + self.text + after.split(' ').next().unwrap_or_default(),
            );
        }
        self.longer_number(&before, &after, mark)
    }

    /// Whether non-zero hours or minutes of a clock precede the number.
    fn is_in_a_clock(&self, before: &str) -> bool {
        let clock = CLOCK.captures(before).and_then(|found| found.get(1));
        TWO_DIGITS.is_match(self.text) && clock.is_some_and(|clock| !is_zero(clock.as_str()))
    }

    /// A longer number that contains the text, with digits before it, after it, or both.
    fn longer_number(&self, before: &str, after: &str, mark: Option<DecimalMark>) -> Option<String> {
        let own = Readings::parse(self.text);
        let starts = starts(before);
        let ends = ends(after);
        let pairs = starts.iter().flat_map(|start| ends.iter().map(move |end| (*start, *end)));
        pairs.map(|(start, end)| format!("{}{}{}", &before[start..], self.text, &after[..end])).find(
            |longer| {
                let readings = Readings::parse(longer);
                let is_other =
                    |mark| readings.value(mark).is_some_and(|value| own.value(mark) != Some(value));
                // If the decimal mark is known to be a point, commas may separate the items of a
                // list.
                is_other(DecimalMark::Point)
                    || (mark != Some(DecimalMark::Point) && is_other(DecimalMark::Comma))
            },
        )
    }
}

/// Positions in the preceding text at which a longer number could begin, including the end of that
/// text.
fn starts(before: &str) -> Vec<usize> {
    let mut all = vec![before.len()];
    let mut rest = before;
    while let Some(separator) = rest.chars().next_back().filter(|c| is_separator(*c)) {
        let head = &rest[..rest.len() - separator.len_utf8()];
        let digits = head.len() - head.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            break;
        }
        rest = &head[..head.len() - digits];
        // Digits that end a word, as in "p99 5", do not form a group.
        if rest.chars().next_back().is_some_and(|c| c.is_alphabetic() || c == '_') {
            break;
        }
        all.push(rest.len());
    }
    all
}

/// Positions in the following text at which a longer number could end, including the beginning of
/// that text.
fn ends(after: &str) -> Vec<usize> {
    let mut all = vec![0];
    let mut at = 0;
    while let Some(separator) = after[at..].chars().next().filter(|c| is_separator(*c)) {
        let from = at + separator.len_utf8();
        let rest = &after[from..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        // Digits that begin a word, as in "5 3rd", do not form a group.
        if digits == 0 || rest[digits..].chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') {
            break;
        }
        at = from + digits;
        all.push(at);
    }
    all
}

fn is_zero(text: &str) -> bool {
    !text.contains(|c| ('1'..='9').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole number around the text in brackets ⟦ ⟧ of a line.
    fn complete_text(line: &str, mark: Option<DecimalMark>) -> Option<String> {
        let (start, end) = (line.find('⟦').unwrap(), line.find('⟧').unwrap());
        let open = '⟦'.len_utf8();
        let text = line.replace(['⟦', '⟧'], "");
        PrintedNumber::new(&text, start..end - open).complete_text(mark)
    }

    #[track_caller]
    fn cut(line: &str, expected: &str) {
        assert_eq!(complete_text(line, None).as_deref(), Some(expected), "{line}");
    }

    #[test]
    fn a_part_of_a_number_is_not_the_number() {
        cut("rate: ⟦9⟧,9 MB/s", "9,9");
        cut("rate: 9,⟦9⟧ MB/s", "9,9");
        cut("rate: ⟦1⟧,234.5", "1,234");
        cut("rate: 1,⟦234.5⟧", "1,234.5");
        cut("rate: ⟦12⟧.5", "12.5");
        cut("rate: 12⟦3⟧", "123");
        cut("rate: ⟦1⟧ 234 MB/s", "1 234");
        cut("rate: 1 ⟦234,5⟧ MB/s", "1 234,5");
        cut("rate: 1\u{202f}⟦234⟧", "1\u{202f}234");
        cut("rate: 1'⟦234⟧", "1'234");
        cut("rate: ⟦1.5⟧e6", "1.5e6");
        cut("rate: 1.5e⟦6⟧", "1.5e6");
        cut("rate: ⟦1.5⟧×10^6", "1.5×10^6");
        cut("rate: ⟦1.5⟧ x 10⁶", "1.5");
        cut("rate: ⟦10⟧^6", "10^6");
        cut("change: -⟦5⟧", "-5");
        cut("took <⟦0.01⟧ s", "<0.01");
        cut("mask ⟦0⟧x1F", "0x1F");
        cut("mask 0x⟦10⟧", "0x10");
        cut("took ⟦10⟧-20 s", "10-20");
        cut("took 10-⟦20⟧ s", "10-20");
    }

    #[test]
    fn times_in_several_units_are_not_their_last_part() {
        cut("took 1:⟦23.45⟧", "1:23.45");
        cut("took ⟦1⟧:23.45", "1:23.45");
        cut("took 1:00:⟦23⟧", "1:00:23");
        cut("real 1m⟦1.5⟧s", "1m1.5s");
        cut("real ⟦1⟧m30.5s", "1m30.5s");
        cut("took 2 min ⟦30⟧ s", "2 min 30");
        for line in ["real 0m⟦1.5⟧s", "took 0:⟦23.45⟧", "took 00:⟦23⟧"] {
            assert_eq!(complete_text(line, None), None, "{line}");
        }
    }

    #[test]
    fn a_separate_number_is_accepted() {
        for line in [
            "⟦12.5⟧",
            "rate: ⟦12.5⟧, errors: 0",
            "rate: ⟦12⟧.",
            "{\"p99\":⟦12.5⟧,\"max\":3}",
            "<rate>⟦12.5⟧</rate>",
            "p99:⟦12.5⟧ cpu0:13",
            "rate=⟦12.5⟧%",
            "name,⟦12.5⟧,13.7",
            "4\t⟦250⟧\t300",
            "4  ⟦250⟧  300",
            "cpus 2: ⟦300⟧ ops",
            "p99 ⟦300⟧ us",
            "\u{1b}[32m⟦12.5⟧\u{1b}[0m s",
            "pre-⟦5⟧",
            "threads=4:⟦1234⟧",
            "12.5 s ⟦300⟧ requests",
            "(⟦12.5⟧ per second)",
            "took ⟦1.5⟧ms",
        ] {
            assert_eq!(complete_text(line, None), None, "{line}");
        }
    }

    #[test]
    fn a_known_mark_distinguishes_a_list_from_a_number() {
        cut("⟦12⟧,13", "12,13");
        assert_eq!(complete_text("⟦12⟧,13", Some(DecimalMark::Point)), None);
        assert_eq!(complete_text("⟦12⟧,134", Some(DecimalMark::Point)).as_deref(), Some("12,134"));
        assert_eq!(complete_text("⟦12⟧.5", Some(DecimalMark::Comma)).as_deref(), Some("12.5"));
    }
}
