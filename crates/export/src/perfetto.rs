//! A run as a trace of Perfetto (<https://perfetto.dev/docs/reference/trace-packet-proto>). The
//! states of threads and their wakers are events of the scheduler, from which Perfetto draws
//! threads and CPUs itself (`scheduling`); the names of waits and the results are tracks.

mod proto;
mod scheduling;

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use morecores_explain::trace::{State, ThreadId};
use prost::Message;

use crate::ExportedRun;
use crate::tracks::{
    Counter, CounterGroup, StateNames, Track, TrackSink, step, time, track_of, write_results,
};

use proto::{
    CounterDescriptor, CounterValue, EventName, InternedData, ProcessDescriptor, ThreadDescriptor, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};
use scheduling::{ThreadNumbers, scheduling_bundles};

/// Number of the one sequence of packets.
const SEQUENCE: u32 = 1;

/// Flags of a packet (`TracePacket.SequenceFlags`): the first of its sequence, and one that uses
/// names of earlier packets.
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// Numbers of the tracks of results, of the groups of counters and of their parent.
const RESULTS: u64 = 1;
const CRITICAL_PATH: u64 = 2;
const SERIAL_PHASES: u64 = 3;
const FIRST_GROUP: u64 = 4;
const FIRST_COUNTER: u64 = 8;

/// Number from which tracks of threads, even, and of processes, odd, begin. There are fewer
/// counters, and small numbers take fewer bytes.
const FIRST_THREAD: u64 = 128;

/// Writes a run. `lost_events` is the number of events that the trace lost.
///
/// # Errors
///
/// Those of the output.
pub fn write_perfetto(run: &ExportedRun<'_>, lost_events: u64, output: impl Write) -> io::Result<()> {
    let numbers = ThreadNumbers::new(&run.trace.timeline);
    let mut packets = Packets {
        output: BufWriter::new(output),
        buffer: Vec::new(),
        numbers: &numbers,
        names: HashMap::new(),
        values: Vec::new(),
    };
    write_results(run, lost_events, &mut packets)?;
    write_waits(run, &mut packets)?;
    for bundle in scheduling_bundles(&run.trace.timeline, &numbers) {
        packets.write(TracePacket { ftrace_events: Some(bundle), ..TracePacket::default() })?;
    }
    packets.output.flush()
}

/// Writes the waits of a step or longer with their names, on the tracks of their threads. The
/// scheduler's events have all waits, without names.
fn write_waits<W: Write>(run: &ExportedRun<'_>, packets: &mut Packets<'_, W>) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    let names = StateNames::new(run);
    let shortest = step(timeline);
    for (id, thread) in timeline.tree() {
        for segment in &thread.segments {
            let is_wait = matches!(segment.state, State::Blocked(_) | State::Held(_));
            if is_wait && segment.length().0 >= shortest {
                let (from, to) = (time(timeline, segment.from), time(timeline, segment.to));
                packets.span(track_of(timeline, id), from, to, names.name(segment.state.into()), None)?;
            }
        }
    }
    Ok(())
}

/// Kind of a track event.
#[derive(Clone, Copy)]
enum Kind {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}

struct Packets<'n, W: Write> {
    output: BufWriter<W>,
    buffer: Vec<u8>,
    numbers: &'n ThreadNumbers,
    /// Numbers of the names of events, which a packet introduces.
    names: HashMap<String, u64>,
    /// Last value of each counter.
    values: Vec<Option<f64>>,
}

fn process_number(process: ThreadId) -> u64 {
    FIRST_THREAD + 2 * u64::from(process.0) + 1
}

fn track_number(track: Track) -> u64 {
    match track {
        Track::Thread { thread, .. } => FIRST_THREAD + 2 * u64::from(thread.0),
        Track::CriticalPath => CRITICAL_PATH,
        Track::SerialPhases => SERIAL_PHASES,
    }
}

