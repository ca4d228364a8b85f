//! How far a sweep has come, shown on a terminal while it goes on; nothing of it in a pipe.
//!
//! The measuring thread only stores what it is about to do; drawing is done by the watching thread, at most a few
//! times a second, so that the display does not disturb what is measured.

use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use morecores_experiment::executor::Trial;
use morecores_record::{Header, Phase};
use morecores_report::cpus;

/// How often the display is drawn: a wake-up of some 50 µs of CPU time each.
pub(super) const DRAW_EVERY: Duration = Duration::from_millis(500);

/// The state of a sweep.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
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
}

impl Progress {
    /// Shows a bar where standard error is a terminal and `quiet` was not asked for.
    pub(super) fn new(header: &Header, quiet: bool) -> Self {
        let stop = &header.plan.stop;
        let rounds = if stop.precision.is_some() { stop.min_runs } else { stop.max_runs };
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Self {
            bar,
            quiet,
            points: header.plan.points.len(),
            warmup: header.plan.warmup,
            began: Instant::now(),
            state: Mutex::new(State { rounds: rounds as usize, begun: 0, trial: None }),
        }
    }

    /// Whether anything is shown.
    pub(super) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// A run is about to begin.
    pub(super) fn begins(&self, trial: &Trial) {
        if self.bar.is_some() {
            self.with(|state| {
                state.begun += 1;
                state.trial = Some(trial.clone());
            });
        }
    }

    /// A line for the user, above the display.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::terminal::note(text)),
            None if !self.quiet => crate::terminal::note(text),
            None => {}
        }
    }

    /// The stopping rule has a guess.
    pub(super) fn expect_rounds(&self, rounds: usize) {
        self.with(|state| state.rounds = rounds);
    }

    /// Draws the present state.
    pub(super) fn draw(&self) {
        if let Some(bar) = &self.bar {
            let state = self.with(|state| state.clone());
            bar.set_message(self.words(&state, self.began.elapsed()));
            bar.tick();
        }
    }

    /// Takes the display away.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
        let left = self.left(state, trial, elapsed).map(|left| format!(" · about {} left", duration(left)));
        format!("{round} · {cpus} · {so_far} so far{}", left.unwrap_or_default())
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

/// `5 s`, `2 min 05 s`, `1 h 20 min`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_a_waiting_person_needs() {
        let words = |s| duration(Duration::from_secs(s));
        assert_eq!([words(5), words(125), words(4_800)], ["5 s", "2 min 05 s", "1 h 20 min"]);
    }
}
