//! Judgements as text: lines for a terminal while the judge works, and Markdown to keep.

use std::fmt::Write;

use crate::case::LIMIT_POINTS;
use crate::disturbance;
use crate::judge::{Comparison, Judgement};

/// Conditions of the judgement.
#[derive(Clone, Debug)]
pub struct RunConditions {
    /// The machine, in one line.
    pub host: String,
    /// Load of the machine before the runs, in one line.
    pub quiet: String,
    /// Command that repeats the judgement.
    pub command: String,
}

/// A case that could not be judged, and the reason.
#[derive(Clone, Debug)]
pub struct FailedCase {
    /// Name of the case.
    pub case: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The reason.
    pub reason: String,
    /// Whether the failure is excused because the machine lacks a prerequisite; otherwise it is a
    /// miss.
    pub skipped: bool,
}

impl FailedCase {
    /// Result in one line.
    pub fn summary_line(&self) -> String {
        let verdict = if self.skipped { "skipped" } else { "MISS" };
        format!("{verdict}: {} on {} CPUs: {}", self.case, self.cpus, self.reason)
    }
}

/// Headings of the columns of [`judgement_lines`].
pub fn table_heading() -> String {
    format!(
        "{:24} {:>4}  {:24} {:>9} {:>9} {:>8}  {:12}\n",
        "case", "CPUs", "what", "truth", "reported", "differ", "truth by"
    )
}

/// One judgement for a terminal.
pub fn judgement_lines(judgement: &Judgement) -> String {
    let mut text = String::new();
    for (index, line) in judgement.lines.iter().enumerate() {
        let (case, cpus) = if index == 0 {
            (judgement.case.as_str(), judgement.cpus.to_string())
        } else {
            ("", String::new())
        };
        let [truth, reported, difference] = figure_cells(line);
        let verdict = verdict_word(line.is_within_limit);
        let (what, source) = (&line.what, &line.source);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{case:24} {cpus:>4}  {what:24} {truth:>9} {reported:>9} {difference:>8}  {source:12} {verdict}"
        );
    }
    let (case, cpus) = if text.is_empty() {
        (judgement.case.as_str(), judgement.cpus.to_string())
    } else {
        ("", String::new())
    };
    let _ = writeln!(
        text,
        "{case:24} {cpus:>4}  unexplained {:+.2}% a CPU, at most {}%; others and steal {:.1}%{}, tracer {:.1}%{} {}",
        judgement.unexplained,
        judgement.limit_unexplained,
        judgement.disturbance,
        repetition_note(judgement),
        judgement.tracer,
        loss_note(judgement),
        verdict_word(judgement.is_valid()),
    );
    if let Some(failed) = &judgement.failure {
        let _ = writeln!(text, "{:29}  the run after these failed: {failed}", "");
    }
    if let Some(note) = judgement.note {
        let _ = writeln!(text, "{:29}  {note}", "");
    }
    text
}

/// All judgements as a Markdown document.
pub fn markdown(conditions: &RunConditions, judgements: &[Judgement], failed_cases: &[FailedCase]) -> String {
    let mut text = format!(
        "# What a trace says, and what is true\n\n{}; {}\n\n    {}\n\n\
         Shares are percent of `cpus · elapsed`, differences points of it, at most {LIMIT_POINTS}; of counts, percent of the count. \
         \"Unexplained\" is percent of the time of the CPU with most of it. \
         \"Others\" is what processes that the case does not make and the hypervisor took, in percent of `cpus · elapsed`; \
         a case of whose time they took more than {}% was run again, up to {} times in all, and the least disturbed run \
         is here.\n\n\
         | case | CPUs | what | truth | reported | difference | truth by | unexplained | others | |\n\
         | --- | --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |\n",
        conditions.host,
        conditions.quiet,
        conditions.command,
        disturbance::MAX_PERCENT,
        disturbance::MAX_RUNS
    );
    for judgement in judgements {
        for row in judgement_rows(judgement) {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    for (judgement, note) in judgements.iter().filter_map(|judgement| Some((judgement, judgement.note?))) {
        let _ = writeln!(text, "\n{} on {} CPUs: {note}", judgement.case, judgement.cpus);
    }
    for judgement in judgements {
        if let Some(failed) = &judgement.failure {
            let _ = writeln!(
                text,
                "\n{} on {} CPUs: the run after these failed: {failed}",
                judgement.case, judgement.cpus
            );
        }
    }
    for case in failed_cases {
        let _ = writeln!(text, "\n{}", case.summary_line());
    }
    let _ = writeln!(text, "\n{}", totals_line(judgements, failed_cases));
    text
}

/// Rows of one judgement; the first row carries the figures of the whole run.
fn judgement_rows(judgement: &Judgement) -> Vec<[String; 10]> {
    let whole = |rest: [String; 5], ok| {
        let [what, truth, reported, difference, source] = rest;
        let unexplained = format!("{:+.2}%{}", judgement.unexplained, loss_note(judgement));
        let ok = verdict_word(ok && judgement.is_valid()).to_owned();
        let (case, cpus) = (judgement.case.clone(), judgement.cpus.to_string());
        let others = format!("{:.1}%{}", judgement.disturbance, repetition_note(judgement));
        [case, cpus, what, truth, reported, difference, source, unexplained, others, ok]
    };
    let cells = |line: &Comparison| {
        let [truth, reported, difference] = figure_cells(line);
        [line.what.clone(), truth, reported, difference, line.source.clone()]
    };
    let Some((first, rest)) = judgement.lines.split_first() else {
        return vec![whole(Default::default(), true)];
    };
    let further = rest.iter().map(|line| {
        let [what, truth, reported, difference, source] = cells(line);
        let ok = verdict_word(line.is_within_limit).to_owned();
        let none = String::new;
        [none(), none(), what, truth, reported, difference, source, none(), none(), ok]
    });
    std::iter::once(whole(cells(first), first.is_within_limit)).chain(further).collect()
}

/// Last line: number of correct runs.
pub fn totals_line(judgements: &[Judgement], failed_cases: &[FailedCase]) -> String {
    let ok = judgements.iter().filter(|judgement| judgement.passes()).count();
    let skipped = failed_cases.iter().filter(|case| case.skipped).count();
    let missed = judgements.len() - ok + failed_cases.len() - skipped;
    let mut text = format!("{ok} runs ok, {missed} missed");
    if skipped > 0 {
        let _ = write!(text, ", {skipped} skipped");
    }
    text
}

/// Truth, report and difference of a line.
fn figure_cells(line: &Comparison) -> [String; 3] {
    if line.is_count {
        return [
            format!("{}", line.truth),
            format!("{}", line.reported),
            format!("{:+.2}%", line.difference),
        ];
    }
    [format!("{:.2}%", line.truth), format!("{:.2}%", line.reported), format!("{:+.2}", line.difference)]
}

const fn verdict_word(ok: bool) -> &'static str {
    if ok { "ok" } else { "MISS" }
}

/// Number of runs, unless there was one.
fn repetition_note(judgement: &Judgement) -> String {
    if judgement.runs == 1 { String::new() } else { format!(" (least of {} runs)", judgement.runs) }
}

fn loss_note(judgement: &Judgement) -> String {
    if judgement.lost == 0 { String::new() } else { format!("; {} events LOST", judgement.lost) }
}
