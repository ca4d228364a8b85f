//! Tips for common slips on the command line: a command without `run`, and options of other tools.
//!
//! This module only adds advice to clap's errors. A refused command line stays refused, with clap's
//! text and status.

use std::env;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use morecores_measure::program;
use morecores_report::display_command;

/// Options that people type from habit, each with the advice for morecores. The spellings come from
/// hyperfine, perf stat, make, mpirun, taskset, time and wrk.
const RUN_SLIPS: [(&[&str], &str); 14] = [
    (&["-n", "-N"], "--cpus LIST chooses the CPU counts, --runs N the number of runs"),
    (&["-p"], "--cpus LIST chooses the CPU counts, --prepare LINE runs a shell line before every run"),
    (&["-P", "--procs", "--processes"], "--cpus LIST chooses the CPU counts"),
    (
        &["-j", "--jobs", "-t", "--threads"],
        "--cpus LIST chooses the CPU counts; options of the command follow it: morecores run -- make -j{n}",
    ),
    (
        &["-c", "--cpu", "--cores", "--cpuset-cpus"],
        "--cpus LIST chooses the CPU counts, --cpu-list LIST the CPUs",
    ),
    (
        &["--time", "-T", "--duration"],
        "--max-time TIME bounds the whole study, --timeout TIME one run; the elapsed time is measured without an option",
    ),
    (&["--iterations", "--repeat", "--count"], "--runs N is the number of runs of each CPU count"),
    (&["-m"], "--min-runs N is the least number of runs of each CPU count"),
    (&["-M", "--max-runs"], "--runs N is the largest number of runs of each CPU count"),
    (&["-i"], "--ignore-failure continues after a failed run"),
    (&["-s"], "--setup LINE runs a shell line before the first run"),
    (
        &["--plot", "--picture", "--svg", "--png"],
        "to draw a picture of a study: morecores report STUDY --plot speedup.svg",
    ),
    (
        &["--json", "--csv", "--markdown", "--export-json", "--export-csv", "--export-markdown"],
        "to print the figures of a study: morecores show STUDY --json, --csv, --markdown or --hyperfine-json",
    ),
    (
        &["-S", "-L", "--parameter-list", "--parameter-scan"],
        "`{n}` in the command becomes the CPU count; --shell gives it to a shell",
    ),
];

/// Habitual options for `morecores trace`, which makes one run, each with the advice for it.
const TRACE_SLIPS: [(&[&str], &str); 3] = [
    (
        &["-p", "-P", "-j", "--jobs", "-t", "--threads", "-c", "--cpu", "--cores"],
        "--cpus N chooses the CPU count; options of the command follow it: morecores trace -- make -j{n}",
    ),
    (
        &["-r", "--runs", "--repeat"],
        "trace makes one run; morecores run --trace on makes several, and a traced one of each CPU count",
    ),
    (
        &["--plot"],
        "to draw a picture, keep the study with -o STUDY, then: morecores report STUDY --plot timeline.svg",
    ),
];

/// Options given to `morecores show` that belong to other subcommands.
const SHOW_SLIPS: [(&[&str], &str); 2] = [
    (
        &["--plot", "--picture", "--svg", "--png"],
        "to draw a picture of a study: morecores report STUDY --plot speedup.svg",
    ),
    (
        &["--html", "-o", "--out", "--output"],
        "to write a page of a study: morecores report STUDY -o report.html",
    ),
];

/// Options that set a program's number of threads or jobs. The number follows, joined or as the
/// next word.
const THREAD_OPTIONS: [&str; 10] =
    ["-j", "-T", "-t", "-p", "-P", "--jobs", "--threads", "--parallel", "--workers", "--processes"];

/// Adds a tip to a clap error if the slip is a common one. `arguments` are the words after the
/// program's name.
pub(super) fn explain(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    // clap suggests "to pass '-n' as a value, use '-- -n'", which is never what the user meant.
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip(&error, arguments) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn tip(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand)?;
            let start = arguments.iter().position(|argument| argument == word)?;
            if program::resolve(&arguments[start], env::var_os("PATH").as_deref()).is_err() {
                // clap's own suggestion of a similar subcommand is better, and a path is no name.
                let is_name = error.get(ContextKind::SuggestedSubcommand).is_none() && !word.contains('/');
                return is_name
                    .then(|| format!("there is no program morecores-{word} beside morecores or on PATH"));
            }
            let words: Vec<String> =
                arguments[start..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let line = display_command(&with_n(&words));
            Some(format!("to measure a command: morecores run -- {line}"))
        }
        ErrorKind::UnknownArgument => {
            let option = text(ContextKind::InvalidArg)?;
            if !option.starts_with('-') && arguments.iter().any(|word| word == "--resume") {
                return Some(format!("to continue a study, name it with -o: --resume -o {option}"));
            }
            let slips: &[(&[&str], &str)] = match arguments.first()?.to_str()? {
                "run" => &RUN_SLIPS,
                "trace" => &TRACE_SLIPS,
                "show" => &SHOW_SLIPS,
                _ => return None,
            };
            slips
                .iter()
                .find(|(spellings, _)| spellings.contains(&option))
                .map(|(_, advice)| (*advice).to_owned())
        }
        _ => None,
    }
}

/// Words of a command, with `{n}` in place of its number of threads or jobs.
fn with_n(words: &[String]) -> Vec<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut before: Option<&str> = None;
    let replaced = words.iter().map(|word| {
        let separate = before.is_some_and(|option| THREAD_OPTIONS.contains(&option)) && is_number(word);
        before = Some(word);
        if separate {
            return "{n}".to_owned();
        }
        let joined = THREAD_OPTIONS.iter().find_map(|option| {
            let rest = word.strip_prefix(option)?;
            let (sign, number) = rest.strip_prefix('=').map_or(("", rest), |number| ("=", number));
            is_number(number).then(|| format!("{option}{sign}{{n}}"))
        });
        joined.unwrap_or_else(|| word.clone())
    });
    replaced.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_jobs_becomes_n() {
        let replaced = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            with_n(&words).join(" ")
        };
        assert_eq!(replaced("make -j2"), "make -j{n}");
        assert_eq!(replaced("make -j 8 all"), "make -j {n} all");
        assert_eq!(replaced("sort --parallel=4 big.txt"), "sort --parallel={n} big.txt");
        assert_eq!(replaced("xz -T0 -9 a"), "xz -T{n} -9 a");
        // These words contain no number of jobs.
        assert_eq!(replaced("make -j"), "make -j");
        assert_eq!(replaced("tail -n 5 log2"), "tail -n 5 log2");
        assert_eq!(replaced("ssh -p22x host"), "ssh -p22x host");
    }
}
