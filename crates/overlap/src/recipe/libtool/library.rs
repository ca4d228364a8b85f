//! The link of a library by libtool.
//!
//! By the function `func_mode_link` of its script, versions 2.4.2 to 2.5.4, as configured for
//! Linux. A script with other settings is not understood.

use std::path::{Path, PathBuf};

use super::super::{Command, Kind, Weight, programs};
use super::FOLDER;
use super::settings::Settings;
use crate::effects::{Effects, Search, State, Write};

/// Words that change no name of an output.
const HARMLESS: &[&str] = &["-no-undefined", "-export-dynamic", "-no-install", "-no-fast-install"];

/// Beginnings of words with effects that are not known here. `-dlopen` and the like make a table
/// of symbols.
const UNKNOWN: &[&str] = &[
    "@",
    "-all-static",
    "-bindir",
    "-dl",
    "-framework",
    "-inst-prefix",
    "-mllvm",
    "-no-suppress",
    "-objectlist",
    "-os2",
    "-precious",
    "-prefer",
    "-shrext",
    "-static-",
    "-thread-safe",
    "-weak",
    "-Wc,",
    "-XCClinker",
    "-Xassembler",
    "-Xcompiler",
];

/// Symbols that a shared library exports.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Symbols {
    All,
    /// Those listed in a file.
    Listed(String),
    /// Those that match an expression.
    Matching,
}

/// Words of a link, by their roles.
#[derive(Debug)]
struct Words {
    /// The compiler and its arguments.
    compiler: Vec<String>,
    is_installed: bool,
    is_module: bool,
    avoids_version: bool,
    /// `-static` or `-shared`, the first of them.
    only: Option<Kinds>,
    /// Current and age, or major and minor, and the revision.
    version: Option<Version>,
    release: Option<String>,
    symbols: Symbols,
}

/// Kinds of libraries that one link makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kinds {
    shared: bool,
    archive: bool,
}

/// The numbers of a shared library, as they stand behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    major: u32,
    age: u32,
    revision: u32,
}

impl Version {
    /// The numbers of `-version-info CURRENT:REVISION:AGE`.
    fn from_info(text: &str) -> Option<Self> {
        let [current, revision, age] = numbers(text)?;
        Some(Self { major: current.checked_sub(age)?, age, revision })
    }

    /// The numbers of `-version-number MAJOR:MINOR:REVISION`.
    fn from_number(text: &str) -> Option<Self> {
        let [major, age, revision] = numbers(text)?;
        Some(Self { major, age, revision })
    }
}

/// Up to three numbers with colons between them.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut numbers = [0; 3];
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > numbers.len() {
        return None;
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        // As the script requires.
        let is_plain = part.len() <= 5 && (part == "0" || !part.starts_with('0'));
        *number =
            part.parse().ok().filter(|_| is_plain && part.bytes().all(|digit| digit.is_ascii_digit()))?;
    }
    Some(numbers)
}

impl Words {
    fn read(words: &[String]) -> Option<Self> {
        let mut read = Self {
            compiler: Vec::new(),
            is_installed: false,
            is_module: false,
            avoids_version: false,
            only: None,
            version: None,
            release: None,
            symbols: Symbols::All,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().map(String::as_str);
            match word.as_str() {
                "-rpath" => {
                    value()?.starts_with('/').then_some(())?;
                    read.is_installed = true;
                }
                "-R" => drop(value()?),
                "-version-info" => read.version = Some(Version::from_info(value()?)?),
                "-version-number" => read.version = Some(Version::from_number(value()?)?),
                "-release" => read.release = Some(value()?.to_owned()),
                "-export-symbols" if read.symbols == Symbols::All => {
                    read.symbols = Symbols::Listed(value()?.to_owned());
                }
                "-export-symbols-regex" if read.symbols == Symbols::All => {
                    value()?;
                    read.symbols = Symbols::Matching;
                }
                "-avoid-version" => read.avoids_version = true,
                "-module" => read.is_module = true,
                "-static" => {
                    read.only.get_or_insert(Kinds { shared: false, archive: true });
                }
                "-shared" => {
                    read.only.get_or_insert(Kinds { shared: true, archive: false });
                }
                harmless if HARMLESS.contains(&harmless) || harmless.starts_with("-R/") => {}
                word if word.starts_with("-export-symbols") => return None,
                word if UNKNOWN.iter().any(|start| word.starts_with(start)) => return None,
                word => read.compiler.push(word.to_owned()),
            }
        }
        Some(read)
    }

