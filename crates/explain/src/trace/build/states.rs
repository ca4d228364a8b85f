//! States of threads and occupants of CPUs, kept consistent: a thread runs on a CPU if and only if
//! it is that CPU's occupant.

use morecores_study::Nanos;
use morecores_study::trace::{Call, HeldBy, Left, Object, Switch, Tid, TraceSource, Waking};

use super::{Builder, Running};
use crate::trace::timeline::{Occupant, Segment, State, Stretch, ThreadId, Wait, WaitId, Wake};

impl Builder<'_> {
    /// Ends the thread's present state.
    pub(super) fn close(&mut self, id: ThreadId, at: Nanos, ended: bool) {
        let Some((from, state)) = self.live[id.index()].open.take() else { return };
        let (from, to) = (from.max(self.timeline.began), at.max(self.timeline.began));
        if let State::Blocked(wait) = state {
            let wait = &mut self.timeline.waits[wait.index()];
            (wait.from, wait.to, wait.ended) = (from, to, ended);
        }
        if to > from {
            self.timeline.threads[id.index()].segments.push(Segment { from, to, state });
        }
    }

    pub(super) fn open(&mut self, id: ThreadId, at: Nanos, state: State) {
        self.live[id.index()].open = Some((at, state));
    }

    pub(super) fn block(&mut self, id: ThreadId, at: Nanos, left: Left, call: Call) {
        let object = self.live[id.index()].awaits.take().unwrap_or(Object::None);
        let futex = self.live[id.index()].futex.take().filter(|_| matches!(object, Object::Futex(_)));
        if let Call::Number(number) = call
            && self.live[id.index()].waits_in.is_none_or(|(before, _)| before != number)
        {
            self.live[id.index()].waits_in = Some((number, at));
        }
        let wait = WaitId(self.timeline.waits.len() as u32);
        self.timeline.waits.push(Wait {
            thread: id,
            from: at,
            to: at,
            left,
            call,
            object,
            futex,
            wake: None,
            ended: false,
            contention: None,
        });
        self.open(id, at, State::Blocked(wait));
    }

    pub(super) fn waking(&mut self, at: Nanos, waking: &Waking) {
        let id = self.known(waking.tid);
        let by = self.source(waking.by);
        let wake = Wake { at, by, origin: self.origin(by), io_wait: waking.io_wait };
        self.live[id.index()].origin = Some(wake.origin);
        match self.live[id.index()].open {
            Some((_, State::Running { .. })) => self.live[id.index()].early = Some(wake),
            Some((_, State::Runnable)) => {}
            Some((_, State::Held(_))) => {
                self.close(id, at, true);
                self.open(id, at, State::Runnable);
            }
            Some((_, State::Blocked(wait))) => {
                self.timeline.waits[wait.index()].wake = Some(wake);
                self.close(id, at, true);
                self.open(id, at, State::Runnable);
            }
            None => self.open(id, at, State::Runnable),
        }
    }

    /// Records that the thread runs on a CPU.
    pub(super) fn run(&mut self, id: ThreadId, cpu: usize, at: Nanos) {
        match self.live[id.index()].open {
            Some((_, State::Running { cpu: elsewhere })) => {
                self.timeline.misfits.misplaced += 1;
                self.vacate(self.place(elsewhere), at);
            }
            Some((from, State::Blocked(wait))) => {
                if let Some(wake) = self.live[id.index()].early {
                    // The wake-up came between the decision to sleep and the switch: the thread
                    // never waited.
                    self.timeline.misfits.early += 1;
                    let early = &mut self.timeline.waits[wait.index()];
                    (early.wake, early.to, early.ended) = (Some(wake), early.from, true);
                    self.live[id.index()].open = Some((from, State::Runnable));
                } else if self.header.source != TraceSource::Perf {
                    self.timeline.misfits.unwoken += 1;
                }
            }
            Some((from, State::Held(by))) => self.release(id, from, by, at),
            Some((_, State::Runnable)) | None => {}
        }
        (self.live[id.index()].early, self.live[id.index()].held) = (None, None);
        self.close(id, at, true);
        let cpu = self.timeline.cpus[cpu].cpu;
        self.open(id, at, State::Running { cpu });
    }

    /// Records that the thread is held back: at once if it has no CPU, otherwise from its next
    /// switch on.
    pub(super) fn hold(&mut self, id: ThreadId, at: Nanos, by: HeldBy) {
        match self.live[id.index()].open {
            Some((_, State::Runnable | State::Held(_))) => {
                self.close(id, at, true);
                self.open(id, at, State::Held(by));
            }
            _ => self.live[id.index()].held = Some(by),
        }
    }

    /// Ends the hold of a thread that runs at `at`. The end of the hold is unknown, but at the
    /// latest it is one CPU wake-up latency before `at`.
    fn release(&mut self, id: ThreadId, from: Nanos, by: HeldBy, at: Nanos) {
        let latency = self.header.wake_latency_ns.unwrap_or_default();
        let released = Nanos(at.0.saturating_sub(latency.0)).max(from);
        self.open(id, from, State::Held(by));
        self.close(id, released, true);
        self.open(id, released, State::Runnable);
    }

    // CPUs.

    /// Occupant that a number stands for. `left` is the reason for which the previous thread left,
    /// if one did.
    pub(super) fn occupant(&mut self, tid: Tid, left: Option<Left>) -> Occupant {
        match tid {
            Tid::IDLE => Occupant::Idle,
            // A preempted thread always leaves for another thread; after a voluntary switch the CPU
            // is usually idle.
            Tid::UNSEEN if left == Some(Left::Preempted) => Occupant::Unseen,
            Tid::UNSEEN => Occupant::Idle,
            tid => Occupant::Thread(self.known(tid)),
        }
    }

    pub(super) fn switch(&mut self, cpu: usize, at: Nanos, switch: &Switch) {
        let mut prev = self.occupant(switch.prev, None);
        let mut had = self.running[cpu].who;
        if prev == Occupant::Idle && had == Occupant::Unseen {
            prev = had;
        }
        let mut accounted = None;
        if let Occupant::Thread(id) = prev {
            let before = self.live[id.index()].runtime;
            let told = Some(switch.prev_runtime).filter(|runtime| *runtime > Nanos::ZERO);
            accounted = before.zip(told).and_then(|(before, now)| now.0.checked_sub(before.0)).map(Nanos);
            self.live[id.index()].runtime = told;
        }
        if prev != had && had != Occupant::Lost {
            self.timeline.misfits.misplaced += 1;
            if let (Occupant::Thread(id), Some(ran)) = (prev, accounted) {
                self.untold_switch(cpu, Nanos(at.0.saturating_sub(ran.0)), id);
                had = prev;
            }
        }
        self.end_stretch(cpu, at, switch.interrupts, accounted.filter(|_| prev == had));
        if prev != had
            && let Occupant::Thread(id) = had
        {
            self.close(id, at, true);
            self.block(id, at, Left::Unknown, Call::Unknown);
        }
        let elsewhere = match prev {
            Occupant::Thread(id) => match self.live[id.index()].open {
                Some((_, State::Running { cpu: other })) => {
                    Some(self.place(other)).filter(|other| *other != cpu)
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(elsewhere) = elsewhere.filter(|_| had != Occupant::Lost) {
            self.vacate(elsewhere, at);
        }
        // The thread was seen to begin on another CPU, so this record of its leaving is out of
        // date.
        let old_news = elsewhere.is_some() && had == Occupant::Lost;
        if let Occupant::Thread(id) = prev
            && !old_news
        {
            self.close(id, at, true);
            match (self.live[id.index()].held.take(), switch.left) {
                (_, Left::Dead) => self.timeline.threads[id.index()].ended = Some(at),
                (Some(by), _) => self.open(id, at, State::Held(by)),
                (None, Left::Preempted) => {
                    self.live[id.index()].early = None;
                    self.open(id, at, State::Runnable);
                }
                (None, left) => self.block(id, at, left, switch.call),
            }
            (self.live[id.index()].awaits, self.live[id.index()].futex) = (None, None);
        }
        let next = self.occupant(switch.next, Some(switch.left));
        self.begin_stretch(cpu, at, next);
    }

    /// Records a switch to a thread without an event: some kernels omit the switch away from a
    /// kernel thread or a guest agent. The time of the switch follows from the CPU time accounted
    /// to the thread until its next switch, counted back from `at`.
    fn untold_switch(&mut self, cpu: usize, at: Nanos, to: ThreadId) {
        let ready = self.live[to.index()].open.map_or(Nanos::ZERO, |(since, _)| since);
        let at = at.max(self.running[cpu].since).max(ready);
        self.end_stretch(cpu, at, Nanos::ZERO, None);
        if let Occupant::Thread(had) = self.running[cpu].who {
            self.close(had, at, true);
            self.block(had, at, Left::Unknown, Call::Unknown);
        }
        self.begin_stretch(cpu, at, Occupant::Thread(to));
    }

    pub(super) fn begin_stretch(&mut self, cpu: usize, at: Nanos, who: Occupant) {
        if let Occupant::Thread(id) = who {
            self.run(id, cpu, at);
        }
        let last_event = self.running[cpu].last_event;
        self.running[cpu] = Running { who, since: at, last_event, torn: false };
    }

    pub(super) fn end_stretch(&mut self, cpu: usize, at: Nanos, interrupts: Nanos, accounted: Option<Nanos>) {
        let Running { who, since, torn, .. } = self.running[cpu];
        let (from, to) = (since.max(self.timeline.began), at.max(self.timeline.began));
        if to <= from {
            return;
        }
        let whole = from == since;
        let inside = Nanos::from_secs_f64(
            interrupts.as_secs_f64() * to.since(from).as_secs_f64() / at.since(since).as_secs_f64(),
        );
        self.timeline.cpus[cpu].stretches.push(Stretch {
            from,
            to,
            who,
            interrupts: if whole { interrupts } else { inside }.min(to.since(from)),
            accounted: accounted.filter(|_| whole && !torn),
        });
    }

    /// Ends the stretch of a CPU whose thread is now elsewhere. The time of the move and the CPU's
    /// next occupant are unknown.
    pub(super) fn vacate(&mut self, cpu: usize, at: Nanos) {
        self.end_stretch(cpu, at, Nanos::ZERO, None);
        if let Occupant::Thread(id) = self.running[cpu].who {
            self.close(id, at, true);
        }
        self.begin_stretch(cpu, at, Occupant::Lost);
    }

    pub(super) fn lost(&mut self, cpu: usize, at: Nanos, events: u64) {
        self.timeline.lost += events;
        let Some(Some(tid)) = self.ahead.after_loss.pop() else { return };
        let who = self.occupant(tid, None);
        let Running { who: had, since, last_event, .. } = self.running[cpu];
        if who == had || (who == Occupant::Idle && had == Occupant::Unseen) {
            self.running[cpu].torn = true;
            return;
        }
        let known_until = last_event.max(since);
        self.end_stretch(cpu, known_until, Nanos::ZERO, None);
        if let Occupant::Thread(id) = had {
            self.close(id, known_until, true);
            self.block(id, known_until, Left::Unknown, Call::Unknown);
        }
        self.begin_stretch(cpu, known_until, Occupant::Lost);
        self.end_stretch(cpu, at, Nanos::ZERO, None);
        self.begin_stretch(cpu, at, who);
        self.running[cpu].torn = true;
    }
}
