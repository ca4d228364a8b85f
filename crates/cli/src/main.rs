//! Command line of morecores: arguments in, calls to the crates below, text and an exit status out.
//!
//! All printing and every exit status are here. `options` decides the measurement. The crates below
//! measure, compute the figures and write the reports.

mod args;
mod commands;
mod exit;
mod log;
mod options;
mod platform;
mod programs;
mod repair;
mod terminal;
mod tracer;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use args::{Cli, Command};

fn main() -> ExitCode {
    let line: Vec<OsString> = env::args_os().skip(1).collect();
    let done = match programs::wanted(&line, Cli::has_command) {
        Some((program, arguments)) => programs::exec(&program, &arguments),
        None => {
            let cli = Cli::read();
            log::start(&cli).and_then(|()| dispatch(&cli.command))
        }
    };
    let status = done.unwrap_or_else(|error| {
        terminal::error(&error);
        exit::of_error(&error)
    });
    log::keep();
    exit::code(status)
}

fn dispatch(command: &Command) -> Result<u8> {
    if command.looks_at_the_machine() {
        platform::check()?;
        repair::repair();
    }
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Trace(args) => commands::trace::trace(args),
        Command::Show(args) => commands::show::show(args),
        Command::Predict(args) => commands::predict::predict(args),
        Command::WhatIf(args) => commands::what_if::what_if(args),
        Command::Compare(args) => commands::compare::compare(args),
        Command::Report(args) => commands::report::report(args),
        Command::Serve(args) => commands::serve::serve(args),
        Command::Topology(args) => commands::topology::topology(args),
        Command::Doctor(args) => commands::doctor::doctor(args),
        Command::Suite(args) => commands::suite::suite(args),
        Command::Locks(args) => commands::locks::locks(args),
        Command::TuneSpin(args) => commands::tune_spin::tune_spin(args),
        Command::Generate(args) => commands::generate::generate(args),
    }
}
