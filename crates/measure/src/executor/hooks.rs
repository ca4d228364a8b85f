//! The user's own commands around the runs: `--setup`, `--prepare`, `--cleanup`.
//!
//! Hooks are never measured, and never limited to the allotted CPUs. The processes that they leave
//! running do not belong to the command.

mod reaper;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::{Command, Stdio};

use morecores_machine::clock::monotonic;
use morecores_study::{Hooks, Point, substitute};
use tracing::debug;

use crate::environment::Environment;

use reaper::Reaper;

/// Kind of hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Setup,
    Prepare,
    Cleanup,
}

impl Hook {
    fn option(self) -> &'static str {
        match self {
            Self::Setup => "--setup",
            Self::Prepare => "--prepare",
            Self::Cleanup => "--cleanup",
        }
    }

    fn line(self, hooks: &Hooks) -> Option<&OsStr> {
        match self {
            Self::Setup => hooks.setup.as_deref(),
            Self::Prepare => hooks.prepare.as_deref(),
            Self::Cleanup => hooks.cleanup.as_deref(),
        }
    }

    pub(super) fn is_given(self, hooks: &Hooks) -> bool {
        self.line(hooks).is_some()
    }
}

/// Reason for which a hook failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The hook could not be started.
    #[error("cannot run {option} `{line}`: {error}")]
    Start {
        /// Option that specifies the hook.
        option: &'static str,
        /// Command line of the hook.
        line: String,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The hook failed.
    #[error("{option} `{line}` failed ({status})")]
    Failed {
        /// Option that specifies the hook.
        option: &'static str,
        /// Command line of the hook.
        line: String,
        /// Exit status of the hook.
        status: String,
        /// Tail of the hook's output.
        output: String,
    },
}

/// Runs a hook if it is given, outside of the study's cgroups. `{n}` in its line is replaced if
/// there is a point. Returns the process above all processes that the hook left running; that
/// process ends by itself if there are none.
pub(super) fn run(
    hook: Hook,
    hooks: &Hooks,
    point: Option<&Point>,
    environment: &Environment,
    outside: &[File],
) -> Result<Option<u32>, HookError> {
    let Some(line) = hook.line(hooks) else { return Ok(None) };
    let option = hook.option();
    let readable = |line: &OsStr| line.to_string_lossy().into_owned();
    let line = point.map_or_else(|| line.to_owned(), |point| substitute(line, point.n));
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&line).stdin(Stdio::null());
    command.env_clear().envs(environment.hook_variables(point));
    let began = monotonic();
    // The output goes to a file and not to a pipe. A server that the hook leaves running would hold
    // a pipe open for ever.
    let captured = tempfile::tempfile().and_then(|file| {
        command.stdout(file.try_clone()?).stderr(file.try_clone()?);
        let mut reaper = Reaper::start(command, outside)?;
        Ok((reaper.wait_for_command()?, reaper.pid(), file))
    });
    let (status, reaper, mut file) =
        captured.map_err(|error| HookError::Start { option, line: readable(&line), error })?;
    debug!("{option} `{}`: {status}, {:.3} s", readable(&line), monotonic().since(began).as_secs_f64());
    if status.success() {
        return Ok(Some(reaper));
    }
    let output = read_end(&mut file).unwrap_or_default();
    Err(HookError::Failed { option, line: readable(&line), status: status.to_string(), output })
}

/// Tail of a file, at most 64 KiB.
fn read_end(file: &mut File) -> io::Result<String> {
    const TAIL: u64 = 64 * 1024;
    let from = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(TAIL).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_machine::process;

    fn environment() -> Environment {
        Environment::from_this_process(&morecores_testkit::plan(Vec::new()))
    }

    #[test]
    fn a_failing_hook_shows_its_last_output() {
        let hooks = Hooks { prepare: Some("seq {n}; exit 3".into()), ..Hooks::default() };
        let point = Point { n: 9, ..morecores_testkit::point(1) };
        let error = run(Hook::Prepare, &hooks, Some(&point), &environment(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "--prepare `seq 9; exit 3` failed (exit status: 3)");
        let HookError::Failed { output, .. } = error else { panic!() };
        assert!(output.ends_with("8\n9\n"), "{output}");
        assert!(run(Hook::Setup, &hooks, None, &environment(), &[]).is_ok());
    }

    #[test]
    fn a_hook_that_leaves_a_process_behind_is_not_waited_for() {
        // The background process would run for longer than any test.
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let line = format!("sleep 100000 & echo $! >{}", file.display());
        let hooks = Hooks { setup: Some(line.into()), ..Hooks::default() };
        run(Hook::Setup, &hooks, None, &environment(), &[]).unwrap();
        let left: u32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        // The shell's child may still be on its way to `sleep`.
        let goes_on = || process::command_name(left).as_deref() == Some("sleep");
        morecores_testkit::wait_until("it goes on", goes_on);
        process::kill(left);
    }

    #[test]
    fn survivors_of_a_hook_stay_below_one_process_after_their_parent_ends() {
        // The middle shell ends before its child, which then has no parent among the hook's
        // processes.
        let hooks = Hooks { setup: Some("sh -c 'setsid sleep 60 &'".into()), ..Hooks::default() };
        let reaper = run(Hook::Setup, &hooks, None, &environment(), &[]).unwrap().unwrap();
        let left = process::descendants(reaper);
        let parents: Vec<_> = left.iter().map(|&pid| process::parent(pid)).collect();
        left.iter().for_each(|&pid| process::kill(pid));
        assert_eq!(parents, [Some(reaper)], "{left:?}");
        assert_eq!(process::parent(reaper), Some(std::process::id()));
    }
}
