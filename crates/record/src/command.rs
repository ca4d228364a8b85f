//! The command under measurement, as its user wrote it, and as it reads at one CPU count.
//!
//! Nothing here looks for a program or runs one.

use serde::{Deserialize, Serialize};

/// The command, with `{n}` not yet replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Command {
    /// A program and its arguments, started without a shell.
    Program {
        /// `argv`; never empty.
        argv: Vec<String>,
    },
    /// One line for `/bin/sh -c`.
    Shell {
        /// The line.
        line: String,
    },
}

impl Command {
    /// The words of the command as a person would recognise it.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Program { argv } => argv.clone(),
            Self::Shell { line } => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }

    /// The command at one CPU count: `{n}` is replaced, `{{n}}` has become a literal `{n}`.
    pub fn at(&self, n: u32) -> Self {
        match self {
            Self::Program { argv } => {
                Self::Program { argv: argv.iter().map(|word| substitute(word, n)).collect() }
            }
            Self::Shell { line } => Self::Shell { line: substitute(line, n) },
        }
    }

    /// Whether the command differs from one CPU count to another.
    pub fn uses_n(&self) -> bool {
        self.at(0) != self.at(1)
    }
}

/// Replaces `{n}` in `text` by the number; `{{n}}` stands for a literal `{n}`.
pub fn substitute(text: &str, n: u32) -> String {
    let put_in = |part: &str| part.replace("{n}", &n.to_string());
    text.split("{{n}}").map(put_in).collect::<Vec<_>>().join("{n}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_is_replaced_and_doubled_braces_are_literal() {
        for (text, expected) in [
            ("-j{n}", "-j8"),
            ("{n}{n}", "88"),
            ("{{n}}", "{n}"),
            ("{{n}}={n}", "{n}=8"),
            ("awk '{print $1}'", "awk '{print $1}'"),
            ("{", "{"),
            ("{m}", "{m}"),
            ("ä{n}ö", "ä8ö"),
        ] {
            assert_eq!(substitute(text, 8), expected);
        }
    }

    #[test]
    fn a_literal_n_is_not_a_use_of_n() {
        let shell = |line: &str| Command::Shell { line: line.into() };
        assert!(shell("make -j{n}").uses_n());
        assert!(!shell("echo '{{n}}'").uses_n());
        assert_eq!(shell("make -j{n} '{{n}}'").at(2), shell("make -j2 '{n}'"));
    }
}
