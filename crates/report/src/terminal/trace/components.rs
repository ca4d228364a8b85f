//! Where the CPU-seconds of one traced run went: a bar, and its figures.

use morecores_record::TraceView;

use crate::Component;
use crate::format::{TimeUnit, column, percent};
use crate::stack::{FOLDED, Part, folded_name};
use crate::terminal::Style;
use crate::terminal::bars::{self, Bar, Unit};
use crate::terminal::grid::Grid;

/// The bar and the table of components, the largest first.
pub(super) fn components(trace: &TraceView, style: &Style) -> Vec<String> {
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let seconds = |c: &Component| c.seconds(&trace.components);
    let least = if style.wide { 0.0 } else { FOLDED * whole };
    let (mut shown, folded): (Vec<Component>, Vec<Component>) = Component::ALL
        .into_iter()
        .filter(|c| seconds(c).is_finite() && seconds(c) != 0.0)
        .partition(|c| seconds(c).abs() >= least);
    shown.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    let mut parts: Vec<(Part, f64)> = shown.iter().map(|c| (Part::Of(*c), seconds(c))).collect();
    if !folded.is_empty() {
        parts.push((Part::Folded, folded.iter().map(seconds).sum()));
    }
    if parts.is_empty() || whole <= 0.0 {
        return Vec::new();
    }

    let cpus = Bar {
        label: trace.cpus.to_string(),
        parts: parts.iter().map(|(p, s)| (*p, s / trace.elapsed_s)).collect(),
    };
    let mut lines = vec!["where the CPUs went".to_owned()];
    lines.extend(bars::bars(&[cpus], f64::from(trace.cpus), Unit::Cpus, style));
    lines.push(String::new());

    let unit = TimeUnit::for_column([trace.elapsed_s]);
    let name = |part: &Part| match part {
        Part::Of(component) => component.name().to_owned(),
        _ => folded_name(),
    };
    let mut grid = Grid::new(style);
    grid.parts(&parts.iter().map(|(part, _)| *part).collect::<Vec<_>>());
    grid.labels("of the CPUs' time", parts.iter().map(|(p, _)| name(p)));
    let header = format!("CPU time ({})", unit.symbol());
    let seconds: Vec<f64> = parts.iter().map(|(_, s)| s / unit.seconds()).collect();
    grid.figures(1, &header, column(&seconds));
    grid.figures(0, "share", parts.iter().map(|(_, s)| percent(s / whole)));
    lines.extend(grid.lines());
    lines
}
