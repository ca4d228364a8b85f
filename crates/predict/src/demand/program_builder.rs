//! Actions of each thread at their traced instants, and their assembly into scripts.

use std::collections::HashMap;

use morecores_study::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::exponential_time;
use super::tokens::Tokens;
use crate::replay::{Program, Script, SharedWork, Step};
use morecores_explain::trace::{Occupant, ThreadId, Timeline, lock_spans};

/// Action or wait of a thread at an instant.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Step that depends on no other thread.
    Step(Step),
    /// Action that another thread waits for.
    Mark(Dependency),
    /// Wait for such an action.
    Await(Dependency),
    /// Start of a span that any member of this shared work may do.
    BeginShared(u32),
    /// End of that span.
    EndShared,
    /// Release of a lock.
    Unlock(u32),
}

impl Action {
    /// Order of actions at the same instant. Actions at the ends of a shared span stay outside it.
    const fn rank(&self) -> u8 {
        match self {
            // A thread that this action wakes was signalled before the release, and takes the lock
            // after it.
            Self::EndShared | Self::Unlock(_) => 0,
            // A thread that signals and then waits does so in this order.
            Self::Mark(_) => 1,
            Self::Step(_) | Self::Await(_) => 2,
            Self::BeginShared(_) => 3,
        }
    }
}

/// Dependency of an awaiting thread on a marking thread.
#[derive(Clone, Copy, Debug)]
struct Dependency(u32);

/// CPU time of one span on a CPU, without time spun for locks and time taken by a hypervisor.
struct CpuWork {
    from: Nanos,
    to: Nanos,
    time: Nanos,
}

/// Actions and work of all threads, before they are put in order.
pub(super) struct ProgramBuilder {
    actions: Vec<Vec<(Nanos, Action)>>,
    work: Vec<Vec<CpuWork>>,
    dependencies: u32,
    devices: Vec<u32>,
    shared_work: Vec<(SharedWork, PieceBoundary)>,
}

/// Boundary between two pieces of shared work.
#[derive(Clone, Copy, Debug)]
pub(super) enum PieceBoundary {
    /// After this mean amount of work; the trace does not show the boundaries.
    MeanWork(Nanos),
    /// At each take from this channel.
    AtTake(u32),
}

/// Shared part of a thread's script: the number of the shared work, and the steps with their
/// instants.
type SharedPart = (u32, Vec<(Nanos, Step)>);

impl ProgramBuilder {
    /// Builder with the CPU time of `threads`, in this order, and no actions.
    pub(super) fn new(timeline: &Timeline, threads: &[ThreadId]) -> Self {
        let thread_indices: HashMap<ThreadId, usize> = threads.iter().copied().zip(0..).collect();
        let mut work: Vec<Vec<CpuWork>> = threads.iter().map(|_| Vec::new()).collect();
        for span in timeline.cpus.iter().flat_map(|cpu| &cpu.spans) {
            let Occupant::Thread(id) = span.occupant else { continue };
            let Some(&index) = thread_indices.get(&id) else { continue };
            let time = span.accounted.unwrap_or(span.length()).min(span.length());
            work[index].push(CpuWork { from: span.from, to: span.to, time });
        }
        for work in &mut work {
            work.sort_unstable_by_key(|work| work.from);
        }
        for span in lock_spans(timeline) {
            let Some(&index) = thread_indices.get(&span.thread) else { continue };
            let first = work[index].partition_point(|work| work.to <= span.from);
            for work in work[index][first..].iter_mut().take_while(|work| work.from < span.to) {
                let spun = work.to.min(span.to).since(work.from.max(span.from));
                work.time = Nanos(work.time.0.saturating_sub(spun.0));
            }
        }
        Self {
            actions: threads.iter().map(|_| Vec::new()).collect(),
            work,
            dependencies: 0,
            devices: Vec::new(),
            shared_work: Vec::new(),
        }
    }

    fn add_action(&mut self, thread: u32, at: Nanos, action: Action) {
        self.actions[thread as usize].push((at, action));
    }

    /// Adds a step of a thread at an instant.
    pub(super) fn add_step(&mut self, thread: u32, at: Nanos, step: Step) {
        self.add_action(thread, at, Action::Step(step));
    }

    /// Adds a lock that a thread holds from one instant to another.
    pub(super) fn add_hold(&mut self, thread: u32, lock: u32, from: Nanos, to: Nanos) {
        self.add_step(thread, from, Step::Lock(lock));
        self.add_action(thread, to, Action::Unlock(lock));
    }

    /// Adds the creation of a thread.
    pub(super) fn add_start(&mut self, thread: u32, at: Nanos, child: u32) {
        self.add_step(thread, at, Step::Start(child));
    }

