//! The table of workloads: one variant each. The command line and the list are made from it.
//!
//! A new workload is a module, a variant here and a page under `docs/workloads/`. This module holds
//! no workload's own logic.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    Outcome, WorkloadError, build, cache, count, counter, kernel_locks, keysearch, matmul, multiuser, pipe,
    quicksort, raytrace, soften, web,
};

/// A workload with its arguments.
#[derive(Clone, Debug, Subcommand)]
pub enum Workload {
    /// Build a C project with make in several jobs: a generated project, or a part of the Linux
    /// kernel
    Build(build::Args),
    /// Walk through working sets from the first cache to beyond the last, pinned, free or migrating
    Cache(cache::Args),
    /// Count in processes or threads that share nothing
    Count(count::Args),
    /// Increment one counter from several threads: plain, locked and atomic, and count what
    /// survives
    Counter(counter::Args),
    /// Contend for one kernel lock from several threads or processes, with one kind of system call
    KernelLocks(kernel_locks::Args),
    /// Search for a key of the cipher RC5 by trying all possible keys
    Keysearch(keysearch::Args),
    /// Multiply two matrices in processes that share them
    Matmul(matmul::Args),
    /// Simulate users at work: processes, tools, pipes, files, signals, memory, computation
    Multiuser(multiuser::Args),
    /// Pass messages back and forth between pairs of processes, over two pipes each
    Pipe(pipe::Args),
    /// Sort numbers in place, with both sides of every cut in parallel
    Quicksort(quicksort::Args),
    /// Trace the rays of a scene with POV-Ray
    Raytrace(raytrace::Args),
    /// Soften a true-colour bitmap: each pixel becomes the mean of its 3x3 neighbourhood
    Soften(soften::Args),
    /// Serve a file over HTTP to many connections, with Apache, nginx or the embedded server
    Web(web::Args),
}

/// Parser of the workloads alone, independent of their place in the command line of the binary.
#[derive(Parser)]
#[command(name = "morecores-work", no_binary_name = true, disable_help_subcommand = true)]
struct Table {
    #[command(subcommand)]
    workload: Workload,
}

impl Workload {
    /// Parses a workload's name and its arguments, as on the command line.
    ///
    /// # Errors
    /// An unknown name or argument, or a value out of range. The message is clap's.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, clap::Error> {
        let matches = Table::command().try_get_matches_from(arguments)?;
        Table::from_arg_matches(&matches).map(|table| table.workload)
    }

    /// Name and one-line description of every workload, in the order of the help.
    pub fn list() -> Vec<(String, String)> {
        Table::command()
            .get_subcommands()
            .map(|c| (c.get_name().to_owned(), c.get_about().map(ToString::to_string).unwrap_or_default()))
            .collect()
    }

    /// Runs the workload once and checks its result.
    ///
    /// # Errors
    /// Arguments that do not fit together or do not fit the machine, a refused thread, refused
    /// memory, or a wrong result.
    pub fn run(&self) -> Result<Outcome, WorkloadError> {
        match self {
            Self::Build(args) => build::run(args),
            Self::Cache(args) => cache::run(args),
            Self::Count(args) => count::run(args),
            Self::Counter(args) => counter::run(args),
            Self::KernelLocks(args) => kernel_locks::run(args),
            Self::Keysearch(args) => keysearch::run(args),
            Self::Matmul(args) => matmul::run(args),
            Self::Multiuser(args) => multiuser::run(args),
            Self::Pipe(args) => pipe::run(args),
            Self::Quicksort(args) => quicksort::run(args),
            Self::Raytrace(args) => raytrace::run(args),
            Self::Soften(args) => soften::run(args),
            Self::Web(args) => web::run(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_catalogue::Benchmark;
    use std::path::Path;

    #[test]
    fn every_workload_is_listed_described_and_has_its_page() {
        let list = Workload::list();
        assert!(list.iter().any(|(name, _)| name == "soften"));
        for (name, about) in list {
            assert!(!about.is_empty(), "{name} has no description");
            let page = format!("{}/../../docs/workloads/{name}.md", env!("CARGO_MANIFEST_DIR"));
            assert!(Path::new(&page).is_file(), "{page} is missing");
        }
    }

    #[test]
    fn every_workload_is_in_the_suite_with_arguments_that_it_takes() {
        let names: Vec<String> = Workload::list().into_iter().map(|(name, _)| name).collect();
        assert_eq!(Benchmark::ALL.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>(), names);
        for benchmark in Benchmark::ALL {
            for part in benchmark.parts {
                for arguments in [part.quick, part.full] {
                    let line = format!("{} {arguments}", benchmark.name).replace("{n}", "2");
                    let parsed = Workload::parse(line.split(' '));
                    assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                }
            }
        }
    }

    #[test]
    fn every_workload_runs_with_threads_alone() {
        for (name, _) in Workload::list() {
            let threads = Workload::parse([name.as_str(), "--threads", "2"]);
            assert!(threads.is_ok(), "{name}: {}", threads.unwrap_err());
            assert!(Workload::parse([name.as_str(), "--threads", "0"]).is_err(), "{name}");
        }
    }
}
