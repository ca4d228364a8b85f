//! The idle rule: to what each idle CPU was lost, at each instant of a run.
//!
//! One sweep over the changes of state in the order of time. Between two changes the rule
//! (docs/methods/explain.md, "Idle rule") is a matter of a few counts, which the sweep keeps; nothing here
//! looks at all threads at once.

mod result;

use std::collections::HashMap;

use morecores_study::trace::Call;
use morecores_study::{CpuId, Nanos};

use super::causes::{Cause, wait_of};
use super::changes::{What, changes};
use super::forest::{Class, Forest};
use super::holders::Behind;
use super::labels::Labels;
use super::timeline::{State, ThreadId, Timeline, WaitId};

pub use result::{Charge, Idle, IdleTimes, Silence};

/// Applies the idle rule; `causes` are those of the timeline's waits, [`causes`](super::causes()).
pub fn idle(timeline: &Timeline, causes: &[Cause]) -> Idle {
    let changes = changes(timeline, causes);
    let mut sweep = Sweep::new(timeline, causes);
    for at_once in changes.chunk_by(|a, b| a.at == b.at) {
        sweep.advance(at_once[0].at);
        for change in at_once {
            sweep.apply(change.at, change.what);
        }
        sweep.listen();
    }
    sweep.finish()
}

/// One more, or one less.
fn count(threads: &mut u32, more: bool) {
    *threads = if more { *threads + 1 } else { threads.saturating_sub(1) };
}

/// What a thread of the tree is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Absent,
    Running,
    Runnable,
    Held,
    Blocked(WaitId),
}

/// Ready threads that may use none of the idle CPUs.
#[derive(Clone, Copy, Default)]
struct Barred {
    /// Those held back besides.
    held: u32,
    others: u32,
}

/// What the sweep keeps of each thread.
struct Node {
    doing: Doing,
    naming: u32,
    /// The CPUs that it may use, as bits over their places; none for all.
    allowed: Option<Box<[u64]>>,
    /// Where it stands in the list of those running or runnable.
    position: usize,
    /// The label and the index of its last charge.
    last_charge: Option<(u32, Option<Call>, usize)>,
}

struct Sweep<'t> {
    timeline: &'t Timeline,
    causes: &'t [Cause],
    now: Nanos,
    nodes: Vec<Node>,
    forest: Forest,
    place: HashMap<CpuId, usize>,
    /// Idle allotted CPUs, as bits over their places.
    idle: Box<[u64]>,
    /// Of each CPU that is idle: which share of its time is left by interrupts.
    idle_share: Vec<f64>,
    idle_cpus: u32,
    running: Vec<ThreadId>,
    /// Those that would run and have no CPU, held back or not.
    ready: Vec<ThreadId>,
    /// Of the ready ones, those held back.
    held: u32,
    /// Of the ready ones, those confined.
    confined: u32,
    /// Calls in which threads wait for others of the tree, and in which threads wait for what absorbs nothing.
    for_others: Labels,
    for_nothing: Labels,
    /// Threads that wait for a lock of the program's own themselves, and not for others who do.
    at_locks: u32,
    /// Those of them whose lock's holder waits itself, by what that one waits for.
    behind: [u32; Behind::COUNT],
    silent_since: Option<Nanos>,
    /// Idle time of the present silence, seconds.
    silent: f64,
    charge_of: HashMap<(ThreadId, u32, Option<Call>), usize>,
    silent_charge: f64,
    result: Idle,
}

impl<'t> Sweep<'t> {
    fn new(timeline: &'t Timeline, causes: &'t [Cause]) -> Self {
        let mut forest = Forest::new(timeline.threads.len());
        let mut nodes = Vec::with_capacity(timeline.threads.len());
        for (index, thread) in timeline.threads.iter().enumerate() {
            let id = ThreadId(index as u32);
            if let Some(parent) = thread.parent
                && thread.in_tree
                && timeline.thread(parent).in_tree
            {
                forest.expect(id, parent);
            }
            nodes.push(Node {
                doing: Doing::Absent,
                naming: 0,
                allowed: None,
                position: 0,
                last_charge: None,
            });
        }
        let cpus = timeline.cpus.len();
        Self {
            timeline,
            causes,
            now: timeline.began,
            nodes,
            forest,
            place: timeline.cpus.iter().map(|cpu| cpu.cpu).zip(0..).collect(),
            idle: vec![0; cpus.div_ceil(64)].into(),
            idle_share: vec![0.0; cpus],
            idle_cpus: 0,
            running: Vec::new(),
            ready: Vec::new(),
            held: 0,
            confined: 0,
            for_others: Labels::default(),
            for_nothing: Labels::default(),
            at_locks: 0,
            behind: [0; Behind::COUNT],
            silent_since: Some(timeline.began),
            silent: 0.0,
            charge_of: HashMap::new(),
            silent_charge: 0.0,
            result: Idle::default(),
        }
    }

