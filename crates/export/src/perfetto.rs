//! Tracks as a trace of Perfetto (<https://perfetto.dev/docs/reference/trace-packet-proto>): a tenth of
//! the size of JSON. Only the few messages that tracks need are here, with the field numbers of
//! Perfetto's own definitions (`protos/perfetto/trace`).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};

use morecores_explain::trace::ThreadId;
use prost::Message;

use crate::ExportedRun;
use crate::tracks::{Track, TrackSink, write_tracks};

/// Messages of a trace.
mod proto {
    use prost::{Message, Oneof};

    /// A packet, which `Trace` holds in its field 1.
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub(super) packet: Vec<TracePacket>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct TracePacket {
        #[prost(uint64, optional, tag = "8")]
        pub(super) timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "10")]
        pub(super) trusted_packet_sequence_id: Option<u32>,
        #[prost(message, optional, tag = "11")]
        pub(super) track_event: Option<TrackEvent>,
        #[prost(message, optional, tag = "12")]
        pub(super) interned_data: Option<InternedData>,
        #[prost(uint32, optional, tag = "13")]
        pub(super) sequence_flags: Option<u32>,
        #[prost(message, optional, tag = "60")]
        pub(super) track_descriptor: Option<TrackDescriptor>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct InternedData {
        #[prost(message, repeated, tag = "2")]
        pub(super) event_names: Vec<EventName>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct EventName {
        #[prost(uint64, optional, tag = "1")]
        pub(super) iid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub(super) name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct TrackDescriptor {
        #[prost(uint64, optional, tag = "1")]
        pub(super) uuid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub(super) name: Option<String>,
        #[prost(message, optional, tag = "3")]
        pub(super) process: Option<ProcessDescriptor>,
        #[prost(message, optional, tag = "4")]
        pub(super) thread: Option<ThreadDescriptor>,
        #[prost(uint64, optional, tag = "5")]
        pub(super) parent_uuid: Option<u64>,
        #[prost(message, optional, tag = "8")]
        pub(super) counter: Option<CounterDescriptor>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ProcessDescriptor {
        #[prost(int32, optional, tag = "1")]
        pub(super) pid: Option<i32>,
        #[prost(string, optional, tag = "6")]
        pub(super) process_name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct ThreadDescriptor {
        #[prost(int32, optional, tag = "1")]
        pub(super) pid: Option<i32>,
        #[prost(int32, optional, tag = "2")]
        pub(super) tid: Option<i32>,
        #[prost(string, optional, tag = "5")]
        pub(super) thread_name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct CounterDescriptor {
        #[prost(string, optional, tag = "6")]
        pub(super) unit_name: Option<String>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct TrackEvent {
        #[prost(int32, optional, tag = "9")]
        pub(super) r#type: Option<i32>,
        #[prost(uint64, optional, tag = "10")]
        pub(super) name_iid: Option<u64>,
        #[prost(uint64, optional, tag = "11")]
        pub(super) track_uuid: Option<u64>,
        #[prost(fixed64, repeated, packed = "false", tag = "47")]
        pub(super) flow_ids: Vec<u64>,
        #[prost(fixed64, repeated, packed = "false", tag = "48")]
        pub(super) terminating_flow_ids: Vec<u64>,
        #[prost(oneof = "CounterValue", tags = "44")]
        pub(super) counter_value: Option<CounterValue>,
    }

    #[derive(Clone, Copy, PartialEq, Oneof)]
    pub(super) enum CounterValue {
        #[prost(double, tag = "44")]
        DoubleCounterValue(f64),
    }
}

use proto::{
    CounterDescriptor, CounterValue, EventName, InternedData, ProcessDescriptor, ThreadDescriptor, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};

/// Number of the one sequence of packets.
const SEQUENCE: u32 = 1;

/// Flags of a packet (`TracePacket.SequenceFlags`): the first of its sequence, and one that uses
/// names of earlier packets.
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// Numbers of the tracks of results and of their parent.
const RESULTS: u64 = 1;
const CRITICAL_PATH: u64 = 2;
const FIRST_COMPONENT: u64 = 3;

/// Number from which tracks of threads, even, and of processes, odd, begin. There are fewer
/// components, and small numbers take fewer bytes.
const FIRST_THREAD: u64 = 64;

/// Writes the tracks of a run. `lost_events` is the number of events that the trace lost.
///
/// # Errors
///
/// Those of the output.
pub fn write_perfetto(run: &ExportedRun<'_>, lost_events: u64, output: impl Write) -> io::Result<()> {
    let mut packets = Packets {
        output: BufWriter::new(output),
        buffer: Vec::new(),
        names: HashMap::new(),
        components: BTreeMap::new(),
    };
    write_tracks(run, lost_events, &mut packets)?;
    packets.output.flush()
}

/// Kind of a track event.
#[derive(Clone, Copy)]
enum Kind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

struct Packets<W: Write> {
    output: BufWriter<W>,
    buffer: Vec<u8>,
    /// Numbers of the names of events, which a packet introduces.
    names: HashMap<String, u64>,
    /// Number and last value of the counter of each component.
    components: BTreeMap<&'static str, (u64, Option<f64>)>,
}

fn process_number(process: ThreadId) -> u64 {
    FIRST_THREAD + 2 * u64::from(process.0) + 1
}

fn track_number(track: Track) -> u64 {
    match track {
        Track::Thread { thread, .. } => FIRST_THREAD + 2 * u64::from(thread.0),
        Track::CriticalPath => CRITICAL_PATH,
    }
}

impl<W: Write> Packets<W> {
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
        event: TrackEvent,
    ) -> io::Result<()> {
        let (name_iid, interned_data) = match name.map(|name| self.name(name)) {
            Some((number, data)) => (Some(number), data),
            None => (None, None),
        };
        let event = TrackEvent { r#type: Some(kind as i32), track_uuid: Some(track), name_iid, ..event };
        self.write(TracePacket {
            timestamp: Some(at),
            track_event: Some(event),
            interned_data,
            sequence_flags: Some(NEEDS_STATE),
            ..TracePacket::default()
        })
    }
}

impl<W: Write> TrackSink for Packets<W> {
    fn process(&mut self, process: ThreadId, pid: u32, name: &str) -> io::Result<()> {
        let process_name = Some(name.to_owned());
        self.describe(TrackDescriptor {
            uuid: Some(process_number(process)),
            process: Some(ProcessDescriptor { pid: Some(pid as i32), process_name }),
            ..TrackDescriptor::default()
        })
    }

    fn thread(&mut self, track: Track, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        let Track::Thread { process, .. } = track else { return Ok(()) };
        let thread_name = Some(name.to_owned());
        self.describe(TrackDescriptor {
            uuid: Some(track_number(track)),
            parent_uuid: Some(process_number(process)),
            thread: Some(ThreadDescriptor { pid: Some(pid as i32), tid: Some(tid as i32), thread_name }),
            ..TrackDescriptor::default()
        })
    }

    fn results(&mut self, remark: Option<&str>, components: &[&'static str]) -> io::Result<()> {
        self.write(TracePacket { sequence_flags: Some(STATE_CLEARED), ..TracePacket::default() })?;
        let name = remark.map_or_else(|| "morecores".to_owned(), |remark| format!("morecores ({remark})"));
        self.describe(TrackDescriptor {
            uuid: Some(RESULTS),
            name: Some(name),
            ..TrackDescriptor::default()
        })?;
        let track = |uuid: u64, name: &str, counter| TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: Some(RESULTS),
            counter,
            ..TrackDescriptor::default()
        };
        self.describe(track(CRITICAL_PATH, "critical path", None))?;
        for (component, uuid) in components.iter().zip(FIRST_COMPONENT..) {
            self.components.insert(component, (uuid, None));
            let counter = CounterDescriptor { unit_name: Some("CPUs".to_owned()) };
            self.describe(track(uuid, component, Some(counter)))?;
        }
        Ok(())
    }

    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, _cpu: Option<u32>) -> io::Result<()> {
        let track = track_number(track);
        self.event(from, track, Kind::SliceBegin, Some(name), TrackEvent::default())?;
        self.event(to, track, Kind::SliceEnd, None, TrackEvent::default())
    }

    fn wake(&mut self, number: u64, at: u64, waker: Track, woken: Track) -> io::Result<()> {
        let flow = vec![number + 1];
        let begin = TrackEvent { flow_ids: flow.clone(), ..TrackEvent::default() };
        self.event(at, track_number(waker), Kind::Instant, Some("wakes"), begin)?;
        let end = TrackEvent { terminating_flow_ids: flow, ..TrackEvent::default() };
        self.event(at, track_number(woken), Kind::Instant, Some("woken"), end)
    }

    fn cpus(&mut self, at: u64, by_component: &BTreeMap<&'static str, f64>) -> io::Result<()> {
        for (component, cpus) in by_component {
            let Some((track, last)) = self.components.get_mut(component) else { continue };
            if last.replace(*cpus) != Some(*cpus) {
                let (track, value) = (*track, CounterValue::DoubleCounterValue(*cpus));
                let event = TrackEvent { counter_value: Some(value), ..TrackEvent::default() };
                self.event(at, track, Kind::Counter, None, event)?;
            }
        }
        Ok(())
    }
}
