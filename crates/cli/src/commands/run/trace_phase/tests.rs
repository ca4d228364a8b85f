//! Tests of traced runs of real commands, with a simulated tracer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use morecores_machine::{host, process};
use morecores_measure::input::Input;
use morecores_measure::observer::{ObserverError, RunObserver};
use morecores_measure::sweep::PreviousRuns;
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::*;
use rustix::process::Signal;

use super::super::super::display::Bar;
use super::super::super::loaded_study::{LoadedStudy, Purpose};
use super::super::super::recorder::new_header;
use super::*;
use crate::tracer::{RunTracer, TraceFiles};

/// Serialises the tests: every child of this process belongs to the run in progress.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Study of a command at two CPU counts, with what its executor needs.
struct Fixture {
    _turn: MutexGuard<'static, ()>,
    dir: tempfile::TempDir,
    header: Header,
    writer: StudyWriter,
    control: Arc<Control>,
}

impl Fixture {
    fn new(line: &str) -> Self {
        Self::with(line, |_| {})
    }

    fn with(line: &str, change: impl FnOnce(&mut Plan)) -> Self {
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::tempdir().expect("a directory");
        let one: CpuSet = process::affinity(0).expect("CPUs").first().into_iter().collect();
        // Both points use one CPU, so that the test runs on any machine. They differ in an axis, so
        // that they are no values of `{n}` of which the best alone is traced.
        let point = |n: u32| Point {
            n,
            axes: [("variant".to_owned(), n.into())].into(),
            cpu_set: one.clone(),
            ..morecores_testkit::point(1)
        };
        let mut plan = morecores_testkit::plan(vec![point(1), point(2)]);
        // One round, so that a test about rounds says so.
        plan.requested_traced_runs = Some(1);
        change(&mut plan);
        let header = new_header(Command::Shell { line: line.into() }, plan, host::read());
        let writer = StudyWriter::create(&dir.path().join("study"), header.clone()).expect("a study");
        Self { _turn, dir, header, writer, control: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("study")
    }

    fn trace(
        &self,
        open: impl Fn(&TraceRequest, &Path) -> Result<RunTracer> + Send + 'static,
    ) -> TraceOutcome {
        self.trace_within(None, open)
    }

    /// Traces with a time limit for the study. The limit counts from the start of the machine's
    /// clock.
    fn trace_within(
        &self,
        time: Option<Nanos>,
        open: impl Fn(&TraceRequest, &Path) -> Result<RunTracer> + Send + 'static,
    ) -> TraceOutcome {
        let mut executor = ProcessExecutor::new(
            &self.header.subject,
            &self.header.plan,
            Input::none(),
            Arc::clone(&self.control),
        )
        .expect("an executor");
        let progress = Progress::new(
            self.header.plan.experiment(),
            PreviousRuns::default(),
            RunningResults::new(&self.header),
            Bar::hidden(),
        );
        let study = Study::read(&self.path()).expect("the study");
        let missing = missing_traces(&study, &[]).iter().map(InCell::cell).collect();
        let mut budget = Budget::new(Nanos::ZERO, time, &[], missing);
        let tracing = TracePhase {
            study: &study,
            path: &self.path(),
            timed: timed_runs(&study.runs, &study.header.plan),
            next: 10,
            open: &open,
            debug_files: None,
            control: &self.control,
            progress: &progress,
        };
        tracing.make(&mut executor, &mut budget)
    }

    fn traces(&self) -> Vec<TraceHeader> {
        Study::read(&self.path()).expect("the study").traces
    }

    /// Value of `{n}` of each trace, ascending.
    fn traced(&self) -> Vec<u32> {
        let mut found: Vec<u32> = self.traces().iter().map(|trace| trace.run.n).collect();
        found.sort_unstable();
        found
    }
}

/// Simulated tracer that sees one thread being renamed in every run.
#[derive(Clone, Copy)]
struct Pretend {
    source: TraceSource,
    lost: u64,
    refuses: bool,
    loses_all: bool,
}

impl Default for Pretend {
    fn default() -> Self {
        Self { source: TraceSource::Bpf, lost: 0, refuses: false, loses_all: false }
    }
}

struct Pretending {
    pretend: Pretend,
    files: TraceFiles,
    sink: Option<EventSink>,
}

fn example_event() -> Event {
    Event { at: Nanos(7), cpu: CpuId(0), kind: EventKind::Rename { tid: Tid(5), name: Comm::new("x") } }
}

impl Pretend {
    fn open(self) -> impl Fn(&TraceRequest, &Path) -> Result<RunTracer> + Send + 'static {
        move |wanted, study| {
            let files = TraceFiles::new(study, wanted.repetition);
            let observer = Box::new(Pretending { pretend: self, files: files.clone(), sink: None });
            let shortfall = (self.source == TraceSource::Perf).then(|| "CAP_BPF is missing".to_owned());
            Ok(RunTracer { observer, files, shortfall })
        }
    }
}

