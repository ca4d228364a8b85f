//! The command's words as one line: for reading, and for a shell.
//!
//! This module never runs a command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use morecores_study::{Command, Variable};

/// Words of a command for reading: quoted as for a shell, but with `{n}` left bare, as the user
/// typed it.
pub fn display_command(words: &[String]) -> String {
    let quote = |(position, word): (usize, &String)| {
        // Braces alone need no quotes here: every example is written like `-j{n}`. An equals sign
        // needs none either, except in the first word, where it would set a variable.
        let mut bare = word.replace(['{', '}'], "");
        if position > 0 {
            bare = bare.replace('=', "");
        }
        let safe = !bare.is_empty() && shell_words::quote(&bare) == bare;
        if safe { word.clone() } else { shell_words::quote(word).into_owned() }
    };
    words.iter().enumerate().map(quote).collect::<Vec<_>>().join(" ")
}

/// Words of a command for reading, after the variables set for it, as a user types them before a
/// command.
pub fn display_command_with_variables(words: &[String], env: &[Variable]) -> String {
    let assignment = |variable: &Variable| {
        let value = variable.value.as_ref()?.to_string_lossy();
        Some(format!("{}={}", variable.name.to_string_lossy(), display_command(&[value.into_owned()])))
    };
    let parts = env.iter().filter_map(assignment).chain([display_command(words)]);
    parts.collect::<Vec<_>>().join(" ")
}

/// The command at one CPU count, after the variables set for it, as a shell line that repeats the
/// run.
pub(crate) fn shell_command(command: &Command, env: &[Variable], n: u32) -> String {
    let assignment = |variable: &Variable| {
        variable.value_at(n).map(|value| [variable.name.as_os_str(), &value].join(OsStr::new("=")))
    };
    let set: Vec<OsString> = env.iter().filter_map(assignment).collect();
    let (is_set, command) = (!set.is_empty(), command.with_n(n));
    match command {
        Command::Shell { line } if !is_set && line.to_str().is_some() => line.to_string_lossy().into_owned(),
        command => {
            let env = is_set.then(|| OsString::from("env")).into_iter();
            let words = env.chain(set).chain(command.argv());
            words.map(|word| quote(&word)).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Quotes one word for a shell; bytes that are not UTF-8 get the form `$'\377'` of POSIX.
fn quote(word: &OsStr) -> String {
    if let Some(text) = word.to_str() {
        return shell_words::quote(text).into_owned();
    }
    let byte = |byte: &u8| match byte {
        b'\\' | b'\'' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("$'{}'", word.as_bytes().iter().map(byte).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argv: &[&str]) -> Command {
        Command::Program { argv: argv.iter().map(Into::into).collect() }
    }

    #[test]
    fn n_is_replaced_and_words_are_quoted() {
        assert_eq!(shell_command(&program(&["make", "-j{n}", "vmlinux"]), &[], 2), "make -j2 vmlinux");
        assert_eq!(shell_command(&program(&["awk", "{{n}} {n}"]), &[], 2), "awk '{n} 2'");
        assert_eq!(shell_command(&Command::Shell { line: "seq {n} | wc".into() }, &[], 8), "seq 8 | wc");
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_quoted_for_a_shell() {
        let odd = OsStr::from_bytes(b"a'\xff\n").to_owned();
        let line = shell_command(
            &Command::Program { argv: vec!["printf".into(), "%s".into(), odd.clone()] },
            &[],
            1,
        );
        assert_eq!(line, r"printf '%s' $'a\'\377\012'");
        let output = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
        assert_eq!(output.stdout, odd.as_bytes());
        assert_eq!(shell_command(&Command::Shell { line: odd }, &[], 1), r"sh -c $'a\'\377\012'");
    }

    #[test]
    fn set_variables_precede_the_command() {
        let variable =
            |name: &str, value: Option<&str>| Variable { name: name.into(), value: value.map(Into::into) };
        let env = [variable("A", Some("{n}")), variable("B", Some("x y")), variable("PS1", None)];
        let make = program(&["make", "-j{n}"]);
        assert_eq!(display_command_with_variables(&make.words(), &env), "A={n} B='x y' make -j{n}");
        assert_eq!(shell_command(&make, &env, 2), "env 'A=2' 'B=x y' make -j2");
        let shell = Command::Shell { line: "echo $A {n}".into() };
        assert_eq!(shell_command(&shell, &env[..1], 2), "env 'A=2' sh -c 'echo $A 2'");
        assert_eq!(shell_command(&shell, &env[2..], 2), "echo $A 2");
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let words = |c: Command| display_command(&c.words());
        assert_eq!(words(program(&["make", "-j{n}", "vmlinux"])), "make -j{n} vmlinux");
        assert_eq!(words(program(&["make", "-C", "x", "O=a", "--file=b c"])), "make -C x O=a '--file=b c'");
        assert_eq!(words(program(&["A=b", "="])), "'A=b' '='");
        assert_eq!(words(program(&["a b", "", "it's"])), "'a b' '' 'it'\\''s'");
        assert_eq!(words(Command::Shell { line: "x | y".into() }), "sh -c 'x | y'");
    }
}
