//! The correct report of a trace, in the words of the trace's components.
//!
//! Pure: a program derives the values from its arguments and its truth; the judge compares them.

use std::fmt;

use morecores_view::code::{CodeSite, FunctionView, LockHoldsView, RuntimeLock, UserLockView};
use morecores_view::{Component, Components, TraceView};

use crate::function_names::FunctionNames;
use crate::{Truth, neighbour};

/// A component of a trace, or several together if the truth is known only for their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All work of the tree: in user mode, in the kernel, spinning for kernel locks.
    Work,
    /// All work and the interrupts: the reading of a thread's own clock, if the kernel charges
    /// interrupts to the thread that they hit.
    WorkAndInterrupts,
    /// Work in user mode.
    UserWork,
    /// Work in the kernel.
    KernelWork,
    /// The process beside the program, by its name; other processes of the machine are not part of
    /// the truth.
    Neighbour,
    /// Idle because a thread that might use the CPU had not reached it yet.
    Scheduling,
    /// Idle because a thread was not allowed to use the CPU.
    Pinned,
    /// Idle, waiting for a lock of the program.
    UserLock,
    /// Idle, waiting for a disk.
    Disk,
    /// Idle, waiting for a timer.
    Timer,
    /// Idle for lack of parallel work.
    TooLittleWork,
    /// All idle time.
    Idle,
    /// CPU time in the function.
    Function(FunctionName),
    /// Idle for lack of parallel work, while the function ran.
    IdleBeside(FunctionName),
    /// Time of the waits for locks of the program in the function, or in one that it calls.
    WaitsIn(FunctionName),
    /// Time for which locks of the program that the function releases were held while others
    /// waited.
    HeldBy(FunctionName),
    /// Time for which threads of this name held locks of the program while others waited.
    OwnedBy(&'static str),
    /// Time of all holds of the lock in the variable of this name.
    HoldsOf(&'static str),
    /// Time of the waits for the lock in the variable of this name.
    LockVariable(&'static str),
    /// Time of the waits for this lock of a runtime.
    RuntimeLock(RuntimeLock),
    /// Time for which this lock of a runtime was held while others waited.
    RuntimeLockHeld(RuntimeLock),
    /// Waits of threads for each other in OpenMP's parallel regions.
    OpenMp,
    /// The same, in the regions that this function opens.
    OpenMpIn(FunctionName),
}

/// Name of a function in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionName {
    /// The function's name in its source.
    Symbol(&'static str),
    /// Function in a file without symbols.
    Stripped {
        /// The function's name in its source.
        symbol: &'static str,
        /// Name of the file.
        file: &'static str,
        /// Offset of the function's first byte in the file.
        start: u64,
    },
}

impl FunctionName {
    /// Whether a report's name of a function means this function. The path of its module and the
    /// types of its parameters are ignored.
    fn matches(self, reported: &str) -> bool {
        match self {
            Self::Symbol(name) => {
                let path = reported.split_once('(').map_or(reported, |(path, _)| path);
                path.rsplit("::").next() == Some(name)
            }
            Self::Stripped { file, start, .. } => reported == format!("{file}+{start:#x}"),
        }
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Symbol(symbol) | Self::Stripped { symbol, .. }) = self;
        f.write_str(symbol)
    }
}

/// Sum of a figure over the functions of this name.
fn sum_of_functions(view: &TraceView, name: FunctionName, figure: impl Fn(&FunctionView) -> f64) -> f64 {
    view.functions.iter().filter(|row| name.matches(&row.function)).map(figure).sum()
}

/// Sum of the seconds at these places of all locks, if the function of this name or its caller has
/// it. A program calls a wrapper of its own for its locks.
fn seconds_at_places(
    view: &TraceView,
    name: FunctionName,
    places: impl Fn(&UserLockView) -> &[CodeSite],
) -> f64 {
    let is_there = |place: &&CodeSite| {
        name.matches(&place.function) || place.caller.as_deref().is_some_and(|caller| name.matches(caller))
    };
    view.user_locks.iter().flat_map(places).filter(is_there).map(|place| place.seconds).sum()
}

/// Whether a report's name of a variable means the variable of this name. The path of the
/// variable's module and the place in the variable are ignored.
fn is_variable(reported: Option<&str>, name: &str) -> bool {
    let path = reported.and_then(|reported| reported.split('+').next());
    path.and_then(|path| path.rsplit("::").next()) == Some(name)
}

/// All holds of the lock in the variable of this name, a row for each mode.
fn holds_of<'v>(view: &'v TraceView, name: &'v str) -> impl Iterator<Item = &'v LockHoldsView> {
    let rows = view.lock_holds.iter().flatten();
    rows.filter(move |lock| is_variable(lock.name.as_deref(), name))
}

/// Part that names an idle component, if any does.
fn idle_part(component: Component) -> Option<Part> {
    Some(match component {
        Component::IdleScheduling => Part::Scheduling,
        Component::IdlePinned => Part::Pinned,
        Component::IdleUserLock => Part::UserLock,
        Component::IdleDisk => Part::Disk,
        Component::IdleTimer => Part::Timer,
        Component::IdleTooLittleWork => Part::TooLittleWork,
        _ => return None,
    })
}

/// Sum of the idle components with a part that `is_summed`, in CPU-seconds. A trace does not report
/// a component that it cannot distinguish.
fn idle_seconds(c: &Components, is_summed: impl Fn(Option<Part>) -> bool) -> f64 {
    let idle = Component::ALL.into_iter().filter(|component| component.is_idle());
    idle.filter(|component| is_summed(idle_part(*component)))
        .filter_map(|component| component.seconds(c))
        .sum()
}

impl Part {
    /// Time that the trace reports for the part, in CPU-seconds.
    pub fn reported_seconds(self, view: &TraceView) -> f64 {
        let c = &view.components;
        let or_zero = |part: Option<f64>| part.unwrap_or(0.0);
        match self {
            Self::Work => c.user_work_s + or_zero(c.kernel_work_s) + or_zero(c.kernel_lock_spin_s),
            Self::WorkAndInterrupts => Self::Work.reported_seconds(view) + or_zero(c.interrupt_s),
            Self::UserWork => c.user_work_s,
            Self::KernelWork => or_zero(c.kernel_work_s),
            Self::Neighbour => {
                view.others.iter().filter(|(name, _)| neighbour::NAME == name).map(|(_, s)| s).sum()
            }
            Self::Idle => idle_seconds(c, |_| true),
            Self::Function(name) => sum_of_functions(view, name, |row| row.times.cpu().0),
            Self::IdleBeside(name) => sum_of_functions(view, name, |row| row.times.others_idle().0),
            Self::WaitsIn(name) => seconds_at_places(view, name, |lock| &lock.sites),
            Self::HeldBy(name) => seconds_at_places(view, name, |lock| &lock.holders),
            Self::OwnedBy(name) => {
                let owners = view.user_locks.iter().flat_map(|lock| &lock.owners);
                owners.filter(|owner| owner.thread == name).map(|owner| owner.held_s).sum()
            }
            Self::HoldsOf(name) => holds_of(view, name).map(|lock| lock.held_s).sum(),
            Self::LockVariable(name) => {
                let is_there = |lock: &&UserLockView| is_variable(lock.name.as_deref(), name);
                view.user_locks.iter().filter(is_there).map(|lock| lock.wait_s).sum()
            }
            Self::RuntimeLock(runtime) => {
                let is_runtime = |lock: &&UserLockView| lock.runtime == Some(runtime);
                view.user_locks.iter().filter(is_runtime).map(|lock| lock.wait_s).sum()
            }
            Self::RuntimeLockHeld(runtime) => {
                let is_runtime = |lock: &&UserLockView| lock.runtime == Some(runtime);
                view.user_locks.iter().filter(is_runtime).map(|lock| lock.held_s).sum()
            }
            Self::OpenMp => view.openmp.iter().map(|row| row.waited_s).sum(),
            Self::OpenMpIn(name) => {
                let regions = view.openmp.iter().flat_map(|row| &row.regions);
                regions.filter(|region| name.matches(&region.caller)).map(|region| region.waited_s).sum()
            }
            named => idle_seconds(c, |part| part == Some(named)),
        }
    }

    /// The same part of a file without symbols, with these names of its functions; `None` for the
    /// name of a variable.
    fn without_symbols(self, names: &FunctionNames) -> Option<Self> {
        let name = |function| match function {
            FunctionName::Symbol(symbol) => names.name(symbol),
            stripped @ FunctionName::Stripped { .. } => stripped,
        };
        Some(match self {
            Self::Function(function) => Self::Function(name(function)),
            Self::IdleBeside(function) => Self::IdleBeside(name(function)),
            Self::WaitsIn(function) => Self::WaitsIn(name(function)),
            Self::HeldBy(function) => Self::HeldBy(name(function)),
            Self::OpenMpIn(function) => Self::OpenMpIn(name(function)),
            Self::LockVariable(_) => return None,
            other => other,
        })
    }

    /// Idle time outside the parts `named`; a program that expects only these parts expects none of
    /// it.
    pub fn other_idle(named: &[Self], c: &Components) -> f64 {
        if named.contains(&Self::Idle) {
            return 0.0;
        }
        idle_seconds(c, |part| part.is_none_or(|part| !named.contains(&part)))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Function(name) => return write!(f, "in {name}"),
            Self::IdleBeside(name) => return write!(f, "idle beside {name}"),
            Self::WaitsIn(name) => return write!(f, "waits in {name}"),
            Self::HeldBy(name) => return write!(f, "held by {name}"),
            Self::OwnedBy(name) => return write!(f, "owned by {name}"),
            Self::HoldsOf(name) => return write!(f, "{name} held"),
            Self::LockVariable(name) => return write!(f, "waits for {name}"),
            Self::RuntimeLock(RuntimeLock::PythonGil) => "waits for Python's GIL",
            Self::RuntimeLock(RuntimeLock::MallocArena) => "waits for malloc's arenas",
            Self::RuntimeLockHeld(RuntimeLock::MallocArena) => "malloc's arenas held",
            Self::RuntimeLockHeld(RuntimeLock::PythonGil) => "Python's GIL held",
            Self::OpenMp => "waits in OpenMP",
            Self::OpenMpIn(name) => return write!(f, "OpenMP in {name}"),
            Self::Work => "work",
            Self::WorkAndInterrupts => "work and interrupts",
            Self::UserWork => "user work",
            Self::KernelWork => "kernel work",
            Self::Neighbour => "the neighbour",
            Self::Scheduling => "idle: scheduling",
            Self::Pinned => "idle: pinned",
            Self::UserLock => "idle: user lock",
            Self::Disk => "idle: disk",
            Self::Timer => "idle: timer",
            Self::TooLittleWork => "idle: too little parallel work",
            Self::Idle => "idle, all",
        })
    }
}

