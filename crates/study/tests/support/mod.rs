//! Arbitrary events, and streams built byte by byte from docs/format.md rather than by the writer.
// Each test binary includes this module and uses a part of it.
#![allow(dead_code)]

use morecores_study::trace::*;
use morecores_study::*;
use proptest::prelude::*;

/// Length of the file's header and of a frame's header.
pub(crate) const FILE_HEADER: usize = 12;
pub(crate) const FRAME_HEADER: usize = 52;

/// Fields of a frame's header that a test may set to wrong values.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawFrame {
    pub(crate) kind: u32,
    pub(crate) events: u32,
    pub(crate) cpu: u32,
    pub(crate) number: u32,
    pub(crate) before: u64,
    pub(crate) time: u64,
}

/// First bytes of every stream.
pub(crate) fn file_header() -> Vec<u8> {
    [b"MCEVENTS".as_slice(), &1_u32.to_le_bytes()].concat()
}

/// Frame with correct checksums, whatever its content.
pub(crate) fn frame(header: RawFrame, raw: &[u8]) -> Vec<u8> {
    let content = zstd::bulk::compress(raw, 1).unwrap();
    frame_of(header, raw.len() as u32, &content)
}

/// Frame with correct checksums, and with content that may not be zstd data.
pub(crate) fn frame_of(header: RawFrame, raw: u32, content: &[u8]) -> Vec<u8> {
    let mut covered = Vec::new();
    for word in [
        crc32fast::hash(content),
        header.kind,
        content.len() as u32,
        raw,
        header.events,
        header.cpu,
        header.number,
    ] {
        covered.extend(word.to_le_bytes());
    }
    covered.extend(header.before.to_le_bytes());
    covered.extend(header.time.to_le_bytes());
    let checksum = crc32fast::hash(&covered).to_le_bytes();
    [[0xf7, b'M', b'C', 0x9e].as_slice(), &checksum, &covered, content].concat()
}

/// Positions of the frames of a stream, including the frame of its end and the end of the bytes.
pub(crate) fn frame_starts(stream: &[u8]) -> Vec<usize> {
    let mut starts = vec![FILE_HEADER];
    while let Some(stored) = stream.get(starts[starts.len() - 1] + 16..) {
        let Some(stored) = stored.first_chunk() else { break };
        starts.push(starts[starts.len() - 1] + FRAME_HEADER + u32::from_le_bytes(*stored) as usize);
    }
    starts
}

/// Stream of the given events, one frame for each entry.
pub(crate) fn stream(frames: &[(u32, Vec<Event>)]) -> Vec<u8> {
    let mut writer = StreamWriter::new(Vec::new()).unwrap();
    for (cpu, events) in frames {
        writer.frame(CpuId(*cpu), events).unwrap();
    }
    writer.finish().unwrap()
}

/// Creates `count` plain events of one CPU, starting at time `from`, one per microsecond.
pub(crate) fn plain(cpu: u32, from: u64, count: u64) -> Vec<Event> {
    (0..count)
        .map(|index| Event {
            at: Nanos(from + 1000 * index),
            cpu: CpuId(cpu),
            kind: EventKind::Waking(Waking {
                tid: Tid(100 + (index % 7) as u32),
                by: Waker::Thread(Tid(3)),
                io_wait: index % 2 == 0,
            }),
        })
        .collect()
}

pub(crate) fn tid() -> impl Strategy<Value = Tid> {
    prop_oneof![Just(Tid::IDLE), Just(Tid::UNSEEN), (1_u32..5).prop_map(Tid), any::<u32>().prop_map(Tid)]
}

/// Small, large and extreme numbers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0_u64..10_000, any::<u64>()]
}

fn nanos() -> impl Strategy<Value = Nanos> {
    number().prop_map(Nanos)
}

fn comm() -> impl Strategy<Value = Comm> {
    prop_oneof![any::<[u8; 16]>().prop_map(Comm), "[a-z/:0-9]{0,15}".prop_map(|text| Comm::new(&text))]
}

fn accounts() -> impl Strategy<Value = Accounts> {
    (nanos(), nanos(), nanos(), number(), number()).prop_map(
        |(runtime, user, system, minor_faults, major_faults)| Accounts {
            runtime,
            user,
            system,
            minor_faults,
            major_faults,
        },
    )
}

fn prev_state() -> impl Strategy<Value = PrevState> {
    use PrevState::*;
    prop::sample::select(vec![Preempted, Asleep, Uninterruptible, Stopped, Dead, Idle, Unknown])
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![Just(Call::Fault), Just(Call::Unknown), any::<u16>().prop_map(Call::Number)]
}

fn interrupt() -> impl Strategy<Value = Interrupt> {
    let device = any::<u32>().prop_map(Interrupt::Device);
    prop_oneof![Just(Interrupt::Timer), Just(Interrupt::Other), device]
}

fn waker() -> impl Strategy<Value = Waker> {
    prop_oneof![
        Just(Waker::Unknown),
        tid().prop_map(Waker::Thread),
        interrupt().prop_map(Waker::Interrupt),
        (any::<u8>(), tid()).prop_map(|(vector, tid)| Waker::SoftIrqOfThread { vector, tid }),
        (any::<u8>(), interrupt())
            .prop_map(|(vector, interrupt)| Waker::SoftIrqOfInterrupt { vector, interrupt }),
    ]
}

