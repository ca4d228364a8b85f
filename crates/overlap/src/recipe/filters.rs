//! Filters: programs that read files or their standard input, and print.

use std::path::PathBuf;

use super::{Command, Input};
use crate::disk::is_of_kernel;
use crate::effects::Effects;

/// Effects of a filter with these options: letters alone, and letters with a value.
pub(super) fn read_effects(command: &Command, plain: &str, valued: &str) -> Option<Effects> {
    let (_, operands) = split(command, plain, valued)?;
    Some(Effects { reads: reads_input(command, &operands)?, ..Effects::default() })
}

/// Effects of `uniq [OPTION…] [INPUT]`.
pub(super) fn unique_effects(command: &Command) -> Option<Effects> {
    let (_, operands) = split(command, "cduiz", "fsw")?;
    // A second operand is the output.
    if operands.len() > 1 {
        return None;
    }
    Some(Effects { reads: reads_input(command, &operands)?, ..Effects::default() })
}

/// Effects of `tr [OPTION…] SET…`, which reads its standard input only.
pub(super) fn translate_effects(command: &Command) -> Option<Effects> {
    split(command, "cCdst", "")?;
    (*command.input != Input::Inherited).then(Effects::default)
}

/// Effects of `grep [OPTION…] [PATTERN] [FILE…]` without directories.
pub(super) fn grep_effects(command: &Command) -> Option<Effects> {
    let (options, mut operands) = split(command, "EFGPivwxcnhHlLqsoabyz0123456789", "efmABC")?;
    let mut reads = Vec::new();
    for (_, file) in options.iter().filter(|(letter, _)| *letter == 'f') {
        reads.push(command.path(file));
    }
    if !options.iter().any(|(letter, _)| matches!(letter, 'e' | 'f')) {
        if operands.is_empty() {
            return None;
        }
        operands.remove(0);
    }
    reads.extend(reads_input(command, &operands)?);
    Some(Effects { reads, ..Effects::default() })
}

/// Options with a value, and operands.
type Split<'a> = (Vec<(char, &'a str)>, Vec<&'a String>);

/// Arguments split into options with a value and operands. `None` for another option, or one behind
/// an operand, which may be a file.
fn split<'a>(command: &Command<'a>, plain: &str, valued: &str) -> Option<Split<'a>> {
    let mut options = Vec::new();
    let mut words = command.arguments;
    while let [word, rest @ ..] = words {
        if word.len() < 2 || !word.starts_with('-') {
            break;
        }
        words = rest;
        if word == "--" {
            return Some((options, words.iter().collect()));
        }
        let letters = &word[1..];
        let end = letters.find(|letter| !plain.contains(letter)).unwrap_or(letters.len());
        let mut others = letters[end..].chars();
        if let Some(option) = others.next() {
            if !valued.contains(option) {
                return None;
            }
            let value = if others.as_str().is_empty() {
                let (value, rest) = words.split_first()?;
                words = rest;
                value
            } else {
                others.as_str()
            };
            options.push((option, value));
        }
    }
    let operands: Vec<&String> = words.iter().collect();
    let has_option = operands.iter().any(|word| word.len() > 1 && word.starts_with('-'));
    (!has_option).then_some((options, operands))
}

/// The files that a filter reads by its operands. `None` if it reads a standard input that is not
/// known.
pub(super) fn reads_input(command: &Command, operands: &[&String]) -> Option<Vec<PathBuf>> {
    let reads_stream = operands.is_empty() || operands.iter().any(|word| *word == "-");
    if reads_stream && *command.input == Input::Inherited {
        return None;
    }
    Some(command.paths(operands.iter().copied().filter(|word| *word != "-")))
}

/// Path and text of a script that an option names.
pub(super) fn script_file(command: &Command, name: &str) -> Option<(PathBuf, String)> {
    let path = command.path(name);
    if is_of_kernel(&path) {
        return None;
    }
    let text = String::from_utf8(command.files.read(&path)?).ok()?;
    Some((path, text))
}

/// Whether each `[` of a regular expression has its `]`.
pub(super) fn closes_brackets(regex: &str) -> bool {
    let mut rest = regex;
    while let Some(index) = rest.find(['\\', '[']) {
        let is_escape = rest[index..].starts_with('\\');
        let mut others = rest[index + 1..].chars();
        rest = if is_escape {
            others.next();
            others.as_str()
        } else {
            match after_set(others.as_str()) {
                Some(rest) => rest,
                None => return false,
            }
        };
    }
    true
}

/// Text behind the `]` of a set of characters; `None` without one.
fn after_set(set: &str) -> Option<&str> {
    let set = set.strip_prefix('^').unwrap_or(set);
    // The first `]` of a set stands for itself.
    let mut rest = set.strip_prefix(']').unwrap_or(set);
    loop {
        let index = rest.find(['[', ']'])?;
        let inner = &rest[index + 1..];
        if rest[index..].starts_with(']') {
            return Some(inner);
        }
        // Classes such as `[:alpha:]` have brackets of their own.
        rest = match inner.chars().next()? {
            kind @ (':' | '.' | '=') => &inner[inner.find(&format!("{kind}]"))? + 2..],
            _ => inner,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_set_is_found() {
        for regex in ["a", "[a-z]*", "[]]", "[^]a]", "[[:alpha:]_]", "\\[", "[[.].]]", "a\\]"] {
            assert!(closes_brackets(regex), "{regex}");
        }
        for regex in ["[", "[^", "[]", "[[:alpha:]", "x[a-"] {
            assert!(!closes_brackets(regex), "{regex}");
        }
    }
}
