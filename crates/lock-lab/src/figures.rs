//! View of a study of locks, and comparison of one lock with others.
//!
//! A figure is the median over rounds, with the exact interval of
//! [`Design::Fixed`](morecores_statistics::Design): the number of rounds never depends on the
//! measurements. Two locks are compared in pairs of the same round, which keeps changes between
//! rounds out of the ratio. This module knows locks by name only; `cost_model` holds the formulas
//! of the cost model.

mod advice;
mod cells;
mod cost_model;
mod costs;
mod peer_comparison;
mod points;
#[cfg(test)]
mod synthetic;

use morecores_study::lock::LockStudy;
use morecores_view::locks::{LOCKS_VIEW_SCHEMA, LocksView};
use morecores_view::others::OtherPrograms;
use morecores_view::{Warning, cell_views};

pub use peer_comparison::{PeerComparison, PeerPoint, compare_with_peers, free_ratio, longest_wait};

use cells::{Cells, measurements};

/// Computes the view of a study of locks, finished or not.
pub fn locks_view(study: &LockStudy) -> LocksView {
    let plan = &study.header.plan;
    let cells = Cells::from_study(study);
    let prices = costs::prices(&cells);
    let locks = costs::locks(&cells);
    let points = points::points(&cells);
    let cost_model = cost_model::cost_model(&cells, &prices);
    let advice = advice::advice(&cells, &points, &prices);
    LocksView {
        schema: LOCKS_VIEW_SCHEMA.to_owned(),
        plan: plan.clone(),
        host: study.header.host.clone(),
        rounds: cells.rounds(),
        whole: cells.are_complete(),
        damaged_lines: study.damaged_lines as u64,
        steal: cells.steal(),
        prices,
        locks,
        cells: cell_views(&plan.experiment(), cells.runs(), measurements),
        points,
        cost_model,
        advice,
        warnings: warnings(study),
    }
}

/// Returns the warnings of other programs' work before and during the cells.
fn warnings(study: &LockStudy) -> Vec<Warning> {
    let others = OtherPrograms::from_study(study, |run| run.surroundings.as_ref());
    let cpus = u32::try_from(study.header.plan.cpus.len()).unwrap_or(u32::MAX);
    let around = study.runs.iter().filter_map(|run| run.surroundings.as_ref());
    others.busy_machine().into_iter().chain(others.work_outside_tree(cpus, around)).collect()
}

#[cfg(test)]
mod tests {
    use morecores_study::lock::{LockCell, LockName};
    use morecores_study::{Closing, Nanos, OtherProgram, Quiet, StopReason, Surroundings};

    use super::synthetic::Synthetic;
    use super::*;
    use morecores_study::InCell;
    use morecores_view::locks::LockResult;

    #[test]
    fn an_empty_study_has_a_view_without_figures() {
        let view = locks_view(&Synthetic::with_locks(&[LockName::Spin, LockName::Block]).build());
        assert_eq!((view.rounds, view.whole, view.steal), (0, false, None));
        assert!(view.points.is_empty() && view.advice.is_empty() && view.cost_model.is_none());
        assert!(view.prices.switch_ns.is_none() && view.prices.lines.is_empty());
        assert!(view.locks.iter().all(|lock| lock.free_ns.is_none() && lock.longest_wait_ns.is_none()));
    }

    /// A study is whole with every cell of every round, and not with one cell less.
    #[test]
    fn a_study_is_complete_with_its_last_cell() {
        let mut study = Synthetic::with_locks(&[LockName::Spin, LockName::Block]).filled().build();
        assert!(locks_view(&study).whole);
        assert_eq!(locks_view(&study).rounds, study.header.plan.rounds);
        let last = study.runs.pop().expect("cells");
        assert!(!locks_view(&study).whole);
        // A second sample of another cell does not replace the missing one.
        let again = study.runs[0].clone();
        study.runs.push(again);
        assert!(!locks_view(&study).whole);
        study.runs.push(last);
        assert!(locks_view(&study).whole);
    }

    /// The list of cells has the medians of the tables; a cell with timed waits has no rate.
    #[test]
    fn cells_have_the_figures_of_the_tables() {
        let view = locks_view(&Synthetic::with_locks(&[LockName::Spin, LockName::Block]).filled().build());
        let planned = view.plan.experiment().cells;
        assert_eq!(view.cells.len(), planned.len());
        let figure = |cell: LockCell, name: &str| {
            let shown = view.cells.iter().find(|shown| shown.cell == cell.cell())?;
            shown.figures.iter().find(|figure| figure.name == name)
        };
        let switch = figure(LockCell::Switch, "time").map(|figure| (figure.median, figure.ci95));
        assert_eq!(switch, view.prices.switch_ns.map(|price| (price.value, price.ci95)));
        assert!(switch.is_some());
        let point = &view.points[0];
        let (hold_ns, think_ns) = (Nanos(point.hold_ns), Nanos(point.think_ns));
        for result in &point.results {
            let LockResult { lock, per_s, .. } = *result;
            let cell =
                |watched| LockCell::Contention { lock, threads: point.threads, hold_ns, think_ns, watched };
            let holds = figure(cell(false), "holds").map(|figure| (figure.median, figure.ci95));
            assert_eq!(holds, Some((per_s.value, per_s.ci95)));
            assert!(figure(cell(true), "holds").is_none());
        }
    }

