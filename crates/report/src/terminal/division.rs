//! Report of `morecores show --by`: one division of the traced runs' time, in place of the whole
//! report.

use morecores_view::{TraceView, View};

use super::Style;
use super::grid::lines_with_title;
use crate::code::{
    FunctionRows, call_losses_table, calls_table, function_losses_table, functions_table, stack_coverage_text,
};
use crate::command;
use crate::critical_path::{critical_path_table, threads_table};
use crate::efficiency::{efficiency_table, efficiency_text};
use crate::stack::stack_notes;
use crate::table::Table;

/// Division of the time of traced runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// The code that holds each loss, or the code of a run that has no other run to compare it
    /// with.
    Function,
    /// The critical path.
    Path,
    /// Threads by criticality.
    Thread,
    /// Efficiencies in the words of POP.
    Efficiency,
}

/// Report of one division; none if no trace of the study shows it.
pub fn division_report(view: &View, division: Division, style: &Style) -> Option<String> {
    let title = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let title = title.iter().map(|line| style.paint().bold(line)).collect();
    let sections = match division {
        Division::Function => function_sections(view, style),
        Division::Path => table_sections(view.traces.iter().map(critical_path_table), style),
        Division::Thread => table_sections(view.traces.iter().map(threads_table), style),
        Division::Efficiency => efficiency_section(view, style).map_or(Vec::new(), |section| vec![section]),
    };
    let all = || std::iter::once(title).chain(sections.iter().cloned()).collect();
    (!sections.is_empty()).then(|| super::join_sections(all()))
}

/// Tree of the efficiencies with its explanation; none without traced counts.
pub(super) fn efficiency_section(view: &View, style: &Style) -> Option<Vec<String>> {
    let mut lines = lines_with_title(&efficiency_table(view)?, style);
    lines.extend(efficiency_text(view).map_or(Vec::new(), |text| style.wrap_dim(&text)));
    Some(lines)
}

fn table_sections(tables: impl Iterator<Item = Option<Table>>, style: &Style) -> Vec<Vec<String>> {
    tables.flatten().map(|table| lines_with_title(&table, style)).collect()
}

/// Functions and calls that hold the losses of all counts; of a single traced run, its functions
/// and calls. Empty if no trace shows functions.
fn function_sections(view: &View, style: &Style) -> Vec<Vec<String>> {
    let of_run = |trace: &TraceView| [functions_table(trace), calls_table(trace)];
    let mut sections = if view.stack.is_empty() {
        table_sections(view.traces.iter().flat_map(of_run), style)
    } else {
        let of_stack = |stack| [function_losses_table(stack, FunctionRows::All), call_losses_table(stack)];
        table_sections(view.stack.iter().flat_map(of_stack), style)
    };
    if sections.is_empty() {
        if !view.traces.iter().any(has_functions) {
            return Vec::new();
        }
        sections.push(style.wrap("No function holds a part of a loss beyond its interval.", "  "));
    }
    let notes = stack_notes(view).into_iter().chain(view.traces.last().and_then(stack_coverage_text));
    sections.push(notes.flat_map(|note| style.wrap_dim(&note)).collect());
    sections
}

fn has_functions(trace: &TraceView) -> bool {
    !trace.functions.is_empty()
}
