//! The idle rule: the cause to which each idle CPU was lost, at each instant of a run.
//!
//! One sweep over the changes of state in the order of time. Between two changes the rule
//! (docs/methods/explain.md, "Idle rule") is a matter of a few counts, which the sweep keeps;
//! nothing here looks at all threads at once.

mod result;
mod wait_meters;

use std::collections::HashMap;

use morecores_study::trace::Call;
use morecores_study::{CpuId, Nanos};

use super::call_counts::CallCounts;
use super::causes::{Cause, blocked_wait};
use super::changes::{ChangeKind, changes};
use super::holders::HolderWait;
use super::timeline::{State, ThreadId, Timeline, WaitId};
use super::wait_forest::{CauseClass, WaitForest};

use wait_meters::{MeteredWait, WaitMeters};

pub use result::{BlockedPeriod, Charge, IdleAccounting, IdleSpan, IdleTimes};

/// Applies the idle rule. `causes` are the causes of the timeline's waits, from
/// [`causes`](super::causes()).
pub fn apply_idle_rule(timeline: &Timeline, causes: &[Cause]) -> IdleAccounting {
    sweep(timeline, causes, None).0
}

/// Applies the idle rule, and gives the idle time by cause over time. A span without any ready
/// thread overlaps the spans of locks during it: its own cause is known only at its end.
pub fn idle_over_time(timeline: &Timeline, causes: &[Cause]) -> (IdleAccounting, Vec<IdleSpan>) {
    let (accounting, spans) = sweep(timeline, causes, Some(Vec::new()));
    let mut spans = spans.unwrap_or_default();
    spans.sort_by_key(|span| (span.from, span.to));
    (accounting, spans)
}

/// Sweeps over all changes. Records the spans if `spans` is a list.
fn sweep(
    timeline: &Timeline,
    causes: &[Cause],
    spans: Option<Vec<IdleSpan>>,
) -> (IdleAccounting, Option<Vec<IdleSpan>>) {
    let changes = changes(timeline, causes);
    let mut rule = IdleRule { spans, ..IdleRule::new(timeline, causes) };
    for simultaneous in changes.chunk_by(|a, b| a.at == b.at) {
        // Samples change nothing.
        if simultaneous.iter().any(|change| !matches!(change.kind, ChangeKind::Sample(_))) {
            rule.advance(simultaneous[0].at);
        }
        for change in simultaneous {
            rule.apply(change.at, change.kind);
        }
        rule.begin_blocked_period();
    }
    rule.finish()
}

/// Adds one to a count of threads, or subtracts one.
fn adjust_count(threads: &mut u32, more: bool) {
    *threads = if more { *threads + 1 } else { threads.saturating_sub(1) };
}

/// Whether idle time is lost to a wait with this cause, rather than to too little parallel work.
const fn is_lost_to_wait(cause: Cause) -> bool {
    !matches!(cause, Cause::Thread(_) | Cause::Endless | Cause::Unknown)
}

/// Activity of a thread of the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activity {
    Absent,
    Running,
    Runnable,
    Held,
    Blocked(WaitId),
}

/// Ready threads that may not run on any of the idle CPUs.
#[derive(Clone, Copy, Default)]
struct PinnedThreads {
    /// Threads that are also held back.
    held: u32,
    others: u32,
    /// Threads that were woken for a lock of the program's own.
    woken_for_lock: u32,
}

/// Number of idle CPUs that each rule absorbs at one instant.
struct Division {
    held: f64,
    scheduling: f64,
    pinned: f64,
    locks: f64,
    /// Threads that were woken for a lock of the program's own and may run on an idle CPU.
    woken: u32,
    /// In the order of [`CauseClass::OUTSIDE`].
    outside: [f64; 5],
    rest: f64,
}

