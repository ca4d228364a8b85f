//! `morecores what-if`: the gain from removing an obstacle or making a command faster.

use anyhow::{Result, bail};
use morecores_predict::forecast::what_if as ask;
use morecores_report as report;

use super::loaded_study::{LoadedStudy, Purpose};
use crate::args::WhatIfArgs;
use crate::options::WhatIfOptions;
use crate::{exit, terminal};

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<u8> {
    let options = WhatIfOptions::new(args)?;
    let mut loaded = LoadedStudy::read(&args.study, Purpose::Figures)?;
    if !loaded.has_programs() {
        bail!("{} has no trace to replay: `morecores run --predict` makes some", args.study.display());
    }
    let evidence = loaded.take_evidence(None, None);
    let gains = ask(&evidence, &options.changes, options.cpus.as_deref())?;
    if args.json {
        terminal::print(&report::gains_json(&gains)?)?;
    } else {
        terminal::print(&report::gains_report(&loaded.view, &gains, &terminal::style(false)))?;
    }
    loaded.unread.iter().for_each(|line| terminal::note(line));
    Ok(exit::SUCCESS)
}
