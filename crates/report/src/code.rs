//! Tables of a command's code: the losses of a speedup stack by function, and the functions and
//! locks of a traced run. This module selects rows and columns; it computes no loss.

use morecores_study::Quantity;
use morecores_view::code::{
    CallLoss, CallNode, CodeLoss, CodeSite, FunctionLoss, FunctionView, RuntimeLock, UserLockView, WaitKind,
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

/// Largest number of losses with a column of their own.
const MAX_LOSSES: usize = 3;

/// Number of functions or locks shown of a run.
const MAX_ROWS: usize = 10;

/// Number of calls shown of a run, and the part of all CPU time from which a call is shown.
const MAX_CALLS: usize = 24;
const LEAST_CALL: f64 = 0.02;

/// Part of a call's time that one callee has if the call only passes on to it.
const PASSED_ON: f64 = 0.98;

/// Difference of two calls' parts below which they are the same, in CPUs. A choice: half of the
/// smallest part of a call.
const SAME_CPUS: f64 = 0.005;

/// Words for a lock without a name.
pub(crate) const NO_NAME: &str = "(no variable)";

/// Number of functions shown of each loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionRows {
    /// Those with the largest parts.
    Largest,
    /// All.
    All,
}

/// Functions with parts of each loss, whose intervals are above zero; none without such a function.
/// The largest loss is first.
pub(crate) fn function_losses_table(stack: &StackView, rows: FunctionRows) -> Option<Table> {
    let most = match rows {
        FunctionRows::Largest => MAX_FUNCTIONS,
        FunctionRows::All => usize::MAX,
    };
    let lost = |component: &Component| component.loss(&stack.losses).unwrap_or(0.0);
    let mut losses = Component::ALL;
    losses.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    let of_loss = |loss: Component| {
        let functions = stack.functions.iter().filter(move |function| function.part.loss == loss);
        functions.filter(|function| function.part.ci95[0] > 0.0).take(most)
    };
    let rows: Vec<&FunctionLoss> = losses.into_iter().flat_map(of_loss).collect();
    if rows.is_empty() {
        return None;
    }
    let lost = |function: &&FunctionLoss| {
        let estimate = Estimate { value: function.part.lost_cpus, ci95: Some(function.part.ci95) };
        estimate_cell(Quantity::Cpus, Some(&estimate))
    };
    let loss = |function: &&FunctionLoss| loss_name(function.part.loss).to_owned();
    let code = rows.iter().map(|row| [&row.function, &row.command].map(String::as_str));
    let places = rows.iter().map(|row| place(&row.source, &row.module));
    let mut columns = code_columns(code, places);
    columns.push(Column::labels("part of", rows.iter().map(loss)));
    columns.push(Column::figures(0, "CPUs", rows.iter().map(lost)));
    Some(Table::new(format!("functions that hold the losses on {}", cpus(stack.cpus)), columns))
}

/// Calls that hold parts of the losses, with all that they call; none without such a call. A column
/// for each of the losses of which a whole command holds a part beyond its interval, the largest
/// first: elsewhere work may only have moved from one caller to another.
pub(crate) fn call_losses_table(stack: &StackView) -> Option<Table> {
    let lost = |component: &Component| component.loss(&stack.losses).unwrap_or(0.0);
    let commands = || stack.calls.iter().filter(|call| call.caller.is_none());
    let is_held = |loss: &Component| commands().any(|command| is_sure_part(command, *loss));
    let mut losses: Vec<Component> = Component::ALL.into_iter().filter(is_held).collect();
    losses.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    losses.truncate(MAX_LOSSES);
    if losses.is_empty() {
        return None;
    }
    let rows = rows_of_calls(&stack.calls, &losses);
    let mut columns = vec![
        names(0, "call", rows.iter().map(|(depth, call)| "  ".repeat(*depth) + &call.function)),
        names(3, "source", rows.iter().map(|(_, call)| place(&call.source, &call.module))),
    ];
    for (rank, loss) in (0..).zip(losses) {
        let cell = |(_, call): &(usize, &CallLoss)| {
            let estimate =
                part_of(call, loss).map(|part| Estimate { value: part.lost_cpus, ci95: Some(part.ci95) });
            estimate_cell(Quantity::Cpus, estimate.as_ref())
        };
        columns.push(Column::figures(rank, loss_name(loss), rows.iter().map(cell)));
    }
    Some(Table::new(format!("calls that hold the losses on {}, in CPUs", cpus(stack.cpus)), columns))
}

