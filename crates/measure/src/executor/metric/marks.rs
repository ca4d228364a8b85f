//! Decimal mark of a program's numbers, according to the user and to the numbers themselves.

use morecores_study::DecimalMark;

use super::error::MetricFault;
use super::number::Readings;

/// Languages whose programs print a decimal point (Unicode CLDR, decimal symbols). In any other
/// language `1.234` may be a whole number.
const POINT_LANGUAGES: [&str; 9] = ["C", "POSIX", "en", "zh", "ja", "ko", "th", "he", "hi"];

/// Knowledge about the marks in the figures of one metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Mark from the user, or from a figure with only one possible reading.
    known: Option<DecimalMark>,
    /// Whether the locale's numbers may have a decimal comma.
    comma_locale: bool,
    /// Whether a figure was a whole number of more than three digits without a mark, which shows
    /// that thousands are not grouped.
    ungrouped: bool,
    /// Whether a figure was a whole number of up to three digits, which looks the same with grouped
    /// thousands.
    short: bool,
    /// Whether the mark of a figure like `1.234` was taken for a decimal point, because programs of
    /// the locale print one.
    taken_for_point: bool,
}

impl Marks {
    pub(super) fn new(told: Option<DecimalMark>, locale: &str) -> Self {
        Self {
            known: told,
            comma_locale: !is_of_point(locale),
            ungrouped: false,
            short: false,
            taken_for_point: false,
        }
    }

    /// Decimal mark, if it is known.
    pub(super) fn known(&self) -> Option<DecimalMark> {
        self.known
    }

    /// Value of a number. The function also learns about the marks from the number.
    pub(super) fn value(&mut self, text: &str) -> Result<f64, MetricFault> {
        let readings = Readings::parse(text);
        let two_readings = |point, comma| MetricFault::TwoReadings { text: text.to_owned(), point, comma };
        match (readings.point, readings.comma) {
            (None, None) => Err(MetricFault::NotANumber { text: text.to_owned() }),
            (Some(value), None) => self.shows(DecimalMark::Point, text).map(|()| value),
            (None, Some(value)) => self.shows(DecimalMark::Comma, text).map(|()| value),
            (Some(point), Some(comma)) if point == comma => {
                let digits = text.chars().filter(char::is_ascii_digit).count();
                let is_plain = text.trim().chars().all(|c| c.is_ascii_digit());
                // Zero looks the same with and without groups.
                self.short |= is_plain && digits <= 3 && point != 0.0;
                self.ungrouped |= is_plain && digits > 3;
                if self.is_mixed() {
                    return Err(MetricFault::Mixed { text: text.to_owned() });
                }
                Ok(point)
            }
            (Some(point), Some(comma)) => match self.known {
                Some(mark) => readings.value(mark).ok_or_else(|| two_readings(point, comma)),
                // Without groups, the second reading is impossible.
                None if self.ungrouped => Ok(point.min(comma)),
                None if text.contains(',') || self.comma_locale => Err(two_readings(point, comma)),
                None => {
                    self.taken_for_point = true;
                    if self.is_mixed() {
                        return Err(two_readings(point, comma));
                    }
                    Ok(point)
                }
            },
        }
    }

    /// Notes a figure with only one possible reading.
    fn shows(&mut self, mark: DecimalMark, text: &str) -> Result<(), MetricFault> {
        let contradicts = self.known.is_some_and(|known| known != mark)
            || (self.taken_for_point && mark == DecimalMark::Comma);
        if contradicts {
            return Err(MetricFault::OtherMark { text: text.to_owned(), mark });
        }
        self.known = Some(mark);
        Ok(())
    }

    /// Whether both `999` and `1.234` were printed. The second value may then be a thousand times
    /// as large as assumed.
    fn is_mixed(&self) -> bool {
        self.known.is_none() && self.taken_for_point && self.short && !self.ungrouped
    }
}

/// Whether programs under a locale of this name print a decimal point.
fn is_of_point(locale: &str) -> bool {
    let language = locale.split(['_', '.', '@', '-']).next().unwrap_or_default();
    // South Africa is the only English locale that differs.
    language.is_empty() || (POINT_LANGUAGES.contains(&language) && !locale.starts_with("en_ZA"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(told: Option<DecimalMark>, locale: &str, texts: &[&str]) -> Vec<Option<f64>> {
        let mut marks = Marks::new(told, locale);
        texts.iter().map(|text| marks.value(text).ok()).collect()
    }

    #[test]
    fn a_lone_comma_before_three_digits_is_never_guessed() {
        assert_eq!(values(None, "C", &["1,234"]), [None]);
        assert_eq!(values(Some(DecimalMark::Point), "C", &["1,234", "9,9"]), [Some(1234.0), None]);
        assert_eq!(values(Some(DecimalMark::Comma), "C", &["1,234", "1.234"]), [Some(1.234), Some(1234.0)]);
    }

    #[test]
    fn an_unambiguous_figure_decides_the_mark_of_the_others() {
        assert_eq!(values(None, "C", &["9,9", "1,234", "1.234"]), [Some(9.9), Some(1.234), Some(1234.0)]);
        assert_eq!(values(None, "C", &["12.5", "1,234", "9,9"]), [Some(12.5), Some(1234.0), None]);
        // Whole numbers without groups also leave only one reading.
        assert_eq!(values(None, "de_DE", &["12345", "1,234", "1.234"])[..2], [Some(12345.0), Some(1.234)]);
    }

    #[test]
    fn a_point_before_three_digits_is_a_fraction_without_contrary_evidence() {
        assert_eq!(values(None, "C", &["1.234", "0", "2.345"]), [Some(1.234), Some(0.0), Some(2.345)]);
        assert_eq!(values(None, "en_US.UTF-8", &["1.234"]), [Some(1.234)]);
        for locale in ["de_DE.UTF-8", "fr_FR", "en_ZA.UTF-8"] {
            assert_eq!(values(None, locale, &["1.234"]), [None], "{locale}");
        }
        assert_eq!(values(None, "C", &["999", "1.234"]), [Some(999.0), None]);
        assert_eq!(values(None, "C", &["1.234", "999"]), [Some(1.234), None]);
        assert_eq!(values(None, "C", &["1.234", "9,9"]), [Some(1.234), None]);
        assert_eq!(values(None, "C", &["2.5", "999", "1.234"]), [Some(2.5), Some(999.0), Some(1.234)]);
        assert_eq!(values(Some(DecimalMark::Point), "de_DE", &["999", "1.234"]), [Some(999.0), Some(1.234)]);
    }
}
