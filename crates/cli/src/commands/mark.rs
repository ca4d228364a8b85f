//! `morecores mark`: marks programs that work only on a few CPUs, and shows, renews and removes
//! their marks.

use std::env;
use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use morecores_mark::{self as mark, FileState, Registry};
use morecores_measure::program::resolve;
use morecores_report as report;
use serde::Serialize;

use super::enforce;
use super::marks::{self, Mark};
use crate::args::MarkArgs;
use crate::{exit, terminal};

/// A line of the output.
#[derive(Debug, Serialize)]
struct Shown {
    program: PathBuf,
    /// Number of CPUs; `None` without a mark.
    cpus: Option<NonZeroU32>,
    /// `None` without a mark.
    state: Option<FileState>,
}

pub(crate) fn mark(args: &MarkArgs) -> Result<u8> {
    if args.enforce {
        return enforce::watch(args.cpuset);
    }
    if let Some(part) = args.enforce_part {
        return enforce::run(part);
    }
    let mut registry = marks::load()?;
    // Every name is checked before the first change.
    let programs =
        args.programs.iter().map(|name| path(name, &registry)).collect::<Result<Vec<PathBuf>>>()?;
    let mut status = exit::SUCCESS;
    if let Some(cpus) = args.cpus {
        set(&mut registry, &programs, cpus)?;
    } else if args.clear {
        clear(&mut registry, &programs)?;
    } else if args.renew && !renew(&registry) {
        status = exit::BAD_INPUT;
    }
    let shown = if args.programs.is_empty() { all(&registry) } else { some(&registry, &programs)? };
    if args.json {
        terminal::print_json(&shown)?;
    } else {
        terminal::print(&shown.iter().map(|line| line.text() + "\n").collect::<String>())?;
    }
    if shown.is_empty() {
        terminal::note("no program is marked");
    }
    Ok(status)
}

/// Absolute path of a program, which may be gone if it is in the list.
fn path(name: &OsStr, registry: &Registry) -> Result<PathBuf> {
    let absolute =
        |path: &Path| std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()));
    match resolve(name, env::var_os("PATH").as_deref()) {
        Ok(found) => absolute(&found),
        Err(error) => {
            let path = absolute(Path::new(name))?;
            if registry.cpus(&path).is_some() { Ok(path) } else { Err(error.into()) }
        }
    }
}

/// Marks all of the programs, or none of them.
fn set(registry: &mut Registry, programs: &[PathBuf], cpus: NonZeroU32) -> Result<()> {
    let mut before = Vec::new();
    let mut write_all = || -> Result<()> {
        for program in programs {
            let earlier = mark::read(program).ok().flatten();
            mark::write(program, cpus)?;
            before.push((program, earlier));
            registry.insert(program.clone(), cpus);
        }
        marks::store(registry)
    };
    let done = write_all();
    if done.is_err() {
        for (program, earlier) in before {
            // It was changed just now, and the first error is told.
            let _ = match earlier {
                Some(cpus) => mark::write(program, cpus),
                None => mark::clear(program).map(drop),
            };
        }
    }
    done
}

fn clear(registry: &mut Registry, programs: &[PathBuf]) -> Result<()> {
    for program in programs {
        let had_mark = mark::clear(program)?;
        let had_entry = registry.remove(program);
        if had_entry {
            marks::store(registry)?;
        }
        if !had_mark && !had_entry {
            terminal::note(&format!("{} had no mark", program.display()));
        }
    }
    Ok(())
}

/// Marks replaced files again. Returns whether all could be marked.
fn renew(registry: &Registry) -> bool {
    let mut is_complete = true;
    for (program, cpus) in registry.iter() {
        if mark::state(program, cpus) == FileState::Replaced
            && let Err(error) = mark::write(program, cpus)
        {
            terminal::note(&error.to_string());
            is_complete = false;
        }
    }
    is_complete
}

fn all(registry: &Registry) -> Vec<Shown> {
    let shown = |(program, cpus): (&Path, NonZeroU32)| Shown {
        program: program.to_owned(),
        cpus: Some(cpus),
        state: Some(mark::state(program, cpus)),
    };
    registry.iter().map(shown).collect()
}

fn some(registry: &Registry, programs: &[PathBuf]) -> Result<Vec<Shown>> {
    let shown = |program: &PathBuf| {
        let found = marks::find(program, registry)?;
        let state = found.map(|found| match found {
            Mark::OfFile(_) => FileState::Marked,
            Mark::OfList(_) => FileState::Replaced,
        });
        Ok(Shown { program: program.clone(), cpus: found.map(Mark::cpus), state })
    };
    programs.iter().map(shown).collect()
}

impl Shown {
    fn text(&self) -> String {
        let Some(cpus) = self.cpus else { return format!("{}: no mark", self.program.display()) };
        let state = match self.state {
            Some(FileState::Replaced) => {
                "; its file was replaced and has no such mark, which `morecores mark --renew` writes again"
            }
            Some(FileState::Missing) => "; the file is gone",
            Some(FileState::Unreadable) => "; the file cannot be read",
            Some(FileState::Marked) | None => "",
        };
        format!("{}: {}{state}", self.program.display(), report::cpus(cpus.get()))
    }
}
