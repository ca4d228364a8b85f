//! Records other than states: the source of each action, followed through kernel threads; kernel
//! locks; samples.

use morecores_study::trace::{Contention, Interrupt, Object, Sample, SystemCall, Tid, Waker, Work};
use morecores_study::{CpuId, Nanos};

use super::Builder;
use crate::trace::timeline::{CallRecord, CpuSample, LockWait, Segment, Source, State, ThreadId, WorkItem};

impl Builder<'_> {
    pub(super) fn resolve_source(&mut self, waker: Waker) -> Source {
        match waker {
            // The idle loop acts only on behalf of an interrupt.
            Waker::Thread(Tid::IDLE) => Source::Interrupt(Interrupt::Other),
            Waker::Thread(Tid::UNSEEN) | Waker::Unknown => Source::Unknown,
            Waker::Thread(tid) => Source::Thread(self.get_or_add_thread(tid)),
            Waker::Interrupt(interrupt) => Source::Interrupt(interrupt),
            Waker::SoftIrqOfThread { vector, tid: Tid::IDLE | Tid::UNSEEN } => {
                Source::SoftIrqOfInterrupt { vector, interrupt: Interrupt::Other }
            }
            Waker::SoftIrqOfThread { vector, tid } => {
                Source::SoftIrqOfThread { vector, thread: self.get_or_add_thread(tid) }
            }
            Waker::SoftIrqOfInterrupt { vector, interrupt } => {
                Source::SoftIrqOfInterrupt { vector, interrupt }
            }
        }
    }

    /// Source followed through kernel threads. Earlier actions of a kernel thread were followed
    /// when they occurred, so one step is enough.
    pub(super) fn follow_kernel_threads(&self, by: Source) -> Source {
        match by.thread() {
            Some(id) if self.timeline.threads[id.index()].kernel => {
                let state = &self.thread_states[id.index()];
                state.work.map(|(_, origin)| origin).or(state.wake_origin).unwrap_or(Source::Unknown)
            }
            _ => by,
        }
    }

    pub(super) fn begin_work_item(&mut self, at: Nanos, work: &Work) {
        let id = self.get_or_add_thread(work.worker);
        if let Some((_, origin)) = self.thread_states[id.index()].work {
            self.end_work_item(id, at, origin);
        }
        self.thread_states[id.index()].work = work.queued_by.map(|by| {
            let by = self.resolve_source(by);
            (at, self.follow_kernel_threads(by))
        });
    }

    pub(super) fn end_work_item(&mut self, worker: ThreadId, at: Nanos, origin: Source) {
        let Some((from, _)) = self.thread_states[worker.index()].work.take() else { return };
        let from = from.max(self.timeline.began);
        if at > from {
            self.timeline.work_items.push(WorkItem { worker, from, to: at, origin });
        }
    }

    pub(super) fn record_contention(&mut self, at: Nanos, contention: &Contention) {
        let id = self.get_or_add_thread(contention.tid);
        let began = self.timeline.began;
        if at <= began {
            return;
        }
        let from = Nanos(at.0.saturating_sub(contention.waited.0)).max(began);
        let index = self.timeline.contentions.len() as u32;
        let current = self.thread_states[id.index()].current.map(|(since, state)| Segment {
            from: since,
            to: at,
            state,
        });
        let earlier = self.timeline.threads[id.index()].segments.iter().rev().take_while(|s| s.to > from);
        for segment in current.iter().chain(earlier) {
            if let State::Blocked(wait) = segment.state {
                // The end of an inner wait is recorded first.
                self.timeline.waits[wait.index()].contention.get_or_insert(index);
            }
        }
        self.timeline.contentions.push(LockWait {
            thread: id,
            from,
            to: at,
            lock: contention.lock,
            flags: contention.flags,
            known: contention.known,
            stack: contention.stack,
        });
    }

    pub(super) fn record_sample(&mut self, cpu: CpuId, at: Nanos, sample: &Sample) {
        if at < self.timeline.began {
            return;
        }
        let thread = match sample.tid {
            Tid::IDLE | Tid::UNSEEN => None,
            tid => Some(self.get_or_add_thread(tid)),
        };
        self.timeline.samples.push(CpuSample { at, cpu, thread, mode: sample.mode, spins: sample.spins });
    }

    pub(super) fn record_system_call(&mut self, at: Nanos, call: &SystemCall) {
        let thread = self.get_or_add_thread(call.tid);
        let waited = self.thread_states[thread.index()].wait_call.take();
        let inside = at >= self.timeline.began;
        if !inside || call.object == Object::None || !self.timeline.threads[thread.index()].in_tree {
            return;
        }
        let from = match waited {
            Some((number, from)) if number == call.number => from,
            _ => Nanos(at.0.saturating_sub(call.took.0)),
        };
        let (number, result, object) = (call.number, call.result, call.object);
        let from = from.max(self.timeline.began);
        self.timeline.calls.push(CallRecord { thread, from, to: at, number, result, object });
    }
}
