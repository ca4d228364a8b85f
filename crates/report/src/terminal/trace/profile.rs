//! The parallelism profile: the share of the time for each number of running threads.

use morecores_view::TraceView;

use crate::format::percent;
use crate::terminal::Style;

/// Largest number of rows; more thread counts than this are grouped by powers of two.
const MAX_ROWS: usize = 10;

/// Columns of a percentage and the space before it.
const FIGURE_WIDTH: usize = 9;

/// Thread counts of one row: `from..=to`; with `open`, larger counts are included too.
struct Range {
    from: usize,
    to: usize,
    open: bool,
}

impl Range {
    fn label(&self) -> String {
        match (self.open, self.from == self.to) {
            (true, _) => format!("{}+", self.from),
            (false, true) => self.from.to_string(),
            (false, false) => format!("{}-{}", self.from, self.to),
        }
    }

    fn share(&self, shares: &[f64]) -> f64 {
        shares.iter().skip(self.from).take(self.to - self.from + 1).filter(|s| s.is_finite()).sum()
    }
}

/// Bars of the running threads, and next to them the figures of running and of runnable threads.
pub(super) fn profile_lines(trace: &TraceView, style: &Style) -> Vec<String> {
    let (running, runnable) = (&trace.parallelism.running, &trace.parallelism.runnable);
    let last = running.len().max(runnable.len());
    if last == 0 {
        return Vec::new();
    }
    let rows = thread_ranges(last - 1);
    let labels = rows.iter().map(|r| r.label().len()).chain(["threads".len()]).max().unwrap_or(0);
    let both = !runnable.is_empty();
    let figures = if both { FIGURE_WIDTH + "or ready".len() + 2 } else { FIGURE_WIDTH };
    let room = style.text_width().saturating_sub(labels + 2 + figures).min(50);
    let sign = if style.unicode { '█' } else { '#' };

    let head = format!("{:>labels$}  {:room$}{:>FIGURE_WIDTH$}", "threads", "", "running");
    let head = if both { head + "  or ready" } else { head };
    let mut lines = style.wrap("how many threads ran, by share of the time", "  ");
    lines.push(style.paint().bold(&head));
    for row in rows {
        let share = row.share(running);
        let filled = ((share * room as f64).round() as usize).min(room);
        let bar = style.paint().measured(&sign.to_string().repeat(filled));
        let pad = " ".repeat(room - filled);
        let ready = if both { format!("  {:>8}", percent(row.share(runnable))) } else { String::new() };
        lines.push(format!("{:>labels$}  {bar}{pad}{:>FIGURE_WIDTH$}{ready}", row.label(), percent(share)));
    }
    lines
}

/// Rows for 0 to `last` threads.
fn thread_ranges(last: usize) -> Vec<Range> {
    if last < MAX_ROWS {
        return (0..=last).map(|k| Range { from: k, to: k, open: k == last && k > 0 }).collect();
    }
    let mut rows = vec![Range { from: 0, to: 0, open: false }, Range { from: 1, to: 1, open: false }];
    let mut from = 2;
    while from <= last {
        let to = (2 * from - 1).min(last);
        rows.push(Range { from, to, open: to == last });
        from = to + 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_count_is_in_one_row() {
        for last in [0, 1, 2, 9, 10, 63, 64, 1000] {
            let rows = thread_ranges(last);
            assert!(rows.len() <= MAX_ROWS + 1, "{last}: {} rows", rows.len());
            let counts: Vec<usize> = rows.iter().flat_map(|r| r.from..=r.to).collect();
            assert_eq!(counts, (0..=last).collect::<Vec<_>>());
        }
        let labels: Vec<String> = thread_ranges(64).iter().map(Range::label).collect();
        assert_eq!(labels, ["0", "1", "2-3", "4-7", "8-15", "16-31", "32-63", "64+"]);
    }
}
