//! The text about a build at its end. Words alone: the numbers are those of its record.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::hazards::{HazardKind, Hazards, Recipe};
use crate::record::{Command, Record, WaitReason};

/// Rows of each list in the text.
const MAX_ROWS: usize = 5;
/// Most hazards in the text.
const MAX_HAZARDS: usize = 20;
/// Most readers that one hazard names.
const MAX_RECIPES: usize = 3;
/// Longest part of a command in the text, in characters.
const MAX_COMMAND: usize = 60;
/// Shortest total wait in the text.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// The record as lines of text.
pub(crate) fn text(record: &Record) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(record, &mut text);
    text
}

fn write(record: &Record, text: &mut String) -> fmt::Result {
    writeln!(
        text,
        "overlap: {:.2} s; in series about {:.2} s. {:.2} CPUs busy. {} commands deferred, {} of them failed; {} calls \
         seen.",
        record.elapsed.as_secs_f64(),
        record.serial().as_secs_f64(),
        record.cpus(),
        record.commands.len(),
        record.failures(),
        record.calls,
    )?;
    if let Some(estimates) = &record.estimates {
        let figures: Vec<_> = estimates
            .iter()
            .map(|it| format!("{} CPUs {:.2} s ({:.2} times)", it.cpus, it.elapsed_s, it.speedup))
            .collect();
        writeln!(text, "overlap: estimated from this run in series: {}.", figures.join(", "))?;
    }
    if let Some(reason) = record.passed_through {
        writeln!(text, "overlap: from some point on nothing was deferred: {reason}.")?;
    }
    write_waits(record, text)?;
    write_dependent(record, text)?;
    let mut unknown: Vec<_> = record.unknown.iter().collect();
    unknown.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    if !unknown.is_empty() {
        let names: Vec<_> =
            unknown.iter().take(MAX_ROWS).map(|(name, count)| format!("{name} ({count})")).collect();
        writeln!(
            text,
            "overlap: ran in place, because what they read and write is not known: {}.",
            names.join(", ")
        )?;
    }
    for (reason, count) in &record.refused {
        writeln!(text, "overlap: {count} commands not deferred: {reason}.")?;
    }
    record.hazards.as_ref().map_or(Ok(()), |hazards| write_hazards(hazards, &record.directory, text))
}

/// Calls of the build that waited, the longest first.
fn write_waits(record: &Record, text: &mut String) -> fmt::Result {
    let mut sums: BTreeMap<(&str, &WaitReason), (Duration, usize)> = BTreeMap::new();
    for wait in &record.waits {
        let (elapsed, commands) = sums.entry((&wait.program, &wait.reason)).or_default();
        *elapsed += wait.elapsed;
        *commands = wait.commands.max(*commands);
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, (elapsed, _))| *elapsed >= MIN_WAIT).collect();
    sums.sort_by_key(|(_, (elapsed, _))| std::cmp::Reverse(*elapsed));
    for ((program, reason), (elapsed, commands)) in sums.into_iter().take(MAX_ROWS) {
        writeln!(
            text,
            "overlap: {program} waited {:.2} s {}, behind {}.",
            elapsed.as_secs_f64(),
            purpose(reason, &record.directory),
            count(commands),
        )?;
    }
    Ok(())
}

/// Deferred commands that waited for others, by program, the longest first.
fn write_dependent(record: &Record, text: &mut String) -> fmt::Result {
    let wait = |command: &Command| command.ready.saturating_sub(command.deferred);
    let mut commands: Vec<_> = record.commands.iter().filter(|command| wait(command) >= MIN_WAIT).collect();
    commands.sort_by_key(|command| std::cmp::Reverse(wait(command)));
    for command in commands.into_iter().take(MAX_ROWS) {
        let name = match command.outputs.first() {
            Some(output) => format!("the command for {}", file_name(output)),
            None => shorten_command(&command.command),
        };
        writeln!(
            text,
            "overlap: {name} waited {:.2} s for {}.",
            wait(command).as_secs_f64(),
            count(command.after.len()),
        )?;
    }
    Ok(())
}

/// A command as far as it fits into a line.
fn shorten_command(command: &str) -> String {
    match command.char_indices().nth(MAX_COMMAND) {
        Some((end, _)) => format!("`{}…`", &command[..end]),
        None => format!("`{command}`"),
    }
}

fn write_hazards(hazards: &Hazards, directory: &Path, text: &mut String) -> fmt::Result {
    for hazard in hazards.found.iter().take(MAX_HAZARDS) {
        let (file, first) = (shorten(&hazard.file, directory).display(), name(&hazard.first));
        let others: Vec<_> = hazard.others.iter().take(MAX_RECIPES).map(name).collect();
        let rest = hazard.others.len().saturating_sub(MAX_RECIPES);
        let others = others.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() };
        match hazard.kind {
            HazardKind::MissingDependency => writeln!(
                text,
                "overlap: make -j may break: {file} is made by {first} and used by {others} without a dependency."
            )?,
            HazardKind::TwoWriters => writeln!(
                text,
                "overlap: make -j may break: {file} is written by {first} and by {others} without a dependency."
            )?,
            HazardKind::ChangedAfterUse => writeln!(
                text,
                "overlap: make -j may break: {file} is used by {first} and changed by {others} without a dependency."
            )?,
        }
    }
    let rest = hazards.found.len().saturating_sub(MAX_HAZARDS);
    if rest > 0 {
        writeln!(text, "overlap: {rest} more such orders; --json FILE lists them.")?;
    }
    if hazards.makes == 0 {
        return writeln!(
            text,
            "overlap: missing dependencies not judged: no run of GNU make told its rules."
        );
    }
    let judged = hazards.pairs - hazards.unmatched;
    let verdict = if hazards.found.is_empty() { "no missing dependency found" } else { "judged" };
    writeln!(
        text,
        "overlap: {verdict} among {judged} pairs of recipe lines with a common file ({} lines, {} runs of make).",
        hazards.lines, hazards.makes
    )?;
    if hazards.unmatched > 0 {
        writeln!(text, "overlap: {} such pairs not judged: a rule is not known.", hazards.unmatched)?;
    }
    Ok(())
}

/// A recipe by its target, with its place.
fn name(recipe: &Recipe) -> String {
    format!("{} ({})", recipe.target, recipe.place)
}

fn count(commands: usize) -> String {
    match commands {
        1 => "1 command".to_owned(),
        commands => format!("{commands} commands"),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A path as it is called in the folder of the build.
fn shorten<'a>(path: &'a Path, directory: &Path) -> &'a Path {
    match path.strip_prefix(directory) {
        Ok(inner) if !inner.as_os_str().is_empty() => inner,
        _ => path,
    }
}

/// Purpose of a waiting call.
fn purpose(reason: &WaitReason, directory: &Path) -> String {
    let shown = |path: &Path| shorten(path, directory).display().to_string();
    match reason {
        WaitReason::File(path) => format!("to look at {}", shown(path)),
        WaitReason::Directory(path) => format!("to list {}", shown(path)),
        WaitReason::Write(path) => format!("to change {}", shown(path)),
        WaitReason::Input => "to read its standard input".to_owned(),
        WaitReason::Connection => "to reach another program".to_owned(),
        WaitReason::Signal => "to send a signal".to_owned(),
        WaitReason::Limit => "to start a command".to_owned(),
        WaitReason::Exit => "to end".to_owned(),
        WaitReason::Makefile => "to read its makefile".to_owned(),
    }
}
