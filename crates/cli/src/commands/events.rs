//! `morecores events`: a traced run as a table for other programs.

use std::io;

use anyhow::Result;
use morecores_export::{Condition, ExportedRun, RowFormat, Table, write_table};
use morecores_study::Study;

use super::chosen_trace::{find_trace, note_lost_events};
use super::loaded_study::decode;
use crate::args::{EventTable, EventsArgs};
use crate::exit;

pub(crate) fn events(args: &EventsArgs) -> Result<u8> {
    let table = match args.table {
        EventTable::Threads => Table::Threads,
        EventTable::States => Table::States,
        EventTable::Waits => Table::Waits,
        EventTable::Cpus => Table::Cpus,
        EventTable::Idle => Table::Idle,
        EventTable::Samples => Table::Samples,
        EventTable::Path => Table::Path,
    };
    let conditions = args.conditions.iter().map(|text| Condition::parse(text, table));
    let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
    let study = Study::read(&args.study)?;
    let header = find_trace(&study, &args.study, args.trace.as_deref())?;
    let decoded = decode(&args.study, header)?;
    let format = if args.json { RowFormat::JsonLines } else { RowFormat::Csv };
    let run = ExportedRun::new(&decoded, &study.header.host.arch);
    match write_table(&run, table, &conditions, format, io::stdout().lock()) {
        Err(error) if error.is_closed_pipe() => {}
        written => written?,
    }
    note_lost_events(&decoded);
    Ok(exit::SUCCESS)
}
