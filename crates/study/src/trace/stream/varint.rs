//! Whole numbers in as few bytes as possible, and the buffers for writing and reading them.
//!
//! The first byte holds the length: one low zero bit for each further byte, then a one, then the
//! value, little-endian. A first byte of zero is followed by eight bytes of value. This format was
//! preferred to the better known LEB128 because neither side loops over bytes or predicts a branch
//! per byte. Nothing here knows about events.

/// Error for bytes that no writer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecodeError;

/// Longest form of a number, in bytes.
const LONGEST: usize = 9;

/// Maps small numbers of either sign to small numbers without a sign: 0, -1, 1, -2, … to 0, 1, 2,
/// 3, …
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Inverse of [`zigzag`].
pub(super) const fn unzigzag(code: u64) -> i64 {
    (code >> 1).cast_signed() ^ -(code & 1).cast_signed()
}

/// Number of bytes in which a number is written.
pub(super) const fn length_of(value: u64) -> u64 {
    if value >> 56 != 0 { 9 } else { (64 - (value | 1).leading_zeros()).div_ceil(7) as u64 }
}

/// Buffer of fixed size that is filled from its beginning.
#[derive(Debug)]
pub(super) struct ByteWriter {
    bytes: Box<[u8]>,
    len: usize,
}

impl ByteWriter {
    /// Creates a buffer with room for `size` bytes. Writing more is an error of the caller, and
    /// panics.
    pub(super) fn new(size: usize) -> Self {
        // A number is written as a whole word, of which only its length counts.
        Self { bytes: vec![0; size + LONGEST].into_boxed_slice(), len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    #[inline]
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    pub(super) fn number(&mut self, value: u64) {
        if value >> 56 != 0 {
            self.byte(0);
            self.bytes(&value.to_le_bytes());
            return;
        }
        let length = length_of(value);
        let word = ((value << 1) | 1) << (length - 1);
        self.bytes[self.len..][..8].copy_from_slice(&word.to_le_bytes());
        self.len += length as usize;
    }

    #[inline]
    pub(super) fn signed(&mut self, value: i64) {
        self.number(zigzag(value));
    }
}

/// Bytes being read.
#[derive(Debug)]
pub(super) struct ByteReader<'a> {
    /// Bytes to be read, and [`ByteReader::PADDING`].
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> ByteReader<'a> {
    /// Number of bytes that must follow the data, so that a number can be read as a whole word.
    pub(super) const PADDING: usize = LONGEST;

    /// Creates a reader of `padded` without its last [`ByteReader::PADDING`] bytes.
    pub(super) fn new(padded: &'a [u8]) -> Self {
        Self { bytes: padded, at: 0, end: padded.len().saturating_sub(Self::PADDING) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// Number of bytes that are still to be read.
    pub(super) const fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// Skips `count` bytes.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), DecodeError> {
        self.bytes(usize::try_from(count).map_err(|_| DecodeError)?).map(|_| ())
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = self.bytes.get(self.at..self.end).ok_or(DecodeError)?;
        let taken = rest.get(..count).ok_or(DecodeError)?;
        self.at += count;
        Ok(taken)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.at).ok_or(DecodeError)?;
        self.advance(1)?;
        Ok(byte)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        let word = self.word(0)?;
        let length = (word as u8).trailing_zeros() + 1;
        if length as usize == LONGEST {
            let value = self.word(1)?;
            self.advance(LONGEST)?;
            return Ok(value);
        }
        self.advance(length as usize)?;
        let unused = 64 - 8 * length;
        Ok((word << unused) >> unused >> length)
    }

    #[inline]
    pub(super) fn signed(&mut self) -> Result<i64, DecodeError> {
        self.number().map(unzigzag)
    }

    /// Number that fits a smaller type.
    #[inline]
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, DecodeError> {
        T::try_from(self.number()?).map_err(|_| DecodeError)
    }

    #[inline]
    fn word(&self, offset: usize) -> Result<u64, DecodeError> {
        let rest = self.bytes.get(self.at + offset..).ok_or(DecodeError)?;
        rest.first_chunk().map(|chunk| u64::from_le_bytes(*chunk)).ok_or(DecodeError)
    }

    #[inline]
    fn advance(&mut self, count: usize) -> Result<(), DecodeError> {
        self.at += count;
        if self.at <= self.end { Ok(()) } else { Err(DecodeError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(values: &[u64]) -> Vec<u8> {
        let mut out = ByteWriter::new(values.len() * LONGEST);
        values.iter().for_each(|&value| out.number(value));
        out.written().to_vec()
    }

    /// Adds the padding that [`ByteReader`] requires.
    fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend([0xff; ByteReader::PADDING]);
        bytes
    }

    #[test]
    fn the_examples_of_the_format_description() {
        assert_eq!(written(&[0]), [0x01]);
        assert_eq!(written(&[127]), [0xff]);
        assert_eq!(written(&[128]), [0x02, 0x02]);
        assert_eq!(written(&[16_383]), [0xfe, 0xff]);
        assert_eq!(written(&[16_384]), [0x04, 0x00, 0x02]);
        assert_eq!(written(&[u64::MAX]), [0, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!([0, -1, 1, i64::MIN].map(zigzag), [0, 1, 2, u64::MAX]);
    }

    #[test]
    fn every_number_has_its_shortest_form() {
        for bits in 0..64 {
            let value = 1_u64 << bits;
            assert_eq!(written(&[value]).len(), if bits >= 56 { 9 } else { bits / 7 + 1 }, "2^{bits}");
        }
    }

    proptest! {
        #[test]
        fn numbers_round_trip(values: Vec<u64>, shift in 0_u32..64) {
            let values: Vec<u64> = values.into_iter().map(|value| value >> shift).collect();
            let bytes = padded(written(&values));
            let mut input = ByteReader::new(&bytes);
            for value in values {
                prop_assert_eq!(input.number(), Ok(value));
            }
            prop_assert!(input.is_empty());
        }

        #[test]
        fn signs_round_trip(value: i64) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }

        #[test]
        fn a_number_cut_short_is_damaged(value: u64, cut in 0_usize..9) {
            let mut bytes = written(&[value]);
            bytes.truncate(bytes.len() - 1 - cut.min(bytes.len() - 1));
            let bytes = padded(bytes);
            prop_assert_eq!(ByteReader::new(&bytes).number(), Err(DecodeError));
        }
    }
}
