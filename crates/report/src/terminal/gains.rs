//! The ranked list of possible gains from removing an obstacle.

use morecores_study::Quantity;
use morecores_view::{Gain, GainPoint, View};

use super::Style;
use super::grid::Grid;
use crate::command;
use crate::format::{column_cells, cpus, time};

/// Report of `morecores what-if`.
pub fn gains_report(view: &View, gains: &[Gain], style: &Style) -> String {
    let title = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    let Some(first) = gains.first() else {
        sections.push(
            style.wrap("Nothing to gain: by replay no lock, command or disk costs a noticeable time.", "  "),
        );
        return super::join_sections(sections);
    };
    let now: Vec<String> = first
        .points
        .iter()
        .map(|point| format!("{} on {}", time(point.elapsed_s), cpus(point.cpus)))
        .collect();
    sections.push(style.wrap(
        &format!("elapsed time without a change, by replay: {}", crate::format::join_with_and(now)),
        "  ",
    ));
    sections.push(table_lines(gains, first, style));
    super::join_sections(sections)
}

fn table_lines(gains: &[Gain], first: &Gain, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    grid.add_names(0, "without, or faster", gains.iter().map(|gain| gain.change.clone()));
    for (index, point) in first.points.iter().enumerate() {
        let values = |field: fn(&GainPoint) -> f64| -> Vec<f64> {
            gains.iter().map(|gain| gain.points.get(index).map_or(f64::NAN, field)).collect()
        };
        let saved = values(|point| point.saved_s);
        let unit = Quantity::Time.column_scale(saved.iter().copied());
        let saved: Vec<f64> = saved.iter().map(|seconds| seconds / unit.size).collect();
        let rank = u8::try_from(index).unwrap_or(u8::MAX).saturating_mul(2);
        let cpus_text = cpus(point.cpus);
        grid.add_figures(rank, &format!("{cpus_text}\nsaved ({})", unit.symbol), column_cells(&saved));
        grid.add_figures(
            rank.saturating_add(1),
            &format!("{cpus_text}\nCPUs gained"),
            column_cells(&values(|point| point.gained_cpus)),
        );
    }
    grid.into_lines()
}
