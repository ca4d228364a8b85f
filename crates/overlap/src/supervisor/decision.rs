//! The decision about one call of the build: it goes on, it waits, or its command is deferred.
//!
//! A decision can be made again at any time: it depends on the call and the pending jobs alone.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Supervisor;
use super::observation::is_make;
use crate::calls::{Call, PathArgument, decode};
use crate::disk::{MAX_LINKS, canonical, coarse_now, is_of_kernel};
use crate::effects::{Effects, State, Write};
use crate::jobs::{JobId, Pending};
use crate::listener::{Answer, Notification};
use crate::process::Process;
use crate::promise;
use crate::recipe::absolute;
use crate::record::WaitReason;
use crate::tracee::Tracee;

/// Folders with the sockets of programs that tell the names of users, and note nothing.
const NAME_SERVICES: &[&str] = &["/run/nscd", "/var/run/nscd", "/run/systemd/userdb", "/var/lib/sss/pipes"];

/// Decision about a call.
#[derive(Debug)]
pub(super) enum Decision {
    /// It is answered.
    Answer(Answer),
    /// It waits.
    Hold(WaitReason),
    /// Its command is deferred, and its process ends.
    Deferred,
    /// It is made again, with another argument.
    Repeated,
}

/// The kernel performs the call.
pub(super) const CONTINUE: Decision = Decision::Answer(Answer::Continue);

impl Supervisor {
    pub(super) fn decide(&mut self, call: &Notification) -> io::Result<Decision> {
        let process = Process(call.pid);
        if let Some(series) = &mut self.series {
            series.observe(self.started.elapsed(), call);
        }
        match decode(call) {
            Call::Execute { path, arguments, environment } => {
                self.execute(call, path, arguments, environment)
            }
            Call::Exit { status } => self.exit(process, status),
            Call::Wait { status } => Ok(self.wait(process, status)),
            Call::Look { .. } | Call::Open { .. } | Call::List { .. } | Call::Read
                if self.jobs.is_empty() =>
            {
                Ok(CONTINUE)
            }
            Call::OpenToWrite { .. }
            | Call::MakeDirectory { .. }
            | Call::MakeName { .. }
            | Call::Change { .. }
            | Call::Rename { .. }
                if self.jobs.is_empty() && self.series.is_none() =>
            {
                Ok(self.settled())
            }
            Call::Look { path, follows_links, stat } => Ok(self.look(process, path, follows_links, stat)),
            Call::Open { path, follows_links } => Ok(self.look(process, path, follows_links, None)),
            Call::List { descriptor } => Ok(self.list(process, descriptor)),
            Call::MakeDirectory { path } => Ok(self.make_directory(process, path)),
            Call::OpenToWrite { path, flags } => Ok(self.open_to_write(process, path, flags)),
            Call::MakeName { path } => Ok(self.write(process, path, |path| path.symlink_metadata().is_err())),
            Call::Read => Ok(self.read_input(process)),
            Call::Connect { address } => Ok(self.connect(process, address)),
            Call::Change { path } | Call::Rename { from: path, .. } => {
                Ok(self.write(process, path, |path| path.symlink_metadata().is_ok()))
            }
            Call::Signal { target } => self.signal(process, target),
            Call::Ring => {
                self.passed_through.get_or_insert("a program uses io_uring, whose files cannot be seen");
                Ok(CONTINUE)
            }
            Call::Other => Ok(CONTINUE),
        }
    }

    /// The pending write of the file that a path leads to.
    pub(super) fn pending(&self, path: &Path, follows_links: bool) -> Option<Pending> {
        self.find_pending(path, follows_links, |path| self.jobs.pending(path))
    }

