//! Description of one sample: its median, its quantiles and its outliers.
//!
//! Nothing here removes a value. An outlier is a fact about the measurement and is to be shown.

/// Modified z-score beyond which a value is an outlier: Iglewicz & Hoaglin, *How to Detect and
/// Handle Outliers*, ASQC 1993, chapter 3. Dimensionless.
const OUTLIER_SCORE: f64 = 3.5;

/// Median absolute deviation of normal noise in standard deviations: the normal quantile of 3/4.
const MAD_TO_SIGMA: f64 = 0.674_489_750_196_081_7;

/// Mean absolute deviation of normal noise in standard deviations: sqrt(2/pi).
const MEAN_DEVIATION_TO_SIGMA: f64 = 0.797_884_560_802_865_4;

/// Sorted copy of the values.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Median of values already in order; the mean of the two middle values if their number is even.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    // The form (lower + upper) / 2 could fall outside the two values through rounding or overflow.
    Some(lower + (upper - lower) / 2.0)
}

/// Median, in the unit of the values; the mean of the two middle values if their number is even.
/// `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { upper };
    Some(lower + (upper - lower) / 2.0)
}

/// Quantile by rank: the smallest value that at least this share of the values do not exceed,
/// without interpolation. `None` for no values.
pub fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let rank = ((share * values.len() as f64).ceil() as usize).saturating_sub(1).min(last);
    Some(*values.select_nth_unstable_by(rank, f64::total_cmp).1)
}

/// Indices of the values whose modified z-score, `0.6745 (x - median) / MAD`, is beyond 3.5 in
/// either direction.
///
/// If more than half of the values are equal, the median absolute deviation (MAD) is zero. The mean
/// absolute deviation, with its own factor, then replaces it. Indices are in ascending order.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(centre) = median(values) else { return Vec::new() };
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    let sigma = match median(&deviations) {
        Some(mad) if mad > 0.0 => mad / MAD_TO_SIGMA,
        _ => deviations.iter().sum::<f64>() / deviations.len() as f64 / MEAN_DEVIATION_TO_SIGMA,
    };
    (0..values.len()).filter(|&i| deviations[i] > OUTLIER_SCORE * sigma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_values_have_no_median() {
        assert_eq!(median(&[]), None);
        assert!(outliers(&[]).is_empty());
    }

    #[test]
    fn median_of_odd_and_even_samples() {
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&[4.0, 1.0, 1.0, 2.0]), Some(1.5));
    }

    // By hand: the median is 10 and the MAD is 1, so that 14 scores 2.7 and 16 scores 4.05.
    #[test]
    fn far_values_are_named_by_index() {
        assert_eq!(outliers(&[9.0, 10.0, 11.0, 9.0, 16.0, 10.0, 11.0]), [4]);
        assert!(outliers(&[9.0, 10.0, 11.0, 9.0, 14.0, 10.0, 11.0]).is_empty());
    }

    #[test]
    fn one_different_run_among_equals_is_an_outlier_with_zero_mad() {
        let mut values = [2.0; 20];
        assert!(outliers(&values).is_empty());
        values[7] = 2.5;
        assert_eq!(outliers(&values), [7]);
    }

    proptest! {
        #[test]
        fn selecting_and_sorting_find_the_same_median(values in prop::collection::vec(-1e9..1e9, 1..60)) {
            prop_assert_eq!(median(&values), median_of_sorted(&sorted(&values)));
        }

        #[test]
        fn a_median_scales_as_the_values_do(values in prop::collection::vec(1e-3..1e3, 1..60), power in -8i32..8) {
            // A power of two scales without rounding.
            let factor = 2f64.powi(power);
            let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
            prop_assert_eq!(median(&scaled).unwrap(), median(&values).unwrap() * factor);
            prop_assert_eq!(outliers(&scaled), outliers(&values));
        }

        #[test]
        fn fewer_than_half_are_outliers(values in prop::collection::vec(0.0..1e3, 1..60)) {
            prop_assert!(outliers(&values).len() * 2 < values.len());
        }
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values = |n: u32| (1..=n).rev().map(f64::from).collect::<Vec<_>>();
        assert_eq!(quantile(values(20), 0.95), Some(19.0));
        assert_eq!(quantile(values(21), 0.95), Some(20.0));
        assert_eq!((quantile(values(3), 0.0), quantile(values(3), 1.0)), (Some(1.0), Some(3.0)));
        assert_eq!(quantile(Vec::new(), 0.5), None);
    }
}
