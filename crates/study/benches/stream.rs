//! Cost of an event in the event stream: encoding by compression level, encoding alone, and
//! decoding. Run the benchmark by hand on a quiet machine: `cargo bench -p morecores-study --bench
//! stream`.
//!
//! The events are synthetic, in the proportions of a traced kernel build on two CPUs. There are
//! short and long gaps, and threads that start and end. Interrupts make the run times differ from
//! the time between switches.
#![allow(clippy::unwrap_used, reason = "a panic is how a bench fails")]

use std::io;

use divan::Bencher;
use divan::counter::ItemsCount;
use morecores_study::trace::*;
use morecores_study::*;

fn main() {
    for (name, events) in [("build", build(EVENTS)), ("pipe", pipe(EVENTS))] {
        for level in LEVELS {
            let bytes = encoded(&events, level).len();
            eprintln_sizes(name, level, bytes as f64 / events.len() as f64);
        }
    }
    divan::main();
}

#[allow(clippy::print_stderr, reason = "a bench's output")]
fn eprintln_sizes(name: &str, level: i32, bytes: f64) {
    eprintln!("{name:>8}  level {level:>3}  {bytes:5.2} bytes an event");
}

/// Number of events of one frame as the tracer's reader drains them: some tens of milliseconds of a
/// busy CPU.
const FRAME: usize = 8192;
const EVENTS: usize = 512 * 1024;
const LEVELS: [i32; 7] = [3, 1, -1, -2, -3, -5, -7];

/// Xorshift64 generator; it gives the same events in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    /// Random number between 1 and `limit`; small values are as frequent as large ones.
    fn skewed(&mut self, limit: u64) -> u64 {
        let bits = self.below(u64::from(limit.ilog2()) + 1);
        1 + self.below((2 << bits).min(limit))
    }
}

fn event(at: u64, kind: EventKind) -> Event {
    Event { at: Nanos(at), cpu: CpuId(0), kind }
}

/// Events of a kernel build: compilers that start and end, and that rarely wake each other.
fn build(count: usize) -> Vec<Event> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut runtimes = std::collections::HashMap::<u32, u64>::new();
    let (mut at, mut running, mut youngest) = (5_000_000_000_u64, 0_u32, 40_000_u32);
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        let gap = random.skewed(100_000);
        at += gap;
        let someone = |random: &mut Random| match random.below(8) {
            0 => 20 + random.below(30) as u32,
            _ => youngest - random.below(24) as u32,
        };
        let other = someone(&mut random);
        let kind = match random.below(100) {
            0..45 => {
                let prev_runtime = if running == 0 {
                    0
                } else {
                    let total = runtimes.entry(running).or_default();
                    *total += gap.saturating_sub(random.below(500));
                    *total
                };
                let call = match random.below(4) {
                    0 => Call::Unknown,
                    1 => Call::Fault,
                    _ => Call::Number([0, 1, 7, 61, 202, 232][random.below(6) as usize]),
                };
                let prev = running;
                running = if running != 0 && random.below(2) == 0 { 0 } else { other };
                EventKind::Switch(Switch {
                    prev: Tid(prev),
                    prev_state: if random.below(3) == 0 { PrevState::Preempted } else { PrevState::Asleep },
                    call,
                    prev_runtime: Nanos(prev_runtime),
                    interrupts: Nanos(if random.below(4) == 0 { 800 + random.below(4000) } else { 0 }),
                    next: Tid(running),
                })
            }
            45..80 => EventKind::Waking(Waking {
                tid: Tid(other),
                by: match random.below(8) {
                    0 => Waker::Interrupt(Interrupt::Timer),
                    1 => Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Device(27) },
                    _ => Waker::Thread(Tid(running)),
                },
                io_wait: random.below(20) == 0,
            }),
            80..84 => {
                youngest += 1;
                let child = Tid(youngest);
                EventKind::Fork(Fork { parent: Tid(running), child, process: child })
            }
            84..87 => EventKind::Exec(Exec {
                tid: Tid(running),
                was: Tid(running),
                name: Comm::new(["cc1", "as", "ld", "sh", "gcc", "make"][random.below(6) as usize]),
                accounts: accounts(&mut random),
            }),
            87..91 => EventKind::Exit(ThreadExit { tid: Tid(running), accounts: accounts(&mut random) }),
            91..95 => EventKind::Contention(Contention {
                tid: Tid(running),
                lock: 0xffff_8881_0000_0000 + 64 * random.below(4096),
                waited: Nanos(random.skewed(100_000)),
                flags: LockFlags(LockFlags::SPIN),
                known: if random.below(2) == 0 { KnownLock::RunQueue } else { KnownLock::None },
                stack: (random.below(8) == 0).then(|| random.below(400) as u32),
            }),
            95..99 => {
                EventKind::Awaits { tid: Tid(running), object: Object::Inode(30_000 + random.below(900)) }
            }
            _ => EventKind::Sample(Sample {
                tid: Tid(running),
                mode: SampleMode::User,
                address: 0x55d0_0000_0000 + random.below(30 << 20),
                spins: false,
            }),
        };
        events.push(event(at, kind));
    }
    events
}

