//! Names of symbols as the source language writes them. This module must not look up symbols.

use std::fmt::{self, Write};

/// Longest demangled name, in bytes: far beyond the names that people read. A hostile name of 200
/// bytes can stand for 17 MB, because its parts repeat each other.
const LONGEST: usize = 64 << 10;

/// Ending with which GCC's link-time optimisation makes the names of static functions unique. A
/// number follows.
const UNIQUE_ENDING: &str = ".lto_priv.";

/// Name in the source language, without the version of the symbol. A name that is not mangled, or
/// is too long when demangled, stays as it is.
pub fn source_name(symbol: &str) -> String {
    // Linkers write `name@@VERSION` into `.symtab`, also after a mangled name.
    let name = match symbol.split_once('@') {
        Some((name, _)) if !name.is_empty() => name,
        _ => symbol,
    };
    let name = name.split_once(UNIQUE_ENDING).map_or(name, |(name, _)| name);
    demangle(name).unwrap_or_else(|| name.to_owned())
}

/// Demangled name. Mangled names begin with `_R` in Rust and `_Z` in C++ (Itanium C++ ABI, 5.1.2);
/// older names of Rust look like those of C++. Other beginnings are names of C.
fn demangle(name: &str) -> Option<String> {
    if !name.starts_with("_R") && !name.starts_with("_Z") {
        return None;
    }
    let mut text = BoundedText::default();
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(text, "{rust:#}").ok()?;
    } else {
        let cpp = cpp_demangle::Symbol::new(name).ok()?;
        cpp.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::new()).ok()?;
    }
    Some(text.0)
}

/// Text that refuses to grow beyond [`LONGEST`].
#[derive(Debug, Default)]
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language_are_readable() {
        let expected = [
            ("_ZN5cache3getEl", "cache::get(long)"),
            ("take_gil.lto_priv.0", "take_gil"),
            ("take_gil.lto_priv.0.cold", "take_gil"),
            ("_ZN5cache3getEl.lto_priv.1", "cache::get(long)"),
            ("_ZN5cache4lockE", "cache::lock"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvNtCs15kBYyAo9fc_7mycrate5cache3get", "mycrate::cache::get"),
            // C has a function `m`, and `m` is a type in a mangled name.
            ("m", "m"),
            // A name of C that some linkers use for Rust without the underscore.
            ("RNvC5cache3get", "RNvC5cache3get"),
            ("_Zebra", "_Zebra"),
        ];
        for (symbol, name) in expected {
            assert_eq!(source_name(symbol), name);
        }
    }

    #[test]
    fn versions_are_no_part_of_a_name() {
        assert_eq!(source_name("omp_set_lock@@OMP_3.0"), "omp_set_lock");
        assert_eq!(source_name("memcpy@GLIBC_2.2.5"), "memcpy");
        assert_eq!(source_name("_ZN5cache3getEl@@CACHE_1"), "cache::get(long)");
        assert_eq!(source_name("@"), "@");
    }

    /// Each part names the part before it twice: 16 parts are 4 MB of text.
    #[test]
    fn a_name_that_explodes_stays_mangled() {
        let pairs = |count: usize| {
            let parts = "0123456789ABCDEFGHIJKLMNOP".chars().take(count);
            let parts: String = parts.map(|part| format!("S_IS{part}_S{part}_E")).collect();
            format!("_Z1fSt4pairIiiE{parts}")
        };
        assert!(source_name(&pairs(2)).starts_with("f(std::pair<int, int>, std::pair<std::pair<int"));
        assert_eq!(source_name(&pairs(16)), pairs(16));
    }
}
