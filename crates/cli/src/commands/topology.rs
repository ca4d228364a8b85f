//! `morecores topology`: the machine, or a recording of one.

use std::fs;

use anyhow::{Context, Result};
use morecores_machine::topology::{self, Recording};

use crate::args::TopologyArgs;
use crate::{exit, terminal};

pub(crate) fn topology(args: &TopologyArgs) -> Result<u8> {
    if let Some(file) = &args.record {
        let recording = Recording::record_machine().to_string();
        if file.as_os_str() == "-" {
            terminal::print(&recording)?;
        } else {
            fs::write(file, recording).with_context(|| format!("cannot write {}", file.display()))?;
        }
        return Ok(exit::SUCCESS);
    }
    let machine = match &args.from {
        None => topology::read(),
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            let recording: Recording = text.parse().with_context(|| file.display().to_string())?;
            topology::read_from(&mut recording.tree())
        }
    };
    if args.json {
        terminal::print_json(&machine)?;
    } else {
        terminal::print(&morecores_report::topology_report(&machine, terminal::style().width))?;
    }
    Ok(exit::SUCCESS)
}