/// Source of a truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Construction of the program.
    Construction,
    /// Clocks that the program reads itself.
    OwnClocks,
    /// The kernel's account of CPUs and threads, in `/proc`.
    KernelAccount,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Construction => "construction",
            Self::OwnClocks => "own clocks",
            Self::KernelAccount => "/proc",
        })
    }
}

/// A component and its truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The component.
    pub part: Part,
    /// Truth in CPU-seconds.
    pub seconds: f64,
    /// Source of the truth.
    pub source: Source,
}

impl Share {
    /// Share known from the construction of the program.
    pub const fn from_construction(part: Part, seconds: f64) -> Self {
        Self { part, seconds, source: Source::Construction }
    }

    /// Share known from the program's own clocks.
    pub const fn from_own_clocks(part: Part, seconds: f64) -> Self {
        Self { part, seconds, source: Source::OwnClocks }
    }

    /// Share known from the kernel's account.
    pub const fn from_kernel(part: Part, seconds: f64) -> Self {
        Self { part, seconds, source: Source::KernelAccount }
    }

    /// Limits this idle time to the kernel's account of idle time less `other` idle time; at the
    /// limit the kernel becomes the source.
    pub(crate) fn limit_idle(self, truth: &Truth, other: f64) -> Self {
        match truth.idle_s.map(|idle| (idle - other).max(0.0)) {
            Some(most) if most < self.seconds => Self::from_kernel(self.part, most),
            _ => self,
        }
    }
}

