//! Command line of morecores: arguments in, calls to the crates below, text and an exit status out.
//!
//! All printing and every exit status are here. `options` decides the measurement. The crates below
//! measure, compute the figures and write the reports.
//!
//! Each function that this library exports is the whole of one program. The programs share the
//! modules: arguments, signals, progress line, recorder, log, exit statuses.

mod args;
mod commands;
mod exit;
mod log;
mod options;
mod programs;
mod startup;
mod state_file;
mod terminal;
mod tracer;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use args::{Cli, Command};
use log::Retention;

/// Runs `morecores`.
pub fn morecores() -> ExitCode {
    let line: Vec<OsString> = env::args_os().skip(1).collect();
    finish(match programs::select(&line, Cli::runs, Cli::is_program) {
        Some((program, arguments)) => programs::exec(&program, &arguments),
        None => {
            let Cli { command, verbosity } = Cli::read();
            log::start(verbosity.verbose, command.retention()).and_then(|()| dispatch(&command))
        }
    })
}

/// Runs `morecores-locks`.
pub fn locks() -> ExitCode {
    run_program("locks", Retention::LastLog, commands::locks::locks)
}

/// Runs `morecores-tune-spin`.
pub fn tune_spin() -> ExitCode {
    run_program("tune-spin", Retention::None, commands::locks::tune_spin)
}

/// Runs the program of the command `name`, which looks at this machine.
fn run_program<T: clap::Args>(
    name: &'static str,
    retention: Retention,
    program: impl FnOnce(&T) -> Result<u8>,
) -> ExitCode {
    let (args, verbosity) = args::read_program::<T>(name);
    finish(log::start(verbosity.verbose, retention).and_then(|()| {
        startup::prepare_machine()?;
        program(&args)
    }))
}

/// Reports an error, writes the last log, and returns the exit status.
fn finish(done: Result<u8>) -> ExitCode {
    exit::claim_end();
    let status = done.unwrap_or_else(|error| {
        terminal::error(&error);
        exit::error_status(&error)
    });
    log::keep();
    exit::code(status)
}

fn dispatch(command: &Command) -> Result<u8> {
    if command.looks_at_the_machine() {
        startup::prepare_machine()?;
    }
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Trace(args) => commands::trace::trace(args),
        Command::Show(args) => commands::show::show(args),
        Command::Predict(args) => commands::predict::predict(args),
        Command::WhatIf(args) => commands::predict::what_if(args),
        Command::Advise(args) => commands::advise::advise(args),
        Command::Events(args) => commands::events::events(args),
        Command::Export(args) => commands::export::export(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::Report(args) => commands::report::report(args),
        Command::Serve(args) => commands::serve::serve(args),
        Command::Topology(args) => commands::topology::topology(args),
        Command::Doctor(args) => commands::doctor::doctor(args),
        Command::Suite(args) => commands::suite::suite(args),
        Command::Locks(_) => Err(programs::missing("locks")),
        Command::TuneSpin(_) => Err(programs::missing("tune-spin")),
        Command::Mark(args) => commands::mark::mark(args),
        Command::Launch(args) => commands::launch::launch(args),
        Command::Generate(args) => commands::generate::generate(args),
    }
}