fn object() -> impl Strategy<Value = Object> {
    prop_oneof![
        Just(Object::None),
        number().prop_map(Object::Futex),
        number().prop_map(Object::Inode),
        tid().prop_map(Object::Process),
    ]
}

fn cpu_set() -> impl Strategy<Value = CpuSet> {
    prop::collection::btree_set(prop_oneof![0_u32..16, 0_u32..8192], 0..40)
        .prop_map(|cpus| cpus.into_iter().map(CpuId).collect())
}

fn user_stack() -> impl Strategy<Value = UserStack> {
    let moment = prop::sample::select(vec![StackMoment::Sample, StackMoment::Wait, StackMoment::Waking]);
    let end = prop::sample::select(vec![StackEnd::Outermost, StackEnd::UnknownCode, StackEnd::MissingMemory]);
    (tid(), moment, any::<Option<u32>>(), end, any::<u8>()).prop_map(
        |(tid, moment, frame, end, weight_log2)| {
            // The number after the last one stands for no frame.
            let frame = frame.filter(|frame| *frame < u32::MAX);
            UserStack { tid, moment, frame, end, weight_log2 }
        },
    )
}

/// Event of any kind, all kinds with equal probability.
pub(crate) fn kind() -> impl Strategy<Value = EventKind> {
    let known = prop::sample::select(vec![KnownLock::None, KnownLock::MmapLock, KnownLock::RunQueue]);
    let held_by =
        prop::sample::select(vec![HoldReason::Quota, HoldReason::Freezer, HoldReason::RealTimeBudget]);
    let mode = prop::sample::select(vec![SampleMode::User, SampleMode::Kernel, SampleMode::Interrupt]);
    prop_oneof![
        (tid(), prev_state(), call(), nanos(), nanos(), tid()).prop_map(
            |(prev, prev_state, call, prev_runtime, interrupts, next)| {
                EventKind::Switch(Switch { prev, prev_state, call, prev_runtime, interrupts, next })
            }
        ),
        (tid(), waker(), any::<bool>()).prop_map(|(tid, by, io_wait)| EventKind::Waking(Waking {
            tid,
            by,
            io_wait
        })),
        (tid(), tid(), tid()).prop_map(|(parent, child, process)| EventKind::Fork(Fork {
            parent,
            child,
            process
        })),
        (tid(), tid(), comm(), accounts()).prop_map(|(tid, was, name, accounts)| EventKind::Exec(Exec {
            tid,
            was,
            name,
            accounts
        })),
        (tid(), comm()).prop_map(|(tid, name)| EventKind::Rename { tid, name }),
        (tid(), accounts()).prop_map(|(tid, accounts)| EventKind::Exit(ThreadExit { tid, accounts })),
        (tid(), prop::option::of(waker()))
            .prop_map(|(worker, queued_by)| EventKind::Work(Work { worker, queued_by })),
        (tid(), number(), nanos(), any::<u8>(), known, any::<Option<u32>>()).prop_map(
            |(tid, lock, waited, flags, known, stack)| {
                let flags = LockFlags(flags);
                EventKind::Contention(Contention { tid, lock, waited, flags, known, stack })
            }
        ),
        (tid(), mode, number(), any::<bool>()).prop_map(|(tid, mode, address, spins)| {
            EventKind::Sample(Sample { tid, mode, address, spins })
        }),
        (tid(), object()).prop_map(|(tid, object)| EventKind::Awaits { tid, object }),
        (tid(), any::<u32>(), any::<u32>()).prop_map(|(tid, operation, expected)| EventKind::FutexWait {
            tid,
            wait: FutexWait { operation, expected }
        }),
        (tid(), cpu_set()).prop_map(|(tid, allowed)| EventKind::Confined { tid, allowed }),
        (tid(), held_by).prop_map(|(tid, by)| EventKind::Held { tid, by }),
        (tid(), number(), number(), number(), any::<u32>()).prop_map(
            |(process, start, length, offset, module)| {
                EventKind::Mapping(Mapping { process, start, length, offset, module })
            }
        ),
        (any::<u32>(), any::<Option<u32>>(), any::<u32>(), number()).prop_map(
            |(number, caller, module, offset)| {
                let code = CodeAddress { module, offset };
                EventKind::Frame(StackFrame { number, caller, code })
            }
        ),
        user_stack().prop_map(EventKind::UserStack),
        (tid(), any::<u16>(), nanos(), any::<i64>(), object()).prop_map(
            |(tid, number, took, result, object)| {
                EventKind::SystemCall(SystemCall { tid, number, took, result, object })
            }
        ),
        number().prop_map(|events| EventKind::Lost { events }),
    ]
}

/// Events of one CPU at arbitrary times.
pub(crate) fn events(cpu: u32) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((nanos(), kind()), 0..60).prop_map(move |events| {
        events.into_iter().map(|(at, kind)| Event { at, cpu: CpuId(cpu), kind }).collect()
    })
}
