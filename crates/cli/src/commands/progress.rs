//! Progress of a sweep of any subject, shown on a terminal while the sweep runs, and never in a
//! pipe.
//!
//! The measuring thread only stores what it is about to do. The watching thread draws at most a few
//! times a second, so that the display does not disturb the measurement.

mod running_results;
#[cfg(test)]
mod tests;
mod time_left;

use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use morecores_measure::budget::Costs;
use morecores_measure::sweep::{PreviousRuns, Trial};
use morecores_study::{Cell, Experiment, InCell, Nanos, Phase};

use super::display::{Bar, Display, duration};
pub(super) use running_results::RunningResults;
use time_left::TimeEstimate;

/// Largest ratio of the upper to the lower end of a range of time that is shown as one figure.
const ONE_FIGURE: f64 = 4.0 / 3.0;

/// Part of the progress line that depends on the subject of the study.
pub(super) trait ProgressText: Clone + Debug + Send {
    /// Planned cell of the subject.
    type Cell: InCell + Clone + Debug + Send + Sync;
    /// Finished run of the subject.
    type Outcome;

    /// Name of a cell for people.
    fn cell_name(&self, cell: &Self::Cell) -> String;

    /// Counts a finished run and returns whether it was successful.
    fn count(&mut self, outcome: &Self::Outcome) -> bool;

    /// Expected number of timed rounds of the sweep: minimum and maximum. `None` if the plan alone
    /// decides.
    fn expected_rounds(&self) -> Option<RangeInclusive<usize>> {
        None
    }

    /// Answer to the study's question so far.
    fn headline(&self) -> Option<String> {
        None
    }

    /// Precision of the answer so far, and the goal.
    fn precision(&self) -> Option<String> {
        None
    }

    /// Disturbance of the measurement at present.
    fn disturbance(&self) -> Option<String> {
        None
    }
}

/// State of a sweep.
#[derive(Debug)]
pub(super) struct Progress<N: ProgressText> {
    bar: Bar,
    experiment: Experiment<N::Cell>,
    /// Runs of earlier sessions.
    earlier: PreviousRuns,
    began: Instant,
    state: Mutex<State<N>>,
}

#[derive(Clone, Debug)]
struct State<N: ProgressText> {
    trial: Option<Trial<N::Cell>>,
    /// Instant at which the trial began.
    trial_began: Instant,
    costs: Costs,
    /// Cells still to be traced.
    traces: Vec<Cell>,
    text: N,
}

impl<N: ProgressText> Progress<N> {
    /// State before the first run of a sweep, shown in `bar`.
    pub(super) fn new(experiment: Experiment<N::Cell>, earlier: PreviousRuns, text: N, bar: Bar) -> Self {
        Self {
            bar,
            experiment,
            earlier,
            began: Instant::now(),
            state: Mutex::new(State {
                trial: None,
                trial_began: Instant::now(),
                costs: Costs::default(),
                traces: Vec::new(),
                text,
            }),
        }
    }

    /// Records that a run is about to begin.
    pub(super) fn on_begin(&self, trial: &Trial<N::Cell>) {
        if self.bar.is_shown() {
            self.with_state(|state| {
                state.trial = Some(trial.clone());
                state.trial_began = Instant::now();
                // A repeated attempt is not a further trace.
                if trial.phase == Phase::Traced && trial.round == 0 {
                    let cell = trial.cell.cell();
                    let position = state.traces.iter().position(|other| *other == cell);
                    position.map(|at| state.traces.remove(at));
                }
            });
        }
    }

    /// Sets what is known at the start: the costs of runs, the cells to be traced at the end, and
    /// the runs that a study already has, which `count` tells the text.
    pub(super) fn set_start(&self, costs: Costs, traces: Vec<Cell>, count: impl FnOnce(&mut N)) {
        if self.bar.is_shown() {
            self.with_state(|state| {
                count(&mut state.text);
                (state.costs, state.traces) = (costs, traces);
            });
        }
    }

