//! Names of functions in the standard libraries of Rust and C++. A wait in such a function is one
//! of its caller. Where the compiler inlined one, its time is that of the caller too: an engineer
//! looks for `crunch`, not for the iterator in it. This module must not look at code.

/// Beginnings of the names of functions in standard libraries.
const LIBRARIES: [&str; 5] = ["alloc::", "core::", "std::", "__gnu_cxx::", "hashbrown::"];

/// Whether a function is part of a standard library. Functions of a library's trait for a type of
/// the program are not.
pub(super) fn is_of_standard_library(function: &str) -> bool {
    let is_library = |name: &str| LIBRARIES.iter().any(|start| name.starts_with(start));
    let Some(method) = function.strip_prefix('<') else { return is_library(function) };
    // `<TYPE as TRAIT>::method` or `<TYPE>::method` of Rust.
    let (of_type, of_trait) = match method.split_once(" as ") {
        Some((of_type, of_trait)) => (of_type, Some(of_trait)),
        None => (method.split_once(">::").map_or(method, |(of_type, _)| of_type), None),
    };
    let of_type = of_type.trim_start_matches(['&', '*', '[', '(', '<']);
    let of_type =
        ["mut ", "const ", "dyn "].iter().find_map(|word| of_type.strip_prefix(word)).unwrap_or(of_type);
    // A type without a path is a primitive one or a parameter.
    is_library(of_type) || (!of_type.contains("::") && of_trait.is_none_or(is_library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_differ_from_those_of_programs() {
        let library = [
            "core::num::<impl u64>::wrapping_mul",
            "std::vector<long, std::allocator<long> >::operator[](unsigned long)",
            "<core::ops::range::Range<usize> as core::iter::traits::iterator::Iterator>::next",
            "<usize as core::iter::range::Step>::forward_unchecked",
            "<[T]>::get",
            "<&T as core::fmt::Display>::fmt",
            "<alloc::vec::Vec<T>>::push",
        ];
        let program = [
            "crunch",
            "cache::get(long)",
            "stdlib::sort",
            "<mycrate::Matrix as core::ops::Mul>::mul",
            "<&mut mycrate::Matrix as core::ops::Mul>::mul",
            "mycrate::core::run",
        ];
        assert_eq!(library.map(is_of_standard_library), [true; 7]);
        assert_eq!(program.map(is_of_standard_library), [false; 6]);
    }
}
