//! Durations of runs, and the runs that the time for a study allows.
//!
//! The module is pure: the caller reads the clock, and nothing is measured or ended here.

use std::collections::BTreeMap;

use morecores_study::{CPUS_AXIS, Cell, InCell, Nanos, Phase, Run};

/// Assumed factor by which a traced run takes longer. A slower traced run is regarded as disturbed
/// (docs/methods/explain.md, "Tracing cost": 1% to 10% on programs with hundreds of thousands of
/// events a second).
const TRACED: f64 = 1.2;

/// Durations of runs by cell, each from the start of its preparation to the end of its
/// accounting.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    taken: BTreeMap<Cell, CellDurations>,
}

#[derive(Clone, Debug, Default)]
struct CellDurations {
    warmup: Option<Nanos>,
    timed: Vec<Nanos>,
}

impl Costs {
    /// Durations of the counted runs of an earlier session, as far as their records show them:
    /// without `--prepare`.
    pub fn from_runs<'r>(counted: impl IntoIterator<Item = &'r Run>) -> Self {
        let mut costs = Self::default();
        for run in counted {
            costs.add(run.phase, &run.cell(), run.elapsed_ns);
        }
        costs
    }

    /// Adds a run and its duration. A traced run says nothing about the other runs.
    pub fn add(&mut self, phase: Phase, cell: &Cell, took: Nanos) {
        let taken = self.taken.entry(cell.clone()).or_default();
        match phase {
            Phase::Warmup => taken.warmup = Some(took),
            Phase::Timed => taken.timed.push(took),
            Phase::Traced => {}
        }
    }

    /// Expected duration of a run of a cell: the median of the timed runs; else the duration of the
    /// warm-up run; else the duration of the cell with the nearest number of CPUs, if possible with
    /// the same values on further axes, under the assumption of ideal scaling. `None` before the
    /// first run.
    pub fn run(&self, cell: &Cell) -> Option<Nanos> {
        let known = |cell: &Cell| self.taken.get(cell).and_then(CellDurations::expected);
        known(cell).or_else(|| {
            let cpus = cpus(cell);
            let others = self.taken.keys().filter(|other| known(other).is_some());
            let further = cell.further_coordinates();
            let nearest = others.min_by_key(|other| {
                (other.further_coordinates() != further, self::cpus(other).abs_diff(cpus))
            })?;
            let seconds = known(nearest)?.as_secs_f64() * self::cpus(nearest) as f64 / cpus as f64;
            Some(Nanos::from_secs_f64(seconds))
        })
    }

    /// Expected total duration of one run of each cell. `None` before the first run.
    pub fn runs<'a>(&self, cells: impl IntoIterator<Item = &'a Cell>) -> Option<Nanos> {
        cells.into_iter().map(|cell| self.run(cell)).sum()
    }

    /// Expected total duration of one traced run of each cell.
    pub fn traced_runs<'a>(&self, cells: impl IntoIterator<Item = &'a Cell>) -> Option<Nanos> {
        self.runs(cells).map(|time| Nanos::from_secs_f64(time.as_secs_f64() * TRACED))
    }
}

/// Number of CPUs of a cell; 1 for cells that do not differ in it.
fn cpus(cell: &Cell) -> u64 {
    cell.number(CPUS_AXIS).unwrap_or(1).max(1)
}

impl CellDurations {
    fn expected(&self) -> Option<Nanos> {
        Nanos::median(self.timed.clone()).or(self.warmup)
    }
}

/// Time budget of a study, and the time used so far.
///
/// A run that would not end in time is not started. The order of importance is: one timed run of
/// each cell, their traces, further rounds, warm-up runs. A run of unknown duration is
/// started.
#[derive(Clone, Debug)]
pub struct Budget {
    began: Nanos,
    limit: Option<Nanos>,
    costs: Costs,
    /// Cells that are still to be traced at the end.
    traces: Vec<Cell>,
}

impl Budget {
    /// Creates a budget that starts at `began`. `done` are the counted runs of earlier sessions of
    /// the study; `traces` are still to be made.
    pub fn new<'r>(
        began: Nanos,
        limit: Option<Nanos>,
        done: impl IntoIterator<Item = &'r Run>,
        traces: Vec<Cell>,
    ) -> Self {
        Self { began, limit, costs: Costs::from_runs(done), traces }
    }

    /// Creates a budget without a limit.
    pub fn unlimited() -> Self {
        Self::new(Nanos::ZERO, None, &[], Vec::new())
    }

    /// Notes the duration of a run.
    pub fn add(&mut self, phase: Phase, cell: &Cell, took: Nanos) {
        self.costs.add(phase, cell, took);
        if phase == Phase::Traced {
            self.traces.retain(|other| other != cell);
        }
    }

    /// Time limit for the whole study, if any.
    pub fn limit(&self) -> Option<Nanos> {
        self.limit
    }

    /// Whether a warm-up run may begin: a round of `cells` and the traces must fit after it.
    pub fn allows_warmup(&self, now: Nanos, cell: &Cell, cells: &[Cell]) -> bool {
        let run = self.costs.run(cell);
        self.allows(now, run.zip(self.round_and_traces(cells)).map(|(run, rest)| run + rest))
    }

    /// Whether a mandatory run may begin.
    pub fn allows_run(&self, now: Nanos, cell: &Cell) -> bool {
        self.allows(now, self.costs.run(cell))
    }

    /// Whether a further run of each of `cells` may begin: the traces must fit after it.
    pub fn allows_round(&self, now: Nanos, cells: &[Cell]) -> bool {
        self.allows(now, self.round_and_traces(cells))
    }

    /// Whether a traced run may begin.
    pub fn allows_traced_run(&self, now: Nanos, cell: &Cell) -> bool {
        self.allows(now, self.costs.traced_runs([cell]))
    }

    /// Whether a traced run of each of `cells` may begin.
    pub fn allows_traced_runs(&self, now: Nanos, cells: &[Cell]) -> bool {
        self.allows(now, self.costs.traced_runs(cells))
    }

    /// Expected duration of one run of each of `cells` and of the missing traces.
    pub fn round_and_traces(&self, cells: &[Cell]) -> Option<Nanos> {
        Some(self.costs.runs(cells)? + self.costs.traced_runs(&self.traces)?)
    }

    fn allows(&self, now: Nanos, work: Option<Nanos>) -> bool {
        self.limit.is_none_or(|limit| now.since(self.began) + work.unwrap_or(Nanos(1)) <= limit)
    }
}
