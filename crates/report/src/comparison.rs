//! A comparison in words: the changes, other differences between the studies, the components that
//! grew, and the outcome of the conditions.
//!
//! This module only writes the sentences and selects the notable results. The analysis has already
//! decided which results are differences.

use std::collections::BTreeSet;

use morecores_statistics::MIN_RUNS;
use morecores_study::Quantity;
use morecores_view::page::{Statement, TableCell};
use morecores_view::{
    Aspect, ComparedPoint, ComparedSpeedup, ComparedStack, Comparison, Component, ConditionResult,
    Difference, Estimate, Summary, Warning,
};

use crate::component::loss_name;
use crate::format::{
    ABSENT, UncertainFigure, cpu_share, cpus, figure_with_bounds, join_with_and, percent, ratio,
};
use crate::stack::FOLDED_SHARE;
use crate::table::{Column, Table};
use crate::warning::spoiling_sentences;

/// Number of components named in a sentence about growth. A choice: the table has more.
const MAX_NAMED: usize = 3;

/// Changes, as one paragraph that begins with a short answer.
pub(crate) fn verdict_statement(comparison: &Comparison) -> Statement {
    let points_with = |difference: Difference| -> Vec<&ComparedPoint> {
        comparison.points.iter().filter(|p| p.difference == difference).collect()
    };
    let (better, worse, same) =
        (points_with(Difference::Better), points_with(Difference::Worse), points_with(Difference::None));
    let rate = is_rate(comparison);
    let lead = match (better.is_empty(), worse.is_empty(), same.is_empty()) {
        (true, true, true) => "Too few runs to tell",
        (true, true, false) => "No difference found",
        (true, false, _) => "Worse",
        (false, true, _) => "Better",
        (false, false, _) => "Better and worse",
    };
    let mut clauses: Vec<String> =
        [worse, better].into_iter().flatten().map(|point| claim_clause(point, rate)).collect();
    clauses.extend(same_clause(&same));
    let unknown = points_with(Difference::Unknown);
    if !unknown.is_empty() {
        let times = unknown.iter().map(|p| format!("{} times as long", ratio(p.ratio.value)));
        clauses.push(format!(
            "on {} NEW takes {}; a test of {} takes {} runs of each count",
            cells_text(&unknown),
            join_with_and(times),
            match comparison.ratios {
                1 => "one ratio".to_owned(),
                ratios => format!("{ratios} ratios at once"),
            },
            comparison.sufficient_runs
        ));
    }
    let mut sentences = vec![format!("{}.", clauses.join("; "))];
    sentences.extend(scaling_sentences(comparison));
    Statement::new(lead, sentences.join(" "))
}

/// Clause for one CPU count: `on 2 CPUs NEW takes 1.09 times as long (interval 1.06 to 1.12)`.
fn claim_clause(point: &ComparedPoint, rate: bool) -> String {
    let what = if rate { "of BASE's metric" } else { "as long" };
    let verb = if rate { "has" } else { "takes" };
    format!(
        "on {} NEW {verb} {} times {what}{}",
        cell_text(point),
        ratio_text(point),
        interval_text(point.ratio.ci95, point.ratio.value)
    )
}

fn ratio_text(point: &ComparedPoint) -> String {
    figure_with_bounds(point.ratio.value, point.ratio.ci95).0
}

fn interval_text(ci95: Option<[f64; 2]>, value: f64) -> String {
    match figure_with_bounds(value, ci95).1 {
        Some([low, high]) => format!(" (interval {low} to {high})"),
        None => " (no interval)".to_owned(),
    }
}

/// Clause for the counts without a detected difference, with the largest difference that the
/// intervals leave open.
fn same_clause(same: &[&ComparedPoint]) -> Option<String> {
    if same.is_empty() {
        return None;
    }
    let hidden = same.iter().filter_map(|point| hidden_difference(point)).fold(0.0, f64::max);
    Some(format!("on {} any difference is within the noise and below {}", cells_text(same), percent(hidden)))
}

/// Largest difference that the interval leaves open.
fn hidden_difference(point: &ComparedPoint) -> Option<f64> {
    let [low, high] = point.ratio.ci95?;
    Some((high - 1.0).max(1.0 / low - 1.0))
}

