//! Least squares of relative errors with non-negative coefficients.
//!
//! A program has no negative serial part, so a fit with a negative coefficient has fitted noise. At
//! most three terms occur. A linear algebra crate would add two dozen dependencies for a system of
//! three equations.

use super::Point;

/// Non-negative coefficients of the sum of `terms` that fits the points best. The fit minimises the
/// sum of squared relative errors. `None` when the points determine no combination of terms.
///
/// The non-negative optimum equals the unconstrained optimum over its non-zero terms (C. L. Lawson,
/// R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23). With few terms, trying each
/// subset finds it.
pub(super) fn fit_non_negative<const K: usize>(
    points: &[Point],
    terms: [fn(f64) -> f64; K],
) -> Option<[f64; K]> {
    let rows: Vec<[f64; K]> =
        points.iter().map(|point| terms.map(|term| term(f64::from(point.cpus)) / point.elapsed)).collect();
    let mut best: Option<(f64, [f64; K])> = None;
    // Subsets with fewer terms come first, so they win a tie.
    let mut subsets: Vec<usize> = (1..1 << K).collect();
    subsets.sort_by_key(|subset| subset.count_ones());
    for subset in subsets {
        if subset.count_ones() as usize > points.len() {
            continue;
        }
        let Some(coefficients) = fit_chosen_terms(&rows, |term| subset >> term & 1 == 1) else { continue };
        if coefficients.iter().any(|coefficient| *coefficient < 0.0) {
            continue;
        }
        let value = |row: &[f64; K]| row.iter().zip(&coefficients).map(|(a, b)| a * b).sum::<f64>();
        let error = rows.iter().map(|row| (value(row) - 1.0).powi(2)).sum::<f64>();
        if best.is_none_or(|(least, _)| error < least - ROUNDING) {
            best = Some((error, coefficients));
        }
    }
    best.map(|(_, coefficients)| coefficients)
}

/// Coefficients of the chosen terms that bring each row closest to 1; all other coefficients are
/// zero. Solves the normal equations by Gaussian elimination. `None` when the rows cannot tell the
/// terms apart.
fn fit_chosen_terms<const K: usize>(rows: &[[f64; K]], chosen: impl Fn(usize) -> bool) -> Option<[f64; K]> {
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    let mut matrix = [[0.0; K]; K];
    let mut right = [0.0; K];
    for a in 0..K {
        if chosen(a) {
            (0..K).filter(|b| chosen(*b)).for_each(|b| matrix[a][b] = product(a, b));
            right[a] = rows.iter().map(|row| row[a]).sum();
        } else {
            matrix[a][a] = 1.0;
        }
    }
    // The matrix is symmetric and positive semidefinite, so the elimination needs no row exchange.
    // A vanishing pivot marks a term that is a combination of the terms before it.
    for pivot in 0..K {
        if matrix[pivot][pivot] <= ROUNDING * product(pivot, pivot) {
            return None;
        }
        for below in pivot + 1..K {
            let factor = matrix[below][pivot] / matrix[pivot][pivot];
            (pivot..K).for_each(|column| matrix[below][column] -= factor * matrix[pivot][column]);
            right[below] -= factor * right[pivot];
        }
    }
    let mut coefficients = [0.0; K];
    for row in (0..K).rev() {
        let known: f64 = (row + 1..K).map(|column| matrix[row][column] * coefficients[column]).sum();
        coefficients[row] = (right[row] - known) / matrix[row][row];
    }
    Some(coefficients)
}

/// Scale and share, from 0 to 1, of the model `scale · shape(share, cpus)` that fits the points
/// best, by least squares of relative errors. `None` with fewer than two CPU counts.
pub(super) fn fit_share(points: &[Point], shape: impl Fn(f64, u32) -> f64) -> Option<(f64, f64)> {
    let base = points.first()?;
    if points.iter().all(|point| point.cpus == base.cpus) {
        return None;
    }
    let error = |share: f64| {
        let scale = fit_scale(points, |cpus| shape(share, cpus));
        points
            .iter()
            .map(|point| (scale * shape(share, point.cpus) / point.elapsed - 1.0).powi(2))
            .sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > SHARE_STEP {
        let step = (high - low) / SHARE_STEPS;
        let shares = (0..=SHARE_STEPS as u32).map(|number| low + f64::from(number) * step);
        let best = shares.map(|share| (error(share), share)).min_by(|a, b| a.0.total_cmp(&b.0))?.1;
        (low, high) = ((best - step).max(0.0), (best + step).min(1.0));
    }
    // The lower end is exact: a share of zero has no term.
    let share = if low == 0.0 && error(0.0) <= error(high) { 0.0 } else { low.midpoint(high) };
    Some((fit_scale(points, |cpus| shape(share, cpus)), share))
}

/// Factor on `shape` that fits the points best.
fn fit_scale(points: &[Point], shape: impl Fn(u32) -> f64) -> f64 {
    let ratios = points.iter().map(|point| shape(point.cpus) / point.elapsed);
    let (sum, squares) = ratios.fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
    sum / squares
}

/// Precision of a fitted share, and number of steps of each search.
const SHARE_STEP: f64 = 1e-6;
const SHARE_STEPS: f64 = 16.0;

/// Relative size below which a pivot, or a gain in the sum of squares, counts as rounding.
const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_recovers_the_true_coefficients() {
        let truth = |n: f64| 3.0 + 7.0 / n;
        let points: Vec<_> = [1, 2, 4, 7].map(|n| Point::new(n, truth(f64::from(n)))).into();
        let [constant, divided, growing] =
            fit_non_negative(&points, [|_| 1.0, |n| 1.0 / n, |n| n - 1.0]).unwrap();
        assert!((constant - 3.0).abs() < 1e-9 && (divided - 7.0).abs() < 1e-9 && growing.abs() < 1e-9);
    }

    #[test]
    fn superlinear_speedup_has_no_negative_part() {
        let points = [Point::new(1, 10.0), Point::new(2, 4.8), Point::new(4, 2.3)];
        let [constant, divided] = fit_non_negative(&points, [|_| 1.0, |n| 1.0 / n]).unwrap();
        assert_eq!(constant, 0.0);
        assert!((9.2..10.0).contains(&divided));
    }

    #[test]
    fn one_count_cannot_tell_two_terms() {
        let coefficients =
            fit_non_negative(&[Point::new(2, 4.0), Point::new(2, 4.0)], [|_| 1.0, |n| 1.0 / n]).unwrap();
        assert_eq!(coefficients.iter().filter(|coefficient| **coefficient > 0.0).count(), 1);
    }
}
