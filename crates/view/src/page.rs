//! What the report page holds: views, the words that go with them, single runs, and timelines of traced runs.
//!
//! Only shapes; the viewer's TypeScript types are made from them. The page computes no figure of its own: what it says and draws
//! is here, but the running averages of a timeline at the zoom that its reader chose.

use serde::{Deserialize, Serialize};

use crate::{Gain, LocksView, SuiteSummary, View};

/// Name of the schema of [`Page`].
pub const PAGE_SCHEMA: &str = "morecores.page/1";

/// The data of one report page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Page {
    /// [`PAGE_SCHEMA`].
    pub schema: String,
    /// Version of the tool that wrote the page.
    pub tool: String,
    /// The studies, in the order in which they were named.
    pub studies: Vec<PageStudy>,
    /// The studies of locks, in the order in which they were named.
    pub locks: Vec<PageLocks>,
    /// The comparison of the first two studies, where one was asked for.
    pub comparison: Option<SaidComparison>,
    /// The classic benchmarks then and now, where the page is a suite's.
    pub benchmarks: Vec<SaidBenchmark>,
    /// The summary of these benchmarks.
    pub suite: Option<SaidSuite>,
    /// The studies that can be opened, where the page is a directory's.
    pub listed: Vec<ListedStudy>,
}

impl Page {
    /// An empty page, written by `tool`.
    pub fn new(tool: &str) -> Self {
        Self {
            schema: PAGE_SCHEMA.to_owned(),
            tool: tool.to_owned(),
            studies: Vec::new(),
            locks: Vec::new(),
            comparison: None,
            benchmarks: Vec::new(),
            suite: None,
            listed: Vec::new(),
        }
    }
}

/// A classic benchmark in words: what was published of it and what was measured here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidBenchmark {
    /// Its name and what it is.
    pub title: String,
    /// Rows of then above rows of now.
    pub tables: Vec<SaidTable>,
    /// What has to be known to read the tables, and what is missing from them.
    pub notes: Vec<String>,
    /// The names of the studies that the rows of now are from.
    pub studies: Vec<String>,
}

/// The summary of a suite, as figures for its picture and in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidSuite {
    /// Figures.
    pub summary: SuiteSummary,
    /// The same as a table.
    pub table: SaidTable,
    /// How to read the table, and what was not measured for which reason.
    pub notes: Vec<String>,
}

/// A table as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidTable {
    /// Its columns, of equal length.
    pub columns: Vec<SaidColumn>,
    /// Whether each row is of today.
    pub now: Vec<bool>,
}

/// A column of such a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidColumn {
    /// What it is of.
    pub header: String,
    /// Whether its cells are figures; names otherwise.
    pub figures: bool,
    /// Its cells.
    pub cells: Vec<String>,
}

/// One study of locks of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageLocks {
    /// Its directory's name.
    pub name: String,
    /// The command that made it.
    pub command: String,
    /// What `morecores show --json` prints.
    pub view: LocksView,
    /// Which lock to take when, a sentence each, as the terminal says it.
    pub advice: Vec<String>,
    /// What the machine's waits cost, a sentence each.
    pub prices: Vec<String>,
    /// Tables with what each is of, in the order in which they are shown.
    pub tables: Vec<(String, SaidTable)>,
    /// What has to be known to read the figures, the most serious first.
    pub notices: Vec<SaidNotice>,
}

/// A comparison in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidComparison {
    /// Reason not to take a difference for a change: the commands differ.
    pub warning: Option<String>,
    /// What changed.
    pub answer: String,
    /// The columns of its table, each a header and a cell for each CPU count.
    pub columns: Vec<(String, Vec<String>)>,
    /// What grew most.
    pub grown: Option<String>,
    /// What was not alike.
    pub unlike: Vec<String>,
    /// How the figures are to be read.
    pub note: String,
}

