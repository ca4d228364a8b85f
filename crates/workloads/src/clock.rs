//! Time as threads and processes agree on it: `CLOCK_MONOTONIC`, in whole nanoseconds that cross a pipe.

use morecores_study::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// When something began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// When it began.
    pub(crate) from: Nanos,
    /// When it ended.
    pub(crate) to: Nanos,
}

impl Span {
    /// How long `work` takes, with its result.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (Self, T) {
        let from = now();
        let result = work();
        (Self { from, to: now() }, result)
    }

    /// From the first beginning to the last end; nothing for none.
    pub(crate) fn around(spans: impl IntoIterator<Item = Self>) -> Nanos {
        let whole = spans.into_iter().reduce(|a, b| Self { from: a.from.min(b.from), to: a.to.max(b.to) });
        whole.map_or(Nanos::ZERO, |span| span.to.since(span.from))
    }
}

/// The time now.
pub(crate) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_from_the_first_beginning_to_the_last_end() {
        let span = |from, to| Span { from: Nanos(from), to: Nanos(to) };
        assert_eq!(Span::around([span(5, 7), span(3, 6), span(4, 9)]), Nanos(6));
        assert_eq!(Span::around([]), Nanos::ZERO);
        let (span, result) = Span::of(|| 7);
        assert!(span.from <= span.to && result == 7);
    }
}
