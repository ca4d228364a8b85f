//! `morecores report`: studies as a page, or single pictures of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use morecores_findings::is_search;
use morecores_report as words;
use morecores_view::page::{Page, Picture};

use super::benchmarks::{PublishedComparison, SuiteStudies};
use super::page::{Depth, StudyOnPage, new_page, page_study};
use super::search::add_search;
use super::show::ShownStudy;
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
        [directory] => SuiteStudies::in_directory(directory).map(|suite| suite.with_worth(options.worth)),
        _ => None,
    };
    let (page, unread) = match suite {
        Some(suite) if only_suite => (suite_summary_page(suite)?, Vec::new()),
        Some(suite) => suite_page(suite, depth)?,
        None => studies_page(&args.studies, options.worth, depth)?,
    };
    let has_others = !page.locks.is_empty() || !page.searches.is_empty();
    ensure!(
        options.plots.is_empty() || !has_others || !page.studies.is_empty(),
        "--plot draws studies of commands, but these are studies of locks or searches: -o writes a page with their pictures"
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
    terminal::notes(&unread);
    Ok(exit::SUCCESS)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    terminal::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Page of these studies of any subject, with one line for each trace that cannot be read.
fn studies_page(paths: &[PathBuf], worth: Option<f64>, depth: Depth) -> Result<(Page, Vec<String>)> {
    let (mut page, mut unread) = (new_page(), Vec::new());
    for path in paths {
        if is_search(path) {
            ensure!(
                worth.is_none(),
                "--worth is for studies, but {} is a search: leave it out",
                path.display()
            );
            add_search(&mut page, path)?;
            continue;
        }
        let mut shown = ShownStudy::read(path)?;
        shown.set_worth(worth)?;
        unread.extend(shown.add_to_page(&mut page, depth)?);
    }
    Ok((page, unread))
}

/// Page of a suite's directory, with one line for each trace that cannot be read.
fn suite_page(suite: SuiteStudies, depth: Depth) -> Result<(Page, Vec<String>)> {
    let load = |study, path: &Path| page_study(study, path, depth);
    let PublishedComparison { benchmarks, suite, studies } =
        suite.compare_with_published(load, |shown: &StudyOnPage| &shown.page.view)?;
    let (studies, unread): (Vec<_>, Vec<_>) =
        studies.into_iter().map(|shown| (shown.page, shown.unread)).unzip();
    Ok((Page { studies, benchmarks, suite: Some(suite), ..new_page() }, unread.concat()))
}

/// Page with only the summary of a suite.
fn suite_summary_page(suite: SuiteStudies) -> Result<Page> {
    let PublishedComparison { suite, .. } = suite.compare_figures_with_published()?;
    Ok(Page { suite: Some(suite), ..new_page() })
}
