//! Compilers of the C family, the assembler and the linker: which arguments name files.
//!
//! Options by the manuals of GCC ("Option Summary"), of GNU as and of GNU ld. An option that may
//! write a file whose name it does not give makes the command unknown.

use std::path::{Path, PathBuf};

use super::Command;
use crate::effects::{Effects, Search, State};

pub(super) const NAMES: &[&str] = &["gcc", "g++", "cc", "c++", "clang", "clang++", "c99", "c89"];

/// Options with a word of their own behind them that names no file, or a directory.
const OPTIONS_WITH_WORD: &[&str] = &[
    "-I",
    "-L",
    "-D",
    "-U",
    "-A",
    "-MT",
    "-MQ",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-imultilib",
    "-u",
    "-z",
    "-l",
    "-e",
    "-B",
    "-arch",
    "-target",
    "--param",
    "--sysroot",
    "-G",
];

/// Options with a word of their own behind them that names a file to read.
const OPTIONS_WITH_INPUT: &[&str] = &["-include", "-imacros", "-T"];

/// Beginnings of options that write files with names of their own, print text instead of compiling,
/// or run other programs.
const UNKNOWN_OUTPUTS: &[&str] = &[
    "-save-temps",
    "--save-temps",
    "-fdump",
    "-aux-info",
    "-fplugin",
    "-wrapper",
    "-fprofile-use",
    "-fbranch-probabilities",
    "-fauto-profile",
    "-fcallgraph-info",
    "-fopt-info",
    "-time=",
    "-ftime-trace",
    "-foptimization-record",
    "-fsave-optimization-record",
    "-fmodule",
    "-fdeps",
    "-specs",
    "--specs",
    "-dumpv",
    "-dumpm",
    "-dumps",
    "-print",
    "--print",
    "-v",
    "-###",
    "--version",
    "--help",
    "-Xclang",
    "-cc1",
    "-MJ",
    "-Xassembler",
    "-Xpreprocessor",
    "-dumpbase",
    "-dumpdir",
    "-fprofile-note",
    "-emit-llvm",
    "-l:",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "-index-store-path",
    "-fdiagnostics-add-output",
    "-fdiagnostics-format=sarif-file",
    "-fdiagnostics-format=json-file",
    "-d",
    "-fcompare-debug",
    "-freport-bug",
    "-flto-report",
    "-fmem-report",
];

/// Beginnings of long options that name no output.
const HARMLESS_LONG: &[&str] = &["--param=", "--sysroot=", "--target=", "--std=", "--gcc-toolchain="];

/// Endings of sources, which a link also compiles.
const SOURCE_ENDINGS: &[&str] =
    &["c", "cc", "cpp", "cxx", "c++", "C", "CPP", "cp", "i", "ii", "m", "mm", "S", "s", "sx"];

/// Last stage of one run of a compiler driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preprocess,
    Compile,
    Assemble,
    Link,
}

impl Stage {
    /// Ending of an output without `-o`.
    fn ending(self) -> Option<&'static str> {
        match self {
            Self::Compile => Some("s"),
            Self::Assemble => Some("o"),
            Self::Preprocess | Self::Link => None,
        }
    }

    fn state(self, is_partial: bool) -> State {
        match self {
            Self::Preprocess | Self::Compile => State::Text { mode: 0o666 },
            Self::Assemble => State::Binary { mode: 0o666 },
            Self::Link if is_partial => State::Binary { mode: 0o666 },
            Self::Link => State::Binary { mode: 0o777 },
        }
    }
}

/// A command line of a compiler driver, by the role of its words.
#[derive(Default)]
struct Line {
    output: Option<String>,
    inputs: Vec<String>,
    libraries: bool,
    other_reads: Vec<String>,
    other_writes: Vec<String>,
    writes_dependencies: bool,
    dependency_file: Option<String>,
    split_debug: bool,
    coverage: bool,
    stack_usage: bool,
    is_partial_link: bool,
    has_language: bool,
}

