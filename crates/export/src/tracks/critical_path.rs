//! The track of the critical path. Activities shorter than a step become one span with their
//! neighbours, until it is a step long: the spans add up to the whole path.

use std::collections::BTreeMap;
use std::io;

use morecores_explain::trace::{Activity, ThreadId};

use super::{StateNames, Track, TrackSink, step, time};
use crate::ExportedRun;

/// Passes the critical path to a sink.
pub(super) fn write_critical_path(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    let names = StateNames::new(run);
    let shortest = step(timeline);
    let mut rest = run.path();
    while let Some(first) = rest.first() {
        let count = first_span(rest, shortest);
        let (merged, after) = rest.split_at(count);
        rest = after;
        let longest = longest_part(merged, &names);
        let (thread, mut name) =
            longest.map_or((None, String::new()), |(thread, name)| (thread, name.to_owned()));
        if let Some(id) = thread {
            name = format!("{}: {name}", run.programs.thread_name(timeline, id, first.from));
        }
        if count > 1 {
            name += " and others";
        }
        let to = merged.last().map_or(first.to, |last| last.to);
        sink.span(Track::CriticalPath, time(timeline, first.from), time(timeline, to), &name, None)?;
    }
    Ok(())
}

/// Number of activities in the first span: one of a step or longer, or as many shorter ones as make
/// a step.
fn first_span(path: &[Activity], shortest: u64) -> usize {
    let mut length = 0;
    for (index, activity) in path.iter().enumerate() {
        if index > 0 && (length >= shortest || activity.length().0 >= shortest) {
            return index;
        }
        length += activity.length().0;
    }
    path.len()
}

/// Thread and state with most of the time.
fn longest_part<'n>(merged: &[Activity], names: &'n StateNames<'_>) -> Option<(Option<ThreadId>, &'n str)> {
    let mut times: BTreeMap<(Option<ThreadId>, &str), u64> = BTreeMap::new();
    for activity in merged {
        *times.entry((activity.thread, names.name(activity.kind))).or_default() += activity.length().0;
    }
    times.into_iter().max_by_key(|(_, length)| *length).map(|(part, _)| part)
}
