//! Test that no diagnostics are emitted while a run is timed.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fmt;
use std::sync::{Arc, Mutex};

use morecores_machine::process;
use morecores_measure::control::Control;
use morecores_measure::executor::ProcessExecutor;
use morecores_measure::input::Input;
use morecores_measure::observer::{ObserverError, RunObserver};
use morecores_measure::sweep::{Executor, Trial};
use morecores_study::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Events so far, and the boundaries of the timed intervals among them.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn add(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("morecores")
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.add(&text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!("{value:?}");
    }
}

impl RunObserver for Journal {
    type Observation = ();

    fn on_begin(&mut self, _: &Point) -> Result<(), ObserverError> {
        self.add("begins");
        Ok(())
    }

    fn on_end(&mut self) -> Result<(), ObserverError> {
        self.add("ended");
        Ok(())
    }
}

#[test]
fn events_come_before_or_after_the_runs_and_never_during_them() {
    let cpu_set = process::affinity(0).unwrap();
    let point = Point { cpus: cpu_set.len() as u32, cpu_set, ..morecores_testkit::point(1) };
    let mut plan = morecores_testkit::plan(vec![point.clone()]);
    plan.hooks.prepare = Some("true".into());
    let command = Command::Shell { line: "sleep 0.01; exit 3".into() };
    let mut journal = Journal::default();
    tracing::subscriber::with_default(journal.clone(), || {
        let control = Arc::new(Control::default());
        let mut executor = ProcessExecutor::new(&command, &plan, Input::none(), control).unwrap();
        for index in 0..3 {
            let trial = Trial { index, round: 0, phase: Phase::Timed, cell: point.clone() };
            executor.execute_observed(&trial, &mut journal).unwrap();
            executor.execute(&trial).unwrap();
        }
        assert!(executor.restore_system().is_empty());
    });
    let lines = journal.0.lock().unwrap().clone();
    let begins: Vec<usize> = (0..lines.len()).filter(|line| lines[*line] == "begins").collect();
    // A start that is repeated in another way has two intervals.
    assert!(begins.len() >= 3, "{lines:#?}");
    assert!(begins.iter().all(|line| lines[line + 1] == "ended"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("--prepare `true`: exit status: 0")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("user and system time by ")), "{lines:#?}");
}
