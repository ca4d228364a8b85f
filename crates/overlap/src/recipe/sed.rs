//! `sed`: its scripts, as far as they only print.
//!
//! By the manual of GNU sed. A script is understood if each of its commands is, so that a command
//! that reads, writes or executes a file cannot hide behind another.

use super::Command;
use super::filters::{closes_brackets, reads_input, script_file};
use crate::effects::Effects;

/// Options that neither name a file nor change one.
const OPTIONS: &str = "nErsuz";
const LONG_OPTIONS: &[&str] =
    &["--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data"];

/// Effects of `sed [OPTION…] [SCRIPT] [FILE…]`, which prints its output.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let mut effects = Effects::default();
    let mut fragments: Vec<String> = Vec::new();
    let mut operands: Vec<&String> = Vec::new();
    let mut only_operands = false;
    let mut words = command.arguments.iter();
    while let Some(word) = words.next() {
        let is_option = !only_operands && word.len() > 1 && word.starts_with('-');
        if !is_option {
            operands.push(word);
        } else if word == "--" {
            only_operands = true;
        } else if !operands.is_empty() {
            // An option or a file, by the environment.
            return None;
        } else if let Some(text) = word.strip_prefix("--expression=") {
            fragments.push(text.to_owned());
        } else if word.starts_with("--") {
            LONG_OPTIONS.contains(&word.as_str()).then_some(())?;
        } else {
            let letters = word.trim_start_matches('-');
            let end = letters.find(|letter| !OPTIONS.contains(letter)).unwrap_or(letters.len());
            let (option, joined) = letters[end..].split_at_checked(1).unwrap_or_default();
            let mut value =
                || if joined.is_empty() { words.next().map(String::as_str) } else { Some(joined) };
            match option {
                "" => {}
                "e" => fragments.push(value()?.to_owned()),
                "f" => {
                    let (path, text) = script_file(command, value()?)?;
                    effects.reads.push(path);
                    fragments.push(text);
                }
                _ => return None,
            }
        }
    }
    if fragments.is_empty() {
        if operands.is_empty() {
            return None;
        }
        fragments.push(operands.remove(0).clone());
    }
    only_prints(&fragments.join("\n")).then_some(())?;
    effects.reads.extend(reads_input(command, &operands)?);
    Some(effects)
}

/// Whether all commands of a script are understood, and none reads, writes or executes a file.
fn only_prints(script: &str) -> bool {
    Script { rest: script }.commands().is_some()
}

/// The part of a script that is not read yet.
struct Script<'a> {
    rest: &'a str,
}

impl Script<'_> {
    fn next(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let next = letters.next()?;
        self.rest = letters.as_str();
        Some(next)
    }

    fn skip(&mut self, skips: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(skips);
    }

    fn skip_blanks(&mut self) {
        self.skip(|letter| letter == ' ' || letter == '\t');
    }

    fn commands(&mut self) -> Option<()> {
        loop {
            self.skip(|letter| letter.is_ascii_whitespace() || ";{}".contains(letter));
            if self.rest.is_empty() {
                return Some(());
            }
            self.addresses()?;
            self.command()?;
        }
    }

    /// `1`, `1,/x/!` and the like, or nothing.
    fn addresses(&mut self) -> Option<()> {
        self.address("")?;
        self.skip_blanks();
        if let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            self.skip_blanks();
            self.address("+~")?;
            self.skip_blanks();
        }
        self.skip(|letter| " \t!".contains(letter));
        Some(())
    }

    /// One address. `signs` may stand before a number.
    fn address(&mut self, signs: &str) -> Option<()> {
        match self.rest.chars().next() {
            Some('$') => drop(self.next()),
            Some(delimiter @ ('/' | '\\')) => {
                self.next();
                let delimiter = if delimiter == '/' { delimiter } else { self.next()? };
                self.regex(delimiter)?;
                self.skip(|letter| "IM".contains(letter));
            }
            Some(letter) if letter.is_ascii_digit() || signs.contains(letter) => {
                self.skip(|letter| letter.is_ascii_digit() || "+~".contains(letter));
            }
            _ => {}
        }
        Some(())
    }

    fn command(&mut self) -> Option<()> {
        match self.next()? {
            '{' | '}' => return Some(()),
            '#' => {
                self.skip(|letter| letter != '\n');
                return Some(());
            }
            ':' | 'b' | 't' | 'T' => return self.label(),
            'a' | 'i' | 'c' => return self.text(),
            's' => {
                let delimiter = self.next()?;
                self.regex(delimiter)?;
                self.delimited(delimiter)?;
                // Without `w` and `e`, which write a file and execute a command.
                self.skip(|letter| letter.is_ascii_digit() || "gpiImM".contains(letter));
            }
            'y' => {
                let delimiter = self.next()?;
                self.delimited(delimiter)?;
                self.delimited(delimiter)?;
            }
            'q' | 'Q' | 'l' => {
                self.skip_blanks();
                self.skip(|letter| letter.is_ascii_digit());
            }
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | '=' => {}
            _ => return None,
        }
        self.skip_blanks();
        (self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', '#'])).then_some(())
    }

    /// A label. Where it ends at a line end only, what is read as further commands belongs to it.
    fn label(&mut self) -> Option<()> {
        self.skip_blanks();
        let ends = |letter: char| letter == ';' || letter.is_ascii_whitespace();
        let (label, _) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        let is_plain = !label.contains('}');
        self.skip(|letter| !ends(letter));
        is_plain.then_some(())
    }

    /// Text to print, to the end of a line without a backslash.
    fn text(&mut self) -> Option<()> {
        while let Some(letter) = self.next() {
            match letter {
                '\\' => drop(self.next()),
                '\n' => break,
                _ => {}
            }
        }
        Some(())
    }

    fn regex(&mut self, delimiter: char) -> Option<()> {
        // A delimiter within brackets ends the expression for some programs only.
        closes_brackets(self.delimited(delimiter)?).then_some(())
    }

    /// Text up to a delimiter without a backslash.
    fn delimited(&mut self, delimiter: char) -> Option<&str> {
        if matches!(delimiter, '\\' | '\n') {
            return None;
        }
        let text = self.rest;
        loop {
            let length = text.len() - self.rest.len();
            match self.next()? {
                '\\' => drop(self.next()?),
                '\n' => return None,
                letter if letter == delimiter => return Some(&text[..length]),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_only_print_are_understood() {
        for script in [
            "s/a/b/",
            "s|@prefix@|/usr/local|g; s,x,y,2p",
            "/^#/d",
            "1,10p;$!N",
            "/a/,/b/{ s/x/y/; p; }",
            "/a/I,+3!d",
            "\\%/usr%d",
            ":a;N;$!ba;s/\\n/ /g",
            "s/[^a-z]//g;y/abc/xyz/",
            "1i\\\n/* generated; w file */\ns/a/b/",
            "a text with w file",
            "# a comment with w file\np",
            "s/a\\/b/c\\\nd/",
            "/x/q1",
            "2~3d",
        ] {
            assert!(only_prints(script), "{script}");
        }
    }

    #[test]
    fn scripts_with_other_effects_or_unclear_ends_are_not_understood() {
        for script in [
            "w file",
            "/a/w file",
            "s/a/b/w file",
            "s/a/b/gw file",
            "s/a/b/e",
            "e date",
            "r other",
            "R other",
            "W file",
            "1,3{p;w file\n}",
            "s/a/b/;$!{w file\n}",
            "a text\nw file",
            "s/[/]/x/w]/",
            "s/a/b",
            "s/a/b/ x",
            "b end}w file",
            "y/a/b/w file",
            "v 4.2",
            "F",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}
