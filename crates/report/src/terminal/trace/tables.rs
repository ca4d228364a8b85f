//! The tables of one traced run: serial phases, commands, kernel locks, other processes.

use morecores_study::Quantity;
use morecores_view::{CommandView, LockView, SerialPhase, TraceView};

use crate::format::{ABSENT, column_cells, count, percent, percent_with_error, time};
use crate::terminal::Style;
use crate::terminal::grid::Grid;

/// Largest number of rows, for a full table and for a table of notable rows.
const MAX_ROWS: usize = 10;
const MAX_NOTABLE_ROWS: usize = 5;

/// Number of serial phases shown, and of processes in a list.
const MAX_LISTED: usize = 5;

/// Share of the CPU time from which a command is notable.
const LEAST_COMMAND_SHARE: f64 = 0.05;

/// Waits over the CPUs' time, from which locks are notable.
const LEAST_WAIT_SHARE: f64 = 0.01;

/// Selection of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowSelection {
    /// The first ten rows; the rest is folded into one row.
    First,
    /// The notable rows; no table if there are none.
    Notable,
}

/// Longest serial phases, in the order of time, and the total of all serial phases.
pub(super) fn serial_phases(trace: &TraceView, style: &Style) -> Vec<String> {
    let parts = trace.parts;
    let whole = parts.serial_s + parts.parallel_s;
    if whole <= 0.0 {
        return Vec::new();
    }
    if parts.serial_s <= 0.0 {
        let none = format!("serial phases: none of {} or longer", time(trace.serial_minimum_s));
        return style.wrap(&none, "  ");
    }
    let share = percent(parts.serial_s / whole);
    let title = format!(
        "serial phases: {} of {} ({share}), with one thread at most for {} or longer",
        time(parts.serial_s),
        time(whole),
        time(trace.serial_minimum_s)
    );
    let mut lines = style.wrap(&title, "  ");
    let mut longest: Vec<&SerialPhase> = trace.serial_phases.iter().collect();
    longest.sort_by(|a, b| b.duration_s.total_cmp(&a.duration_s));
    let folded = longest.len().saturating_sub(MAX_LISTED);
    let rest: f64 = longest.iter().skip(MAX_LISTED).map(|p| p.duration_s).sum();
    longest.truncate(MAX_LISTED);
    longest.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    if longest.is_empty() {
        return lines;
    }
    let unit = Quantity::Time.column_scale(longest.iter().map(|p| p.duration_s));
    let in_unit = |seconds: f64| seconds / unit.size;
    let starts: Vec<f64> = longest.iter().map(|p| in_unit(p.start_s)).collect();
    let durations = longest.iter().map(|p| in_unit(p.duration_s));
    let durations: Vec<f64> = durations.chain((folded > 0).then(|| in_unit(rest))).collect();
    let mut grid = Grid::new(style);
    grid.add_names(0, "mostly", longest.iter().map(|p| p.culprit.clone()).chain(more_row(folded, "phase")));
    grid.add_figures(1, &format!("begins ({})", unit.symbol), column_cells(&starts));
    grid.add_figures(0, &format!("lasts ({})", unit.symbol), column_cells(&durations));
    lines.extend(grid.into_lines());
    lines
}

/// Commands in the columns of the published table: calls, CPU ratio, kernel ratio, waiting ratio.
pub(super) fn commands(trace: &TraceView, selection: RowSelection, style: &Style) -> Vec<String> {
    let notable = trace.commands.iter().filter(|c| c.cpu_ratio >= LEAST_COMMAND_SHARE).count();
    let rows = match selection {
        RowSelection::First => MAX_ROWS.min(trace.commands.len()),
        // A single command is the whole run, and its figures stand above.
        RowSelection::Notable if notable < 2 => 0,
        RowSelection::Notable => notable.min(MAX_NOTABLE_ROWS),
    };
    if rows == 0 {
        return Vec::new();
    }
    let (shown, rest) = trace.commands.split_at(rows);
    let calls: u64 = rest.iter().map(|c| c.calls).sum();
    let cpu: f64 = rest.iter().map(|c| c.cpu_ratio).sum();
    let folded = !rest.is_empty();
    let fold = |text: String| folded.then_some(text);
    let kernel = |c: &CommandView| match (c.kernel_ratio, c.kernel_ratio_error) {
        (None, _) => ABSENT.to_owned(),
        (Some(ratio), Some(error)) if error > 0.0 => percent_with_error(ratio, error),
        (Some(ratio), _) => percent(ratio),
    };
    let waiting = |c: &CommandView| c.waiting_ratio.map_or(ABSENT.to_owned(), percent);

    let mut grid = Grid::new(style);
    grid.add_names(0, "command", shown.iter().map(|c| c.name.clone()).chain(more_row(rest.len(), "command")));
    grid.add_figures(
        3,
        "calls",
        shown.iter().map(|c| count(c.calls as f64)).chain(fold(count(calls as f64))),
    );
    grid.add_figures(0, "CPU ratio", shown.iter().map(|c| percent(c.cpu_ratio)).chain(fold(percent(cpu))));
    grid.add_figures(1, "kernel ratio", shown.iter().map(kernel).chain(fold(String::new())));
    if trace.commands.iter().any(|c| c.waiting_ratio.is_some()) {
        grid.add_figures(2, "waiting ratio", shown.iter().map(waiting).chain(fold(String::new())));
    }
    let mut lines = vec![format!("commands on {}", crate::format::cpus(trace.cpus))];
    lines.extend(grid.into_lines());
    if shown.iter().any(|c| c.kernel_ratio_error.is_some()) {
        lines.extend(style.wrap_dim("±: standard error of a kernel ratio counted by ticks."));
    }
    lines
}