/// Effects of a compiler driver such as `gcc`.
pub(super) fn effects(command: &Command) -> Option<Effects> {
    let (words, response_files) = command.expand_response_files()?;
    let mut stage = Stage::Link;
    let mut line = Line::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // Only what stands behind the option is a file of the compilation.
        match word.as_str() {
            "-" => return None,
            "--coverage" => line.coverage = true,
            "--param" | "--sysroot" => {
                words.next()?;
            }
            // Long forms such as `--compile` and `--output`.
            option
                if option.starts_with("--")
                    && !HARMLESS_LONG.iter().any(|start| option.starts_with(start)) =>
            {
                return None;
            }
            "-x" => {
                let language = words.next()?;
                if language.contains("header") || language.contains("module") {
                    return None;
                }
                line.has_language = true;
            }
            "-c" => stage = Stage::Assemble,
            "-S" => stage = Stage::Compile,
            "-E" => stage = Stage::Preprocess,
            "-o" => line.output = Some(words.next()?.clone()),
            "-MF" => line.dependency_file = Some(words.next()?.clone()),
            "-MD" | "-MMD" => line.writes_dependencies = true,
            "-MP" | "-MG" => {}
            "-M" | "-MM" => return None,
            "-r" => line.is_partial_link = true,
            "-gsplit-dwarf" => line.split_debug = true,
            "-coverage" | "-ftest-coverage" => line.coverage = true,
            "-fstack-usage" => line.stack_usage = true,
            "-Xlinker" => read_linker_words(&mut line, std::slice::from_ref(words.next()?))?,
            option if OPTIONS_WITH_INPUT.contains(&option) => line.other_reads.push(words.next()?.clone()),
            option if OPTIONS_WITH_WORD.contains(&option) => {
                words.next()?;
                line.libraries |= option == "-l";
            }
            option
                if UNKNOWN_OUTPUTS.iter().any(|start| option.starts_with(start)) && !is_harmless(option) =>
            {
                return None;
            }
            option => read_joined_option(&mut line, option)?,
        }
    }
    finish(command, stage, line, response_files)
}

/// Options that begin like one of `UNKNOWN_OUTPUTS` and write nothing.
fn is_harmless(option: &str) -> bool {
    // `-dynamic`, `-dA` and the like would need a list; these are the usual ones.
    ["-dynamic", "-dynamiclib"].contains(&option)
}

/// An option whose value is joined to it, or an input.
fn read_joined_option(line: &mut Line, word: &str) -> Option<()> {
    if let Some(file) = word.strip_prefix("-o") {
        line.output = Some(file.to_owned());
    } else if let Some(file) = word.strip_prefix("-MF") {
        line.dependency_file = Some(file.to_owned());
    } else if let Some(list) = word.strip_prefix("-Wp,") {
        match list.split(',').collect::<Vec<_>>()[..] {
            ["-MD" | "-MMD", file] => {
                line.writes_dependencies = true;
                line.dependency_file = Some(file.to_owned());
            }
            [define] if define.starts_with("-D") || define.starts_with("-U") => {}
            _ => return None,
        }
    } else if let Some(list) = word.strip_prefix("-Wl,") {
        read_linker_words(line, &list.split(',').map(str::to_owned).collect::<Vec<_>>())?;
    } else if let Some(list) = word.strip_prefix("-Wa,") {
        // Listings and dependency files of the assembler.
        if list
            .split(',')
            .any(|option| option.starts_with("-a") || option.starts_with("--") || option.starts_with("-o"))
        {
            return None;
        }
    } else if word.starts_with("-l") {
        line.libraries = true;
    } else if !word.starts_with('-') {
        line.inputs.push(word.to_owned());
    }
    Some(())
}

