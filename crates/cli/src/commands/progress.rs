//! How far a sweep has come, shown on a terminal while it goes on; nothing of it in a pipe.
//!
//! The measuring thread only stores what it is about to do; drawing is done by the watching thread, at most a few
//! times a second, so that the display does not disturb what is measured.

mod so_far;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use morecores_experiment::executor::{Outcome, Trial};
use morecores_record::{Header, Phase, Run};
use morecores_report::cpus;

use super::display::{Bar, Display, duration};
use so_far::SoFar;

/// The state of a sweep.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Bar,
    points: usize,
    warmup: u32,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Clone, Debug)]
struct State {
    /// Rounds that the sweep will probably take.
    rounds: usize,
    /// Runs of this session that have begun.
    begun: u64,
    trial: Option<Trial>,
    so_far: SoFar,
}

impl Progress {
    /// Shows a bar where standard error is a terminal and `quiet` was not asked for.
    pub(super) fn new(header: &Header, quiet: bool) -> Self {
        let stop = &header.plan.stop;
        let rounds = if stop.precision.is_some() { stop.min_runs } else { stop.max_runs };
        Self {
            bar: Bar::new(quiet),
            points: header.plan.points.len(),
            warmup: header.plan.warmup,
            began: Instant::now(),
            state: Mutex::new(State {
                rounds: rounds as usize,
                begun: 0,
                trial: None,
                so_far: SoFar::new(header),
            }),
        }
    }

    /// A run is about to begin.
    pub(super) fn begins(&self, trial: &Trial) {
        if self.bar.is_shown() {
            self.with(|state| {
                state.begun += 1;
                state.trial = Some(trial.clone());
            });
        }
    }

    /// Counts the runs that a study has already.
    pub(super) fn resumes(&self, runs: &[Run]) {
        if self.bar.is_shown() {
            self.with(|state| runs.iter().for_each(|run| state.so_far.count(run)));
        }
    }

    /// A run has ended.
    pub(super) fn ended(&self, outcome: &Outcome) {
        if self.bar.is_shown() {
            self.with(|state| {
                state.so_far.count(&outcome.run);
                outcome.neighbours.iter().for_each(|neighbours| state.so_far.look(neighbours));
            });
        }
    }

    /// A line for the user, above the display.
    pub(super) fn say(&self, text: &str) {
        self.bar.say(text);
    }

    /// The stopping rule has a guess.
    pub(super) fn expect_rounds(&self, rounds: usize) {
        self.with(|state| state.rounds = rounds);
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // A panic elsewhere cannot leave a count half-changed.
        change(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn words(&self, state: &State, elapsed: Duration) -> String {
        let Some(trial) = &state.trial else { return "getting ready".to_owned() };
        let cpus = cpus(trial.point.cpus);
        let so_far = duration(elapsed);
        let round = match trial.phase {
            Phase::Traced => return format!("tracing {cpus} · {so_far} so far"),
            Phase::Warmup => format!("warm-up {} of {}", trial.round + 1, self.warmup),
            Phase::Timed => format!("round {} of about {}", trial.round + 1, state.rounds.max(1)),
        };
        // What is at the end is cut off where the terminal is narrow.
        let parts = [
            Some(round),
            state.so_far.answer().map(|answer| format!("{answer} so far")),
            state.so_far.disturbance(),
            self.left(state, trial, elapsed).map(|left| format!("about {} left", duration(left))),
            Some(format!("{so_far} so far")),
            Some(cpus),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// The time left, from the mean time of the runs so far; none before the first round is complete.
    fn left(&self, state: &State, trial: &Trial, elapsed: Duration) -> Option<Duration> {
        let done = state.begun.checked_sub(1).filter(|done| *done >= self.points as u64)?;
        let rounds = state.rounds.saturating_sub(trial.round as usize) as u64;
        let warmups = if trial.phase == Phase::Warmup { u64::from(self.warmup - trial.round) } else { 0 };
        let rounds = if trial.phase == Phase::Warmup { state.rounds as u64 + warmups } else { rounds };
        let in_round = done % self.points as u64;
        let runs = (rounds * self.points as u64).saturating_sub(in_round);
        Some(elapsed.mul_f64(runs as f64 / done as f64))
    }
}

impl Display for Progress {
    fn is_shown(&self) -> bool {
        self.bar.is_shown()
    }

    fn draw(&self) {
        self.bar.show(|| self.words(&self.with(|state| state.clone()), self.began.elapsed()));
    }

    fn clear(&self) {
        self.bar.clear();
    }
}
