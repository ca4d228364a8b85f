//! The speed of the machine's memory: one line, and its consequence.

use morecores_view::machine_memory::{MachineMemory, MemoryPoint};

use crate::Style;
use crate::format::{bytes, cpus, percent, ratio, time};

/// Smallest loss of the copies' speedup that is worth a sentence.
const LEAST_LOSS: f64 = 1.05;

/// Lines of the memory section; none without a measured count.
pub(super) fn memory_lines(memory: &MachineMemory, style: &Style) -> Vec<String> {
    let Some((first, larger)) = memory.points.split_first() else { return Vec::new() };
    let mut copies = format!("copy {} on {}", rate(first), cpus(first.cpus));
    let mut accesses = format!("random access {}", time(first.access_s.value));
    for point in larger {
        copies +=
            &format!(", {} on {} ({} times)", rate(point), point.cpus, ratio(copy_speedup(first, point)));
        accesses += &format!(", {}", time(point.access_s.value));
    }
    let mut lines = vec![style.paint().bold("Memory")];
    lines.extend(style.wrap(&format!("  {copies}; {accesses}."), "    "));
    if memory.is_disturbed() {
        let text = format!(
            "  Other programs took {} of the CPUs' time meanwhile, so these figures are too low and are not kept: \
             stop them and measure again.",
            percent(memory.others_share)
        );
        lines.extend(style.wrap(&text, "    "));
    } else if let Some(last) = larger.last()
        && copy_speedup(first, last) * LEAST_LOSS < f64::from(last.cpus)
    {
        let text = format!(
            "  A program that only moves memory gains at most {} times from {} here.",
            ratio(copy_speedup(first, last)),
            cpus(last.cpus)
        );
        lines.extend(style.wrap(&text, "    "));
    }
    lines
}

fn rate(point: &MemoryPoint) -> String {
    format!("{}/s", bytes(point.copy_bytes_per_s.value))
}

/// Ratio of the copied bytes per second.
fn copy_speedup(first: &MemoryPoint, point: &MemoryPoint) -> f64 {
    point.copy_bytes_per_s.value / first.copy_bytes_per_s.value
}
