//! The mark before the fraction of a program's numbers: what the user said, and what the numbers showed.

use morecores_study::DecimalMark;

use super::error::MetricFault;
use super::number::Readings;

/// Languages whose programs write a point before the fraction (Unicode CLDR, decimal symbols); in any other `1.234` may
/// be a whole number.
const POINT_LANGUAGES: [&str; 9] = ["C", "POSIX", "en", "zh", "ja", "ko", "th", "he", "hi"];

/// What is known of the marks in the figures of one metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// Told by the user, or shown by a figure that has one reading.
    known: Option<DecimalMark>,
    /// Whether the locale's numbers may have a comma before the fraction.
    comma_locale: bool,
    /// Whether a whole number of more than three digits stood there without a mark: thousands are not grouped.
    ungrouped: bool,
    /// Whether a whole number of up to three digits stood there, as it would with grouped thousands too.
    short: bool,
    /// Whether `1.234` was taken for less than two, as the programs of the locale write.
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

    /// The mark, where it is known.
    pub(super) fn known(&self) -> Option<DecimalMark> {
        self.known
    }

    /// The value of a number, and what it shows of the marks.
    pub(super) fn value(&mut self, text: &str) -> Result<f64, MetricFault> {
        let readings = Readings::of(text);
        let two_readings = |point, comma| MetricFault::TwoReadings { text: text.to_owned(), point, comma };
        match (readings.point, readings.comma) {
            (None, None) => Err(MetricFault::NotANumber { text: text.to_owned() }),
            (Some(value), None) => self.shows(DecimalMark::Point, text).map(|()| value),
            (None, Some(value)) => self.shows(DecimalMark::Comma, text).map(|()| value),
            (Some(point), Some(comma)) if point == comma => {
                let digits = text.chars().filter(char::is_ascii_digit).count();
                let is_plain = text.trim().chars().all(|c| c.is_ascii_digit());
                // Zero is zero with and without groups.
                self.short |= is_plain && digits <= 3 && point != 0.0;
                self.ungrouped |= is_plain && digits > 3;
                if self.is_mixed() {
                    return Err(MetricFault::Mixed { text: text.to_owned() });
                }
                Ok(point)
            }
            (Some(point), Some(comma)) => match self.known {
                Some(mark) => readings.by(mark).ok_or_else(|| two_readings(point, comma)),
                // Without groups there is no second reading.
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

    /// Notes a figure that has one reading alone.
    fn shows(&mut self, mark: DecimalMark, text: &str) -> Result<(), MetricFault> {
        let contradicts = self.known.is_some_and(|known| known != mark)
            || (self.taken_for_point && mark == DecimalMark::Comma);
        if contradicts {
            return Err(MetricFault::OtherMark { text: text.to_owned(), mark });
        }
        self.known = Some(mark);
        Ok(())
    }

    /// Whether `999` and `1.234` were both printed: the second may be a thousand times the value that it was taken for.
    fn is_mixed(&self) -> bool {
        self.known.is_none() && self.taken_for_point && self.short && !self.ungrouped
    }
}

/// Whether programs under a locale of this name write a point before the fraction.
fn is_of_point(locale: &str) -> bool {
    let language = locale.split(['_', '.', '@', '-']).next().unwrap_or_default();
    // South Africa alone differs from the other English locales.
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
    fn figures_that_have_one_reading_tell_of_the_others() {
        assert_eq!(values(None, "C", &["9,9", "1,234", "1.234"]), [Some(9.9), Some(1.234), Some(1234.0)]);
        assert_eq!(values(None, "C", &["12.5", "1,234", "9,9"]), [Some(12.5), Some(1234.0), None]);
        // Whole numbers without groups leave one reading too.
        assert_eq!(values(None, "de_DE", &["12345", "1,234", "1.234"])[..2], [Some(12345.0), Some(1.234)]);
    }

    #[test]
    fn a_point_before_three_digits_is_a_fraction_unless_something_speaks_against_it() {
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
