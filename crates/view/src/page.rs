//! Data of the report page: views, their text, single runs, and timelines of traced runs.
//!
//! This module holds types only, and the viewer's TypeScript types are generated from them. The
//! page computes no figure itself: this data holds everything that it says and draws. The one
//! exception is the running averages of a timeline at the zoom that the reader chose.

use std::fmt;

use morecores_study::{Coordinates, Quantity};
use serde::{Deserialize, Serialize};

use crate::locks::LocksView;
use crate::suite::SuiteSummary;
use crate::{Gain, View};

/// Name of the schema of [`Page`].
pub const PAGE_SCHEMA: &str = "morecores.page/1";

/// Data of one report page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Page {
    /// Schema name, [`PAGE_SCHEMA`].
    pub schema: String,
    /// Version of the tool that wrote the page.
    pub tool: String,
    /// Studies of commands, in the order of the arguments.
    pub studies: Vec<PageStudy>,
    /// Studies of locks, in the order of the arguments.
    pub locks: Vec<PageLocks>,
    /// Searches for failures that depend on the order of threads, in the order of the arguments.
    pub searches: Vec<PageSearch>,
    /// Comparison of the first two studies, if one was requested.
    pub comparison: Option<ComparisonText>,
    /// Classic benchmarks, published and measured, if the page shows a suite.
    pub benchmarks: Vec<BenchmarkText>,
    /// Summary of these benchmarks.
    pub suite: Option<SuiteText>,
    /// Studies that the reader can open, if the page shows a directory.
    pub listed: Vec<ListedStudy>,
}

impl Page {
    /// Creates an empty page with `tool` as the version of its writer.
    pub fn new(tool: &str) -> Self {
        Self {
            schema: PAGE_SCHEMA.to_owned(),
            tool: tool.to_owned(),
            studies: Vec::new(),
            locks: Vec::new(),
            searches: Vec::new(),
            comparison: None,
            benchmarks: Vec::new(),
            suite: None,
            listed: Vec::new(),
        }
    }
}

/// Text of one classic benchmark: the published and the measured results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BenchmarkText {
    /// Name and description of the benchmark.
    pub title: String,
    /// Tables with the published rows above the measured rows.
    pub tables: Vec<PageTable>,
    /// Notes on reading the tables, and on missing results.
    pub notes: Vec<String>,
    /// Names of the studies behind the measured rows.
    pub studies: Vec<String>,
}

/// Summary of a suite: the figures for its picture, and the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SuiteText {
    /// Figures of the summary.
    pub summary: SuiteSummary,
    /// Table with the same figures.
    pub table: PageTable,
    /// Verdict of each row of the summary, in two or three words.
    pub verdicts: Vec<String>,
    /// Notes on reading the table, and on parts that were not measured.
    pub notes: Vec<String>,
}

/// Table of typed cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageTable {
    /// Title; empty if the context of the table makes it clear.
    pub title: String,
    /// Columns, all of the same length.
    pub columns: Vec<PageColumn>,
    /// Whether each row is a measured one.
    pub now: Vec<bool>,
}

/// Column of a [`PageTable`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageColumn {
    /// Header of the column.
    pub header: String,
    /// Whether the cells are figures; otherwise they are names.
    pub figures: bool,
    /// Cells of the column, from top to bottom.
    pub cells: Vec<TableCell>,
    /// Name of the values in CSV, ending in their unit; null if CSV has the text of the cells.
    pub csv_name: Option<String>,
}

/// Cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TableCell {
    /// Value, by which the page sorts and compares; null for a name and for a missing figure.
    pub value: Option<f64>,
    /// Quantity of the value; null for a name and for a figure in a unit of the command's own.
    pub unit: Option<Quantity>,
    /// Text, as every report prints it.
    pub text: String,
}

impl TableCell {
    /// Cell without content.
    pub const EMPTY: Self = Self { value: None, unit: None, text: String::new() };

    /// Cell of a name.
    pub fn name(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Cell of a figure, written as `text`.
    pub fn figure(unit: Quantity, value: Option<f64>, text: impl Into<String>) -> Self {
        Self { value, unit: Some(unit), text: text.into() }
    }
}

/// Statement that begins with a short answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Statement {
    /// First words, without the colon behind them; empty if the statement has none.
    pub lead: String,
    /// Rest of the statement.
    pub rest: String,
}

