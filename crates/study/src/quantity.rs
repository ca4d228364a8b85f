//! Quantities and the one table of their units: scales, digits and symbols of all printed figures.
//!
//! Reports, messages and the viewer write figures by this table; the viewer has it as generated
//! TypeScript. `fixtures/figures.json` holds examples that the tests of both languages check. This
//! module writes figures alone: intervals and sentences belong to the report. Machine-readable
//! reports write plain numbers and do not use this module.

use serde::{Deserialize, Serialize};

use Quantity::{Count, Cpus, Data, Number, PlannedTime, Rate, Share, Time};

/// Text for a figure that does not exist.
pub const ABSENT: &str = "–";

/// Significant digits of a figure without a fixed number of decimal places.
const SIGNIFICANT_DIGITS: i32 = 3;

/// Limit on the decimal places of such a figure.
const MAX_PLACES: i32 = 3;

/// Number of digits before the point from which a column takes a larger scale.
const MAX_WHOLE_DIGITS: i32 = 4;

/// Kind of a figure. It decides how the figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Number without a unit: `1.93`, `28.0`, `1234`.
    Number,
    /// Count or median of counts: `987`, `12.3 k`, `4.56 M`.
    Count,
    /// Rate per second: `6.40`, `12`, `1.52 M`.
    Rate,
    /// Time in seconds: `98.4 s`, `569 µs`.
    Time,
    /// Time of a plan, in nanoseconds and without needless digits: `0`, `100 ns`, `1.5 µs`.
    PlannedTime,
    /// Amount of data in bytes: `512 B`, `1.5 MiB`, `32 MiB`.
    Data,
    /// Share, in percent, with two significant digits below 10% and none after the point above:
    /// `0.21%`, `3.6%`, `96%`. A positive share that would round to zero is written `<0.01%`.
    Share,
    /// CPUs, always to a hundredth so that readers can add them up: `0.31`.
    Cpus,
}

/// Rules for the figures of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// Text between a figure and the symbol of its scale.
    pub gap: &'static str,
    /// Whether zeros at the end of the decimal places are left out.
    pub trimmed: bool,
    /// Whether a positive figure that would round to zero is written as `<0.01`.
    pub marks_least: bool,
    /// Scales, ascending by `from`; the first begins at zero.
    pub scales: &'static [Scale],
}

/// One scale of a unit, such as milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Symbol behind the figure; empty if the figure stands alone.
    pub symbol: &'static str,
    /// Size of the scale in the quantity's own unit.
    pub size: f64,
    /// Smallest magnitude on this scale, in the quantity's own unit.
    pub from: f64,
    /// Decimal places; none for three significant digits, where whole numbers are not rounded.
    pub places: Option<u8>,
}

const fn scale(symbol: &'static str, size: f64, from: f64, places: Option<u8>) -> Scale {
    Scale { symbol, size, from, places }
}

const fn unit(scales: &'static [Scale]) -> Unit {
    Unit { gap: " ", trimmed: false, marks_least: false, scales }
}

/// Smallest magnitude that is not zero.
const NOT_ZERO: f64 = f64::MIN_POSITIVE;

static NUMBER: Unit = unit(&[scale("", 1.0, 0.0, None)]);

/// Medians of an even number of counts may end in a half, which is noise.
static COUNT: Unit = unit(&[
    scale("", 1.0, 0.0, Some(0)),
    scale("k", 1e3, 9_999.5, None),
    scale("M", 1e6, 999.5e3, None),
    scale("G", 1e9, 999.5e6, None),
    scale("T", 1e12, 999.5e9, None),
]);

static RATE: Unit = unit(&[
    scale("", 1.0, 0.0, Some(0)),
    scale("", 1.0, NOT_ZERO, None),
    scale("", 1.0, 10.0, Some(0)),
    scale("k", 1e3, 9_999.5, None),
    scale("M", 1e6, 999.5e3, None),
    scale("G", 1e9, 999.5e6, None),
    scale("T", 1e12, 999.5e9, None),
]);

/// People compare times of minutes in seconds, as long as these have four digits at most.
static TIME: Unit = unit(&[
    scale("", 1.0, 0.0, Some(0)),
    scale("ns", 1e-9, NOT_ZERO, None),
    scale("µs", 1e-6, 1e-6, None),
    scale("ms", 1e-3, 1e-3, None),
    scale("s", 1.0, 1.0, None),
    scale("min", 60.0, 10_000.0, None),
]);

static PLANNED_TIME: Unit = Unit {
    trimmed: true,
    ..unit(&[
        scale("", 1.0, 0.0, Some(0)),
        scale("ns", 1.0, NOT_ZERO, Some(0)),
        scale("µs", 1e3, 1e3, Some(2)),
        scale("ms", 1e6, 1e6, Some(2)),
        scale("s", 1e9, 1e9, Some(2)),
    ])
};

static DATA: Unit = Unit {
    trimmed: true,
    ..unit(&[
        scale("B", 1.0, 0.0, Some(0)),
        scale("KiB", 1_024.0, 1_024.0, Some(1)),
        scale("MiB", 1_048_576.0, 1_048_576.0, Some(1)),
        scale("GiB", 1_073_741_824.0, 1_073_741_824.0, Some(1)),
        scale("TiB", 1_099_511_627_776.0, 1_099_511_627_776.0, Some(1)),
        scale("PiB", 1_125_899_906_842_624.0, 1_125_899_906_842_624.0, Some(1)),
    ])
};

