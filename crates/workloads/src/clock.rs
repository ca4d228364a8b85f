//! Clocks, in whole nanoseconds: `CLOCK_MONOTONIC`, on which threads and processes agree, and CPU
//! time.

use morecores_study::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Start and end of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
}

impl Span {
    /// Measures the span of `work` and returns it with the result.
    pub fn measure<T>(work: impl FnOnce() -> T) -> (Self, T) {
        let start = monotonic();
        let result = work();
        (Self { start, end: monotonic() }, result)
    }

    /// Time from the first start to the last end; zero for no spans.
    pub fn elapsed_time(spans: impl IntoIterator<Item = Self>) -> Nanos {
        let whole =
            spans.into_iter().reduce(|a, b| Self { start: a.start.min(b.start), end: a.end.max(b.end) });
        whole.map_or(Nanos::ZERO, |span| span.end.since(span.start))
    }
}

/// Reads the monotonic clock.
#[inline]
pub fn monotonic() -> Nanos {
    read(ClockId::Monotonic)
}

/// CPU time of the calling thread so far.
#[inline]
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

#[inline]
fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos::from_timespec(time.tv_sec, time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_from_the_first_beginning_to_the_last_end() {
        let span = |start, end| Span { start: Nanos(start), end: Nanos(end) };
        assert_eq!(Span::elapsed_time([span(5, 7), span(3, 6), span(4, 9)]), Nanos(6));
        assert_eq!(Span::elapsed_time([]), Nanos::ZERO);
        let (span, result) = Span::measure(|| 7);
        assert!(span.start <= span.end && result == 7);
    }
}
