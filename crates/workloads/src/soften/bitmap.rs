//! The bitmap: its size, its layout and its random content.
//!
//! Rows run from top to bottom without padding, pixels from left to right, with 3 bytes per pixel.
//! Each row can be made without the others, so that every thread makes its own rows.

use std::fmt;
use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// True colour: one byte for each of three colours.
pub(super) const BYTES_PER_PIXEL: usize = 3;

/// Side of the squares of one colour, in pixels. Softening n times is close to a Gaussian blur of
/// standard deviation sqrt(2n/3) pixels: 63 after 6000 passes. Pure noise would be grey by then,
/// and its checksum would be a weak test.
const SQUARE: usize = 256;

/// First stream number for the colours of the squares. The lower numbers are for the noise of the
/// rows.
const SQUARES_STREAM: u64 = 1 << 32;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Size {
    /// Bytes of a row.
    pub(super) const fn stride(self) -> usize {
        self.width * BYTES_PER_PIXEL
    }

    /// Bytes of the bitmap.
    pub(super) const fn bytes(self) -> usize {
        self.stride() * self.height
    }

    /// Pixels of the bitmap.
    pub(super) const fn pixels(self) -> usize {
        self.width * self.height
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Appends `rows` of the bitmap of `seed`: squares of random colour under noise of equal weight.
/// The generator is ChaCha8, whose output is permanently defined. Each row draws from its own
/// stream.
pub(super) fn append(bytes: &mut Vec<u8>, rows: Range<usize>, width: usize, seed: u64) {
    let generator = ChaCha8Rng::seed_from_u64(seed);
    let mut squares = vec![0; width.div_ceil(SQUARE) * BYTES_PER_PIXEL];
    for y in rows {
        stream(&generator, SQUARES_STREAM + (y / SQUARE) as u64).fill_bytes(&mut squares);
        let start = bytes.len();
        bytes.resize(start + width * BYTES_PER_PIXEL, 0);
        let row = &mut bytes[start..];
        stream(&generator, y as u64).fill_bytes(row);
        let squares = squares.chunks_exact(BYTES_PER_PIXEL);
        for (stretch, colour) in row.chunks_mut(SQUARE * BYTES_PER_PIXEL).zip(squares) {
            for pixel in stretch.chunks_exact_mut(BYTES_PER_PIXEL) {
                pixel.iter_mut().zip(colour).for_each(|(noise, colour)| *noise = *noise / 2 + colour / 2);
            }
        }
    }
}

/// `generator` at the start of stream `number` of its 2^64 independent streams.
fn stream(generator: &ChaCha8Rng, number: u64) -> ChaCha8Rng {
    let mut generator = generator.clone();
    generator.set_stream(number);
    generator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_depend_on_who_makes_them() {
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        append(&mut whole, 0..300, 70, 7);
        for rows in [0..1, 1..120, 120..300] {
            append(&mut parts, rows, 70, 7);
        }
        assert_eq!(whole.len(), Size { width: 70, height: 300 }.bytes());
        assert_eq!(whole, parts);
    }

    #[test]
    fn the_bitmap_depends_on_the_seed_alone() {
        let crc = |seed| {
            let mut bytes = Vec::new();
            append(&mut bytes, 0..1024, 1280, seed);
            crc32fast::hash(&bytes)
        };
        assert_eq!(crc(1), 0x9b30_5ed2);
        assert_ne!(crc(1), crc(2));
    }
}
