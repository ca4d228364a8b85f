//! The machine's noise: a row for each CPU, a line for each relation of CPUs, and the floor.

use morecores_study::noise::CpuRelation;
use morecores_view::machine_noise::{CpuNoise, Disturbance, MachineNoise};

use crate::Style;
use crate::format::{ABSENT, percent, ratio, time};
use crate::terminal::grid::{Column, Grid};

/// Indentation of the table.
const INDENT: &str = "  ";

/// Column of the table: its name, its rank (if there is no room, the highest is dropped first) and
/// its cells.
type NoiseColumn = (&'static str, u8, fn(&CpuNoise) -> String);

/// Columns, the most important first; a narrow terminal gets fewer.
const COLUMNS: [NoiseColumn; 7] = [
    ("CPU", 0, |cpu| cpu.cpu.to_string()),
    ("median", 0, |cpu| time(cpu.median_s)),
    ("spread", 0, |cpu| percent(cpu.spread)),
    ("all busy", 0, |cpu| cpu.slowdown.map_or_else(absent_cell, |s| format!("x {}", slowdown_text(s)))),
    ("drift", 1, |cpu| percent(cpu.drift)),
    ("waited", 1, |cpu| cpu.waited.map_or_else(absent_cell, percent)),
    ("steal", 2, |cpu| percent(cpu.steal)),
];

fn absent_cell() -> String {
    ABSENT.to_owned()
}

/// Lines of the noise section.
pub(super) fn noise_lines(noise: &MachineNoise, style: &Style) -> Vec<String> {
    let repetitions = noise.cpus.iter().map(|cpu| cpu.repetitions).min().unwrap_or(0);
    let mut lines = vec![style.paint().bold("Noise")];
    let what = format!(
        "  {} of arithmetic in registers, at least {repetitions} times on each CPU alone.",
        time(noise.loop_s)
    );
    lines.extend(style.wrap(&what, "  "));
    lines.extend(table_lines(noise, style));
    let key = "  spread: standard deviation, by the median absolute deviation; drift: the slowest of the rounds \
               against the fastest; waited: time in which something else ran; all busy: times as long as alone, with all \
               CPUs busy.";
    lines.extend(style.wrap(key, "  ").iter().map(|line| style.paint().dim(line)));
    for disturbance in &noise.disturbances {
        lines.extend(style.wrap(&disturbance_line(disturbance), "    "));
    }
    if noise.floor.is_some_and(|floor| noise.between_cpus > floor) {
        let text =
            format!("  Alone, the slowest CPU is {} slower than the fastest.", percent(noise.between_cpus));
        lines.extend(style.wrap(&text, "    "));
    }
    lines.extend(style.wrap(&floor_sentence(noise), "    "));
    lines
}

fn table_lines(noise: &MachineNoise, style: &Style) -> Vec<String> {
    let column =
        |(name, rank, cell): NoiseColumn| Column::figures(style, rank, name, noise.cpus.iter().map(cell));
    let columns = COLUMNS.into_iter().map(column).collect();
    let layout = Grid::from_columns(columns, style).layout(style.text_width() - INDENT.len());
    let header = layout.header.iter().map(|line| style.paint().dim(&format!("{INDENT}{line}")));
    header.chain(layout.rows.iter().map(|row| format!("{INDENT}{row}"))).collect()
}

fn disturbance_line(disturbance: &Disturbance) -> String {
    let relation = match disturbance.relation {
        CpuRelation::Alone => "alone",
        CpuRelation::Siblings => "threads of one core",
        CpuRelation::Cores => "cores of one package",
        CpuRelation::Packages => "cores of two packages",
        CpuRelation::All => "all of them",
    };
    let interval = disturbance.slowdown.ci95.map_or_else(
        || ", with too few rounds for an interval".to_owned(),
        |[low, high]| format!(" (95% interval {} to {})", slowdown_text(low), slowdown_text(high)),
    );
    let worst = if disturbance.worst > disturbance.slowdown.value * 1.01 {
        format!("; CPU {} takes {} times", disturbance.worst_cpu, slowdown_text(disturbance.worst))
    } else {
        String::new()
    };
    format!(
        "  CPUs {} at once, {relation}: a repetition takes {} times as long as alone{interval}{worst}.",
        disturbance.cpus,
        slowdown_text(disturbance.slowdown.value)
    )
}

/// A slowdown with three decimal places, because ordinary machines differ there.
fn slowdown_text(slowdown: f64) -> String {
    if slowdown < 10.0 { format!("{slowdown:.3}") } else { ratio(slowdown) }
}

fn floor_sentence(noise: &MachineNoise) -> String {
    match noise.floor {
        Some(floor) => format!(
            "  Noise floor {}: in 95% of {} comparisons of the same work with itself, the medians of {} \
             repetitions each differed by less.",
            percent(floor),
            noise.comparisons,
            noise.arm
        ),
        None => "  No noise floor: too few repetitions were made.".to_owned(),
    }
}
