//! Tables of a command's code: the losses of a speedup stack by function, and the functions and
//! locks of a traced run. This module selects rows and columns; it computes no loss.

use morecores_study::Quantity;
use morecores_view::code::{
    CallNode, CodeSite, FunctionLoss, FunctionView, RuntimeLock, SampledLoss, UserLockView, WaitKind,
    WaitView,
};
use morecores_view::page::TableCell;
use morecores_view::{Component, Estimate, StackView, TraceView};

use crate::causes::NamedLock;
use crate::component::loss_name;
use crate::format::{ABSENT, count, cpus, percent, percent_with_error, two_digits};
use crate::table::{Column, ColumnKind, Table, estimate_cell, figure_cell};

/// Number of functions shown of each loss.
const MAX_FUNCTIONS: usize = 3;

/// Number of functions or locks shown of a run.
const MAX_ROWS: usize = 10;

/// Number of calls shown of a run, and the part of all CPU time from which a call is shown.
const MAX_CALLS: usize = 24;
const LEAST_CALL: f64 = 0.02;

/// Part of a call's time that one callee has if the call only passes on to it.
const PASSED_ON: f64 = 0.98;

/// Words for a lock without a name.
const NO_NAME: &str = "(no variable)";

/// Functions with the largest parts of each loss, whose intervals are above zero; none without such
/// a function.
pub(crate) fn function_losses_table(stack: &StackView) -> Option<Table> {
    let of_loss = |loss: SampledLoss| {
        let functions = stack.functions.iter().filter(move |function| function.loss == loss);
        functions.filter(|function| function.ci95[0] > 0.0).take(MAX_FUNCTIONS)
    };
    let rows: Vec<&FunctionLoss> =
        [SampledLoss::IdleTooLittleWork, SampledLoss::UserWork].into_iter().flat_map(of_loss).collect();
    if rows.is_empty() {
        return None;
    }
    let lost = |function: &&FunctionLoss| {
        let estimate = Estimate { value: function.lost_cpus, ci95: Some(function.ci95) };
        estimate_cell(Quantity::Cpus, Some(&estimate))
    };
    let loss = |function: &&FunctionLoss| loss_name(component(function.loss)).to_owned();
    let code = rows.iter().map(|row| [&row.function, &row.command].map(String::as_str));
    let places = rows.iter().map(|row| place(&row.source, &row.module));
    let mut columns = code_columns(code, places);
    columns.push(Column::labels("part of", rows.iter().map(loss)));
    columns.push(Column::figures(0, "CPUs", rows.iter().map(lost)));
    Some(Table::new(format!("functions that hold the losses on {}", cpus(stack.cpus)), columns))
}

/// Functions with the most time of a traced run; none without samples of named code.
pub(crate) fn functions_table(trace: &TraceView) -> Option<Table> {
    let rows = &trace.functions[..trace.functions.len().min(MAX_ROWS)];
    if rows.is_empty() {
        return None;
    }
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let share = |value: f64, error: f64| {
        let text = percent_with_error(value / whole, error / whole);
        TableCell::figure(Quantity::Share, Some(value / whole), text)
    };
    let work = |function: &FunctionView| share(function.cpu_s, function.cpu_error_s);
    let idle = |function: &FunctionView| share(function.idle_s, function.idle_error_s);
    let code = rows.iter().map(|row| [&row.function, &row.command].map(String::as_str));
    let places = rows.iter().map(|row| place(&row.source, &row.module));
    let mut columns = code_columns(code, places);
    columns.push(Column::figures(0, "CPU time", rows.iter().map(work)));
    columns.push(Column::figures(1, "others idle", rows.iter().map(idle)));
    Some(Table::new(format!("functions on {}, of all CPU time", cpus(trace.cpus)), columns))
}