    // Changes.

    fn apply(&mut self, at: Nanos, what: What) {
        match what {
            What::Into(id, segment) => {
                let doing = match self.timeline.thread(id).segments[segment as usize].state {
                    State::Running { .. } => Doing::Running,
                    State::Runnable => Doing::Runnable,
                    State::Held(_) => Doing::Held,
                    state @ State::Blocked(_) => wait_of(state).map_or(Doing::Absent, Doing::Blocked),
                };
                self.go(id, doing, at);
            }
            What::Out(id) => self.go(id, Doing::Absent, at),
            What::Name(id, naming) => self.nodes[id.index()].naming = naming,
            What::Confine(index) => self.confine(index as usize),
            What::Idle(place, stretch) => self.idle(place as usize, stretch),
            What::Behind(what, begins) => count(&mut self.behind[what as usize], begins),
        }
    }

    fn go(&mut self, id: ThreadId, doing: Doing, at: Nanos) {
        let was = std::mem::replace(&mut self.nodes[id.index()].doing, doing);
        match was {
            Doing::Absent => {}
            Doing::Running | Doing::Runnable | Doing::Held => self.leave(id, was),
            Doing::Blocked(wait) => self.label(wait, false),
        }
        match (was, doing) {
            (Doing::Blocked(before), Doing::Blocked(wait)) => {
                // Two waits one right after the other: only where events were lost.
                debug_assert_ne!(before, wait);
                self.forest.unblock(id);
                self.block(id, wait);
            }
            (Doing::Blocked(_), _) => self.forest.unblock(id),
            (_, Doing::Blocked(wait)) => self.block(id, wait),
            (Doing::Absent, _) => self.forest.settle(id),
            _ => {}
        }
        match doing {
            Doing::Running | Doing::Runnable | Doing::Held => {
                self.speak(id, was, at);
                self.enter(id, doing);
            }
            Doing::Blocked(wait) => self.label(wait, true),
            Doing::Absent => {}
        }
    }

    fn block(&mut self, id: ThreadId, wait: WaitId) {
        match self.causes[wait.index()] {
            Cause::Thread(on) => self.forest.block_on_thread(id, on),
            Cause::KernelLock => self.forest.block_on(id, Class::KernelLock),
            Cause::UserLock => self.forest.block_on(id, Class::UserLock),
            Cause::Disk => self.forest.block_on(id, Class::Disk),
            Cause::Peer => self.forest.block_on(id, Class::Peer),
            Cause::Device => self.forest.block_on(id, Class::Device),
            Cause::Rcu => self.forest.block_on(id, Class::Rcu),
            Cause::Uninterruptible => self.forest.block_on(id, Class::Uninterruptible),
            Cause::Timer | Cause::Endless | Cause::Unknown => self.forest.block_on(id, Class::Nothing),
        }
    }

    /// Counts a wait that begins, or one that ends no more.
    fn label(&mut self, wait: WaitId, begins: bool) {
        let change = if begins { Labels::add } else { Labels::remove };
        let call = self.timeline.wait(wait).call;
        match self.causes[wait.index()] {
            Cause::Thread(_) => change(&mut self.for_others, call),
            Cause::Timer | Cause::Endless | Cause::Unknown => change(&mut self.for_nothing, call),
            Cause::UserLock => count(&mut self.at_locks, begins),
            Cause::KernelLock
            | Cause::Disk
            | Cause::Peer
            | Cause::Device
            | Cause::Rcu
            | Cause::Uninterruptible => {}
        }
    }

    fn enter(&mut self, id: ThreadId, doing: Doing) {
        let running = doing == Doing::Running;
        let list = if running { &mut self.running } else { &mut self.ready };
        let node = &mut self.nodes[id.index()];
        node.position = list.len();
        list.push(id);
        self.held += u32::from(doing == Doing::Held);
        self.confined += u32::from(!running && node.allowed.is_some());
    }

