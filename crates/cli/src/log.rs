//! Diagnostics of this process: its events on standard error for those who ask, and the last log
//! for a bug report.
//!
//! The crates below emit events through `tracing`; this module alone receives them. Without a
//! reader nothing receives events, and an event costs one relaxed load. A reader costs some
//! microseconds for each event. The measuring thread therefore emits none between the start and
//! the end of a run: limits, cgroups, hooks and caches are changed outside of the timed interval.
//! The last log stays in memory until the process ends.
//!
//! There are no spans: an event says everything in its text.

mod filter;
mod last;

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::{Result, anyhow};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::{state_file, terminal};
use filter::{Filter, is_morecores_target};
use last::LastLog;

pub(crate) use last::file as last_log_file;

/// Variable that selects the events, and turns the last log off.
pub(crate) const VARIABLE: &str = "MORECORES_LOG";

/// Most detailed level of the last log.
const LAST_LOG_LEVEL: LevelFilter = LevelFilter::DEBUG;

/// Receiver of this process's events; absent if nobody reads them.
static LOG: OnceLock<Log> = OnceLock::new();

/// Events that a command keeps for a bug report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// The last log.
    LastLog,
    /// No event.
    None,
}

#[derive(Debug)]
struct Log {
    began: Instant,
    /// Number of `-v`.
    verbosity: u8,
    /// Events that go to standard error.
    shown: Filter,
    /// Events that are kept, if this invocation keeps any.
    last: Option<Mutex<LastLog>>,
}

/// Starts to receive events if the command line or the environment asks for them, or if the
/// subcommand keeps a last log.
///
/// # Errors
/// The variable has no meaning.
pub(crate) fn start(verbosity: u8, retention: Retention) -> Result<()> {
    let value = env::var_os(VARIABLE).unwrap_or_default();
    let value = value.to_string_lossy();
    let by_variable = value.parse::<Filter>().map_err(|why| anyhow!("{VARIABLE}={value}: {why}"))?;
    let shown = if verbosity > 0 { Filter::from_verbosity(verbosity) } else { by_variable };
    let keeps = retention == Retention::LastLog && !value.eq_ignore_ascii_case("off");
    if !keeps && shown.is_off() {
        return Ok(());
    }
    let last = keeps.then(|| Mutex::new(LastLog::new(&heading())));
    let log = Log { began: Instant::now(), verbosity, shown, last };
    if LOG.set(log).is_ok() {
        tracing::subscriber::set_global_default(Receiver)?;
    }
    Ok(())
}

/// First lines of a last log.
fn heading() -> String {
    let words: Vec<String> = env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    format!(
        "morecores {}, Linux {}, {}\n{}\n",
        env!("CARGO_PKG_VERSION"),
        rustix::system::uname().release().to_string_lossy(),
        jiff::Timestamp::now(),
        morecores_report::display_command(&words)
    )
}

/// Adds a message for the user to the last log.
pub(crate) fn add_note(text: &str) {
    if let Some(log) = LOG.get() {
        log.keep(LastLog::add_note, "note", env!("CARGO_CRATE_NAME"), text);
    }
}

/// Writes the last log to its file. A failure is shown only to those who asked for events: it
/// changes no measurement.
pub(crate) fn keep() {
    let Some(log) = LOG.get() else { return };
    let Some(last) = &log.last else { return };
    let text = last.lock().unwrap_or_else(PoisonError::into_inner).text();
    let (Some(text), Some(file)) = (text, last::file()) else { return };
    if let Err(error) = state_file::write(&file, &text)
        && !log.shown.is_off()
    {
        terminal::diagnostic(&format!("info: cannot write {}: {error}", file.display()));
    }
}

/// Options with which a child morecores emits the same events.
pub(crate) fn options() -> Option<OsString> {
    let verbosity = LOG.get().map_or(0, |log| log.verbosity);
    (verbosity > 0).then(|| format!("-{}", "v".repeat(verbosity.into())).into())
}

impl Log {
    fn is_kept(&self, metadata: &Metadata<'_>) -> bool {
        self.last.is_some() && *metadata.level() <= LAST_LOG_LEVEL
    }

    fn keep(&self, add: fn(&mut LastLog, String), level: &str, target: &str, text: &str) {
        if let Some(last) = &self.last {
            let seconds = self.began.elapsed().as_secs_f64();
            let line = format!("{seconds:12.6} {level:5} {target}: {text}\n");
            add(&mut last.lock().unwrap_or_else(PoisonError::into_inner), line);
        }
    }
}

/// Subscriber over [`LOG`].
#[derive(Debug)]
struct Receiver;

impl Subscriber for Receiver {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_morecores_target(metadata.target())
            && LOG.get().is_some_and(|log| log.is_kept(metadata) || log.shown.selects(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let log = LOG.get()?;
        let level = if log.last.is_some() { LAST_LOG_LEVEL } else { LevelFilter::OFF };
        Some(level.max(log.shown.max_level()))
    }

    fn event(&self, event: &Event<'_>) {
        let Some(log) = LOG.get() else { return };
        let metadata = event.metadata();
        let mut text = Text(String::new());
        event.record(&mut text);
        let text = text.0.trim_end().replace('\n', "; ");
        let level = metadata.level().as_str().to_ascii_lowercase();
        if log.shown.selects(metadata) {
            terminal::diagnostic(&format!("{level}: {text}"));
        }
        if log.is_kept(metadata) {
            log.keep(LastLog::add_event, &level, metadata.target(), &text);
        }
        if *metadata.level() <= Level::WARN {
            keep();
        }
    }

    // There are no spans.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Text of an event: its message, then any fields.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
