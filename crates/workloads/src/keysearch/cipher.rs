//! The cipher RC5-32/12/9: words of 32 bits, 12 rounds, keys of 9 bytes. R. L. Rivest, "The RC5
//! encryption algorithm", Fast Software Encryption 1994.
//!
//! One pass expands the key and enciphers a block, for one key or for many at once. Nothing is
//! reused from one key to the next, although neighbouring keys have steps in common: the
//! measurement covers the whole cipher. The names are the paper's.

use super::word::Word;

/// Rounds.
const ROUNDS: usize = 12;

/// Words of the expanded key table S.
const TABLE: usize = 2 * (ROUNDS + 1);

/// Words of the key: nine bytes, padded with zeros.
pub(super) const KEY_WORDS: usize = 3;

/// The paper's "magic constants" for words of 32 bits, from e and the golden ratio.
pub(super) const P32: u32 = 0xb7e1_5163;
pub(super) const Q32: u32 = 0x9e37_79b9;

/// Initial S, before the key is mixed in: P32, P32 + Q32, ...
const START: [u32; TABLE] = {
    let mut table = [P32; TABLE];
    let mut i = 1;
    while i < TABLE {
        table[i] = table[i - 1].wrapping_add(Q32);
        i += 1;
    }
    table
};

/// Index into S for each step of the mixing: three passes over S, in steps of three, one for each
/// word of the key.
const ORDER: [[usize; KEY_WORDS]; TABLE] = {
    let mut order = [[0; KEY_WORDS]; TABLE];
    let mut step = 0;
    while step < KEY_WORDS * TABLE {
        order[step / KEY_WORDS][step % KEY_WORDS] = step % TABLE;
        step += 1;
    }
    order
};

/// First word of a block enciphered under a key, and the second word before its last half-round. A
/// search that knows the expected first word rarely needs the second.
#[inline(always)]
pub(super) fn encipher_first_word<W: Word>(
    mut key: [W; KEY_WORDS],
    [text_a, text_b]: [u32; 2],
) -> (W, [W; 2]) {
    let mut s = [W::splat(0); TABLE];
    for (word, start) in s.iter_mut().zip(START) {
        *word = W::splat(start);
    }
    let (mut a, mut b) = (W::splat(0), W::splat(0));
    for order in &ORDER {
        for j in 0..KEY_WORDS {
            let i = order[j];
            a = s[i].plus(a).plus(b).rotate_by_3();
            s[i] = a;
            let sum = a.plus(b);
            b = key[j].plus(sum).rotate(sum);
            key[j] = b;
        }
    }
    let (mut a, mut b) = (W::splat(text_a).plus(s[0]), W::splat(text_b).plus(s[1]));
    for round in 1..ROUNDS {
        a = a.xor(b).rotate(b).plus(s[2 * round]);
        b = b.xor(a).rotate(a).plus(s[2 * round + 1]);
    }
    a = a.xor(b).rotate(b).plus(s[2 * ROUNDS]);
    (a, [b, s[2 * ROUNDS + 1]])
}

/// Both words of an enciphered block.
#[inline(always)]
pub(super) fn encipher<W: Word>(key: [W; KEY_WORDS], text: [u32; 2]) -> [W; 2] {
    let (a, [b, last]) = encipher_first_word(key, text);
    [a, b.xor(a).rotate(a).plus(last)]
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::super::word::{LANES, Lanes};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_lanes_agree_with_the_published_algorithm(
            keys in prop::array::uniform::<_, LANES>(0u128..1 << 72), text: [u32; 2],
        ) {
            let key_word = |key: u128, word: usize| (key >> (32 * word)) as u32;
            let lanes = std::array::from_fn(|word| Lanes(keys.map(|key| key_word(key, word))));
            let by_lanes = encipher::<Lanes>(lanes, text);
            for (lane, key) in keys.into_iter().enumerate() {
                let expected = reference::encipher::<12>(&reference::key_bytes(key), text);
                prop_assert_eq!(encipher(std::array::from_fn(|word| key_word(key, word)), text), expected);
                prop_assert_eq!(by_lanes.map(|word| word.0[lane]), expected);
            }
        }
    }
}
