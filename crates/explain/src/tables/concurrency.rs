//! Numbers of running and runnable threads of the tree at each instant, and the parallelism
//! profile: the share of the elapsed time for each number.

use morecores_study::Nanos;
use morecores_view::Parallelism;

use crate::trace::{State, Timeline};

/// Largest number of threads per CPU that the profile distinguishes. Four runnable threads per CPU
/// keep a machine of four times the size busy, which is beyond the range of a prediction.
const MAX_THREADS_PER_CPU: u32 = 4;

/// A span of time in which neither number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConcurrencySpan {
    /// Beginning of the span.
    pub(super) from: Nanos,
    /// End of the span.
    pub(super) to: Nanos,
    /// Number of threads on any CPU.
    pub(super) running: u32,
    /// Number of threads that are ready and have no CPU.
    pub(super) runnable: u32,
}

impl ConcurrencySpan {
    /// Length of the span.
    pub(super) const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Divides the window into spans, without gap or overlap and without spans of zero length.
pub(super) fn concurrency_spans(timeline: &Timeline) -> Vec<ConcurrencySpan> {
    let mut edges: Vec<(Nanos, i32, i32)> = Vec::new();
    for (_, thread) in timeline.tree() {
        // What the thread adds to both numbers, and until when.
        let (mut until, mut counts) = (timeline.began, (0, 0));
        let mut change = |at: Nanos, new: (i32, i32)| {
            if new != counts {
                edges.push((at, new.0 - counts.0, new.1 - counts.1));
                counts = new;
            }
        };
        for segment in &thread.segments {
            if segment.from > until {
                change(until, (0, 0));
            }
            let new = match segment.state {
                State::Running { .. } => (1, 0),
                State::Runnable | State::Held(_) => (0, 1),
                State::Blocked(_) => (0, 0),
            };
            change(segment.from, new);
            until = segment.to;
        }
        change(until, (0, 0));
    }
    edges.sort_unstable_by_key(|(at, ..)| *at);
    let mut spans: Vec<ConcurrencySpan> = Vec::new();
    let (mut since, mut running, mut runnable) = (timeline.began, 0_i32, 0_i32);
    for (at, more_running, more_runnable) in edges.into_iter().chain([(timeline.ended, 0, 0)]) {
        if at > since {
            let (running, runnable) = (running.unsigned_abs(), runnable.unsigned_abs());
            match spans.last_mut() {
                Some(last) if (last.running, last.runnable) == (running, runnable) => last.to = at,
                _ => spans.push(ConcurrencySpan { from: since, to: at, running, runnable }),
            }
            since = at;
        }
        running += more_running;
        runnable += more_runnable;
    }
    spans
}

/// Times in which no thread of the tree runs or is ready.
#[derive(Debug)]
pub(super) struct StillTimes {
    /// Beginnings of spans, with the sum of all such times before them, and whether the span is
    /// one.
    spans: Vec<(Nanos, Nanos, bool)>,
}

impl StillTimes {
    pub(super) fn new(spans: &[ConcurrencySpan]) -> Self {
        let mut sum = Nanos::ZERO;
        let with_sum = |span: &ConcurrencySpan| {
            let (before, is_still) = (sum, span.running + span.runnable == 0);
            sum += if is_still { span.length() } else { Nanos::ZERO };
            (span.from, before, is_still)
        };
        Self { spans: spans.iter().map(with_sum).collect() }
    }

    /// Part of a span of time in which nothing runs or is ready.
    pub(super) fn between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.until(to).since(self.until(from))
    }

    fn until(&self, at: Nanos) -> Nanos {
        let index = self.spans.partition_point(|(from, ..)| *from <= at);
        let Some((from, sum, is_still)) = index.checked_sub(1).map(|index| self.spans[index]) else {
            return Nanos::ZERO;
        };
        sum + if is_still { at.since(from) } else { Nanos::ZERO }
    }
}

/// Profile of a run on `cpus` CPUs. Both lists extend to the largest number of threads, but at
/// least to `cpus` and at most to four times `cpus`. They are empty for a run of zero length.
pub(super) fn parallelism(spans: &[ConcurrencySpan], cpus: u32) -> Parallelism {
    Parallelism {
        running: time_shares(spans, cpus, |span| span.running),
        runnable: time_shares(spans, cpus, |span| span.running + span.runnable),
    }
}

fn time_shares(spans: &[ConcurrencySpan], cpus: u32, count: fn(&ConcurrencySpan) -> u32) -> Vec<f64> {
    let total_s: f64 = spans.iter().map(|span| span.length().as_secs_f64()).sum();
    let Some(most) = spans.iter().map(count).max().filter(|_| total_s > 0.0) else { return Vec::new() };
    let last = most.max(cpus).min(cpus.saturating_mul(MAX_THREADS_PER_CPU));
    let mut shares = vec![0.0; last as usize + 1];
    for span in spans {
        shares[count(span).min(last) as usize] += span.length().as_secs_f64() / total_s;
    }
    shares
}