impl RunObserver for Pretending {
    type Observation = TraceFacts;

    fn on_begin(&mut self, point: &Point) -> Result<(), ObserverError> {
        let sink = self.files.begin(point)?;
        if self.pretend.refuses {
            return Err(ObserverError::new("the buffers are too large"));
        }
        assert!(self.sink.is_none(), "one run at a time");
        self.sink = Some(sink);
        Ok(())
    }

    fn on_end(&mut self) -> Result<TraceFacts, ObserverError> {
        let mut sink = self.sink.take().expect("begun");
        sink(CpuId(0), &[example_event()]).map_err(ObserverError::new)?;
        if self.pretend.loses_all {
            return Err(ObserverError::new(io::Error::from(io::ErrorKind::StorageFull)));
        }
        let lost = CpuLoss { cpu: CpuId(0), dropped: self.pretend.lost };
        Ok(TraceFacts {
            source: self.pretend.source,
            root: Tid(4),
            known: vec![],
            events: 1,
            lost: if self.pretend.lost > 0 { vec![lost] } else { vec![] },
            missed: 0,
            tracer: vec![],
            costs: vec![],
            sample_period_ns: None,
            tick_ns: Nanos::from_millis(4),
            interrupts_accounted: false,
            held_is_told: true,
            wake_latency_ns: None,
            stack_share: None,
            stacks: Default::default(),
            modules: Vec::new(),
            functions: Vec::new(),
            source_map: Default::default(),
            generated: Vec::new(),
            variables: Vec::new(),
            lock_uses: None,
            interrupts: Default::default(),
            untraced: vec![],
        })
    }
}

#[test]
fn every_count_gets_a_trace_that_is_not_a_run_of_the_study() {
    let study = Fixture::new("exit 0");
    assert_eq!(study.trace(Pretend::default().open()), TraceOutcome::default());
    assert_eq!(study.traced(), [1, 2]);
    for trace in study.traces() {
        let run = &trace.run;
        assert_eq!((run.phase, run.index, run.exit), (Phase::Traced, 9 + run.n, Exit::Code(0)));
        assert_eq!(trace.ended_ns.since(trace.began_ns), run.elapsed_ns);
        let events = read_trace_events(&study.path(), &trace).expect("events");
        assert_eq!(events.events, [example_event()]);
    }
    assert_eq!(Study::read(&study.path()).expect("a study").runs, []);
}

#[test]
fn further_rounds_trace_each_count_again() {
    let study = Fixture::with("exit 0", |plan| plan.requested_traced_runs = Some(3));
    assert_eq!(study.trace(Pretend::default().open()), TraceOutcome::default());
    let traces = study.traces();
    let made: Vec<(u32, u32)> = traces.iter().map(|trace| (trace.run.n, trace.repetition)).collect();
    assert_eq!(made, [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]);
    let mut indices: Vec<u32> = traces.iter().map(|trace| trace.run.index).collect();
    indices.sort_unstable();
    assert_eq!(indices, [10, 11, 12, 13, 14, 15]);
    let LoadedStudy { view, unread, .. } =
        LoadedStudy::read(&study.path(), Purpose::Figures).expect("a study");
    assert!(unread.is_empty());
    assert_eq!(view.traces.iter().map(|trace| (trace.n, trace.runs)).collect::<Vec<_>>(), [(1, 3), (2, 3)]);
    assert_eq!(study.trace(|_, _| panic!("opened")), TraceOutcome::default(), "nothing is missing");
}

#[test]
fn a_point_whose_first_trace_fails_is_not_traced_again() {
    let study = Fixture::with("exit $(( {n} == 1 ? 3 : 0 ))", |plan| plan.requested_traced_runs = None);
    let traced = study.trace(Pretend::default().open());
    assert_eq!(
        traced.notes,
        ["the traced run at 1 CPU, variant 1 exited with status 3: its trace is not kept"]
    );
    assert_eq!(study.traced(), [2, 2, 2]);
}

#[test]
fn long_runs_are_traced_once_unless_the_user_asks_for_more() {
    let plan = morecores_testkit::plan(Vec::new());
    assert_eq!(plan.traced_runs(Nanos::from_millis(20_000)), 3);
    assert_eq!(plan.traced_runs(Nanos::from_millis(20_001)), 1);
    let asked = Plan { requested_traced_runs: Some(2), ..plan };
    assert_eq!(asked.traced_runs(Nanos::from_millis(3_600_000)), 2);
}

