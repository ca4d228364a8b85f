//! Watches over the measuring thread: signals, time limits, the progress display.
//!
//! The watching thread sleeps until one of them needs it: a thread that wakes up takes a CPU from
//! the measured command.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use morecores_machine::clock::monotonic;
use morecores_measure::control::{Control, GRACE};
use morecores_measure::sweep::SweepContext;
use morecores_study::Nanos;
use rustix::process::Signal;

use super::display::{DRAW_EVERY, Display};
use super::signals::{EndAfterMeasuring, SignalListener};

/// Result of the measuring thread, and the signal that ended it, if any.
#[derive(Debug)]
pub(super) struct WatchedResult<T> {
    pub(super) result: Result<T>,
    pub(super) signal: Option<i32>,
}

/// Clock and stop request, as the sweep queries them.
#[derive(Debug)]
pub(super) struct Clock<'a>(pub(super) &'a Control);

impl SweepContext for Clock<'_> {
    fn now(&self) -> Nanos {
        monotonic()
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    fn is_out_of_time(&self) -> bool {
        self.0.is_out_of_time()
    }
}

/// Longest sleep if nothing is due. An event ends the sleep early.
const NOTHING_DUE: Duration = Duration::from_secs(3_600);

enum Event<T> {
    Signal(i32),
    Done(thread::Result<Result<T>>),
}

impl<T> Event<T> {
    fn signal(&self) -> Option<i32> {
        match self {
            Self::Signal(signal) => Some(*signal),
            Self::Done(_) => None,
        }
    }
}

/// Time limits to watch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// Limit of each run.
    pub(super) run: Option<Nanos>,
    /// Instant of the monotonic clock at which the study ends.
    pub(super) end: Option<Nanos>,
}

/// Runs `measure` on a separate thread and watches until it ends. A panic of that thread becomes an
/// error, after the thread has restored the system. A signal after a successful measurement ends
/// the process by `after`.
pub(super) fn run_watched<T: Send + 'static, D: Display + 'static>(
    limits: Limits,
    control: Arc<Control>,
    progress: D,
    after: &EndAfterMeasuring,
    measure: impl FnOnce(&Arc<Control>, &D) -> Result<T> + Send + 'static,
) -> Result<WatchedResult<T>> {
    let (send, events) = mpsc::channel();
    let from_signals = send.clone();
    let listener = SignalListener::start(move |signal| {
        // Sending fails after a panic of the watching thread: the process is about to end.
        let _ = from_signals.send(Event::Signal(signal));
    })?;
    let progress = Arc::new(progress);
    let (shared_control, shared_progress) = (Arc::clone(&control), Arc::clone(&progress));
    thread::spawn(move || {
        let measure = || measure(&shared_control, &shared_progress);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(measure));
        let _ = send.send(Event::Done(result));
    });
    let watched =
        Watcher { limits, control, progress, signal: None, kill_at: None, timed_out: None }.watch(&events)?;
    if watched.result.is_ok() {
        let end = after.clone();
        listener.on_signal(move |signal| end.end(signal));
        // A signal may have come between the end of the measurement and the new response.
        if let Some(signal) = events.try_iter().find_map(|event| event.signal()) {
            after.end(signal);
        }
    }
    Ok(watched)
}

struct Watcher {
    limits: Limits,
    control: Arc<Control>,
    progress: Arc<dyn Display>,
    signal: Option<i32>,
    /// Instant at which the command is killed instead of asked to end.
    kill_at: Option<Instant>,
    /// Instant at which the run in progress was asked to end because of its time limit.
    timed_out: Option<Instant>,
}

impl Watcher {
    fn watch<T>(mut self, events: &Receiver<Event<T>>) -> Result<WatchedResult<T>> {
        loop {
            match events.recv_timeout(self.sleep()) {
                Ok(Event::Signal(signal)) => self.interrupt(signal),
                Ok(Event::Done(result)) => {
                    self.progress.clear();
                    let result = result.unwrap_or_else(|panic| Err(panic_error(panic.as_ref())));
                    return Ok(WatchedResult { result, signal: self.signal });
                }
                Err(RecvTimeoutError::Timeout) => self.tick(),
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the measuring thread has gone"),
            }
        }
    }

    /// Time until the next action that is due, unless an event comes first.
    fn sleep(&self) -> Duration {
        let until_kill = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        let draw = self.progress.is_shown().then_some(DRAW_EVERY);
        // Between runs the next deadline is at least a whole time limit away.
        let deadline =
            self.limit().map(|limit| limit.since(self.control.running_for().unwrap_or(Nanos::ZERO)).into());
        // A late run has been asked to end. The watcher polls it until it has ended.
        let deadline = deadline.map(|left: Duration| left.max(Duration::from_millis(10)));
        let end = self.limits.end.filter(|_| !self.control.is_out_of_time());
        let until_end = end.map(|end| end.since(monotonic()).into());
        [until_kill, draw, deadline, until_end].into_iter().flatten().fold(NOTHING_DUE, Duration::min)
    }

    /// The shorter of the user's time limit and that of the current runs.
    fn limit(&self) -> Option<Nanos> {
        [self.limits.run, self.control.limit()].into_iter().flatten().min()
    }

    /// Handles a signal. The first one is forwarded to the command; the second one kills the
    /// command.
    fn interrupt(&mut self, signal: i32) {
        let again = self.signal.replace(signal).is_some();
        if again {
            self.control.kill_in_progress();
            return;
        }
        self.control.interrupt(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        self.kill_at = Some(Instant::now() + Duration::from(GRACE));
    }

    fn tick(&mut self) {
        self.progress.draw();
        if self.limits.end.is_some_and(|end| end <= monotonic()) && !self.control.is_out_of_time() {
            self.control.run_out_of_time();
            self.kill_at.get_or_insert(Instant::now() + Duration::from(GRACE));
        }
        if self.kill_at.is_some_and(|at| at <= Instant::now()) {
            self.control.kill_unless_cleaning_up();
            // A hook may have started another process in between.
            self.kill_at = Some(Instant::now() + Duration::from(GRACE));
        }
        let Some(limit) = self.limit() else { return };
        let late = self.control.running_for().is_some_and(|time| time >= limit);
        match self.timed_out {
            None if late => {
                self.control.time_out();
                self.timed_out = Some(Instant::now());
            }
            Some(requested_at) if late && requested_at.elapsed() >= Duration::from(GRACE) => {
                self.control.kill_if_late(limit);
            }
            Some(_) if !late => self.timed_out = None,
            _ => {}
        }
    }
}

fn panic_error(panic: &(dyn std::any::Any + Send)) -> anyhow::Error {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    anyhow::anyhow!("internal error: {}; please report it", words.unwrap_or("panic"))
}
