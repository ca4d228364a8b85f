//! Loop over rounds: orders the cells, passes each run to the recorder, and ends or leaves cells
//! out when the rule of its caller says so.
//!
//! The loop knows neither processes nor files nor statistics, and nothing of a subject but its
//! cells. All of these are passed in, so that tests of the loop need none of them. The loop
//! continues after the runs that were already made.

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::{Cell, Experiment, InCell, Nanos, OnFailure, Phase, RoundValue, RunRecord, StopReason};

use crate::budget::Budget;
use crate::schedule::{Stream, round_order};

/// A run to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial<C> {
    /// Position of the run in the study.
    pub index: u32,
    /// Round of the run.
    pub round: u32,
    /// Phase, which decides whether the run counts.
    pub phase: Phase,
    /// Cell of the run.
    pub cell: C,
}

/// Makes runs. A trait, so that the sweep can be tested without running anything.
pub trait Executor<C> {
    /// Finished run.
    type Outcome;
    /// Reason for which a run could not be made.
    type Error;

    /// Makes one run.
    ///
    /// # Errors
    /// The run could not be made.
    fn execute(&mut self, trial: &Trial<C>) -> Result<Self::Outcome, Self::Error>;

    /// Value of a run, which the stopping rule examines; `None` if the run failed.
    fn value(&self, outcome: &Self::Outcome) -> Option<f64>;

    /// Returns whether others took so much CPU time around the run that it decides nothing.
    fn is_disturbed(&self, _outcome: &Self::Outcome) -> bool {
        false
    }

    /// Returns whether an error concerns the cell of the run alone, so that other cells can still
    /// be measured.
    fn concerns_one_cell(&self, _error: &Self::Error) -> bool {
        false
    }

    /// Returns whether the first run left next to nothing to do for the later runs. The sweep asks
    /// after the first timed round.
    fn is_already_done(&self) -> bool {
        false
    }
}

/// Receives each run when it ends.
pub trait RunRecorder<C, O> {
    /// Error of keeping a run.
    type Error;

    /// Notes the start of a run.
    fn on_begin(&mut self, trial: &Trial<C>);

    /// Keeps a run that has ended, before the next one begins.
    ///
    /// # Errors
    /// The run cannot be kept; the sweep ends.
    fn on_end(&mut self, outcome: &O) -> Result<(), Self::Error>;
}

/// Timed rounds so far, as a [`RoundsRule`] examines them.
#[derive(Clone, Copy, Debug)]
pub struct TimedRounds<'a> {
    /// Number of rounds made.
    pub made: u32,
    /// Values of the successful timed runs for each cell of the experiment, in the order of the
    /// runs, with their rounds.
    pub samples: &'a [Vec<RoundValue>],
    /// Rounds with a disturbed run.
    pub disturbed: &'a BTreeSet<u32>,
}

/// Decision after a timed round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterRound {
    /// The sweep ends, for this reason.
    End(StopReason),
    /// There is another round, without the cells at these positions of the experiment.
    Continue {
        /// Positions that the next round leaves out.
        without: BTreeSet<usize>,
    },
}

impl AfterRound {
    /// Another round of all cells.
    pub fn all() -> Self {
        Self::Continue { without: BTreeSet::new() }
    }
}

/// Rule that decides after each timed round whether the sweep ends, and which cells the next round
/// has. The decision follows from the rounds made, so that a resumed sweep repeats it.
pub type RoundsRule<'a> = dyn FnMut(&TimedRounds<'_>) -> AfterRound + 'a;

/// Rule that ends a sweep after the largest number of runs of its experiment.
pub fn after_all_runs<C>(experiment: &Experiment<C>) -> impl FnMut(&TimedRounds<'_>) -> AfterRound + use<C> {
    let most = experiment.schedule.stop.max_runs;
    move |rounds| match rounds.made >= most {
        true => AfterRound::End(StopReason::RunsExhausted),
        false => AfterRound::all(),
    }
}

/// Clock, and requests to stop.
pub trait SweepContext {
    /// Reads the monotonic clock.
    fn now(&self) -> Nanos;

    /// Whether the user asked to stop.
    fn is_interrupted(&self) -> bool;

    /// Whether the time for all runs is used up, so that the run in progress was ended.
    fn is_out_of_time(&self) -> bool {
        false
    }
}

/// Reason for which a sweep could not continue.
#[derive(Debug)]
pub enum SweepError<E, K> {
    /// A run could not be made.
    Execute(E),
    /// A run could not be kept.
    Record(K),
}

/// End of a sweep by an executor `X` over cells `C`.
pub type FinishBy<X, C> = Finish<C, <X as Executor<C>>::Outcome, <X as Executor<C>>::Error>;

/// Result of a sweep over cells `C` by an executor `X` and a recorder `K`.
pub type SweepResult<T, C, X, K> = Result<
    T,
    SweepError<<X as Executor<C>>::Error, <K as RunRecorder<C, <X as Executor<C>>::Outcome>>::Error>,
>;