/// Study of a shell line, with recorded timed runs of `elapsed` each.
fn timed(line: &str, elapsed: Nanos) -> Fixture {
    let mut study = Fixture::new(line);
    for point in study.header.plan.points.clone() {
        study.writer.append(&morecores_testkit::run(&point, elapsed)).expect("kept");
    }
    study
}

#[test]
fn a_traced_run_much_slower_than_the_timed_ones_is_repeated_twice() {
    // The command sleeps for longer than any tracer needs to start.
    for (usual, made) in [(Nanos(1), 6), (Nanos::from_millis(3_600_000), 2)] {
        let study = timed("sleep 0.02", usual);
        let opened = Arc::new(AtomicU32::new(0));
        let counting = {
            let opened = Arc::clone(&opened);
            move |wanted: &TraceRequest, study: &Path| {
                opened.fetch_add(1, Ordering::SeqCst);
                Pretend::default().open()(wanted, study)
            }
        };
        assert_eq!(study.trace(counting), TraceOutcome::default());
        assert_eq!((study.traced(), opened.load(Ordering::SeqCst)), (vec![1, 2], made));
    }
}

#[test]
fn the_fastest_attempt_is_kept_without_needless_attempts() {
    let attempts = |usual, times: &[f64]| {
        let mut attempts = Attempts { usual, best: None, left: ATTEMPTS };
        let mut kept = Vec::new();
        for seconds in times {
            kept.push(attempts.is_best(*seconds));
            if !attempts.needs_another() {
                break;
            }
        }
        kept
    };
    assert_eq!(attempts(Some(1.0), &[1.2, 1.0]), [true]);
    assert_eq!(attempts(Some(1.0), &[1.3, 1.1, 1.0]), [true, true]);
    assert_eq!(attempts(Some(1.0), &[1.5, 1.6, 1.4, 1.0]), [true, false, true]);
    assert_eq!(attempts(None, &[9.0, 1.0]), [true], "nothing to compare with");
    // The tracer alone may make a run this short half as long again. Then the slowdown is larger.
    assert_eq!(attempts(Some(0.000_6), &[0.000_9, 0.000_6]), [true]);
    assert_eq!(attempts(Some(0.004), &[0.004_9, 0.004]), [true]);
    assert_eq!(attempts(Some(0.004), &[0.005_1, 0.004]), [true, true]);
    assert_eq!(attempts(Some(0.000_6), &[0.030, 0.001_5, 0.000_6]), [true, true]);
    let mut failed = Attempts { usual: Some(1.0), best: None, left: ATTEMPTS };
    assert!(failed.give_up() && !failed.needs_another());
}

#[test]
fn a_resumed_study_makes_only_missing_traces() {
    let study = Fixture::new("exit 0");
    let opened = Arc::new(AtomicU32::new(0));
    let counting = |opened: &Arc<AtomicU32>, room: u32| {
        let opened = Arc::clone(opened);
        move |wanted: &TraceRequest, study: &Path| match opened.fetch_add(1, Ordering::SeqCst) {
            before if before < room => Pretend::default().open()(wanted, study),
            _ => bail!("no more"),
        }
    };
    let first = study.trace(counting(&opened, 1));
    assert_eq!(first.notes, ["not traced from 1 CPU on: no more"]);
    assert_eq!((study.traced(), opened.load(Ordering::SeqCst)), (vec![1], 2));
    assert_eq!(study.trace(counting(&opened, 9)), TraceOutcome::default());
    assert_eq!((study.traced(), opened.load(Ordering::SeqCst)), (vec![1, 2], 3));
    assert_eq!(
        study.trace(counting(&opened, 0)),
        TraceOutcome::default(),
        "nothing is missing, nothing is opened"
    );
}

#[test]
fn nothing_is_traced_if_the_user_turned_tracing_off() {
    let study = Fixture::with("exit 0", |plan| plan.trace = TraceMode::Off);
    assert_eq!(study.trace(|_, _| panic!("opened")), TraceOutcome::default());
    assert!(study.traced().is_empty());
}

#[test]
fn a_traced_run_that_fails_or_takes_too_long_loses_only_its_own_trace() {
    let study = Fixture::new("exit $(( {n} == 1 ? 3 : 0 ))");
    let traced = study.trace(Pretend::default().open());
    assert_eq!(
        traced.notes,
        ["the traced run at 1 CPU, variant 1 exited with status 3: its trace is not kept"]
    );
    assert!(!traced.interrupted);
    assert_eq!(study.traced(), [2]);
}

