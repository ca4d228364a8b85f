//! `awk`: the files that a program reads, and those that it writes itself.
//!
//! By POSIX, and by the manual of GNU awk, "Redirecting Output of print and printf". A program is
//! understood if it executes no command, reads only its input, and if each of its redirections goes
//! to a text in quotes, or to a variable that gets its values from the arguments and such texts.

use super::Command;
use super::filters::{closes_brackets, reads_input, script_file};
use crate::effects::{Effects, State};

/// Names of the program.
pub(super) const NAMES: &[&str] = &["awk", "mawk", "gawk", "nawk", "original-awk"];

/// Names that execute a command, or change what the program reads.
const OTHER_EFFECTS: &[&str] = &["system", "ARGV", "ARGC", "SYMTAB", "PROCINFO", "extension"];

/// Signs of two characters.
const LONG_SIGNS: &[&str] = &[
    ">>", ">=", "<=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "!~", "|&",
    "**",
];
const SHORT_SIGNS: &str = "{}()[];,+-*/%^!<>|?:~$=";

/// Streams that a program writes by a name of a file.
const STREAMS: &[&str] = &["/dev/stdout", "/dev/stderr", "/dev/null"];

/// A variable and a value from the arguments.
type Assignment<'a> = (&'a str, &'a str);

/// Effects of `awk [OPTION…] [PROGRAM] [FILE | NAME=VALUE]…`.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let mut effects = Effects::default();
    let mut texts = Vec::new();
    let mut assignments = Vec::new();
    let mut words = command.arguments;
    while let [word, rest @ ..] = words {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        words = rest;
        if letters == "-" {
            break;
        }
        let (option, joined) = letters.split_at_checked(1)?;
        let value = if joined.is_empty() {
            let (value, rest) = words.split_first()?;
            words = rest;
            value
        } else {
            joined
        };
        match option {
            "F" => {}
            "v" => assignments.push(assignment(value)?),
            "f" => {
                let (path, text) = script_file(command, value)?;
                effects.reads.push(path);
                texts.push(text);
            }
            _ => return None,
        }
    }
    if texts.is_empty() {
        let (program, rest) = words.split_first()?;
        words = rest;
        texts.push(program.clone());
    }
    let program = texts.join("\n");
    assignments.extend(words.iter().filter_map(|word| assignment(word)));
    let files: Vec<&String> = words.iter().filter(|word| assignment(word).is_none()).collect();
    effects.reads.extend(reads_input(command, &files)?);
    for file in outputs(&tokenize(&program)?, &assignments)? {
        effects.writes.push(command.write(file, State::Text { mode: 0o666 }));
    }
    Some(effects)
}

/// A word that sets a variable.
fn assignment(word: &str) -> Option<Assignment<'_>> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|letter: char| !letter.is_ascii_digit());
    is_name.then_some((name, value))
}

/// A token of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token<'a> {
    /// A variable, a function or a keyword.
    Name(&'a str),
    /// A text in quotes, without them, as it is written.
    Text(&'a str),
    /// A number or a regular expression.
    Other,
    Sign(&'a str),
    LineEnd,
}

use Token::{LineEnd, Name, Other, Sign, Text};

fn tokenize(program: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = program;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            ' ' | '\t' | '\r' => (None, 1),
            '\\' => {
                let end = rest[1..].strip_prefix('\r').unwrap_or(&rest[1..]).strip_prefix('\n')?;
                (None, rest.len() - end.len())
            }
            '\n' => (Some(LineEnd), 1),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '"' => {
                let text = delimited(&rest[1..], '"')?;
                (Some(Text(text)), text.len() + 2)
            }
            '/' if starts_regex(tokens.last(), rest)? => {
                let regex = delimited(&rest[1..], '/')?;
                // Whether a delimiter within brackets ends the expression depends on the program.
                let is_clear = closes_brackets(regex) && !(regex.contains('[') && regex.contains("\\]"));
                (is_clear.then_some(Some(Other))?, regex.len() + 2)
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                let name = word(rest, |letter| letter == '_' || letter.is_ascii_alphanumeric());
                (Some(Name(name)), name.len())
            }
            '.' | '0'..='9' => {
                (Some(Other), word(rest, |letter| letter == '.' || letter.is_ascii_alphanumeric()).len())
            }
            _ => {
                let sign = match LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    Some(sign) => *sign,
                    None if SHORT_SIGNS.contains(first) => &rest[..1],
                    None => return None,
                };
                (Some(Sign(sign)), sign.len())
            }
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    Some(tokens)
}

fn word(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|letter| !is_part(letter)).unwrap_or(text.len())]
}

