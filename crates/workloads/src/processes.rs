//! The processes of a workload: copies of this process that each do a piece of work and return a
//! few numbers.
//!
//! A piece continues at the place of its closure, so that threads and processes share one
//! description of the work. No process outlives its parent, even if the parent is killed.
//! Communication between pieces is left to the workload. Their shared memory is in
//! [`shared`](crate::shared).

use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};

use crate::WorkloadError;

/// First byte of a piece's message, which gives its outcome. The rest is the result or an error
/// message.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const WRONG: u8 = 2;

/// Runs every piece of `work` in its own process and returns the results in order. All other
/// processes are ended if one fails or cannot be started. No process is left over in any case.
pub(crate) fn run<W, const N: usize>(work: Vec<W>) -> Result<Vec<[u64; N]>, WorkloadError>
where
    W: FnOnce() -> Result<[u64; N], WorkloadError>,
{
    let wanted = work.len();
    let mut workers = WorkerProcesses::default();
    for (index, piece) in work.into_iter().enumerate() {
        let error = |source: io::Error| WorkloadError::Process { number: index + 1, wanted, source };
        workers.add(piece).map_err(error)?;
    }
    workers.results()
}

/// Runs `other` in a separate process and `own` in this one at the same time, and returns both
/// results. `own` must end when the other process ends. The end of `own`, for example by a closed
/// pipe, must end the other process.
pub(crate) fn run_pair<const N: usize>(
    own: impl FnOnce() -> Result<[u64; N], WorkloadError>,
    other: impl FnOnce() -> Result<[u64; N], WorkloadError>,
) -> Result<[[u64; N]; 2], WorkloadError> {
    let mut workers = WorkerProcesses::default();
    workers.add(other).map_err(|source| WorkloadError::Process { number: 1, wanted: 1, source })?;
    let own = own();
    // The failure of the other process may be the cause of the failure here.
    let other = workers.results()?;
    Ok([own?, other.into_iter().next().unwrap_or([0; N])])
}

/// Fails if `wanted` processes cannot exist at the same time. The function makes `wanted` processes
/// and ends them at once. The limits (`RLIMIT_NPROC`, the pids.max of each cgroup above) count
/// other processes too, so that the remaining number cannot be read.
///
/// The check is for external programs that retry for long before they report a failure. A compiler
/// that may not start its parts waits 7 s each time (`pex_unix_exec_child` in libiberty), and a
/// configure script takes the failure for an answer.
pub(crate) fn require(wanted: usize) -> Result<(), WorkloadError> {
    let mut started = Vec::new();
    let error = (1..=wanted).find_map(|number| match fork(wait_to_be_killed) {
        Ok(pid) => {
            started.push(pid);
            None
        }
        Err(source) => Some(WorkloadError::Process { number, wanted, source }),
    });
    kill_and_wait(started.iter().copied());
    error.map_or(Ok(()), Err)
}

/// Kills child processes and waits until they are gone.
fn kill_and_wait(pids: impl Iterator<Item = Pid> + Clone) {
    for pid in pids.clone() {
        // An ended process can be signalled until its parent has waited for it.
        let _ = kill_process(pid, Signal::KILL);
    }
    for pid in pids {
        let _ = waitpid(Some(pid), WaitOptions::empty());
    }
}

fn wait_to_be_killed() {
    loop {
        thread::park();
    }
}

/// The running processes. Dropping the value ends those that still run.
#[derive(Default)]
struct WorkerProcesses {
    workers: Vec<WorkerProcess>,
}

struct WorkerProcess {
    pid: Pid,
    pipe: File,
}

