//! `morecores mark --enforce`: keeps every start of a marked program on few CPUs, by any user.
//!
//! Three processes. The `worker` answers the kernel's questions; while it is stopped, the starts of
//! marked programs would wait. The watchdog in this file is therefore apart, in another process
//! group: it ends a worker that is silent, by which all starts go on, and starts another. The
//! `inspector` looks at the starting threads for the worker, because their files may not answer.

mod inspector;
mod worker;

use std::env;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use morecores_machine::cgroup::{Hierarchies, ProgramCpusets};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::marks::Hold;
use super::signals::SignalListener;
use crate::{exit, terminal};

/// A process behind the watchdog. Its name is the value of a hidden option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    Worker,
    /// Worker that uses cpusets.
    CpusetWorker,
    Inspector,
}

/// Time without a heartbeat after which the worker is ended: no start waits longer.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time before another worker is started.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest time before another worker is started, after several were silent.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Common parent of the cpusets of marked programs.
const CPUSETS: &str = "morecores-marks";

/// Runs the watchdog until a signal ends it.
pub(super) fn watch(by_cpuset: bool) -> Result<u8> {
    let hold = hold(by_cpuset)?;
    let status = watch_until_signal(if by_cpuset { Part::CpusetWorker } else { Part::Worker });
    if let Hold::Cpuset(cpusets) = hold {
        cpusets.remove_empty();
    }
    status
}

fn hold(by_cpuset: bool) -> Result<Hold> {
    if !by_cpuset {
        return Ok(Hold::Affinity);
    }
    let cpusets = ProgramCpusets::find(&Hierarchies::read_own(), CPUSETS)
        .context("without --cpuset marks are enforced by the CPU affinity, which a program can change")?;
    Ok(Hold::Cpuset(cpusets))
}

fn watch_until_signal(part: Part) -> Result<u8> {
    let (mut sender, signals) = UnixStream::pair()?;
    let _listener = SignalListener::start(move |_| {
        // A second signal finds the first.
        let _ = sender.write_all(&[0]);
    })?;
    let mut pause = FIRST_PAUSE;
    loop {
        let mut worker = command(part)?.spawn().context("cannot start the enforcement of marks")?;
        let end = watch_worker(&mut worker, &signals);
        // It has nothing to put back: its end lets all starts go on.
        let _ = worker.kill();
        let status = worker.wait()?;
        let next_pause = match end? {
            End::Signal => return Ok(exit::SUCCESS),
            End::BeforeFirstHeartbeat if let Some(status) = refusal(status) => return Ok(status),
            End::BeforeFirstHeartbeat | End::AfterHeartbeats => {
                terminal::note("the enforcement of marks ended unexpectedly; it starts again");
                FIRST_PAUSE
            }
            End::Silent => {
                terminal::note(&format!(
                    "the enforcement of marks did not answer for {} s; for {} s marked programs start on all \
                     CPUs",
                    HEARTBEAT_TIMEOUT.as_secs(),
                    pause.as_secs()
                ));
                LONGEST_PAUSE.min(2 * pause)
            }
        };
        if wait_for(signals.as_fd(), pause)? {
            return Ok(exit::SUCCESS);
        }
        pause = next_pause;
    }
}

/// End of the watch over a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Signal,
    /// It ended before its first heartbeat.
    BeforeFirstHeartbeat,
    AfterHeartbeats,
    Silent,
}

/// Command for a process behind this one, of which the output is read here. Ctrl-Z in a terminal
/// stops the watchdog alone.
fn command(part: Part) -> Result<Command> {
    let program = env::current_exe().context("cannot find this program")?;
    let value = part.to_possible_value().context("no name")?;
    let mut command = Command::new(program);
    command.args(["mark", "--enforce-part", value.get_name()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    Ok(command)
}

fn watch_worker(worker: &mut Child, signals: &UnixStream) -> Result<End> {
    let heartbeats = worker.stdout.take().context("the worker has no output")?;
    let mut has_begun = false;
    loop {
        let mut polled = [PollFd::new(signals, PollFlags::IN), PollFd::new(&heartbeats, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(HEARTBEAT_TIMEOUT)?)) {
            Ok(0) => return Ok(End::Silent),
            Ok(_) if !polled[0].revents().is_empty() => return Ok(End::Signal),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if rustix::io::read(&heartbeats, &mut [0; 64])? == 0 {
            return Ok(if has_begun { End::AfterHeartbeats } else { End::BeforeFirstHeartbeat });
        }
        has_begun = true;
    }
}

/// Exit status of a worker that has told why it cannot begin.
fn refusal(status: ExitStatus) -> Option<u8> {
    status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != exit::SUCCESS)
}

/// Runs a process behind the watchdog.
pub(super) fn run(part: Part) -> Result<u8> {
    match part {
        Part::Worker => worker::work(hold(false)?),
        Part::CpusetWorker => worker::work(hold(true)?),
        Part::Inspector => inspector::inspect(),
    }
}

fn timespec(duration: Duration) -> Result<Timespec> {
    Ok(Timespec::try_from(duration)?)
}

/// Whether a descriptor gets readable within a time.
fn wait_for(descriptor: impl AsFd, time: Duration) -> Result<bool> {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    match poll(&mut polled, Some(&timespec(time)?)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