    /// The thread, which did `was`, does that no longer.
    fn leave(&mut self, id: ThreadId, was: Doing) {
        let running = was == Doing::Running;
        let list = if running { &mut self.running } else { &mut self.ready };
        let position = self.nodes[id.index()].position;
        list.swap_remove(position);
        if let Some(moved) = list.get(position) {
            self.nodes[moved.index()].position = position;
        }
        self.held -= u32::from(was == Doing::Held);
        self.confined -= u32::from(!running && self.nodes[id.index()].allowed.is_some());
    }

    fn confine(&mut self, index: usize) {
        let confinement = &self.timeline.confinements[index];
        let mut bits: Box<[u64]> = vec![0; self.idle.len()].into();
        for place in confinement.allowed.iter().filter_map(|cpu| self.place.get(&cpu)) {
            bits[place / 64] |= 1 << (place % 64);
        }
        let all = self.timeline.allotted.is_subset(&confinement.allowed);
        let node = &mut self.nodes[confinement.thread.index()];
        let was = node.allowed.is_some();
        node.allowed = (!all).then_some(bits);
        if matches!(node.doing, Doing::Runnable | Doing::Held) {
            self.confined = self.confined + u32::from(!all) - u32::from(was);
        }
    }

    fn idle(&mut self, place: usize, stretch: Option<u32>) {
        let (word, bit) = (place / 64, 1 << (place % 64));
        let was = self.idle[word] & bit != 0;
        self.idle_cpus -= u32::from(was);
        self.idle[word] &= !bit;
        self.idle_share[place] = 0.0;
        if let Some(stretch) = stretch {
            let stretch = &self.timeline.cpus[place].stretches[stretch as usize];
            self.idle[word] |= bit;
            self.idle_cpus += 1;
            let length = stretch.length().0 as f64;
            self.idle_share[place] = (length - stretch.interrupts.0 as f64) / length;
        }
    }

    // Silence.

    /// Notes whether it is silent, after all changes of one instant.
    fn listen(&mut self) {
        if self.running.is_empty() && self.ready.is_empty() && self.silent_since.is_none() {
            self.silent_since = Some(self.now);
        }
    }

    /// A thread that did `was` until now breaks the silence, where there is one.
    fn speak(&mut self, id: ThreadId, was: Doing, at: Nanos) {
        let Some(from) = self.silent_since.take() else { return };
        let cause = match was {
            Doing::Blocked(wait) => Some(self.causes[wait.index()]),
            _ => None,
        };
        self.end_silence(Silence { from, to: at, broken_by: Some(id), cause });
    }

    fn end_silence(&mut self, silence: Silence) {
        let lost = std::mem::take(&mut self.silent);
        let times = &mut self.result.times;
        match silence.cause {
            Some(Cause::KernelLock) => times.kernel_lock += lost,
            Some(Cause::UserLock) => times.user_lock += lost,
            Some(Cause::Disk) => times.disk += lost,
            Some(Cause::Peer) => times.peer += lost,
            Some(Cause::Device) => times.device += lost,
            Some(Cause::Rcu) => times.rcu += lost,
            Some(Cause::Uninterruptible) => times.uninterruptible += lost,
            Some(Cause::Timer) => times.timer += lost,
            Some(Cause::Thread(_) | Cause::Endless | Cause::Unknown) | None => {
                times.too_little_work += lost;
                self.silent_charge += lost;
            }
        }
        if silence.to > silence.from {
            self.result.silences.push(silence);
        }
    }

    // Time.

    fn advance(&mut self, to: Nanos) {
        let length = to.since(self.now);
        if length > Nanos::ZERO && self.idle_cpus > 0 {
            let share: f64 = self.idle_places().map(|place| self.idle_share[place]).sum();
            let lost = share * length.as_secs_f64();
            if self.running.is_empty() && self.ready.is_empty() {
                self.silent += self.beyond_locks(lost);
            } else {
                self.divide(lost);
            }
        }
        self.now = to;
    }

