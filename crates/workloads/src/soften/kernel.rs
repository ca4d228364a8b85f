//! One fast pass over some rows of a bitmap, in row order and in column order.
//!
//! The arithmetic is exact on integers, so both orders give one result. This module has no threads
//! and no allocation.
//!
//! In row order the nine values are summed in two steps, three down and then three across, a whole
//! row at a time. The steps are plain loops over slices, which the compiler turns into vector
//! instructions. They are compiled for several instruction sets, and the call selects the best one
//! of the machine. The baseline of x86-64 (SSE2) is 2.2 times slower than AVX-512 here and 1.7
//! times slower than AVX2.

use std::ops::Range;

use multiversion::multiversion;

use super::Order;
use super::bitmap::BYTES_PER_PIXEL;

/// Values in a 3x3 neighbourhood.
pub(super) const NEIGHBOURHOOD: u16 = 9;

/// Softens `rows` of `from` into the corresponding rows of `to`; both have rows of `stride` bytes.
/// Beyond the first and the last row of `from` the nearest row inside counts. `rounding` is below
/// nine and determines the part of a mean that is rounded up, see [`super::rounding`]. `sums` is
/// working memory of any content, from [`sums`].
pub(super) fn pass(
    order: Order,
    rounding: u16,
    from: &[u8],
    to: &mut [u8],
    stride: usize,
    rows: Range<usize>,
    sums: &mut [u16],
) {
    match order {
        Order::Row => along_rows(rounding, from, to, stride, rows, sums),
        Order::Column => down_columns(rounding, from, to, stride, rows),
    }
}

/// Working memory for rows of `stride` bytes: a sum for each byte and for one pixel beyond either
/// edge.
pub(super) fn sums(stride: usize) -> Vec<u16> {
    vec![0; stride + 2 * BYTES_PER_PIXEL]
}

/// Mean of nine values from their sum: at most (9 x 255 + 8) / 9 = 255, which fits.
#[inline(always)]
const fn mean(sum: u16, rounding: u16) -> u8 {
    ((sum + rounding) / NEIGHBOURHOOD) as u8
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn along_rows(
    rounding: u16,
    from: &[u8],
    to: &mut [u8],
    stride: usize,
    rows: Range<usize>,
    sums: &mut [u16],
) {
    const P: usize = BYTES_PER_PIXEL;
    let last = from.len() / stride - 1;
    for y in rows {
        let row = |y: usize| &from[y * stride..(y + 1) * stride];
        let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(last)));
        let down = sums[P..P + stride].iter_mut().zip(above).zip(here).zip(below);
        for (((sum, above), here), below) in down {
            *sum = u16::from(*above) + u16::from(*here) + u16::from(*below);
        }
        // Beyond the edges the nearest pixel inside counts.
        sums.copy_within(P..2 * P, 0);
        sums.copy_within(stride..stride + P, stride + P);
        let (left, middle, right) = (&sums[..stride], &sums[P..P + stride], &sums[2 * P..2 * P + stride]);
        let across = to[y * stride..(y + 1) * stride].iter_mut().zip(left).zip(middle).zip(right);
        for (((to, left), middle), right) in across {
            *to = mean(left + middle + right, rounding);
        }
    }
}

/// Walks down one column after the other and keeps the sums of the last three rows. Each step moves
/// by a row in memory. The published program used this order, which is the worst one for a cache.
fn down_columns(rounding: u16, from: &[u8], to: &mut [u8], stride: usize, rows: Range<usize>) {
    let last = from.len() / stride - 1;
    for x in (0..stride).step_by(BYTES_PER_PIXEL) {
        let left = x.saturating_sub(BYTES_PER_PIXEL);
        let right = (x + BYTES_PER_PIXEL).min(stride - BYTES_PER_PIXEL);
        let across = |y: usize| -> [u16; BYTES_PER_PIXEL] {
            let row = &from[y * stride..(y + 1) * stride];
            let value = |x: usize| u16::from(row[x]);
            std::array::from_fn(|c| value(left + c) + value(x + c) + value(right + c))
        };
        let (mut above, mut here) = (across(rows.start.saturating_sub(1)), across(rows.start));
        for y in rows.clone() {
            let below = across((y + 1).min(last));
            let to = &mut to[y * stride + x..][..BYTES_PER_PIXEL];
            for c in 0..BYTES_PER_PIXEL {
                to[c] = mean(above[c] + here[c] + below[c], rounding);
            }
            (above, here) = (here, below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bitmap::Size;
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mean_is_exact_for_every_sum() {
        for sum in 0..=NEIGHBOURHOOD * 255 {
            assert_eq!(mean(sum, 0), (f64::from(sum) / 9.0).floor() as u8, "{sum}");
            assert_eq!(mean(sum, 4), (f64::from(sum) / 9.0).round() as u8, "{sum}");
            assert_eq!(mean(sum, 8), (f64::from(sum) / 9.0).ceil() as u8, "{sum}");
        }
    }

    proptest! {
        #[test]
        fn both_orders_agree_with_the_published_algorithm(
            (width, height, bitmap) in (1usize..150, 1usize..20).prop_flat_map(|(width, height)| {
                (Just(width), Just(height), prop::collection::vec(any::<u8>(), width * height * BYTES_PER_PIXEL))
            }),
            (from, to) in (0.0..1.0, 0.0..1.0),
            rounding in 0..NEIGHBOURHOOD,
        ) {
            let size = Size { width, height };
            let first = (from * height as f64) as usize;
            let rows = first..first + (to * (height - first + 1) as f64) as usize;
            prop_assume!(!rows.is_empty());
            let expected = reference::soften_bitmap(&bitmap, size, rounding);
            for order in [Order::Row, Order::Column] {
                let mut result = vec![0xA5; bitmap.len()];
                // The working memory may have any content.
                let mut sums = sums(size.stride());
                sums.fill(0xFFFF);
                pass(order, rounding, &bitmap, &mut result, size.stride(), rows.clone(), &mut sums);
                let bytes = rows.start * size.stride()..rows.end * size.stride();
                prop_assert_eq!(&result[bytes.clone()], &expected[bytes.clone()], "{:?}", order);
                // The pass writes no other bytes.
                prop_assert!(result[..bytes.start].iter().chain(&result[bytes.end..]).all(|b| *b == 0xA5));
            }
        }
    }
}