/// A part of the time that the trace reports for all parts of its kind, and its truth: of all waits
/// for locks of the program, of all holds of them, or of all idle time for lack of parallel work.
/// It shows faults that are a small part of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// The part: waits, holds, or idle time beside a function.
    pub part: Part,
    /// Truth in percent of all parts of this kind.
    pub percent: f64,
    /// Shares that are right.
    pub bound: ShareBound,
    /// Source of the truth.
    pub source: Source,
}

/// Shares that are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareBound {
    /// The truth, within the limit of a difference.
    Equal,
    /// The truth or more.
    AtLeast,
}

impl Proportion {
    /// Share that the trace reports, in percent; 0 if there is no time of this kind.
    pub fn reported_percent(&self, view: &TraceView) -> f64 {
        let whole: f64 = match self.part {
            Part::HeldBy(_) => view.user_locks.iter().map(|lock| lock.held_s).sum(),
            Part::IdleBeside(_) => view.components.idle_too_little_work_s,
            _ => view.user_locks.iter().map(|lock| lock.wait_s).sum(),
        };
        if whole > 0.0 { 100.0 * self.part.reported_seconds(view) / whole } else { 0.0 }
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.part, self.bound) {
            (Part::WaitsIn(name), ShareBound::Equal) => write!(f, "of waits: {name}"),
            (Part::LockVariable(name), ShareBound::Equal) => write!(f, "of waits: {name}"),
            (Part::HeldBy(name), ShareBound::Equal) => write!(f, "of holds: {name}"),
            (part, ShareBound::Equal) => write!(f, "of all: {part}"),
            (part, ShareBound::AtLeast) => write!(f, "at least: {part}"),
        }
    }
}