/// Words for the linker behind a compiler driver.
fn read_linker_words(line: &mut Line, words: &[String]) -> Option<()> {
    let mut words = words.iter().flat_map(|word| match word.split_once('=') {
        Some((option, value)) if word.starts_with('-') => vec![option.to_owned(), value.to_owned()],
        _ => vec![word.clone()],
    });
    while let Some(word) = words.next() {
        match word.as_str() {
            "-Map" | "--Map" | "--out-implib" => line.other_writes.push(words.next()?),
            "-o" | "--output" | "--dependency-file" | "-plugin" | "--plugin" | "--print-map" | "-M"
            | "--trace" | "-t" | "--verbose" => return None,
            option if option.starts_with('-') => {}
            // A value, a script, a list of symbols or an object: reading too much only orders more.
            value => line.other_reads.push(value.to_owned()),
        }
    }
    Some(())
}

fn finish(command: &Command, stage: Stage, line: Line, response_files: Vec<PathBuf>) -> Option<Effects> {
    let has_language = line.has_language;
    let sources: Vec<&String> = line.inputs.iter().filter(|input| has_language || is_source(input)).collect();
    if line.inputs.is_empty() {
        return None;
    }
    // `-E -MD` takes the output for the list of dependencies, unless `-MF` names one.
    let names_both = line.output.is_some() && line.dependency_file.is_some();
    if stage == Stage::Preprocess && line.writes_dependencies && !names_both {
        return None;
    }
    // A header becomes a precompiled one, and other languages write files of their own.
    let is_unusual = |input: &&String| is_header(input) || (stage != Stage::Link && !is_source(input));
    if !has_language && line.inputs.iter().any(|input| is_unusual(&input)) {
        return None;
    }
    if line.output.is_some() && stage != Stage::Link && line.inputs.len() != 1 {
        return None;
    }
    let mut search = Search::default();
    if !sources.is_empty() || stage != Stage::Link {
        search = search.or(Search::HEADERS);
    }
    if stage == Stage::Link {
        search = search.or(Search::LIBRARIES);
    }
    search.anything = sources.iter().any(|input| embeds_files(command, input));

    let mut writes = Vec::new();
    let outputs: Vec<String> = match (&line.output, stage.ending()) {
        (Some(output), _) => vec![output.clone()],
        (None, Some(ending)) => line.inputs.iter().map(|input| output_name(input, ending)).collect(),
        (None, None) if stage == Stage::Preprocess => Vec::new(),
        (None, None) => vec!["a.out".to_owned()],
    };
    // A link of sources also names dependency files after the output; too rare to be worth a rule.
    let has_side_files = line.writes_dependencies || line.split_debug || line.coverage || line.stack_usage;
    if stage == Stage::Link && !sources.is_empty() && has_side_files {
        return None;
    }
    for output in &outputs {
        if line.writes_dependencies && stage != Stage::Link {
            let file = line.dependency_file.clone().unwrap_or_else(|| replace_ending(output, "d"));
            writes.push(command.write(&file, State::Text { mode: 0o666 }));
        }
        if stage == Stage::Assemble {
            for (is_asked, ending) in
                [(line.split_debug, "dwo"), (line.coverage, "gcno"), (line.stack_usage, "su")]
            {
                if is_asked {
                    writes.push(command.write(&replace_ending(output, ending), State::Other));
                }
            }
        }
        if output != "/dev/null" {
            writes.push(command.write(output, stage.state(line.is_partial_link)));
        }
    }
    for file in &line.other_writes {
        writes.push(command.write(file, State::Text { mode: 0o666 }));
    }
    let mut reads = command.paths(line.inputs.iter().chain(&line.other_reads));
    reads.extend(response_files);
    Some(Effects { reads, writes, search })
}

fn is_header(input: &str) -> bool {
    Path::new(input)
        .extension()
        .is_some_and(|ending| ["h", "H", "hh", "hpp", "hxx"].iter().any(|known| ending == *known))
}

