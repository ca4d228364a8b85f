//! Reports for people and programs: text for a terminal, Markdown, CSV and JSON.
//!
//! Every function here turns data into text and returns the text. This crate must not print, read a
//! file, read the environment or measure. It estimates nothing that the data does not already hold.

mod causes;
mod code;
mod command;
mod comparison;
mod component;
mod critical_path;
mod csv;
mod dashboards;
mod doctor;
mod efficiency;
mod format;
mod hyperfine;
mod json;
mod lock_holds;
mod locks;
mod markdown;
mod openmp;
mod page;
mod points;
mod prediction;
mod search;
mod spin_tuning;
mod stack;
mod suite;
mod table;
mod terminal;
mod topology;
mod trace;
mod verdict;
mod warning;

pub use causes::{
    Explanation, LossCause, NoCauseReason, SerialTime, cause_clause, causes, main_causes, main_causes_text,
    no_cause_reason,
};
pub use command::{display_command, display_command_with_variables};
pub use component::component_name;
pub use csv::{locks_csv, view_csv};
pub use dashboards::{bencher_json, github_benchmark_direction, github_benchmark_json, openmetrics};
pub use doctor::doctor_report;
pub use format::{count, cpus, duration, percent, point_name, ratio, time};
pub use hyperfine::hyperfine_json;
pub use json::{
    advice_json, comparison_json, gains_json, locks_json, prediction_json, suite_json, view_json,
};
pub use markdown::{
    comparison_markdown, locks_markdown, suite_markdown, suite_summary_markdown, view_markdown,
};
pub use page::{
    CommandStretches, Stretches, benchmark_text, comparison_text, page_html, page_locks, page_study,
    page_timeline, suite_text,
};
pub use search::page_search;
pub use spin_tuning::spin_tuning_report;
pub use suite::{BenchmarkResult, suite_summary};
pub use terminal::{
    Division, ModelTable, Price, Style, advice_report, comparison_report, division_report, gains_report,
    locks_report, prediction_report, run_report, suite_report, suite_summary_report, trace_report,
};
pub use topology::topology_report;
pub use verdict::{
    BestN, Beyond, ComparedQuantity, EnoughQuota, MeasuredGain, PlanSummary, Remark, ReportedVerdict, Taker,
    VerdictKind, decide, verdict_statement,
};
pub use warning::{Notice, Severity, notices, success_list, warning_sentence};
