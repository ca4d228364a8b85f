//! Report of `morecores advise`: is the work divided, what stands in the way, and which work one
//! thread did alone.

use morecores_study::Quantity;
use morecores_view::page::TableCell;
use morecores_view::{Advice, SerialWork, View};

use super::Style;
use super::gains::gain_lines;
use super::grid::lines_with_title;
use crate::causes::{cause_clauses, main_causes};
use crate::command;
use crate::format::{ABSENT, cpus, percent, time};
use crate::table::{Column, ColumnKind, Table, figure_cell};

/// Share of the elapsed time with several ready threads below which the work counts as undivided.
const UNDIVIDED: f64 = 0.05;

/// Number of calls shown.
const MAX_CALLS: usize = 12;

/// Report of the advice on a study.
pub fn advice_report(view: &View, advice: &Advice, style: &Style) -> String {
    let title = style.wrap(&command::display_command_with_variables(&view.command, &view.plan.env), "  ");
    let heading = |text: &str| style.paint().bold(text);
    let mut sections: Vec<Vec<String>> = vec![title.iter().map(|line| style.paint().bold(line)).collect()];
    let mut divided = vec![heading("1. Is the work in several threads?")];
    divided.extend(style.wrap(&division_text(advice), "  "));
    sections.push(divided);
    let mut obstacles = vec![heading("2. What stands in the way")];
    let clauses = cause_clauses(&main_causes(view));
    if clauses.is_empty() {
        obstacles.extend(style.wrap("No loss is outside the noise.", "  "));
    }
    obstacles.extend(clauses.iter().flat_map(|clause| style.wrap(&format!("- {clause}"), "  ")));
    sections.push(obstacles);
    if !advice.gains.is_empty() {
        sections.push(
            [
                vec![heading("3. What each change would save, by replay of the traces")],
                gain_lines(&advice.gains, style),
            ]
            .concat(),
        );
    }
    let mut serial = vec![heading("4. Work to divide")];
    match advice.serial_work.as_deref() {
        Some([]) => {
            serial
                .extend(style.wrap("No call of 30 ms or more ran alone, as far as the samples show.", "  "));
        }
        Some(work) => serial.extend(lines_with_title(&serial_work_table(advice, work), style)),
        None => serial.extend(
            style
                .wrap("The trace has no stacks of samples, so it names no calls: run the study again.", "  "),
        ),
    }
    sections.push(serial);
    super::join_sections(sections)
}

fn division_text(advice: &Advice) -> String {
    let share = percent(advice.parallel_share);
    let run = cpus(advice.cpus);
    if advice.parallel_share < UNDIVIDED {
        return format!(
            "No. On {run}, two threads or more had work for {share} of the time. More CPUs cannot help until the work \
             is divided."
        );
    }
    format!(
        "Yes, for {share} of the time: on {run}, up to {} threads had work at once.",
        advice.ready_threads
    )
}

/// Calls that ran alone, with the time that their division would save.
fn serial_work_table(advice: &Advice, work: &[SerialWork]) -> Table {
    let rows = &work[..work.len().min(MAX_CALLS)];
    let counts = rows.first().map_or(&[][..], |first| &first.saved);
    let name = |work: &SerialWork| match &work.caller {
        Some(caller) => format!("{} ({caller})", work.function),
        None => work.function.clone(),
    };
    let names = |rank: u8, header: &str, cell: &dyn Fn(&SerialWork) -> String| {
        Column::new(ColumnKind::Name(rank), header, rows.iter().map(|work| TableCell::name(cell(work))))
    };
    let interval = |work: &SerialWork| {
        let [least, most] = work.alone_ci95.map(time);
        format!("{} [{least}, {most}]", time(work.alone_s))
    };
    let mut columns = vec![
        names(0, "call", &name),
        names(2, "source", &|work| work.source.clone().unwrap_or_else(|| ABSENT.to_owned())),
        names(3, "command", &|work| work.command.clone()),
        Column::figures(
            0,
            "alone",
            rows.iter().map(|work| TableCell::figure(Quantity::Time, Some(work.alone_s), interval(work))),
        ),
    ];
    for (index, saved) in counts.iter().enumerate() {
        let cells = rows
            .iter()
            .map(|work| figure_cell(Quantity::Time, work.saved.get(index).map(|saved| saved.saved_s)));
        columns.push(Column::figures(1, &format!("saved on {}", cpus(saved.cpus)), cells));
    }
    let title = format!(
        "calls that one thread executed alone on {}, and what their even division would save at most, of {}",
        cpus(advice.cpus),
        time(advice.elapsed_s)
    );
    Table::new(title, columns)
}
