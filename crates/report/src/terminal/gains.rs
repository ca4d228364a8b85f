//! The ranked list of possible gains from removing an obstacle.

use morecores_view::{Gain, GainPoint, View};

use super::Style;
use super::grid::Grid;
use crate::command;
use crate::format::{TimeUnit, column, cpus, time};

/// Report of `morecores what-if`.
pub fn gains_report(view: &View, gains: &[Gain], style: &Style) -> String {
    let title = style.wrap(&command::with_variables(&view.command, &view.plan.env), "  ");
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    let Some(first) = gains.first() else {
        sections.push(
            style
                .wrap("Nothing in the trace is worth mending: no lock, command or disk is in the way.", "  "),
        );
        return super::joined(sections);
    };
    let now: Vec<String> = first
        .points
        .iter()
        .map(|point| format!("{} on {}", time(point.elapsed_s), cpus(point.cpus)))
        .collect();
    sections.push(style.wrap(&format!("by replay: {} as it is", crate::format::list(now)), "  "));
    sections.push(table(gains, first, style));
    super::joined(sections)
}

fn table(gains: &[Gain], first: &Gain, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    grid.names(0, "without, or faster", gains.iter().map(|gain| gain.change.clone()));
    for (index, point) in first.points.iter().enumerate() {
        let of = |of: fn(&GainPoint) -> f64| -> Vec<f64> {
            gains.iter().map(|gain| gain.points.get(index).map_or(f64::NAN, of)).collect()
        };
        let saved = of(|point| point.saved_s);
        let unit = TimeUnit::for_column(saved.iter().copied());
        let saved: Vec<f64> = saved.iter().map(|seconds| seconds / unit.seconds()).collect();
        let rank = u8::try_from(index).unwrap_or(u8::MAX).saturating_mul(2);
        let of_count = cpus(point.cpus);
        grid.figures(rank, &format!("{of_count}\nsaved ({})", unit.symbol()), column(&saved));
        grid.figures(
            rank.saturating_add(1),
            &format!("{of_count}\nCPUs gained"),
            column(&of(|point| point.gained_cpus)),
        );
    }
    grid.lines()
}