/// Name of a cell: `2 CPUs`, or `2 CPUs with n = 3`.
fn cell_text(point: &ComparedPoint) -> String {
    let axes: Vec<String> = point.axes.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
    let with = if axes.is_empty() { String::new() } else { format!(" with {}", join_with_and(&axes)) };
    cpus(point.cpus) + &with
}

/// Names of several cells, in short if these differ in their CPU counts alone.
fn cells_text(points: &[&ComparedPoint]) -> String {
    if points.iter().any(|point| !point.axes.is_empty()) {
        return join_with_and(points.iter().map(|point| cell_text(point)));
    }
    cpus_text(&points.iter().map(|point| point.cpus.to_string()).collect::<Vec<_>>())
}

fn cpus_text(counts: &[String]) -> String {
    let noun = if counts == ["1"] { "CPU" } else { "CPUs" };
    format!("{} {noun}", join_with_and(counts))
}

/// Change of the speedup at each count with a difference.
fn scaling_sentences(comparison: &Comparison) -> Vec<String> {
    let speedups = comparison.points.iter().filter_map(|p| Some((p, p.speedup?)));
    speedups
        .filter(|(_, s)| matches!(s.difference, Difference::Better | Difference::Worse))
        .map(|(point, s)| {
            let how = if s.difference == Difference::Better { "better" } else { "worse" };
            let (times, _) = figure_with_bounds(s.ratio.value, s.ratio.ci95);
            format!(
                "NEW scales {how}: its speedup on {} is {} instead of {}, {times} times{}.",
                cell_text(point),
                ratio(s.new),
                ratio(s.base),
                interval_text(s.ratio.ci95, s.ratio.value)
            )
        })
        .collect()
}

/// Whether both studies are about a metric instead of a time.
pub(crate) fn is_rate(comparison: &Comparison) -> bool {
    comparison.metric.is_some()
}

/// Warning that the two studies are of different commands; it comes before all figures.
pub(crate) fn different_commands(comparison: &Comparison) -> Option<String> {
    let commands = comparison.unlike.iter().find(|unlike| unlike.aspect == Aspect::Command)?;
    Some(format!(
        "The studies measure different commands: {} in BASE, {} in NEW. A difference may come from the command, not \
         from a change to it.",
        commands.base, commands.new
    ))
}

/// Other differences between the studies, one sentence each, the most important first.
pub(crate) fn mismatch_lines(comparison: &Comparison) -> Vec<String> {
    let others = comparison.unlike.iter().filter(|unlike| unlike.aspect != Aspect::Command);
    let sentences = others.map(|unlike| {
        let what = match unlike.aspect {
            Aspect::Command => "The commands differ",
            Aspect::Machine => "The machines differ",
            Aspect::Kernel => "The kernels differ",
            Aspect::Limit => "The limits to the CPUs differ",
            Aspect::Cache => "The caches before each run differ",
            Aspect::CpuSet => "The CPUs differ",
            Aspect::Cells => "The cells at the common counts differ",
            Aspect::Tool => "The versions of morecores differ",
        };
        let means = match unlike.aspect {
            Aspect::Machine => "; a difference may come from the machine, not from the program",
            _ => "",
        };
        format!("{what}: {} in BASE, {} in NEW{means}.", unlike.base, unlike.new)
    });
    let mut lines: Vec<String> = sentences.collect();
    for (counts, here, there) in
        [(&comparison.only_base, "BASE", "NEW"), (&comparison.only_new, "NEW", "BASE")]
    {
        let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
        if !counts.is_empty() {
            lines.push(format!(
                "Only {here} has {}, so these counts have no comparison with {there}.",
                cpus_text(&counts)
            ));
        }
    }
    for (side, study) in [("BASE", &comparison.base), ("NEW", &comparison.new)] {
        let spoiling = spoiling_sentences(&study.warnings);
        if !spoiling.is_empty() {
            lines.push(format!("In {side}: {}", spoiling.join(" ")));
        }
    }
    lines
}