/// Kernel locks with waits.
pub(super) fn locks(trace: &TraceView, selection: RowSelection, style: &Style) -> Vec<String> {
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let waits: f64 = trace.locks.iter().map(|l| l.wait_s).sum();
    let rows = match selection {
        RowSelection::First => MAX_ROWS.min(trace.locks.len()),
        RowSelection::Notable if waits < LEAST_WAIT_SHARE * whole => 0,
        RowSelection::Notable => MAX_NOTABLE_ROWS.min(trace.locks.len()),
    };
    if rows == 0 {
        return Vec::new();
    }
    let (shown, rest) = trace.locks.split_at(rows);
    let folded = !rest.is_empty();
    let cells = |figure: fn(&LockView) -> f64, all: f64, word: fn(f64) -> String| {
        let each = shown.iter().map(move |l| word(figure(l)));
        each.chain(folded.then(|| word(all))).collect::<Vec<_>>()
    };
    let sum = |figure: fn(&LockView) -> f64| rest.iter().map(figure).sum::<f64>();
    let longest = rest.iter().map(|l| l.max_wait_s).fold(0.0, f64::max);

    let mut grid = Grid::new(style);
    grid.add_names(
        0,
        "kernel lock",
        shown.iter().map(|l| l.symbol.clone()).chain(more_row(rest.len(), "lock")),
    );
    grid.add_names(4, "kind", shown.iter().map(|l| l.kind.clone()));
    let caller = |l: &LockView| l.caller.clone().unwrap_or(ABSENT.to_owned());
    grid.add_names(2, "wanted by", shown.iter().map(caller));
    grid.add_figures(3, "waits", cells(|l| l.count as f64, sum(|l| l.count as f64), count));
    grid.add_figures(0, "waited", cells(|l| l.wait_s, sum(|l| l.wait_s), time));
    grid.add_figures(1, "spinning", cells(|l| l.spin_s, sum(|l| l.spin_s), time));
    grid.add_figures(5, "longest", cells(|l| l.max_wait_s, longest, time));
    let mut lines = vec![format!("kernel locks on {}", crate::format::cpus(trace.cpus))];
    lines.extend(grid.into_lines());
    lines
}

/// Commands that ran while CPUs were idle, and other processes that used the CPUs.
pub(super) fn other_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let ran = trace.culprits.iter().map(|culprit| {
        let waiting = culprit.waiting_in.as_ref().map(|call| format!(" (others in {call})"));
        format!("{} {}{}", culprit.name, time(culprit.lost_cpus), waiting.unwrap_or_default())
    });
    let used = trace.others.iter().map(|(name, seconds)| format!("{name} {}", time(*seconds)));
    [
        ("ran while CPUs were idle for lack of work", join_first(ran.collect())),
        ("other processes on these CPUs", join_first(used.collect())),
    ]
    .into_iter()
    .filter(|(_, who)| !who.is_empty())
    .flat_map(|(what, who)| style.wrap(&format!("{what}: {who}"), "  "))
    .collect()
}

/// First names of a list, and the number of the others.
fn join_first(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.join(", ")
}

/// Name of the row that holds the rest.
fn more_row(rows: usize, what: &str) -> Option<String> {
    let plural = if rows == 1 { "" } else { "s" };
    (rows > 0).then(|| format!("{rows} more {what}{plural}"))
}