static SHARE: Unit = Unit {
    gap: "",
    trimmed: false,
    marks_least: true,
    scales: &[
        scale("%", 0.01, 0.0, Some(0)),
        scale("%", 0.01, NOT_ZERO, Some(2)),
        scale("%", 0.01, 0.009_95, Some(1)),
        scale("%", 0.01, 0.099_5, Some(0)),
    ],
};

static CPUS: Unit = unit(&[scale("", 1.0, 0.0, Some(2))]);

impl Quantity {
    /// Every quantity.
    pub const ALL: [Self; 8] = [Number, Count, Rate, Time, PlannedTime, Data, Share, Cpus];

    /// Rules for figures of this quantity.
    pub fn unit(self) -> &'static Unit {
        match self {
            Number => &NUMBER,
            Count => &COUNT,
            Rate => &RATE,
            Time => &TIME,
            PlannedTime => &PLANNED_TIME,
            Data => &DATA,
            Share => &SHARE,
            Cpus => &CPUS,
        }
    }

    /// Scale that suits a figure.
    pub fn scale(self, value: f64) -> &'static Scale {
        let scales = self.unit().scales;
        let index = scales.iter().rposition(|scale| scale.from <= value.abs()).unwrap_or(0);
        &scales[index]
    }

    /// Scale for a whole column, so that its figures compare at a glance: the scale of the smallest
    /// figure above zero. The scale is larger if the largest figure would otherwise have more than
    /// four digits before the point.
    pub fn column_scale(self, values: impl IntoIterator<Item = f64>) -> &'static Scale {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().filter(|value| value.is_finite() && *value > 0.0) {
            least = least.min(value);
            most = most.max(value);
        }
        if most == 0.0 {
            return self.scale(1.0);
        }
        let first = self.scale(least);
        let fits = |scale: &&Scale| most / scale.size < 10_f64.powi(MAX_WHOLE_DIGITS);
        let scales = self.unit().scales;
        let mut larger = scales.iter().filter(|scale| scale.from >= first.from);
        larger.find(fits).or_else(|| scales.last()).unwrap_or(first)
    }

    /// Figure in the unit that suits it.
    pub fn text(self, value: f64) -> String {
        let scale = self.scale(value);
        self.text_with_places(
            value,
            scale.places.map_or_else(|| significant_places(value / scale.size), i32::from),
        )
    }

    /// Figure as a whole number in the unit that suits it, for thresholds, axes and rough figures:
    /// `1%`, `<1%`.
    pub fn whole_text(self, value: f64) -> String {
        self.text_with_places(value, 0)
    }

    fn text_with_places(self, value: f64, places: i32) -> String {
        if !value.is_finite() {
            return ABSENT.to_owned();
        }
        let (unit, scale) = (self.unit(), self.scale(value));
        let scaled = value / scale.size;
        let mut number = round_to_places(scaled, places);
        if unit.marks_least && value > 0.0 && number.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            number = format!("<{}", round_to_places(10_f64.powi(-places), places));
        }
        if unit.trimmed && number.contains('.') {
            number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
        }
        if scale.symbol.is_empty() { number } else { format!("{number}{}{}", unit.gap, scale.symbol) }
    }
}

/// Power of ten of the first significant digit; 0 for zero.
pub fn magnitude(value: f64) -> i32 {
    if value.abs() > 0.0 { value.abs().log10().floor() as i32 } else { 0 }
}

/// Decimal places for three significant digits; whole numbers are not rounded.
pub fn significant_places(value: f64) -> i32 {
    // The magnitude is that of the rounded value: 9.996 is 10.0, not 10.00.
    (SIGNIFICANT_DIGITS - 1 - magnitude(value * 1.0005)).clamp(0, MAX_PLACES)
}

/// Rounds `value` to `places` decimal places, or to tens, hundreds, … if `places` is negative. A
/// tie goes to the even digit.
pub fn round_to_places(value: f64, places: i32) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = if places >= 0 {
        format!("{value:.*}", places as usize)
    } else {
        let step = 10_f64.powi(-places);
        format!("{:.0}", (value / step).round() * step)
    };
    // "-0.0" says nothing that "0.0" does not say.
    if text.starts_with('-') && text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) {
        text[1..].to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples for both languages; `viewer/tests/unit.mjs` checks the same file.
    #[test]
    fn figures_are_written_as_in_the_examples() {
        let examples: Vec<(Quantity, f64, String)> =
            serde_json::from_str(include_str!("../../../fixtures/figures.json")).unwrap();
        for quantity in Quantity::ALL {
            assert!(examples.iter().any(|(of, ..)| *of == quantity), "{quantity:?}");
        }
        for (quantity, value, text) in examples {
            assert_eq!(quantity.text(value), text, "{quantity:?} {value}");
        }
        assert_eq!(Time.text(f64::NAN), ABSENT);
    }

    #[test]
    fn scales_ascend_from_zero() {
        for quantity in Quantity::ALL {
            let scales = quantity.unit().scales;
            assert_eq!(scales[0].from, 0.0);
            assert!(scales.is_sorted_by(|a, b| a.from < b.from), "{quantity:?}");
        }
    }

    #[test]
    fn a_column_has_one_scale() {
        let symbol = |seconds: &[f64]| Time.column_scale(seconds.iter().copied()).symbol;
        assert_eq!(symbol(&[98.4, 51.0]), "s");
        assert_eq!(symbol(&[1_200.0, 640.0]), "s");
        assert_eq!(symbol(&[569e-6, 1.2e-3]), "µs");
        assert_eq!(symbol(&[120.0, 0.9]), "s");
        assert_eq!(symbol(&[20_000.0, 5_000.0]), "min");
        assert_eq!(symbol(&[0.0, f64::NAN]), "s");
        assert_eq!(symbol(&[]), "s");
    }
}
