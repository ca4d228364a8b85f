//! Number of stress-ng's waits for kernel locks, counted by bpftrace.
//!
//! The count comes from the traced run, not from a second one: two runs of stress-ng differ by far
//! more than 2%, while two readers of one tracepoint agree exactly. Bpftrace shares no code with
//! the tracer. A mutex may begin to wait several times before it ends once, so ends are counted.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::AccuracyError;

/// Script that counts for `stress-ng` and `stress-ng-dentr`, the names that the kernel keeps.
const SCRIPT: &str = "BEGIN { printf(\"ready\\n\"); } \
    tracepoint:lock:contention_end /strncmp(comm, \"stress-ng\", 9) == 0/ { @waits = count(); }";

/// Time from BEGIN until the last probe is attached; measured: some milliseconds.
const ATTACH_TIME: Duration = Duration::from_millis(500);

/// A running bpftrace; ended on drop.
#[derive(Debug)]
pub struct LockCount {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl LockCount {
    /// Starts counting.
    pub fn start() -> Result<Self, AccuracyError> {
        let mut command = Command::new("bpftrace");
        command.args(["-f", "json", "-B", "line", "-e", SCRIPT]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error| AccuracyError::Start { command: "bpftrace".to_owned(), error };
        let mut child = command.spawn().map_err(failed)?;
        let output = child.stdout.take().map(BufReader::new);
        let output = output.ok_or_else(|| AccuracyError::NoCount("it has no output".to_owned()))?;
        let mut count = Self { child, output };
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            let read = count.output.read_line(&mut line);
            if read.map_err(AccuracyError::system("read from bpftrace"))? == 0 {
                return Err(count.bpftrace_error());
            }
        }
        sleep(ATTACH_TIME);
        Ok(count)
    }

    /// Stops counting and returns the count.
    pub fn stop(mut self) -> Result<u64, AccuracyError> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).map_err(AccuracyError::system("stop bpftrace"))?;
        let mut text = String::new();
        self.output.read_to_string(&mut text).map_err(AccuracyError::system("read from bpftrace"))?;
        parse_count(&text).ok_or_else(|| self.bpftrace_error())
    }

    /// Error with bpftrace's own message.
    fn bpftrace_error(&mut self) -> AccuracyError {
        self.child.kill().ok();
        let mut text = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut text).ok();
        }
        AccuracyError::NoCount(text.trim().replace('\n', "; "))
    }
}

impl Drop for LockCount {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Count in bpftrace's output: a line `{"type": "map", "data": {"@waits": 633}}`. A map without
/// additions is printed without a number.
fn parse_count(text: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let map =
        lines.filter(|line| line["type"] == "map").find_map(|line| line["data"].get("@waits").cloned())?;
    map.as_u64().or(Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_between_other_lines() {
        let text = "{\"type\": \"attached_probes\", \"data\": {\"probes\": 2}}\nAttaching 2 probes...\n\
            {\"type\": \"map\", \"data\": {\"@waits\": 633}}\n";
        assert_eq!(parse_count(text), Some(633));
        assert_eq!(parse_count("{\"type\": \"map\", \"data\": {\"@waits\": {}}}\n"), Some(0));
        assert_eq!(parse_count("ERROR: no tracepoint\n"), None);
    }
}
