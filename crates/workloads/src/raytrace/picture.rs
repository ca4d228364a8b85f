//! A picture in POV-Ray's output format: a portable pixmap of 8 bits per colour, with comments in
//! its header.

use std::ops::Range;

/// Parts of a picture across, and down.
const GRID: usize = 4;

/// Total number of parts.
pub(super) const PART_COUNT: usize = GRID * GRID;

/// Bytes of a pixel.
const BYTES_PER_PIXEL: usize = 3;

/// A picture: rows from top to bottom, pixels from left to right, red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    /// Decodes the file; `None` if it is not a complete picture of this size. The header is `P6`,
    /// width, height and 255, separated by blanks. A comment goes from `#` to the end of the line
    /// (netpbm's ppm(5)).
    pub(super) fn decode(mut file: &[u8], width: usize, height: usize) -> Option<Self> {
        let mut header = Vec::new();
        while header.len() < 4 {
            match file.first()? {
                b'#' => file = &file[file.iter().position(|byte| *byte == b'\n')?..],
                byte if byte.is_ascii_whitespace() => file = &file[1..],
                _ => {
                    let end = file.iter().position(u8::is_ascii_whitespace)?;
                    header.push(std::str::from_utf8(&file[..end]).ok()?);
                    file = &file[end..];
                }
            }
        }
        let (_, bytes) = file.split_first()?;
        let expected = ["P6", &width.to_string(), &height.to_string(), "255"];
        let is_complete = header == expected && bytes.len() == width * height * BYTES_PER_PIXEL;
        is_complete.then(|| Self { width, height, bytes: bytes.to_vec() })
    }

    /// Bytes of all pixels.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The pixel at `x`, `y`.
    pub(super) fn pixel(&self, x: usize, y: usize) -> &[u8] {
        &self.bytes[(y * self.width + x) * BYTES_PER_PIXEL..][..BYTES_PER_PIXEL]
    }

    /// First pixel of these rows that differs from another picture of equal size.
    pub(super) fn first_difference(&self, other: &Self, mut rows: Range<usize>) -> Option<(usize, usize)> {
        rows.find_map(|y| (0..self.width).find(|x| self.pixel(*x, y) != other.pixel(*x, y)).map(|x| (x, y)))
    }

    /// Mean brightness of each part, row by row; 0 for a part without pixels.
    pub(super) fn parts(&self) -> [u8; PART_COUNT] {
        let edge = |length: usize, index: usize| length * index / GRID;
        std::array::from_fn(|part| {
            let (row, column) = (part / GRID, part % GRID);
            let (mut sum, mut count) = (0, 0);
            for y in edge(self.height, row)..edge(self.height, row + 1) {
                for x in edge(self.width, column)..edge(self.width, column + 1) {
                    sum += self.pixel(x, y).iter().map(|value| usize::from(*value)).sum::<usize>();
                    count += BYTES_PER_PIXEL;
                }
            }
            (sum / count.max(1)) as u8
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_comments_is_read_and_half_a_picture_is_none() {
        let file = b"P6\n# Software: POV-Ray 3.7\n# Date: 2026 255\n2 1\n255\n#abcde";
        let picture = Picture::decode(file, 2, 1).unwrap();
        assert_eq!((picture.pixel(0, 0), picture.pixel(1, 0)), (&b"#ab"[..], &b"cde"[..]));
        assert_eq!(Picture::decode(&file[..file.len() - 1], 2, 1), None);
        assert_eq!(Picture::decode(file, 1, 2), None);
        assert_eq!(Picture::decode(b"", 2, 1), None);
        assert_eq!(Picture::decode(b"P6 2 1", 2, 1), None);
    }

    #[test]
    fn parts_are_means_and_differences_are_found_in_their_rows() {
        let mut bytes = vec![10; 8 * 4 * 3];
        bytes[(2 * 8 + 7) * 3] = 70;
        let picture = Picture { width: 8, height: 4, bytes };
        let mut expected = [10; PART_COUNT];
        expected[11] = 20;
        assert_eq!(picture.parts(), expected);
        let even = Picture { bytes: vec![10; 8 * 4 * 3], ..picture.clone() };
        assert_eq!(picture.first_difference(&even, 0..4), Some((7, 2)));
        assert_eq!(picture.first_difference(&even, 0..2), None);
    }
}
