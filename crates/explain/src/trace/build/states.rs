//! States of threads and occupants of CPUs, kept consistent: a thread runs on a CPU if and only if
//! it is that CPU's occupant.

use morecores_study::Nanos;
use morecores_study::trace::{
    Call, HoldReason, Object, PrevState, StackMoment, Switch, Tid, TraceSource, Waking,
};

use super::{Builder, CpuState};
use crate::trace::timeline::{CpuSpan, Occupant, Segment, State, ThreadId, Wait, WaitId, Wake};

impl Builder<'_> {
    /// Ends the thread's present state.
    pub(super) fn end_state(&mut self, id: ThreadId, at: Nanos, ended: bool) {
        let Some((from, state)) = self.thread_states[id.index()].current.take() else { return };
        let (from, to) = (from.max(self.timeline.began), at.max(self.timeline.began));
        if let State::Blocked(wait) = state {
            let wait = &mut self.timeline.waits[wait.index()];
            (wait.from, wait.to, wait.ended) = (from, to, ended);
        }
        if to > from {
            self.timeline.threads[id.index()].segments.push(Segment { from, to, state });
        }
    }

    pub(super) fn begin_state(&mut self, id: ThreadId, at: Nanos, state: State) {
        self.thread_states[id.index()].current = Some((at, state));
    }

    pub(super) fn block_thread(&mut self, id: ThreadId, at: Nanos, prev_state: PrevState, call: Call) {
        let object = self.thread_states[id.index()].wait_object.take().unwrap_or(Object::None);
        let futex =
            self.thread_states[id.index()].futex.take().filter(|_| matches!(object, Object::Futex(_)));
        if let Call::Number(number) = call
            && self.thread_states[id.index()].wait_call.is_none_or(|(before, _)| before != number)
        {
            self.thread_states[id.index()].wait_call = Some((number, at));
        }
        let wait = WaitId(self.timeline.waits.len() as u32);
        let stack = self.take_stack(id, StackMoment::Wait);
        self.timeline.user_stacks.at_waits.extend(stack.map(|stack| (wait, stack)));
        self.timeline.waits.push(Wait {
            thread: id,
            from: at,
            to: at,
            prev_state,
            call,
            object,
            futex,
            wake: None,
            ended: false,
            contention: None,
        });
        self.begin_state(id, at, State::Blocked(wait));
    }

    pub(super) fn wake_thread(&mut self, at: Nanos, waking: &Waking) {
        let id = self.get_or_add_thread(waking.tid);
        let by = self.resolve_source(waking.by);
        let wake = Wake { at, by, origin: self.follow_kernel_threads(by), io_wait: waking.io_wait };
        let waker_stack = by.thread().and_then(|waker| self.take_stack(waker, StackMoment::Waking));
        self.thread_states[id.index()].wake_origin = Some(wake.origin);
        match self.thread_states[id.index()].current {
            Some((_, State::Running { .. })) => self.thread_states[id.index()].early_wake = Some(wake),
            Some((_, State::Runnable)) => {}
            Some((_, State::Held(_))) => {
                self.end_state(id, at, true);
                self.begin_state(id, at, State::Runnable);
            }
            Some((_, State::Blocked(wait))) => {
                self.timeline.waits[wait.index()].wake = Some(wake);
                self.timeline.user_stacks.at_wakes.extend(waker_stack.map(|stack| (wait, stack)));
                self.end_state(id, at, true);
                self.begin_state(id, at, State::Runnable);
            }
            None => self.begin_state(id, at, State::Runnable),
        }
    }

    /// Records that the thread runs on a CPU.
    pub(super) fn run_thread(&mut self, id: ThreadId, cpu: usize, at: Nanos) {
        match self.thread_states[id.index()].current {
            Some((_, State::Running { cpu: elsewhere })) => {
                self.timeline.misfits.misplaced += 1;
                self.vacate(self.cpu_index(elsewhere), at);
            }
            Some((from, State::Blocked(wait))) => {
                if let Some(wake) = self.thread_states[id.index()].early_wake {
                    // The wake-up came between the decision to sleep and the switch: the thread
                    // never waited.
                    self.timeline.misfits.early += 1;
                    let wait = &mut self.timeline.waits[wait.index()];
                    (wait.wake, wait.to, wait.ended) = (Some(wake), wait.from, true);
                    self.thread_states[id.index()].current = Some((from, State::Runnable));
                } else if self.header.facts.source != TraceSource::Perf {
                    self.timeline.misfits.unwoken += 1;
                }
            }
            Some((from, State::Held(by))) => self.end_hold(id, from, by, at),
            Some((_, State::Runnable)) | None => {}
        }
        (self.thread_states[id.index()].early_wake, self.thread_states[id.index()].held_by) = (None, None);
        self.end_state(id, at, true);
        let cpu = self.timeline.cpus[cpu].cpu;
        self.begin_state(id, at, State::Running { cpu });
    }

    /// Records that the thread is held back: at once if it has no CPU, otherwise from its next
    /// switch on.
    pub(super) fn hold_back(&mut self, id: ThreadId, at: Nanos, by: HoldReason) {
        match self.thread_states[id.index()].current {
            Some((_, State::Runnable | State::Held(_))) => {
                self.end_state(id, at, true);
                self.begin_state(id, at, State::Held(by));
            }
            _ => self.thread_states[id.index()].held_by = Some(by),
        }
    }

    /// Ends the hold of a thread that runs at `at`. The end of the hold is unknown, but at the
    /// latest it is one CPU wake-up latency before `at`.
    fn end_hold(&mut self, id: ThreadId, from: Nanos, by: HoldReason, at: Nanos) {
        let latency = self.header.facts.wake_latency_ns.unwrap_or_default();
        let released = Nanos(at.0.saturating_sub(latency.0)).max(from);
        self.begin_state(id, from, State::Held(by));
        self.end_state(id, released, true);
        self.begin_state(id, released, State::Runnable);
    }

    // CPUs.

    /// Occupant with this number. `left` is the reason for which the previous thread left, if one
    /// did.
    pub(super) fn occupant(&mut self, tid: Tid, prev_state: Option<PrevState>) -> Occupant {
        match tid {
            Tid::IDLE => Occupant::Idle,
            // A preempted thread always leaves for another thread; after a voluntary switch the CPU
            // is usually idle.
            Tid::UNSEEN if prev_state == Some(PrevState::Preempted) => Occupant::Unseen,
            Tid::UNSEEN => Occupant::Idle,
            tid => Occupant::Thread(self.get_or_add_thread(tid)),
        }
    }

    pub(super) fn switch_threads(&mut self, cpu: usize, at: Nanos, switch: &Switch) {
        let mut prev = self.occupant(switch.prev, None);
        let mut recorded = self.cpu_states[cpu].occupant;
        if prev == Occupant::Idle && recorded == Occupant::Unseen {
            prev = recorded;
        }
        let mut accounted = None;
        if let Occupant::Thread(id) = prev {
            let before = self.thread_states[id.index()].runtime;
            let runtime = Some(switch.prev_runtime).filter(|runtime| *runtime > Nanos::ZERO);
            accounted = before.zip(runtime).and_then(|(before, now)| now.0.checked_sub(before.0)).map(Nanos);
            self.thread_states[id.index()].runtime = runtime;
        }
        if prev != recorded && recorded != Occupant::Lost {
            self.timeline.misfits.misplaced += 1;
            if let (Occupant::Thread(id), Some(ran)) = (prev, accounted) {
                self.insert_missing_switch(cpu, Nanos(at.0.saturating_sub(ran.0)), id);
                recorded = prev;
            }
        }
        self.end_span(cpu, at, switch.interrupts, accounted.filter(|_| prev == recorded));
        if prev != recorded
            && let Occupant::Thread(id) = recorded
        {
            self.end_state(id, at, true);
            self.block_thread(id, at, PrevState::Unknown, Call::Unknown);
        }
        let elsewhere = match prev {
            Occupant::Thread(id) => match self.thread_states[id.index()].current {
                Some((_, State::Running { cpu: other })) => {
                    Some(self.cpu_index(other)).filter(|other| *other != cpu)
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(elsewhere) = elsewhere.filter(|_| recorded != Occupant::Lost) {
            self.vacate(elsewhere, at);
        }
        // The thread was seen to begin on another CPU, so this record of its leaving is out of
        // date.
        let is_outdated = elsewhere.is_some() && recorded == Occupant::Lost;
        if let Occupant::Thread(id) = prev
            && !is_outdated
        {
            self.end_state(id, at, true);
            match (self.thread_states[id.index()].held_by.take(), switch.prev_state) {
                (_, PrevState::Dead) => self.timeline.threads[id.index()].ended = Some(at),
                (Some(by), _) => self.begin_state(id, at, State::Held(by)),
                (None, PrevState::Preempted) => {
                    self.thread_states[id.index()].early_wake = None;
                    self.begin_state(id, at, State::Runnable);
                }
                (None, prev_state) => self.block_thread(id, at, prev_state, switch.call),
            }
            (self.thread_states[id.index()].wait_object, self.thread_states[id.index()].futex) = (None, None);
        }
        let next = self.occupant(switch.next, Some(switch.prev_state));
        self.begin_span(cpu, at, next);
    }

    /// Records a switch to a thread without an event: some kernels omit the switch away from a
    /// kernel thread or a guest agent. The time of the switch follows from the CPU time accounted
    /// to the thread until its next switch, counted back from `at`.
    fn insert_missing_switch(&mut self, cpu: usize, at: Nanos, to: ThreadId) {
        let ready = self.thread_states[to.index()].current.map_or(Nanos::ZERO, |(since, _)| since);
        let at = at.max(self.cpu_states[cpu].since).max(ready);
        self.end_span(cpu, at, Nanos::ZERO, None);
        if let Occupant::Thread(recorded) = self.cpu_states[cpu].occupant {
            self.end_state(recorded, at, true);
            self.block_thread(recorded, at, PrevState::Unknown, Call::Unknown);
        }
        self.begin_span(cpu, at, Occupant::Thread(to));
    }

    pub(super) fn begin_span(&mut self, cpu: usize, at: Nanos, occupant: Occupant) {
        if let Occupant::Thread(id) = occupant {
            self.run_thread(id, cpu, at);
        }
        let last_event = self.cpu_states[cpu].last_event;
        self.cpu_states[cpu] = CpuState { occupant, since: at, last_event, has_loss: false };
    }

    pub(super) fn end_span(&mut self, cpu: usize, at: Nanos, interrupts: Nanos, accounted: Option<Nanos>) {
        let CpuState { occupant, since, has_loss, .. } = self.cpu_states[cpu];
        let (from, to) = (since.max(self.timeline.began), at.max(self.timeline.began));
        if to <= from {
            return;
        }
        let whole = from == since;
        let inside = Nanos::from_secs_f64(
            interrupts.as_secs_f64() * to.since(from).as_secs_f64() / at.since(since).as_secs_f64(),
        );
        self.timeline.cpus[cpu].spans.push(CpuSpan {
            from,
            to,
            occupant,
            interrupts: if whole { interrupts } else { inside }.min(to.since(from)),
            accounted: accounted.filter(|_| whole && !has_loss),
        });
    }

    /// Ends the span of a CPU whose thread is now elsewhere. The time of the move and the CPU's
    /// next occupant are unknown.
    pub(super) fn vacate(&mut self, cpu: usize, at: Nanos) {
        self.end_span(cpu, at, Nanos::ZERO, None);
        if let Occupant::Thread(id) = self.cpu_states[cpu].occupant {
            self.end_state(id, at, true);
        }
        self.begin_span(cpu, at, Occupant::Lost);
    }

    pub(super) fn record_loss(&mut self, cpu: usize, at: Nanos, events: u64) {
        self.timeline.lost_events += events;
        let Some(Some(tid)) = self.lookahead.running_after_loss.pop() else { return };
        let occupant = self.occupant(tid, None);
        let CpuState { occupant: recorded, since, last_event, .. } = self.cpu_states[cpu];
        if occupant == recorded || (occupant == Occupant::Idle && recorded == Occupant::Unseen) {
            self.cpu_states[cpu].has_loss = true;
            return;
        }
        let known_until = last_event.max(since);
        self.end_span(cpu, known_until, Nanos::ZERO, None);
        if let Occupant::Thread(id) = recorded {
            self.end_state(id, known_until, true);
            self.block_thread(id, known_until, PrevState::Unknown, Call::Unknown);
        }
        self.begin_span(cpu, known_until, Occupant::Lost);
        self.end_span(cpu, at, Nanos::ZERO, None);
        self.begin_span(cpu, at, occupant);
        self.cpu_states[cpu].has_loss = true;
    }
}
