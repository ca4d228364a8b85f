//! `morecores show`: prints an existing study, for people or for programs.

use std::path::Path;

use anyhow::Result;
use morecores_report as report;
use morecores_study::{AnyStudy, Study};

use super::loaded_study::{LoadedStudy, Purpose};
use super::locks;
use super::traced_run::{CUT_SHORT, has_cut_short_trace};
use crate::args::{FormatArgs, ShowArgs};
use crate::{exit, terminal};

pub(crate) fn show(args: &ShowArgs) -> Result<u8> {
    match AnyStudy::read(&args.study)? {
        AnyStudy::Command(study) => print(*study, &args.study, &args.format, args.wide)?,
        AnyStudy::Locks(study) => locks::print(&study, &args.study, &args.format, args.wide)?,
    }
    Ok(exit::SUCCESS)
}

fn print(study: Study, path: &Path, format: &FormatArgs, wide: bool) -> Result<()> {
    if format.hyperfine_json {
        return terminal::print(&report::hyperfine_json(&study)?);
    }
    let mut loaded = LoadedStudy::new(study, path, Purpose::Figures);
    // JSON is for programs: it holds a prediction even if nobody asked for one.
    if format.json {
        loaded.predict();
    } else {
        loaded.predict_as_planned();
    }
    let LoadedStudy { study, view, unread, .. } = loaded;
    let mut text = String::new();
    if format.json {
        text = report::view_json(&view)?;
    } else if format.csv {
        let mut bytes = Vec::new();
        report::view_csv(&view, &mut bytes)?;
        text = String::from_utf8(bytes)?;
    } else if format.markdown {
        report::view_markdown(&view, &mut text)?;
    } else if let ([], [trace]) = (view.points.as_slice(), view.traces.as_slice()) {
        // `morecores trace -o` made this study.
        text = report::trace_report(trace, Some(path), &terminal::style(wide));
    } else {
        text = report::run_report(&view, Some(path), &terminal::style(wide));
    }
    terminal::print(&text)?;
    unread.iter().for_each(|line| terminal::note(line));
    if has_cut_short_trace(&study) {
        terminal::note(CUT_SHORT);
    }
    Ok(())
}
