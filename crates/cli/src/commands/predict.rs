//! `morecores predict`: predictions of a study for machines that were not measured.

use anyhow::{Result, bail};
use morecores_predict::forecast::forecast;
use morecores_report as report;

use super::loaded_study::{LoadedStudy, Purpose};
use crate::args::PredictArgs;
use crate::options::PredictOptions;
use crate::{exit, terminal};

pub(crate) fn predict(args: &PredictArgs) -> Result<u8> {
    let mut loaded = LoadedStudy::read(&args.study, Purpose::Figures)?;
    let options = PredictOptions::new(args, &loaded.view)?;
    let evidence = loaded.take_evidence(options.from.as_deref(), options.memory);
    if options.memory.is_some() && evidence.memory.is_none() {
        terminal::note(
            "--memory is not used: what the command needs is not known from two CPU counts; a cgroup with a memory \
             controller tells it (root has one)",
        );
    }
    let prediction = forecast(&evidence, &options.cpus).filter(|prediction| !prediction.points.is_empty());
    let Some(prediction) = prediction else {
        bail!(
            "{}: one CPU count without a trace supports no prediction: measure another count, or use `morecores run \
             --predict={}`",
            args.study.display(),
            options.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        );
    };
    if args.json {
        terminal::print(&report::prediction_json(&prediction)?)?;
    } else {
        let style = terminal::style(false);
        let text =
            report::prediction_report(&loaded.view, &prediction, &options.prices, args.explain, &style);
        terminal::print(&text)?;
    }
    loaded.unread.iter().for_each(|line| terminal::note(line));
    Ok(exit::SUCCESS)
}