/// A study in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ListedStudy {
    /// Its directory's name.
    pub name: String,
    /// The command as a person would type it; what is wrong with the study where it cannot be read.
    pub command: String,
    /// The machine's name.
    pub host: String,
    /// When it was begun, in seconds since 1970.
    pub created_at_s: f64,
    /// CPU counts.
    pub cpus: Vec<u32>,
    /// `measuring`, `ended`, `killed` or `unreadable`.
    pub state: String,
    /// The classic benchmark that it is a study of, if it is one.
    pub benchmark: Option<String>,
}

/// A part of a bar of the speedup stacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StackPart {
    /// The CPU count of the bar.
    pub of: u32,
    /// `speedup`, the key of a component among the losses of a stack, or `other`: those too small to be shown one by one.
    pub key: String,
    /// What it is called.
    pub name: String,
    /// How many CPUs it is; below zero: gained.
    pub cpus: f64,
}

/// One study of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageStudy {
    /// Its directory's name.
    pub name: String,
    /// What `morecores show --json` prints.
    pub view: View,
    /// The same in words.
    pub said: Said,
    /// The speedup stacks, each bar in the order in which it is drawn from zero.
    pub parts: Vec<StackPart>,
    /// The timed runs, in the order in which they were made.
    pub runs: Vec<PageRun>,
    /// What would be worth mending, ranked; empty without a trace.
    pub gains: Vec<Gain>,
    /// Traced runs over time, the one on the most CPUs first.
    pub timelines: Vec<PageTimeline>,
}

/// A study in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Said {
    /// The command as a person would type it.
    pub command: String,
    /// The answer, in one sentence that begins with a few words and a colon, and what goes with it.
    pub verdict: String,
    /// Where the lost CPUs went, a clause each.
    pub causes: Vec<String>,
    /// What to expect on larger machines and how sure that is, a sentence each.
    pub prediction: Vec<String>,
    /// What spoils the figures, the most serious first.
    pub notices: Vec<SaidNotice>,
    /// How the figures of the stack are to be read.
    pub stack_notes: Vec<String>,
}

/// One warning in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidNotice {
    /// `note`, `caution` or `serious`.
    pub severity: String,
    /// What is so and what to do.
    pub text: String,
}

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageRun {
    /// The round of the sweep.
    pub round: u32,
    /// How many CPUs it was allotted.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// From exec to exit.
    pub elapsed_s: f64,
    /// In user mode, over the tree.
    pub user_s: f64,
    /// In the kernel, over the tree.
    pub system_s: f64,
    /// The metric, where one was asked for.
    pub metric: Option<f64>,
    /// The further metrics, in the order of the plan; null where the run has no such figure.
    #[serde(default)]
    pub further_metrics: Vec<Option<f64>>,
    /// Whether it succeeded; a failed run is in no figure.
    pub succeeded: bool,
}

/// A traced run over time: when threads of which command ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PageTimeline {
    /// How many CPUs it was allotted.
    pub cpus: u32,
    /// What `{n}` was.
    pub n: u32,
    /// Commands that ran, most CPU time first; the last of many may be all others together.
    pub commands: Vec<String>,
    /// So many stretches each: those of the commands, and last those in which a thread was ready and did not run.
    pub stretches: Vec<u32>,
    /// Base64 of gzip of variable-length integers (LEB128), for each of these lists of stretches: all starts, then all ends, both ascending,
    /// each as the difference to the one before in microseconds since the run began.
    pub data: String,
}

/// A picture of a page that can be drawn by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Picture {
    /// Speedup against CPUs, with every run, and the prediction.
    Speedup,
    /// Elapsed time against CPUs.
    Elapsed,
    /// Efficiency against CPUs.
    Efficiency,
    /// The metric against CPUs.
    Metric,
    /// Where the CPUs went: the speedup stacks.
    Stack,
    /// The traced run on the most CPUs over time.
    Timeline,
    /// Speedups of a suite's benchmarks, then and now.
    Suite,
}

/// How a picture is to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PictureOrder {
    /// Which.
    pub picture: Picture,
    /// In pixels.
    pub width: u32,
    /// Whether its axes are logarithmic; where it is not said, as on the page.
    pub log: Option<bool>,
    /// Whether light on a dark ground.
    pub dark: bool,
}
