//! Keeps `{n}` in help texts: clap reads it as a line break, and to us it is what the user types.

use clap::Command;
use clap::builder::StyledStr;

/// `{n}` with a reset of the text's style in the middle, which shows as nothing and which clap does not know. It
/// is stripped wherever styles are.
const LITERAL: &str = "{\u{1b}[0mn}";

/// The command with every `{n}` in its help, and in that of its subcommands, protected.
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
