//! Actions of each thread at their traced instants, and their assembly into scripts.

use std::collections::HashMap;

use morecores_study::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::random::exponential;
use super::tokens::Tokens;
use crate::replay::{Bag, Program, Script, Step};
use morecores_explain::trace::{Occupant, ThreadId, Timeline, lock_spans};

/// Action or wait of a thread at an instant.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Step that depends on no other thread.
    Step(Step),
    /// Action that another thread waits for.
    Mark(Edge),
    /// Wait for such an action.
    Await(Edge),
    /// Start of a stretch that any member of this bag may do.
    Open(u32),
    /// End of that stretch.
    Close,
    /// Release of a lock.
    GiveBack(u32),
}

impl Act {
    /// Order of acts at the same instant. Acts at the ends of a shared stretch stay outside it.
    const fn rank(&self) -> u8 {
        match self {
            // A thread that this action wakes was signalled before the release, and takes the lock
            // after it.
            Self::Close | Self::GiveBack(_) => 0,
            // A thread that signals and then waits does so in this order.
            Self::Mark(_) => 1,
            Self::Step(_) | Self::Await(_) => 2,
            Self::Open(_) => 3,
        }
    }
}

/// Dependency of an awaiting thread on a marking thread.
#[derive(Clone, Copy, Debug)]
struct Edge(u32);

/// CPU time of one stretch on a CPU, without time spun for locks and time taken by a hypervisor.
struct Work {
    from: Nanos,
    to: Nanos,
    time: Nanos,
}

/// Acts and work of all threads, before they are put in order.
pub(super) struct Sheets {
    acts: Vec<Vec<(Nanos, Act)>>,
    work: Vec<Vec<Work>>,
    edges: u32,
    devices: Vec<u32>,
    bags: Vec<(Bag, Cut)>,
}

/// Rule for cutting the work of a bag into pieces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// After this mean amount of work; the trace does not show the boundaries.
    About(Nanos),
    /// At each take from this channel.
    AtTake(u32),
}

/// Shared part of a thread's script: the bag, and the steps with their instants.
type Section = (u32, Vec<(Nanos, Step)>);

impl Sheets {
    /// Sheets with the CPU time of `threads`, in this order, and no acts.
    pub(super) fn new(timeline: &Timeline, threads: &[ThreadId]) -> Self {
        let place: HashMap<ThreadId, usize> = threads.iter().copied().zip(0..).collect();
        let mut work: Vec<Vec<Work>> = threads.iter().map(|_| Vec::new()).collect();
        for stretch in timeline.cpus.iter().flat_map(|cpu| &cpu.stretches) {
            let Occupant::Thread(id) = stretch.who else { continue };
            let Some(&place) = place.get(&id) else { continue };
            let time = stretch.accounted.unwrap_or(stretch.length()).min(stretch.length());
            work[place].push(Work { from: stretch.from, to: stretch.to, time });
        }
        for work in &mut work {
            work.sort_unstable_by_key(|work| work.from);
        }
        for span in lock_spans(timeline) {
            let Some(&place) = place.get(&span.thread) else { continue };
            let first = work[place].partition_point(|work| work.to <= span.from);
            for work in work[place][first..].iter_mut().take_while(|work| work.from < span.to) {
                let spun = work.to.min(span.to).since(work.from.max(span.from));
                work.time = Nanos(work.time.0.saturating_sub(spun.0));
            }
        }
        Self {
            acts: threads.iter().map(|_| Vec::new()).collect(),
            work,
            edges: 0,
            devices: Vec::new(),
            bags: Vec::new(),
        }
    }

    fn act(&mut self, thread: u32, at: Nanos, act: Act) {
        self.acts[thread as usize].push((at, act));
    }

    /// Adds a step of a thread at an instant.
    pub(super) fn step(&mut self, thread: u32, at: Nanos, step: Step) {
        self.act(thread, at, Act::Step(step));
    }

    /// Adds a lock that a thread holds from one instant to another.
    pub(super) fn keep(&mut self, thread: u32, lock: u32, from: Nanos, to: Nanos) {
        self.step(thread, from, Step::Lock(lock));
        self.act(thread, to, Act::GiveBack(lock));
    }

    /// Adds the creation of a thread.
    pub(super) fn start(&mut self, thread: u32, at: Nanos, child: u32) {
        self.step(thread, at, Step::Start(child));
    }

