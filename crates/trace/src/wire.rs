//! Decoder for the slots of the buffers: the Rust counterpart of `bpf/wire.h`.
//!
//! The decoder is pure: it turns slots into events. It reads no memory that the kernel writes, and
//! it assumes no order between slots.

use std::ops::Range;

use morecores_study::trace::{
    Accounts, Call, Comm, Contention, Event, EventKind, Exec, Fork, FutexWait, HoldReason, Interrupt,
    KnownLock, LockFlags, Object, PrevState, Sample, SampleMode, StackEnd, StackMoment, Switch, SystemCall,
    ThreadExit, Tid, UserStack, Waker, Waking, Work,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_symbols::UserRegisters;

/// `struct slot`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) time: u64,
    pub(crate) tid: u32,
    pub(crate) other: u32,
    pub(crate) value: u64,
    pub(crate) extra: u32,
    pub(crate) detail: u16,
    pub(crate) kind: u8,
    pub(crate) lap: u8,
}

/// Bytes of a slot; `bpf/state.bpf.h` claims whole slots.
pub(crate) const SLOT_SIZE: usize = 32;
const _: () = assert!(size_of::<Slot>() == SLOT_SIZE && align_of::<Slot>() == 8);

/// The four words of a slot: the layout of the later slots of a long record.
type Words = [u64; 4];

impl Slot {
    /// The slot's bytes as four words, on a little-endian machine, for which the BPF side is built.
    fn words(&self) -> Words {
        let last = u64::from(self.extra)
            | u64::from(self.detail) << 32
            | u64::from(self.kind) << 48
            | u64::from(self.lap) << 56;
        [self.time, u64::from(self.tid) | u64::from(self.other) << 32, self.value, last]
    }
}

/// `enum kind`.
mod kind {
    pub(super) const SWITCH: u8 = 1;
    pub(super) const WAKING: u8 = 2;
    pub(super) const FORK: u8 = 3;
    pub(super) const EXEC: u8 = 4;
    pub(super) const RENAME: u8 = 5;
    pub(super) const EXIT: u8 = 6;
    pub(super) const WORK: u8 = 7;
    pub(super) const CONTENTION: u8 = 8;
    pub(super) const SAMPLE: u8 = 9;
    pub(super) const AWAITS: u8 = 10;
    pub(super) const CONFINED: u8 = 11;
    pub(super) const SYSCALL: u8 = 12;
    pub(super) const HELD: u8 = 13;
    pub(super) const STACK: u8 = 14;
}

/// Tracepoint of the records of each kind, by kind. Several kinds share the cost of one tracepoint.
pub(crate) const PROBES: [&str; 15] = [
    "",
    "sched_switch",
    "sched_waking",
    "task_newtask",
    "sched_process_exec",
    "task_rename",
    "sched_process_exit",
    "workqueue_execute_start",
    "contention_end",
    "cpu-clock",
    "",
    "",
    "sys_exit",
    "",
    "",
];

/// Number of slots of a record of this kind.
pub(crate) const fn slot_count(kind: u8) -> usize {
    match kind {
        kind::EXEC => 3,
        kind::RENAME | kind::EXIT | kind::STACK => 2,
        _ => 1,
    }
}

/// `CALL_SHIFT`, `CALL_UNKNOWN` and `CALL_FAULT`.
const CALL_SHIFT: u32 = 3;
const CALL_UNKNOWN: u16 = 0x1fff;
const CALL_FAULT: u16 = 0x1ffe;
/// `BY_MASK`, `SOFTIRQ_SHIFT`, `SOFTIRQ_NONE`, `IO_WAIT` and `WORK_ENDS`.
const BY_MASK: u16 = 7;
const SOFTIRQ_SHIFT: u32 = 3;
const SOFTIRQ_NONE: u16 = 15;
const IO_WAIT: u16 = 1 << 8;
const WORK_ENDS: u16 = 1 << 9;
/// `LOCK_IS_MMAP`, `LOCK_IS_RUNQUEUE` and `NO_STACK`.
const LOCK_IS_MMAP: u16 = 1 << 8;
const LOCK_IS_RUNQUEUE: u16 = 1 << 9;
const NO_STACK: u32 = u32::MAX;
/// `SAMPLE_MODE` and `SAMPLE_SPINS`.
const SAMPLE_MODE: u16 = 3;
const SAMPLE_SPINS: u16 = 4;
/// `WEIGHT_SHIFT`, and the bits below it.
const WEIGHT_SHIFT: u32 = 2;
const MOMENT: u16 = 3;
/// `PAGE_BYTES`, `STACK_PAGES` and `PAGES_SHIFT`.
pub(crate) const PAGE_BYTES: u64 = 4096;
const STACK_PAGES: u32 = 16;
const PAGES_SHIFT: u32 = 16;
/// `NUMBER_SHIFT`.
const NUMBER_SHIFT: u32 = 2;
/// `COARSE` and `COARSE_SHIFT`.
const COARSE: u32 = 1 << 31;
const COARSE_SHIFT: u32 = 10;

