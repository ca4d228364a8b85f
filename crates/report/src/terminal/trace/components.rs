//! The CPU-seconds of one traced run by component: a bar, and its figures.

use morecores_study::Quantity;
use morecores_view::TraceView;

use crate::format::{column_cells, percent};
use crate::terminal::Style;
use crate::terminal::bars::{self, Bar, BarUnit};
use crate::terminal::grid::Grid;
use crate::trace as run;

/// Bar and table of the components, the largest first.
pub(super) fn component_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let whole = run::total_cpu_seconds(trace);
    let parts = run::trace_parts(trace, style.wide);
    if parts.is_empty() {
        return Vec::new();
    }

    let cpus = Bar {
        label: trace.cpus.to_string(),
        parts: parts.iter().map(|(p, s)| (*p, s / trace.elapsed_s)).collect(),
    };
    let mut lines = vec!["where the CPUs went".to_owned()];
    lines.extend(bars::draw_bars(&[cpus], f64::from(trace.cpus), BarUnit::Cpus, style));
    lines.push(String::new());

    let unit = Quantity::Time.column_scale([trace.elapsed_s]);
    let mut grid = Grid::new(style);
    grid.add_signs(&parts.iter().map(|(part, _)| *part).collect::<Vec<_>>());
    grid.add_labels("of the CPUs' time", parts.iter().map(|(p, _)| run::part_name(*p, trace)));
    let header = format!("CPU time ({})", unit.symbol);
    let seconds: Vec<f64> = parts.iter().map(|(_, s)| s / unit.size).collect();
    grid.add_figures(1, &header, column_cells(&seconds));
    grid.add_figures(0, "share", parts.iter().map(|(_, s)| percent(s / whole)));
    lines.extend(grid.into_lines());
    lines
}