/// Calls with a sure part of one of these losses, and their callers, with the number of rows above
/// each that lead to it. A call that only passes on to one other call has no row.
fn rows_of_calls<'a>(calls: &'a [CallLoss], losses: &[Component]) -> Vec<(usize, &'a CallLoss)> {
    let part = |call: &CallLoss, loss: Component| part_of(call, loss).map_or(0.0, |part| part.lost_cpus);
    let mut leads_to_part: Vec<bool> =
        calls.iter().map(|call| losses.iter().any(|loss| is_sure_part(call, *loss))).collect();
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); calls.len()];
    for index in (0..calls.len()).rev().filter(|index| leads_to_part[*index]).collect::<Vec<_>>() {
        let mut at = index;
        while let Some(caller) = calls[at].caller.map(|caller| caller as usize) {
            if !callees[caller].contains(&at) {
                callees[caller].push(at);
            }
            leads_to_part[caller] = true;
            at = caller;
        }
    }
    let is_same = |one: &CallLoss, other: &CallLoss| {
        losses.iter().all(|loss| (part(one, *loss) - part(other, *loss)).abs() < SAME_CPUS)
    };
    let passes_on = |index: usize| match callees[index].as_slice() {
        [only] => calls[index].caller.is_some() && is_same(&calls[index], &calls[*only]),
        _ => false,
    };
    let mut depths: Vec<usize> = Vec::with_capacity(calls.len());
    let mut rows = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let above = call.caller.map_or(0, |caller| depths[caller as usize]);
        let is_row = leads_to_part[index] && !passes_on(index);
        depths.push(above + usize::from(is_row));
        if is_row {
            rows.push((above, call));
        }
    }
    rows
}

/// Part of a loss that a call holds.
fn part_of(call: &CallLoss, loss: Component) -> Option<CodeLoss> {
    call.parts.iter().find(|part| part.loss == loss).copied()
}

fn is_sure_part(call: &CallLoss, loss: Component) -> bool {
    part_of(call, loss).is_some_and(|part| part.ci95[0] > 0.0)
}

/// Functions with the most time of a traced run; none without samples of named code.
pub(crate) fn functions_table(trace: &TraceView) -> Option<Table> {
    let ran = trace.functions.iter().filter(|function| function.times.cpu().0 > 0.0);
    let rows: Vec<&FunctionView> = ran.take(MAX_ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let share = |(value, error): (f64, f64)| {
        let text = percent_with_error(value / whole, error / whole);
        TableCell::figure(Quantity::Share, Some(value / whole), text)
    };
    let work = |function: &&FunctionView| share(function.times.cpu());
    let idle = |function: &&FunctionView| share(function.times.others_idle());
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
    let cpu = |node: &CallNode| node.times.cpu().0;
    let others_idle = |node: &CallNode| node.times.others_idle().0;
    let passes_on = |index: usize, node: &CallNode| {
        let is_callee = |other: &&CallNode| other.caller == Some(index as u32);
        nodes[index + 1..].iter().find(is_callee).is_some_and(|callee| cpu(callee) >= PASSED_ON * cpu(node))
    };
    let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut rows: Vec<(usize, &CallNode)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let above = node.caller.and_then(|caller| depths.get(caller as usize)).copied().unwrap_or(0);
        let is_row = node.caller.is_none() || !passes_on(index, node);
        depths.push(above + usize::from(is_row));
        if is_row && cpu(node) + others_idle(node) >= LEAST_CALL * whole {
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
        Column::figures(0, "CPU time", share(cpu)),
        Column::figures(1, "others idle", share(others_idle)),
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
        names(5, "held by", rows.iter().map(main_owner)),
        names(2, "command", rows.iter().map(|lock| lock.command.clone())),
        Column::figures(3, "waits", cell(Quantity::Count, |lock| lock.waits as f64)),
        Column::figures(0, "waited", cell(Quantity::Time, |lock| lock.wait_s)),
        Column::figures(1, "held meanwhile", cell(Quantity::Time, |lock| lock.held_s)),
        Column::figures(4, "longest", cell(Quantity::Time, |lock| lock.max_wait_s)),
    ];
    Some(Table::new(format!("locks of the command on {}", cpus(trace.cpus)), columns))
}

/// Name of the threads that held a lock longest while others waited, with their share.
fn main_owner(lock: &UserLockView) -> String {
    lock.owners.first().filter(|_| lock.held_s > 0.0).map_or_else(
        || ABSENT.to_owned(),
        |owner| format!("{} {:.0}%", owner.thread, 100.0 * owner.held_s / lock.held_s),
    )
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
        Some(WaitKind::Mpi) => "MPI",
        Some(WaitKind::Allocator) => "malloc's arena",
        Some(WaitKind::Rayon) => "rayon",
        Some(WaitKind::Tokio) => "tokio",
        Some(WaitKind::GoScheduler) => "work (Go's scheduler)",
        Some(WaitKind::Jvm) => "JVM",
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
        RuntimeLock::MallocArena => "malloc's arenas",
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
pub(crate) fn first_site(sites: &[CodeSite]) -> String {
    sites.first().map_or_else(|| ABSENT.to_owned(), site_name)
}

pub(crate) fn names(rank: u8, header: &str, cells: impl IntoIterator<Item = String>) -> Column {
    Column::new(ColumnKind::Name(rank), header, cells.into_iter().map(TableCell::name))
}

/// Place in the source code, else the file of the code.
pub(crate) fn place(source: &Option<String>, module: &Option<String>) -> String {
    let file = || module.as_ref().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    source.clone().or_else(file).unwrap_or_else(|| ABSENT.to_owned())
}
