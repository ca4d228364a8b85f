//! Search of a block of keys, one after the other or many at once.
//!
//! The search also adds up the results of all keys on the text, so that the result depends on each
//! key exactly once.

use std::fmt;

use multiversion::multiversion;

use super::cipher::{KEY_WORDS, encipher, encipher_first_word};
use super::word::{LANES, Lanes, Word};
use super::{Core, reference};

/// Number of keys in a block, in bits. 2^16 keys take between half a millisecond and ten
/// milliseconds. Taking a block from the common counter therefore costs nothing, and the threads
/// end together.
pub(super) const BLOCK_BITS: u32 = 16;

/// A known block of text, and its form under the key: two words each, in little-endian byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPair {
    pub(super) plaintext: [u32; 2],
    pub(super) ciphertext: [u32; 2],
}

impl TextPair {
    /// Pair of a text and its form under a key.
    pub(super) fn new(text: [u8; 8], key: u128) -> Self {
        let [a, b, c, d, e, f, g, h] = text;
        let plaintext = [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])];
        Self { plaintext, ciphertext: reference::encipher::<12>(&reference::key_bytes(key), plaintext) }
    }
}

/// Findings in a range of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Keys that turn the text into the known enciphered text.
    pub(super) keys: Vec<u128>,
    /// First words of the enciphered text under each key, summed modulo 2^32.
    pub(super) sum: u32,
}

impl Findings {
    /// Adds the findings of another range.
    pub(super) fn add(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keys.as_slice() {
            [] => write!(f, "no key")?,
            [key] => write!(f, "key {key:018x}")?,
            keys => write!(f, "{} keys", keys.len())?,
        }
        write!(f, " and sum {:08x}", self.sum)
    }
}

/// Tries the keys of the block that begins with `first_key`, whose low bits are zero.
pub(super) fn search_block(core: Core, pair: &TextPair, first_key: u128) -> Findings {
    let key = std::array::from_fn(|word| (first_key >> (32 * word)) as u32);
    let (sum, candidates) = match core {
        Core::Scalar => scalar(pair, key),
        Core::Simd | Core::Auto => simd(pair, key),
    };
    let key_with = |low: u32| first_key + u128::from(low);
    let is_right = |low: &u32| encipher([key[0] | low, key[1], key[2]], pair.plaintext) == pair.ciphertext;
    Findings { keys: candidates.into_iter().filter(is_right).map(key_with).collect(), sum }
}

/// Sum of the first words, and the low bits of all keys with the expected first word. One key in
/// 2^32 has this word by chance.
fn scalar(pair: &TextPair, [low, middle, high]: [u32; KEY_WORDS]) -> (u32, Vec<u32>) {
    let (mut sum, mut candidates) = (0u32, Vec::new());
    for low_bits in 0..1 << BLOCK_BITS {
        let (first, _) = encipher_first_word([low | low_bits, middle, high], pair.plaintext);
        sum = sum.plus(first);
        if first == pair.ciphertext[0] {
            candidates.push(low_bits);
        }
    }
    (sum, candidates)
}

/// Sum and low bits as `scalar` returns them, computed for many keys at once.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn simd(pair: &TextPair, [low, middle, high]: [u32; KEY_WORDS]) -> (u32, Vec<u32>) {
    let (mut sum, mut candidates) = (Lanes::splat(0), Vec::new());
    for low_bits in (0..1 << BLOCK_BITS).step_by(LANES) {
        let lows = Lanes(std::array::from_fn(|lane| low | (low_bits + lane as u32)));
        let (first, _) =
            encipher_first_word([lows, Lanes::splat(middle), Lanes::splat(high)], pair.plaintext);
        sum = sum.plus(first);
        // All lanes are compared together, without a branch for each.
        if first.0.iter().fold(false, |hit, word| hit | (*word == pair.ciphertext[0])) {
            let hits = (0u32..).zip(first.0).filter(|(_, word)| *word == pair.ciphertext[0]);
            candidates.extend(hits.map(|(lane, _)| low_bits + lane));
        }
    }
    (sum.0.into_iter().fold(0, u32::wrapping_add), candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cores_find_the_key_wherever_it_is_and_agree_with_the_published_algorithm() {
        let first_key = 0xa5_1234_5678_9abc_0000_u128;
        for low in [0, 1, 31, 32, 33, 12_345, 65_535] {
            let pair = TextPair::new(*b"The unkn", first_key + low);
            let expected = reference::search(&pair, first_key);
            assert_eq!(expected.keys, [first_key + low]);
            for core in [Core::Scalar, Core::Simd] {
                assert_eq!(search_block(core, &pair, first_key), expected, "{core} {low}");
            }
        }
    }

    #[test]
    fn a_key_that_makes_one_word_right_is_no_key() {
        let first_key = 0x1234_0000_u128;
        let mut pair = TextPair::new(*b"The unkn", first_key + 77);
        pair.ciphertext[1] ^= 1;
        for core in [Core::Scalar, Core::Simd] {
            assert_eq!(search_block(core, &pair, first_key).keys, [], "{core}");
        }
    }
}