/// State that the sweep keeps for each thread.
struct ThreadState {
    activity: Activity,
    /// Whether the thread is runnable after a wait for a lock of the program's own, and has not
    /// run since.
    woken_for_lock: bool,
    name_index: u32,
    /// CPUs that the thread may use, as bits over their indices; none for all CPUs.
    allowed: Option<Box<[u64]>>,
    /// Position of the thread in the list of running or runnable threads.
    position: usize,
    /// The thread's present wait, or the wait for a lock that woke it, if it absorbs idle time.
    metered: Option<MeteredWait>,
    /// Label and index of the thread's last charge.
    last_charge: Option<(u32, Option<Call>, usize)>,
}

struct IdleRule<'t> {
    timeline: &'t Timeline,
    causes: &'t [Cause],
    now: Nanos,
    threads: Vec<ThreadState>,
    forest: WaitForest,
    meters: WaitMeters,
    cpu_indices: HashMap<CpuId, usize>,
    /// Idle allotted CPUs, as bits over their indices.
    idle_bits: Box<[u64]>,
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
    /// Number of ready threads that were woken for a lock of the program's own.
    woken_for_lock: u32,
    /// Calls in which threads wait for others of the tree, and calls in which threads wait for a
    /// cause that absorbs no idle CPU.
    thread_wait_calls: CallCounts,
    other_wait_calls: CallCounts,
    /// Number of threads that wait directly for a lock of the program's own, rather than for a
    /// thread that does.
    user_lock_waiters: u32,
    /// Number of these threads whose lock's holder waits too, by the cause of the holder's wait.
    holder_waits: [u32; HolderWait::COUNT],
    blocked_since: Option<Nanos>,
    /// Idle time of the present blocked period, in seconds.
    blocked_idle_s: f64,
    charge_indices: HashMap<(ThreadId, u32, Option<Call>), usize>,
    blocked_charge_s: f64,
    result: IdleAccounting,
    /// Lost time over time; none if it is not requested.
    spans: Option<Vec<IdleSpan>>,
}

impl<'t> IdleRule<'t> {
    fn new(timeline: &'t Timeline, causes: &'t [Cause]) -> Self {
        let mut forest = WaitForest::new(timeline.threads.len());
        let mut threads = Vec::with_capacity(timeline.threads.len());
        for (index, thread) in timeline.threads.iter().enumerate() {
            let id = ThreadId(index as u32);
            if let Some(parent) = thread.parent
                && thread.in_tree
                && timeline.thread(parent).in_tree
            {
                forest.add_unborn(id, parent);
            }
            threads.push(ThreadState {
                activity: Activity::Absent,
                woken_for_lock: false,
                name_index: 0,
                allowed: None,
                position: 0,
                metered: None,
                last_charge: None,
            });
        }
        let cpus = timeline.cpus.len();
        Self {
            timeline,
            causes,
            now: timeline.began,
            threads,
            forest,
            meters: WaitMeters::default(),
            cpu_indices: timeline.cpus.iter().map(|cpu| cpu.cpu).zip(0..).collect(),
            idle_bits: vec![0; cpus.div_ceil(64)].into(),
            idle_share: vec![0.0; cpus],
            idle_cpus: 0,
            running: Vec::new(),
            ready: Vec::new(),
            held: 0,
            confined: 0,
            woken_for_lock: 0,
            thread_wait_calls: CallCounts::default(),
            other_wait_calls: CallCounts::default(),
            user_lock_waiters: 0,
            holder_waits: [0; HolderWait::COUNT],
            blocked_since: Some(timeline.began),
            blocked_idle_s: 0.0,
            charge_indices: HashMap::new(),
            blocked_charge_s: 0.0,
            result: IdleAccounting {
                sample_charges: vec![0.0; timeline.samples.len()],
                sample_running: vec![0; timeline.samples.len()],
                wait_charges: vec![0.0; timeline.waits.len()],
                ..IdleAccounting::default()
            },
            spans: None,
        }
    }

    // Changes.