    /// Sets the cells to be traced, one entry for each traced run.
    pub(super) fn set_traces(&self, traces: Vec<Cell>) {
        if self.bar.is_shown() {
            self.with_state(|state| state.traces = traces);
        }
    }

    /// Records that a run has ended.
    pub(super) fn on_end(&self, outcome: &N::Outcome) {
        if self.bar.is_shown() {
            self.with_state(|state| {
                let counts = state.text.count(outcome);
                if let Some(trial) = state.trial.as_ref().filter(|_| counts) {
                    state.costs.add(trial.phase, &trial.cell.cell(), state.trial_began.elapsed().into());
                }
            });
        }
    }

    /// Prints a message for the user above the display.
    pub(super) fn print_note(&self, text: &str) {
        self.bar.print_note(text);
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State<N>) -> T) -> T {
        // A panic elsewhere cannot leave a count half-changed.
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn words(&self, state: &State<N>, elapsed: Duration) -> String {
        let Some(trial) = &state.trial else { return "getting ready".to_owned() };
        let cell = state.text.cell_name(&trial.cell);
        let so_far = duration(elapsed);
        let all = self.experiment.schedule.stop.max_runs as usize;
        let rounds = state.text.expected_rounds().unwrap_or(all..=all);
        let left = self
            .time_left(state, trial, rounds.clone(), elapsed)
            .map(|left| format!("{} left", range(&left)));
        let round = match trial.phase {
            Phase::Traced if trial.round > 0 => format!("tracing {cell} again, since that run was slow"),
            Phase::Traced => format!("tracing {cell}"),
            Phase::Warmup => format!("warm-up {} of {}", trial.round + 1, self.experiment.schedule.warmup),
            Phase::Timed => {
                let most = if rounds.start() == rounds.end() {
                    String::new()
                } else {
                    format!(" to {}", rounds.end())
                };
                format!("round {} of {}{most}", trial.round + 1, rounds.start())
            }
        };
        if trial.phase == Phase::Traced {
            let parts = [Some(round), left, Some(format!("{so_far} so far"))];
            return parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        }
        // A narrow terminal cuts the end off, so the parts are in order of importance.
        let parts = [
            Some(round),
            state.text.headline().map(|headline| format!("{headline} so far")),
            state.text.precision(),
            left,
            state.text.disturbance(),
            Some(format!("{so_far} so far")),
            Some(cell),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Time left; none before the first run has ended.
    fn time_left(
        &self,
        state: &State<N>,
        trial: &Trial<N::Cell>,
        rounds: RangeInclusive<usize>,
        elapsed: Duration,
    ) -> Option<RangeInclusive<Duration>> {
        let estimate = TimeEstimate {
            experiment: &self.experiment,
            earlier: &self.earlier,
            costs: &state.costs,
            trial,
            running: state.trial_began.elapsed().into(),
            rounds,
            traces: &state.traces,
            budget: self.experiment.schedule.stop.time().map(|time| time.since(Nanos::from(elapsed))),
        };
        let left = estimate.time_left()?;
        Some(Duration::from(*left.start())..=Duration::from(*left.end()))
    }
}

/// Time left in words: `about 2 min 05 s`, or `20 s to 3 min 10 s` if the ends are far apart.
fn range(left: &RangeInclusive<Duration>) -> String {
    let (least, most) = (*left.start(), *left.end());
    if most <= least.mul_f64(ONE_FIGURE) {
        format!("about {}", duration((least + most) / 2))
    } else {
        format!("{} to {}", duration(least), duration(most))
    }
}

impl<N: ProgressText> Display for Progress<N> {
    fn is_shown(&self) -> bool {
        self.bar.is_shown()
    }

    fn draw(&self) {
        self.bar.show(|| self.words(&self.with_state(|state| state.clone()), self.began.elapsed()));
    }

    fn clear(&self) {
        self.bar.clear();
    }
}