    fn idle_places(&self) -> impl Iterator<Item = usize> + '_ {
        self.idle.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |left| {
                Some(left & (left - 1)).filter(|left| *left != 0)
            })
            .map(move |left| word * 64 + left.trailing_zeros() as usize)
        })
    }

    /// What of `lost` seconds is left when the threads that wait for locks have absorbed theirs.
    fn beyond_locks(&mut self, lost: f64) -> f64 {
        let idle = f64::from(self.idle_cpus);
        let locks =
            idle.min(f64::from(self.forest.count(Class::KernelLock) + self.forest.count(Class::UserLock)));
        let absorbed = lost * locks / idle;
        self.charge_locks(absorbed);
        lost - absorbed
    }

    /// Charges what threads that wait for locks absorbed.
    fn charge_locks(&mut self, absorbed: f64) {
        let [kernel, user] =
            [Class::KernelLock, Class::UserLock].map(|class| f64::from(self.forest.count(class)));
        if kernel + user == 0.0 {
            return;
        }
        let of_user = absorbed * user / (kernel + user);
        let times = &mut self.result.times;
        times.kernel_lock += absorbed - of_user;
        times.user_lock += of_user;
        let each = of_user / f64::from(self.at_locks.max(1));
        let [disk, peer, timer] = self.behind.map(|waiting| each * f64::from(waiting));
        let behind = &mut times.behind_user_lock;
        behind.disk_s += disk;
        behind.peer_s += peer;
        behind.timer_s += timer;
    }

    /// Rules 1 to 4 for `lost` seconds of the CPUs that are idle now.
    fn divide(&mut self, lost: f64) {
        let idle = f64::from(self.idle_cpus);
        let one = lost / idle;
        let mut left = idle;
        let mut absorb = |threads: u32| {
            let absorbed = left.min(f64::from(threads));
            left -= absorbed;
            absorbed * one
        };
        let barred = self.barred();
        let held = absorb(self.held - barred.held);
        let scheduling = absorb(self.ready.len() as u32 - self.held - barred.others);
        let pinned = absorb(barred.held + barred.others);
        let locks = absorb(self.forest.count(Class::KernelLock) + self.forest.count(Class::UserLock));
        let each = Class::OUTSIDE.map(|class| self.forest.count(class));
        let all: u32 = each.iter().sum();
        let outside = absorb(all);
        let rest = left * one;
        let times = &mut self.result.times;
        times.scheduling += scheduling;
        times.held += held;
        times.pinned += pinned;
        let share = |of: u32| if of > 0 { outside * f64::from(of) / f64::from(all) } else { 0.0 };
        let [disk, peer, device, rcu, uninterruptible] = each.map(share);
        times.disk += disk;
        times.peer += peer;
        times.device += device;
        times.rcu += rcu;
        times.uninterruptible += uninterruptible;
        times.too_little_work += rest;
        self.charge_locks(locks);
        if rest > 0.0 {
            self.charge(rest);
        }
    }

    /// Number of ready threads that may use none of the idle CPUs.
    fn barred(&self) -> Barred {
        let mut barred = Barred::default();
        if self.confined == 0 {
            return barred;
        }
        for node in self.ready.iter().map(|id| &self.nodes[id.index()]) {
            let Some(allowed) = &node.allowed else { continue };
            if allowed.iter().zip(&self.idle).all(|(allowed, idle)| allowed & idle == 0) {
                let count = if node.doing == Doing::Held { &mut barred.held } else { &mut barred.others };
                *count += 1;
            }
        }
        barred
    }

    /// Charges lost time in equal parts to the threads that run, or are about to where none does.
    fn charge(&mut self, lost: f64) {
        let label = self.for_others.most().or_else(|| self.for_nothing.most());
        let charged = if self.running.is_empty() { &self.ready } else { &self.running };
        let each = lost / charged.len() as f64;
        for &id in charged {
            let node = &mut self.nodes[id.index()];
            let index = match node.last_charge {
                Some((naming, last, index)) if naming == node.naming && last == label => index,
                _ => {
                    let charges = &mut self.result.charges;
                    *self.charge_of.entry((id, node.naming, label)).or_insert_with(|| {
                        charges.push(Charge {
                            thread: Some(id),
                            naming: node.naming as usize,
                            waiting_in: label,
                            seconds: 0.0,
                        });
                        charges.len() - 1
                    })
                }
            };
            node.last_charge = Some((node.naming, label, index));
            self.result.charges[index].seconds += each;
        }
    }

    fn finish(mut self) -> Idle {
        let ended = self.timeline.ended;
        self.advance(ended);
        if let Some(from) = self.silent_since.take() {
            self.end_silence(Silence { from, to: ended, broken_by: None, cause: None });
        }
        if self.silent_charge > 0.0 {
            let seconds = self.silent_charge;
            self.result.charges.push(Charge { thread: None, naming: 0, waiting_in: None, seconds });
        }
        self.result.charges.sort_by_key(|charge| (charge.thread, charge.naming));
        self.result
    }
}
