//! GNU libtool: one compilation makes the object for static libraries, the one for shared libraries
//! and a text that names both.
//!
//! By the manual of libtool, "Compile mode" and "Link mode". The link of a library is in `library`.

mod library;
mod settings;

use std::path::Path;

use super::{Command, Files, Kind, Weight, programs};
use crate::effects::{Effects, State, Write};

/// Name of the script, which every project has for itself.
pub(super) const NAME: &str = "libtool";

/// Mode of one run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Compile,
    Link,
}

/// Effects of `libtool [OPTION…] --mode=MODE COMPILER …`, where the script is the first argument of
/// a shell.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let [script, words @ ..] = command.arguments else { return None };
    let mut mode = None;
    let mut tag = None;
    let options = words.iter().take_while(|word| word.starts_with("--")).count();
    let (options, words) = words.split_at(options);
    for option in options {
        match option.as_str() {
            "--mode=compile" => mode = Some(Mode::Compile),
            "--mode=link" => mode = Some(Mode::Link),
            "--silent" | "--quiet" => {}
            // Other tags turn kinds of libraries off.
            "--tag=disable-shared" | "--tag=disable-static" => return None,
            option => tag = Some(option.strip_prefix("--tag=")?),
        }
    }
    let is_library = |pair: &[String]| pair[0] == "-o" && pair[1].ends_with(".la");
    if mode? == Mode::Link && words.windows(2).any(is_library) {
        let script = command.path(script);
        let mut effects = library::effects(command, &script, tag, words)?;
        effects.reads.push(script);
        return Some(effects);
    }
    // `-prefer-pic` and the like are words for libtool among those of the compiler.
    let (own, compiler): (Vec<String>, Vec<String>) =
        words.iter().cloned().partition(|word| OWN_WORDS.contains(&word.as_str()));
    let [name, arguments @ ..] = &compiler[..] else { return None };
    let program = command.program(name)?;
    let meaning = programs::meaning(&program, &Command { arguments, ..*command })?;
    if meaning.weight != Weight::Heavy || own.len() > 1 {
        return None;
    }
    let mut effects = match mode? {
        Mode::Compile => compile_effects(command, meaning.effects)?,
        Mode::Link => program_effects(command, meaning.effects)?,
    };
    effects.reads.push(command.path(script));
    Some(effects)
}

/// Effects of a compilation of which the compiler's words say that it writes `x.lo`.
fn compile_effects(command: &Command, mut effects: Effects) -> Option<Effects> {
    let index = effects.writes.iter().position(|write| has_ending(&write.path, "lo"))?;
    let listed = effects.writes.remove(index);
    let folder = listed.path.parent()?.join(FOLDER);
    let object = listed.path.with_extension("o");
    let shared = folder.join(object.file_name()?);
    if command.files.kind(&folder) != Some(Kind::Directory) {
        effects.writes.push(Write::new(folder, State::Directory { may_exist: true }));
    }
    effects.writes.push(Write::new(shared, State::Binary { mode: 0o666 }));
    effects.writes.push(Write::new(object, State::Binary { mode: 0o666 }));
    effects.writes.push(Write::new(listed.path, State::Text { mode: 0o666 }));
    Some(effects)
}

/// Effects of the link of a program. With a shared library of the same project the program is a
/// script, and the real one lies in the folder beside it.
fn program_effects(command: &Command, mut effects: Effects) -> Option<Effects> {
    let [program] = &effects.writes[..] else { return None };
    if program
        .path
        .extension()
        .is_some_and(|ending| ["la", "lo", "o", "a", "so"].iter().any(|known| ending == *known))
        || command.arguments.iter().any(|word| LIBRARY_WORDS.iter().any(|start| word.starts_with(start)))
    {
        return None;
    }
    let folder = program.path.parent()?.join(FOLDER);
    let name = program.path.file_name()?.to_str()?;
    let hidden = [folder.join(name), folder.join(format!("lt-{name}"))];
    // The script for the program is the last.
    let mut writes: Vec<Write> =
        hidden.map(|path| Write::new(path, State::Binary { mode: 0o777 })).into_iter().collect();
    if command.files.kind(&folder) != Some(Kind::Directory) {
        writes.insert(0, Write::new(folder, State::Directory { may_exist: true }));
    }
    effects.writes.splice(0..0, writes);
    Some(effects)
}

/// Folder for what is not yet installed.
const FOLDER: &str = ".libs";

/// Beginnings of options for libraries and modules, of which libtool makes more files.
const LIBRARY_WORDS: &[&str] = &[
    "-rpath",
    "-version",
    "-release",
    "-module",
    "-export",
    "-dl",
    "-weak",
    "-objectlist",
    "-precious",
    "-bindir",
];

const OWN_WORDS: &[&str] = &["-prefer-pic", "-prefer-non-pic", "-static", "-shared", "-no-suppress"];

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Whether a word is the script of a libtool.
pub(super) fn is_script(word: &str, directory: &Path, files: &dyn Files) -> bool {
    Path::new(word).file_name().is_some_and(|name| name == NAME)
        && files.program(word, directory, "").is_some()
}