    fn apply(&mut self, at: Nanos, kind: ChangeKind) {
        match kind {
            ChangeKind::EnterSegment(id, segment) => {
                let activity = match self.timeline.thread(id).segments[segment as usize].state {
                    State::Running { .. } => Activity::Running,
                    State::Runnable => Activity::Runnable,
                    State::Held(_) => Activity::Held,
                    state @ State::Blocked(_) => {
                        blocked_wait(state).map_or(Activity::Absent, Activity::Blocked)
                    }
                };
                self.set_activity(id, activity, at);
            }
            ChangeKind::LeaveSegments(id) => self.set_activity(id, Activity::Absent, at),
            ChangeKind::Rename(id, name_index) => self.threads[id.index()].name_index = name_index,
            ChangeKind::Confine(index) => self.confine(index as usize),
            ChangeKind::CpuIdle(cpu_index, span) => self.set_idle(cpu_index as usize, span),
            ChangeKind::HolderWait(cause, begins) => {
                adjust_count(&mut self.holder_waits[cause as usize], begins)
            }
            ChangeKind::Sample(index) => self.charge_sample(index as usize),
        }
    }

    fn set_activity(&mut self, id: ThreadId, activity: Activity, at: Nanos) {
        let previous = std::mem::replace(&mut self.threads[id.index()].activity, activity);
        match previous {
            Activity::Absent => {}
            Activity::Running | Activity::Runnable | Activity::Held => self.remove_from_lists(id, previous),
            Activity::Blocked(wait) => self.count_call(wait, false),
        }
        let woken_for_lock = activity == Activity::Runnable
            && matches!(previous, Activity::Blocked(wait) if self.causes[wait.index()] == Cause::UserLock);
        self.threads[id.index()].woken_for_lock = woken_for_lock;
        if !woken_for_lock {
            self.end_metered_wait(id);
        }
        match (previous, activity) {
            (Activity::Blocked(before), Activity::Blocked(wait)) => {
                // A wait follows directly on another wait only where events were lost.
                debug_assert_ne!(before, wait);
                self.forest.unblock(id);
                self.block(id, wait);
            }
            (Activity::Blocked(_), _) => self.forest.unblock(id),
            (_, Activity::Blocked(wait)) => self.block(id, wait),
            (Activity::Absent, _) => self.forest.make_root(id),
            _ => {}
        }
        match activity {
            Activity::Running | Activity::Runnable | Activity::Held => {
                self.end_blocked_by(id, previous, at);
                self.add_to_lists(id, activity);
            }
            Activity::Blocked(wait) => self.count_call(wait, true),
            Activity::Absent => {}
        }
    }

    fn block(&mut self, id: ThreadId, wait: WaitId) {
        let class = match self.causes[wait.index()] {
            Cause::Thread(on) => return self.forest.block_on_thread(id, on),
            Cause::KernelLock => CauseClass::KernelLock,
            Cause::UserLock => CauseClass::UserLock,
            Cause::Disk => CauseClass::Disk,
            Cause::Peer => CauseClass::Peer,
            Cause::Device => CauseClass::Device,
            Cause::Rcu => CauseClass::Rcu,
            Cause::Uninterruptible => CauseClass::Uninterruptible,
            Cause::Timer | Cause::Endless | Cause::Unknown => CauseClass::Other,
        };
        self.forest.block_on_class(id, class);
        self.threads[id.index()].metered = self.meters.begin(wait, class);
    }

    /// Charges the idle time to the thread's wait that this wait absorbed.
    fn end_metered_wait(&mut self, id: ThreadId) {
        if let Some(metered) = self.threads[id.index()].metered.take() {
            self.result.wait_charges[metered.wait.index()] += self.meters.end(&metered);
        }
    }

    /// Counts the call of a wait that begins, or uncounts the call of a wait that ends.
    fn count_call(&mut self, wait: WaitId, begins: bool) {
        let change = if begins { CallCounts::add } else { CallCounts::remove };
        let call = self.timeline.wait(wait).call;
        match self.causes[wait.index()] {
            Cause::Thread(_) => change(&mut self.thread_wait_calls, call),
            Cause::Timer | Cause::Endless | Cause::Unknown => change(&mut self.other_wait_calls, call),
            Cause::UserLock => adjust_count(&mut self.user_lock_waiters, begins),
            Cause::KernelLock
            | Cause::Disk
            | Cause::Peer
            | Cause::Device
            | Cause::Rcu
            | Cause::Uninterruptible => {}
        }
    }

