//! The machine's noise: a row for each CPU, a line for each relation of CPUs, and the floor.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use morecores_study::noise::CpuRelation;
use morecores_view::{CpuNoise, Disturbance, MachineNoise};

use crate::Style;
use crate::format::{ABSENT, percent, ratio, time};

/// Spaces before each column.
const GAP: u16 = 2;

/// One column: its name, and the narrowest terminal that shows it.
struct Column {
    name: &'static str,
    least_width: usize,
    cell: fn(&CpuNoise) -> String,
}

/// Columns, the most telling first; a narrow terminal gets fewer.
const COLUMNS: [Column; 7] = [
    Column { name: "CPU", least_width: 0, cell: |cpu| cpu.cpu.to_string() },
    Column { name: "median", least_width: 0, cell: |cpu| time(cpu.median_s) },
    Column { name: "spread", least_width: 0, cell: |cpu| percent(cpu.spread) },
    Column {
        name: "all busy",
        least_width: 0,
        cell: |cpu| cpu.slowdown.map_or_else(absent_cell, |s| format!("x {}", slowdown_text(s))),
    },
    Column { name: "drift", least_width: 50, cell: |cpu| percent(cpu.drift) },
    Column { name: "waited", least_width: 50, cell: |cpu| cpu.waited.map_or_else(absent_cell, percent) },
    Column { name: "steal", least_width: 60, cell: |cpu| percent(cpu.steal) },
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
               against the fastest; waited: something else ran; all busy: how many times as long with all CPUs \
               at it.";
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
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| style.text_width() >= column.least_width).collect();
    let right = |text: &str| Cell::new(style.text(text)).set_alignment(CellAlignment::Right);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_row(columns.iter().map(|column| right(column.name)));
    for cpu in &noise.cpus {
        table.add_row(columns.iter().map(|column| right(&(column.cell)(cpu))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((GAP, 0));
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.enumerate().map(|(row, line)| if row == 0 { style.paint().dim(&line) } else { line }).collect()
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
