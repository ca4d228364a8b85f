//! `morecores advise`: the road from a study to a command that is faster on more CPUs.

use anyhow::{Result, bail};
use morecores_report as report;
use morecores_view::advice;

use super::loaded_study::{LoadedStudy, Purpose};
use crate::args::AdviseArgs;
use crate::{exit, terminal};

pub(crate) fn advise(args: &AdviseArgs) -> Result<u8> {
    let mut loaded = LoadedStudy::read(&args.study, Purpose::Figures)?;
    let gains = loaded.predict_with_gains();
    let Some(advice) = advice(&loaded.view, gains) else {
        bail!(
            "{} has no traced run on two or more CPUs, so there is nothing to advise from: `morecores run --trace on \
             --cpus 1,2` makes one",
            args.study.display()
        );
    };
    if args.json {
        terminal::print(&report::advice_json(&advice)?)?;
    } else {
        terminal::print(&report::advice_report(&loaded.view, &advice, &terminal::style()))?;
    }
    terminal::notes(&loaded.unread);
    Ok(exit::SUCCESS)
}
