//! What the report page holds: views, the words that go with them, single runs, and timelines of traced runs.
//!
//! Only shapes; the viewer's TypeScript types are made from them. The page computes no figure of its own: what it says and draws
//! is here, but the running averages of a timeline at the zoom that its reader chose.

use serde::{Deserialize, Serialize};

use crate::{Gain, View};

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
    /// The comparison of the first two studies, where one was asked for.
    pub comparison: Option<SaidComparison>,
    /// The studies that can be opened, where the page is a directory's.
    pub listed: Vec<ListedStudy>,
}

/// A comparison in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SaidComparison {
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
    /// `measuring`, `ended` or `unreadable`.
    pub state: String,
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
    /// Traced runs over time.
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
