//! Costs of waiting on the machine, and costs of each lock by itself.

use morecores_study::lock::{LockCell, LockName, LockSample};
use morecores_view::locks::{LinePrice, LockCosts, Prices};

use super::cells::{Cells, Rounds};

/// Returns the prices of waiting on the machine.
pub(super) fn prices(cells: &Cells<'_>) -> Prices {
    let cpus: Vec<_> = cells.plan.cpus.iter().collect();
    let pairs =
        cpus.iter().enumerate().flat_map(|(i, &from)| cpus[i + 1..].iter().map(move |&to| (from, to)));
    let line =
        |(from, to)| Some(LinePrice { from, to, ns: cells.times(LockCell::Line { from, to }).estimate()? });
    Prices {
        switch_ns: cells.times(LockCell::Switch).estimate(),
        wake_ns: cells.times(LockCell::Handoff { lock: LockName::Block }).estimate(),
        lines: pairs.filter_map(line).collect(),
    }
}

/// Returns the costs of each lock of the plan by itself.
pub(super) fn locks(cells: &Cells<'_>) -> Vec<LockCosts> {
    cells.plan.locks.iter().map(|&lock| costs(cells, lock)).collect()
}

fn costs(cells: &Cells<'_>, lock: LockName) -> LockCosts {
    let points = cells.points();
    LockCosts {
        lock,
        free_ns: cells.times(LockCell::Free { lock }).estimate(),
        handoff_ns: cells.times(LockCell::Handoff { lock }).estimate(),
        preempted_burned: preempted_owner(cells, lock, |waited, cpu_time, _| cpu_time / waited).estimate(),
        preempted_wait_ns: preempted_owner(cells, lock, |waited, _, waits| waited / waits).estimate(),
        longest_wait_ns: points.iter().filter_map(|&at| cells.longest_wait(lock, at)).max(),
    }
}

/// Computes one figure for each round in which a thread waited for an owner that was off its CPU.
/// The inputs of `figure` are the nanoseconds waited, their CPU time, and the number of waits.
fn preempted_owner(cells: &Cells<'_>, lock: LockName, figure: impl Fn(f64, f64, f64) -> f64) -> Rounds {
    cells.values(LockCell::Preempted { lock }, |sample| match sample {
        LockSample::Preempted { waited_ns, burned_ns, waits } if waited_ns.0 > 0 && *waits > 0 => {
            Some(figure(waited_ns.0 as f64, burned_ns.0 as f64, *waits as f64))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use morecores_study::{CpuId, Nanos};
    use morecores_view::Estimate;

    use super::super::locks_view;
    use super::super::synthetic::Synthetic;
    use super::*;

    #[test]
    fn prices_are_medians_over_rounds() {
        let wakes = LockCell::Handoff { lock: LockName::Block };
        let study = Synthetic::with_locks(&[LockName::Block])
            .times(LockCell::Switch, &[1500.0, 1400.0, 1700.0])
            .times(wakes, &[15e3, 14e3, 13e3, 16e3, 18e3, 17e3])
            .times(LockCell::Line { from: CpuId(0), to: CpuId(1) }, &[60.0])
            .build();
        let prices = locks_view(&study).prices;
        assert_eq!(prices.switch_ns, Some(Estimate { value: 1500.0, ci95: None }));
        assert_eq!(prices.wake_ns, Some(Estimate { value: 15.5e3, ci95: Some([13e3, 18e3]) }));
        assert_eq!(
            prices.lines,
            [LinePrice { from: CpuId(0), to: CpuId(1), ns: Estimate { value: 60.0, ci95: None } }]
        );
    }

    /// Two waits of 4 ms together, 1 ms of it on a CPU. A round without a wait is in no figure.
    #[test]
    fn a_preempted_owner_costs_a_share_of_a_cpu() {
        let lock = LockName::Adaptive;
        let sample = |waited, burned, waits| LockSample::Preempted {
            waited_ns: Nanos(waited),
            burned_ns: Nanos(burned),
            waits,
        };
        let study = Synthetic::with_locks(&[lock])
            .samples(LockCell::Preempted { lock }, &[sample(4_000_000, 1_000_000, 2), sample(0, 0, 0)])
            .build();
        let costs = &locks_view(&study).locks[0];
        assert_eq!(costs.preempted_burned, Some(Estimate { value: 0.25, ci95: None }));
        assert_eq!(costs.preempted_wait_ns, Some(Estimate { value: 2e6, ci95: None }));
    }

    /// The longest wait is the longest of all points and rounds.
    #[test]
    fn the_longest_wait_is_the_worst_of_all_points() {
        let (spin, ticket) = (LockName::Spin, LockName::Ticket);
        let study = Synthetic::with_locks(&[spin, ticket])
            .watched(spin, (2, 0, 0), &[&[10, 70], &[90, 20]])
            .watched(spin, (4, 0, 0), &[&[10, 80, 1, 1]])
            .contention(ticket, (2, 0, 0), &[1e6])
            .build();
        let view = locks_view(&study);
        assert_eq!(view.locks[0].longest_wait_ns, Some(90));
        assert_eq!(view.locks[1].longest_wait_ns, None);
    }
}