#[test]
fn a_tracer_that_fails_at_any_step_gives_one_line_and_leaves_nothing_behind() {
    let study = Fixture::new("exit 0");
    let refusing = Pretend { refuses: true, ..Pretend::default() };
    let losing = Pretend { loses_all: true, ..Pretend::default() };
    let refused = study.trace(refusing.open());
    assert_eq!(refused.notes, ["not traced: the buffers are too large"]);
    let lost = study.trace(losing.open());
    assert_eq!(lost.notes.len(), 1);
    assert!(lost.notes[0].starts_with("not traced: "), "{lost:?}");
    let closed = study.trace(|_, _| bail!("tracing needs root"));
    assert_eq!(closed.notes, ["not traced: tracing needs root"]);
    assert!(study.traced().is_empty());
    let left = std::fs::read_dir(study.path().join("traces")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files of traces that were not finished");
}

#[test]
fn limits_of_a_trace_are_reported_once() {
    let study = Fixture::new("exit 0");
    let traced = study.trace(Pretend { source: TraceSource::Perf, ..Pretend::default() }.open());
    assert_eq!(traced.notes.len(), 1, "{traced:?}");
    assert!(traced.notes[0].ends_with("not why they waited: CAP_BPF is missing"), "{traced:?}");
    assert_eq!(study.traced(), [1, 2]);
}

#[test]
fn a_lossy_trace_is_kept_with_its_losses() {
    let study = Fixture::new("exit 0");
    assert_eq!(study.trace(Pretend { lost: 41, ..Pretend::default() }.open()), TraceOutcome::default());
    assert_eq!(study.traced(), [1, 2]);
    assert!(study.traces().iter().all(|trace| trace.facts.lost[0].dropped == 41));
    let LoadedStudy { view, unread, .. } =
        LoadedStudy::read(&study.path(), Purpose::Figures).expect("a study");
    assert!(unread.is_empty() && view.traces.iter().all(|trace| trace.lost_events == 41));
    assert!(view.warnings.iter().any(|warning| matches!(warning, Warning::LossyTrace { .. })));
}

#[test]
fn a_damaged_trace_loses_only_itself() {
    let study = Fixture::new("exit 0");
    study.trace(Pretend::default().open());
    let events = trace_events_path(&study.path(), &study.header.plan.points[0].cell(), 0);
    std::fs::write(&events, "no stream").expect("written");
    let LoadedStudy { view, unread, .. } =
        LoadedStudy::read(&study.path(), Purpose::Figures).expect("a study");
    assert_eq!(view.traces.iter().map(|trace| trace.n).collect::<Vec<_>>(), [2]);
    assert_eq!(unread.len(), 1);
    let name = events.file_name().expect("a name").to_string_lossy();
    assert!(unread[0].contains(&*name) && unread[0].contains("without this trace"), "{unread:?}");
}

#[test]
fn a_stop_request_ends_tracing_between_runs_and_during_one() {
    let study = Fixture::new("exit 0");
    study.control.interrupt(Signal::TERM);
    let traced = study.trace(|_, _| panic!("opened"));
    assert_eq!(traced, TraceOutcome { notes: vec![], interrupted: true, out_of_time: false });
    drop(study);

    // The command may die of the signal, or take it as a request to end and end well.
    stopped_in_a_run("sleep 60");
    stopped_in_a_run("trap 'exit 0' TERM; while :; do sleep 0.01; done");
}

fn stopped_in_a_run(line: &str) {
    let study = Fixture::new(line);
    let control = Arc::clone(&study.control);
    let stopper = std::thread::spawn(move || {
        while control.running_for().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        while !control.is_interrupted() || control.running_for().is_some() {
            control.interrupt(Signal::TERM);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let traced = study.trace(Pretend::default().open());
    stopper.join().expect("the stopper");
    assert_eq!(traced, TraceOutcome { notes: vec![], interrupted: true, out_of_time: false });
    assert!(study.traced().is_empty());
}

#[test]
fn without_remaining_time_nothing_is_traced_and_a_message_says_so() {
    let fixture = Fixture::new("true");
    let traced = fixture.trace_within(Some(Nanos(1)), Pretend::default().open());
    assert!(traced.out_of_time && !traced.interrupted);
    assert_eq!(
        traced.notes,
        ["not traced, because the time was too short: 1 CPU, variant 1; 1 CPU, n = 2, variant 2"]
    );
    assert_eq!(fixture.traces(), []);
}