fn is_source(input: &str) -> bool {
    Path::new(input).extension().is_some_and(|ending| SOURCE_ENDINGS.iter().any(|known| ending == *known))
}

/// Whether a source includes files that need not be text, itself or by a macro. An unreadable
/// source may do so.
fn embeds_files(command: &Command, input: &str) -> bool {
    let contains =
        |text: &[u8], word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    command.files.read(&command.path(input)).is_none_or(|text| contains(&text, b"incbin") || has_embed(&text))
}

/// Whether a source has the directive `#embed`.
fn has_embed(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|line| {
        let directive = line.trim_ascii_start().strip_prefix(b"#").map(<[u8]>::trim_ascii_start);
        directive.is_some_and(|directive| directive.starts_with(b"embed"))
    })
}

/// Name of the output in the working directory, as compilers choose it without `-o`.
fn output_name(input: &str, ending: &str) -> String {
    let file = Path::new(input).file_name().unwrap_or_default().to_string_lossy();
    replace_ending(&file, ending)
}

fn replace_ending(name: &str, ending: &str) -> String {
    Path::new(name).with_extension(ending).to_string_lossy().into_owned()
}

/// Effects of `as`.
pub(super) fn assembler_effects(command: &Command) -> Option<Effects> {
    let (words, response_files) = command.expand_response_files()?;
    let mut output = "a.out".to_owned();
    let mut inputs = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" => output = words.next()?.clone(),
            "-I" => {
                words.next()?;
            }
            "-" | "--MD" => return None,
            option
                if option.starts_with("-a")
                    || option.starts_with("--MD")
                    || option.starts_with("--listing") =>
            {
                return None;
            }
            option if option.starts_with("-o") => output = option[2..].to_owned(),
            option if option.starts_with('-') => {}
            input => inputs.push(input.to_owned()),
        }
    }
    if inputs.is_empty() {
        return None;
    }
    let mut search = Search::HEADERS;
    search.anything = inputs.iter().any(|input| embeds_files(command, input));
    let mut reads = command.paths(&inputs);
    reads.extend(response_files);
    Some(Effects { reads, writes: vec![command.write(&output, State::Binary { mode: 0o666 })], search })
}

/// Options of `ld` with a word of their own behind them that names no file.
const LINKER_OPTIONS_WITH_WORD: &[&str] = &[
    "-m",
    "-e",
    "--entry",
    "-z",
    "-L",
    "-l",
    "-u",
    "--undefined",
    "-soname",
    "-h",
    "-rpath",
    "--rpath",
    "-rpath-link",
    "-dynamic-linker",
    "--dynamic-linker",
    "-y",
    "-Y",
    "-b",
    "--format",
    "-A",
    "-a",
    "-G",
    "-Ttext",
    "-Tdata",
    "-Tbss",
    "--defsym",
    "--hash-style",
    "-O",
];

/// Effects of `ld`.
pub(super) fn linker_effects(command: &Command) -> Option<Effects> {
    let (words, response_files) = command.expand_response_files()?;
    let mut output = "a.out".to_owned();
    let mut line = Line::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" => output = words.next()?.clone(),
            "-r" | "-i" | "--relocatable" => line.is_partial_link = true,
            "-T" | "--script" | "-c" | "-R" | "--just-symbols" | "-dT" => {
                line.other_reads.push(words.next()?.clone())
            }
            "-v" | "-V" | "--version" | "--help" => return None,
            option if LINKER_OPTIONS_WITH_WORD.contains(&option) => {
                words.next()?;
            }
            "-Map" | "--Map" => line.other_writes.push(words.next()?.clone()),
            option if option.starts_with("-o") && !option.starts_with("-oformat") => {
                output = option[2..].to_owned();
            }
            option if option.starts_with('-') => read_linker_words(&mut line, std::slice::from_ref(word))?,
            input => line.inputs.push(input.to_owned()),
        }
    }
    line.output = Some(output);
    finish(command, Stage::Link, line, response_files)
}
