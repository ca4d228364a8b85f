//! The inspector: looks at starting threads in a process of its own. The path of a start may be in
//! memory or on a file system that never answers; then only this process waits.

use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use morecores_mark::{FileId, Start, executes_script_by};

use super::{Part, command, wait_for};
use crate::exit;

/// Longest time for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);

/// Answers to the questions of the worker.
const YES: u8 = b'y';
const NO: u8 = b'n';

/// The worker's connection to an inspector.
pub(super) struct Inspector {
    process: Child,
    questions: ChildStdin,
}

impl Inspector {
    pub(super) fn start() -> Result<Self> {
        let mut process = command(Part::Inspector)?.stdin(Stdio::piped()).spawn()?;
        let questions = process.stdin.take().context("the inspector has no input")?;
        Ok(Self { process, questions })
    }

    /// Whether a thread starts a script by the marked file; `None` without an answer. The inspector
    /// is of no use then.
    pub(super) fn is_script(&mut self, start: Start) -> Option<bool> {
        let Start { thread, file: FileId { device, inode }, .. } = start;
        writeln!(self.questions, "{thread} {device} {inode}").ok()?;
        let answers = self.process.stdout.as_ref()?;
        let mut answer = [0];
        let is_there =
            wait_for(answers, ANSWER_TIMEOUT).ok()? && rustix::io::read(answers, &mut answer).ok()? == 1;
        is_there.then_some(answer[0] == YES)
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        // It may be unable to end, so nobody waits for it.
        let _ = self.process.kill();
        let _ = self.process.try_wait();
    }
}

/// Runs the inspector until the worker is gone.
pub(super) fn inspect() -> Result<u8> {
    let mut answers = io::stdout();
    for question in io::stdin().lock().lines() {
        let answer = match parse(&question?) {
            Some((thread, file)) if executes_script_by(thread, file) => YES,
            _ => NO,
        };
        answers.write_all(&[answer])?;
        answers.flush()?;
    }
    Ok(exit::SUCCESS)
}

fn parse(question: &str) -> Option<(u32, FileId)> {
    let mut words = question.split(' ');
    let thread = words.next()?.parse().ok()?;
    let device = words.next()?.parse().ok()?;
    let inode = words.next()?.parse().ok()?;
    Some((thread, FileId { device, inode }))
}