impl Statement {
    /// Statement that begins with `lead`.
    pub fn new(lead: impl Into<String>, rest: impl Into<String>) -> Self {
        Self { lead: lead.into(), rest: rest.into() }
    }
}

/// Both parts, with a colon between them.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.lead.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.lead, self.rest)
    }
}

/// Weight of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; the figures are valid.
    Note,
    /// The figures may be inaccurate.
    Caution,
    /// The figures are misleading.
    Serious,
}

/// State of a study in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum ListedState {
    /// A process adds to the study.
    Measuring,
    /// The study has ended.
    Ended,
    /// The study has no end, and no process adds to it.
    Killed,
    /// The study cannot be read.
    Unreadable,
}

/// Data of one study of locks on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageLocks {
    /// Name of the study's directory.
    pub name: String,
    /// Command that made the study.
    pub command: String,
    /// View of the study, as `morecores show --json` prints it.
    pub view: LocksView,
    /// Number of CPUs to which threads are pinned.
    pub cpus: u32,
    /// Recommended locks, one statement for each situation.
    pub advice: Vec<Statement>,
    /// Costs of waiting on the machine, one sentence each.
    pub prices: Vec<String>,
    /// Tables, in the order of display.
    pub tables: Vec<PageTable>,
    /// Notices on reading the figures, the most serious first.
    pub notices: Vec<NoticeText>,
}

/// Data of one search for failures that depend on the order of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageSearch {
    /// Name of the search's directory.
    pub name: String,
    /// Command as a person would type it.
    pub command: String,
    /// Conclusion, in sentences.
    pub verdict: String,
    /// The first failure in a sentence, if any run failed, and its details, one line each.
    pub failure: Vec<String>,
    /// Rates of failure, in the order of display.
    pub rates: Vec<PageRate>,
    /// Tables: the runs, the sites whose holds were compared, and all sites.
    pub tables: Vec<PageTable>,
    /// Stacks of all threads at the first failure, one line each.
    pub stacks: Vec<String>,
    /// Notes on the size and the conditions of the search.
    pub notes: Vec<String>,
}

/// Rate of failure of some runs of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageRate {
    /// Conditions of the runs.
    pub name: String,
    /// Number of runs.
    pub runs: u32,
    /// Number of those that failed.
    pub failed: u32,
    /// Ends of the 95% interval of the share of failing runs, which holds at any time of the
    /// search; 0 to 1.
    pub interval: [f64; 2],
    /// Counts and interval, as every report prints them.
    pub text: String,
}

/// Text of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparisonText {
    /// Warning that a difference may not be a change, because the commands differ.
    pub warning: Option<String>,
    /// Summary of the changes.
    pub answer: Statement,
    /// Table with a row for each CPU count.
    pub table: PageTable,
    /// Component that grew most.
    pub grown: Option<String>,
    /// Differences in the making of the two studies.
    pub unlike: Vec<String>,
    /// Note on reading the figures.
    pub note: String,
}

/// Entry of a study, or of a search of `morecores shake`, in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ListedStudy {
    /// Name of the study's directory.
    pub name: String,
    /// Command as a person would type it; for an unreadable study, the error.
    pub command: String,
    /// Host name of the machine.
    pub host: String,
    /// Start of the study, in seconds since 1970.
    pub created_at_s: f64,
    /// CPU counts of the study.
    pub cpus: Vec<u32>,
    /// State of the study.
    pub state: ListedState,
    /// Classic benchmark that the study measures, if any.
    pub benchmark: Option<String>,
    /// Whether it can be compared with another one: it is a study of a command.
    pub comparable: bool,
}

/// Part of a bar of the speedup stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StackPart {
    /// CPU count of the bar.
    pub bar_cpus: u32,
    /// Key of the part: `speedup`, the key of a component in the losses of a stack, or `other`. The
    /// last one stands for all components too small to be shown separately.
    pub key: String,
    /// Displayed name of the part.
    pub name: String,
    /// Colour of the part, like `#0072b2`.
    pub colour: String,
    /// Size of the part, in CPUs; a negative size is a gain.
    pub cpus: f64,
}

