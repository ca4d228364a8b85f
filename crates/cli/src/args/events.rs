//! Arguments of `morecores events`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print a traced run as a table, for pandas, DuckDB and other programs
///
/// Each table has one row for each record, in the order of time. Times are nanoseconds since the
/// beginning of the run. A thread has a number of its own, because the kernel reuses its numbers.
/// docs/events.md describes the columns and computes a speedup stack from them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EventsArgs {
    /// Directory of a study with a trace
    pub(crate) study: PathBuf,
    /// Table to print
    #[arg(value_enum)]
    pub(crate) table: EventTable,
    /// Name of the trace: that of its file in STUDY/traces, without the ending [default: the shown
    /// one on the most CPUs]
    #[arg(long, value_name = "NAME")]
    pub(crate) trace: Option<String>,
    /// Print only the rows of which a column has this value: COLUMN=VALUE, or with != < <= > >=
    /// (repeatable)
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// Print CSV with a header line [default]
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Table of a traced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventTable {
    /// Threads, of the command and others
    Threads,
    /// States of the command's threads: running, runnable, held, blocked
    States,
    /// Waits of the command's threads, with cause and waker
    Waits,
    /// Spans of the allotted CPUs, with the occupant
    Cpus,
    /// Idle CPUs by cause over time
    Idle,
    /// Samples of the CPUs
    Samples,
    /// Activities of the critical path
    Path,
}

const EXAMPLES: &str = "\
Examples:
  morecores events make.study waits --where cause=disk --where 'to_ns<1000000000'
  morecores events make.study states --trace 1 --json > states.jsonl
  duckdb -c \"SELECT command, sum(to_ns - from_ns) / 1e9 FROM 'path.csv' GROUP BY ALL\"

Exit status: 0 printed; 2 bad input.";