/// Components that grew and shrank at the largest count, in CPUs; none without two stacks.
pub(crate) fn growth_text(comparison: &Comparison) -> Option<String> {
    let stack = comparison.stack.last()?;
    let whole = cpus(stack.cpus);
    let Some(intervals) = stack.grown_ci95 else {
        return Some(format!(
            "Changes of the losses on {whole}: not known. Their intervals need {MIN_RUNS} timed and 2 traced runs of \
             each count in both studies (run --traced-runs 3)."
        ));
    };
    let size = |component: &Component| component.loss(&stack.grown).map_or(0.0, f64::abs);
    let mut parts: Vec<Component> =
        Component::ALL.into_iter().filter(|component| has_grown(*component, stack)).collect();
    parts.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let text = if parts.is_empty() {
        format!(
            "On {whole}, no change of a loss is known: each is within its interval or below {} of the CPUs.",
            percent(FOLDED_SHARE)
        )
    } else {
        let changes = parts.iter().take(MAX_NAMED).map(|component| {
            let more = component.loss(&stack.grown).unwrap_or(0.0);
            let culprit = match component {
                Component::IdleTooLittleWork => culprit_text(stack, more),
                _ => String::new(),
            };
            let [low, high] = component.interval(&intervals).unwrap_or([more; 2]).map(signed_cpus);
            format!("\"{}\" by {} ({low} to {high}{culprit})", loss_name(*component), signed_cpus(more))
        });
        let changes = join_with_and(changes);
        format!("The losses on {whole} that changed most, in CPUs, each with its 95% interval: {changes}.")
    };
    let guess = if has_lossy_trace(comparison) { " A trace lost events, so these are guesses." } else { "" };
    Some(text + guess)
}

/// Whether a component grew or shrank: its change is large, and the interval excludes zero.
fn has_grown(component: Component, stack: &ComparedStack) -> bool {
    let is_large = |more: f64| more.abs() >= FOLDED_SHARE * f64::from(stack.cpus);
    let interval = stack.grown_ci95.and_then(|intervals| component.interval(&intervals));
    component.loss(&stack.grown).is_some_and(is_large)
        && interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
}

/// Whether a trace of either study lost events.
fn has_lossy_trace(comparison: &Comparison) -> bool {
    let warnings = [&comparison.base, &comparison.new].into_iter().flat_map(|side| &side.warnings);
    warnings.into_iter().any(|warning| matches!(warning, Warning::LossyTrace { .. }))
}

/// Names the command that ran at the time, if one has most of the growth: `; while cc1 ran +0.10`.
fn culprit_text(stack: &ComparedStack, more: f64) -> String {
    let growth = |c: &&morecores_view::Culprit| c.lost_cpus * more.signum();
    let most = stack.culprits.iter().max_by(|a, b| growth(a).total_cmp(&growth(b)));
    most.filter(|c| growth(c) > 0.0)
        .map(|c| format!("; while {} ran {}", c.name, signed_cpus(c.lost_cpus)))
        .unwrap_or_default()
}

/// CPUs with their sign: `+0.12`.
pub(crate) fn signed_cpus(more: f64) -> String {
    let text = cpu_share(more);
    if text.starts_with('-') { text } else { format!("+{text}") }
}

/// Outcome of one condition, in one sentence.
pub(crate) fn condition_text(result: &ConditionResult) -> String {
    let figure = |value: f64| if result.of_base { percent(value) } else { ratio(value) };
    let outcome = match result.holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "is not known yet",
    };
    let ends = match result.compared.ci95 {
        Some([low, high]) => format!(" (95% interval {} to {})", figure(low), figure(high)),
        None if result.holds.is_none() => " (too few runs for an interval)".to_owned(),
        None => String::new(),
    };
    let share_of_base = match result.base {
        Some(base) => format!(" of BASE, {} after {}", ratio(result.new.value), ratio(base.value)),
        None => String::new(),
    };
    format!("{} {outcome}: it is {}{share_of_base}{ends}", result.condition, figure(result.compared.value))
}