/// Text of one line up to a delimiter without a backslash.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()?),
            '\n' => return None,
            _ if letter == delimiter => return Some(&text[..index]),
            _ => {}
        }
    }
    None
}

/// Whether a `/` at the start of `rest` begins a regular expression, and is no division. `None` if
/// that is not clear.
fn starts_regex(previous: Option<&Token>, rest: &str) -> Option<bool> {
    match previous {
        Some(Name("print" | "printf" | "return" | "in" | "case" | "else" | "do")) => Some(true),
        Some(Name("getline") | Sign("++" | "--")) => None,
        // Behind a condition an expression may stand.
        Some(Sign(")")) => {
            let line = rest[1..].lines().next().unwrap_or_default();
            (!line.contains('/')).then_some(false)
        }
        Some(Name(_) | Text(_) | Other | Sign("]")) => Some(false),
        _ => Some(true),
    }
}

/// Whether a statement ends before this token.
fn is_end(token: Option<&Token>) -> bool {
    matches!(token, None | Some(LineEnd | Sign(";" | "}")))
}

/// The files that a program writes itself.
fn outputs<'a>(tokens: &[Token<'a>], assignments: &[Assignment<'a>]) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    let mut variables = Vec::new();
    let mut depth = 0_usize;
    // Depth of parentheses at the `print` of the statement.
    let mut print_depth = None;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Name(name) if OTHER_EFFECTS.contains(name) => return None,
            Name("print" | "printf") => print_depth = Some(depth),
            Name("getline") if has_source(&tokens[index + 1..]) => return None,
            Sign("|" | "|&") => return None,
            Sign("(" | "[") => depth += 1,
            Sign(")" | "]") => depth = depth.checked_sub(1)?,
            Sign(";" | "{" | "}") => print_depth = None,
            LineEnd if !goes_on(tokens[..index].last()) => print_depth = None,
            // Within parentheses, and elsewhere than behind `print`, it compares.
            Sign(">" | ">>") if print_depth == Some(depth) => {
                match (tokens.get(index + 1)?, is_end(tokens.get(index + 2))) {
                    (Text(name), true) => names.push(*name),
                    (Name(name), true) => variables.push((*name, index + 1)),
                    _ => return None,
                }
            }
            Sign(">>") => return None,
            _ => {}
        }
    }
    let targets: Vec<usize> = variables.iter().map(|(_, index)| *index).collect();
    for (variable, _) in variables {
        names.extend(values(variable, tokens, &targets, assignments)?);
    }
    names.sort_unstable();
    names.dedup();
    // Without a name, printing fails. Other names of the system, and `-`, mean streams for some.
    names.retain(|name| !name.is_empty() && !STREAMS.contains(name));
    let is_clear = |name: &&str| {
        !name.contains('\\') && *name != "-" && !["/dev", "/inet"].iter().any(|start| name.starts_with(start))
    };
    names.iter().all(is_clear).then_some(names)
}

/// Whether a line end behind this token does not end the statement.
fn goes_on(previous: Option<&Token>) -> bool {
    matches!(previous, Some(Sign("," | "&&" | "||")))
}