    /// Adds a dependency: the action of `waker` at `woken` ends the wait of `waiter` that began at
    /// `since`.
    pub(super) fn edge(&mut self, (waiter, since): (u32, Nanos), (waker, woken): (u32, Nanos)) {
        let edge = Edge(self.edges);
        self.edges += 1;
        self.act(waker, woken, Act::Mark(edge));
        self.act(waiter, since, Act::Await(edge));
    }

    /// Adds a device with this number of channels and returns its number.
    pub(super) fn device(&mut self, channels: u32) -> u32 {
        self.devices.push(channels);
        self.devices.len() as u32 - 1
    }

    /// Adds a bag of shared work and returns its number.
    pub(super) fn bag(&mut self, cut: Cut) -> u32 {
        self.bags.push((Bag::default(), cut));
        self.bags.len() as u32 - 1
    }

    /// Moves the acts of `thread` between two instants into a bag.
    pub(super) fn share(&mut self, bag: u32, thread: u32, from: Nanos, to: Nanos) {
        self.bags[bag as usize].0.members.push(thread);
        self.act(thread, from, Act::Open(bag));
        self.act(thread, to, Act::Close);
    }

    /// CPU time of a thread between two instants.
    pub(super) fn work(&self, thread: u32, from: Nanos, to: Nanos) -> Nanos {
        let work = &self.work[thread as usize];
        let first = work.partition_point(|piece| piece.to <= from);
        let inside = work[first..].iter().take_while(|piece| piece.from < to);
        inside.map(|piece| Nanos(piece.share(to.min(piece.to)).0 - piece.share(from.max(piece.from)).0)).sum()
    }

    /// Last instant between two instants at which the thread had a CPU.
    pub(super) fn last_work(&self, thread: u32, from: Nanos, to: Nanos) -> Option<Nanos> {
        let work = &self.work[thread as usize];
        let last = work[..work.partition_point(|piece| piece.from < to)].last()?;
        (last.to > from).then(|| last.to.min(to))
    }

    /// Assembles the program: all acts in their traced order, with each thread's CPU time between
    /// them.
    pub(super) fn program(mut self, channels: &mut Tokens) -> Program {
        // Sign of each edge: a mark of a thread, or a token if any member may reach the edge.
        let mut signs = vec![Sign::Mark { thread: 0, marks: 0 }; self.edges as usize];
        for (thread, acts) in (0..).zip(&mut self.acts) {
            acts.sort_by_key(|(at, act)| (*at, act.rank()));
            let (mut marks, mut shared) = (0, false);
            for (_, act) in acts.iter() {
                match act {
                    Act::Open(_) => shared = true,
                    Act::Close => shared = false,
                    Act::Mark(edge) if shared => signs[edge.0 as usize] = Sign::Token(channels.channel()),
                    Act::Mark(edge) => {
                        marks += 1;
                        signs[edge.0 as usize] = Sign::Mark { thread, marks };
                    }
                    Act::Step(_) | Act::Await(_) | Act::GiveBack(_) => {}
                }
            }
        }
        let mut sections = Vec::new();
        let threads: Vec<Script> = self
            .acts
            .iter()
            .zip(&self.work)
            .map(|(acts, work)| {
                let mut writer = Writer::default();
                writer.write(acts, work, &signs);
                sections.append(&mut writer.sections);
                writer.script
            })
            .collect();
        let filled = (0..).zip(self.bags).map(|(index, (bag, cut))| {
            let mine = sections.iter().filter(|(of, _)| *of == index).map(|(_, section)| section.as_slice());
            Bag { pieces: pieces(mine, cut), ..bag }
        });
        Program { threads, devices: self.devices, bags: filled.collect(), ..Program::default() }
    }
}

/// Sign that an edge was marked.
#[derive(Clone, Copy)]
enum Sign {
    Mark { thread: u32, marks: u32 },
    Token(u32),
}

/// Script of one thread during its assembly.
#[derive(Default)]
struct Writer {
    script: Script,
    /// Work that is not yet in the script.
    pending: Nanos,
    /// Shared part that is currently open.
    section: Option<Section>,
    sections: Vec<Section>,
}

