//! Conversion of perf-event records into trace events; pure.
//!
//! Missing information is not invented, with one exception. The kernel removes a thread's perf
//! events while the thread exits, so that the thread's last switch has no record. The decoder
//! assumes that the thread left its CPU for good at the time of its exit record. The thread's later
//! work, such as freeing its process's memory (69 ms for 800 MB), is not recorded since Linux 6.16,
//! and in stable kernels since commit 4f6fc7821283 ("perf: Fix sample vs do_exit()"). An ordinary
//! user's thread that runs a program which gains privileges loses its events too, with the same
//! record (fs/exec.c, `begin_new_exec`).
//!
//! A switch has two records, one for the leaving thread and one for the arriving thread, each only
//! if the thread belongs to the command. They stay two events. The switch itself lies between them,
//! some 1 to 2 µs. The CPU may also have been idle for this time, which the records cannot
//! distinguish.

use morecores_study::trace::{
    Accounts, Call, Comm, Event, EventKind, Exec, Fork, Mapping, PrevState, Sample, SampleMode, StackEnd,
    StackMoment, Switch, ThreadExit, Tid, UserStack,
};
use morecores_study::{CpuId, Nanos};
use perf_event_open_sys::bindings as sys;

use super::record::{Fields, Record};
use super::samples::{SampleRecord, SampledStack};

/// The tracing process and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// Process of the caller; its threads are not traced.
    pub(super) process: Tid,
    /// Thread that starts the command.
    pub(super) thread: Tid,
}

impl Caller {
    /// Caller of the current thread.
    pub(super) fn this_thread() -> Self {
        let number = |pid: rustix::process::Pid| Tid(pid.as_raw_nonzero().get().cast_unsigned());
        Self { process: number(rustix::process::getpid()), thread: number(rustix::thread::gettid()) }
    }
}

/// Decoder of the records of one CPU.
#[derive(Debug)]
pub(super) struct Decoder {
    cpu: CpuId,
    caller: Caller,
    /// Time of the previous record.
    last: Nanos,
    /// Thread that came to this CPU and has not left it, if known.
    current: Option<Tid>,
    /// Thread of the last exit record.
    exited: Option<Tid>,
    /// A thread during an exec, by its present number and by the number with which it came to this
    /// CPU. The thread takes over its process's first number some time before the exec record, and
    /// may leave the CPU in between.
    renumbered: Option<(Tid, Tid)>,
    /// First process that the caller made on this CPU, and its time.
    pub(super) root: Option<(Nanos, Tid)>,
    /// Number of lost records reported so far.
    pub(super) lost: u64,
}

impl Decoder {
    pub(super) fn new(cpu: CpuId, caller: Caller) -> Self {
        Self {
            cpu,
            caller,
            last: Nanos::ZERO,
            current: None,
            exited: None,
            renumbered: None,
            root: None,
            lost: 0,
        }
    }

    /// Appends the events of `record` to `events`: none if the record is of another kind or
    /// concerns the caller's own process.
    pub(super) fn decode(&mut self, record: &[u8], events: &mut Vec<Event>) {
        // A record that is shorter than its kind does not come from a kernel and gives no event.
        let _ = self.decode_record(record, events);
    }

    fn decode_record(&mut self, record: &[u8], events: &mut Vec<Event>) -> Option<()> {
        let Record { kind, flags, body, process, thread: tid, at } = Record::parse(record)?;
        // The kernel's fast reading of the monotonic clock can step back slightly when the clock is
        // adjusted (kernel/time/timekeeping.c, ktime_get_mono_fast_ns).
        self.last = self.last.max(at);

        match kind {
            sys::PERF_RECORD_LOST => self.record_lost(body, events)?,
            sys::PERF_RECORD_FORK => self.fork(body, events)?,
            // This case comes after the fork case, so that the caller's own actions give no event
            // except the start of the command.
            _ if process == self.caller.process => {}
            sys::PERF_RECORD_SWITCH => self.switch(tid, flags, events),
            sys::PERF_RECORD_COMM => self.comm(body, flags, events)?,
            sys::PERF_RECORD_EXIT => self.exit(body, events)?,
            _ => {}
        }
        Some(())
    }

