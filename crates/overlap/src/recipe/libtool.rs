//! GNU libtool: one compilation makes the object for static libraries, the one for shared libraries
//! and a text that names both.
//!
//! By the manual of libtool, "Compile mode". A link makes files that only the script knows, and is
//! left to run in place.

use std::path::Path;

use super::{Command, Files, Kind, Weight, programs};
use crate::effects::{Effects, State};

/// Name of the script, which every project has for itself.
pub(super) const NAME: &str = "libtool";

/// Effects of `libtool [OPTION…] --mode=compile COMPILER …`, where the script is the first argument
/// of a shell.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let [script, words @ ..] = command.arguments else { return None };
    let options = words.iter().take_while(|word| word.starts_with("--"));
    let is_known = |word: &&String| {
        word.as_str() == "--mode=compile"
            || word.starts_with("--tag=")
            || matches!(word.as_str(), "--silent" | "--quiet")
    };
    let count = options.clone().count();
    if !options.clone().all(|word| is_known(&word)) || !options.clone().any(|word| word == "--mode=compile") {
        return None;
    }
    // `-prefer-pic` and the like are words for libtool among those of the compiler.
    let (own, compiler): (Vec<String>, Vec<String>) =
        words[count..].iter().cloned().partition(|word| OWN_WORDS.contains(&word.as_str()));
    let [name, arguments @ ..] = &compiler[..] else { return None };
    let program = command.files.program(name, command.directory, command.search_path)?;
    let inner = Command { arguments, ..*command };
    let meaning = programs::meaning(&program, &inner)?;
    if meaning.weight != Weight::Heavy || own.len() > 1 {
        return None;
    }
    let mut effects = meaning.effects;
    // The compiler is told to write `x.o` although the output is `x.lo`.
    let index = effects.writes.iter().position(|write| has_ending(&write.path, "lo"))?;
    let listed = effects.writes.remove(index);
    let folder = listed.path.parent()?.join(".libs");
    let object = listed.path.with_extension("o");
    let shared = folder.join(object.file_name()?);
    if command.files.kind(&folder) != Some(Kind::Directory) {
        effects.writes.push(command.write(folder.to_str()?, State::Directory { may_exist: true }));
    }
    for path in [shared, object] {
        effects.writes.push(command.write(path.to_str()?, State::Binary { mode: 0o666 }));
    }
    effects.writes.push(command.write(listed.path.to_str()?, State::Text { mode: 0o666 }));
    effects.reads.push(command.path(script));
    Some(effects)
}

const OWN_WORDS: &[&str] = &["-prefer-pic", "-prefer-non-pic", "-static", "-shared", "-no-suppress"];

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found == ending)
}

/// Whether a word is the script of a libtool.
pub(super) fn is_script(word: &str, directory: &Path, files: &dyn Files) -> bool {
    Path::new(word).file_name().is_some_and(|name| name == NAME)
        && files.program(word, directory, "").is_some()
}