/// Call tree of a traced run, of the calls with a notable part of all CPU time; none without
/// stacks. A call that only passes on to one other call has no row.
pub(crate) fn calls_table(trace: &TraceView) -> Option<Table> {
    let nodes = &trace.call_tree;
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let passes_on = |index: usize, node: &CallNode| {
        let is_callee = |other: &&CallNode| other.caller == Some(index as u32);
        nodes[index + 1..].iter().find(is_callee).is_some_and(|callee| callee.cpu_s >= PASSED_ON * node.cpu_s)
    };
    let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut rows: Vec<(usize, &CallNode)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let above = node.caller.and_then(|caller| depths.get(caller as usize)).copied().unwrap_or(0);
        let is_row = node.caller.is_none() || !passes_on(index, node);
        depths.push(above + usize::from(is_row));
        if is_row && node.cpu_s + node.idle_s >= LEAST_CALL * whole {
            rows.push((above, node));
        }
    }
    if rows.len() <= 1 {
        return None;
    }
    rows.truncate(MAX_CALLS);
    let share = |figure: fn(&CallNode) -> f64| {
        rows.iter().map(move |(_, node)| {
            let share = figure(node) / whole;
            TableCell::figure(Quantity::Share, Some(share), percent(share))
        })
    };
    let columns = vec![
        names(0, "call", rows.iter().map(|(depth, node)| "  ".repeat(*depth) + &node.function)),
        names(3, "source", rows.iter().map(|(_, node)| place(&node.source, &node.module))),
        Column::figures(0, "CPU time", share(|node| node.cpu_s)),
        Column::figures(1, "others idle", share(|node| node.idle_s)),
        Column::figures(
            2,
            "threads",
            rows.iter().map(|(_, node)| {
                TableCell::figure(Quantity::Number, Some(node.running), two_digits(node.running))
            }),
        ),
    ];
    Some(Table::new(format!("calls on {}, of all CPU time", cpus(trace.cpus)), columns))
}

/// Locks of the command's own with the longest waits; none without such a wait.
pub(crate) fn user_locks_table(trace: &TraceView) -> Option<Table> {
    let rows = &trace.user_locks[..trace.user_locks.len().min(MAX_ROWS)];
    if rows.is_empty() {
        return None;
    }
    let cell = |quantity: Quantity, figure: fn(&UserLockView) -> f64| {
        rows.iter().map(move |lock| figure_cell(quantity, Some(figure(lock))))
    };
    let columns = vec![
        names(0, "lock", rows.iter().map(lock_name)),
        names(3, "waited in", rows.iter().map(|lock| first_site(&lock.sites))),
        names(4, "released in", rows.iter().map(|lock| first_site(&lock.holders))),
        names(2, "command", rows.iter().map(|lock| lock.command.clone())),
        Column::figures(3, "waits", cell(Quantity::Count, |lock| lock.waits as f64)),
        Column::figures(0, "waited", cell(Quantity::Time, |lock| lock.wait_s)),
        Column::figures(1, "held meanwhile", cell(Quantity::Time, |lock| lock.held_s)),
        Column::figures(4, "longest", cell(Quantity::Time, |lock| lock.max_wait_s)),
    ];
    Some(Table::new(format!("locks of the command on {}", cpus(trace.cpus)), columns))
}

/// Places with the longest waits of the command's threads; none without stacks.
pub(crate) fn waits_table(trace: &TraceView) -> Option<Table> {
    let rows = &trace.waits[..trace.waits.len().min(MAX_ROWS)];
    if rows.is_empty() {
        return None;
    }
    let cell = |quantity: Quantity, figure: fn(&WaitView) -> f64| {
        rows.iter().map(move |wait| figure_cell(quantity, Some(figure(wait))))
    };
    let columns = vec![
        names(0, "waits in", rows.iter().map(|wait| site_name(&wait.site))),
        names(1, "for", rows.iter().map(wait_object)),
        names(3, "source", rows.iter().map(|wait| place(&wait.site.source, &wait.site.module))),
        names(2, "command", rows.iter().map(|wait| wait.command.clone())),
        Column::figures(1, "waits", cell(Quantity::Count, |wait| wait.site.count.round())),
        Column::figures(0, "waited", cell(Quantity::Time, |wait| wait.site.seconds)),
    ];
    Some(Table::new(format!("waits of all threads on {}", cpus(trace.cpus)), columns))
}

