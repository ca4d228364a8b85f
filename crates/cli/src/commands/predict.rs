//! `morecores predict` and `morecores what-if`: elapsed times on machines that were not measured,
//! and without an obstacle.

use std::path::Path;

use anyhow::{Result, bail};
use morecores_predict::forecast::{forecast, what_if as replay_changes};
use morecores_report as report;

use super::loaded_study::{LoadedStudy, Purpose, unpredictable};
use crate::args::{PredictArgs, WhatIfArgs};
use crate::options::{PredictOptions, WhatIfOptions};
use crate::{exit, terminal};

pub(crate) fn predict(args: &PredictArgs) -> Result<u8> {
    let mut loaded = LoadedStudy::read(&args.study, Purpose::Figures)?;
    check_predictable(&loaded, &args.study)?;
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
        let style = terminal::style();
        let models = if args.explain { report::ModelTable::Shown } else { report::ModelTable::Omitted };
        let text = report::prediction_report(&loaded.view, &prediction, &options.prices, models, &style);
        terminal::print(&text)?;
    }
    terminal::notes(&loaded.unread);
    Ok(exit::SUCCESS)
}

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<u8> {
    let options = WhatIfOptions::new(args)?;
    let mut loaded = LoadedStudy::read(&args.study, Purpose::Figures)?;
    check_predictable(&loaded, &args.study)?;
    // Traces would not help a study of a metric, which is refused below.
    if !loaded.has_programs() && loaded.view.plan.metric.is_none() {
        bail!("{} has no trace to replay: `morecores run --predict` makes some", args.study.display());
    }
    let evidence = loaded.take_evidence(None, None);
    let gains = replay_changes(&evidence, &options.changes, options.cpus.as_deref())?;
    if args.json {
        terminal::print(&report::gains_json(&gains)?)?;
    } else {
        terminal::print(&report::gains_report(&loaded.view, &gains, &terminal::style()))?;
    }
    terminal::notes(&loaded.unread);
    Ok(exit::SUCCESS)
}

/// Refuses a study that tells nothing about the same work on more CPUs.
fn check_predictable(loaded: &LoadedStudy, study: &Path) -> Result<()> {
    match unpredictable(&loaded.view) {
        Some(reason) => bail!("{} supports no prediction: {reason}", study.display()),
        None => Ok(()),
    }
}
