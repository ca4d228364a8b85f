//! The ranked list of possible gains from removing an obstacle.

use morecores_study::Quantity;
use morecores_view::{Gain, GainPoint, View};

use super::Style;
use super::grid::Grid;
use crate::command;
use crate::format::{column_cells, cpus, ratio, time};

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

/// Table of the gains, which must not be empty.
pub(super) fn gain_lines(gains: &[Gain], style: &Style) -> Vec<String> {
    gains.first().map_or_else(Vec::new, |first| table_lines(gains, first, style))
}

fn table_lines(gains: &[Gain], first: &Gain, style: &Style) -> Vec<String> {
    let mut grid = Grid::new(style);
    grid.add_names(0, "without, or faster", gains.iter().map(|gain| gain.change.clone()));
    for (index, point) in first.points.iter().enumerate() {
        let points: Vec<Option<&GainPoint>> = gains.iter().map(|gain| gain.points.get(index)).collect();
        let saved: Vec<f64> =
            points.iter().map(|point| point.map_or(f64::NAN, |point| point.saved_s)).collect();
        let unit = Quantity::Time.column_scale(saved.iter().copied());
        let saved: Vec<f64> = saved.iter().map(|seconds| seconds / unit.size).collect();
        let gained = points.iter().map(|point| point.map_or(f64::NAN, |point| point.gained_cpus));
        let range = |ends: [f64; 2]| format!("{} to {}", ratio(ends[0]), ratio(ends[1]));
        let saved_band = |point: &GainPoint| range(point.saved_band90_s.map(|seconds| seconds / unit.size));
        let bands = |band: &dyn Fn(&GainPoint) -> String| -> Vec<String> {
            points.iter().map(|point| point.map_or(String::new(), band)).collect()
        };
        let rank = u8::try_from(index).unwrap_or(u8::MAX).saturating_mul(4);
        let cpus_text = cpus(point.cpus);
        let mut add = |further: u8, title: &str, cells: Vec<String>| {
            grid.add_figures(rank.saturating_add(further), &format!("{cpus_text}\n{title}"), cells);
        };
        add(0, &format!("saved ({})", unit.symbol), column_cells(&saved));
        add(2, "90% band", bands(&saved_band));
        add(1, "CPUs gained", column_cells(&gained.collect::<Vec<_>>()));
        add(3, "90% band", bands(&|point| range(point.gained_cpus_band90)));
    }
    grid.into_lines()
}