impl Writer {
    fn write(&mut self, acts: &[(Nanos, Act)], work: &[Work], signs: &[Sign]) {
        let (mut next, mut used) = (0, Nanos::ZERO);
        for (at, act) in acts {
            while let Some(piece) = work.get(next).filter(|piece| piece.from < *at) {
                let whole = piece.to <= *at;
                let until = if whole { piece.time } else { piece.share(*at) };
                self.run(piece.from, Nanos(until.0.saturating_sub(used.0)));
                used = until;
                if !whole {
                    break;
                }
                (next, used) = (next + 1, Nanos::ZERO);
            }
            match *act {
                Act::Step(step) => self.step(*at, step),
                Act::GiveBack(lock) => self.step(*at, Step::GiveBack(lock)),
                Act::Mark(edge) => match signs[edge.0 as usize] {
                    Sign::Mark { .. } => self.step(*at, Step::Mark),
                    Sign::Token(channel) => self.step(*at, Step::Put { channel, tokens: 1 }),
                },
                Act::Await(edge) => match signs[edge.0 as usize] {
                    Sign::Mark { thread, marks } => self.step(*at, Step::Await { thread, marks }),
                    Sign::Token(channel) => self.step(*at, Step::Take { channel, tokens: 1 }),
                },
                Act::Open(bag) => {
                    self.close();
                    self.step(*at, Step::Share(bag));
                    self.section = Some((bag, Vec::new()));
                }
                Act::Close => self.close(),
            }
        }
        for piece in work.get(next..).unwrap_or_default() {
            self.run(piece.from, Nanos(piece.time.0.saturating_sub(used.0)));
            used = Nanos::ZERO;
        }
        self.close();
        self.flush();
    }

    fn run(&mut self, at: Nanos, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        match &mut self.section {
            Some((_, section)) => section.push((at, Step::Run(time))),
            None => self.pending += time,
        }
    }

    fn step(&mut self, at: Nanos, step: Step) {
        match &mut self.section {
            Some((_, section)) => section.push((at, step)),
            None => {
                self.flush();
                self.script.push(step);
            }
        }
    }

    fn flush(&mut self) {
        if self.pending > Nanos::ZERO {
            self.script.push(Step::Run(self.pending));
            self.pending = Nanos::ZERO;
        }
    }

    fn close(&mut self) {
        self.sections.extend(self.section.take());
    }
}

/// Work of a crew, cut into pieces, in the order of their start.
fn pieces<'s>(sections: impl Iterator<Item = &'s [(Nanos, Step)]>, cut: Cut) -> Vec<Script> {
    let mut begun: Vec<(Nanos, Script)> = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    for section in sections {
        let mut piece: Option<(Nanos, Script)> = None;
        let mut until = match cut {
            Cut::About(mean) => exponential(&mut random, mean.as_secs_f64()),
            Cut::AtTake(_) => Nanos::ZERO,
        };
        let mut keeps_a_lock = false;
        for (at, step) in section {
            match *step {
                Step::Lock(_) => keeps_a_lock = true,
                Step::GiveBack(_) => keeps_a_lock = false,
                _ => {}
            }
            match (cut, *step) {
                (Cut::AtTake(channel), Step::Take { channel: of, .. }) if of == channel => {
                    begun.extend(piece.take());
                    piece = Some((*at, vec![*step]));
                }
                (Cut::About(mean), Step::Run(mut left)) if !keeps_a_lock => {
                    while left > Nanos::ZERO {
                        let part = left.min(until);
                        piece.get_or_insert((*at, Script::new())).1.push(Step::Run(part));
                        (left, until) = (left.since(part), until.since(part));
                        if until == Nanos::ZERO {
                            begun.extend(piece.take());
                            until = exponential(&mut random, mean.as_secs_f64());
                        }
                    }
                }
                _ => piece.get_or_insert((*at, Script::new())).1.push(*step),
            }
        }
        begun.extend(piece);
    }
    begun.sort_by_key(|(at, _)| *at);
    begun.into_iter().map(|(_, piece)| merged(piece)).collect()
}

/// Merges consecutive work into one step.
fn merged(script: Script) -> Script {
    let mut merged = Script::with_capacity(script.len());
    for step in script {
        match (merged.last_mut(), step) {
            (Some(Step::Run(before)), Step::Run(time)) => *before += time,
            _ => merged.push(step),
        }
    }
    merged
}

impl Work {
    /// Part of the CPU time that had passed at an instant inside the stretch.
    fn share(&self, at: Nanos) -> Nanos {
        let passed = u128::from(at.since(self.from).0) * u128::from(self.time.0)
            / u128::from(self.to.since(self.from).0.max(1));
        Nanos(passed as u64)
    }
}
