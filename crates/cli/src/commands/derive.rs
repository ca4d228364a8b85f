//! From what was recorded to what is shown, and the head of what is recorded: shared by the subcommands that make
//! studies and those that show them.

use std::path::Path;

use morecores_analyse::trace_view;
use morecores_experiment::spawn;
use morecores_record::{
    Command, Header, Host, Plan, STUDY_SCHEMA, Study, StudyError, TraceHeader, TraceView, View,
    read_trace_events,
};

/// The head of a new study.
pub(super) fn header(command: Command, plan: Plan, host: Host) -> Header {
    Header {
        schema: STUDY_SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created_at_ns: spawn::realtime(),
        command,
        plan,
        host,
        closing: None,
        unknown: serde_json::Map::new(),
    }
}

/// Everything derived from the study at `path`, its traces decoded, and a line on each trace that cannot be read.
pub(super) fn view(study: &Study, path: &Path) -> (View, Vec<String>) {
    let damaged =
        study.damaged_traces.iter().map(|trace| format!("{}: {}", trace.path.display(), trace.reason));
    let (mut views, mut unread) = (Vec::new(), damaged.collect::<Vec<_>>());
    for header in &study.traces {
        match trace(path, header, &study.header.host.arch) {
            Ok(view) => views.push(view),
            Err(error) => unread.push(error.to_string()),
        }
    }
    for line in &mut unread {
        line.push_str("; the study is shown without this trace");
    }
    (morecores_analyse::view(study, &views), unread)
}

/// Everything derived from one trace of the study at `path`, made on a machine of architecture `arch`.
pub(super) fn trace(path: &Path, header: &TraceHeader, arch: &str) -> Result<TraceView, StudyError> {
    let decoded = read_trace_events(path, header)?;
    Ok(trace_view(header, &decoded, arch))
}
