//! Measures the memory of the machine that runs the tests, for one round.

use std::time::Duration;

use morecores_machine::placement::CpuOrder;
use morecores_machine::{memory_speed, topology};
use morecores_study::{CpuSet, Placement};
use morecores_testkit::report_skip;

#[test]
fn each_count_has_a_figure_of_each_round() {
    let topology = topology::read();
    let order = CpuOrder::from_policy(&topology, &topology.usable.cpus, Placement::CoresFirst);
    let most = order.steps().len().min(2);
    let speed = memory_speed::measure(&topology, &order, most, Duration::ZERO).expect("usable CPUs");
    if speed.points.len() < most {
        report_skip("each_count_has_a_figure_of_each_round", "too little memory is available");
        return;
    }
    for (count, point) in (1..).zip(&speed.points) {
        assert_eq!(point.cpus, order.cpus(count));
        assert!(matches!(point.copy_bytes_per_s[..], [rate] if rate > 0.0), "{point:?}");
        assert!(matches!(point.access_ns[..], [time] if time > 0.0), "{point:?}");
    }
    assert!(speed.lasted_ns.0 > 0);
}

#[test]
fn without_cpus_nothing_is_measured() {
    let topology = topology::read();
    let order = CpuOrder::from_policy(&topology, &CpuSet::new(), Placement::CoresFirst);
    let speed = memory_speed::measure(&topology, &order, 2, Duration::ZERO).expect("nothing to fail");
    assert!(speed.points.is_empty(), "{speed:?}");
}