impl<E, K> SweepError<E, K> {
    /// The error itself, in a type that holds both.
    pub fn into_inner<T: From<E> + From<K>>(self) -> T {
        match self {
            Self::Execute(error) => error.into(),
            Self::Record(error) => error.into(),
        }
    }
}

/// End of a sweep.
#[derive(Debug)]
pub struct Finish<C, O, E> {
    /// Reason for the end.
    pub reason: StopReason,
    /// Failed run, if one ended the sweep.
    pub failed: Option<O>,
    /// Cells that were left out after a failure, each tried once.
    pub left_out: Vec<(C, E)>,
}

/// Runs of earlier sessions, as the sweep examines them.
#[derive(Clone, Debug, Default)]
pub struct PreviousRuns {
    count: u32,
    done: BTreeSet<(Phase, u32, Cell)>,
    /// Values of the successful timed runs of each cell of the experiment.
    samples: Vec<Vec<RoundValue>>,
    /// Timed rounds with a disturbed run.
    disturbed: BTreeSet<u32>,
}

impl PreviousRuns {
    /// Examines the runs of a study; `counts` decides whether a run was successful.
    pub fn new<C: InCell, R: RunRecord>(
        experiment: &Experiment<C>,
        runs: &[R],
        counts: impl Fn(&R) -> bool,
    ) -> Self {
        let disturbed = runs.iter().filter(|run| run.phase() == Phase::Timed && run.is_disturbed());
        let mut earlier = Self {
            count: runs.len() as u32,
            disturbed: disturbed.map(RunRecord::round).collect(),
            done: runs.iter().map(|run| (run.phase(), run.round(), run.cell())).collect(),
            samples: vec![Vec::new(); experiment.cells.len()],
        };
        let positions = experiment.cells.iter().enumerate();
        let positions: BTreeMap<Cell, usize> = positions.map(|(at, cell)| (cell.cell.cell(), at)).collect();
        for run in runs.iter().filter(|run| run.phase() == Phase::Timed && counts(run)) {
            if let Some(position) = positions.get(&run.cell()) {
                earlier.samples[*position].push(run.round_value());
            }
        }
        earlier
    }

    /// Returns whether an earlier session made the run of a cell in a round.
    pub fn contains(&self, phase: Phase, round: u32, cell: &Cell) -> bool {
        self.done.contains(&(phase, round, cell.clone()))
    }
}

/// Makes the runs of `experiment` that earlier sessions did not make, as far as `budget` allows.
/// The budget learns the durations of the runs.
///
/// # Errors
/// [`SweepError`]; all earlier runs were kept.
pub fn sweep<C, X, K>(
    experiment: &Experiment<C>,
    earlier: PreviousRuns,
    executor: &mut X,
    recorder: &mut K,
    rounds_rule: &mut RoundsRule<'_>,
    budget: &mut Budget,
    context: &dyn SweepContext,
) -> SweepResult<FinishBy<X, C>, C, X, K>
where
    C: InCell + Clone,
    X: Executor<C>,
    K: RunRecorder<C, X::Outcome>,
{
    let PreviousRuns { count: next, done, samples, disturbed } = earlier;
    let left_out = Vec::new();
    Sweep {
        experiment,
        done,
        samples,
        disturbed,
        executor,
        recorder,
        rounds_rule,
        budget,
        context,
        next,
        left_out,
    }
    .run()
}

struct Sweep<'a, 'e, C, X: Executor<C>, K> {
    experiment: &'a Experiment<C>,
    /// Runs of earlier sessions.
    done: BTreeSet<(Phase, u32, Cell)>,
    /// Values of the successful timed runs of each cell.
    samples: Vec<Vec<RoundValue>>,
    /// Timed rounds with a disturbed run.
    disturbed: BTreeSet<u32>,
    executor: &'a mut X,
    recorder: &'a mut K,
    rounds_rule: &'a mut RoundsRule<'e>,
    budget: &'a mut Budget,
    context: &'a dyn SweepContext,
    /// Index of the next run.
    next: u32,
    left_out: Vec<(C, X::Error)>,
}

/// End of a sweep: its reason and the failed run, if one ended the sweep.
type End<O> = (StopReason, Option<O>);

