//! `morecores what-if`: the gain from removing an obstacle or making a command faster.

use anyhow::{Result, bail};
use morecores_predict::forecast::{Evidence, what_if as ask};
use morecores_report as report;
use morecores_study::Study;

use super::derive;
use crate::args::WhatIfArgs;
use crate::options::WhatIfOptions;
use crate::{exit, terminal};

pub(crate) fn what_if(args: &WhatIfArgs) -> Result<u8> {
    let options = WhatIfOptions::new(args)?;
    let study = Study::read(&args.study)?;
    let derived = derive::read(&study, &args.study);
    if derived.programs.is_empty() {
        bail!("{} has no trace to replay: `morecores run --predict` makes some", args.study.display());
    }
    let evidence = Evidence::from_view(&derived.view, derived.programs, derive::receives_n(&study), None);
    let gains = ask(&evidence, &options.changes, options.cpus.as_deref())?;
    if args.json {
        terminal::print(&report::gains_json(&gains)?)?;
    } else {
        terminal::print(&report::gains_report(&derived.view, &gains, &terminal::style(false)))?;
    }
    derived.unread.iter().for_each(|line| terminal::note(line));
    Ok(exit::SUCCESS)
}