/// Whether the tokens behind a `getline` may name a file. The next line of the input is harmless.
fn has_source(behind: &[Token]) -> bool {
    let behind = match behind {
        [Name(_), rest @ ..] => rest,
        _ => behind,
    };
    matches!(behind.first(), Some(Sign("<" | "[" | "$")))
}

/// All values of a variable, to which the program prints. `None` if they are not clear.
fn values<'a>(
    variable: &str,
    tokens: &[Token<'a>],
    targets: &[usize],
    assignments: &[Assignment<'a>],
) -> Option<Vec<&'a str>> {
    // Variables in capitals belong to awk.
    if !variable.contains(|letter: char| letter.is_ascii_lowercase()) {
        return None;
    }
    let set = assignments.iter().filter(|(name, _)| *name == variable);
    let mut values: Vec<&str> = set.map(|(_, value)| *value).collect();
    for (index, _) in tokens.iter().enumerate().filter(|(_, token)| **token == Name(variable)) {
        let changes = index > 0 && matches!(tokens[index - 1], Sign("++" | "--"));
        match (tokens.get(index + 1), tokens.get(index + 2)) {
            _ if targets.contains(&index) => {}
            (Some(Sign("=")), Some(Text(value))) if is_end(tokens.get(index + 3)) => values.push(value),
            (Some(Sign("==" | "!=")), _) if !changes => {}
            _ => return None,
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs_of(program: &str) -> Option<Vec<String>> {
        let tokens = tokenize(program)?;
        let names = outputs(&tokens, &[("out", "file"), ("n", "3")])?;
        Some(names.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn programs_without_redirections_write_nothing() {
        for program in [
            "{ print $1 }",
            "NR > 1 { print prev } { prev = $0 }",
            "$1 ~ /^#|>/ { next } { print \"a > b\" # > c\n}",
            "BEGIN { while ((n > 3) || n >= 4) print (n > 2), a[n > 1] }",
            "{ x = $1 / 2 / 3; print x }",
            "/[ \\t]>[^\"]/ { getline; getline line; print line }",
            "{ printf \"%s\\n\", $2 > \"/dev/stderr\" }",
            "function f(a) { return a > 2 } { print f($1) }",
            "{ print a,\n  b }\nEND { if (x > 1) exit 1 }",
        ] {
            assert_eq!(outputs_of(program), Some(Vec::new()), "{program}");
        }
    }

    #[test]
    fn redirections_to_plain_names_are_outputs() {
        for (program, expected) in [
            ("{ print > \"list\" }", vec!["list"]),
            ("{ print $1, $2 >out\n}", vec!["file"]),
            (
                "BEGIN { out = \"/dev/null\" # none\n} out == \"\" { exit } { printf(\"%s\", $0) >> out }",
                vec!["file"],
            ),
            ("{ print a,\n  b > \"list\"; print >out }", vec!["file", "list"]),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(outputs_of(program), Some(expected), "{program}");
        }
    }

    #[test]
    fn programs_with_unclear_effects_are_not_understood() {
        for program in [
            "{ system(\"rm x\") }",
            "{ print | \"sort\" }",
            "{ \"date\" | getline now }",
            "{ getline line < \"file\" }",
            "{ getline < \"file\" }",
            "{ getline a[1] < \"file\" }",
            "{ print > $1 }",
            "{ print > out \".x\" }",
            "{ print > (\"a\" n) }",
            "{ print > FILENAME }",
            "{ out = $1; print > out }",
            "{ sub(/a/, \"b\", out); print > out }",
            "function f(out) { print > out }",
            "{ print > \"a\\\"b\" }",
            "{ print > \"-\" }",
            "{ print > \"/dev/tty\" }",
            "BEGIN { ARGV[1] = \"other\" }",
            "@include \"other\"",
            "/[/]/ { print > \"x]/\" }",
            "/[\\]/]/ { print }",
            "{ if (x) /a\"b/ }",
            "{ print \"no end }",
        ] {
            assert_eq!(outputs_of(program), None, "{program}");
        }
    }
}
