//! A prediction: the table of measured and predicted counts, the comparison of the models, and the
//! sentences beside them.

use morecores_view::{ModelView, Prediction, View};

use super::Style;
use super::grid::Grid;
use super::notices::notices;
use crate::format::{ABSENT, TimeUnit, list, percent, ratio, rough};
use crate::prediction::{caveat, form_name, headline, sentences, signed};
use crate::{Notice, Severity, command};

/// Price of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// CPUs of the machine.
    pub cpus: u32,
    /// Price of an hour, in any currency.
    pub an_hour: f64,
}

/// Numbers of runs to price. The table uses the fewest runs that cost at least [`LEAST_COST`].
const SO_MANY: [f64; 3] = [1.0, 1e3, 1e6];
const LEAST_COST: f64 = 0.01;

/// Report of `morecores predict`.
pub fn prediction_report(
    view: &View,
    prediction: &Prediction,
    prices: &[Price],
    explain: bool,
    style: &Style,
) -> String {
    let title = style.wrap(&command::with_variables(&view.command, &view.plan.env), "  ");
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    sections.extend(prediction_sections(view, prediction, prices, style));
    let caveats: Vec<Notice> = caveats(prediction).collect();
    sections.push(notices(&caveats, &Style { wide: true, ..*style }));
    if explain {
        sections.push(models(prediction, style));
    }
    super::joined(sections)
}

/// Sections of a prediction, without the command and the caveats.
pub(super) fn prediction_sections(
    view: &View,
    prediction: &Prediction,
    prices: &[Price],
    style: &Style,
) -> Vec<Vec<String>> {
    let said = sentences(prediction).iter().flat_map(|text| style.wrap(text, "  ")).collect();
    vec![style.wrap(&headline(prediction), "  "), table(view, prediction, prices, style), said]
}

/// Caveats of a prediction, as notes.
pub(super) fn caveats(prediction: &Prediction) -> impl Iterator<Item = Notice> {
    prediction.caveats.iter().map(|c| Notice { severity: Severity::Note, text: caveat(c) })
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

fn table(view: &View, prediction: &Prediction, prices: &[Price], style: &Style) -> Vec<String> {
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
    let unit = TimeUnit::for_column(rows.iter().filter_map(|row| row.elapsed));
    let seconds = |value: f64| ratio(value / unit.seconds());
    let range = |band: Option<[f64; 2]>, of: &dyn Fn(f64) -> String| {
        band.map_or(String::new(), |[low, high]| format!("{} to {}", of(low), of(high)))
    };
    let of = |value: Option<f64>, of: &dyn Fn(f64) -> String| value.map_or(ABSENT.to_owned(), of);

    let mut grid = Grid::new(style);
    grid.figures(0, "CPUs", rows.iter().map(|row| row.cpus.to_string()));
    if is_time {
        grid.figures(
            0,
            &format!("elapsed ({})", unit.symbol()),
            rows.iter().map(|row| of(row.elapsed, &seconds)),
        );
        grid.figures(3, "90% band", rows.iter().map(|row| range(row.elapsed_band, &seconds)));
    }
    grid.figures(0, "speedup", rows.iter().map(|row| of(row.speedup, &ratio)));
    grid.figures(1, "90% band", rows.iter().map(|row| range(row.band, &ratio)));
    if !prices.is_empty() {
        let costs: Vec<Option<f64>> = rows
            .iter()
            .map(|row| {
                let price = prices.iter().find(|price| price.cpus == row.cpus)?;
                Some(price.an_hour * row.elapsed? / 3600.0)
            })
            .collect();
        let least = costs.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        // A short run costs almost nothing.
        let runs =
            SO_MANY.into_iter().find(|runs| least == 0.0 || least * runs >= LEAST_COST).unwrap_or(SO_MANY[2]);
        let cost = |cost: &Option<f64>| match cost {
            None => String::new(),
            Some(cost) if *cost <= least => format!("{} least", ratio(runs * cost)),
            Some(cost) => ratio(runs * cost),
        };
        let title = if runs > 1.0 { format!("cost of {runs} runs") } else { "cost of a run".to_owned() };
        grid.figures(0, &title, costs.iter().map(cost));
    }
    grid.labels("", rows.iter().map(|row| if row.measured { "measured" } else { "" }.to_owned()));
    grid.lines()
}

/// Lists every model with its share in the prediction and its errors.
fn models(prediction: &Prediction, style: &Style) -> Vec<String> {
    let largest = prediction.from.last().copied().unwrap_or(1);
    let tested = prediction.models.iter().any(|model| model.back_test.is_some());
    let test = if tested {
        format!("; the back-test is how far each, given the smaller counts alone, was off at {largest}")
    } else {
        String::new()
    };
    let title = format!("models, by their share in the prediction{test}:");
    let mut lines = style.wrap(&title, "  ");
    let error = |error: Option<f64>| error.map_or(ABSENT.to_owned(), signed);
    let of = |of: &dyn Fn(&ModelView) -> String| prediction.models.iter().map(of).collect::<Vec<_>>();
    let mut grid = Grid::new(style);
    grid.labels("model", of(&|model| form_name(&model.model).to_owned()));
    grid.figures(0, "share", of(&|model| percent(model.weight)));
    grid.figures(0, "back-test", of(&|model| error(model.back_test)));
    grid.figures(1, "fit", of(&|model| error(model.residual)));
    lines.extend(grid.lines());
    if !prediction.karp_flatt.is_empty() {
        let each = |(cpus, serial): &(u32, f64)| format!("{} at {cpus}", percent(*serial));
        let all = list(prediction.karp_flatt.iter().map(each));
        lines.extend(style.wrap(&format!("serial fraction by Karp and Flatt: {all}"), "  "));
    }
    if let Some((cpus, scaled)) = prediction.scaled_speedup.last() {
        let text = format!(
            "with more work for more CPUs and no more of it serial (Gustafson), {cpus} would do {} times as much in the same \
             time",
            rough(*scaled)
        );
        lines.extend(style.wrap(&text, "  "));
    }
    lines
}