/// Table of the figures: a row for each CPU count. If there is no room, the ratios and their
/// verdicts are dropped last.
pub(crate) fn table(comparison: &Comparison) -> Table {
    let points = &comparison.points;
    let (unit, quantity, name) = match &comparison.metric {
        Some(metric) => (1.0, None, metric.clone()),
        None => {
            let medians = points.iter().flat_map(|p| [p.base.median, p.new.median]);
            let scale = Quantity::Time.column_scale(medians);
            (scale.size, Some(Quantity::Time), scale.symbol.to_owned())
        }
    };
    let column = |rank: u8, header: &str, cell: &dyn Fn(&ComparedPoint) -> TableCell| {
        Column::figures(rank, header, points.iter().map(cell))
    };
    let median = |summary: &Summary| TableCell {
        value: Some(summary.median),
        unit: quantity,
        text: UncertainFigure::new(summary.median, summary.ci95, unit).inline(),
    };
    let ratio_cell = |ratio: &Estimate| {
        let text = UncertainFigure::new(ratio.value, ratio.ci95, 1.0).inline();
        TableCell::figure(Quantity::Number, Some(ratio.value), text)
    };
    let mut columns = vec![column(0, "CPUs", &|p| {
        TableCell::figure(Quantity::Count, Some(f64::from(p.cpus)), p.cpus.to_string())
    })];
    let axes: BTreeSet<&String> = points.iter().flat_map(|point| point.axes.keys()).collect();
    for axis in axes {
        columns.push(column(0, axis, &|p| {
            TableCell::name(p.axes.get(axis).map_or(ABSENT.to_owned(), ToString::to_string))
        }));
    }
    columns.extend([
        column(2, &format!("BASE ({name})"), &|p| median(&p.base)),
        column(2, &format!("NEW ({name})"), &|p| median(&p.new)),
        column(0, "NEW/BASE", &|p| ratio_cell(&p.ratio)),
        column(0, "that is", &|p| TableCell::name(difference_word(p.difference))),
    ]);
    if points.iter().any(|p| p.speedup.is_some()) {
        let speedup = |rank: u8, header: &str, cell: &dyn Fn(&ComparedSpeedup) -> TableCell| {
            column(rank, header, &|p| p.speedup.as_ref().map_or_else(|| TableCell::name(ABSENT), cell))
        };
        let change = |s: &ComparedSpeedup| format!("{} → {}", ratio(s.base), ratio(s.new));
        columns.extend([
            speedup(4, "speedup", &|s| TableCell::figure(Quantity::Number, Some(s.new), change(s))),
            speedup(3, "NEW/BASE", &|s| ratio_cell(&s.ratio)),
            speedup(1, "that is", &|s| TableCell::name(difference_word(s.difference))),
        ]);
    }
    Table::new("", columns)
}

fn difference_word(difference: Difference) -> &'static str {
    match difference {
        Difference::Better => "better",
        Difference::Worse => "worse",
        Difference::None => "no difference",
        Difference::Unknown => "not known",
    }
}

/// Table of the components that grew: the CPUs at each count; none without such a component. A
/// component that grew at no count gets no row.
pub(crate) fn growth_table(comparison: &Comparison) -> Option<Table> {
    let stacks = &comparison.stack;
    let has_grown_somewhere = |component: &Component| stacks.iter().any(|s| has_grown(*component, s));
    let mut shown: Vec<Component> = Component::ALL.into_iter().filter(has_grown_somewhere).collect();
    let largest = stacks.last().filter(|_| !shown.is_empty())?;
    let weight = |c: &Component| c.loss(&largest.grown).unwrap_or(0.0);
    shown.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let figure = |more: f64| TableCell::figure(Quantity::Cpus, Some(more), signed_cpus(more));
    let cell = |component: Component, stack: &ComparedStack| match component.loss(&stack.grown) {
        None => TableCell::name(ABSENT),
        Some(more) if has_grown(component, stack) => figure(more),
        Some(_) => TableCell::name(difference_word(Difference::Unknown)),
    };
    let names = std::iter::once("speedup").chain(shown.iter().map(|component| loss_name(*component)));
    let mut columns = vec![Column::labels("CPUs, NEW less BASE", names.map(str::to_owned))];
    // The largest count stays longest.
    for (index, stack) in stacks.iter().enumerate() {
        let rank = u8::try_from(stacks.len() - 1 - index).unwrap_or(u8::MAX);
        let speedup = figure(stack.new_speedup - stack.base_speedup);
        let cells = shown.iter().map(|component| cell(*component, stack));
        let cells = std::iter::once(speedup).chain(cells);
        columns.push(Column::figures(rank, &format!("of {}", stack.cpus), cells));
    }
    Some(Table::new("", columns))
}

/// Explains how to read the figures.
pub(crate) fn table_note(comparison: &Comparison) -> String {
    let minimum = match comparison.at_least > 0.0 {
        true => format!(" A difference below {} is not reported.", percent(comparison.at_least)),
        false => String::new(),
    };
    let together = match comparison.ratios {
        1 => String::new(),
        ratios => format!(", in all {ratios} ratios together"),
    };
    format!(
        "±: the wider side of the interval. Noise alone makes a difference in at most 5% of comparisons{together}.\
         {minimum} No interval covers changes between sessions."
    )
}