    fn add_to_lists(&mut self, id: ThreadId, activity: Activity) {
        let running = activity == Activity::Running;
        let list = if running { &mut self.running } else { &mut self.ready };
        let thread = &mut self.threads[id.index()];
        thread.position = list.len();
        list.push(id);
        self.held += u32::from(activity == Activity::Held);
        self.woken_for_lock += u32::from(thread.woken_for_lock);
        self.confined += u32::from(!running && thread.allowed.is_some());
    }

    /// Removes the thread from the counts of its previous activity, `previous`.
    fn remove_from_lists(&mut self, id: ThreadId, previous: Activity) {
        let running = previous == Activity::Running;
        let list = if running { &mut self.running } else { &mut self.ready };
        let position = self.threads[id.index()].position;
        list.swap_remove(position);
        if let Some(moved) = list.get(position) {
            self.threads[moved.index()].position = position;
        }
        self.held -= u32::from(previous == Activity::Held);
        self.woken_for_lock -= u32::from(self.threads[id.index()].woken_for_lock);
        self.confined -= u32::from(!running && self.threads[id.index()].allowed.is_some());
    }

    fn confine(&mut self, index: usize) {
        let confinement = &self.timeline.confinements[index];
        let mut bits: Box<[u64]> = vec![0; self.idle_bits.len()].into();
        for cpu_index in confinement.allowed.iter().filter_map(|cpu| self.cpu_indices.get(&cpu)) {
            bits[cpu_index / 64] |= 1 << (cpu_index % 64);
        }
        let all = self.timeline.allotted.is_subset(&confinement.allowed);
        let thread = &mut self.threads[confinement.thread.index()];
        let was_confined = thread.allowed.is_some();
        thread.allowed = (!all).then_some(bits);
        if matches!(thread.activity, Activity::Runnable | Activity::Held) {
            self.confined = self.confined + u32::from(!all) - u32::from(was_confined);
        }
    }

    fn set_idle(&mut self, cpu_index: usize, span: Option<u32>) {
        let (word, bit) = (cpu_index / 64, 1 << (cpu_index % 64));
        let was_idle = self.idle_bits[word] & bit != 0;
        self.idle_cpus -= u32::from(was_idle);
        self.idle_bits[word] &= !bit;
        self.idle_share[cpu_index] = 0.0;
        if let Some(span) = span {
            let span = &self.timeline.cpus[cpu_index].spans[span as usize];
            self.idle_bits[word] |= bit;
            self.idle_cpus += 1;
            let length = span.length().0 as f64;
            self.idle_share[cpu_index] = (length - span.interrupts.0 as f64) / length;
        }
    }

    // Blocked periods.

    /// Starts a blocked period if no thread is running or ready, after all changes of one instant.
    fn begin_blocked_period(&mut self) {
        if self.running.is_empty() && self.ready.is_empty() && self.blocked_since.is_none() {
            self.blocked_since = Some(self.now);
        }
    }

    /// Ends the present blocked period, if any, because of a thread whose activity was `previous`
    /// until now.
    fn end_blocked_by(&mut self, id: ThreadId, previous: Activity, at: Nanos) {
        let Some(from) = self.blocked_since.take() else { return };
        let cause = match previous {
            Activity::Blocked(wait) => {
                let cause = self.causes[wait.index()];
                if is_lost_to_wait(cause) {
                    self.result.wait_charges[wait.index()] += self.blocked_idle_s;
                }
                Some(cause)
            }
            _ => None,
        };
        self.end_blocked_period(BlockedPeriod { from, to: at, ended_by: Some(id), cause });
    }