    /// Steal is a share of the time of all CPUs, during contention only.
    #[test]
    fn steal_is_a_share_of_the_cpus_time() {
        let mut study =
            Synthetic::with_locks(&[LockName::Spin]).contention(LockName::Spin, (2, 0, 0), &[1e6; 4]).build();
        assert_eq!(locks_view(&study).steal, None);
        for run in &mut study.runs {
            run.steal_ns = Some(Nanos::from_millis(2));
            let LockCell::Contention { .. } = run.cell else { panic!("contention alone") };
        }
        // Each measurement takes 100 ms on two CPUs.
        let steal = locks_view(&study).steal.expect("told");
        assert!((steal - 0.01).abs() < 1e-12, "{steal}");
    }

    /// Creates a study with CPU time around its cells: 0.1 s of the laboratory per cell on two
    /// CPUs, and `seconds` of other programs.
    fn with_others(seconds: f64) -> LockStudy {
        let mut study =
            Synthetic::with_locks(&[LockName::Spin]).contention(LockName::Spin, (2, 0, 0), &[1e6; 7]).build();
        study.header.host.topology.online = study.header.plan.cpus.clone();
        for run in &mut study.runs {
            run.surroundings = Some(Surroundings {
                covers_ns: Nanos::from_millis(100),
                steal_ns: Nanos::ZERO,
                throttled_ns: None,
                busy_allotted_ns: Nanos::from_secs_f64(0.11 + seconds),
                busy_elsewhere_ns: Nanos::ZERO,
                tree_ns: Nanos::from_millis(100),
                own_ns: Nanos::from_millis(10),
                devices: Vec::new(),
            });
        }
        study
    }

    fn closing(busy_s: f64, other_programs: Vec<OtherProgram>) -> Option<Closing> {
        let quiet = Quiet {
            watched_ns: Nanos::from_millis(500),
            busy_ns: Nanos::from_secs_f64(busy_s),
            steal_ns: Nanos::ZERO,
        };
        let reason = StopReason::RunsExhausted;
        Some(Closing { ended_at_ns: Nanos(1), reason, other_programs, quiet: Some(quiet) })
    }

    #[test]
    fn other_programs_before_and_during_the_measurement_cause_warnings() {
        let mut study = with_others(0.0);
        assert_eq!(locks_view(&study).warnings, []);
        study.header.closing = closing(0.04, Vec::new());
        assert_eq!(locks_view(&study).warnings, [], "housekeeping");

        let rustc = OtherProgram { name: "rustc".to_owned(), cpu_ns: Nanos::from_millis(340) };
        let sshd = OtherProgram { name: "sshd".to_owned(), cpu_ns: Nanos::from_millis(60) };
        let mut study = with_others(0.05);
        study.header.closing = closing(0.0, vec![rustc.clone(), sshd.clone()]);
        let warnings = locks_view(&study).warnings;
        let [Warning::WorkOutsideTree { cpus: 2, busy_cpus, of_cpus: 2, ref other_programs }] = warnings[..]
        else {
            panic!("{warnings:?}")
        };
        assert!((busy_cpus - 0.5).abs() < 1e-9, "{busy_cpus}");
        assert_eq!(other_programs, std::slice::from_ref(&rustc));

        // Other programs that were as busy before the cells get one warning only.
        study.header.closing = closing(0.25, vec![rustc.clone(), sshd]);
        let expected = Warning::NotQuiet { busy_cpus: 0.5, of_cpus: 2, other_programs: vec![rustc] };
        assert_eq!(locks_view(&study).warnings, [expected]);
    }

    /// The JSON of the view holds only numbers that JSON can express, whatever the cells hold.
    #[test]
    fn contention_without_any_hold_has_a_figure() {
        let study = Synthetic::with_locks(&[LockName::Spin, LockName::Block])
            .contention(LockName::Spin, (2, 0, 0), &[0.0; 6])
            .contention(LockName::Block, (2, 0, 0), &[0.0; 6])
            .build();
        let view = locks_view(&study);
        let text = serde_json::to_string(&view).expect("a view");
        let back: LocksView = serde_json::from_str(&text).expect("the same");
        assert_eq!(back, view);
    }
}