    /// Kinds that the link makes. A library that is not to be installed is an archive for others.
    fn kinds(&self, settings: &Settings) -> Option<Kinds> {
        let configured = Kinds { shared: settings.builds_shared()?, archive: settings.builds_archives()? };
        let kinds = self.only.unwrap_or(configured);
        if kinds.shared && !configured.shared {
            return None;
        }
        Some(if self.is_installed { kinds } else { Kinds { shared: false, archive: true } })
    }

    /// Names of a shared library: the file, and the links to it.
    fn shared_names(&self, library: &str) -> (String, Vec<String>) {
        let release = self.release.as_ref().map(|release| format!("-{release}")).unwrap_or_default();
        let base = format!("{library}{release}.so");
        let version = match self.version {
            _ if self.avoids_version => None,
            None if self.release.is_some() => None,
            version => Some(version.unwrap_or(Version { major: 0, age: 0, revision: 0 })),
        };
        let (file, name) = match version {
            Some(Version { major, age, revision }) => {
                (format!("{base}.{major}.{age}.{revision}"), format!("{base}.{major}"))
            }
            None => (base.clone(), base),
        };
        let mut links = vec![name, format!("{library}.so")];
        links.retain(|link| *link != file);
        links.dedup();
        (file, links)
    }
}

/// Effects of `libtool --mode=link … -o NAME.la …`, of which `words` are those behind the options.
/// `tag` is the language of the compiler.
pub(super) fn effects(
    command: &Command,
    script: &Path,
    tag: Option<&str>,
    words: &[String],
) -> Option<Effects> {
    if tag.is_some_and(|tag| !matches!(tag, "CC" | "CXX")) {
        return None;
    }
    let settings = Settings::read(&command.files.read(script)?)?;
    // A longer command is split into several, with files of their own.
    if words.iter().map(|word| word.len() + FOLDER.len() + 2).sum::<usize>() * 4
        > settings.longest_command()?
    {
        return None;
    }
    let words = Words::read(words)?;
    let kinds = words.kinds(&settings)?;
    let [name, arguments @ ..] = &words.compiler[..] else { return None };
    let program = command.program(name)?;
    let meaning = programs::meaning(&program, &Command { arguments, ..*command })?;
    // Sources would be compiled by a command of their own.
    if meaning.weight != Weight::Heavy || meaning.effects.search != Search::LIBRARIES {
        return None;
    }
    let [Write { path: listed, .. }] = &meaning.effects.writes[..] else { return None };
    let library = listed.file_name()?.to_str()?.strip_suffix(".la")?;
    if !library.starts_with("lib") && !words.is_module {
        return None;
    }
    let mut reads = meaning.effects.reads;
    check_libraries(command, &settings, kinds, &reads, arguments)?;
    reads.extend(objects(&reads)?);

    let folder = listed.parent()?.join(FOLDER);
    let text = State::Text { mode: 0o666 };
    let mut writes: Vec<(String, State)> = Vec::new();
    if kinds.shared {
        if words.symbols != Symbols::All {
            if !settings.lists_symbols() || tag.is_some_and(|tag| tag != "CC") {
                return None;
            }
            if words.symbols == Symbols::Matching {
                writes.push((format!("{library}.expT"), State::Absent));
                writes.push((format!("{library}.exp"), text));
            }
            writes.push((format!("{library}.ver"), text));
        }
        let (file, links) = words.shared_names(library);
        writes.push((file, State::Binary { mode: 0o777 }));
        writes.extend(links.into_iter().map(|link| (link, State::Other)));
    }
    if let Symbols::Listed(list) = &words.symbols {
        reads.push(command.path(list));
    }
    if kinds.archive {
        writes.push((format!("{library}.a"), State::Binary { mode: 0o666 }));
    }
    let mut writes: Vec<Write> =
        writes.into_iter().map(|(name, after)| Write::new(folder.join(name), after)).collect();
    writes.push(Write::new(listed.clone(), text));
    if words.is_installed {
        writes.push(Write::new(folder.join(format!("{library}.lai")), text));
    }
    writes.push(Write::new(folder.join(format!("{library}.la")), State::Other));
    // The script removes whatever has the name of the library.
    let is_new =
        |write: &Write| write.path == *listed || command.files.kind(&write.path) == Some(Kind::Missing);
    if !writes.iter().all(is_new) || has_leftovers(command, &folder, library, words.release.as_deref()) {
        return None;
    }
    if command.files.kind(&folder) != Some(Kind::Directory) {
        writes.insert(0, Write::new(folder, State::Directory { may_exist: true }));
    }
    Some(Effects { reads, writes, search: Search::LIBRARIES })
}

