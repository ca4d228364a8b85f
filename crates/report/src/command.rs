//! The command's words as one line: for reading, and for a shell.
//!
//! Nothing here is ever run.

use morecores_record::Command;

/// The words of a command for reading: quoted as for a shell, but with `{n}` left bare, as the user typed it.
pub fn for_reading(words: &[String]) -> String {
    let quote = |word: &String| {
        // Braces alone ask for no quotes here: `-j{n}` is how every example is written.
        let bare = word.replace(['{', '}'], "");
        let safe = !word.is_empty() && shell_words::quote(&bare) == bare;
        if safe { word.clone() } else { shell_words::quote(word).into_owned() }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The command at one CPU count, as a line that a shell runs as it was run.
pub(crate) fn for_a_shell(command: &Command, n: u32) -> String {
    match command.at(n) {
        Command::Program { argv } => shell_words::join(argv),
        Command::Shell { line } => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argv: &[&str]) -> Command {
        Command::Program { argv: argv.iter().map(|a| (*a).to_owned()).collect() }
    }

    #[test]
    fn the_number_is_put_in_and_quoted() {
        assert_eq!(for_a_shell(&program(&["make", "-j{n}", "vmlinux"]), 2), "make -j2 vmlinux");
        assert_eq!(for_a_shell(&program(&["awk", "{{n}} {n}"]), 2), "awk '{n} 2'");
        assert_eq!(for_a_shell(&Command::Shell { line: "seq {n} | wc".to_owned() }, 8), "seq 8 | wc");
    }

    #[test]
    fn a_command_reads_as_it_was_typed() {
        let words = |c: Command| for_reading(&c.words());
        assert_eq!(words(program(&["make", "-j{n}", "vmlinux"])), "make -j{n} vmlinux");
        assert_eq!(words(program(&["a b", "", "it's"])), "'a b' '' 'it'\\''s'");
        assert_eq!(words(Command::Shell { line: "x | y".to_owned() }), "sh -c 'x | y'");
    }
}
