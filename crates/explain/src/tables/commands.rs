//! The table of commands: for each program its number of calls, its CPU time, the kernel's part of
//! that time, and its waiting ratio for kernel locks. The layout is that of Table 5 of Kaieda et
//! al., *Analysis and Measurement of the Effect of Kernel Locks in SMP Systems*.

use morecores_study::Nanos;
use morecores_study::trace::TraceHeader;
use morecores_view::CommandView;

use super::programs::Programs;
use super::waiting::LockWaitTimes;
use crate::trace::{self, Occupant, SpanParts, Timeline};

/// The table, and the waiting ratio of the whole tree.
#[derive(Debug)]
pub(super) struct Commands {
    /// Rows, most CPU time first.
    pub(super) rows: Vec<CommandView>,
    /// Waiting ratio of the whole tree. None if the trace does not record waits for kernel locks,
    /// or if the tree used no CPU time.
    pub(super) waiting_ratio: Option<f64>,
}

/// Sums for one program, or for all programs.
#[derive(Clone, Copy, Debug, Default)]
struct CommandSums {
    calls: u64,
    /// CPU time in nanoseconds.
    cpu: f64,
    ticks: TickTimes,
    lock_spin: Nanos,
    lock_sleep: Nanos,
}

impl CommandSums {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cpu += other.cpu;
        self.ticks.user += other.ticks.user;
        self.ticks.system += other.ticks.system;
        self.lock_spin += other.lock_spin;
        self.lock_sleep += other.lock_sleep;
    }

    /// Ratio of the waits, spinning and asleep, to CPU time plus the sleep. Spinning is part of the
    /// CPU time.
    fn waiting_ratio(&self) -> Option<f64> {
        let sleep = self.lock_sleep.0 as f64;
        let total = self.cpu + sleep;
        (total > 0.0).then(|| ((self.lock_spin.0 as f64 + sleep) / total).min(1.0))
    }
}

/// Ticks by the mode that they found, as time.
#[derive(Clone, Copy, Debug, Default)]
struct TickTimes {
    user: u64,
    system: u64,
}

impl TickTimes {
    /// Share of system time, and its standard error: half the width of Wilson's interval at one
    /// standard error (JASA 22(158), 1927). The binomial formula would give no error if all ticks
    /// agree. None without a tick.
    fn kernel_ratio(self, tick: Nanos) -> Option<(f64, f64)> {
        let all = self.user + self.system;
        if all == 0 {
            return None;
        }
        let share = self.system as f64 / all as f64;
        // A kernel that accounts user and system time without ticks is as exact as one with many
        // ticks.
        let ticks = (all as f64 / tick.0.max(1) as f64).max(1.0);
        let error = (share * (1.0 - share) / ticks + 0.25 / (ticks * ticks)).sqrt() / (1.0 + 1.0 / ticks);
        Some((share, error))
    }
}

/// Builds the table. `locks` is absent if the trace does not record waits for kernel locks.
pub(super) fn commands(
    header: &TraceHeader,
    timeline: &Timeline,
    span_parts: &[Vec<SpanParts>],
    programs: &Programs,
    locks: Option<&[LockWaitTimes]>,
) -> Commands {
    let mut sums = vec![CommandSums::default(); programs.len()];
    count_calls(timeline, programs, &mut sums);
    add_cpu_time(timeline, span_parts, programs, &mut sums);
    add_ticks(timeline, programs, &mut sums);
    for wait in locks.unwrap_or_default() {
        let sum = &mut sums[programs.program_at(wait.thread, wait.from).index()];
        sum.lock_spin += wait.times.spin;
        sum.lock_sleep += wait.times.sleep;
    }
    let mut total = CommandSums::default();
    sums.iter().for_each(|sum| total.add(sum));
    let row = |(name, sum): (String, &CommandSums)| {
        let kernel = sum.ticks.kernel_ratio(header.facts.tick_ns);
        CommandView {
            name,
            calls: sum.calls,
            cpu_s: sum.cpu / 1e9,
            cpu_ratio: if total.cpu > 0.0 { sum.cpu / total.cpu } else { 0.0 },
            kernel_ratio: kernel.map(|(ratio, _)| ratio),
            kernel_ratio_error: kernel.map(|(_, error)| error),
            waiting_ratio: locks.and_then(|_| sum.waiting_ratio()),
        }
    };
    let by_name = programs.iter().map(|program| programs.name(program)).zip(&sums);
    // Other users' programs on these CPUs are not part of the command.
    let used = by_name.filter(|(_, sum)| sum.calls > 0 || sum.cpu > 0.0);
    let mut rows: Vec<CommandView> = used.map(row).collect();
    rows.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s).then_with(|| a.name.cmp(&b.name)));
    Commands { rows, waiting_ratio: locks.and_then(|_| total.waiting_ratio()) }
}

/// Counts calls: each exec of a process is a call of its new program. A process that never calls
/// exec is a call of its parent's program.
fn count_calls(timeline: &Timeline, programs: &Programs, sums: &mut [CommandSums]) {
    let inside = |at: Nanos| at <= timeline.ended;
    for (id, thread) in timeline.tree() {
        let Some(execs) = programs.execs(id) else { continue };
        if execs.is_empty() && (thread.created.is_some_and(inside) || timeline.root == Some(id)) {
            sums[programs.program_at(id, thread.created.unwrap_or_default()).index()].calls += 1;
        }
        for (_, program) in execs.iter().filter(|(at, _)| inside(*at)) {
            sums[program.index()].calls += 1;
        }
    }
}

/// Adds the threads' own time on any CPU, divided over programs if one span saw several.
fn add_cpu_time(
    timeline: &Timeline,
    span_parts: &[Vec<SpanParts>],
    programs: &Programs,
    sums: &mut [CommandSums],
) {
    let spans =
        timeline.cpus.iter().zip(span_parts).flat_map(|(cpu, span_parts)| cpu.spans.iter().zip(span_parts));
    for (span, parts) in spans {
        let Occupant::Thread(id) = span.occupant else { continue };
        if !timeline.thread(id).in_tree {
            continue;
        }
        let length = span.length().0 as f64;
        for (program, time) in programs.programs_between(id, span.from, span.to) {
            sums[program.index()].cpu += 1e9 * parts.occupant * time.0 as f64 / length;
        }
    }
}

/// Adds the ticks between two accounts of a thread to the program that ran between them. The last
/// part of a thread that outlives the run is not recorded.
fn add_ticks(timeline: &Timeline, programs: &Programs, sums: &mut [CommandSums]) {
    for span in trace::tick_spans(timeline) {
        let ticks = &mut sums[programs.program_at(span.thread, span.from).index()].ticks;
        ticks.user += span.user.0;
        ticks.system += span.system.0;
    }
}