/// The objects of which the inputs `x.lo` are lists. `None` for another input than these and
/// libraries, and for two objects of one name, of which the script makes copies.
fn objects(inputs: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let mut objects = Vec::new();
    let mut names = Vec::new();
    for input in inputs {
        match input.extension().and_then(|ending| ending.to_str()) {
            Some("lo") => {
                let object = input.with_extension("o");
                let name = object.file_name()?.to_owned();
                objects.push(input.parent()?.join(FOLDER).join(&name));
                objects.push(object);
                names.push(name);
            }
            Some("o" | "a") => return None,
            _ => {}
        }
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    (names.len() == count).then_some(objects)
}

/// Refuses libraries whose objects go into an archive: the script unpacks them into a folder, and
/// what an interrupted command leaves there would stay.
fn check_libraries(
    command: &Command,
    settings: &Settings,
    kinds: Kinds,
    inputs: &[PathBuf],
    arguments: &[String],
) -> Option<()> {
    for library in inputs.iter().filter(|input| super::has_ending(input, "la")) {
        let name = library.file_name()?.to_str()?;
        let text = command.files.read(library);
        let lines: Vec<&[u8]> = text.iter().flat_map(|text| text.split(|byte| *byte == b'\n')).collect();
        let is_empty = |name: &str| lines.contains(&format!("{name}=''").as_bytes());
        if text.is_some() && !(is_empty("dlopen") && is_empty("dlpreopen")) {
            return None;
        }
        // The list for the installation is there for a library with a place of its own only.
        let copy = library.parent()?.join(FOLDER).join(format!("{name}i"));
        let has_place = match text {
            Some(_) => !is_empty("libdir"),
            None => command.files.kind(&copy)? == Kind::File,
        };
        if !has_place && (kinds.archive || !settings.embeds_archives()) {
            return None;
        }
    }
    // A library that `-l` finds may be a list of the same kind.
    let values = |option: &'static str| arguments.iter().filter_map(move |word| word.strip_prefix(option));
    for folder in values("-L") {
        for name in values("-l") {
            let list = command.path(&format!("{folder}/lib{name}.la"));
            (command.files.kind(&list)? == Kind::Missing).then_some(())?;
        }
    }
    Some(())
}

/// Whether files of an earlier link are in the folder, which the script removes.
fn has_leftovers(command: &Command, folder: &Path, library: &str, release: Option<&str>) -> bool {
    let starts = [format!("{library}."), format!("{library}-{}.", release.unwrap_or_default())];
    let is_leftover = |name: &str| {
        let is_object = name.ends_with(".o") || name.ends_with(".gcno");
        !is_object && starts.iter().any(|start| name.starts_with(start.as_str()))
    };
    command.files.names(folder).iter().any(|name| is_leftover(&name.to_string_lossy()))
}