/// Decoder for one CPU's records. It keeps the state of an event that spans several records.
#[derive(Debug)]
pub(crate) struct Decoder {
    cpu: CpuId,
    /// Time of the last record.
    last: Nanos,
    /// CPUs of a confined thread, collected until the last word of the mask arrives.
    confined: CpuSet,
    /// Number of decoded records, by kind.
    counts: [u64; PROBES.len()],
}

impl Decoder {
    pub(crate) fn new(cpu: CpuId) -> Self {
        Self { cpu, last: Nanos::ZERO, confined: CpuSet::new(), counts: [0; PROBES.len()] }
    }

    /// Time of the last decoded record.
    pub(crate) fn last(&self) -> Nanos {
        self.last
    }

    /// Number of decoded records, by kind, the index of [`PROBES`].
    pub(crate) fn counts(&self) -> [u64; PROBES.len()] {
        self.counts
    }

    /// Appends the events of whole records, in the order of the buffer.
    pub(crate) fn decode(&mut self, mut slots: &[Slot], events: &mut Vec<Event>) {
        while let Some(first) = slots.first() {
            let (record, rest) = slots.split_at(slot_count(first.kind).min(slots.len()));
            events.extend(decode_futex_wait(first).map(|kind| Event {
                at: Nanos(first.time),
                cpu: self.cpu,
                kind,
            }));
            events.extend(self.event(record));
            slots = rest;
        }
    }

