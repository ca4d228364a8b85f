//! `morecores report`: studies as a page, or single pictures of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use morecores_explain::{Lane, lanes};
use morecores_report as words;
use morecores_study::{AnyStudy, Nanos, Study, read_trace_events};
use morecores_view::View;
use morecores_view::page::{Page, PageStudy, PageTimeline, Picture};

use super::benchmarks::{ThenAndNow, is_suite, then_and_now};
use super::derive::{self, Depth};
use super::locks;
use crate::args::ReportArgs;
use crate::options::{PlotFormat, ReportOptions};
use crate::{exit, terminal};

pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let options = ReportOptions::new(args)?;
    // A single picture shows no gains.
    let depth = if options.page.is_some() { Depth::WhatIf } else { Depth::Predicted };
    let only_suite =
        options.page.is_none() && options.plots.iter().all(|plot| plot.order.picture == Picture::Suite);
    let (page, unread) = match args.studies.as_slice() {
        [directory] if is_suite(directory) && only_suite => (summary_of_suite(directory)?, Vec::new()),
        [directory] if is_suite(directory) => of_suite(directory, depth)?,
        paths => of_studies(paths, depth)?,
    };
    ensure!(
        options.plots.is_empty() || page.locks.is_empty() || !page.studies.is_empty(),
        "--plot draws pictures of studies of commands, and these are of locks: their pictures are in the page, by -o"
    );
    for plot in &options.plots {
        let svg = morecores_picture::svg(&page, plot.order)
            .with_context(|| format!("cannot draw {}", plot.path.display()))?;
        let bytes = match plot.format {
            PlotFormat::Svg => svg.into_bytes(),
            PlotFormat::Png => morecores_picture::png(&svg)
                .with_context(|| format!("cannot draw {}", plot.path.display()))?,
        };
        write(&plot.path, &bytes)?;
    }
    match &options.page {
        Some(path) if path == Path::new("-") => terminal::print(&words::page_html(&page)?)?,
        Some(path) => write(path, words::page_html(&page)?.as_bytes())?,
        None => {}
    }
    unread.iter().for_each(|line| terminal::note(line));
    Ok(exit::SUCCESS)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    terminal::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Page of these studies of either kind, with one line for each trace that cannot be read. `depth`
/// applies to studies of commands.
fn of_studies(paths: &[PathBuf], depth: Depth) -> Result<(Page, Vec<String>)> {
    let (mut page, mut unread) = (new_page(), Vec::new());
    for path in paths {
        match AnyStudy::read(path)? {
            AnyStudy::Command(study) => {
                let (study, lines) = on_page(&study, path, depth)?;
                page.studies.push(study);
                unread.extend(lines);
            }
            AnyStudy::Locks(study) => page.locks.push(locks::on_page(&study, path)),
        }
    }
    Ok((page, unread))
}

/// Page of a suite's directory, with one line for each trace that cannot be read.
fn of_suite(directory: &Path, depth: Depth) -> Result<(Page, Vec<String>)> {
    let read = |path: &Path| on_page(&Study::read(path)?, path, depth);
    let ThenAndNow { benchmarks, suite, studies } = then_and_now(directory, read, |(study, _)| &study.view)?;
    let (studies, unread): (Vec<_>, Vec<_>) = studies.into_iter().unzip();
    Ok((Page { studies, benchmarks, suite: Some(suite), ..new_page() }, unread.concat()))
}

/// Page with only the summary of a suite. No trace is replayed.
fn summary_of_suite(directory: &Path) -> Result<Page> {
    let read = |path: &Path| Ok(derive::view(&Study::read(path)?, path, false).0);
    let ThenAndNow { suite, .. } = then_and_now(directory, read, |view| view)?;
    Ok(Page { suite: Some(suite), ..new_page() })
}

/// Empty page of this version.
pub(super) fn new_page() -> Page {
    Page::new(env!("CARGO_PKG_VERSION"))
}

/// One study of a command for a page, with one line for each trace that cannot be read. The gains
/// of changes take the longest: the traces are replayed once for each change.
pub(super) fn on_page(study: &Study, path: &Path, depth: Depth) -> Result<(PageStudy, Vec<String>)> {
    let (view, gains, unread) = derive::for_page(study, path, depth);
    // The largest machine comes first: people ask about it most.
    let timelines = study.traces.iter().rev().filter_map(|header| {
        let decoded = read_trace_events(path, header).ok()?;
        let of_point = view.points.is_empty() || is_of_a_point(&view, header.run.cpus, header.run.n);
        of_point.then(|| timeline(header.run.cpus, header.run.n, &lanes(header, &decoded)))
    });
    let timelines = timelines.collect::<Result<_>>()?;
    Ok((words::page_study(&derive::study_name(path), study, view, gains, timelines), unread))
}

/// Whether the study has a point with these counts. Runs traced only for a prediction do not, and
/// are not shown as a timeline.
fn is_of_a_point(view: &View, cpus: u32, n: u32) -> bool {
    view.points.iter().any(|point| (point.cpus, point.n) == (cpus, n))
}

fn timeline(cpus: u32, n: u32, lanes: &morecores_explain::Lanes) -> Result<PageTimeline> {
    let commands: Vec<(&str, &[Nanos], &[Nanos])> = lanes
        .commands
        .iter()
        .map(|(name, Lane { starts, ends })| (name.as_str(), starts.as_slice(), ends.as_slice()))
        .collect();
    Ok(words::page_timeline(cpus, n, &commands, (&lanes.ready.starts, &lanes.ready.ends))?)
}