/// A quantity that a trace counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedEvent {
    /// Number of starts of this command.
    Calls(String),
    /// Waits for kernel locks.
    LockWaits,
    /// Holds of the lock in the variable of this name.
    HoldsOf(&'static str),
}

impl CountedEvent {
    /// Number that the trace reports.
    pub fn reported_count(&self, view: &TraceView) -> u64 {
        match self {
            Self::Calls(name) => view
                .commands
                .iter()
                .filter(|command| command.name == *name)
                .map(|command| command.calls)
                .sum(),
            Self::HoldsOf(name) => holds_of(view, name).map(|lock| lock.holds).sum(),
            Self::LockWaits => view.locks.iter().map(|lock| lock.count).sum(),
        }
    }
}

impl fmt::Display for CountedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(name) => write!(f, "calls of {name}"),
            Self::HoldsOf(name) => write!(f, "holds of {name}"),
            Self::LockWaits => f.write_str("waits for kernel locks"),
        }
    }
}

/// A count and its truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Counted quantity.
    pub event: CountedEvent,
    /// True number.
    pub number: u64,
    /// Source of the number.
    pub source: &'static str,
}

/// Complete truth of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedReport {
    /// Components.
    pub shares: Vec<Share>,
    /// Parts of all times of a kind.
    pub proportions: Vec<Proportion>,
    /// Counts.
    pub counts: Vec<Count>,
    /// Prefixes of the names of processes outside the tree that exist because of the program: they
    /// are no disturbance.
    pub own_processes: &'static [&'static str],
    /// Remark on the truth of this run.
    pub note: Option<&'static str>,
}

impl ExpectedReport {
    /// Builds a truth of these components, without counts.
    pub fn from_shares(shares: impl Into<Vec<Share>>) -> Self {
        Self { shares: shares.into(), ..Self::default() }
    }

    /// Truth of the same run of a program without symbols, with these names of its functions.
    pub(crate) fn without_symbols(mut self, names: &FunctionNames) -> Self {
        self.shares.retain_mut(|share| replace_part(&mut share.part, names));
        self.proportions.retain_mut(|share| replace_part(&mut share.part, names));
        self
    }
}

/// Replaces a part by that of a file without symbols; false if there is none.
fn replace_part(part: &mut Part, names: &FunctionNames) -> bool {
    let replaced = part.without_symbols(names);
    *part = replaced.unwrap_or(*part);
    replaced.is_some()
}