impl WorkerProcesses {
    fn add<const N: usize>(
        &mut self,
        piece: impl FnOnce() -> Result<[u64; N], WorkloadError>,
    ) -> io::Result<()> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let pid = fork(|| run_and_report(piece, File::from(writer)))?;
        self.workers.push(WorkerProcess { pid, pipe: File::from(reader) });
        Ok(())
    }

    /// Results of all processes, in order, or the first failure. The first failure returns at once,
    /// since the other processes may wait for the failed one.
    fn results<const N: usize>(mut self) -> Result<Vec<[u64; N]>, WorkloadError> {
        let mut results = vec![None; self.workers.len()];
        while results.iter().any(Option::is_none) {
            for index in self.wait_for_some(&results) {
                let mut message = Vec::new();
                // A killed process sends nothing more.
                let _ = self.workers[index].pipe.read_to_end(&mut message);
                results[index] = Some(parse_result(&message)?);
            }
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Waits for at least one of the processes that have not returned a result.
    fn wait_for_some<T>(&self, results: &[Option<T>]) -> Vec<usize> {
        let open = |index: &usize| results[*index].is_none();
        let pending: Vec<usize> = (0..results.len()).filter(open).collect();
        let mut polled: Vec<_> =
            pending.iter().map(|index| PollFd::new(&self.workers[*index].pipe, PollFlags::IN)).collect();
        match poll(&mut polled, None) {
            Ok(_) => {
                let ready = polled.iter().zip(&pending).filter(|(fd, _)| !fd.revents().is_empty());
                ready.map(|(_, index)| *index).collect()
            }
            // A signal interrupted the call.
            Err(_) => Vec::new(),
        }
    }
}

impl Drop for WorkerProcesses {
    fn drop(&mut self) {
        kill_and_wait(self.workers.iter().map(|worker| worker.pid));
    }
}

/// Body of the process that does a piece of work.
fn run_and_report<const N: usize>(piece: impl FnOnce() -> Result<[u64; N], WorkloadError>, mut writer: File) {
    let result = panic::catch_unwind(AssertUnwindSafe(piece));
    let mut message = Vec::new();
    match result {
        Ok(Ok(numbers)) => {
            message.push(DONE);
            message.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        }
        Ok(Err(error)) => {
            // The wrong result may have been found by a child of this process.
            message.push(if error.is_wrong_result() { WRONG } else { FAILED });
            message.extend(error.to_string().bytes());
        }
        // The panic has printed its reason on standard error.
        Err(_) => {}
    }
    let _ = writer.write_all(&message);
}

/// Result in a process's message.
fn parse_result<const N: usize>(message: &[u8]) -> Result<[u64; N], WorkloadError> {
    let text = |rest: &[u8]| String::from_utf8_lossy(rest).into_owned();
    match message.split_first() {
        Some((&DONE, numbers)) if numbers.len() == 8 * N => {
            let mut result = [0; N];
            for (number, bytes) in result.iter_mut().zip(numbers.chunks_exact(8)) {
                *number = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
            }
            Ok(result)
        }
        Some((&FAILED, reason)) => {
            Err(WorkloadError::ChildFailed { message: text(reason), is_wrong_result: false })
        }
        Some((&WRONG, reason)) => {
            Err(WorkloadError::ChildFailed { message: text(reason), is_wrong_result: true })
        }
        _ => Err(WorkloadError::ChildFailed {
            message: "one of the processes was killed".to_owned(),
            is_wrong_result: false,
        }),
    }
}

/// Forks a process that does `work` and ends, and returns its process ID. The kernel kills the new
/// process if this process ends first.
pub(crate) fn fork(work: impl FnOnce()) -> io::Result<Pid> {
    let parent = getpid();
    fork_detached(move || {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        // The parent may have ended before that was set.
        if getppid() == Some(parent) {
            work();
        }
    })
}

/// Forks a process that does `work` and ends, and returns its process ID. The new process may
/// outlive this process.
pub(crate) fn fork_detached(work: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: the new process has this thread only. It takes no lock that another thread could have
    // held (glibc makes its allocator usable again in a child). It runs `work` to its end and
    // leaves through `_exit`, so that nothing of the original is dropped or flushed twice.
    #[allow(unsafe_code)]
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _ = panic::catch_unwind(AssertUnwindSafe(work));
        // SAFETY: the call ends this process and touches nothing of its memory.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(0)
        }
    }
    Pid::from_raw(pid.max(0)).ok_or_else(io::Error::last_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_from_processes_of_their_own() {
        let work = (0..4).map(|i| move || Ok([i, u64::from(std::process::id())])).collect();
        let results = run(work).unwrap();
        let pids: std::collections::BTreeSet<_> = results.iter().map(|result| result[1]).collect();
        assert_eq!(results.iter().map(|result| result[0]).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(pids.len() == 4 && !pids.contains(&u64::from(std::process::id())));
    }

    #[test]
    fn pieces_may_be_made_of_pieces() {
        let inner = |i: u64| run((0..2).map(move |j| move || Ok([10 * i + j])).collect());
        let outer: Vec<_> =
            (0..2).map(|i| move || inner(i).map(|got: Vec<[u64; 1]>| [got[0][0], got[1][0]])).collect();
        assert_eq!(run(outer).unwrap(), [[0, 1], [10, 11]]);
    }

    #[test]
    fn a_wrong_result_stays_one_through_pieces_of_pieces() {
        let wrong = || WorkloadError::WrongResult { what: "a".into(), expected: "b".into(), got: "c".into() };
        let inner = move || run(vec![move || Err::<[u64; 1], _>(wrong())]).map(|_| [0; 1]);
        let error = run(vec![inner]).unwrap_err();
        assert_eq!((error.to_string(), error.exit_status()), (wrong().to_string(), 1));
        let failed =
            || run(vec![|| Err::<[u64; 1], _>(WorkloadError::CannotRun("x".into()))]).map(|_| [0; 1]);
        assert_eq!(run(vec![failed]).unwrap_err().exit_status(), 2);
    }

    #[test]
    fn a_pair_works_at_the_same_time() {
        let pid = || Ok([u64::from(std::process::id())]);
        let [own, other] = run_pair(pid, pid).unwrap();
        assert_eq!(own, pid().unwrap());
        assert_ne!(own, other);
        let failure = |why: &str| Err::<[u64; 1], _>(WorkloadError::CannotRun(why.to_owned()));
        let error = run_pair(|| failure("own"), || failure("theirs")).unwrap_err();
        assert_eq!(error.to_string(), "theirs");
    }

    #[test]
    fn a_failure_ends_the_others_and_keeps_its_message_and_status() {
        let wrong = || WorkloadError::WrongResult { what: "a".into(), expected: "b".into(), got: "c".into() };
        let piece = |index| {
            move || match index {
                1 => Err(wrong()),
                _ => {
                    std::thread::sleep(std::time::Duration::from_secs(1000));
                    Ok([0])
                }
            }
        };
        let work = vec![piece(0), piece(1)];
        let error = run(work).unwrap_err();
        assert_eq!((error.to_string(), error.exit_status()), (wrong().to_string(), 1));
    }

    #[test]
    fn required_processes_are_gone_afterwards() {
        require(3).unwrap();
        // Even root is bound by this limit, as a user who already has the limit's number of
        // processes.
        let limited = || {
            let nobody = rustix::process::Uid::from_raw(65534);
            if !rustix::process::getuid().is_root() {
                return Ok([1]);
            }
            let limit = rustix::process::Rlimit { current: Some(2), maximum: Some(2) };
            rustix::process::setrlimit(rustix::process::Resource::Nproc, limit).expect("a lower limit");
            rustix::thread::set_thread_uid(nobody).expect("root may become anyone");
            match require(3) {
                Err(error @ WorkloadError::Process { .. }) => {
                    Ok([u64::from(error.to_string().contains("ulimit -u"))])
                }
                _ => Ok([0]),
            }
        };
        assert_eq!(run(vec![limited]).unwrap(), [[1]]);
    }

    #[test]
    fn a_killed_process_is_a_failure() {
        let work = vec![|| {
            let _ = kill_process(getpid(), Signal::KILL);
            Ok([0])
        }];
        assert!(run(work).unwrap_err().to_string().contains("was killed"));
    }
}
