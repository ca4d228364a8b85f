//! Studies on a report page, for `report` and `serve`.
//!
//! This module fills in the data of the page. `morecores_report` writes it.

use std::path::Path;

use anyhow::Result;
use morecores_explain::{CommandLanes, Lane};
use morecores_report::{self as words, CommandStretches, Stretches};
use morecores_study::Study;
use morecores_view::page::{Page, PageStudy, PageTimeline};

use super::loaded_study::{LoadedStudy, Purpose, RunLanes, study_name};

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
    let commands: Vec<CommandStretches<'_>> = lanes
        .commands
        .iter()
        .map(|CommandLanes { name, running, path }| CommandStretches {
            name,
            running: stretches(running),
            path: stretches(path),
        })
        .collect();
    Ok(words::page_timeline(*cpus, *n, &commands, stretches(&lanes.ready))?)
}

const fn stretches(lane: &Lane) -> Stretches<'_> {
    Stretches { starts: lane.starts.as_slice(), ends: lane.ends.as_slice() }
}
