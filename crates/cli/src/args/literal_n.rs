//! Protects `{n}` in help texts: clap reads it as a line break, but users type it literally.

use clap::Command;
use clap::builder::StyledStr;

/// Character in place of the `n` of `{n}` while clap lays the help out: private use, one column
/// wide. An invisible escape sequence would hide `{n}` too, but clap breaks lines at it.
const PLACEHOLDER: &str = "\u{e000}";

/// Replaces every `{n}` in the help of the command and its subcommands, so that clap wraps it like
/// any other word. The rendered help needs [`restore`].
pub(crate) fn protect(mut command: Command) -> Command {
    let braced = format!("{{{PLACEHOLDER}}}");
    let protected = |text: &StyledStr| StyledStr::from(text.ansi().to_string().replace("{n}", &braced));
    if let Some(text) = command.get_about().map(protected) {
        command = command.about(text);
    }
    if let Some(text) = command.get_long_about().map(protected) {
        command = command.long_about(text);
    }
    if let Some(text) = command.get_after_help().map(protected) {
        command = command.after_help(text);
    }
    command = command.mut_args(|mut arg| {
        if let Some(text) = arg.get_help().map(protected) {
            arg = arg.help(text);
        }
        if let Some(text) = arg.get_long_help().map(protected) {
            arg = arg.long_help(text);
        }
        arg
    });
    command.mut_subcommands(protect)
}

/// Help as rendered by clap, with `{n}` as users type it.
pub(crate) fn restore(help: &str) -> String {
    help.replace(PLACEHOLDER, "n")
}
