//! Numbers of running and runnable threads of the tree at each instant, and the parallelism
//! profile: the share of the elapsed time for each number.

use morecores_study::Nanos;
use morecores_view::Parallelism;

use crate::trace::{Cause, State, Timeline};

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

/// Times in which the tree is still: no thread runs, is ready, or waits for something outside the
/// tree other than a timer.
#[derive(Debug)]
pub(super) struct StillTimes {
    /// Such spans, each with the sum of the ones before.
    spans: Vec<(Nanos, Nanos, Nanos)>,
}

impl StillTimes {
    /// Still times of a timeline with these causes of its waits.
    pub(super) fn new(timeline: &Timeline, causes: &[Cause], spans: &[ConcurrencySpan]) -> Self {
        let waits = outside_waits(timeline, causes);
        let mut still: Vec<(Nanos, Nanos, Nanos)> = Vec::new();
        let mut sum = Nanos::ZERO;
        let mut add = |from: Nanos, to: Nanos| {
            if from < to {
                still.push((from, to, sum));
                sum += to.since(from);
            }
        };
        for span in spans.iter().filter(|span| span.running + span.runnable == 0) {
            let mut from = span.from;
            let first = waits.partition_point(|(_, to)| *to <= span.from);
            for (begin, end) in waits[first..].iter().take_while(|(begin, _)| *begin < span.to) {
                add(from, *begin);
                from = from.max(*end);
            }
            add(from, span.to);
        }
        Self { spans: still }
    }

    /// Part of a span of time in which the tree is still.
    pub(super) fn between(&self, from: Nanos, to: Nanos) -> Nanos {
        self.until(to).since(self.until(from))
    }

    fn until(&self, at: Nanos) -> Nanos {
        let begun = self.spans.partition_point(|(from, ..)| *from <= at);
        let last = begun.checked_sub(1).map(|index| self.spans[index]);
        last.map_or(Nanos::ZERO, |(from, to, sum)| sum + at.min(to).since(from))
    }
}

/// Times in which a thread of the tree waits for something outside it other than a timer, in order
/// and without overlap.
fn outside_waits(timeline: &Timeline, causes: &[Cause]) -> Vec<(Nanos, Nanos)> {
    let is_outside = |cause: &Cause| !matches!(cause, Cause::Thread(_) | Cause::Timer | Cause::Endless);
    let waits = timeline.waits.iter().zip(causes);
    let of_tree = waits.filter(|(wait, cause)| timeline.thread(wait.thread).in_tree && is_outside(cause));
    let mut merged: Vec<(Nanos, Nanos)> = Vec::new();
    // The waits are in the order of their beginnings.
    for (wait, _) in of_tree {
        match merged.last_mut() {
            Some((_, end)) if wait.from <= *end => *end = wait.to.max(*end),
            _ => merged.push((wait.from, wait.to)),
        }
    }
    merged
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
