//! `morecores report`: studies as a page, or single pictures of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use morecores_explain::Lane;
use morecores_report as words;
use morecores_study::{AnyStudy, Nanos, Study};
use morecores_view::page::{Page, PageStudy, PageTimeline, Picture};

use super::benchmarks::{SuiteStudies, ThenAndNow};
use super::loaded_study::{LoadedStudy, Purpose, RunLanes, study_name};
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
    let suite = match args.studies.as_slice() {
        [directory] => SuiteStudies::in_directory(directory),
        _ => None,
    };
    let (page, unread) = match suite {
        Some(suite) if only_suite => (suite_summary_page(suite)?, Vec::new()),
        Some(suite) => suite_page(suite, depth)?,
        None => studies_page(&args.studies, depth)?,
    };
    ensure!(
        options.plots.is_empty() || page.locks.is_empty() || !page.studies.is_empty(),
        "--plot draws studies of commands, but these are studies of locks: -o writes a page with their pictures"
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
fn studies_page(paths: &[PathBuf], depth: Depth) -> Result<(Page, Vec<String>)> {
    let (mut page, mut unread) = (new_page(), Vec::new());
    for path in paths {
        match AnyStudy::read(path)? {
            AnyStudy::Command(study) => {
                let shown = page_study(*study, path, depth)?;
                page.studies.push(shown.page);
                unread.extend(shown.unread);
            }
            AnyStudy::Locks(study) => page.locks.push(locks::page_data(&study, path)),
        }
    }
    Ok((page, unread))
}

/// Page of a suite's directory, with one line for each trace that cannot be read.
fn suite_page(suite: SuiteStudies, depth: Depth) -> Result<(Page, Vec<String>)> {
    let load = |study, path: &Path| page_study(study, path, depth);
    let ThenAndNow { benchmarks, suite, studies } =
        suite.beside_published(load, |shown: &StudyOnPage| &shown.page.view)?;
    let (studies, unread): (Vec<_>, Vec<_>) =
        studies.into_iter().map(|shown| (shown.page, shown.unread)).unzip();
    Ok((Page { studies, benchmarks, suite: Some(suite), ..new_page() }, unread.concat()))
}

/// Page with only the summary of a suite.
fn suite_summary_page(suite: SuiteStudies) -> Result<Page> {
    let ThenAndNow { suite, .. } = suite.figures_beside_published()?;
    Ok(Page { suite: Some(suite), ..new_page() })
}

/// Empty page of this version.
pub(super) fn new_page() -> Page {
    Page::new(env!("CARGO_PKG_VERSION"))
}

/// Amount of derivation for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Measured figures only: for a study that is still being measured, on a machine that is busy
    /// with it.
    Measured,
    /// Also a prediction.
    Predicted,
    /// Also the gain of each change, for which the traces are replayed many times.
    WhatIf,
}

/// Study of a command on a page.
pub(super) struct StudyOnPage {
    pub(super) study: Study,
    pub(super) page: PageStudy,
    /// One line for each trace that cannot be read.
    pub(super) unread: Vec<String>,
}

/// Puts a study of a command, which was read from `path`, on a page.
pub(super) fn page_study(study: Study, path: &Path, depth: Depth) -> Result<StudyOnPage> {
    let mut loaded = LoadedStudy::new(study, path, Purpose::Page);
    let mut gains = Vec::new();
    match depth {
        Depth::Measured => {}
        Depth::Predicted => loaded.predict(),
        Depth::WhatIf => gains = loaded.predict_with_gains(),
    }
    let LoadedStudy { study, view, lanes, unread, .. } = loaded;
    // Runs traced only for a prediction have no point, and are not shown as a timeline.
    let has_point = |run: &&RunLanes| view.points.is_empty() || view.point(&run.cell).is_some();
    // The largest machine comes first: people ask about it most.
    let timelines = lanes.iter().rev().filter(has_point).map(timeline).collect::<Result<_>>()?;
    let page = words::page_study(&study_name(path), &study, view, gains, timelines);
    Ok(StudyOnPage { study, page, unread })
}

fn timeline(run: &RunLanes) -> Result<PageTimeline> {
    let RunLanes { cpus, n, lanes, .. } = run;
    let commands: Vec<(&str, &[Nanos], &[Nanos])> = lanes
        .commands
        .iter()
        .map(|(name, Lane { starts, ends })| (name.as_str(), starts.as_slice(), ends.as_slice()))
        .collect();
    Ok(words::page_timeline(*cpus, *n, &commands, (&lanes.ready.starts, &lanes.ready.ends))?)
}
