//! Derived view of a study: the types of its JSON, and the figures that follow from the runs alone.
//!
//! - `types`, `locks`, `suite` and `page` hold types.
//! - `cells` computes the figures that the cells of every study have.
//! - `derive` computes the view of a study of a command, from the `rounds` that count.
//! - `stack` and `efficiency` divide the CPU time of traced runs into losses and into factors.
//! - `code_losses` divides the losses of a stack among functions and calls, by `code_shares`.
//! - `verdict` decides the answer of a view, `ranking` which value of `{n}` is best, and
//!   `quota` which CPU quota is enough.
//! - `machine_noise` and `machine_memory` compute figures of a machine, without any study.
//! - `advice` selects the work that one thread did alone.
//! - `compare` computes the difference between two views.
//!
//! `morecores-explain` adds the figures from traces, `morecores-predict` those from models, and
//! `morecores-lock-lab` computes the view of a study of locks. All functions are pure: no I/O, no
//! clock, no text for people.

mod advice;
mod cells;
mod code_losses;
mod code_shares;
pub mod compare;
mod derive;
mod efficiency;
pub mod locks;
pub mod machine_memory;
pub mod machine_noise;
pub mod memory;
pub mod memory_kills;
pub mod others;
pub mod page;
mod quota;
mod ranking;
mod rounds;
mod sample;
mod stack;
pub mod suite;
mod traced_runs;
mod types;
mod verdict;

pub use advice::advice;
pub use cells::{Measurement, cell_views, median_estimate};
pub use derive::{timed_run_speedups, view};
pub use ranking::traced_points;
pub use rounds::round_rule;
pub use traced_runs::order_of_traces;
pub use types::code;
pub use types::{
    Abstention, Advice, Answer, Aspect, BoundsView, COMPARISON_SCHEMA, Caveat, CellFigure, CellView,
    CommandView, ComparedPoint, ComparedSpeedup, ComparedStack, ComparedStudy, Comparison, Component,
    ComponentIntervals, Components, ConditionResult, CriticalPathView, Culprit, Difference, EfficiencyTimes,
    EfficiencyView, Estimate, FailureCount, FigureView, FirstLimit, Gain, GainKind, GainPoint, HolderWaits,
    IdleCause, Inconsistencies, KernelRatioEstimator, LawViolation, LimitBasis, LockView, Losses,
    MedianIntervals, MemoryByN, MetricView, Mismatch, ModelName, ModelView, NO_CULPRIT, OpenMpRegion,
    OpenMpView, OperationalLaw, OutsideEvidence, Parallelism, PathActivity, PathEdge, PathEdgeKind, PathPart,
    PointView, PredictedPoint, Prediction, QuotaComparison, QuotaView, RankedValue, Ranking, Reason,
    Resource, SavedTime, SearchedBest, SerialAndParallel, SerialPhase, SerialWork, SizedBy, StackView,
    Sufficiency, Summary, ThreadView, Throttling, TraceEstimator, TraceView, VIEW_SCHEMA, Verdict, View,
    Warning, Workers,
};
pub use verdict::{
    DEFAULT_WORTH, OutsideTime, OversubscribedBase, invalid_baseline, oversubscribed_base, time_outside_cpus,
    verdict,
};