fn accounts(random: &mut Random) -> Accounts {
    Accounts {
        runtime: Nanos(random.skewed(1 << 30)),
        user: Nanos(4_000_000 * random.below(100)),
        system: Nanos(4_000_000 * random.below(20)),
        minor_faults: random.below(9000),
        major_faults: 0,
    }
}

/// Events of `perf bench sched pipe` on one CPU: two threads that wake each other.
fn pipe(count: usize) -> Vec<Event> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut at, mut runtimes) = (5_000_000_000, [1_000_000_u64; 2]);
    let mut events = Vec::with_capacity(count + 3);
    while events.len() < count {
        for (side, runtime) in runtimes.iter_mut().enumerate() {
            let (me, peer) = (Tid(7301 + side as u32), Tid(7302 - side as u32));
            at += 500 + random.below(80);
            events.push(event(
                at,
                EventKind::Waking(Waking { tid: peer, by: Waker::Thread(me), io_wait: false }),
            ));
            let gap = 400 + random.below(80);
            at += gap;
            *runtime += 900 + random.below(160);
            let switch = Switch {
                prev: me,
                prev_state: PrevState::Asleep,
                call: Call::Number(0),
                prev_runtime: Nanos(*runtime),
                interrupts: Nanos(0),
                next: peer,
            };
            events.push(event(at, EventKind::Switch(switch)));
        }
    }
    events
}

/// Stream of the same events on two CPUs at the same time, so that decoding must merge each event.
fn encoded(events: &[Event], level: i32) -> Vec<u8> {
    let mut writer = StreamWriter::with_level(Vec::new(), level).unwrap();
    for frame in events[..events.len() / 2].chunks(FRAME) {
        for cpu in 0..2 {
            writer.frame(CpuId(cpu), frame).unwrap();
        }
    }
    writer.finish().unwrap()
}

fn encode(bencher: Bencher, events: &[Event], level: i32) {
    let mut writer = StreamWriter::with_level(io::sink(), level).unwrap();
    bencher.counter(ItemsCount::new(events.len())).bench_local(|| {
        for frame in events.chunks(FRAME) {
            writer.frame(CpuId(0), frame).unwrap();
        }
    });
}

#[divan::bench(args = LEVELS, sample_count = 20)]
fn encode_build(bencher: Bencher, level: i32) {
    encode(bencher, &build(EVENTS), level);
}

#[divan::bench(args = LEVELS, sample_count = 20)]
fn encode_pipe(bencher: Bencher, level: i32) {
    encode(bencher, &pipe(EVENTS), level);
}

#[divan::bench(sample_count = 20)]
fn decode_build(bencher: Bencher) {
    let stream = encoded(&build(EVENTS), 1);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| read_events(stream.as_slice()).unwrap());
}

#[divan::bench(sample_count = 20)]
fn decode_pipe(bencher: Bencher) {
    let stream = encoded(&pipe(EVENTS), 1);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| read_events(stream.as_slice()).unwrap());
}

/// Measures decoding frame by frame, without the merge and without keeping the frames.
#[divan::bench(sample_count = 20)]
fn decode_frames_of_build(bencher: Bencher) {
    let stream = encoded(&build(EVENTS), 1);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        StreamReader::new(stream.as_slice()).unwrap().map(|frame| frame.unwrap().events.len()).sum::<usize>()
    });
}
