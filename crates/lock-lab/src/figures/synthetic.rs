//! Synthetic studies of locks with known figures, for the tests.

use morecores_study::lock::{
    ContentionSample, Laboratory, LockCell, LockHeader, LockName, LockPlan, LockRun, LockSample, LockStudy,
    Think,
};
use morecores_study::{CpuId, Host, Nanos, STUDY_SCHEMA};

use super::cells::ContentionPoint;

/// Study of two CPUs under construction. The rounds of a cell are numbered from 0.
pub(super) struct Synthetic {
    study: LockStudy,
}

impl Synthetic {
    /// Creates a study of these locks, without a point.
    pub(super) fn with_locks(locks: &[LockName]) -> Self {
        let plan = LockPlan {
            locks: locks.to_vec(),
            cpus: [CpuId(0), CpuId(1)].into_iter().collect(),
            threads: Vec::new(),
            holds: Vec::new(),
            thinks: Vec::new(),
            rounds: 7,
            window_ns: Nanos::from_millis(100),
            watched_ns: Nanos::from_millis(300),
            watched_rounds: 2,
            seed: 1,
        };
        let header = LockHeader {
            schema: STUDY_SCHEMA.to_owned(),
            tool: "0.1.0".to_owned(),
            created_at_ns: Nanos(0),
            subject: Laboratory::Locks,
            plan,
            host: Host::default(),
            closing: None,
            unknown: serde_json::Map::new(),
        };
        Self { study: LockStudy::new(header) }
    }

    /// Adds a point to the plan, and with it every combination of its threads, hold and think with
    /// those already planned.
    pub(super) fn point(mut self, (threads, hold, think): ContentionPoint) -> Self {
        fn add<T: PartialEq>(list: &mut Vec<T>, value: T) {
            if !list.contains(&value) {
                list.push(value);
            }
        }
        let plan = &mut self.study.header.plan;
        add(&mut plan.threads, threads);
        add(&mut plan.holds, Nanos(hold));
        add(&mut plan.thinks, Think::Fixed(Nanos(think)));
        self
    }

    /// Adds one sample of `cell` for each round.
    pub(super) fn samples(mut self, cell: LockCell, samples: &[LockSample]) -> Self {
        self.study.runs.extend(samples.iter().enumerate().map(|(round, sample)| LockRun {
            round: round as u32,
            cell,
            sample: sample.clone(),
            steal_ns: None,
            surroundings: None,
            unknown: serde_json::Map::new(),
        }));
        self
    }

    /// Adds one time of `cell` for each round, in nanoseconds.
    pub(super) fn times(self, cell: LockCell, ns: &[f64]) -> Self {
        let samples: Vec<LockSample> = ns.iter().map(|&ns| LockSample::Time { ns }).collect();
        self.samples(cell, &samples)
    }

    /// Adds measurements of contention of 100 ms with these rates in holds per second, shared
    /// equally among the threads. Each of the two CPUs is busy if there is a thread for it.
    pub(super) fn contention(self, lock: LockName, at: ContentionPoint, rates: &[f64]) -> Self {
        let busy = Nanos::from_millis(100 * u64::from(at.0.min(2)));
        self.contention_with_cpu_time(lock, at, rates, busy)
    }

    /// Adds measurements like `contention`, with this CPU time.
    pub(super) fn contention_with_cpu_time(
        self,
        lock: LockName,
        at: ContentionPoint,
        rates: &[f64],
        user_ns: Nanos,
    ) -> Self {
        let (threads, hold_ns, think_ns) = (at.0, Nanos(at.1), Nanos(at.2));
        let sample = |rate: &f64| {
            LockSample::Contention(ContentionSample {
                window_ns: Nanos::from_millis(100),
                turns: vec![(rate / 10.0 / f64::from(threads)).round() as u64; threads as usize],
                user_ns,
                system_ns: Nanos(0),
                longest_waits_ns: None,
            })
        };
        let samples: Vec<LockSample> = rates.iter().map(sample).collect();
        self.point(at)
            .samples(LockCell::Contention { lock, threads, hold_ns, think_ns, watched: false }, &samples)
    }

    /// Adds measurements with the longest wait of each thread in nanoseconds, one list for each
    /// round.
    pub(super) fn watched(self, lock: LockName, at: ContentionPoint, waits: &[&[u64]]) -> Self {
        let (threads, hold_ns, think_ns) = (at.0, Nanos(at.1), Nanos(at.2));
        let sample = |waits: &&[u64]| {
            LockSample::Contention(ContentionSample {
                window_ns: Nanos::from_millis(300),
                turns: vec![1; threads as usize],
                user_ns: Nanos(0),
                system_ns: Nanos(0),
                longest_waits_ns: Some(waits.iter().map(|&ns| Nanos(ns)).collect()),
            })
        };
        let samples: Vec<LockSample> = waits.iter().map(sample).collect();
        self.point(at)
            .samples(LockCell::Contention { lock, threads, hold_ns, think_ns, watched: true }, &samples)
    }

    /// Adds every cell of every round of the plan, and a point with two threads.
    pub(super) fn filled(self) -> Self {
        let mut filled = self.point((2, 100, 0));
        for round in 0..filled.study.header.plan.rounds {
            for &cell in filled.study.header.plan.experiment().cells_of_round(round) {
                let sample = match cell {
                    LockCell::Contention { .. } => LockSample::Contention(ContentionSample {
                        window_ns: Nanos::from_millis(100),
                        turns: vec![10, 10],
                        user_ns: Nanos::from_millis(150),
                        system_ns: Nanos(0),
                        longest_waits_ns: None,
                    }),
                    LockCell::Preempted { .. } => {
                        LockSample::Preempted { waited_ns: Nanos(100), burned_ns: Nanos(50), waits: 1 }
                    }
                    _ => LockSample::Time { ns: 10.0 },
                };
                let unknown = serde_json::Map::new();
                filled.study.runs.push(LockRun {
                    round,
                    cell,
                    sample,
                    steal_ns: None,
                    surroundings: None,
                    unknown,
                });
            }
        }
        filled
    }

    pub(super) fn build(self) -> LockStudy {
        self.study
    }
}
