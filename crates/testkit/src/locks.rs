//! Plans, headers and lines of studies of locks with plain values, for a test to modify.

use morecores_study::lock::*;
use morecores_study::*;

/// Plan of `adaptive` and `std` on one thread and on two, pinned to CPUs 0 and 1. The holds are
/// zero and 1 µs, the think is zero. The plan has six rounds, of which the first is watched.
pub fn lock_plan() -> LockPlan {
    LockPlan {
        locks: vec![LockName::Adaptive, LockName::Std],
        cpus: (0..2).map(CpuId).collect(),
        threads: vec![1, 2],
        holds: vec![Nanos::ZERO, Nanos(1_000)],
        thinks: vec![Think::Fixed(Nanos::ZERO)],
        rounds: 6,
        window_ns: Nanos::from_millis(10),
        watched_ns: Nanos::from_millis(300),
        watched_rounds: 1,
        seed: 7,
    }
}

/// Header of an unfinished study of locks, on a machine without known properties.
pub fn lock_header(plan: LockPlan) -> LockHeader {
    LockHeader {
        schema: STUDY_SCHEMA.into(),
        tool: "0.0.0".into(),
        created_at_ns: Nanos(1),
        subject: Laboratory::Locks,
        plan,
        host: Host::default(),
        closing: None,
        unknown: Default::default(),
    }
}

/// Result of a cell that took `ns` nanoseconds, without any stolen time.
pub fn lock_time(round: u32, cell: LockCell, ns: f64) -> LockRun {
    LockRun {
        round,
        cell,
        sample: LockSample::Time { ns },
        steal_ns: Some(Nanos::ZERO),
        surroundings: None,
        unknown: Default::default(),
    }
}
