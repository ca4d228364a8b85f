//! Records that enter the timeline as they are: waits for kernel locks, samples and system calls.

use morecores_study::trace::{
    CodeAddress, Contention, Object, Sample, SampleMode, StackMoment, SystemCall, Tid,
};
use morecores_study::{CpuId, Nanos};

use super::Builder;

use crate::trace::timeline::{CallRecord, CpuSample, LockWait, Segment, State};

impl Builder<'_> {
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
        let (mode, spins) = (sample.mode, sample.spins);
        let code = match mode {
            SampleMode::User => self.address_spaces.locate(sample.tid, sample.address),
            SampleMode::Kernel => self.kernel.map(|module| CodeAddress { module, offset: sample.address }),
            SampleMode::Interrupt => None,
        };
        let stack = thread.and_then(|id| self.take_stack(id, StackMoment::Sample));
        self.timeline.samples.push(CpuSample { at, cpu, thread, mode, spins, code, stack });
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
