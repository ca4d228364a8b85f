//! Measured command, as the user wrote it and with `{n}` replaced for one CPU count.
//!
//! Nothing here looks for a program or runs one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

use crate::os_text::{self, NotHex};

/// Command in which `{n}` is not yet replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CommandFields", into = "CommandFields")]
pub enum Command {
    /// Program and its arguments, started without a shell.
    Program {
        /// Program name and arguments; never empty.
        argv: Vec<OsString>,
    },
    /// Line for `/bin/sh -c`.
    Shell {
        /// Text of the line.
        line: OsString,
    },
}

/// JSON form of [`Command`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum CommandFields {
    Program {
        argv: Vec<String>,
        /// All of `argv` in hexadecimal; present if one of the arguments is not UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        argv_hex: Option<Vec<String>>,
    },
    Shell {
        line: String,
        /// Line in hexadecimal; present if the line is not UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line_hex: Option<String>,
    },
}

impl From<Command> for CommandFields {
    fn from(command: Command) -> Self {
        match command {
            Command::Program { argv } => {
                let is_lossy = argv.iter().any(|word| word.to_str().is_none());
                Self::Program {
                    argv: argv.iter().map(|word| os_text::readable(word)).collect(),
                    argv_hex: is_lossy.then(|| argv.iter().map(|word| os_text::always_hex(word)).collect()),
                }
            }
            Command::Shell { line } => {
                Self::Shell { line: os_text::readable(&line), line_hex: os_text::hex(&line) }
            }
        }
    }
}

impl TryFrom<CommandFields> for Command {
    type Error = NotHex;

    fn try_from(fields: CommandFields) -> Result<Self, NotHex> {
        Ok(match fields {
            CommandFields::Program { argv_hex: Some(argv), .. } => Self::Program {
                argv: argv.iter().map(|word| os_text::from_hex(word)).collect::<Result<_, _>>()?,
            },
            CommandFields::Program { argv, argv_hex: None } => {
                Self::Program { argv: argv.into_iter().map(OsString::from).collect() }
            }
            CommandFields::Shell { line, line_hex } => {
                Self::Shell { line: os_text::from_json(line, line_hex.as_deref())? }
            }
        })
    }
}

impl Command {
    /// Words of the command, the program's name first.
    pub fn argv(&self) -> Vec<OsString> {
        match self {
            Self::Program { argv } => argv.clone(),
            Self::Shell { line } => vec!["sh".into(), "-c".into(), line.clone()],
        }
    }

    /// Readable words of the command, with U+FFFD for each byte that is not UTF-8.
    pub fn words(&self) -> Vec<String> {
        self.argv().iter().map(|word| os_text::readable(word)).collect()
    }

    /// Command at one CPU count: `{n}` is replaced, and `{{n}}` becomes a literal `{n}`.
    pub fn with_n(&self, n: u32) -> Self {
        match self {
            Self::Program { argv } => {
                Self::Program { argv: argv.iter().map(|word| substitute(word, n)).collect() }
            }
            Self::Shell { line } => Self::Shell { line: substitute(line, n) },
        }
    }

    /// Returns whether the command differs between CPU counts.
    pub fn uses_n(&self) -> bool {
        self.with_n(0) != self.with_n(1)
    }
}

/// Replaces `{n}` in `text` by the number; `{{n}}` stands for a literal `{n}`.
pub fn substitute(text: &OsStr, n: u32) -> OsString {
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some((first, others)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(b"{{n}}") {
            out.extend_from_slice(b"{n}");
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(b"{n}") {
            out.extend_from_slice(n.to_string().as_bytes());
            rest = behind;
        } else {
            out.push(*first);
            rest = others;
        }
    }
    OsString::from_vec(out)
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
            ("{{{n}}}", "{{n}}"),
            ("awk '{print $1}'", "awk '{print $1}'"),
            ("{", "{"),
            ("{m}", "{m}"),
            ("ä{n}ö", "ä8ö"),
        ] {
            assert_eq!(substitute(text.as_ref(), 8), expected);
        }
        assert_eq!(substitute(OsStr::from_bytes(b"\xff{n}\x80"), 8), OsStr::from_bytes(b"\xff8\x80"));
    }

    #[test]
    fn a_literal_n_is_not_a_use_of_n() {
        let shell = |line: &str| Command::Shell { line: line.into() };
        assert!(shell("make -j{n}").uses_n());
        assert!(!shell("echo '{{n}}'").uses_n());
        assert_eq!(shell("make -j{n} '{{n}}'").with_n(2), shell("make -j2 '{n}'"));
    }

    fn json(command: &Command) -> serde_json::Value {
        let json = serde_json::to_value(command).unwrap();
        assert_eq!(serde_json::from_value::<Command>(json.clone()).unwrap(), *command);
        json
    }

    #[test]
    fn a_command_in_utf_8_is_stored_as_text_only() {
        let argv = vec!["make".into(), "-j{n}".into()];
        assert_eq!(
            json(&Command::Program { argv }).to_string(),
            r#"{"argv":["make","-j{n}"],"kind":"program"}"#
        );
        let shell = Command::Shell { line: "seq 3 | wc".into() };
        assert_eq!(json(&shell).to_string(), r#"{"kind":"shell","line":"seq 3 | wc"}"#);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_stored_with_readable_text() {
        let odd = OsString::from_vec(b"a\xffb".to_vec());
        let program = json(&Command::Program { argv: vec!["wc".into(), odd.clone()] });
        assert_eq!(program["argv"], serde_json::json!(["wc", "a\u{fffd}b"]));
        assert_eq!(program["argv_hex"], serde_json::json!(["7763", "61ff62"]));
        let shell = json(&Command::Shell { line: odd });
        assert_eq!((&shell["line"], &shell["line_hex"]), (&"a\u{fffd}b".into(), &"61ff62".into()));
        let damaged = serde_json::json!({"kind": "shell", "line": "", "line_hex": "6"});
        assert!(serde_json::from_value::<Command>(damaged).is_err());
    }
}
