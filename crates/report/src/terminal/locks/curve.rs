//! Rates against threads, in characters, for the few points of contention at which locks differ
//! most.
//!
//! The plot of a speedup has one curve and an ideal line. Here there are many curves and no ideal,
//! so each lock has a letter instead. Nothing is drawn between two numbers of threads, because
//! nothing was measured there.

use morecores_study::Quantity;
use morecores_study::lock::LockName;
use morecores_view::locks::LocksView;

use crate::locks::tables::{Contention, contentions, find_result};
use crate::terminal::Style;

/// Lines of a plot without its axis.
const HEIGHT: usize = 10;

/// Largest number of plots; the tables show the other points.
const MAX_PLOTS: usize = 2;

/// Minimum number of thread counts for a plot; with fewer, the table is enough.
const LEAST_THREADS: usize = 3;

/// Smallest and largest number of columns for the letters of one number of threads.
const POINT_WIDTHS: (usize, usize) = (6, 18);

/// Plots of the points at which the slowest lock is farthest behind the fastest, each with its
/// title and its legend.
pub(super) fn curves(view: &LocksView, style: &Style) -> Vec<Vec<String>> {
    let mut plotted: Vec<(f64, Contention<'_>)> =
        contentions(view).into_iter().map(|contention| (lowest_share(&contention), contention)).collect();
    plotted.retain(|(_, contention)| {
        contention.points.len() >= LEAST_THREADS && contention.locks(view).len() > 1
    });
    plotted.sort_by(|a, b| a.0.total_cmp(&b.0));
    plotted.truncate(MAX_PLOTS);
    plotted.sort_by_key(|(_, contention)| (contention.hold_ns, contention.think_ns));
    plotted.iter().map(|(_, contention)| plot(view, contention, style)).collect()
}

/// Rate of the slowest lock over that of the fastest, at the largest number of threads.
fn lowest_share(contention: &Contention<'_>) -> f64 {
    let shares = contention.points.last().into_iter().flat_map(|point| &point.results);
    shares.map(|result| result.of_fastest.value).fold(1.0, f64::min)
}

fn plot(view: &LocksView, contention: &Contention<'_>, style: &Style) -> Vec<String> {
    let locks = contention.locks(view);
    let letters: Vec<(LockName, char)> = locks.into_iter().zip('a'..='z').collect();
    let rates = contention.points.iter().flat_map(|point| &point.results).map(|result| result.per_s.value);
    let most = rates.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let [top, middle] = [1.0, 0.5].map(|share| Quantity::Rate.text(most * share));
    let margin = top.chars().count().max(middle.chars().count()).max(1);
    let room = (style.text_width().saturating_sub(margin + 2) / contention.points.len().max(1))
        .clamp(POINT_WIDTHS.0, POINT_WIDTHS.1);
    let (upright, tick, corner, level) =
        if style.unicode { ('│', '┤', '└', "─") } else { ('|', '+', '+', "-") };

    let paint = style.paint();
    let title = format!("{}: holds/s against threads", contention.name());
    let mut lines: Vec<String> = style.wrap(&title, "  ").iter().map(|line| paint.bold(line)).collect();
    for row in (0..HEIGHT).rev() {
        let (label, mark) = match row {
            _ if row + 1 == HEIGHT => (top.as_str(), tick),
            _ if row == (HEIGHT - 1) / 2 => (middle.as_str(), tick),
            0 => ("0", tick),
            _ => ("", upright),
        };
        let mut line = format!("{label:>margin$} {mark}");
        for point in &contention.points {
            let here = letters.iter().filter(|(lock, _)| {
                let at = |rate: f64| (rate / most * (HEIGHT - 1) as f64).round() as usize;
                find_result(point, *lock).is_some_and(|result| at(result.per_s.value) == row)
            });
            let here: String = here.map(|(_, letter)| *letter).collect();
            line.push_str(&format!("{:^room$}", fit_letters(&here, room - 1)));
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.push(format!("{:>margin$} {corner}{}", "", level.repeat(room * contention.points.len())));
    let threads: String = contention.points.iter().map(|point| format!("{:^room$}", point.threads)).collect();
    lines.push(format!("{:>margin$}  {}", "", threads.trim_end()));
    let legend: Vec<String> = letters.iter().map(|(lock, letter)| format!("{letter} {lock}")).collect();
    lines.extend(style.wrap_dim(&legend.join("   ")));
    lines
}

/// Fits `letters` into `room` columns; a plus stands for the letters that do not fit.
fn fit_letters(letters: &str, room: usize) -> String {
    if letters.len() <= room {
        return letters.to_owned();
    }
    letters.chars().take(room - 1).chain(['+']).collect()
}