impl<W: Write> Packets<'_, W> {
    fn write(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.buffer.clear();
        Trace { packet: vec![packet] }.encode(&mut self.buffer)?;
        self.output.write_all(&self.buffer)
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    /// Number of a name, and the data that introduce it if it is new.
    fn name(&mut self, name: &str) -> (u64, Option<InternedData>) {
        if let Some(number) = self.names.get(name) {
            return (*number, None);
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), number);
        let entry = EventName { iid: Some(number), name: Some(name.to_owned()) };
        (number, Some(InternedData { event_names: vec![entry] }))
    }

    fn event(
        &mut self,
        at: u64,
        track: u64,
        kind: Kind,
        name: Option<&str>,
        value: Option<f64>,
    ) -> io::Result<()> {
        let (name_iid, interned_data) = match name.map(|name| self.name(name)) {
            Some((number, data)) => (Some(number), data),
            None => (None, None),
        };
        let counter_value = value.map(CounterValue::DoubleCounterValue);
        let event =
            TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), name_iid, counter_value };
        self.write(TracePacket {
            timestamp: Some(at),
            track_event: Some(event),
            interned_data,
            sequence_flags: name.map(|_| NEEDS_STATE),
            ..TracePacket::default()
        })
    }
}

impl<W: Write> TrackSink for Packets<'_, W> {
    fn process(&mut self, process: ThreadId, _pid: u32, name: &str) -> io::Result<()> {
        let (pid, process_name) = (Some(self.numbers.number(process)), Some(name.to_owned()));
        self.describe(TrackDescriptor {
            uuid: Some(process_number(process)),
            process: Some(ProcessDescriptor { pid, process_name }),
            ..TrackDescriptor::default()
        })
    }

    fn thread(&mut self, track: Track, _pid: u32, _tid: u32, name: &str) -> io::Result<()> {
        let Track::Thread { process, thread } = track else { return Ok(()) };
        let (pid, tid) = (self.numbers.number(process), self.numbers.number(thread));
        let thread_name = Some(name.to_owned());
        self.describe(TrackDescriptor {
            uuid: Some(track_number(track)),
            parent_uuid: Some(process_number(process)),
            thread: Some(ThreadDescriptor { pid: Some(pid), tid: Some(tid), thread_name }),
            ..TrackDescriptor::default()
        })
    }

    fn results(&mut self, remark: Option<&str>, counters: &[Counter]) -> io::Result<()> {
        self.write(TracePacket { sequence_flags: Some(STATE_CLEARED), ..TracePacket::default() })?;
        let name = remark.map_or_else(|| "morecores".to_owned(), |remark| format!("morecores ({remark})"));
        let track = |uuid: u64, parent_uuid: Option<u64>, name: &str| TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid,
            ..TrackDescriptor::default()
        };
        self.describe(track(RESULTS, None, &name))?;
        self.describe(track(CRITICAL_PATH, Some(RESULTS), "critical path"))?;
        self.describe(track(SERIAL_PHASES, Some(RESULTS), "serial phases"))?;
        for (group, uuid) in CounterGroup::ALL.into_iter().zip(FIRST_GROUP..) {
            if counters.iter().any(|counter| counter.group == group) {
                self.describe(track(uuid, Some(RESULTS), group.title()))?;
            }
            for (counter, number) in counters.iter().zip(FIRST_COUNTER..) {
                if counter.group == group {
                    let unit = CounterDescriptor { unit_name: Some(group.unit().to_owned()) };
                    let track = track(number, Some(uuid), &counter.name);
                    self.describe(TrackDescriptor { counter: Some(unit), ..track })?;
                }
            }
        }
        self.values = vec![None; counters.len()];
        Ok(())
    }

    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, _cpu: Option<u32>) -> io::Result<()> {
        let track = track_number(track);
        self.event(from, track, Kind::SliceBegin, Some(name), None)?;
        self.event(to, track, Kind::SliceEnd, None, None)
    }

    fn values(&mut self, at: u64, values: &[f64]) -> io::Result<()> {
        for (index, value) in values.iter().enumerate() {
            if self.values[index].replace(*value) != Some(*value) {
                self.event(at, FIRST_COUNTER + index as u64, Kind::Counter, None, Some(*value))?;
            }
        }
        Ok(())
    }
}