    /// Adds a dependency: the action of `waker` at `woken` ends the wait of `waiter` that began at
    /// `since`.
    pub(super) fn add_dependency(&mut self, (waiter, since): (u32, Nanos), (waker, woken): (u32, Nanos)) {
        let dependency = Dependency(self.dependencies);
        self.dependencies += 1;
        self.add_action(waker, woken, Action::Mark(dependency));
        self.add_action(waiter, since, Action::Await(dependency));
    }

    /// Adds a device with this number of channels and returns its number.
    pub(super) fn add_device(&mut self, channels: u32) -> u32 {
        self.devices.push(channels);
        self.devices.len() as u32 - 1
    }

    /// Adds shared work and returns its number.
    pub(super) fn add_shared_work(&mut self, boundary: PieceBoundary) -> u32 {
        self.shared_work.push((SharedWork::default(), boundary));
        self.shared_work.len() as u32 - 1
    }

    /// Moves the actions of `thread` between two instants into shared work.
    pub(super) fn share_work(&mut self, work: u32, thread: u32, from: Nanos, to: Nanos) {
        self.shared_work[work as usize].0.members.push(thread);
        self.add_action(thread, from, Action::BeginShared(work));
        self.add_action(thread, to, Action::EndShared);
    }

    /// CPU time of a thread between two instants.
    pub(super) fn cpu_time(&self, thread: u32, from: Nanos, to: Nanos) -> Nanos {
        let work = &self.work[thread as usize];
        let first = work.partition_point(|piece| piece.to <= from);
        let inside = work[first..].iter().take_while(|piece| piece.from < to);
        inside
            .map(|piece| {
                Nanos(piece.cpu_time_until(to.min(piece.to)).0 - piece.cpu_time_until(from.max(piece.from)).0)
            })
            .sum()
    }

    /// Last instant between two instants at which the thread had a CPU.
    pub(super) fn last_cpu_instant(&self, thread: u32, from: Nanos, to: Nanos) -> Option<Nanos> {
        let work = &self.work[thread as usize];
        let last = work[..work.partition_point(|piece| piece.from < to)].last()?;
        (last.to > from).then(|| last.to.min(to))
    }

    /// Assembles the program: all actions in their traced order, with each thread's CPU time
    /// between them.
    pub(super) fn build(mut self, channels: &mut Tokens) -> Program {
        // Signal of each dependency: a mark of a thread, or a token if any member may reach the
        // dependency.
        let mut signals = vec![Signal::Mark { thread: 0, marks: 0 }; self.dependencies as usize];
        for (thread, actions) in (0..).zip(&mut self.actions) {
            actions.sort_by_key(|(at, action)| (*at, action.rank()));
            let (mut marks, mut shared) = (0, false);
            for (_, action) in actions.iter() {
                match action {
                    Action::BeginShared(_) => shared = true,
                    Action::EndShared => shared = false,
                    Action::Mark(dependency) if shared => {
                        signals[dependency.0 as usize] = Signal::Token(channels.add_channel())
                    }
                    Action::Mark(dependency) => {
                        marks += 1;
                        signals[dependency.0 as usize] = Signal::Mark { thread, marks };
                    }
                    Action::Step(_) | Action::Await(_) | Action::Unlock(_) => {}
                }
            }
        }
        let mut shared_parts = Vec::new();
        let threads: Vec<Script> = self
            .actions
            .iter()
            .zip(&self.work)
            .map(|(actions, work)| {
                let mut writer = ScriptWriter::default();
                writer.write(actions, work, &signals);
                shared_parts.append(&mut writer.shared_parts);
                writer.script
            })
            .collect();
        let filled = (0..).zip(self.shared_work).map(|(index, (work, boundary))| {
            let parts = shared_parts
                .iter()
                .filter(|(number, _)| *number == index)
                .map(|(_, shared_part)| shared_part.as_slice());
            SharedWork { pieces: cut_into_pieces(parts, boundary), ..work }
        });
        Program { threads, devices: self.devices, shared_work: filled.collect(), ..Program::default() }
    }
}

/// Signal that a dependency was marked.
#[derive(Clone, Copy)]
enum Signal {
    Mark { thread: u32, marks: u32 },
    Token(u32),
}

/// Script of one thread during its assembly.
#[derive(Default)]
struct ScriptWriter {
    script: Script,
    /// Work that is not yet in the script.
    pending: Nanos,
    /// Shared part that is currently open.
    shared_part: Option<SharedPart>,
    shared_parts: Vec<SharedPart>,
}

