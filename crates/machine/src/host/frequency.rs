//! Control of the clock rate: cpufreq's governor and driver, and boost.
//!
//! Sources: `Documentation/admin-guide/pm/cpufreq.rst`, `intel_pstate.rst`.

use std::collections::BTreeSet;

use morecores_study::{CpuSet, Frequency};

use super::read_line;
use crate::kernel_files::Tree;

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// Files that allow the clock to rise above its nominal rate, each with the value that forbids it.
/// The driver's own file comes first, because it overrides the general one.
pub(crate) const BOOST_SWITCHES: [(&str, &str); 2] =
    [("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"), ("/sys/devices/system/cpu/cpufreq/boost", "0")];

/// Reads the kernel's settings of the clock rate. All governors are named if the CPUs' governors
/// differ.
pub(super) fn read(tree: &mut Tree, online: &CpuSet) -> Frequency {
    // A policy is a group of CPUs that share a clock, so there are fewer policies than CPUs.
    // Kernels before 4.2 have none.
    let policies =
        tree.numbered(CPUFREQ, "policy").into_iter().map(|number| format!("{CPUFREQ}/policy{number}"));
    let mut policies: Vec<String> = policies.collect();
    if policies.is_empty() {
        policies = online.iter().map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq")).collect();
    }
    let mut each = |file: &str| {
        let values: BTreeSet<String> =
            policies.iter().filter_map(|policy| read_line(tree, &format!("{policy}/{file}"))).collect();
        (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
    };
    let (governor, driver) = (each("scaling_governor"), each("scaling_driver"));
    // Some drivers have one switch for each policy instead.
    let each_boost = each("boost").map(|values| values.contains('1'));
    let boost =
        BOOST_SWITCHES.iter().find_map(|(file, off)| Some(read_line(tree, file)? != *off)).or(each_boost);
    Frequency { governor, driver, boost }
}
