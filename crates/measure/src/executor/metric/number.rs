//! Parses a number as programs print it: with either decimal mark, and with or without grouped
//! digits.
//!
//! This module does not know the number's context. A text with two possible readings keeps both;
//! this module does not choose.

use morecores_study::DecimalMark;

/// Characters between groups of digits, besides point and comma: the spaces of ISO 80000-1 and of
/// most locales, the Swiss apostrophes, the underscore of source code, and the replacement
/// character for a Latin-1 space in text that is read as UTF-8.
const GROUPING: [char; 8] = [' ', '\u{a0}', '\u{2009}', '\u{202f}', '\'', '\u{2019}', '_', '\u{fffd}'];

/// Signs at the beginning of a number; the last is the typographic minus.
const SIGNS: [char; 3] = ['+', '-', '\u{2212}'];

/// Values of one text by decimal mark; a value is absent if the text is not a number with that
/// mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Readings {
    pub(super) point: Option<f64>,
    pub(super) comma: Option<f64>,
}

impl Readings {
    /// Reads a text. A single point or comma at its end belongs to the sentence, and is ignored.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_suffix(['.', ',']).unwrap_or(text);
        Self { point: value(text, '.', ','), comma: value(text, ',', '.') }
    }

    /// Value with the given decimal mark.
    pub(super) fn value(self, mark: DecimalMark) -> Option<f64> {
        match mark {
            DecimalMark::Point => self.point,
            DecimalMark::Comma => self.comma,
        }
    }
}

/// Whether a character may separate two digits of one number.
pub(super) fn is_separator(c: char) -> bool {
    c == '.' || c == ',' || GROUPING.contains(&c)
}

/// Value of a number with the decimal mark `mark`, whose groups may be separated by `other`.
fn value(text: &str, mark: char, other: char) -> Option<f64> {
    let unsigned = text.strip_prefix(SIGNS).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once(mark).unwrap_or((mantissa, ""));
    let whole = match whole.bytes().all(|b| b.is_ascii_digit()) {
        true => whole.to_owned(),
        false if exponent.is_none() => grouped(whole, other)?,
        false => return None,
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_exponent = |text: &&str| {
        let digits_of = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits_of.is_empty() && digits(digits_of)
    };
    if whole.len() + fraction.len() == 0 || !digits(fraction) || !exponent.as_ref().is_none_or(is_exponent) {
        return None;
    }
    let negative = text.starts_with(['-', '\u{2212}']);
    let plain = format!("{}{whole}.{fraction}e{}", if negative { "-" } else { "" }, exponent.unwrap_or("0"));
    let value: f64 = plain.parse().ok()?;
    // A number outside the range of a float would be read as infinity or zero.
    let vanished = value == 0.0 && (whole.clone() + fraction).bytes().any(|b| b != b'0');
    (value.is_finite() && !vanished).then_some(value)
}

/// Digits of a grouped whole number. Groups have three digits from the right; in India, groups of
/// two precede the last three digits.
fn grouped(text: &str, other: char) -> Option<String> {
    let separator = text.chars().find(|c| !c.is_ascii_digit())?;
    if separator != other && !GROUPING.contains(&separator) {
        return None;
    }
    let groups: Vec<&str> = text.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let all_of = |length: usize| middle.iter().all(|group| group.len() == length);
    let lengths = last.len() == 3
        && match first.len() {
            1 | 2 => all_of(3) || all_of(2),
            3 => all_of(3),
            _ => false,
        };
    let digits = groups.concat();
    (lengths && !first.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the value with a decimal point and the value with a decimal comma.
    #[track_caller]
    fn reads(text: &str, point: Option<f64>, comma: Option<f64>) {
        assert_eq!(Readings::parse(text), Readings { point, comma }, "{text:?}");
    }

    #[test]
    fn a_number_has_the_values_that_its_marks_allow() {
        for text in ["42", " 42 ", "42.", "42,", "+42"] {
            reads(text, Some(42.0), Some(42.0));
        }
        reads("-42", Some(-42.0), Some(-42.0));
        reads("0", Some(0.0), Some(0.0));
        reads("12.5", Some(12.5), None);
        reads("9,9", None, Some(9.9));
        reads("10,15", None, Some(10.15));
        reads("1,234", Some(1234.0), Some(1.234));
        reads("1.234", Some(1.234), Some(1234.0));
        reads("0,123", None, Some(0.123));
        reads("0.123", Some(0.123), None);
        reads("1234,567", None, Some(1234.567));
        reads("1,234.5", Some(1234.5), None);
        reads("1.234,5", None, Some(1234.5));
        reads("1,234,567", Some(1_234_567.0), None);
        reads("1.234.567", None, Some(1_234_567.0));
        reads("12,34,567", Some(1_234_567.0), None);
        reads("1e3", Some(1000.0), Some(1000.0));
        reads("1,5e3", None, Some(1500.0));
        reads("1,2345", None, Some(1.2345));
        reads(".5", Some(0.5), None);
    }

    #[test]
    fn digits_are_grouped_by_spaces_apostrophes_and_underscores() {
        for text in ["1 234", "1\u{a0}234", "1\u{202f}234", "1'234", "1\u{2019}234", "1_234", "1\u{fffd}234"]
        {
            reads(text, Some(1234.0), Some(1234.0));
        }
        reads("12 345,6", None, Some(12_345.6));
        reads("1'234'567.8", Some(1_234_567.8), None);
    }

    #[test]
    fn text_without_a_number_has_no_value() {
        for text in [
            "",
            "-",
            ".",
            "fast",
            "inf",
            "nan",
            "1.2.3",
            "1,23,4",
            "0,123,456",
            "1 23",
            "1 234'567",
            "1e",
            "1e5.5",
            "1,234e5.0",
            "0x1f",
            "5 MB",
            "1e999",
            "1e-999",
            "٣",
        ] {
            reads(text, None, None);
        }
    }
}