impl<C, X, K> Sweep<'_, '_, C, X, K>
where
    C: InCell + Clone,
    X: Executor<C>,
    K: RunRecorder<C, X::Outcome>,
{
    fn run(mut self) -> SweepResult<FinishBy<X, C>, C, X, K> {
        let (reason, failed) = self.run_rounds()?;
        Ok(Finish { reason, failed, left_out: self.left_out })
    }

    fn run_rounds(&mut self) -> SweepResult<End<X::Outcome>, C, X, K> {
        let schedule = &self.experiment.schedule;
        // If timed runs exist, missing warm-up runs were left out for lack of time.
        let is_warm = self.done.iter().any(|(phase, ..)| *phase == Phase::Timed);
        for round in 0..if is_warm { 0 } else { schedule.warmup } {
            let missing = self.missing_cells(Phase::Warmup, round, &BTreeSet::new());
            if let Some(end) = self.run_round(Phase::Warmup, round, missing)? {
                return Ok(end);
            }
        }
        let (mut round, mut without) = (0, BTreeSet::new());
        loop {
            let missing = self.missing_cells(Phase::Timed, round, &without);
            // In the first round, each run is made for which there is time. A further round is made
            // only as a whole.
            if round > 0 && !missing.is_empty() {
                let cells: Vec<Cell> = missing.iter().map(|(_, cell)| cell.cell()).collect();
                if !self.budget.allows_round(self.context.now(), &cells) {
                    return Ok((StopReason::TimeExhausted, None));
                }
            }
            if let Some(end) = self.run_round(Phase::Timed, round, missing)? {
                return Ok(end);
            }
            if round == 0 && self.executor.is_already_done() {
                return Ok((StopReason::AlreadyDone, None));
            }
            round += 1;
            let rounds = TimedRounds { made: round, samples: &self.samples, disturbed: &self.disturbed };
            match (self.rounds_rule)(&rounds) {
                AfterRound::End(StopReason::RunsExhausted) if !self.left_out.is_empty() => {
                    return Ok((StopReason::RunFailed, None));
                }
                AfterRound::End(reason) => return Ok((reason, None)),
                AfterRound::Continue { without: next } => without = next,
            }
        }
    }

    /// Makes the missing runs of one round; returns an end if the sweep must not continue.
    fn run_round(
        &mut self,
        phase: Phase,
        round: u32,
        missing: Vec<(usize, C)>,
    ) -> SweepResult<Option<End<X::Outcome>>, C, X, K> {
        let mut lacks_time = false;
        for (position, cell) in missing {
            if let Some(end) = self.external_stop() {
                return Ok(Some(end));
            }
            let began = self.context.now();
            let coordinates = cell.cell();
            let is_allowed = match (phase, round) {
                (Phase::Timed, 0) => self.budget.allows_run(began, &coordinates),
                (Phase::Timed, _) => true,
                _ => self.budget.allows_warmup(began, &coordinates, &self.cells()),
            };
            if !is_allowed {
                lacks_time = true;
                continue;
            }
            let trial = Trial { index: self.next, round, phase, cell: cell.clone() };
            self.recorder.on_begin(&trial);
            let outcome = match (self.executor.execute(&trial), self.external_stop()) {
                // The event that stopped the study also ended this attempt.
                (Err(_), Some(end)) => return Ok(Some(end)),
                // A run that this process cut short is no measurement, and no failure of the
                // subject.
                (Ok(outcome), Some(end)) if self.executor.value(&outcome).is_none() => return Ok(Some(end)),
                (Err(error), _) if self.leaves_out(&error) => {
                    self.left_out.push((cell, error));
                    continue;
                }
                (executed, _) => executed.map_err(SweepError::Execute)?,
            };
            self.recorder.on_end(&outcome).map_err(SweepError::Record)?;
            self.next += 1;
            if phase == Phase::Timed && self.executor.is_disturbed(&outcome) {
                self.disturbed.insert(round);
            }
            let Some(value) = self.executor.value(&outcome) else {
                if self.experiment.schedule.on_failure == OnFailure::End {
                    return Ok(Some((StopReason::RunFailed, Some(outcome))));
                }
                continue;
            };
            self.budget.add(phase, &coordinates, self.context.now().since(began));
            if phase == Phase::Timed {
                self.samples[position].push(RoundValue { round, value });
            }
        }
        let is_short = lacks_time && phase == Phase::Timed;
        Ok(is_short.then_some((StopReason::TimeExhausted, None)))
    }

    fn leaves_out(&self, error: &X::Error) -> bool {
        self.experiment.schedule.on_failure == OnFailure::LeaveOut && self.executor.concerns_one_cell(error)
    }

    /// End of the sweep, if an external request has stopped it.
    fn external_stop(&self) -> Option<End<X::Outcome>> {
        if self.context.is_interrupted() {
            Some((StopReason::Interrupted, None))
        } else {
            self.context.is_out_of_time().then_some((StopReason::TimeExhausted, None))
        }
    }

    fn cells(&self) -> Vec<Cell> {
        self.experiment.cells.iter().map(|planned| planned.cell.cell()).collect()
    }

    /// Cells of a round without a run, in the order of the round, with their positions in the
    /// experiment. The cells at the positions `without` are not in the round.
    fn missing_cells(&self, phase: Phase, round: u32, without: &BTreeSet<usize>) -> Vec<(usize, C)> {
        let stream = if phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let is_in_phase = |at: usize| phase == Phase::Timed || self.experiment.cells[at].warms_up;
        let is_left_out = |cell: &Cell| self.left_out.iter().any(|(other, _)| other.cell() == *cell);
        let in_round: Vec<(usize, &C)> = self.experiment.positions_of_round(round).collect();
        round_order(self.experiment.schedule.seed, stream, round, in_round.len())
            .into_iter()
            .map(|at| in_round[at])
            .filter(|(position, _)| is_in_phase(*position) && !without.contains(position))
            .filter(|(_, cell)| {
                let cell = cell.cell();
                !is_left_out(&cell) && !self.done.contains(&(phase, round, cell))
            })
            .map(|(position, cell)| (position, cell.clone()))
            .collect()
    }
}
