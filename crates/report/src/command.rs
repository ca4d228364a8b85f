//! The command's words as one line for reading.
//!
//! Nothing here is ever run.

/// The words of a command for reading: quoted as for a shell, but with `{n}` left bare, as the user typed it.
pub(crate) fn for_reading(words: &[String]) -> String {
    let quote = |word: &String| {
        // Braces alone ask for no quotes here: `-j{n}` is how every example is written.
        let bare = word.replace(['{', '}'], "");
        let safe = !word.is_empty() && shell_words::quote(&bare) == bare;
        if safe { word.clone() } else { shell_words::quote(word).into_owned() }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use morecores_record::Command;

    use super::*;

    fn program(argv: &[&str]) -> Command {
        Command::Program { argv: argv.iter().map(|a| (*a).to_owned()).collect() }
    }

    #[test]
    fn a_command_reads_as_it_was_typed() {
        let words = |c: Command| for_reading(&c.words());
        assert_eq!(words(program(&["make", "-j{n}", "vmlinux"])), "make -j{n} vmlinux");
        assert_eq!(words(program(&["a b", "", "it's"])), "'a b' '' 'it'\\''s'");
        assert_eq!(words(Command::Shell { line: "x | y".to_owned() }), "sh -c 'x | y'");
    }
}
