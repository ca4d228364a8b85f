//! Findings of a search of `morecores shake`: their data, the conclusion and the words.
//!
//! `findings` holds the whole result, with the `schedule` and the `failure` of each run and the
//! `place` of each instruction in it. `verdict` concludes from the counts, `words` and `sarif`
//! write, and `directory` keeps everything. Only `directory` touches files; nothing here runs a
//! program.

mod directory;
mod failure;
mod findings;
mod place;
mod sarif;
mod schedule;
mod verdict;
mod words;

pub use directory::{
    CORE, DirectoryError, DirectoryWriter, Header, RunLine, Search, is_search, read_findings, search_state,
};
pub use failure::{Failure, UnknownFailure};
pub use findings::{
    CoreFile, Evidence, Findings, FirstFailure, HelgrindUse, Replay, SiteCounts, SiteEffect, SiteRecord,
};
pub use place::{CodePlace, Description, StackDescription, WaitDescription};
pub use sarif::sarif;
pub use schedule::{Schedule, Tally};
pub use verdict::{Observations, Priorities, Verdict, verdict};
pub use words::{
    effect_text, evidence_text, first_failure_details, first_failure_text, line_text, replay_text,
    schedule_text, site_text, stack_text, summary_text, text, verdict_text,
};