impl ScriptWriter {
    fn write(&mut self, actions: &[(Nanos, Action)], work: &[CpuWork], signals: &[Signal]) {
        let (mut next, mut used) = (0, Nanos::ZERO);
        for (at, action) in actions {
            while let Some(piece) = work.get(next).filter(|piece| piece.from < *at) {
                let whole = piece.to <= *at;
                let until = if whole { piece.time } else { piece.cpu_time_until(*at) };
                self.add_run(piece.from, Nanos(until.0.saturating_sub(used.0)));
                used = until;
                if !whole {
                    break;
                }
                (next, used) = (next + 1, Nanos::ZERO);
            }
            match *action {
                Action::Step(step) => self.step(*at, step),
                Action::Unlock(lock) => self.step(*at, Step::Unlock(lock)),
                Action::Mark(dependency) => match signals[dependency.0 as usize] {
                    Signal::Mark { .. } => self.step(*at, Step::Mark),
                    Signal::Token(channel) => self.step(*at, Step::Put { channel, tokens: 1 }),
                },
                Action::Await(dependency) => match signals[dependency.0 as usize] {
                    Signal::Mark { thread, marks } => self.step(*at, Step::Await { thread, marks }),
                    Signal::Token(channel) => self.step(*at, Step::Take { channel, tokens: 1 }),
                },
                Action::BeginShared(work) => {
                    self.end_shared_part();
                    self.step(*at, Step::ShareWork(work));
                    self.shared_part = Some((work, Vec::new()));
                }
                Action::EndShared => self.end_shared_part(),
            }
        }
        for piece in work.get(next..).unwrap_or_default() {
            self.add_run(piece.from, Nanos(piece.time.0.saturating_sub(used.0)));
            used = Nanos::ZERO;
        }
        self.end_shared_part();
        self.flush_pending();
    }

    fn add_run(&mut self, at: Nanos, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        match &mut self.shared_part {
            Some((_, shared_part)) => shared_part.push((at, Step::Run(time))),
            None => self.pending += time,
        }
    }

    fn step(&mut self, at: Nanos, step: Step) {
        match &mut self.shared_part {
            Some((_, shared_part)) => shared_part.push((at, step)),
            None => {
                self.flush_pending();
                self.script.push(step);
            }
        }
    }

    fn flush_pending(&mut self) {
        if self.pending > Nanos::ZERO {
            self.script.push(Step::Run(self.pending));
            self.pending = Nanos::ZERO;
        }
    }

    fn end_shared_part(&mut self) {
        self.shared_parts.extend(self.shared_part.take());
    }
}

/// Work of several threads, cut into pieces, in the order of their start.
fn cut_into_pieces<'s>(
    shared_parts: impl Iterator<Item = &'s [(Nanos, Step)]>,
    boundary: PieceBoundary,
) -> Vec<Script> {
    let mut pieces: Vec<(Nanos, Script)> = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for shared_part in shared_parts {
        let mut piece: Option<(Nanos, Script)> = None;
        let mut work_left = match boundary {
            PieceBoundary::MeanWork(mean) => exponential_time(&mut random, mean.as_secs_f64()),
            PieceBoundary::AtTake(_) => Nanos::ZERO,
        };
        let mut holds_lock = false;
        for (at, step) in shared_part {
            match *step {
                Step::Lock(_) => holds_lock = true,
                Step::Unlock(_) => holds_lock = false,
                _ => {}
            }
            match (boundary, *step) {
                (PieceBoundary::AtTake(channel), Step::Take { channel: other, .. }) if other == channel => {
                    pieces.extend(piece.take());
                    piece = Some((*at, vec![*step]));
                }
                (PieceBoundary::MeanWork(mean), Step::Run(mut remaining)) if !holds_lock => {
                    while remaining > Nanos::ZERO {
                        let part = remaining.min(work_left);
                        piece.get_or_insert((*at, Script::new())).1.push(Step::Run(part));
                        (remaining, work_left) = (remaining.since(part), work_left.since(part));
                        if work_left == Nanos::ZERO {
                            pieces.extend(piece.take());
                            work_left = exponential_time(&mut random, mean.as_secs_f64());
                        }
                    }
                }
                _ => piece.get_or_insert((*at, Script::new())).1.push(*step),
            }
        }
        pieces.extend(piece);
    }
    pieces.sort_by_key(|(at, _)| *at);
    pieces.into_iter().map(|(_, piece)| merge_runs(piece)).collect()
}

/// Merges consecutive work into one step.
fn merge_runs(script: Script) -> Script {
    let mut merged = Script::with_capacity(script.len());
    for step in script {
        match (merged.last_mut(), step) {
            (Some(Step::Run(before)), Step::Run(time)) => *before += time,
            _ => merged.push(step),
        }
    }
    merged
}

impl CpuWork {
    /// Part of the CPU time that had passed at an instant inside the span.
    fn cpu_time_until(&self, at: Nanos) -> Nanos {
        let passed = u128::from(at.since(self.from).0) * u128::from(self.time.0)
            / u128::from(self.to.since(self.from).0.max(1));
        Nanos(passed as u64)
    }
}
