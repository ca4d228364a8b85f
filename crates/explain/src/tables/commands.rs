//! The table of commands: for each program its number of calls, its CPU time, the kernel's part of
//! that time, and its waiting ratio for kernel locks. The layout is that of Table 5 of Kaieda et
//! al., *Analysis and Measurement of the Effect of Kernel Locks in SMP Systems*.

use morecores_study::Nanos;
use morecores_study::trace::TraceHeader;
use morecores_view::CommandView;

use super::programs::Programs;
use super::waiting::LockTime;
use crate::trace::{self, Occupant, Shares, Timeline};

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
struct Sums {
    calls: u64,
    /// CPU time in nanoseconds.
    cpu: f64,
    ticks: Ticks,
    lock_spun: Nanos,
    lock_asleep: Nanos,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cpu += other.cpu;
        self.ticks.user += other.ticks.user;
        self.ticks.system += other.ticks.system;
        self.lock_spun += other.lock_spun;
        self.lock_asleep += other.lock_asleep;
    }

    /// Ratio of the waits, spinning and asleep, to CPU time plus the sleep. Spinning is part of the
    /// CPU time.
    fn waiting_ratio(&self) -> Option<f64> {
        let asleep = self.lock_asleep.0 as f64;
        let whole = self.cpu + asleep;
        (whole > 0.0).then(|| ((self.lock_spun.0 as f64 + asleep) / whole).min(1.0))
    }
}

/// Ticks by the mode that they found, as time.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    user: u64,
    system: u64,
}

impl Ticks {
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
    shares: &[Vec<Shares>],
    programs: &Programs,
    locks: Option<&[LockTime]>,
) -> Commands {
    let mut sums = vec![Sums::default(); programs.len()];
    count_calls(timeline, programs, &mut sums);
    add_cpu_time(timeline, shares, programs, &mut sums);
    add_ticks(timeline, programs, &mut sums);
    for time in locks.unwrap_or_default() {
        let sum = &mut sums[programs.at(time.thread, time.from).index()];
        sum.lock_spun += time.waited.spun;
        sum.lock_asleep += time.waited.asleep;
    }
    let mut whole = Sums::default();
    sums.iter().for_each(|sum| whole.add(sum));
    let row = |(name, sum): (String, &Sums)| {
        let kernel = sum.ticks.kernel_ratio(header.tick_ns);
        CommandView {
            name,
            calls: sum.calls,
            cpu_s: sum.cpu / 1e9,
            cpu_ratio: if whole.cpu > 0.0 { sum.cpu / whole.cpu } else { 0.0 },
            kernel_ratio: kernel.map(|(ratio, _)| ratio),
            kernel_ratio_error: kernel.map(|(_, error)| error),
            waiting_ratio: locks.and_then(|_| sum.waiting_ratio()),
        }
    };
    let named = programs.all().map(|program| programs.name(program)).zip(&sums);
    // Other users' programs on these CPUs are not part of the command.
    let used = named.filter(|(_, sum)| sum.calls > 0 || sum.cpu > 0.0);
    let mut rows: Vec<CommandView> = used.map(row).collect();
    rows.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s).then_with(|| a.name.cmp(&b.name)));
    Commands { rows, waiting_ratio: locks.and_then(|_| whole.waiting_ratio()) }
}

/// Counts calls: each exec of a process is a call of its new program. A process that never calls
/// exec is a call of its parent's program.
fn count_calls(timeline: &Timeline, programs: &Programs, sums: &mut [Sums]) {
    let inside = |at: Nanos| at <= timeline.ended;
    for (id, thread) in timeline.tree() {
        let Some(execs) = programs.execs(id) else { continue };
        if execs.is_empty() && (thread.born.is_some_and(inside) || timeline.root == Some(id)) {
            sums[programs.at(id, thread.born.unwrap_or_default()).index()].calls += 1;
        }
        for (_, program) in execs.iter().filter(|(at, _)| inside(*at)) {
            sums[program.index()].calls += 1;
        }
    }
}

/// Adds the threads' own time on any CPU, divided over programs if one stretch saw several.
fn add_cpu_time(timeline: &Timeline, shares: &[Vec<Shares>], programs: &Programs, sums: &mut [Sums]) {
    let stretches =
        timeline.cpus.iter().zip(shares).flat_map(|(cpu, shares)| cpu.stretches.iter().zip(shares));
    for (stretch, parts) in stretches {
        let Occupant::Thread(id) = stretch.who else { continue };
        if !timeline.thread(id).in_tree {
            continue;
        }
        let length = stretch.length().0 as f64;
        for (program, time) in programs.between(id, stretch.from, stretch.to) {
            sums[program.index()].cpu += 1e9 * parts.rest * time.0 as f64 / length;
        }
    }
}

/// Adds the ticks between two accounts of a thread to the program that ran between them. The last
/// part of a thread that outlives the run is not recorded.
fn add_ticks(timeline: &Timeline, programs: &Programs, sums: &mut [Sums]) {
    for span in trace::ticks(timeline) {
        let ticks = &mut sums[programs.at(span.thread, span.from).index()].ticks;
        ticks.user += span.user.0;
        ticks.system += span.system.0;
    }
}