/// Name of the object of a wait, else the system call.
fn wait_object(wait: &WaitView) -> String {
    let name = match wait.site.kind {
        Some(WaitKind::Mutex) => "mutex",
        Some(WaitKind::ReadWriteLock) => "reader-writer lock",
        Some(WaitKind::ConditionVariable) => "condition variable",
        Some(WaitKind::Semaphore) => "semaphore",
        Some(WaitKind::Barrier) => "barrier",
        Some(WaitKind::Join) => "end of a thread",
        Some(WaitKind::Park) => "unpark",
        Some(WaitKind::OpenMp) => "OpenMP",
        None => wait.call.as_deref().unwrap_or(ABSENT),
    };
    name.to_owned()
}

/// Sentence on the recorded user stacks; none for a trace without stacks.
pub(crate) fn stack_coverage_text(trace: &TraceView) -> Option<String> {
    let coverage = trace.stack_coverage?;
    let part = |number: u64, of: u64, what: &str| {
        let all = count(of as f64);
        if number >= of {
            format!("all {all} {what}")
        } else {
            format!("{} of {all} {what}", count(number as f64))
        }
    };
    let parts = [
        part(coverage.sample_stacks, coverage.samples, "samples"),
        part(coverage.wait_stacks, coverage.waits, "waits"),
        part(coverage.wake_stacks, coverage.wakes, "wake-ups"),
    ];
    let complete = percent(coverage.complete as f64 / coverage.stacks() as f64);
    let [samples, waits, wakes] = parts;
    Some(format!("User stacks: of {samples}, {waits} and {wakes}; {complete} of them are complete."))
}

/// Columns of the functions with their commands, and of their places.
fn code_columns<'a>(
    code: impl Iterator<Item = [&'a str; 2]> + Clone,
    places: impl Iterator<Item = String>,
) -> Vec<Column> {
    let part = |index: usize| code.clone().map(move |names| names[index].to_owned());
    vec![names(0, "function", part(0)), names(3, "source", places), names(2, "command", part(1))]
}

/// Name of a runtime's lock.
pub(crate) const fn runtime_lock_name(lock: RuntimeLock) -> &'static str {
    match lock {
        RuntimeLock::PythonGil => "Python's global lock (GIL)",
    }
}

/// Name of a lock in a table.
fn lock_name(lock: &UserLockView) -> String {
    match NamedLock::from_view(lock) {
        Some(NamedLock::Runtime(runtime)) => runtime_lock_name(runtime).to_owned(),
        Some(NamedLock::Variable(name)) => name,
        Some(NamedLock::Site(_)) | None => NO_NAME.to_owned(),
    }
}

/// Name of a place: its function, with the caller in parentheses.
pub(crate) fn site_name(site: &CodeSite) -> String {
    match &site.caller {
        Some(caller) => format!("{} ({caller})", site.function),
        None => site.function.clone(),
    }
}

/// Name of the place with the most time.
fn first_site(sites: &[CodeSite]) -> String {
    sites.first().map_or_else(|| ABSENT.to_owned(), site_name)
}

fn names(rank: u8, header: &str, cells: impl IntoIterator<Item = String>) -> Column {
    Column::new(ColumnKind::Name(rank), header, cells.into_iter().map(TableCell::name))
}

/// Component of which a sampled loss is the loss.
const fn component(loss: SampledLoss) -> Component {
    match loss {
        SampledLoss::UserWork => Component::UserWork,
        SampledLoss::IdleTooLittleWork => Component::IdleTooLittleWork,
    }
}

/// Place in the source code, else the file of the code.
fn place(source: &Option<String>, module: &Option<String>) -> String {
    let file = || module.as_ref().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    source.clone().or_else(file).unwrap_or_else(|| ABSENT.to_owned())
}
