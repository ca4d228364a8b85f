//! Proposes a command line that measures a build from scratch in every run, for a study that
//! measured a finished build.
//!
//! The functions are pure: words in, a line for the user to type out. morecores never runs the
//! proposed line.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use morecores_report::{display_command, display_command_with_variables};
use morecores_study::{Command, Variable};

/// Placeholder for the line that the reader must complete if the command is not a known build tool.
pub(super) const UNKNOWN: &str = "rm -rf OUTPUT";
/// Programs that run the rest of their words.
const WRAPPERS: [&str; 5] = ["env", "nice", "nohup", "sudo", "time"];

/// Shell line that undoes the work of a known build tool; none for any other command.
pub(super) fn undo_line(command: &Command) -> Option<String> {
    let (place, words) = match command {
        Command::Program { .. } => (String::new(), command.words()),
        Command::Shell { line } => simple_words(&line.to_string_lossy())?,
    };
    let is_before = |word: &&String| WRAPPERS.contains(&word.as_str()) || is_assignment(word);
    let mut words = words.iter().skip_while(is_before);
    let program = words.next()?;
    let name = Path::new(program).file_name()?.to_str()?;
    let arguments: Vec<&str> = words.map(String::as_str).collect();
    let undo = undo(program, name, &arguments)?;
    Some(place + &display_command(&undo))
}

/// Words of a shell line that is a single command, with the `cd DIRECTORY && ` before it, if any.
/// None for any other line.
fn simple_words(line: &str) -> Option<(String, Vec<String>)> {
    let (place, command) = match line.split_once("&&") {
        Some((place, command)) if place.trim_start().starts_with("cd ") => {
            (format!("{} && ", place.trim()), command)
        }
        _ => (String::new(), line),
    };
    let is_simple =
        |part: &str| !part.contains(['|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'']);
    let words = || command.split_whitespace().map(str::to_owned).collect();
    (is_simple(place.trim_end_matches(" && ")) && is_simple(command)).then(|| (place, words()))
}

/// Words that undo the build of `program` with these `arguments`. `name` is the program's name
/// without its path.
fn undo(program: &str, name: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let line = |before: Vec<&str>, words: &[&str]| {
        let words = [program].into_iter().chain(before).chain(words.iter().copied());
        Some(words.map(str::to_owned).collect())
    };
    match name {
        "make" | "gmake" => {
            let mut place = location_options(arguments, &["-C", "--directory", "-f", "--file", "--makefile"]);
            place.extend(arguments.iter().filter(|word| is_assignment(word)));
            line(place, &["clean"])
        }
        "ninja" | "ninja-build" | "samu" => {
            line(location_options(arguments, &["-C", "-f"]), &["-t", "clean"])
        }
        "cargo" => {
            let toolchain = arguments.iter().copied().take_while(|word| word.starts_with('+'));
            let place = location_options(arguments, &["--manifest-path", "--target-dir"]);
            line(toolchain.chain(["clean"]).chain(place).collect(), &[])
        }
        "cmake" => match (location_options(arguments, &["--build"]), location_options(arguments, &["-B"])) {
            (build, _) if !build.is_empty() => line(build, &["--target", "clean"]),
            (_, configured) if !configured.is_empty() => {
                let directory = configured.last()?.trim_start_matches("-B");
                line(vec!["-E", "rm", "-rf", directory], &[])
            }
            _ => None,
        },
        // The cache holds compiled packages and test results.
        "go" => line(Vec::new(), &["clean", "-cache"]),
        "bazel" | "bazelisk" => {
            let startup = arguments.iter().copied().take_while(|word| word.starts_with('-'));
            line(startup.collect(), &["clean"])
        }
        "npm" => match arguments.iter().find(|word| !word.starts_with('-')) {
            Some(&"install" | &"i" | &"ci" | &"add") => {
                Some(["rm", "-rf", "node_modules"].map(str::to_owned).into())
            }
            _ => line(Vec::new(), &["run", "clean"]),
        },
        _ => None,
    }
}

/// Given `options` among the `arguments`, with their values: `-C DIR`, `-CDIR`, `--file=FILE`.
fn location_options<'a>(arguments: &[&'a str], options: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        let is_glued = |option: &&str| {
            let rest = word.strip_prefix(*option).filter(|rest| !rest.is_empty());
            rest.is_some_and(|rest| !option.starts_with("--") || rest.starts_with('='))
        };
        if options.contains(&word) {
            found.extend([Some(word), words.next()].into_iter().flatten());
        } else if options.iter().any(is_glued) {
            found.push(word);
        }
    }
    found
}

/// Whether a word is an assignment `NAME=VALUE`.
fn is_assignment(word: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
}

/// `morecores run` command line as the user typed it.
pub(super) struct CommandLine<'a> {
    /// Words after `morecores run`.
    pub(super) words: &'a [OsString],
    /// Number of words at the end that belong to the command.
    pub(super) command: usize,
    /// Path given with `-o`.
    pub(super) study: Option<&'a Path>,
    /// Variables with `{n}` from the environment.
    pub(super) env: &'a [Variable],
}

impl CommandLine<'_> {
    /// Command line with `--prepare` added. A study named with `-o` is replaced by `other_study`,
    /// since a study is never overwritten.
    pub(super) fn with_prepare(&self, line: &str, other_study: &Path) -> String {
        let (options, command) = self.words.split_at(self.words.len() - self.command);
        let mut words: Vec<OsString> = ["morecores", "run", "--prepare", line].map(OsString::from).into();
        let start = words.len();
        words.extend(options.iter().cloned());
        if let Some(study) = self.study.map(Path::as_os_str) {
            rename(&mut words[start..], study, other_study.as_os_str());
        }
        words.extend(command.iter().cloned());
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        display_command_with_variables(&words, self.env)
    }
}

/// Replaces the value of `-o`. The value is a separate word or follows the option's name in one
/// word.
fn rename(options: &mut [OsString], from: &OsStr, to: &OsStr) {
    let is_option = |word: &OsStr| word.as_bytes().first() == Some(&b'-');
    for at in 0..options.len() {
        let is_behind_option = at > 0 && is_option(&options[at - 1]);
        let word = options[at].as_bytes();
        let Some(before) = word.strip_suffix(from.as_bytes()) else { continue };
        if (before.is_empty() && is_behind_option) || (!before.is_empty() && is_option(&options[at])) {
            options[at] = OsString::from_vec([before, to.as_bytes()].concat());
            return;
        }
    }
}

/// Path like `study`, with a number, for which `exists` is false.
pub(super) fn unused_path(study: &Path, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let stem = study.file_stem().unwrap_or_default();
    let numbered = |number: u32| {
        let mut name = stem.to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = study.extension() {
            name.push(".");
            name.push(extension);
        }
        study.with_file_name(name)
    };
    (2..).map(numbered).find(|path| !exists(path)).unwrap_or_else(|| numbered(2))
}
