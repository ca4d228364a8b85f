//! Protects `{n}` in help texts: clap reads it as a line break, but users type it literally.

use clap::Command;
use clap::builder::StyledStr;

/// `{n}` with a style reset in the middle. The reset is invisible and clap does not recognise the
/// result. Code that strips styles also strips the reset.
const LITERAL: &str = "{\u{1b}[0mn}";

/// Protects every `{n}` in the help of the command and its subcommands.
pub(crate) fn keep_literal_n(mut command: Command) -> Command {
    let kept = |text: &StyledStr| StyledStr::from(text.ansi().to_string().replace("{n}", LITERAL));
    if let Some(text) = command.get_about().map(kept) {
        command = command.about(text);
    }
    if let Some(text) = command.get_long_about().map(kept) {
        command = command.long_about(text);
    }
    if let Some(text) = command.get_after_help().map(kept) {
        command = command.after_help(text);
    }
    command = command.mut_args(|mut arg| {
        if let Some(text) = arg.get_help().map(kept) {
            arg = arg.help(text);
        }
        if let Some(text) = arg.get_long_help().map(kept) {
            arg = arg.long_help(text);
        }
        arg
    });
    command.mut_subcommands(keep_literal_n)
}
