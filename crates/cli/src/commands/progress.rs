//! Progress of a sweep, shown on a terminal while the sweep runs, and never in a pipe.
//!
//! The measuring thread only stores what it is about to do. The watching thread draws at most a few
//! times a second, so that the display does not disturb the measurement.

mod left;
mod so_far;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use morecores_measure::budget::Costs;
use morecores_measure::executor::{Outcome, Trial};
use morecores_report::cpus;
use morecores_statistics::StoppingRule;
use morecores_study::{Header, Nanos, Phase, Plan, Point, Run};

use super::display::{Bar, Display, duration};
use left::Outlook;
use so_far::SoFar;

/// Largest ratio of the upper to the lower end of a range of time that is shown as one figure.
const ONE_FIGURE: f64 = 4.0 / 3.0;

/// State of a sweep.
#[derive(Debug)]
pub(super) struct Progress {
    bar: Bar,
    plan: Plan,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Clone, Debug)]
struct State {
    trial: Option<Trial>,
    /// Instant at which the trial began.
    trial_began: Instant,
    costs: Costs,
    /// Points still to be traced.
    traces: Vec<Point>,
    so_far: SoFar,
}

impl Progress {
    /// Shows a bar, which is visible if standard error is a terminal and `quiet` is false.
    pub(super) fn new(header: &Header, quiet: bool) -> Self {
        Self {
            bar: Bar::new(quiet),
            plan: header.plan.clone(),
            began: Instant::now(),
            state: Mutex::new(State {
                trial: None,
                trial_began: Instant::now(),
                costs: Costs::default(),
                traces: Vec::new(),
                so_far: SoFar::new(header),
            }),
        }
    }

    /// Records that a run is about to begin.
    pub(super) fn begins(&self, trial: &Trial) {
        if self.bar.is_shown() {
            self.with(|state| {
                state.trial = Some(trial.clone());
                state.trial_began = Instant::now();
                if trial.phase == Phase::Traced {
                    state.traces.retain(|point| (point.cpus, point.n) != (trial.point.cpus, trial.point.n));
                }
            });
        }
    }

    /// Counts the runs that a study already has, and sets the points to be traced at its end.
    pub(super) fn resumes(&self, runs: &[Run], traces: Vec<Point>) {
        if self.bar.is_shown() {
            self.with(|state| {
                runs.iter().for_each(|run| state.so_far.count(run));
                state.costs = Costs::of_runs(runs.iter().filter(|run| run.counts(&self.plan)));
                state.traces = traces;
            });
        }
    }

    /// Records that a run has ended.
    pub(super) fn ended(&self, outcome: &Outcome) {
        if self.bar.is_shown() {
            self.with(|state| {
                let run = &outcome.run;
                state.so_far.count(run);
                if run.counts(&self.plan) {
                    state.costs.add(run.phase, run.cpus, state.trial_began.elapsed().into());
                }
                outcome.neighbours.iter().for_each(|neighbours| state.so_far.look(neighbours));
            });
        }
    }

    /// Prints a message for the user above the display.
    pub(super) fn say(&self, text: &str) {
        self.bar.say(text);
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // A panic elsewhere cannot leave a count half-changed.
        change(&mut self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn words(&self, state: &State, elapsed: Duration) -> String {
        let Some(trial) = &state.trial else { return "getting ready".to_owned() };
        let cpus = cpus(trial.point.cpus);
        let so_far = duration(elapsed);
        let rounds = self.rounds(state);
        let left =
            self.left(state, trial, rounds.clone(), elapsed).map(|left| format!("{} left", range(&left)));
        let round = match trial.phase {
            Phase::Traced if trial.round > 0 => format!("tracing {cpus} again, since that run was slow"),
            Phase::Traced => format!("tracing {cpus}"),
            Phase::Warmup => format!("warm-up {} of {}", trial.round + 1, self.plan.warmup),
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
            state.so_far.answer().map(|answer| format!("{answer} so far")),
            left,
            state.so_far.disturbance(),
            Some(format!("{so_far} so far")),
            Some(cpus),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Expected number of timed rounds of the sweep.
    fn rounds(&self, state: &State) -> RangeInclusive<usize> {
        let stop = &self.plan.stop;
        let all = stop.max_runs as usize;
        let samples = state.so_far.samples();
        let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        StoppingRule::from_stop(stop).map_or(all..=all, |rule| rule.expected_rounds(&samples))
    }

    /// Time left; none before the first run has ended.
    fn left(
        &self,
        state: &State,
        trial: &Trial,
        rounds: RangeInclusive<usize>,
        elapsed: Duration,
    ) -> Option<RangeInclusive<Duration>> {
        let outlook = Outlook {
            plan: &self.plan,
            costs: &state.costs,
            trial,
            running: state.trial_began.elapsed().into(),
            rounds,
            traces: &state.traces,
            budget: self.plan.stop.time().map(|time| time.since(Nanos::from(elapsed))),
        };
        let left = outlook.time_left()?;
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
