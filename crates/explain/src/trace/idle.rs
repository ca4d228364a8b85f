//! The idle rule: the cause to which each idle CPU was lost, at each instant of a run.
//!
//! One sweep over the changes of state in the order of time. Between two changes the rule
//! (docs/methods/explain.md, "Idle rule") is a matter of a few counts, which the sweep keeps;
//! nothing here looks at all threads at once.

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

/// Applies the idle rule. `causes` are the causes of the timeline's waits, from
/// [`causes`](super::causes()).
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

/// Adds one to a count of threads, or subtracts one.
fn count(threads: &mut u32, more: bool) {
    *threads = if more { *threads + 1 } else { threads.saturating_sub(1) };
}

/// Activity of a thread of the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Absent,
    Running,
    Runnable,
    Held,
    Blocked(WaitId),
}

/// Ready threads that may not run on any of the idle CPUs.
#[derive(Clone, Copy, Default)]
struct Barred {
    /// Threads that are also held back.
    held: u32,
    others: u32,
}

/// State that the sweep keeps for each thread.
struct Node {
    doing: Doing,
    naming: u32,
    /// CPUs that the thread may use, as bits over their places; none for all CPUs.
    allowed: Option<Box<[u64]>>,
    /// Position of the thread in the list of running or runnable threads.
    position: usize,
    /// Label and index of the thread's last charge.
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
    /// Share of each idle CPU's time that remains after interrupts.
    idle_share: Vec<f64>,
    idle_cpus: u32,
    running: Vec<ThreadId>,
    /// Threads that are ready and have no CPU, held back or not.
    ready: Vec<ThreadId>,
    /// Number of ready threads that are held back.
    held: u32,
    /// Number of ready threads that are confined.
    confined: u32,
    /// Calls in which threads wait for others of the tree, and calls in which threads wait for a
    /// cause that absorbs no idle CPU.
    for_others: Labels,
    for_nothing: Labels,
    /// Number of threads that wait directly for a lock of the program's own, rather than for a
    /// thread that does.
    at_locks: u32,
    /// Number of these threads whose lock's holder waits too, by the cause of the holder's wait.
    behind: [u32; Behind::COUNT],
    silent_since: Option<Nanos>,
    /// Idle time of the present silence, in seconds.
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
                // A wait follows directly on another wait only where events were lost.
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

    /// Counts the call of a wait that begins, or uncounts the call of a wait that ends.
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

    /// Removes the thread from the counts of its previous activity, `was`.
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

    /// Starts a silence if no thread is running or ready, after all changes of one instant.
    fn listen(&mut self) {
        if self.running.is_empty() && self.ready.is_empty() && self.silent_since.is_none() {
            self.silent_since = Some(self.now);
        }
    }

    /// Ends the present silence, if any, because of a thread whose activity was `was` until now.
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

    /// Part of `lost` seconds that remains after the threads that wait for locks have absorbed
    /// their part.
    fn beyond_locks(&mut self, lost: f64) -> f64 {
        let idle = f64::from(self.idle_cpus);
        let locks =
            idle.min(f64::from(self.forest.count(Class::KernelLock) + self.forest.count(Class::UserLock)));
        let absorbed = lost * locks / idle;
        self.charge_locks(absorbed);
        lost - absorbed
    }

    /// Charges the time that threads waiting for locks absorbed.
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

    /// Applies rules 1 to 4 to `lost` seconds of the CPUs that are idle now.
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

    /// Number of ready threads that may not run on any of the idle CPUs.
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

    /// Charges lost time in equal parts to the running threads, or to the threads about to run if
    /// none is running.
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