    /// The first result of `find` for a path or for what it leads to.
    fn find_pending<T>(
        &self,
        path: &Path,
        follows_links: bool,
        find: impl Fn(&Path) -> Option<T>,
    ) -> Option<T> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let name = path.file_name()?;
            let link = if follows_links { std::fs::read_link(&path).ok() } else { None };
            if self.jobs.may_write(name)
                && let Some(pending) = find(&canonical(&path))
            {
                return Some(pending);
            }
            path = absolute(path.parent()?, link?.as_os_str());
        }
        None
    }

    /// Whether a call of a running job must wait: it looks at an output of an earlier job, which it
    /// found by itself.
    pub(super) fn must_wait_in_job(&self, id: JobId, call: &Notification) -> bool {
        let process = Process(call.pid);
        let is_pending = |path: PathArgument, follows_links: bool| {
            let writes = |path: &Path| self.jobs.is_pending_before(id, path).then_some(());
            let path = process.resolve(path);
            path.is_some_and(|path| self.find_pending(&path, follows_links, writes).is_some())
        };
        match decode(call) {
            Call::Look { path, follows_links, .. } | Call::Open { path, follows_links } => {
                is_pending(path, follows_links)
            }
            Call::OpenToWrite { path, .. }
            | Call::MakeDirectory { path }
            | Call::MakeName { path }
            | Call::Change { path } => is_pending(path, true),
            Call::Rename { from, to } => is_pending(from, false) || is_pending(to, false),
            Call::List { descriptor } => {
                let directory = process.descriptor(descriptor);
                directory.is_some_and(|directory| self.jobs.is_pending_in_before(id, &directory))
            }
            _ => false,
        }
    }

    fn look(
        &mut self,
        process: Process,
        path: PathArgument,
        follows_links: bool,
        stat: Option<u64>,
    ) -> Decision {
        let Some(path) = process.resolve(path) else { return CONTINUE };
        let Some(pending) = self.pending(&path, follows_links) else { return CONTINUE };
        // Only make asks for nothing but the time of a target.
        if let Some(buffer) = stat
            && process.program().is_some_and(|program| is_make(&program))
            && let Some(chain) = self.promised_chain(&path, pending, follows_links)
            && let Some(answer) = chain.last().and_then(|last| promise::answer(process, last, buffer))
        {
            for told in chain {
                self.jobs.tell(told.job, told.path);
            }
            return Decision::Answer(answer);
        }
        Decision::Hold(WaitReason::File(path))
    }

    /// The pending writes on which the answer about a name depends; `None` if only the real file
    /// can tell.
    fn promised_chain(&self, path: &Path, pending: Pending, follows_links: bool) -> Option<Vec<Pending>> {
        if !pending.is_link() {
            return Some(vec![pending]);
        }
        // Not for a name below the link, or one that leads to it.
        let is_link_itself = pending.path == canonical(path);
        if follows_links && is_link_itself { self.jobs.pending_chain(pending) } else { None }
    }

    /// A read of the standard input. Positions in files are put back after a failure. What was read
    /// from a pipe or a terminal is gone, which matters if a driver reads it too.
    fn read_input(&self, process: Process) -> Decision {
        let is_stream = |path: &PathBuf| path != Path::new("/dev/null") && !path.is_file();
        let Some(input) = process.descriptor(0).filter(is_stream) else { return CONTINUE };
        let is_of_driver = |driver: Process| driver.descriptor(0).as_ref() == Some(&input);
        if self.jobs.drivers().into_iter().any(is_of_driver) {
            Decision::Hold(WaitReason::Input)
        } else {
            CONTINUE
        }
    }

    /// Reaches another program, which may tell anybody that the build has come so far.
    fn connect(&mut self, process: Process, address: u64) -> Decision {
        let mut family = [0; 2];
        process.read(address, &mut family);
        let reaches_other = match i32::from(u16::from_ne_bytes(family)) {
            libc::AF_INET | libc::AF_INET6 | libc::AF_VSOCK => true,
            libc::AF_UNIX => {
                let name = PathArgument { directory: libc::AT_FDCWD, address: address + family.len() as u64 };
                // A name without a path begins with a zero byte.
                let only_answers = |path: &Path| NAME_SERVICES.iter().any(|folder| path.starts_with(folder));
                process.resolve(name).is_none_or(|path| path.exists() && !only_answers(&path))
            }
            _ => false,
        };
        if !reaches_other {
            return CONTINUE;
        }
        self.after_all(WaitReason::Connection)
    }

    /// Sends a signal. One to a process for which a copy goes on reaches the copy.
    fn signal(&mut self, process: Process, target: Option<i32>) -> io::Result<Decision> {
        let decision = self.after_all(WaitReason::Signal);
        let copy = target.and_then(|target| self.copy_for(Process(target)));
        match (decision, copy) {
            (Decision::Answer(Answer::Continue), Some(copy)) => {
                // It may be killed just now.
                let Ok(caller) = Tracee::seize(process) else { return Ok(CONTINUE) };
                if caller.wait_for_stop().is_ok() {
                    caller.set_first_argument(copy.0 as u64)?;
                }
                Ok(Decision::Repeated)
            }
            (decision, _) => Ok(decision),
        }
    }

    /// Lets an effect that cannot be taken back go on once all jobs have ended.
    fn after_all(&mut self, reason: WaitReason) -> Decision {
        if !self.jobs.is_empty() {
            return Decision::Hold(reason);
        }
        if let Some(series) = &mut self.series {
            series.need_all(self.started.elapsed());
        }
        CONTINUE
    }

    fn list(&self, process: Process, descriptor: i32) -> Decision {
        let directory = process.descriptor(descriptor);
        match directory.filter(|directory| self.jobs.pending_in(directory).next().is_some()) {
            Some(directory) => Decision::Hold(WaitReason::Directory(directory)),
            None => CONTINUE,
        }
    }

    /// A directory that a compiler finds changes nothing for it until files are in it.
    fn make_directory(&mut self, process: Process, path: PathArgument) -> Decision {
        let Some((id, path)) = self.last_job().zip(process.resolve(path)) else { return self.settled() };
        let path = canonical(&path);
        if self.jobs.pending(&path).is_some() {
            return Decision::Hold(WaitReason::File(path));
        }
        if path.symlink_metadata().is_err() {
            self.made.push((id, path));
        }
        CONTINUE
    }

    fn open_to_write(&mut self, process: Process, path: PathArgument, flags: i32) -> Decision {
        let Some(path) = process.resolve(path) else { return CONTINUE };
        if is_of_kernel(&path) {
            return CONTINUE;
        }
        let found = path.metadata();
        let is_device = found.as_ref().is_ok_and(|found| {
            let kind = found.file_type();
            kind.is_char_device() || kind.is_socket()
        });
        let fails = match &found {
            Ok(found) => {
                flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL || found.is_dir()
            }
            Err(_) => flags & libc::O_CREAT == 0 || path.parent().is_none_or(|parent| !parent.is_dir()),
        };
        if is_device || (fails && self.pending(&path, true).is_none()) {
            return CONTINUE;
        }
        // A new file with a random name, which no pending command can look for.
        let is_new = found.is_err() && flags & libc::O_EXCL != 0;
        let is_free = !self.jobs.conflicts(&Effects {
            writes: vec![Write::new(path.clone(), State::Text { mode: 0o666 })],
            ..Effects::default()
        });
        let is_temporary = is_free && is_new && is_temporary(&path, process);
        let Some(id) = self.last_job() else {
            return if is_temporary { self.settled() } else { self.change() };
        };
        if is_temporary {
            self.made.push((id, path));
            return CONTINUE;
        }
        if is_free && self.made.iter().any(|(_, made)| *made == path) {
            return CONTINUE;
        }
        Decision::Hold(WaitReason::Write(path))
    }

    /// A change of a name, which has an effect if `matters` says so of the name.
    fn write(&mut self, process: Process, path: PathArgument, matters: fn(&Path) -> bool) -> Decision {
        let Some(path) = process.resolve(path) else { return CONTINUE };
        if !matters(&path) && self.pending(&path, false).is_none() {
            return CONTINUE;
        }
        if self.jobs.is_empty() {
            return self.change();
        }
        Decision::Hold(WaitReason::Write(path))
    }

    /// Lets a change of a file go on that nothing pending may read.
    fn change(&mut self) -> Decision {
        if let Some(series) = &mut self.series {
            series.need_all(self.started.elapsed());
        }
        self.settled()
    }

    /// Lets a write go on once the clock has passed every promised time, so that its file is newer.
    fn settled(&self) -> Decision {
        while coarse_now() <= self.jobs.last_time() {
            std::thread::sleep(Duration::from_micros(500));
        }
        CONTINUE
    }

    pub(super) fn wait(&mut self, process: Process, status: u64) -> Decision {
        let answer = self.successors.get_mut(&process).and_then(|successor| successor.answer.take());
        match answer {
            Some((child, value)) if status == 0 || process.write(status, &value.to_ne_bytes()).is_ok() => {
                Decision::Answer(Answer::Return(i64::from(child.0)))
            }
            _ => CONTINUE,
        }
    }
}

/// Whether a file lies in the folder for temporary files, and not in the tree that is built.
fn is_temporary(path: &Path, process: Process) -> bool {
    let folder = std::env::temp_dir();
    path.parent() == Some(&folder) && process.directory().is_some_and(|directory| directory != folder)
}
