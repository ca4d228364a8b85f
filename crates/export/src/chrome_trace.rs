//! Tracks in the Trace Event Format of Chrome (JSON array form; times in microseconds), which
//! ui.perfetto.dev, chrome://tracing and speedscope open.

use std::io::{self, BufWriter, Write};

use morecores_explain::trace::ThreadId;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::ExportedRun;
use crate::tracks::{ArrowSink, Counter, CounterGroup, Track, TrackSink, write_results, write_states};

/// Number of the process that holds the tracks of results; those of threads begin at 1.
const RESULTS: u64 = 0;

/// Event of the format.
#[derive(Debug, Default, Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u64,
    tid: u64,
    /// Time in microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    /// Number that joins both ends of an arrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Place of the end of an arrow: `e`, the slice around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

/// Arguments of an event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Name { name: &'a str },
    Labels { labels: &'a str },
    Cpu { cpu: u32 },
    Order { sort_index: i64 },
    Values(Values<'a>),
}

/// Values of the counters of a group.
#[derive(Debug)]
struct Values<'a> {
    group: CounterGroup,
    counters: &'a [Counter],
    values: &'a [f64],
}

impl Values<'_> {
    /// Whether these are other values than earlier ones.
    fn differ_from(&self, earlier: &[f64]) -> bool {
        let of_group = self.counters.iter().map(|counter| counter.group == self.group);
        of_group
            .zip(self.values)
            .enumerate()
            .any(|(n, (is_of_group, value))| is_of_group && earlier.get(n) != Some(value))
    }
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.counters.iter().zip(self.values);
        let of_group = values.filter(|(counter, _)| counter.group == self.group);
        serializer.collect_map(of_group.map(|(counter, value)| (&counter.name, value)))
    }
}

/// Writes the tracks of a run. `lost_events` is the number of events that the trace lost.
///
/// # Errors
///
/// Those of the output.
pub fn write_chrome_trace(run: &ExportedRun<'_>, lost_events: u64, output: impl Write) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    let mut serializer = serde_json::Serializer::new(&mut output);
    let sequence = serializer.serialize_seq(None)?;
    let mut events = Events { sequence, counters: Vec::new(), values: Vec::new() };
    write_results(run, lost_events, &mut events)?;
    write_states(run, &mut events)?;
    events.sequence.end()?;
    output.write_all(b"\n")?;
    output.flush()
}

struct Events<S> {
    sequence: S,
    counters: Vec<Counter>,
    /// Last value of each counter.
    values: Vec<f64>,
}

impl<S: SerializeSeq<Error = serde_json::Error>> Events<S> {
    fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        Ok(self.sequence.serialize_element(event)?)
    }

    fn write_metadata(&mut self, name: &str, (pid, tid): (u64, u64), args: Args<'_>) -> io::Result<()> {
        self.write(&Event { name, ph: "M", pid, tid, args: Some(args), ..Event::default() })
    }
}

/// Numbers of the process and of the thread of a track. The kernel's own numbers may occur twice.
fn numbers(track: Track) -> (u64, u64) {
    let number = |id: ThreadId| u64::from(id.0) + 1;
    match track {
        Track::Thread { process, thread } => (number(process), number(thread)),
        Track::CriticalPath => (RESULTS, 1),
        Track::SerialPhases => (RESULTS, 2),
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

impl<S: SerializeSeq<Error = serde_json::Error>> TrackSink for Events<S> {
    fn process(&mut self, process: ThreadId, pid: u32, name: &str) -> io::Result<()> {
        let (number, _) = numbers(Track::Thread { process, thread: process });
        let name = format!("{name} ({pid})");
        self.write_metadata("process_name", (number, 0), Args::Name { name: &name })
    }

    fn thread(&mut self, track: Track, _pid: u32, tid: u32, name: &str) -> io::Result<()> {
        let name = format!("{name} ({tid})");
        self.write_metadata("thread_name", numbers(track), Args::Name { name: &name })
    }

    fn results(&mut self, remark: Option<&str>, counters: &[Counter]) -> io::Result<()> {
        self.counters = counters.to_vec();
        self.write_metadata("process_name", (RESULTS, 0), Args::Name { name: "morecores" })?;
        self.write_metadata("process_sort_index", (RESULTS, 0), Args::Order { sort_index: -1 })?;
        if let Some(labels) = remark {
            self.write_metadata("process_labels", (RESULTS, 0), Args::Labels { labels })?;
        }
        for (track, name) in [(Track::CriticalPath, "critical path"), (Track::SerialPhases, "serial phases")]
        {
            self.write_metadata("thread_name", numbers(track), Args::Name { name })?;
        }
        Ok(())
    }

    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, cpu: Option<u32>) -> io::Result<()> {
        let (pid, tid) = numbers(track);
        if from == to {
            return Ok(());
        }
        // One event with a duration would be shorter. But its end is a sum, which rounding makes
        // later than the next beginning: viewers then draw the next span inside it. Speedscope
        // finds the beginning of an end by its name and arguments.
        for (ph, at) in [("B", from), ("E", to)] {
            let args = cpu.map(|cpu| Args::Cpu { cpu });
            self.write(&Event { name, ph, pid, tid, ts: microseconds(at), args, ..Event::default() })?;
        }
        Ok(())
    }

    fn values(&mut self, at: u64, values: &[f64]) -> io::Result<()> {
        let counters = std::mem::take(&mut self.counters);
        for group in CounterGroup::ALL {
            let of_group = Values { group, counters: &counters, values };
            if of_group.differ_from(&self.values) {
                let (name, ts, args) = (group.title(), microseconds(at), Some(Args::Values(of_group)));
                self.write(&Event { name, ph: "C", pid: RESULTS, ts, args, ..Event::default() })?;
            }
        }
        self.counters = counters;
        self.values = values.to_vec();
        Ok(())
    }
}

impl<S: SerializeSeq<Error = serde_json::Error>> ArrowSink for Events<S> {
    fn wake(&mut self, number: u64, at: u64, waker: Track, woken: Track) -> io::Result<()> {
        for (ph, track, bp) in [("s", waker, None), ("f", woken, Some("e"))] {
            let (pid, tid) = numbers(track);
            let (cat, id, ts) = (Some("wake"), Some(number), microseconds(at));
            self.write(&Event { name: "wakes", ph, pid, tid, ts, cat, id, bp, ..Event::default() })?;
        }
        Ok(())
    }
}
