//! Encoder of events into the bytes of a frame. docs/format.md, "Events", describes the encoding in
//! words; the inverse is `decode`. The encoder allocates nothing.

use crate::CpuSet;
use crate::trace::{
    Accounts, Comm, Event, EventKind, HoldReason, Interrupt, KnownLock, Object, SampleMode, StackEnd,
    StackMoment, Switch, Tid, Waker, Waking,
};

use super::state::{EARLIER, FLAG, FLAGS_SHIFT, State, departure_code, kind};
use super::varint::{ByteWriter, length_of, zigzag};

/// Maximum length of one event, in bytes. The longest event holds the set of every second CPU, over
/// all possible CPU numbers. Each distance and length in it takes at most three bytes. All other
/// kinds stay below 100 bytes.
pub(super) const LONGEST_EVENT: usize = 32 << 10;

/// Encoder for the events of one frame.
pub(super) struct Encoder<'a> {
    out: &'a mut ByteWriter,
    state: State,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(out: &'a mut ByteWriter, time: u64) -> Self {
        Self { out, state: State::new(time) }
    }

    /// Number of bytes written so far.
    pub(super) fn length(&self) -> usize {
        self.out.written().len()
    }

    /// Writes one event. The caller must ensure room for [`LONGEST_EVENT`].
    #[inline]
    pub(super) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Switch(switch) => self.switch(event, switch),
            EventKind::Waking(waking) => self.waking(event, waking),
            other => self.rarer(event, other),
        }
    }

    #[inline]
    fn begin(&mut self, event: &Event, kind: u8, flags: u8) {
        let (now, before) = (event.at.0, self.state.time);
        let earlier = if now < before { EARLIER } else { 0 };
        self.out.byte(kind | flags | earlier);
        self.out.number(now.abs_diff(before));
        self.state.time = now;
    }

    #[inline]
    fn switch(&mut self, event: &Event, switch: &Switch) {
        let interrupted = if switch.interrupts.0 != 0 { FLAG[0] } else { 0 };
        let expected = if switch.prev == self.state.running { FLAG[1] } else { 0 };
        self.begin(event, kind::SWITCH, interrupted | expected);
        if expected == 0 {
            self.thread(switch.prev);
        }
        self.out.number(departure_code(switch.prev_state, switch.call));
        let ran = self.state.ran();
        self.out.number(self.state.runtime_code(switch.prev, ran, switch.prev_runtime.0));
        if interrupted != 0 {
            self.out.number(switch.interrupts.0);
        }
        self.thread(switch.next);
        self.state.switch(switch.next);
    }

    #[inline]
    fn waking(&mut self, event: &Event, waking: &Waking) {
        let io_wait = if waking.io_wait { FLAG[0] } else { 0 };
        let by_running = if waking.by == Waker::Thread(self.state.running) { FLAG[1] } else { 0 };
        self.begin(event, kind::WAKING, io_wait | by_running);
        self.thread(waking.tid);
        if by_running == 0 {
            self.waker(waking.by);
        }
    }

    fn rarer(&mut self, event: &Event, kind: &EventKind) {
        match kind {
            EventKind::Switch(switch) => self.switch(event, switch),
            EventKind::Waking(waking) => self.waking(event, waking),
            EventKind::Fork(fork) => {
                self.begin(event, kind::FORK, 0);
                self.thread(fork.parent);
                self.thread(fork.child);
                self.thread(fork.process);
            }
            EventKind::Exec(exec) => {
                self.begin(event, kind::EXEC, 0);
                self.thread(exec.tid);
                self.thread(exec.was);
                self.name(&exec.name);
                self.accounts(exec.tid, &exec.accounts);
            }
            EventKind::Rename { tid, name } => {
                self.begin(event, kind::RENAME, 0);
                self.thread(*tid);
                self.name(name);
            }
            EventKind::Exit(exit) => {
                self.begin(event, kind::EXIT, 0);
                self.thread(exit.tid);
                self.accounts(exit.tid, &exit.accounts);
            }
            EventKind::Work(work) => {
                self.begin(event, kind::WORK, if work.queued_by.is_some() { FLAG[0] } else { 0 });
                self.thread(work.worker);
                if let Some(waker) = work.queued_by {
                    self.waker(waker);
                }
            }
            EventKind::Contention(contention) => {
                let known = match contention.known {
                    KnownLock::None => 0,
                    KnownLock::MmapLock => 1,
                    KnownLock::RunQueue => 2,
                };
                self.begin(event, kind::CONTENTION, known << FLAGS_SHIFT);
                self.thread(contention.tid);
                self.out.number(self.state.lock.code(contention.lock));
                self.out.number(contention.waited.0);
                self.out.byte(contention.flags.0);
                self.out.number(contention.stack.map_or(0, |stack| u64::from(stack) + 1));
            }
            EventKind::Sample(sample) => {
                let mode = match sample.mode {
                    SampleMode::User => 0,
                    SampleMode::Kernel => 1,
                    SampleMode::Interrupt => 2,
                };
                self.begin(event, kind::SAMPLE, mode << FLAGS_SHIFT);
                self.thread(sample.tid);
                self.out.byte(u8::from(sample.spins));
                self.out.number(self.state.address[usize::from(mode)].code(sample.address));
            }
            EventKind::Awaits { tid, object } => {
                self.begin(event, kind::AWAITS, object_flags(*object));
                self.thread(*tid);
                self.object(*object);
            }
            EventKind::FutexWait { tid, wait } => {
                self.begin(event, kind::FUTEX_WAIT, 0);
                self.fields([tid.0, wait.operation, wait.expected].map(u64::from));
            }
            EventKind::Confined { tid, allowed } => {
                self.begin(event, kind::CONFINED, 0);
                self.thread(*tid);
                self.cpus(allowed);
            }
            EventKind::Held { tid, by } => {
                let by = match by {
                    HoldReason::Quota => 0,
                    HoldReason::Freezer => 1,
                    HoldReason::RealTimeBudget => 2,
                };
                self.begin(event, kind::HELD, by << FLAGS_SHIFT);
                self.fields([u64::from(tid.0)]);
            }
            EventKind::Mapping(mapping) => {
                self.begin(event, kind::MAPPING, 0);
                let [process, module] = [mapping.process.0, mapping.module].map(u64::from);
                self.fields([process, mapping.start, mapping.length, mapping.offset, module]);
            }
            EventKind::Frame(frame) => {
                self.begin(event, kind::FRAME, 0);
                // The caller is a recent frame, most often.
                let caller =
                    frame.caller.map_or(0, |caller| zigzag(i64::from(frame.number) - i64::from(caller)) + 1);
                let [number, module] = [frame.number, frame.code.module].map(u64::from);
                self.fields([number, caller, module, frame.code.offset]);
            }
            EventKind::UserStack(stack) => {
                let moment = match stack.moment {
                    StackMoment::Sample => 0,
                    StackMoment::Wait => 1,
                    StackMoment::Waking => 2,
                };
                let end = match stack.end {
                    StackEnd::Outermost => 0,
                    StackEnd::UnknownCode => 1,
                    StackEnd::MissingMemory => 2,
                };
                self.begin(event, kind::USER_STACK, moment << FLAGS_SHIFT);
                let frame = stack.frame.map_or(0, |frame| u64::from(frame) + 1);
                self.fields([u64::from(stack.tid.0), frame, end, u64::from(stack.weight_log2)]);
            }
            EventKind::SystemCall(call) => {
                self.begin(event, kind::SYSTEM_CALL, object_flags(call.object));
                self.thread(call.tid);
                self.out.number(u64::from(call.number));
                self.out.number(call.took.0);
                self.out.signed(call.result);
                self.object(call.object);
            }
            EventKind::Lost { events } => {
                self.begin(event, kind::LOST, 0);
                self.out.number(*events);
            }
        }
    }

    /// Writes the fields of a kind with a length, after their length in bytes.
    fn fields<const N: usize>(&mut self, fields: [u64; N]) {
        self.out.number(fields.iter().map(|field| length_of(*field)).sum());
        fields.iter().for_each(|field| self.out.number(*field));
    }

    #[inline]
    fn thread(&mut self, tid: Tid) {
        let code = self.state.thread_code(tid);
        self.out.number(code);
    }

    fn waker(&mut self, waker: Waker) {
        match waker {
            Waker::Unknown => self.out.byte(0),
            Waker::Thread(tid) => {
                self.out.byte(1);
                self.thread(tid);
            }
            Waker::Interrupt(interrupt) => {
                self.out.byte(2);
                self.interrupt(interrupt);
            }
            Waker::SoftIrqOfThread { vector, tid } => {
                self.out.byte(3);
                self.out.byte(vector);
                self.thread(tid);
            }
            Waker::SoftIrqOfInterrupt { vector, interrupt } => {
                self.out.byte(4);
                self.out.byte(vector);
                self.interrupt(interrupt);
            }
        }
    }

    fn interrupt(&mut self, interrupt: Interrupt) {
        self.out.number(match interrupt {
            Interrupt::Other => 0,
            Interrupt::Timer => 1,
            Interrupt::Device(number) => u64::from(number) + 2,
        });
    }

    fn name(&mut self, name: &Comm) {
        let length = name.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        self.out.byte(length as u8);
        self.out.bytes(&name.0[..length]);
    }

    fn accounts(&mut self, tid: Tid, accounts: &Accounts) {
        self.out.number(self.state.runtime_code(tid, 0, accounts.runtime.0));
        self.out.number(accounts.user.0);
        self.out.number(accounts.system.0);
        self.out.number(accounts.minor_faults);
        self.out.number(accounts.major_faults);
    }

    fn object(&mut self, object: Object) {
        match object {
            Object::None => {}
            Object::Futex(address) => self.out.number(self.state.futex.code(address)),
            Object::Inode(inode) => self.out.number(self.state.inode.code(inode)),
            Object::Process(tid) => self.thread(tid),
        }
    }

    /// Writes the ranges in ascending order, and then a zero. Each range has two numbers: its
    /// distance from the end of the previous range plus one, and its length less one.
    fn cpus(&mut self, cpus: &CpuSet) {
        let mut cpus = cpus.iter().map(|cpu| u64::from(cpu.0)).peekable();
        let mut free = 0;
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            self.out.number(first - free + 1);
            self.out.number(last - first);
            free = last + 1;
        }
        self.out.number(0);
    }
}

fn object_flags(object: Object) -> u8 {
    let code = match object {
        Object::None => 0,
        Object::Futex(_) => 1,
        Object::Inode(_) => 2,
        Object::Process(_) => 3,
    };
    code << FLAGS_SHIFT
}
