//! The table of programs whose arguments tell what they read and write.

use super::{
    Command, Executable, Format, Meaning, Weight, archive, awk, compiler, files, filters, kernel, sed,
};
use crate::effects::Effects;

/// Reads the arguments of one program; `None` if it does not understand them.
type Reader = fn(&Command) -> Option<Effects>;

/// One row: names, reader, weight.
struct Program {
    names: &'static [&'static str],
    format: Format,
    reader: Reader,
    weight: Weight,
}

/// Every program that may be deferred. A name also stands for the name with a target before it and
/// a version behind it, such as `x86_64-linux-gnu-gcc-12`.
const PROGRAMS: &[Program] = &[
    Program { names: compiler::NAMES, format: Format::Elf, reader: compiler::effects, weight: Weight::Heavy },
    Program {
        names: &["as"],
        format: Format::Elf,
        reader: compiler::assembler_effects,
        weight: Weight::Heavy,
    },
    Program {
        names: &["ld", "ld.bfd", "ld.gold", "ld.lld"],
        format: Format::Elf,
        reader: compiler::linker_effects,
        weight: Weight::Heavy,
    },
    Program {
        names: &["ar", "gcc-ar", "llvm-ar"],
        format: Format::Elf,
        reader: archive::effects,
        weight: Weight::Heavy,
    },
    Program {
        names: &["ranlib", "gcc-ranlib", "llvm-ranlib"],
        format: Format::Elf,
        reader: archive::index_effects,
        weight: Weight::Light,
    },
    Program { names: &["mv"], format: Format::Elf, reader: files::move_effects, weight: Weight::Light },
    Program { names: &["cp"], format: Format::Elf, reader: files::copy_effects, weight: Weight::Light },
    Program { names: &["ln"], format: Format::Elf, reader: files::link_effects, weight: Weight::Light },
    Program { names: &["rm"], format: Format::Elf, reader: files::remove_effects, weight: Weight::Light },
    Program {
        names: &["rmdir"],
        format: Format::Elf,
        reader: files::remove_directory_effects,
        weight: Weight::Light,
    },
    Program {
        names: &["mkdir"],
        format: Format::Elf,
        reader: files::directory_effects,
        weight: Weight::Light,
    },
    Program { names: &["touch"], format: Format::Elf, reader: files::touch_effects, weight: Weight::Light },
    Program { names: &["chmod"], format: Format::Elf, reader: files::mode_effects, weight: Weight::Light },
    Program {
        names: &["test", "["],
        format: Format::Elf,
        reader: files::test_effects,
        weight: Weight::Light,
    },
    Program {
        names: &["cat", "cmp"],
        format: Format::Elf,
        reader: files::read_effects,
        weight: Weight::Light,
    },
    // Filters, whose output a recipe line redirects.
    Program { names: awk::NAMES, format: Format::Elf, reader: awk::effects, weight: Weight::Light },
    Program { names: &["sed"], format: Format::Elf, reader: sed::effects, weight: Weight::Light },
    Program { names: &["grep"], format: Format::Elf, reader: filters::grep_effects, weight: Weight::Light },
    Program {
        names: &["egrep", "fgrep"],
        format: Format::Script,
        reader: filters::grep_effects,
        weight: Weight::Light,
    },
    Program {
        names: &["sort"],
        format: Format::Elf,
        reader: |command| filters::read_effects(command, "nrubfdgiMhVszcCm", "kt"),
        weight: Weight::Light,
    },
    Program {
        names: &["cut"],
        format: Format::Elf,
        reader: |command| filters::read_effects(command, "sn", "dfcb"),
        weight: Weight::Light,
    },
    Program {
        names: &["head", "tail"],
        format: Format::Elf,
        reader: |command| filters::read_effects(command, "qvz0123456789", "nc"),
        weight: Weight::Light,
    },
    Program {
        names: &["wc"],
        format: Format::Elf,
        reader: |command| filters::read_effects(command, "lwcmL", ""),
        weight: Weight::Light,
    },
    Program {
        names: &["comm"],
        format: Format::Elf,
        reader: |command| filters::read_effects(command, "123", ""),
        weight: Weight::Light,
    },
    Program { names: &["uniq"], format: Format::Elf, reader: filters::unique_effects, weight: Weight::Light },
    Program {
        names: &["tr"],
        format: Format::Elf,
        reader: filters::translate_effects,
        weight: Weight::Light,
    },
    // Helpers of the build of the Linux kernel.
    Program {
        names: &["fixdep"],
        format: Format::Elf,
        reader: kernel::fixdep_effects,
        weight: Weight::Light,
    },
    Program {
        names: &["check-local-export"],
        format: Format::Script,
        reader: files::read_effects,
        weight: Weight::Light,
    },
    Program {
        names: &["echo", "printf", "true", "false", ":", "basename", "dirname", "expr"],
        format: Format::Elf,
        reader: files::no_effects,
        weight: Weight::Light,
    },
];

/// Whether a name is in the table.
pub(super) fn is_known(name: &str) -> bool {
    PROGRAMS.iter().any(|row| row.names.iter().any(|known| is_variant(name, known)))
}

/// The meaning of a program's arguments; `None` if the program or an argument is not understood.
pub(super) fn meaning(program: &Executable, command: &Command) -> Option<Meaning> {
    let is_row = |row: &&Program| {
        row.format == program.format && row.names.iter().any(|known| is_variant(&program.name, known))
    };
    let row = PROGRAMS.iter().find(is_row)?;
    Some(Meaning { effects: (row.reader)(command)?, weight: row.weight })
}

/// Whether a file name is this program, for any target and version.
fn is_variant(name: &str, known: &str) -> bool {
    let unversioned = match name.rsplit_once('-') {
        Some((front, version))
            if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') =>
        {
            front
        }
        _ => name,
    };
    // A target has three or four parts.
    let has_target = |front: &str| (2..=3).contains(&front.matches('-').count());
    unversioned == known
        || unversioned.strip_suffix(known).and_then(|front| front.strip_suffix('-')).is_some_and(has_target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_carry_a_target_and_a_version() {
        for (name, known) in [
            ("gcc", "gcc"),
            ("gcc-12", "gcc"),
            ("x86_64-linux-gnu-gcc-12", "gcc"),
            ("x86_64-linux-gnu-g++", "g++"),
            ("aarch64-none-elf-ld", "ld"),
        ] {
            assert!(is_variant(name, known), "{name}");
        }
        for (name, known) in [("ccache-gcc", "gcc"), ("build", "ld"), ("gcc-ar", "ar"), ("gold", "ld")] {
            assert!(!is_variant(name, known), "{name}");
        }
    }
}