    /// Event of one record. None if the event is not complete yet, or if this decoder does not know
    /// the record's kind.
    fn event(&mut self, record: &[Slot]) -> Option<Event> {
        let slot = record.first()?;
        self.last = Nanos(slot.time);
        if let Some(count) = self.counts.get_mut(usize::from(slot.kind)) {
            *count += 1;
        }
        let rest = |index: usize| record.get(index).map(Slot::words).unwrap_or_default();
        let tid = Tid(slot.tid);
        let kind = match slot.kind {
            kind::SWITCH => EventKind::Switch(Switch {
                prev: tid,
                prev_state: decode_prev_state(slot.detail),
                call: decode_call(slot.detail),
                prev_runtime: Nanos(slot.value),
                interrupts: decode_short_time(slot.extra),
                next: Tid(slot.other),
            }),
            kind::WAKING => {
                EventKind::Waking(Waking { tid, by: decode_waker(slot), io_wait: slot.detail & IO_WAIT != 0 })
            }
            kind::FORK => {
                EventKind::Fork(Fork { parent: tid, child: Tid(slot.other), process: Tid(slot.value as u32) })
            }
            kind::EXEC => EventKind::Exec(Exec {
                tid,
                was: Tid(slot.other),
                name: decode_name(rest(1)),
                accounts: decode_accounts(slot, rest(2)),
            }),
            kind::RENAME => EventKind::Rename { tid, name: decode_name(rest(1)) },
            kind::EXIT => EventKind::Exit(ThreadExit { tid, accounts: decode_accounts(slot, rest(1)) }),
            kind::WORK => {
                let ends = slot.detail & WORK_ENDS != 0;
                EventKind::Work(Work { worker: tid, queued_by: (!ends).then(|| decode_waker(slot)) })
            }
            kind::CONTENTION => EventKind::Contention(Contention {
                tid,
                lock: slot.value,
                waited: decode_short_time(slot.extra),
                flags: LockFlags(slot.detail as u8),
                known: match slot.detail {
                    detail if detail & LOCK_IS_MMAP != 0 => KnownLock::MmapLock,
                    detail if detail & LOCK_IS_RUNQUEUE != 0 => KnownLock::RunQueue,
                    _ => KnownLock::None,
                },
                // The value is negative if the kernel could not take the stack.
                stack: (slot.other != NO_STACK && slot.other as i32 >= 0).then_some(slot.other),
            }),
            kind::SAMPLE => EventKind::Sample(Sample {
                tid,
                mode: match slot.detail & SAMPLE_MODE {
                    0 => SampleMode::User,
                    1 => SampleMode::Kernel,
                    _ => SampleMode::Interrupt,
                },
                address: slot.value,
                spins: slot.detail & SAMPLE_SPINS != 0,
            }),
            kind::AWAITS => EventKind::Awaits { tid, object: decode_object(slot) },
            kind::CONFINED => {
                let first = slot.other;
                let bits = (0..u64::BITS).filter(|bit| slot.value >> bit & 1 == 1);
                self.confined = self.confined.union(&bits.map(|bit| CpuId(first + bit)).collect());
                if slot.extra > 0 {
                    return None;
                }
                EventKind::Confined { tid, allowed: std::mem::take(&mut self.confined) }
            }
            // The stack is unwound later; until then no frame is known.
            kind::STACK => EventKind::UserStack(UserStack {
                tid,
                moment: decode_moment(slot.detail)?,
                frame: None,
                end: StackEnd::UnknownCode,
                weight_log2: (slot.detail >> WEIGHT_SHIFT) as u8,
            }),
            kind::HELD => EventKind::Held { tid, by: decode_held_by(slot.detail)? },
            kind::SYSCALL => EventKind::SystemCall(SystemCall {
                tid,
                number: slot.detail >> NUMBER_SHIFT,
                took: decode_short_time(slot.other),
                result: i64::from(slot.extra.cast_signed()),
                object: decode_object(slot),
            }),
            _ => return None,
        };
        Some(Event { at: Nanos(slot.time), cpu: self.cpu, kind })
    }
}

/// `enum moment`.
fn decode_moment(detail: u16) -> Option<StackMoment> {
    match detail & MOMENT {
        0 => Some(StackMoment::Sample),
        1 => Some(StackMoment::Wait),
        2 => Some(StackMoment::Waking),
        _ => None,
    }
}

/// Registers of a copied stack, and the place of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackRecord {
    pub(crate) tid: Tid,
    pub(crate) registers: UserRegisters,
    /// Time that the copy took.
    pub(crate) took: Nanos,
    /// Address after the last byte that the stack may have.
    pub(crate) end: u64,
    /// Number of the first page in the buffer of stack memory.
    pub(crate) position: u64,
    /// Number of pages. The first one begins at the stack pointer.
    pub(crate) pages: u32,
    /// Pages that were copied, one bit each.
    pub(crate) copied: u32,
}

impl StackRecord {
    /// Record of the first slot, if it is of a stack.
    pub(crate) fn parse(slots: &[Slot]) -> Option<Self> {
        let [first, second, ..] = slots else { return None };
        if first.kind != kind::STACK || decode_moment(first.detail).is_none() {
            return None;
        }
        let [sp, bp, position, end] = second.words();
        let pages = first.extra >> PAGES_SHIFT;
        (pages <= STACK_PAGES).then_some(Self {
            tid: Tid(first.tid),
            registers: UserRegisters { ip: first.value, sp, bp },
            took: decode_short_time(first.other),
            end,
            position,
            pages,
            copied: first.extra & ((1 << PAGES_SHIFT) - 1),
        })
    }

    /// Addresses of the stack on a page; empty beyond the end.
    pub(crate) fn page(&self, index: u32) -> Range<u64> {
        let sp = self.registers.sp;
        let whole = (sp / PAGE_BYTES).saturating_add(u64::from(index)).saturating_mul(PAGE_BYTES);
        let start = whole.max(sp);
        start..whole.saturating_add(PAGE_BYTES).min(self.end).max(start)
    }
}

