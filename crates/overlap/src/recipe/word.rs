//! Words of a shell, expanded as far as that needs no running: quotes, variables whose values are
//! known, and the few substitutions of commands that `substitution` knows.

use std::collections::HashMap;
use std::path::Path;

use brush_parser::ParserOptions;
use brush_parser::ast::Word;
use brush_parser::word::{self, Parameter, ParameterExpr, WordPiece, WordPieceWithSource};

use super::{Environment, Files, Kind, absolute, substitution};

/// Variables of the shell and of its environment.
pub(super) struct Variables<'a> {
    pub(super) environment: &'a Environment,
    pub(super) assigned: HashMap<String, String>,
}

impl Variables<'_> {
    /// The value of a variable, empty if it has none; `None` if variables cannot be read.
    fn value(&self, name: &str) -> Option<&str> {
        match self.assigned.get(name) {
            Some(value) => Some(value),
            None => self.environment.value(name),
        }
    }
}

/// Surroundings on which the value of a word depends.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) variables: &'a Variables<'a>,
    pub(super) files: &'a dyn Files,
    pub(super) directory: &'a Path,
}

impl Context<'_> {
    /// The fields of a word; `None` if they depend on what is not known, such as a pattern or the
    /// output of a command.
    pub(super) fn expand(self, word: &Word) -> Option<Vec<String>> {
        if is_plain(&word.value) {
            return Some(vec![word.value.clone()]);
        }
        let mut text = String::new();
        let mut is_quoted = false;
        for piece in pieces(&word.value)? {
            is_quoted |= !matches!(piece.piece, WordPiece::Text(_) | WordPiece::ParameterExpansion(_));
            self.append(&piece.piece, Quotes::None, &mut text)?;
        }
        // An unquoted variable without a value is no field at all.
        Some(if text.is_empty() && !is_quoted { Vec::new() } else { vec![text] })
    }

    /// All names that a pattern such as `x.tf[12]` can stand for, whether or not they are there.
    /// `None` for a pattern with endless names, or if a file has the pattern's own name.
    pub(super) fn expand_pattern(self, word: &Word) -> Option<Vec<String>> {
        let mut names = vec![String::new()];
        let mut own_name = String::new();
        for piece in pieces(&word.value)? {
            if let WordPiece::Text(part) = &piece.piece {
                names = with_alternatives(names, part)?;
                own_name.push_str(part);
            } else {
                let start = own_name.len();
                self.append(&piece.piece, Quotes::None, &mut own_name)?;
                names.iter_mut().for_each(|name| name.push_str(&own_name[start..]));
            }
        }
        let own_kind = self.files.kind(&absolute(self.directory, own_name.as_ref()))?;
        (own_kind == Kind::Missing).then_some(names)
    }

    /// The one string that a word stands for in an assignment or a redirection.
    pub(super) fn expand_one(self, word: &Word) -> Option<String> {
        match &self.expand(word)?[..] {
            [] => Some(String::new()),
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    fn append(self, piece: &WordPiece, quotes: Quotes, text: &mut String) -> Option<()> {
        match piece {
            // Patterns, and braces that bash expands and sh does not.
            WordPiece::Text(part) if quotes == Quotes::None && is_pattern(part) => None,
            WordPiece::Text(part) | WordPiece::SingleQuotedText(part) => {
                text.push_str(part);
                Some(())
            }
            WordPiece::EscapeSequence(part) => {
                let escaped = part.strip_prefix('\\').unwrap_or(part);
                // Within double quotes a backslash stands for itself before most characters.
                if quotes == Quotes::Double && !escaped.starts_with(['$', '`', '"', '\\', '\n']) {
                    text.push('\\');
                }
                if escaped != "\n" {
                    text.push_str(escaped);
                }
                Some(())
            }
            WordPiece::DoubleQuotedSequence(parts) => {
                parts.iter().try_for_each(|part| self.append(&part.piece, Quotes::Double, text))
            }
            WordPiece::ParameterExpansion(ParameterExpr::Parameter {
                parameter: Parameter::Named(name),
                indirect: false,
            }) => {
                let value = self.variables.value(name)?;
                // Outside quotes the shell would split the value, and match it with files.
                if quotes == Quotes::None && !is_one_field(value) {
                    return None;
                }
                text.push_str(value);
                Some(())
            }
            WordPiece::BackquotedCommandSubstitution(command) | WordPiece::CommandSubstitution(command) => {
                let value = substitution::value(command, self)?;
                if quotes == Quotes::None && !is_one_field(&value) {
                    return None;
                }
                text.push_str(&value);
                Some(())
            }
            _ => None,
        }
    }
}

/// Each start with each name of a pattern behind it, of which only sets such as `[12]` are known.
fn with_alternatives(mut starts: Vec<String>, pattern: &str) -> Option<Vec<String>> {
    let mut rest = pattern;
    while let Some((plain, set)) = rest.split_once('[') {
        let (set, behind) = set.split_once(']')?;
        let is_list = !set.is_empty() && set.bytes().all(|letter| letter.is_ascii_alphanumeric());
        if !is_list || is_pattern(plain) || starts.len() * set.len() > MAX_NAMES {
            return None;
        }
        let names = |start: &String| set.chars().map(|letter| format!("{start}{plain}{letter}")).collect();
        starts = starts.iter().flat_map(|start| -> Vec<String> { names(start) }).collect();
        rest = behind;
    }
    starts.iter_mut().for_each(|start| start.push_str(rest));
    (!is_pattern(rest)).then_some(starts)
}

/// Most names of one pattern.
const MAX_NAMES: usize = 32;

/// Whether the shell leaves an unquoted value as it is.
fn is_one_field(value: &str) -> bool {
    !value.contains([' ', '\t', '\n', '*', '?', '['])
}

/// Whether a word stands for itself in every shell. Most words of a recipe line do.
fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+,:=@%".contains(&byte);
    !word.is_empty() && word.bytes().all(is_plain)
}

fn pieces(text: &str) -> Option<Vec<WordPieceWithSource>> {
    word::parse(text, &ParserOptions { sh_mode: true, posix_mode: true, ..ParserOptions::default() }).ok()
}

/// Quotes around a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

/// Whether a shell may match a text with files. `[` alone is the name of a command.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '{']) || text.find('[').is_some_and(|start| text[start..].contains(']'))
}