/// Data of one study of a command on a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageStudy {
    /// Name of the study's directory.
    pub name: String,
    /// View of the study, as `morecores show --json` prints it.
    pub view: View,
    /// Text of the study.
    pub text: StudyText,
    /// Parts of the speedup stacks, each bar in drawing order from zero.
    pub parts: Vec<StackPart>,
    /// Table of the measured points.
    pub points: PageTable,
    /// Notes on reading the table of points.
    pub point_notes: Vec<String>,
    /// Tables of what decided the elapsed time: the efficiencies of all traced counts, and the
    /// critical path and the threads of the traced run on the most measured CPUs. Empty without a
    /// trace.
    pub structure: Vec<PageTable>,
    /// Notes on reading these tables.
    pub structure_notes: Vec<String>,
    /// Timed runs, in the order of the measurement.
    pub runs: Vec<PageRun>,
    /// Estimated gains from possible improvements, ranked; empty without a trace.
    pub gains: Vec<Gain>,
    /// Traced runs over time, the run on the most CPUs first.
    pub timelines: Vec<PageTimeline>,
}

/// Text of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StudyText {
    /// Command as a person would type it.
    pub command: String,
    /// Answer to the question of the study, and the sentences that support it.
    pub verdict: Statement,
    /// Causes of the lost CPUs, one clause each.
    pub causes: Vec<String>,
    /// Predictions for larger machines and their reliability, one sentence each.
    pub prediction: Vec<String>,
    /// Notices on conditions that spoil the figures, the most serious first.
    pub notices: Vec<NoticeText>,
    /// Notes on reading the figures of the stack.
    pub stack_notes: Vec<String>,
}

/// Text of one warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NoticeText {
    /// Weight of the notice.
    pub severity: Severity,
    /// Condition, and the action to take.
    pub text: String,
}

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageRun {
    /// Round of the sweep.
    pub round: u32,
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "Record<string, boolean | number | string>"))]
    pub axes: Coordinates,
    /// Elapsed time from exec to exit.
    pub elapsed_s: f64,
    /// CPU time of the tree in user mode.
    pub user_s: f64,
    /// CPU time of the tree in the kernel.
    pub system_s: f64,
    /// Metric of the run, if one was requested.
    pub metric: Option<f64>,
    /// Speedup over the base's run of the same round, or over the base's median if no round pairs
    /// the runs. Null for a failed run and for a run without a pair.
    #[serde(default)]
    pub speedup: Option<f64>,
    /// Further metrics, in the order of the plan; null if the run has no such figure.
    #[serde(default)]
    pub further_metrics: Vec<Option<f64>>,
    /// Whether the run succeeded; no figure includes a failed run.
    pub succeeded: bool,
    /// Whether the figures leave the run out, because others disturbed its round.
    #[serde(default)]
    pub disturbed: bool,
}

/// Traced run over time, with the running threads by command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageTimeline {
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Value of `{n}`.
    pub n: u32,
    /// Commands that ran, most CPU time first; the last of many may stand for all others together.
    pub commands: Vec<String>,
    /// Number of stretches of each command; then of those in which a thread was ready and did not
    /// run; then of those of each command on the critical path.
    pub stretches: Vec<u32>,
    /// Stretches, as base64 of gzip of variable-length integers (LEB128). For each list of
    /// stretches it holds all starts, then all ends, both ascending. The values are microseconds
    /// since the run began, each stored as the difference from the previous one.
    pub data: String,
}

/// Picture of a page that can be drawn by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Picture {
    /// Speedup against CPUs, with every run and the prediction.
    Speedup,
    /// Elapsed time against CPUs.
    Elapsed,
    /// Efficiency against CPUs.
    Efficiency,
    /// Metric against CPUs.
    Metric,
    /// Speedup stacks.
    Stack,
    /// Threads of the traced run on the most CPUs, by criticality.
    Bottles,
    /// Traced run on the most CPUs, over time.
    Timeline,
    /// Published and measured speedups of a suite's benchmarks.
    Suite,
}

/// Axes of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Axes {
    /// Equal steps.
    Linear,
    /// Equal ratios.
    Log,
}

/// Options for drawing a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PictureOrder {
    /// Picture to draw.
    pub picture: Picture,
    /// Width in pixels.
    pub width: u32,
    /// Axes; null means the default of the page.
    pub axes: Option<Axes>,
    /// Whether to draw light on a dark background.
    pub dark: bool,
}
