//! The CPUs of a marked program at its start.

use morecores_study::{CpuId, CpuSet};

/// CPUs for a program that may use `count` of them: neighbours in this order of the usable CPUs,
/// from the current CPU on, which the kernel has chosen as the best for this process. All of them
/// if there are no more.
pub fn launch_cpus(order: &[CpuId], current: CpuId, count: usize) -> CpuSet {
    let first = order.iter().position(|cpu| *cpu == current).unwrap_or(0);
    order.iter().cycle().skip(first).take(count.min(order.len())).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_begin_at_the_current_one_and_wrap() {
        let order = [0, 2, 4, 1, 3, 5].map(CpuId);
        let cpus = |current, count| launch_cpus(&order, CpuId(current), count).to_string();
        assert_eq!(cpus(4, 1), "4");
        assert_eq!(cpus(4, 2), "1,4");
        assert_eq!(cpus(3, 3), "0,3,5");
        assert_eq!(cpus(0, 9), "0-5");
        // The process may have been moved off the usable CPUs meanwhile.
        assert_eq!(cpus(9, 1), "0");
        assert!(launch_cpus(&[], CpuId(0), 1).is_empty());
    }
}
