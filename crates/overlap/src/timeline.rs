//! The record of a build as a timeline: the trace event format of Chrome, which Perfetto and
//! Firefox's profiler open too.
//!
//! One track holds the build with its waits, and one each of the places in which commands ran.
//!
//! The format: "Trace Event Format", Google, complete events (`ph` is `X`), times in microseconds.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::record::{Command, Record};

/// Track of the build itself.
const BUILD: usize = 0;

/// A trace file.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    #[serde(rename = "traceEvents")]
    events: Vec<Value>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
}

impl Timeline {
    pub(crate) fn new(record: &Record) -> Self {
        let mut events = vec![
            name("process_name", BUILD, &record.command.join(" ")),
            name("thread_name", BUILD, "the build"),
            span(BUILD, "build", Duration::ZERO, record.elapsed, json!({})),
        ];
        for wait in &record.waits {
            let details = json!({ "reason": wait.reason, "commands": wait.commands });
            let title = format!("{} waits", wait.program);
            events.push(span(BUILD, &title, wait.begin, wait.begin + wait.elapsed, details));
        }
        let mut ends: Vec<Duration> = Vec::new();
        for (command, started, ended) in by_start(&record.commands) {
            // The first place that is free at its start.
            let free = ends.iter().position(|end| *end <= started).unwrap_or(ends.len());
            if free == ends.len() {
                ends.push(ended);
                events.push(name("thread_name", free + 1, &format!("commands {}", free + 1)));
            }
            ends[free] = ended;
            let details = json!({
                "deferred_s": command.deferred.as_secs_f64(),
                "ready_s": command.ready.as_secs_f64(),
                "outputs": command.outputs,
                "result": command.result,
            });
            events.push(span(free + 1, &command.command, started, ended, details));
        }
        Self { events, unit: "ms" }
    }
}

/// The commands that ran to their ends, in the order of their starts.
fn by_start(commands: &[Command]) -> Vec<(&Command, Duration, Duration)> {
    let mut ran: Vec<_> =
        commands.iter().filter_map(|command| Some((command, command.started?, command.ended?))).collect();
    ran.sort_by_key(|(_, started, _)| *started);
    ran
}

fn span(track: usize, title: &str, begin: Duration, end: Duration, details: Value) -> Value {
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    json!({
        "ph": "X", "pid": 1, "tid": track, "name": title,
        "ts": microseconds(begin), "dur": microseconds(end - begin), "args": details,
    })
}

fn name(kind: &str, track: usize, text: &str) -> Value {
    json!({ "ph": "M", "pid": 1, "tid": track, "name": kind, "args": { "name": text } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CommandResult;

    #[test]
    fn commands_at_the_same_time_have_tracks_of_their_own() {
        let seconds = Duration::from_secs;
        let command = |started, ended| Command {
            command: "cc".into(),
            outputs: Vec::new(),
            after: Vec::new(),
            deferred: seconds(0),
            ready: seconds(0),
            started: Some(seconds(started)),
            ended: Some(seconds(ended)),
            result: CommandResult::Succeeded,
        };
        let record =
            Record { commands: vec![command(0, 4), command(1, 2), command(2, 3)], ..Record::default() };
        let events = Timeline::new(&record).events;
        let tracks: Vec<_> =
            events.iter().filter(|event| event["name"] == "cc").map(|event| event["tid"].clone()).collect();
        assert_eq!(tracks, [1, 2, 2]);
    }
}
