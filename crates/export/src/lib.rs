//! A traced run in the formats of other programs.
//!
//! - `run` holds a decoded run with the causes of its waits and its critical path.
//! - `table` has plain tables with their columns, for pandas and DuckDB, and produces their rows
//!   one by one. `condition` selects rows; `write` writes them as CSV or as lines of JSON.
//! - `tracks` has threads, wake-ups and results for viewers of traces; `chrome_trace` and `firefox`
//!   write them. `perfetto` writes the results beside the scheduler's events.
//! - `folded` and `pprof` write call stacks, for flame graphs and for pprof.
//! - `talp` writes the efficiencies of POP as TALP does.
//!
//! Nothing here estimates a figure or opens a file: the caller passes the output.
#![forbid(unsafe_code)]

mod chrome_trace;
mod condition;
mod firefox;
mod folded;
mod perfetto;
mod pprof;
mod run;
mod table;
mod talp;
mod tracks;
mod write;

pub use chrome_trace::write_chrome_trace;
pub use condition::{Condition, ConditionError};
pub use firefox::write_firefox;
pub use folded::write_folded;
pub use perfetto::write_perfetto;
pub use pprof::{ProfiledRun, write_pprof};
pub use run::ExportedRun;
pub use table::{Column, Table, Value};
pub use talp::{TalpRun, write_talp};
pub use write::{RowFormat, WriteError, write_table};
