//! Records beside the states: the source of each action, followed through kernel threads; kernel
//! locks; samples.

use morecores_study::trace::{Contention, Interrupt, Object, Sample, SystemCall, Tid, Waker, Work};
use morecores_study::{CpuId, Nanos};

use super::Builder;
use crate::trace::timeline::{CallMade, LockWait, Sampled, Segment, Source, State, ThreadId, WorkDone};

impl Builder<'_> {
    pub(super) fn source(&mut self, waker: Waker) -> Source {
        match waker {
            // The idle loop acts only on behalf of an interrupt.
            Waker::Thread(Tid::IDLE) => Source::Interrupt(Interrupt::Other),
            Waker::Thread(Tid::UNSEEN) | Waker::Unknown => Source::Unknown,
            Waker::Thread(tid) => Source::Thread(self.known(tid)),
            Waker::Interrupt(interrupt) => Source::Interrupt(interrupt),
            Waker::SoftIrqOfThread { vector, tid: Tid::IDLE | Tid::UNSEEN } => {
                Source::SoftIrqOfInterrupt { vector, interrupt: Interrupt::Other }
            }
            Waker::SoftIrqOfThread { vector, tid } => {
                Source::SoftIrqOfThread { vector, thread: self.known(tid) }
            }
            Waker::SoftIrqOfInterrupt { vector, interrupt } => {
                Source::SoftIrqOfInterrupt { vector, interrupt }
            }
        }
    }

    /// Source followed through kernel threads. Earlier actions of a kernel thread were followed
    /// when they occurred, so one step is enough.
    pub(super) fn origin(&self, by: Source) -> Source {
        match by.thread() {
            Some(id) if self.timeline.threads[id.index()].kernel => {
                let live = &self.live[id.index()];
                live.work.map(|(_, origin)| origin).or(live.origin).unwrap_or(Source::Unknown)
            }
            _ => by,
        }
    }

    pub(super) fn work(&mut self, at: Nanos, work: &Work) {
        let id = self.known(work.worker);
        if let Some((_, origin)) = self.live[id.index()].work {
            self.end_work(id, at, origin);
        }
        self.live[id.index()].work = work.queued_by.map(|by| {
            let by = self.source(by);
            (at, self.origin(by))
        });
    }

    pub(super) fn end_work(&mut self, worker: ThreadId, at: Nanos, origin: Source) {
        let Some((from, _)) = self.live[worker.index()].work.take() else { return };
        let from = from.max(self.timeline.began);
        if at > from {
            self.timeline.works.push(WorkDone { worker, from, to: at, origin });
        }
    }

    pub(super) fn contention(&mut self, at: Nanos, contention: &Contention) {
        let id = self.known(contention.tid);
        let began = self.timeline.began;
        if at <= began {
            return;
        }
        let from = Nanos(at.0.saturating_sub(contention.waited.0)).max(began);
        let index = self.timeline.contentions.len() as u32;
        let open = self.live[id.index()].open.map(|(since, state)| Segment { from: since, to: at, state });
        let closed = self.timeline.threads[id.index()].segments.iter().rev().take_while(|s| s.to > from);
        for segment in open.iter().chain(closed) {
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

    pub(super) fn sample(&mut self, cpu: CpuId, at: Nanos, sample: &Sample) {
        if at < self.timeline.began {
            return;
        }
        let thread = match sample.tid {
            Tid::IDLE | Tid::UNSEEN => None,
            tid => Some(self.known(tid)),
        };
        self.timeline.samples.push(Sampled { at, cpu, thread, mode: sample.mode, spins: sample.spins });
    }

    pub(super) fn system_call(&mut self, at: Nanos, call: &SystemCall) {
        let thread = self.known(call.tid);
        let waited = self.live[thread.index()].waits_in.take();
        let inside = at >= self.timeline.began;
        if !inside || call.object == Object::None || !self.timeline.threads[thread.index()].in_tree {
            return;
        }
        let since = match waited {
            Some((number, since)) if number == call.number => since,
            _ => Nanos(at.0.saturating_sub(call.took.0)),
        };
        let (number, result, object) = (call.number, call.result, call.object);
        let since = since.max(self.timeline.began);
        self.timeline.calls.push(CallMade { thread, since, at, number, result, object });
    }
}
