//! Report of `morecores show --by function`: the code that holds each loss, or the code of a traced
//! run that has no other run to compare it with.

use morecores_view::{TraceView, View};

use super::Style;
use super::grid::lines_with_title;
use crate::code::{
    FunctionRows, call_losses_table, calls_table, function_losses_table, functions_table, stack_coverage_text,
};
use crate::command;
use crate::stack::stack_notes;
use crate::table::Table;

/// Functions and calls that hold the losses of all counts; of a single traced run, its functions
/// and calls. `None` if no trace of the study shows functions.
pub fn functions_report(view: &View, style: &Style) -> Option<String> {
    let title = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    let mut add = |tables: [Option<Table>; 2]| {
        sections.extend(tables.into_iter().flatten().map(|table| lines_with_title(&table, style)));
    };
    if view.stack.is_empty() {
        view.traces.iter().for_each(|trace| add([functions_table(trace), calls_table(trace)]));
    } else {
        for stack in &view.stack {
            add([function_losses_table(stack, FunctionRows::All), call_losses_table(stack)]);
        }
    }
    if sections.len() == 1 && !view.traces.iter().any(has_functions) {
        return None;
    }
    if sections.len() == 1 {
        sections.push(style.wrap("No function holds a part of a loss beyond its interval.", "  "));
    }
    let notes = stack_notes(view).into_iter().chain(view.traces.last().and_then(stack_coverage_text));
    sections.push(notes.flat_map(|note| style.wrap_dim(&note)).collect());
    Some(super::join_sections(sections))
}

fn has_functions(trace: &TraceView) -> bool {
    !trace.functions.is_empty()
}
