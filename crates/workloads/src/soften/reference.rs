//! The published algorithm: for every pixel, column by column, the mean of itself and its eight
//! neighbours.
//!
//! The module shares nothing with `kernel`, which it checks, and must stay this simple.

use super::bitmap::{self, BYTES_PER_PIXEL, Size};
use super::rounding;
use crate::Checksum;

/// One pixel: red, green and blue, or blue, green and red; the order does not affect softening.
pub(super) type Pixel = [u8; BYTES_PER_PIXEL];

/// Pixel at `x`, `y` of the bitmap.
pub(super) fn pixel(bitmap: &[u8], size: Size, x: usize, y: usize) -> Pixel {
    let start = y * size.stride() + x * BYTES_PER_PIXEL;
    [bitmap[start], bitmap[start + 1], bitmap[start + 2]]
}

/// New value of the pixel at `x`, `y`: for each colour the mean of the nine values, rounded up if
/// at least `9 - rounding` ninths remain. Beyond the edge the nearest pixel inside counts.
pub(super) fn soften_pixel(bitmap: &[u8], size: Size, rounding: u16, x: usize, y: usize) -> Pixel {
    let mut sums = [0u32; BYTES_PER_PIXEL];
    for y in [y.saturating_sub(1), y, (y + 1).min(size.height - 1)] {
        for x in [x.saturating_sub(1), x, (x + 1).min(size.width - 1)] {
            let neighbour = pixel(bitmap, size, x, y);
            sums.iter_mut().zip(neighbour).for_each(|(sum, value)| *sum += u32::from(value));
        }
    }
    sums.map(|sum| (sum / 9 + u32::from(sum % 9 + u32::from(rounding) >= 9)) as u8)
}

/// Softens the whole bitmap once.
pub(super) fn soften_bitmap(bitmap: &[u8], size: Size, rounding: u16) -> Vec<u8> {
    let mut result = vec![0; bitmap.len()];
    for x in 0..size.width {
        for y in 0..size.height {
            let start = y * size.stride() + x * BYTES_PER_PIXEL;
            result[start..start + BYTES_PER_PIXEL]
                .copy_from_slice(&soften_pixel(bitmap, size, rounding, x, y));
        }
    }
    result
}

/// Checksum of the bitmap of `seed` after `passes`.
pub(super) fn checksum(size: Size, passes: u32, seed: u64) -> Checksum {
    let mut bitmap = Vec::new();
    bitmap::append(&mut bitmap, 0..size.height, size.width, seed);
    for pass in 0..passes {
        bitmap = soften_bitmap(&bitmap, size, rounding(pass));
    }
    Checksum(crc32fast::hash(&bitmap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_rounded_as_documented_and_edges_count_twice() {
        let size = Size { width: 2, height: 2 };
        // Red of the first corner: 4 x 10 + 2 x 20 + 2 x 30 + 45 = 185, a ninth of which is 20.56.
        let bitmap = [10, 0, 255, 20, 0, 255, 30, 0, 255, 45, 9, 255];
        assert_eq!(soften_pixel(&bitmap, size, 4, 0, 0), [21, 1, 255]);
        assert_eq!(soften_pixel(&bitmap, size, 8, 1, 1), [33, 4, 255]);
    }

    #[test]
    fn one_pixel_stays_itself() {
        let size = Size { width: 1, height: 1 };
        assert_eq!(soften_bitmap(&[1, 2, 3], size, 8), [1, 2, 3]);
    }
}
