//! The published cipher, for keys of any length and any number of rounds, from the paper's text,
//! byte by byte.
//!
//! The module shares only the two constants with `cipher`, and must stay this simple.

use super::cipher::{P32, Q32};
use super::search::{BLOCK_BITS, Findings, TextPair};

/// The nine bytes of a key.
pub(super) fn key_bytes(key: u128) -> [u8; 9] {
    std::array::from_fn(|index| (key >> (8 * index)) as u8)
}

/// A block enciphered under a key.
pub(super) fn encipher<const ROUNDS: usize>(key: &[u8], [mut a, mut b]: [u32; 2]) -> [u32; 2] {
    let s = expand_key(key, 2 * (ROUNDS + 1));
    a = a.wrapping_add(s[0]);
    b = b.wrapping_add(s[1]);
    for i in 1..=ROUNDS {
        a = (a ^ b).rotate_left(b % 32).wrapping_add(s[2 * i]);
        b = (b ^ a).rotate_left(a % 32).wrapping_add(s[2 * i + 1]);
    }
    [a, b]
}

/// The expanded key table of `t` words.
fn expand_key(key: &[u8], t: usize) -> Vec<u32> {
    let c = key.len().div_ceil(4).max(1);
    let mut l = vec![0u32; c];
    for (i, byte) in key.iter().enumerate().rev() {
        l[i / 4] = l[i / 4].rotate_left(8).wrapping_add(u32::from(*byte));
    }
    let mut s = vec![P32; t];
    for i in 1..t {
        s[i] = s[i - 1].wrapping_add(Q32);
    }
    let (mut i, mut j, mut a, mut b) = (0, 0, 0u32, 0u32);
    for _ in 0..3 * t.max(c) {
        s[i] = s[i].wrapping_add(a).wrapping_add(b).rotate_left(3);
        a = s[i];
        let distance = a.wrapping_add(b);
        l[j] = l[j].wrapping_add(distance).rotate_left(distance % 32);
        b = l[j];
        (i, j) = ((i + 1) % t, (j + 1) % c);
    }
    s
}

/// Tries the keys of a block.
pub(super) fn search(pair: &TextPair, from: u128) -> Findings {
    let mut found = Findings::default();
    for key in from..from + (1 << BLOCK_BITS) {
        let ciphertext = encipher::<12>(&key_bytes(key), pair.plaintext);
        found.sum = found.sum.wrapping_add(ciphertext[0]);
        if ciphertext == pair.ciphertext {
            found.keys.push(key);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes from hexadecimal digits.
    fn hex(digits: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(digit).collect()
    }

    /// The examples of RC5-32/12/16 in the paper: each row has a key and the ciphertext of the
    /// previous row's block under this key.
    #[test]
    fn the_examples_of_the_paper() {
        let mut block = [0, 0];
        for (key, expected) in [
            ("00000000000000000000000000000000", [0xeedb_a521, 0x6d8f_4b15]),
            ("915f4619be41b2516355a50110a9ce91", [0xac13_c0f7, 0x5289_2b5b]),
            ("783348e75aeb0f2fd7b169bb8dc16787", [0xb7b3_422f, 0x92fc_6903]),
            ("dc49db1375a5584f6485b413b5f12baf", [0xb278_c165, 0xcc97_d184]),
            ("5269f149d41ba0152497574d7f153125", [0x15e4_44eb, 0x2498_31da]),
        ] {
            block = encipher::<12>(&hex(key), block);
            assert_eq!(block, expected, "{key}");
        }
    }
    /// Keys that do not fill their last word, like those of this workload: the examples of RFC
    /// 2040, section 9, with a zero vector.
    #[test]
    fn the_examples_with_keys_of_five_bytes() {
        let (key, text) = ([1, 2, 3, 4, 5], [0xffff_ffff; 2]);
        let hexadecimal = |block: [u32; 2]| block.map(|word| format!("{:08x}", word.swap_bytes())).concat();
        assert_eq!(hexadecimal(encipher::<12>(&key, text)), "97e0787837ed317f");
        assert_eq!(hexadecimal(encipher::<8>(&key, text)), "7875dbf6738c6478");
    }
}
