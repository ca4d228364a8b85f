//! The end of a build before its time, after a signal or an error: everything ends, and outputs of
//! unfinished commands are put back. Copies that go on after a failure are told of the ends below
//! them as in a serial run, so that their traps run.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::Supervisor;
use super::decision::{CONTINUE, Decision};
use crate::calls::{Call, decode};
use crate::listener::{Answer, Notification};
use crate::process::Process;

/// Time that processes get to end after a signal, before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// Time between two looks at the first process.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

impl Supervisor {
    /// Ends the build, its deferred commands and the stopped copies.
    pub(super) fn end_everything(&mut self, signal: Option<Signal>) {
        let signal = signal.unwrap_or(Signal::TERM);
        self.ending = Some(signal);
        for running in self.running.values() {
            running.signal(signal);
        }
        let mut signalled = self.processes();
        signalled.retain(|process| !self.copies.contains(process));
        for process in &signalled {
            process.signal(signal);
        }
        let deadline = Instant::now() + GRACE;
        for held in std::mem::take(&mut self.held) {
            self.answer_at_end(&held.call);
        }
        while Instant::now() < deadline && !(signalled.is_empty() && self.successors.is_empty()) {
            if self.serve_end().is_err() {
                break;
            }
            signalled.retain(|process| process.is_alive());
        }
        for process in self.processes().into_iter().chain(signalled) {
            process.kill();
        }
        let exits = std::mem::take(&mut self.early_exits).into_iter().map(|exit| exit.checkpoint);
        for checkpoint in std::mem::take(&mut self.checkpoints).into_values().chain(exits) {
            checkpoint.copy.discard();
        }
        for (_, successor) in self.successors.drain() {
            successor.replaced.discard();
        }
        // What was finished out of order stays; what was under way is as before.
        for (_, running) in std::mem::take(&mut self.running) {
            let _ = running.undo();
        }
        let _ = self.build.root.wait();
        let _ = self.build.output.drain();
    }

    /// Waits a moment for a call or for the end of a copy.
    fn serve_end(&mut self) -> io::Result<()> {
        let successors = self.successors.values().map(|successor| &successor.descriptor);
        let mut polled = vec![PollFd::new(&self.build.listener, PollFlags::IN)];
        polled.extend(successors.map(|descriptor| PollFd::new(descriptor, PollFlags::IN)));
        poll(&mut polled, Some(&TICK))?;
        let is_call = polled[0].revents().contains(PollFlags::IN);
        let has_ended = |polled: &PollFd| !polled.revents().is_empty();
        let ended: Vec<Process> = self
            .successors
            .keys()
            .copied()
            .zip(&polled[1..])
            .filter(|(_, polled)| has_ended(polled))
            .map(|(process, _)| process)
            .collect();
        for process in ended {
            self.end_killed_successor(process)?;
        }
        if is_call && let Some(call) = self.build.listener.receive() {
            self.answer_at_end(&call);
        }
        Ok(())
    }

    /// Answers a call of a process that goes on to end. Nothing waits any more.
    fn answer_at_end(&mut self, call: &Notification) {
        let process = Process(call.pid);
        let decision = match decode(call) {
            // An error leaves processes to be killed.
            Call::Exit { status } => {
                let _ = self.end_successor(process, (status & 0xff) << 8);
                CONTINUE
            }
            Call::Wait { status } => self.wait(process, status),
            _ => CONTINUE,
        };
        let answer = if let Decision::Answer(answer) = decision { answer } else { Answer::Continue };
        self.build.listener.answer(call, answer);
    }
}
