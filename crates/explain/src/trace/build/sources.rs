//! Source of each action, followed through kernel threads: a wake-up by a worker of the kernel
//! leads to the thread or interrupt that queued its work. Decides no cause.

use morecores_study::Nanos;
use morecores_study::trace::{Interrupt, Tid, Waker, Work};

use super::Builder;
use crate::trace::timeline::{Source, ThreadId, WorkItem};

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
}
