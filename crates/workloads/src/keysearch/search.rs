//! Search of a block of keys, one after the other or many at once.
//!
//! The search also adds up the results of all keys on the text, so that the result depends on each
//! key exactly once.

use std::fmt;

use multiversion::multiversion;

use super::cipher::{KEY_WORDS, enciphered, whole};
use super::word::{LANES, Lanes, Word};
use super::{Core, reference};

/// Number of keys in a block, in bits. 2^16 keys take between half a millisecond and ten
/// milliseconds. Taking a block from the common counter therefore costs nothing, and the threads
/// end together.
pub(super) const BLOCK_BITS: u32 = 16;

/// A known block of text, and its form under the key: two words each, in little-endian byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) text: [u32; 2],
    pub(super) enciphered: [u32; 2],
}

impl Pair {
    /// Pair of a text and its form under a key.
    pub(super) fn of(text: [u8; 8], key: u128) -> Self {
        let [a, b, c, d, e, f, g, h] = text;
        let text = [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])];
        Self { text, enciphered: reference::enciphered::<12>(&reference::bytes(key), text) }
    }
}

/// Findings in a range of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Keys that turn the text into the known enciphered text.
    pub(super) keys: Vec<u128>,
    /// First words of the enciphered text under each key, summed modulo 2^32.
    pub(super) sum: u32,
}

impl Found {
    /// Adds the findings of another range.
    pub(super) fn add(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keys.as_slice() {
            [] => write!(f, "no key")?,
            [key] => write!(f, "key {key:018x}")?,
            keys => write!(f, "{} keys", keys.len())?,
        }
        write!(f, " and sum {:08x}", self.sum)
    }
}

/// Tries the keys of the block that begins with `from`, whose low bits are zero.
pub(super) fn block(core: Core, pair: &Pair, from: u128) -> Found {
    let key = std::array::from_fn(|word| (from >> (32 * word)) as u32);
    let (sum, candidates) = match core {
        Core::Scalar => scalar(pair, key),
        Core::Simd | Core::Auto => simd(pair, key),
    };
    let key_of = |low: u32| from + u128::from(low);
    let is_right = |low: &u32| whole([key[0] | low, key[1], key[2]], pair.text) == pair.enciphered;
    Found { keys: candidates.into_iter().filter(is_right).map(key_of).collect(), sum }
}

/// Sum of the first words, and the low bits of all keys with the expected first word. One key in
/// 2^32 has this word by chance.
fn scalar(pair: &Pair, [low, middle, high]: [u32; KEY_WORDS]) -> (u32, Vec<u32>) {
    let (mut sum, mut candidates) = (0u32, Vec::new());
    for bits in 0..1 << BLOCK_BITS {
        let (first, _) = enciphered([low | bits, middle, high], pair.text);
        sum = sum.plus(first);
        if first == pair.enciphered[0] {
            candidates.push(bits);
        }
    }
    (sum, candidates)
}

/// Sum and low bits as `scalar` returns them, computed for many keys at once.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn simd(pair: &Pair, [low, middle, high]: [u32; KEY_WORDS]) -> (u32, Vec<u32>) {
    let (mut sum, mut candidates) = (Lanes::all(0), Vec::new());
    for bits in (0..1 << BLOCK_BITS).step_by(LANES) {
        let lows = Lanes(std::array::from_fn(|lane| low | (bits + lane as u32)));
        let (first, _) = enciphered([lows, Lanes::all(middle), Lanes::all(high)], pair.text);
        sum = sum.plus(first);
        // All lanes are compared together, without a branch for each.
        if first.0.iter().fold(false, |hit, word| hit | (*word == pair.enciphered[0])) {
            let hits = (0u32..).zip(first.0).filter(|(_, word)| *word == pair.enciphered[0]);
            candidates.extend(hits.map(|(lane, _)| bits + lane));
        }
    }
    (sum.0.into_iter().fold(0, u32::wrapping_add), candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cores_find_the_key_wherever_it_is_and_agree_with_the_published_algorithm() {
        let from = 0xa5_1234_5678_9abc_0000_u128;
        for low in [0, 1, 31, 32, 33, 12_345, 65_535] {
            let pair = Pair::of(*b"The unkn", from + low);
            let expected = reference::search(&pair, from);
            assert_eq!(expected.keys, [from + low]);
            for core in [Core::Scalar, Core::Simd] {
                assert_eq!(block(core, &pair, from), expected, "{core} {low}");
            }
        }
    }

    #[test]
    fn a_key_that_makes_one_word_right_is_no_key() {
        let from = 0x1234_0000_u128;
        let mut pair = Pair::of(*b"The unkn", from + 77);
        pair.enciphered[1] ^= 1;
        for core in [Core::Scalar, Core::Simd] {
            assert_eq!(block(core, &pair, from).keys, [], "{core}");
        }
    }
}
