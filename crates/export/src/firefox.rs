//! A run as a profile of Firefox (profiler.firefox.com): the tracks as markers and counters, and
//! the samples with their stacks.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CounterHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerTiming,
    ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval, StaticSchemaMarker,
    StaticSchemaMarkerField, StringHandle, ThreadHandle, Timestamp,
};
use morecores_explain::SampledStack;
use morecores_explain::trace::ThreadId;
use morecores_study::Nanos;

use crate::ExportedRun;
use crate::pprof::ProfiledRun;
use crate::tracks::{ArrowSink, Counter, Track, TrackSink, write_results, write_states};

/// Time between samples of a trace without samples, which the format requires: 1 ms.
const NO_SAMPLES: Nanos = Nanos::from_millis(1);

/// Writes the tracks of a run with its samples. `facts` describes the run, and `lost_events` is the
/// number of events that the trace lost.
///
/// # Errors
///
/// Those of the output.
pub fn write_firefox(
    run: &ExportedRun<'_>,
    samples: &[SampledStack],
    facts: &ProfiledRun,
    lost_events: u64,
    output: impl Write,
) -> io::Result<()> {
    let period = run.trace.header.facts.sample_period_ns.unwrap_or(NO_SAMPLES);
    let began = ReferenceTimestamp::from_duration_since_unix_epoch(Duration::from_nanos(facts.began_ns));
    let product = facts.comments.first().map_or("morecores", String::as_str);
    let mut profile = Profile::new(product, began, SamplingInterval::from_nanos(period.0));
    let results = profile.add_process("morecores", 0, time(0));
    // A main thread would have the name of its process.
    let [path, phases] = [0, 1].map(|number| profile.add_thread(results, number, time(0), false));
    let [waiting, kernel] = [("Waiting", CategoryColor::Yellow), ("Kernel", CategoryColor::Orange)]
        .map(|(name, colour)| profile.add_category(name, colour));
    let mut sink = FirefoxProfile {
        profile,
        results,
        path,
        phases,
        waiting,
        kernel,
        processes: HashMap::new(),
        threads: HashMap::new(),
        counters: Vec::new(),
    };
    write_results(run, lost_events, &mut sink)?;
    write_states(run, &mut sink)?;
    samples.iter().for_each(|sample| sink.add_sample(sample, run.trace.timeline.began, period));
    let mut output = BufWriter::new(output);
    serde_json::to_writer(&mut output, &sink.profile)?;
    output.flush()
}

/// Time since the beginning of the run.
fn time(nanoseconds: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(nanoseconds)
}

/// State of a thread.
#[derive(Clone, Debug)]
struct StateMarker {
    name: StringHandle,
    category: CategoryHandle,
}

impl StaticSchemaMarker for StateMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "State";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[];

    fn name(&self, _profile: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _profile: &mut Profile) -> CategoryHandle {
        self.category
    }

    // The library asks for the values of `FIELDS` alone, and there are none.

    fn string_field_value(&self, _field: u32) -> StringHandle {
        self.name
    }

    fn number_field_value(&self, _field: u32) -> f64 {
        0.0
    }
}

struct FirefoxProfile {
    profile: Profile,
    results: ProcessHandle,
    path: ThreadHandle,
    phases: ThreadHandle,
    /// Category of markers of waits, and of functions of the kernel.
    waiting: CategoryHandle,
    kernel: CategoryHandle,
    processes: HashMap<ThreadId, ProcessHandle>,
    threads: HashMap<ThreadId, (ThreadHandle, String)>,
    /// Counters with their last values.
    counters: Vec<(CounterHandle, f64)>,
}

impl FirefoxProfile {
    fn thread_of(&self, track: Track) -> Option<ThreadHandle> {
        match track {
            Track::Thread { thread, .. } => self.threads.get(&thread).map(|(handle, _)| *handle),
            Track::CriticalPath => Some(self.path),
            Track::SerialPhases => Some(self.phases),
        }
    }

    fn add_sample(&mut self, sample: &SampledStack, began: Nanos, period: Nanos) {
        let Some((thread, _)) = self.threads.get(&sample.thread) else { return };
        let (thread, kernel) = (*thread, self.kernel);
        let mut frames = Vec::with_capacity(sample.functions.len());
        for function in &sample.functions {
            let is_kernel = function.module.as_deref() == Some(morecores_study::trace::Module::KERNEL);
            let category = if is_kernel { kernel } else { CategoryHandle::OTHER };
            frames.push(FrameInfo {
                frame: Frame::Label(self.profile.intern_string(&function.name)),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            });
        }
        let stack = self.profile.intern_stack_frames(thread, frames.into_iter());
        let at = time(sample.at.since(began).0);
        self.profile.add_sample(thread, at, stack, CpuDelta::from_nanos(period.0), 1);
    }
}

impl TrackSink for FirefoxProfile {
    fn process(&mut self, process: ThreadId, pid: u32, name: &str) -> io::Result<()> {
        let handle = self.profile.add_process(name, pid, time(0));
        self.processes.insert(process, handle);
        Ok(())
    }

    fn thread(&mut self, track: Track, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        if let Track::Thread { process, thread } = track
            && let Some(process) = self.processes.get(&process)
        {
            let handle = self.profile.add_thread(*process, tid, time(0), pid == tid);
            self.profile.set_thread_name(handle, name);
            self.threads.insert(thread, (handle, name.to_owned()));
        }
        Ok(())
    }

    fn results(&mut self, remark: Option<&str>, counters: &[Counter]) -> io::Result<()> {
        let name =
            remark.map_or_else(|| "critical path".to_owned(), |remark| format!("critical path ({remark})"));
        self.profile.set_thread_name(self.path, &name);
        self.profile.set_thread_name(self.phases, "serial phases");
        for Counter { group, name } in counters {
            let counter = self.profile.add_counter(self.results, name, group.unit(), group.title());
            self.counters.push((counter, 0.0));
        }
        Ok(())
    }

    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, cpu: Option<u32>) -> io::Result<()> {
        if let Some(thread) = self.thread_of(track) {
            let category = if cpu.is_some() { CategoryHandle::OTHER } else { self.waiting };
            let marker = StateMarker { name: self.profile.intern_string(name), category };
            self.profile.add_marker(thread, MarkerTiming::Interval(time(from), time(to)), marker);
        }
        Ok(())
    }

    fn values(&mut self, at: u64, values: &[f64]) -> io::Result<()> {
        for ((counter, last), value) in self.counters.iter_mut().zip(values) {
            if *last != *value {
                // A second value at the same time draws a step rather than a slope.
                self.profile.add_counter_sample(*counter, time(at), 0.0, 0);
                self.profile.add_counter_sample(*counter, time(at), value - *last, 0);
                *last = *value;
            }
        }
        Ok(())
    }
}

impl ArrowSink for FirefoxProfile {
    fn wake(&mut self, _number: u64, at: u64, waker: Track, woken: Track) -> io::Result<()> {
        let waker = match waker {
            Track::Thread { thread, .. } => self.threads.get(&thread).map(|(_, name)| name.as_str()),
            Track::CriticalPath | Track::SerialPhases => None,
        };
        if let Some((thread, waker)) = self.thread_of(woken).zip(waker) {
            let name = self.profile.intern_string(&format!("woken by {waker}"));
            let marker = StateMarker { name, category: self.waiting };
            self.profile.add_marker(thread, MarkerTiming::Instant(time(at)), marker);
        }
        Ok(())
    }
}
