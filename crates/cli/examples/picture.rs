//! Draws the terminal output of `morecores show STUDY` as an SVG: the picture of the README.
//!
//! `tools/picture.sh` converts it to a PNG.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;

use anyhow::{Context, Result};
use morecores_explain::{DecodedTrace, trace_view};
use morecores_report::{Style, run_report};
use morecores_study::Study;
use morecores_study::trace::read_trace_events;
use morecores_view::view;

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("name a study")?;
    let path = Path::new(&path);
    let study = Study::read(path)?;
    let style = Style { width: 90, colour: true, unicode: true, wide: false };
    let arch = &study.header.host.arch;
    let view_of = |header| -> Result<_> {
        Ok(trace_view(&DecodedTrace::new(header, read_trace_events(path, header)?), arch))
    };
    let traces = study.traces.iter().map(view_of);
    let traces = traces.collect::<Result<Vec<_>>>()?;
    let text = run_report(&view(&study, &traces), Some(path), &style);
    let svg = anstyle_svg::Term::new().render_svg(&text);
    // This font has the curve's Braille cells at the width of its letters.
    println!("{}", svg.replace("SFMono-Regular", "DejaVu Sans Mono"));
    Ok(())
}
