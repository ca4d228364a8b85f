//! A prediction: the table of measured and predicted counts, the comparison of the models, and the
//! sentences beside them.

use morecores_study::Quantity;
use morecores_view::{ModelView, Prediction, View};

use super::Style;
use super::grid::Grid;
use super::notices::notice_lines;
use crate::format::{ABSENT, cpus, join_with_and, percent, ratio, two_digits};
use crate::prediction::{caveat_text, headline, model_name, sentences, signed_percent};
use crate::{Notice, Severity, command};

/// Price of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// CPUs of the machine.
    pub cpus: u32,
    /// Price of an hour, in any currency.
    pub per_hour: f64,
}

/// Numbers of runs to price. The table uses the fewest runs that cost at least [`LEAST_COST`].
const PRICE_SCALES: [f64; 3] = [1.0, 1e3, 1e6];
const LEAST_COST: f64 = 0.01;

/// Whether a report shows the table of the models behind a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelTable {
    /// The report shows it.
    Shown,
    /// The report leaves it out.
    Omitted,
}

/// Report of `morecores predict`.
pub fn prediction_report(
    view: &View,
    prediction: &Prediction,
    prices: &[Price],
    models: ModelTable,
    style: &Style,
) -> String {
    let title = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    sections.extend(prediction_sections(view, prediction, prices, style));
    let caveats: Vec<Notice> = caveats(prediction).collect();
    sections.push(notice_lines(&caveats, &Style { wide: true, ..*style }));
    if models == ModelTable::Shown {
        sections.push(model_lines(prediction, style));
    }
    super::join_sections(sections)
}

/// Sections of a prediction, without the command and the caveats.
pub(super) fn prediction_sections(
    view: &View,
    prediction: &Prediction,
    prices: &[Price],
    style: &Style,
) -> Vec<Vec<String>> {
    let lines = sentences(prediction).iter().flat_map(|text| style.wrap(text, "  ")).collect();
    vec![style.wrap(&headline(prediction), "  "), table_lines(view, prediction, prices, style), lines]
}

/// Caveats of a prediction, as notes.
pub(super) fn caveats(prediction: &Prediction) -> impl Iterator<Item = Notice> {
    prediction.caveats.iter().map(|c| Notice { severity: Severity::Note, text: caveat_text(c) })
}

/// One row of the table.
struct Row {
    cpus: u32,
    elapsed: Option<f64>,
    elapsed_band: Option<[f64; 2]>,
    speedup: Option<f64>,
    band: Option<[f64; 2]>,
    measured: bool,
}

fn table_lines(view: &View, prediction: &Prediction, prices: &[Price], style: &Style) -> Vec<String> {
    let points = || view.points.iter().filter(|point| prediction.from.contains(&point.cpus));
    // If a prediction uses only some of the counts, all ratios are over the smallest of these.
    let first = points().next().map_or(1.0, |point| point.speedup.value);
    let measured = points().map(|point| Row {
        cpus: point.cpus,
        elapsed: point.metric.is_none().then_some(point.elapsed_s.median),
        elapsed_band: None,
        speedup: Some(point.speedup.value / first),
        band: None,
        measured: true,
    });
    let predicted = prediction.points.iter().map(|point| Row {
        cpus: point.cpus,
        elapsed: point.elapsed_s,
        elapsed_band: point.elapsed_band90_s,
        speedup: point.speedup,
        band: Some(point.band90),
        measured: false,
    });
    let rows: Vec<Row> = measured.chain(predicted).collect();
    let is_time = view.plan.metric.is_none();
    let unit = Quantity::Time.column_scale(rows.iter().filter_map(|row| row.elapsed));
    let seconds = |value: f64| ratio(value / unit.size);
    let range = |band: Option<[f64; 2]>, format: &dyn Fn(f64) -> String| {
        band.map_or(String::new(), |[low, high]| format!("{} to {}", format(low), format(high)))
    };
    let cell = |value: Option<f64>, format: &dyn Fn(f64) -> String| value.map_or(ABSENT.to_owned(), format);

    let mut grid = Grid::new(style);
    grid.add_figures(0, "CPUs", rows.iter().map(|row| row.cpus.to_string()));
    if is_time {
        grid.add_figures(
            0,
            &format!("elapsed ({})", unit.symbol),
            rows.iter().map(|row| cell(row.elapsed, &seconds)),
        );
        grid.add_figures(3, "90% band", rows.iter().map(|row| range(row.elapsed_band, &seconds)));
    }
    grid.add_figures(0, "speedup", rows.iter().map(|row| cell(row.speedup, &ratio)));
    grid.add_figures(1, "90% band", rows.iter().map(|row| range(row.band, &ratio)));
    if !prices.is_empty() {
        let costs: Vec<Option<f64>> = rows
            .iter()
            .map(|row| {
                let price = prices.iter().find(|price| price.cpus == row.cpus)?;
                Some(price.per_hour * row.elapsed? / 3600.0)
            })
            .collect();
        let least = costs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        // A short run costs almost nothing.
        let runs = PRICE_SCALES
            .into_iter()
            .find(|runs| least == 0.0 || least * runs >= LEAST_COST)
            .unwrap_or(PRICE_SCALES[2]);
        let cost = |cost: &Option<f64>| match cost {
            None => String::new(),
            Some(cost) if *cost <= least => format!("{} least", ratio(runs * cost)),
            Some(cost) => ratio(runs * cost),
        };
        let title = if runs > 1.0 { format!("cost of {runs} runs") } else { "cost of a run".to_owned() };
        grid.add_figures(0, &title, costs.iter().map(cost));
    }
    grid.add_labels("", rows.iter().map(|row| if row.measured { "measured" } else { "" }.to_owned()));
    grid.into_lines()
}

/// Lists every model with its share in the prediction and its errors.
fn model_lines(prediction: &Prediction, style: &Style) -> Vec<String> {
    let largest = prediction.from.last().copied().unwrap_or(1);
    let tested = prediction.models.iter().any(|model| model.back_test.is_some());
    let test_note = if tested {
        format!("; back-test: the error of each at {}, predicted from the smaller counts", cpus(largest))
    } else {
        String::new()
    };
    let title = format!("models and their share of the prediction{test_note}");
    let mut lines = style.wrap(&title, "  ");
    let error = |error: Option<f64>| error.map_or(ABSENT.to_owned(), signed_percent);
    let cells = |cell: &dyn Fn(&ModelView) -> String| prediction.models.iter().map(cell).collect::<Vec<_>>();
    let mut grid = Grid::new(style);
    grid.add_labels("model", cells(&|model| model_name(model.model).to_owned()));
    grid.add_figures(0, "share", cells(&|model| percent(model.weight)));
    grid.add_figures(0, "back-test", cells(&|model| error(model.back_test)));
    grid.add_figures(1, "fit", cells(&|model| error(model.residual)));
    lines.extend(grid.into_lines());
    if !prediction.karp_flatt.is_empty() {
        let each = |(count, serial): &(u32, f64)| format!("{} at {}", percent(*serial), cpus(*count));
        let all = join_with_and(prediction.karp_flatt.iter().map(each));
        lines.extend(style.wrap(&format!("serial fraction by Karp and Flatt: {all}"), "  "));
    }
    if let Some((count, scaled)) = prediction.scaled_speedup.last() {
        let text = format!(
            "scaled speedup (Gustafson): if only the parallel work grew with the CPUs, {} would do {} times as much in \
             the same time",
            cpus(*count),
            two_digits(*scaled)
        );
        lines.extend(style.wrap(&text, "  "));
    }
    lines
}
