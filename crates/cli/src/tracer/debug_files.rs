//! Debug files from servers for the modules of traces, on request of the user. This module names
//! nothing itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use morecores_machine::clock::monotonic;
use morecores_measure::control::Control;
use morecores_study::Nanos;
use morecores_study::trace::Module;
use morecores_symbols::{DebugFile, DebuginfodClient, FetchError, Symbolizer};
use tracing::debug;

/// Longest time of all transfers of this process together. A choice: a server that does not answer
/// uses the client's own 90 s (`DEBUGINFOD_TIMEOUT`) and leaves time for another one.
const LIMIT: Nanos = Nanos::from_millis(120_000);

/// Debug files from servers. The copies of this handle share the transfers.
#[derive(Clone, Debug)]
pub(crate) struct DebugFiles {
    client: DebuginfodClient,
    control: Arc<Control>,
    transfers: Arc<Mutex<Transfers>>,
}

/// Transfers so far.
#[derive(Debug, Default)]
struct Transfers {
    time: Nanos,
    /// Results by build identifier. A failed transfer is not repeated.
    results: HashMap<String, Result<PathBuf, FetchError>>,
}

impl DebugFiles {
    /// Debug files by this client. A signal or the end of the study's time, as `control` knows
    /// them, ends the transfers.
    pub(crate) fn new(client: DebuginfodClient, control: Arc<Control>) -> Self {
        Self { client, control, transfers: Arc::default() }
    }

    /// Adds the debug files of modules with nameless functions to their symbols. `code` are the
    /// modules of a trace with the offsets of its samples. Returns the reasons for the missing
    /// files.
    pub(crate) fn add_to<'a>(
        &self,
        symbolizer: &mut Symbolizer,
        code: impl Iterator<Item = (&'a Module, &'a BTreeSet<u64>)>,
    ) -> Vec<String> {
        // The trace of a server may end by the user's first signal.
        let was_interrupted = self.control.is_interrupted();
        let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (module, offsets) in code {
            let build_id = match symbolizer.debug_file(module, offsets) {
                Ok(DebugFile::Useful { build_id }) => Ok(build_id),
                Ok(DebugFile::Unidentified) => Err("it has no build identifier".to_owned()),
                // Files that cannot be read are reported with the names.
                Ok(DebugFile::Useless) | Err(_) => continue,
            };
            let added = build_id.and_then(|build_id| {
                let fetched = self.fetch(&build_id, was_interrupted);
                let path = fetched.map_err(|error| describe(&error, &build_id))?;
                let added = symbolizer.add_debug_file(module, &path);
                added.map_err(|error| format!("{error}; remove this file, and trace again"))
            });
            match added {
                Ok(()) => debug!("{} has its names from debuginfod", module.path),
                Err(why) => missing.entry(why).or_default().push(&module.path),
            }
        }
        let sentence =
            |(why, paths): (String, Vec<&str>)| format!("no debug file of {}: {why}", paths.join(", "));
        missing.into_iter().map(sentence).collect()
    }

    /// Time that the transfers took so far.
    pub(crate) fn time_of_transfers(&self) -> Nanos {
        self.transfers.lock().unwrap_or_else(PoisonError::into_inner).time
    }

    fn fetch(&self, build_id: &str, was_interrupted: bool) -> Result<PathBuf, FetchError> {
        let is_stopped = || {
            let is_interrupted = self.control.is_interrupted() && !was_interrupted;
            is_interrupted || self.control.is_killed() || self.control.is_out_of_time()
        };
        // A panic leaves no half-made result.
        let mut transfers = self.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = transfers.results.get(build_id) {
            return result.clone();
        }
        let left = LIMIT.since(transfers.time);
        let was_stopped = transfers.results.values().any(|result| *result == Err(FetchError::Stopped));
        let result = if was_stopped || is_stopped() {
            Err(FetchError::Stopped)
        } else if left == Nanos::ZERO {
            Err(FetchError::TimedOut)
        } else {
            let began = monotonic();
            let spare = |process| self.control.spare_process(process);
            let result = self.client.fetch(build_id, left.into(), spare, is_stopped);
            transfers.time += monotonic().since(began);
            result
        };
        transfers.results.insert(build_id.to_owned(), result.clone());
        result
    }
}

/// Reason for a missing debug file, with the next step.
fn describe(error: &FetchError, build_id: &str) -> String {
    match error {
        FetchError::TimedOut => {
            let seconds = LIMIT.as_secs_f64();
            format!(
                "{error} ({seconds:.0} s for all files); fetch it by `debuginfod-find debuginfo {build_id}`, and \
                 trace again"
            )
        }
        other => other.to_string(),
    }
}