    /// Appends the events of a sample, except for the caller's own process. Returns the stack of
    /// the sample if an event expects it. The stack comes before its sample, as with BPF programs.
    pub(super) fn decode_sample<'a>(
        &mut self,
        sample: &SampleRecord<'a>,
        events: &mut Vec<Event>,
    ) -> Option<SampledStack<'a>> {
        self.last = self.last.max(sample.at);
        if sample.process == self.caller.process {
            return None;
        }
        let tid = sample.thread;
        if sample.stack.is_some() {
            // The stack is unwound later; until then no frame is known.
            let (moment, end) = (StackMoment::Sample, StackEnd::UnknownCode);
            let stack = UserStack { tid, moment, frame: None, end, weight_log2: 0 };
            self.push(EventKind::UserStack(stack), events);
        }
        // The records do not show the instructions, and so not whether the thread spins.
        let (mode, address) = (SampleMode::User, sample.address);
        self.push(EventKind::Sample(Sample { tid, mode, address, spins: false }), events);
        sample.stack
    }

    /// Appends the event of a mapping.
    pub(super) fn add_mapping(&mut self, at: Nanos, mapping: Mapping, events: &mut Vec<Event>) {
        self.last = self.last.max(at);
        self.push(EventKind::Mapping(mapping), events);
    }

    fn push(&self, kind: EventKind, events: &mut Vec<Event>) {
        events.push(Event { at: self.last, cpu: self.cpu, kind });
    }

    fn switch(&mut self, tid: Tid, flags: u32, events: &mut Vec<Event>) {
        if flags & sys::PERF_RECORD_MISC_SWITCH_OUT == 0 {
            self.current = Some(tid);
            self.exited = None;
            return self.push(switch_event(Tid::UNSEEN, PrevState::Unknown, tid), events);
        }
        if let Some(came_as) = self.current.take().filter(|came_as| *came_as != tid) {
            self.renumbered = Some((tid, came_as));
        }
        // A kernel may also record the last switch, which the exit event has already reported.
        if self.exited.take() == Some(tid) {
            return;
        }
        let preempted = flags & sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0;
        let prev_state = if preempted { PrevState::Preempted } else { PrevState::Unknown };
        self.push(switch_event(tid, prev_state, Tid::UNSEEN), events);
    }

    fn fork(&mut self, body: Fields<'_>, events: &mut Vec<Event>) -> Option<()> {
        let (fork, by_process) = parse_fork(body)?;
        if fork.process == self.caller.process {
            return Some(());
        }
        if by_process == self.caller.process && self.root.is_none() {
            self.root = Some((self.last, fork.child));
        }
        self.push(EventKind::Fork(fork), events);
        Some(())
    }

    /// Decodes a body of pid, tid, name.
    fn comm(&mut self, mut body: Fields<'_>, flags: u32, events: &mut Vec<Event>) -> Option<()> {
        let (_, tid) = (body.tid()?, body.tid()?);
        let mut name = Comm::default();
        name.0.iter_mut().take(15).zip(body.text()).for_each(|(to, from)| *to = *from);
        if flags & sys::PERF_RECORD_MISC_COMM_EXEC == 0 {
            self.push(EventKind::Rename { tid, name }, events);
            return Some(());
        }
        // If the thread changed CPUs after it changed numbers, this CPU knows only its new number.
        let was = self.renumbered.take_if(|(now, _)| *now == tid).map(|(_, was)| was);
        let was = was.or(self.current).unwrap_or(tid);
        self.current = Some(tid);
        self.push(EventKind::Exec(Exec { tid, was, name, accounts: Accounts::default() }), events);
        Some(())
    }

    /// Decodes a body of pid, ppid, tid, ptid, time.
    fn exit(&mut self, mut body: Fields<'_>, events: &mut Vec<Event>) -> Option<()> {
        let (_, _, tid) = (body.tid()?, body.tid()?, body.tid()?);
        self.current = None;
        self.exited = Some(tid);
        self.push(EventKind::Exit(ThreadExit { tid, accounts: Accounts::default() }), events);
        self.push(switch_event(tid, PrevState::Dead, Tid::UNSEEN), events);
        Some(())
    }

    /// Decodes a body of id, lost.
    fn record_lost(&mut self, mut body: Fields<'_>, events: &mut Vec<Event>) -> Option<()> {
        let (_, lost) = (body.u64()?, body.u64()?);
        self.push_loss(lost, events);
        Some(())
    }

    /// Records that the kernel has lost `total` records in all at `now`, if fewer were reported
    /// before.
    pub(super) fn report_total_loss(&mut self, total: u64, now: Nanos, events: &mut Vec<Event>) {
        let unreported = total.saturating_sub(self.lost);
        if unreported > 0 {
            self.last = self.last.max(now);
            self.push_loss(unreported, events);
        }
    }

    fn push_loss(&mut self, lost: u64, events: &mut Vec<Event>) {
        self.lost += lost;
        self.current = None;
        self.exited = None;
        self.push(EventKind::Lost { events: lost }, events);
    }
}

/// New thread of a record, and its time; `None` if the record is of another kind.
pub(super) fn fork_event(record: &[u8]) -> Option<(Nanos, Fork)> {
    let Record { kind, body, at, .. } = Record::parse(record)?;
    let (fork, _) = parse_fork(body).filter(|_| kind == sys::PERF_RECORD_FORK)?;
    Some((at, fork))
}

/// New thread from a body of pid, ppid, tid, ptid, time; and the process that made it.
fn parse_fork(mut body: Fields<'_>) -> Option<(Fork, Tid)> {
    let (process, by_process, child, parent) = (body.tid()?, body.tid()?, body.tid()?, body.tid()?);
    Some((Fork { parent, child, process }, by_process))
}

/// A switch of which only one side is recorded.
fn switch_event(prev: Tid, prev_state: PrevState, next: Tid) -> EventKind {
    EventKind::Switch(Switch {
        prev,
        prev_state,
        call: Call::Unknown,
        prev_runtime: Nanos::ZERO,
        interrupts: Nanos::ZERO,
        next,
    })
}

#[cfg(test)]
mod tests;