/// Event of a change to the address spaces, in the slots of one record.
pub(crate) fn space_change(slots: &[Slot]) -> Option<(Nanos, EventKind)> {
    let first = slots.first()?;
    if !matches!(first.kind, kind::FORK | kind::EXEC) {
        return None;
    }
    let event = Decoder::new(CpuId(0)).event(slots)?;
    Some((event.at, event.kind))
}

/// `enum held`.
fn decode_held_by(detail: u16) -> Option<HoldReason> {
    match detail {
        1 => Some(HoldReason::Quota),
        2 => Some(HoldReason::Freezer),
        3 => Some(HoldReason::RealTimeBudget),
        _ => None,
    }
}

fn decode_prev_state(detail: u16) -> PrevState {
    match detail & ((1 << CALL_SHIFT) - 1) {
        0 => PrevState::Preempted,
        1 => PrevState::Asleep,
        2 => PrevState::Uninterruptible,
        3 => PrevState::Stopped,
        4 => PrevState::Dead,
        5 => PrevState::Idle,
        _ => PrevState::Unknown,
    }
}

fn decode_call(detail: u16) -> Call {
    match detail >> CALL_SHIFT {
        CALL_UNKNOWN => Call::Unknown,
        CALL_FAULT => Call::Fault,
        number => Call::Number(number),
    }
}

fn decode_waker(slot: &Slot) -> Waker {
    let id = slot.other;
    let interrupt = match slot.detail & BY_MASK {
        0 => None,
        1 => Some(Interrupt::Device(id)),
        2 => Some(Interrupt::Timer),
        3 => Some(Interrupt::Other),
        _ => return Waker::Unknown,
    };
    let vector = slot.detail >> SOFTIRQ_SHIFT & SOFTIRQ_NONE;
    match (interrupt, vector) {
        (None, SOFTIRQ_NONE) => Waker::Thread(Tid(id)),
        (Some(interrupt), SOFTIRQ_NONE) => Waker::Interrupt(interrupt),
        (None, vector) => Waker::SoftIrqOfThread { vector: vector as u8, tid: Tid(id) },
        (Some(interrupt), vector) => Waker::SoftIrqOfInterrupt { vector: vector as u8, interrupt },
    }
}

fn decode_object(slot: &Slot) -> Object {
    match slot.detail & ((1 << NUMBER_SHIFT) - 1) {
        1 => Object::Futex(slot.value),
        2 => Object::Inode(slot.value),
        3 => Object::Process(Tid(slot.value as u32)),
        _ => Object::None,
    }
}

/// Futex event of a record of an awaited futex: the call's operation and expected value.
fn decode_futex_wait(slot: &Slot) -> Option<EventKind> {
    let is_one = slot.kind == kind::AWAITS && matches!(decode_object(slot), Object::Futex(_));
    let wait = FutexWait { operation: slot.other, expected: slot.extra };
    is_one.then_some(EventKind::FutexWait { tid: Tid(slot.tid), wait })
}

fn decode_name(words: Words) -> Comm {
    let mut name = [0; 16];
    name[..8].copy_from_slice(&words[0].to_ne_bytes());
    name[8..].copy_from_slice(&words[1].to_ne_bytes());
    // The kernel copies a string up to its terminating zero; the bytes after it are old contents of
    // the slot.
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    name[end..].fill(0);
    Comm(name)
}

/// Resource accounts from `struct accounts_slot`, after a first slot that holds the run time.
fn decode_accounts(slot: &Slot, [user, system, minor_faults, major_faults]: Words) -> Accounts {
    Accounts {
        runtime: Nanos(slot.value),
        user: Nanos(user),
        system: Nanos(system),
        minor_faults,
        major_faults,
    }
}