    fn end_blocked_period(&mut self, period: BlockedPeriod) {
        let lost = std::mem::take(&mut self.blocked_idle_s);
        let before = self.result.times;
        let times = &mut self.result.times;
        match period.cause {
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
                self.blocked_charge_s += lost;
            }
        }
        self.record_span(period.from, period.to, &before);
        if period.to > period.from {
            self.result.blocked_periods.push(period);
        }
    }

    /// Records the time lost since the times were `before`, if that is requested.
    fn record_span(&mut self, from: Nanos, to: Nanos, before: &IdleTimes) {
        let Some(spans) = &mut self.spans else { return };
        let pairs = self.result.times.by_cause().into_iter().zip(before.by_cause());
        let lost =
            pairs.map(|((cause, now), (_, before))| IdleSpan { from, to, cause, seconds: now - before });
        spans.extend(lost.filter(|span| span.seconds > 0.0));
    }

    // Time.

    fn advance(&mut self, to: Nanos) {
        let length = to.since(self.now);
        if length > Nanos::ZERO && self.idle_cpus > 0 {
            let share: f64 = self.idle_cpu_indices().map(|cpu_index| self.idle_share[cpu_index]).sum();
            let lost = share * length.as_secs_f64();
            let (from, before) = (self.now, self.result.times);
            if self.running.is_empty() && self.ready.is_empty() {
                self.blocked_idle_s += self.remainder_after_locks(lost);
            } else {
                self.divide_lost_time(lost);
            }
            self.record_span(from, to, &before);
        }
        self.now = to;
    }

    fn idle_cpu_indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.idle_bits.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |left| {
                Some(left & (left - 1)).filter(|left| *left != 0)
            })
            .map(move |left| word * 64 + left.trailing_zeros() as usize)
        })
    }

    /// Part of `lost` seconds that remains after the threads that wait for locks have absorbed
    /// their part.
    fn remainder_after_locks(&mut self, lost: f64) -> f64 {
        let idle = f64::from(self.idle_cpus);
        let locks = idle.min(f64::from(
            self.forest.count(CauseClass::KernelLock) + self.forest.count(CauseClass::UserLock),
        ));
        let absorbed = lost * locks / idle;
        self.charge_locks(absorbed, 0);
        lost - absorbed
    }

    /// Charges the time that threads waiting for locks absorbed, and the `woken` threads that were
    /// woken for a lock of the program's own and have no CPU yet.
    fn charge_locks(&mut self, absorbed: f64, woken: u32) {
        let kernel = f64::from(self.forest.count(CauseClass::KernelLock));
        let user = f64::from(self.forest.count(CauseClass::UserLock) + woken);
        if kernel + user == 0.0 {
            return;
        }
        let of_user = absorbed * user / (kernel + user);
        let times = &mut self.result.times;
        times.kernel_lock += absorbed - of_user;
        times.user_lock += of_user;
        self.meters.absorb(CauseClass::KernelLock, absorbed - of_user);
        self.meters.absorb(CauseClass::UserLock, of_user);
        let each = of_user / f64::from((self.user_lock_waiters + woken).max(1));
        let [disk, peer, timer] = self.holder_waits.map(|waiting| each * f64::from(waiting));
        let holders = &mut times.behind_user_lock;
        holders.disk_s += disk;
        holders.peer_s += peer;
        holders.timer_s += timer;
    }

    /// Applies rules 1 to 4 to the CPUs that are idle now.
    fn division(&self) -> Division {
        let mut left = f64::from(self.idle_cpus);
        let mut absorb = |threads: u32| {
            let absorbed = left.min(f64::from(threads));
            left -= absorbed;
            absorbed
        };
        let pinned_threads = self.pinned_threads();
        let held = absorb(self.held - pinned_threads.held);
        let woken = self.woken_for_lock - pinned_threads.woken_for_lock;
        let scheduling = absorb(self.ready.len() as u32 - self.held - pinned_threads.others - woken);
        let pinned = absorb(pinned_threads.held + pinned_threads.others);
        let waiting = self.forest.count(CauseClass::KernelLock) + self.forest.count(CauseClass::UserLock);
        let locks = absorb(waiting + woken);
        let each = CauseClass::OUTSIDE.map(|class| self.forest.count(class));
        let all: u32 = each.iter().sum();
        let outside = absorb(all);
        let share =
            |threads: u32| if threads > 0 { outside * f64::from(threads) / f64::from(all) } else { 0.0 };
        Division { held, scheduling, pinned, locks, woken, outside: each.map(share), rest: left }
    }

    /// Divides `lost` seconds of the CPUs that are idle now.
    fn divide_lost_time(&mut self, lost: f64) {
        let one = lost / f64::from(self.idle_cpus);
        let Division { held, scheduling, pinned, locks, woken, outside, rest } = self.division();
        let [disk, peer, device, rcu, uninterruptible] = outside;
        let times = &mut self.result.times;
        times.scheduling += scheduling * one;
        times.held += held * one;
        times.pinned += pinned * one;
        times.disk += disk * one;
        times.peer += peer * one;
        times.device += device * one;
        times.rcu += rcu * one;
        times.uninterruptible += uninterruptible * one;
        times.too_little_work += rest * one;
        for (class, cpus) in CauseClass::OUTSIDE.into_iter().zip(outside) {
            self.meters.absorb(class, cpus * one);
        }
        self.charge_locks(locks * one, woken);
        if rest > 0.0 {
            self.charge_threads(rest * one);
        }
    }

    /// Charges the idle CPUs of this instant to the sample of a running thread.
    fn charge_sample(&mut self, index: usize) {
        self.result.sample_running[index] = self.running.len() as u32;
        let Some(id) = self.timeline.samples[index].thread else { return };
        if self.idle_cpus > 0 && self.threads[id.index()].activity == Activity::Running {
            self.result.sample_charges[index] = self.division().rest / self.running.len() as f64;
        }
    }

    /// Number of ready threads that may not run on any of the idle CPUs.
    fn pinned_threads(&self) -> PinnedThreads {
        let mut pinned_threads = PinnedThreads::default();
        if self.confined == 0 {
            return pinned_threads;
        }
        for thread in self.ready.iter().map(|id| &self.threads[id.index()]) {
            let Some(allowed) = &thread.allowed else { continue };
            if allowed.iter().zip(&self.idle_bits).all(|(allowed, idle)| allowed & idle == 0) {
                let count = if thread.activity == Activity::Held {
                    &mut pinned_threads.held
                } else {
                    &mut pinned_threads.others
                };
                *count += 1;
                pinned_threads.woken_for_lock += u32::from(thread.woken_for_lock);
            }
        }
        pinned_threads
    }

    /// Charges lost time in equal parts to the running threads, or to the threads about to run if
    /// none is running.
    fn charge_threads(&mut self, lost: f64) {
        let label = self.thread_wait_calls.most_frequent().or_else(|| self.other_wait_calls.most_frequent());
        let charged = if self.running.is_empty() { &self.ready } else { &self.running };
        let each = lost / charged.len() as f64;
        for &id in charged {
            let thread = &mut self.threads[id.index()];
            let index = match thread.last_charge {
                Some((name_index, last, index)) if name_index == thread.name_index && last == label => index,
                _ => {
                    let charges = &mut self.result.charges;
                    *self.charge_indices.entry((id, thread.name_index, label)).or_insert_with(|| {
                        charges.push(Charge {
                            thread: Some(id),
                            name_index: thread.name_index as usize,
                            waiting_in: label,
                            seconds: 0.0,
                        });
                        charges.len() - 1
                    })
                }
            };
            thread.last_charge = Some((thread.name_index, label, index));
            self.result.charges[index].seconds += each;
        }
    }

    fn finish(mut self) -> (IdleAccounting, Option<Vec<IdleSpan>>) {
        let ended = self.timeline.ended;
        self.advance(ended);
        if let Some(from) = self.blocked_since.take() {
            self.end_blocked_period(BlockedPeriod { from, to: ended, ended_by: None, cause: None });
        }
        for index in 0..self.threads.len() {
            self.end_metered_wait(ThreadId(index as u32));
        }
        if self.blocked_charge_s > 0.0 {
            let seconds = self.blocked_charge_s;
            self.result.charges.push(Charge { thread: None, name_index: 0, waiting_in: None, seconds });
        }
        self.result.charges.sort_by_key(|charge| (charge.thread, charge.name_index));
        (self.result, self.spans)
    }
}
