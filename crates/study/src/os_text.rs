//! Operating-system text in JSON: arguments and paths may hold bytes that are not UTF-8.
//!
//! Such a text is written twice. One form is readable, with U+FFFD for each invalid byte. The other
//! is in hexadecimal, under a key that ends in `_hex`. The hexadecimal form is read back. Text that
//! is UTF-8 has no such key.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Error for text under a key that ends in `_hex` but that is not a hexadecimal number of whole
/// bytes.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not pairs of hexadecimal digits")]
pub(crate) struct NotHex(String);

/// Readable form of the text.
pub(crate) fn readable(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Bytes of a text in hexadecimal; `None` if the text is UTF-8, and so readable without loss.
pub(crate) fn hex(text: &OsStr) -> Option<String> {
    text.to_str().is_none().then(|| always_hex(text))
}

/// Bytes of a text in hexadecimal.
pub(crate) fn always_hex(text: &OsStr) -> String {
    text.as_bytes().iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Text from which `readable` and `hex` were made.
pub(crate) fn from_json(readable: String, hex: Option<&str>) -> Result<OsString, NotHex> {
    hex.map_or_else(|| Ok(readable.into()), from_hex)
}

/// Text of these hexadecimal digits.
pub(crate) fn from_hex(hex: &str) -> Result<OsString, NotHex> {
    let wrong = || NotHex(hex.to_owned());
    let pair = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.contains('+'));
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(wrong)
    };
    hex.as_bytes().chunks(2).map(pair).collect::<Result<Vec<u8>, _>>().map(OsString::from_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf_8_survive_json() {
        for bytes in [&b""[..], b"plain", "ä".as_bytes(), b"\xff", b"a\xffb\x80", b"\xef\xbf\xbd"] {
            let text = OsStr::from_bytes(bytes);
            let back = from_json(readable(text), hex(text).as_deref()).unwrap();
            assert_eq!(back.as_bytes(), bytes);
            assert_eq!(hex(text).is_none(), text.to_str().is_some());
        }
    }

    #[test]
    fn text_that_is_not_hexadecimal_is_refused() {
        for wrong in ["f", "fg", "+f", "ä"] {
            assert!(from_hex(wrong).is_err(), "{wrong}");
        }
    }
}