/// Length of time in a slot's 32-bit encoding.
fn decode_short_time(time: u32) -> Nanos {
    if time & COARSE == 0 { Nanos(u64::from(time)) } else { Nanos(u64::from(time & !COARSE) << COARSE_SHIFT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(slot: Slot) -> EventKind {
        Decoder::new(CpuId(0)).event(&[slot]).unwrap().kind
    }

    #[test]
    fn a_switch_has_its_reason_and_its_call() {
        let slot = Slot { kind: kind::SWITCH, tid: 7, other: 0, value: 99, ..Slot::default() };
        let switch = |detail| match decoded(Slot { detail, ..slot }) {
            EventKind::Switch(switch) => (switch.prev_state, switch.call),
            other => panic!("{other:?}"),
        };
        assert_eq!(switch(202 << 3 | 1), (PrevState::Asleep, Call::Number(202)));
        assert_eq!(switch(CALL_FAULT << 3 | 2), (PrevState::Uninterruptible, Call::Fault));
        assert_eq!(switch(CALL_UNKNOWN << 3), (PrevState::Preempted, Call::Unknown));
    }

    #[test]
    fn the_reason_for_holding_a_thread_back_is_named() {
        let held = |detail| {
            Decoder::new(CpuId(0)).event(&[Slot { kind: kind::HELD, tid: 7, detail, ..Slot::default() }])
        };
        let by = |detail| held(detail).map(|event| event.kind);
        assert_eq!(by(1), Some(EventKind::Held { tid: Tid(7), by: HoldReason::Quota }));
        assert_eq!(by(2), Some(EventKind::Held { tid: Tid(7), by: HoldReason::Freezer }));
        assert_eq!(by(3), Some(EventKind::Held { tid: Tid(7), by: HoldReason::RealTimeBudget }));
        assert_eq!((by(0), by(4)), (None, None));
    }

    #[test]
    fn waker_is_a_thread_or_an_interrupt_directly_or_by_softirq() {
        let by = |by: u16, vector: u16| {
            decode_waker(&Slot { other: 31, detail: by | vector << SOFTIRQ_SHIFT, ..Slot::default() })
        };
        assert_eq!(by(0, SOFTIRQ_NONE), Waker::Thread(Tid(31)));
        assert_eq!(by(1, SOFTIRQ_NONE), Waker::Interrupt(Interrupt::Device(31)));
        assert_eq!(by(0, 3), Waker::SoftIrqOfThread { vector: 3, tid: Tid(31) });
        assert_eq!(by(2, 1), Waker::SoftIrqOfInterrupt { vector: 1, interrupt: Interrupt::Timer });
        assert_eq!(by(4, SOFTIRQ_NONE), Waker::Unknown);
    }

    #[test]
    fn an_awaited_futex_comes_with_the_arguments_of_its_call() {
        let awaits = |detail| Slot {
            kind: kind::AWAITS,
            detail,
            tid: 7,
            value: 99,
            other: 128,
            extra: 2,
            ..Slot::default()
        };
        let mut events = Vec::new();
        Decoder::new(CpuId(0)).decode(&[awaits(1), awaits(2)], &mut events);
        let kinds: Vec<EventKind> = events.into_iter().map(|event| event.kind).collect();
        let wait = FutexWait { operation: 128, expected: 2 };
        assert_eq!(
            kinds,
            [
                EventKind::FutexWait { tid: Tid(7), wait },
                EventKind::Awaits { tid: Tid(7), object: Object::Futex(99) },
                EventKind::Awaits { tid: Tid(7), object: Object::Inode(99) },
            ]
        );
    }

    /// Slots of a stack of three pages of which the second was not in memory.
    fn stack_slots() -> [Slot; 2] {
        let detail = 1 | 5 << WEIGHT_SHIFT;
        let extra = 0b101 | 3 << PAGES_SHIFT;
        let first =
            Slot { kind: kind::STACK, tid: 7, other: 900, value: 0x1234, extra, detail, ..Slot::default() };
        // The stack pointer, the frame pointer, the position and the end of the stack.
        let (sp, bp, end) = (0x7000_0ff0_u64, 0x7000_1000_u64, 0x7000_2040_u64);
        let second = Slot {
            time: sp,
            tid: bp as u32,
            other: (bp >> 32) as u32,
            value: 77,
            extra: end as u32,
            detail: (end >> 32) as u16,
            ..Slot::default()
        };
        [first, second]
    }

    #[test]
    fn a_stack_has_its_moment_its_weight_and_its_pages() {
        let slots = stack_slots();
        let record = StackRecord::parse(&slots).expect("a stack");
        let registers = UserRegisters { ip: 0x1234, sp: 0x7000_0ff0, bp: 0x7000_1000 };
        assert_eq!((record.tid, record.registers, record.took), (Tid(7), registers, Nanos(900)));
        assert_eq!((record.position, record.pages, record.copied), (77, 3, 0b101));
        // The first page begins at the stack pointer, and the last one ends with the stack.
        let pages = [0, 1, 2, 3].map(|page| record.page(page));
        let expected = [
            0x7000_0ff0..0x7000_1000,
            0x7000_1000..0x7000_2000,
            0x7000_2000..0x7000_2040,
            0x7000_3000..0x7000_3000,
        ];
        assert_eq!(pages, expected);
        let mut events = Vec::new();
        Decoder::new(CpuId(0)).decode(&slots, &mut events);
        let stack = UserStack {
            tid: Tid(7),
            moment: StackMoment::Wait,
            frame: None,
            end: StackEnd::UnknownCode,
            weight_log2: 5,
        };
        assert_eq!(
            events.into_iter().map(|event| event.kind).collect::<Vec<_>>(),
            [EventKind::UserStack(stack)]
        );
        let too_many = Slot { extra: 17 << PAGES_SHIFT, ..slots[0] };
        assert_eq!(StackRecord::parse(&[too_many, slots[1]]), None);
        assert_eq!(StackRecord::parse(&slots[..1]), None);
    }

    #[test]
    fn long_times_lose_less_than_a_part_in_a_million() {
        assert_eq!(decode_short_time(COARSE - 1), Nanos(0x7fff_ffff));
        let ten_seconds = (10_000_000_000_u64 >> COARSE_SHIFT) as u32 | COARSE;
        assert!(Nanos(10_000_000_000).since(decode_short_time(ten_seconds)) < Nanos(1 << COARSE_SHIFT));
    }

    #[test]
    fn words_of_an_affinity_mask_become_one_event() {
        let mut decoder = Decoder::new(CpuId(3));
        let word = |other, value, extra| Slot {
            kind: kind::CONFINED,
            tid: 5,
            other,
            value,
            extra,
            ..Slot::default()
        };
        assert_eq!(decoder.event(&[word(0, 0b101, 1)]), None);
        let event = decoder.event(&[word(64, 1, 0)]).unwrap();
        let allowed: CpuSet = "0,2,64".parse().unwrap();
        assert_eq!(event.kind, EventKind::Confined { tid: Tid(5), allowed });
        assert_eq!(decoder.confined, CpuSet::new());
    }

    #[test]
    fn name_ends_at_the_first_zero_byte() {
        let first = Slot { kind: kind::RENAME, tid: 4, ..Slot::default() };
        let name = Slot { time: u64::from_le_bytes(*b"cc1\0old\0"), tid: 7, ..Slot::default() };
        let event = Decoder::new(CpuId(0)).event(&[first, name]).unwrap();
        assert_eq!(event.kind, EventKind::Rename { tid: Tid(4), name: Comm::new("cc1") });
    }

    #[test]
    fn names_and_accounts_follow_the_first_slot() {
        let first = Slot { kind: kind::EXEC, tid: 4, other: 4, value: 1_000, ..Slot::default() };
        let name = Slot { time: u64::from_le_bytes(*b"cc1\0\0\0\0\0"), ..Slot::default() };
        let accounts = Slot { time: 1, tid: 2, value: 3, extra: 4, ..Slot::default() };
        let mut events = Vec::new();
        Decoder::new(CpuId(0)).decode(&[first, name, accounts], &mut events);
        let [Event { kind: EventKind::Exec(exec), .. }] = &events[..] else { panic!("{events:?}") };
        assert_eq!((exec.name, exec.accounts.major_faults), (Comm::new("cc1"), 4));
        assert_eq!((exec.accounts.runtime, exec.accounts.system), (Nanos(1_000), Nanos(2)));
    }
}