#[cfg(test)]
mod tests {
    use morecores_view::Component;
    use morecores_view::code::{CodeTime, CodeTimes, LockOwner};
    use morecores_view::{OpenMpRegion, OpenMpView};

    use super::*;

    const PARSE: FunctionName = FunctionName::Symbol("parse");
    const STRIPPED: FunctionName = FunctionName::Stripped { symbol: "parse", file: "file", start: 0x1a30 };

    /// View in which every component is another power of two, so that a sum identifies its parts.
    fn view() -> TraceView {
        let mut view: TraceView = serde_json::from_str(include_str!("../tests/view.json")).unwrap();
        let function = |name: &str, cpu_s, idle_s| FunctionView {
            command: "program".to_owned(),
            function: name.to_owned(),
            module: None,
            source: None,
            times: CodeTimes(vec![
                CodeTime { component: Component::UserWork, seconds: cpu_s, error_s: 0.0 },
                CodeTime { component: Component::IdleTooLittleWork, seconds: idle_s, error_s: 0.0 },
            ]),
            path_s: None,
        };
        view.functions = vec![
            function("parse", 1.0, 0.25),
            function("program::parse", 2.0, 0.25),
            function("space::parse(File&, a::B)", 4.0, 0.5),
            function("parse_all", 64.0, 64.0),
            function("file+0x1a30", 128.0, 128.0),
        ];
        let place = |function: &str, caller: Option<&str>, seconds| CodeSite {
            function: function.to_owned(),
            source: None,
            module: None,
            caller: caller.map(str::to_owned),
            kind: None,
            count: 1.0,
            seconds,
            seconds_error: 0.0,
        };
        let lock = |name: Option<&str>, runtime, wait_s, sites, holders| UserLockView {
            command: "program".to_owned(),
            name: name.map(str::to_owned),
            runtime,
            waits: 1,
            wait_s,
            max_wait_s: 1.0,
            held_s: 64.0,
            sites,
            holders,
            owners: vec![
                LockOwner { thread: "writer".to_owned(), held_s: 40.0 },
                LockOwner { thread: "reader".to_owned(), held_s: 24.0 },
            ],
        };
        view.user_locks = vec![
            lock(
                Some("program::table+0x8"),
                None,
                48.0,
                vec![place("take", Some("parse"), 1.0), place("parse", Some("main"), 2.0)],
                vec![place("parse", None, 16.0), place("take", Some("file+0x1a30"), 32.0)],
            ),
            lock(None, Some(RuntimeLock::PythonGil), 16.0, vec![place("take", None, 4.0)], Vec::new()),
        ];
        let region = |caller: &str, waited_s| OpenMpRegion {
            function: None,
            caller: caller.to_owned(),
            source: None,
            module: None,
            waited_s,
            waited_error_s: 0.0,
        };
        view.openmp = vec![OpenMpView {
            command: "program".to_owned(),
            waited_s: 8.0,
            waited_error_s: 0.0,
            spun_s: 8.0,
            slept_s: 0.0,
            spun_between_s: 0.0,
            regions: vec![region("parse", 5.0), region("main", 3.0)],
        }];
        view.others = vec![("daemon".to_owned(), 0.25), (neighbour::NAME.to_owned(), 0.5)];
        view.components = Components {
            user_work_s: 1.0,
            kernel_work_s: Some(2.0),
            interrupt_s: Some(4.0),
            kernel_lock_spin_s: Some(8.0),
            other_processes_s: 16.0,
            tracer_s: 32.0,
            steal_s: Some(64.0),
            idle_scheduling_s: 128.0,
            idle_held_s: Some(65536.0),
            idle_pinned_s: Some(256.0),
            idle_kernel_lock_s: Some(512.0),
            idle_user_lock_s: Some(1024.0),
            idle_disk_s: Some(2048.0),
            idle_peer_s: Some(4096.0),
            idle_device_s: Some(131_072.0),
            idle_rcu_s: Some(262_144.0),
            idle_uninterruptible_s: Some(524_288.0),
            idle_timer_s: Some(8192.0),
            idle_too_little_work_s: 16384.0,
            unexplained_s: 32768.0,
        };
        view
    }

