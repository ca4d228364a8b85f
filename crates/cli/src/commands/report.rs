//! `morecores report`: studies as a page.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use morecores_analyse::{Lane, lanes};
use morecores_record::{Nanos, PageStudy, PageTimeline, Study, View, read_trace_events};
use morecores_report as words;

use super::derive;
use crate::args::ReportArgs;
use crate::{exit, terminal};

pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let mut studies = Vec::new();
    let mut unread = Vec::new();
    for path in &args.studies {
        let (study, lines) = read(path)?;
        studies.push(study);
        unread.extend(lines);
    }
    let html = words::page_html(&words::page(env!("CARGO_PKG_VERSION"), studies))?;
    if args.output == Path::new("-") {
        terminal::print(&html)?;
    } else {
        fs::write(&args.output, html).with_context(|| format!("cannot write {}", args.output.display()))?;
        terminal::note(&format!("wrote {}", args.output.display()));
    }
    unread.iter().for_each(|line| terminal::note(line));
    Ok(exit::SUCCESS)
}

/// One study of the page, and a line on each trace that cannot be read.
pub(super) fn read(path: &Path) -> Result<(PageStudy, Vec<String>)> {
    let study = Study::read(path)?;
    let (view, gains, unread) = derive::view_and_gains(&study, path);
    let timelines = study.traces.iter().filter_map(|header| {
        let decoded = read_trace_events(path, header).ok()?;
        let of_point = view.points.is_empty() || is_of_a_point(&view, header.run.cpus, header.run.n);
        of_point.then(|| timeline(header.run.cpus, header.run.n, &lanes(header, &decoded)))
    });
    let timelines = timelines.collect::<Result<_>>()?;
    Ok((words::page_study(&study_name(path), &study, view, gains, timelines), unread))
}

/// What a study is called: its directory's name.
pub(super) fn study_name(path: &Path) -> String {
    let name =
        path.canonicalize().ok().and_then(|full| Some(full.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| path.display().to_string())
}

/// Runs that were traced for a prediction alone are not shown over time.
fn is_of_a_point(view: &View, cpus: u32, n: u32) -> bool {
    view.points.iter().any(|point| (point.cpus, point.n) == (cpus, n))
}

fn timeline(cpus: u32, n: u32, lanes: &morecores_analyse::Lanes) -> Result<PageTimeline> {
    let commands: Vec<(&str, &[Nanos], &[Nanos])> = lanes
        .commands
        .iter()
        .map(|(name, Lane { starts, ends })| (name.as_str(), starts.as_slice(), ends.as_slice()))
        .collect();
    Ok(words::page_timeline(cpus, n, &commands, (&lanes.ready.starts, &lanes.ready.ends))?)
}
