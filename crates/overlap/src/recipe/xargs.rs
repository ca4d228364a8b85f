//! `xargs`: a command whose last arguments are words on its standard input.
//!
//! They are known if an `echo` or a `printf` of the same recipe line prints them, as for the
//! archives of the Linux kernel.

use super::{Command, Input, Meaning, Weight, command_meaning};
use crate::effects::Effects;

/// Longest text of which `xargs` surely makes one command, in bytes: half of its own limit.
const MAX_TEXT: usize = 64 << 10;

/// Output of `echo` or `printf`; `None` if the words are not plain.
pub(super) fn printed(words: &[String]) -> Option<String> {
    match words {
        [name, words @ ..] if name == "echo" => {
            let is_plain = !words.first().is_some_and(|word| word.starts_with('-'))
                && !words.iter().any(|word| word.contains('\\'));
            is_plain.then(|| words.join(" ") + "\n")
        }
        [name, format, words @ ..] if name == "printf" && !format.starts_with('-') => {
            let (before, behind) = format.split_once("%s")?;
            if before.contains(['%', '\\']) || behind.contains(['%', '\\']) {
                return None;
            }
            // The format serves once for each word, and once if there is none.
            let none = [String::new()];
            let words = if words.is_empty() { &none } else { words };
            Some(words.iter().map(|word| format!("{before}{word}{behind}")).collect())
        }
        _ => None,
    }
}

/// Meaning of `xargs [-r] COMMAND WORD…`.
pub(super) fn meaning(command: &Command) -> Option<Meaning> {
    let Input::Known(text) = command.input else { return None };
    // Quotes join words.
    if text.len() > MAX_TEXT || text.contains(['"', '\'', '\\']) {
        return None;
    }
    let (needs_words, words) = match command.arguments {
        [option, words @ ..] if option == "-r" => (true, words),
        words => (false, words),
    };
    let (name, first) = words.split_first()?;
    if name.starts_with('-') {
        return None;
    }
    let mut arguments = first.to_vec();
    arguments.extend(text.split_ascii_whitespace().map(str::to_owned));
    if needs_words && arguments.len() == first.len() {
        return Some(Meaning { effects: Effects::default(), weight: Weight::Light });
    }
    let program = command.program(name)?;
    command_meaning(&program, &Command { arguments: &arguments, input: &Input::Redirected, ..*command })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> Option<String> {
        printed(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_echo_and_printf_print_is_known() {
        assert_eq!(text(&["echo", "a", "b"]).as_deref(), Some("a b\n"));
        assert_eq!(text(&["echo"]).as_deref(), Some("\n"));
        assert_eq!(text(&["printf", "lib/%s ", "a.o", "b.o"]).as_deref(), Some("lib/a.o lib/b.o "));
        assert_eq!(text(&["printf", "lib/%s "]).as_deref(), Some("lib/ "));
        for unknown in [
            &["echo", "-n", "a"][..],
            &["echo", "a\\n"],
            &["printf", "%d", "1"],
            &["printf", "%s%s", "a", "b"],
            &["printf", "%s\\n", "a"],
            &["printf", "plain"],
            &["cat", "a"],
        ] {
            assert_eq!(text(unknown), None, "{unknown:?}");
        }
    }
}
