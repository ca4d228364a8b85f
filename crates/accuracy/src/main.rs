//! `morecores-accuracy`: one program with known truth, or the judge over all of them.
//!
//! This file is the only place of the crate that prints and exits. Exit status: 0 if everything is
//! within its limit, 1 if something missed its limit or a run failed, 2 if nothing could be judged.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use morecores_accuracy::case::{Settings, cases};
use morecores_accuracy::judge::Judgement;
use morecores_accuracy::program::AnyProgram;
use morecores_accuracy::session::Session;
use morecores_accuracy::table::{self, FailedCase, RunConditions};
use morecores_accuracy::{AccuracyError, neighbour, quiet};
use morecores_study::CpuId;
use procfs::{CpuInfo, Current};

/// Hold what `morecores trace` says against programs whose truth is known
#[derive(Parser)]
#[command(disable_help_subcommand = true)]
enum Cli {
    /// Run one of the programs, and write what it knows of itself
    Program {
        /// File for the program's own account
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
        #[command(subcommand)]
        program: Box<AnyProgram>,
    },
    /// Run all programs under `morecores trace`, and compare
    Judge(JudgeArgs),
    /// Be the neighbour of another program
    #[command(hide = true)]
    Neighbour {
        #[arg(long)]
        cpu: u32,
    },
    /// List the cases
    List,
}

#[derive(Args)]
struct JudgeArgs {
    /// The program that is judged
    #[arg(long, value_name = "FILE", default_value = "target/release/morecores")]
    morecores: PathBuf,
    /// CPU counts
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Vec<u32>,
    /// Length of a program, where no sampling error wants more
    #[arg(long, value_name = "S", default_value = "6")]
    seconds: f64,
    /// Only cases with this in their name; may be given again
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Directory on a disk, for the files that cases read and write
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    dir: PathBuf,
    /// Script that prepares and builds a part of a kernel; without it there is no such case
    #[arg(long, value_name = "FILE")]
    kernel_part: Option<PathBuf>,
    /// Also write the table as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Cli::parse() {
        Cli::Program { truth, program } => program.as_known().run().and_then(|known| {
            truth.map_or(Ok(()), |path| known.write(&path))?;
            Ok(ExitCode::SUCCESS)
        }),
        Cli::Judge(args) => judge_all(&args),
        Cli::Neighbour { cpu } => neighbour::run_neighbour(CpuId(cpu)).map(|()| ExitCode::SUCCESS),
        Cli::List => {
            let settings = Settings { seconds: 6.0, dir: PathBuf::new(), kernel_part: Some(PathBuf::new()) };
            cases(2, &settings).iter().for_each(|case| println!("{}", case.name));
            Ok(ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("morecores-accuracy: {error}");
        ExitCode::from(2)
    })
}

fn judge_all(args: &JudgeArgs) -> Result<ExitCode, AccuracyError> {
    let session = Session { morecores: args.morecores.clone(), dir: args.dir.clone() };
    let settings =
        Settings { seconds: args.seconds, dir: args.dir.clone(), kernel_part: args.kernel_part.clone() };
    let conditions = run_conditions();
    println!("{}\n{}\n{}\n", conditions.host, conditions.quiet, conditions.command);
    print!("{}", table::table_heading());
    let (mut judgements, mut failed_cases): (Vec<Judgement>, Vec<FailedCase>) = (Vec::new(), Vec::new());
    for &cpus in &args.cpus {
        let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| name.contains(only));
        for case in cases(cpus, &settings).iter().filter(|case| wanted(&case.name)) {
            match session.run(case, cpus) {
                Ok(judgement) => {
                    print!("{}", table::judgement_lines(&judgement));
                    judgements.push(judgement);
                }
                Err(error) => {
                    let (case, reason) = (case.name.clone(), error.to_string());
                    let case = FailedCase { case, cpus, reason, skipped: error.lacks_prerequisite() };
                    println!("{}", case.summary_line());
                    failed_cases.push(case);
                }
            }
        }
    }
    println!("\n{}", table::totals_line(&judgements, &failed_cases));
    if let Some(path) = &args.markdown {
        let text = table::markdown(&conditions, &judgements, &failed_cases);
        let failed = |error| AccuracyError::File { what: "write", path: path.clone(), error };
        fs::write(path, text).map_err(failed)?;
    }
    let missed = !judgements.iter().all(Judgement::passes) || !failed_cases.iter().all(|case| case.skipped);
    Ok(match missed {
        true => ExitCode::from(1),
        false if judgements.is_empty() => ExitCode::from(2),
        false => ExitCode::SUCCESS,
    })
}

/// Machine and command line.
fn run_conditions() -> RunConditions {
    let kernel = rustix::system::uname();
    let cpu_info = CpuInfo::current().ok();
    let model = cpu_info.as_ref().and_then(|info| info.model_name(0));
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let host = format!(
        "{cpus} CPUs, {}, {} {}",
        model.unwrap_or("of unknown model"),
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
    );
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    RunConditions { host, quiet: quiet::check_quiet(), command }
}