    #[test]
    fn every_part_is_its_components() {
        let sums = [
            (Part::Work, 11.0),
            (Part::WorkAndInterrupts, 15.0),
            (Part::UserWork, 1.0),
            (Part::KernelWork, 2.0),
            (Part::Neighbour, 0.5),
            (Part::Scheduling, 128.0),
            (Part::Pinned, 256.0),
            (Part::UserLock, 1024.0),
            (Part::Disk, 2048.0),
            (Part::Timer, 8192.0),
            (Part::TooLittleWork, 16384.0),
            (Part::Idle, 98176.0 + 917_504.0),
            (Part::Function(PARSE), 7.0),
            (Part::IdleBeside(PARSE), 1.0),
            (Part::Function(STRIPPED), 128.0),
            (Part::WaitsIn(PARSE), 3.0),
            (Part::HeldBy(PARSE), 16.0),
            (Part::HeldBy(STRIPPED), 32.0),
            // Both locks have these owners.
            (Part::OwnedBy("reader"), 48.0),
            (Part::LockVariable("table"), 48.0),
            (Part::RuntimeLock(RuntimeLock::PythonGil), 16.0),
            (Part::RuntimeLockHeld(RuntimeLock::PythonGil), 64.0),
            (Part::OpenMp, 8.0),
            (Part::OpenMpIn(PARSE), 5.0),
        ];
        for (part, sum) in sums {
            assert_eq!(part.reported_seconds(&view()), sum, "{part}");
        }
    }

    #[test]
    fn proportions_are_of_all_parts_of_their_kind() {
        let share = |part| {
            let share =
                Proportion { part, percent: 0.0, bound: ShareBound::Equal, source: Source::OwnClocks };
            share.reported_percent(&view())
        };
        assert_eq!(share(Part::WaitsIn(PARSE)), 100.0 * 3.0 / 64.0);
        assert_eq!(share(Part::HeldBy(STRIPPED)), 25.0);
        assert_eq!(share(Part::IdleBeside(PARSE)), 100.0 / 16384.0);
        assert_eq!(share(Part::RuntimeLock(RuntimeLock::PythonGil)), 25.0);
        let without = TraceView { user_locks: Vec::new(), ..view() };
        let gil = Part::RuntimeLock(RuntimeLock::PythonGil);
        let gil =
            Proportion { part: gil, percent: 95.0, bound: ShareBound::AtLeast, source: Source::Construction };
        assert_eq!(gil.reported_percent(&without), 0.0);
    }

    #[test]
    fn a_program_without_symbols_has_the_places_of_its_functions() {
        let names = FunctionNames(vec![STRIPPED]);
        let share = |part| Share::from_own_clocks(part, 1.0);
        let proportion =
            |part| Proportion { part, percent: 1.0, bound: ShareBound::Equal, source: Source::OwnClocks };
        let proportions = [Part::HeldBy(PARSE), Part::LockVariable("table")].map(proportion).to_vec();
        let shares = [Part::Work, Part::Function(PARSE), Part::IdleBeside(PARSE)].map(share);
        let expected = ExpectedReport { proportions, ..ExpectedReport::from_shares(shares) };
        let expected = expected.without_symbols(&names);
        let parts: Vec<Part> = expected.shares.iter().map(|share| share.part).collect();
        assert_eq!(parts, [Part::Work, Part::Function(STRIPPED), Part::IdleBeside(STRIPPED)]);
        assert_eq!(expected.proportions, [proportion(Part::HeldBy(STRIPPED))]);
    }

    #[test]
    fn idle_time_without_a_name_is_other() {
        let c = view().components;
        let all = Part::Idle.reported_seconds(&view());
        assert_eq!(Part::other_idle(&[Part::Work], &c), all);
        assert_eq!(Part::other_idle(&[Part::Disk, Part::Work, Part::Timer], &c), all - 2048.0 - 8192.0);
        assert_eq!(Part::other_idle(&[Part::Idle], &c), 0.0);
    }
}
