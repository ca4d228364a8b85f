//! The deferred commands in their serial order: which may run, who waits for which.
//!
//! Pure: it starts nothing and looks at no file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::effects::{Conflict, Effects, Origin, State, Write};
use crate::process::Process;

/// Place of a job in the serial order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JobId(pub(crate) usize);

/// Progress of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Not started.
    Waiting,
    /// Started, not ended.
    Running,
    /// Ended with success. It may still be undone if an earlier one fails.
    Succeeded,
    /// Ended without success, or against what make was told.
    Failed,
}

/// Order in which jobs start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order of the serial build, which needs its first outputs first.
    Serial,
    /// First the jobs that the build waits for, in their serial order too. But their longest chain
    /// begins once it is as long as its share of all of them that wait, if so many run at once:
    /// begun later, it would run alone in the end.
    Awaited { jobs: BTreeSet<JobId>, at_once: usize },
}

/// A deferred command.
#[derive(Debug)]
struct Job {
    effects: Effects,
    /// Size of the sources that it compiles, in bytes: a measure of its time.
    source_size: u64,
    /// The process that started it, or the next one above that has not ended.
    driver: Process,
    progress: Progress,
    /// Earlier jobs that must end first, each with a file that is the reason.
    waits_for: BTreeMap<JobId, PathBuf>,
    /// Earlier jobs with outputs that the job may find by itself.
    may_find: BTreeSet<JobId>,
    /// Promised times of change of its outputs, in the order of its writes.
    times: Vec<Timestamp>,
    /// Outputs of which make was told that they are as the job leaves them.
    told: BTreeSet<PathBuf>,
}

/// A time of change of a file, in nanoseconds since 1970.
pub(crate) type Timestamp = i128;

/// A name that a pending job writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The last job that writes it.
    pub(crate) job: JobId,
    /// The name, or that of a directory above it.
    pub(crate) path: PathBuf,
    /// The state of the name after the job.
    pub(crate) after: State,
    /// The promised time of change.
    pub(crate) time: Timestamp,
    /// The origin of the file.
    pub(crate) origin: Origin,
}

impl Pending {
    /// Whether the name, or one above it, will be a symbolic link.
    pub(crate) fn is_link(&self) -> bool {
        matches!(self.origin, Origin::Link(_))
    }
}

/// An output with what was promised about it.
#[derive(Debug, Clone)]
pub(crate) struct PromisedOutput {
    pub(crate) path: PathBuf,
    /// The state of the name after the job.
    pub(crate) after: State,
    /// The time of change.
    pub(crate) time: Timestamp,
    /// Whether make was told.
    pub(crate) is_told: bool,
    /// The origin of the file.
    pub(crate) origin: Origin,
}

/// All jobs that are not settled. A job is settled when it and all earlier ones have succeeded.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: BTreeMap<JobId, Job>,
    next: usize,
    last_time: Timestamp,
    names: PendingNames,
}

/// File names that unfinished jobs write: most calls of a build concern others.
#[derive(Debug, Default)]
struct PendingNames {
    /// Number of writes of each file name.
    files: HashMap<OsString, usize>,
    /// Number of directories and links that are made: any name may be in one.
    directories: usize,
}

impl PendingNames {
    fn add(&mut self, effects: &Effects) {
        for write in &effects.writes {
            self.directories += usize::from(write.may_be_directory());
            *self.files.entry(file_name(&write.path)).or_default() += 1;
        }
    }

    fn remove(&mut self, effects: &Effects) {
        for write in &effects.writes {
            self.directories -= usize::from(write.may_be_directory());
            let name = file_name(&write.path);
            match self.files.get_mut(&name) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    self.files.remove(&name);
                }
            }
        }
    }

    fn may_include(&self, name: &OsStr) -> bool {
        self.directories > 0 || self.files.contains_key(name)
    }
}

fn file_name(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

impl Jobs {
    /// Adds a command behind all others. `now` is the time of the precise clock.
    ///
    /// Its outputs get times of change after all earlier ones: `now`, or a nanosecond after the
    /// last promised time. `source_size` is the size of its sources in bytes.
    pub(crate) fn defer(
        &mut self,
        mut effects: Effects,
        source_size: u64,
        driver: Process,
        now: Timestamp,
    ) -> JobId {
        let id = JobId(self.next);
        self.next += 1;
        self.names.add(&effects);
        let (mut waits_for, mut may_find) = (BTreeMap::new(), BTreeSet::new());
        for (earlier, job) in &self.jobs {
            if !matches!(job.progress, Progress::Waiting | Progress::Running) {
                continue;
            }
            match effects.conflict(&job.effects) {
                Some(Conflict::Named(path)) => drop(waits_for.insert(*earlier, path.to_owned())),
                Some(Conflict::Found(_)) => drop(may_find.insert(*earlier)),
                None => {}
            }
        }
        let mut times = Vec::new();
        for write in &mut effects.writes {
            // A moved file keeps its time.
            let moved = match &write.origin {
                Origin::Moved(path) => self.pending(path),
                Origin::Command | Origin::Link(_) => None,
            };
            let time = match moved {
                Some(source) => {
                    write.after = source.after;
                    source.time
                }
                None => {
                    self.last_time = now.max(self.last_time + 1);
                    self.last_time
                }
            };
            times.push(time);
        }
        self.jobs.insert(
            id,
            Job {
                effects,
                source_size,
                driver,
                progress: Progress::Waiting,
                waits_for,
                may_find,
                times,
                told: BTreeSet::new(),
            },
        );
        id
    }

    /// Whether no job is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The last job in the serial order.
    pub(crate) fn last(&self) -> Option<JobId> {
        self.jobs.last_key_value().map(|(id, _)| *id)
    }

    /// The last promised time of change.
    pub(crate) fn last_time(&self) -> Timestamp {
        self.last_time
    }

    /// The next job to start, among those that wait for none: all that they follow have succeeded.
    pub(crate) fn next_ready(&self, order: &Order) -> Option<JobId> {
        let has_succeeded =
            |id: &JobId| self.jobs.get(id).is_none_or(|job| job.progress == Progress::Succeeded);
        let is_ready = |job: &Job| job.waits_for.keys().all(has_succeeded);
        let ready = self.waiting().filter(|(_, job)| is_ready(job)).map(|(id, _)| *id);
        let Order::Awaited { jobs, at_once } = order else { return ready.clone().next() };
        let awaited = ready.clone().filter(|id| jobs.contains(id));
        let Some(first) = awaited.clone().next() else { return ready.clone().next() };
        let lengths = self.path_lengths(jobs);
        let length = |id: &JobId| lengths.get(id).copied().unwrap_or_default();
        let waiting = self.waiting().filter(|(id, _)| jobs.contains(id));
        let rest: u64 = waiting.map(|(_, job)| job.source_size).sum();
        // Of equal chains the first in the serial order.
        let longest = awaited.rev().max_by_key(length)?;
        Some(if length(&longest) * *at_once as u64 >= rest { longest } else { first })
    }

    fn waiting(&self) -> impl DoubleEndedIterator<Item = (&JobId, &Job)> + Clone {
        self.jobs.iter().filter(|(_, job)| job.progress == Progress::Waiting)
    }

    /// All jobs that are not settled.
    pub(crate) fn all(&self) -> BTreeSet<JobId> {
        self.jobs.keys().copied().collect()
    }

    /// Some jobs with all that they wait for.
    pub(crate) fn with_predecessors(&self, jobs: impl IntoIterator<Item = JobId>) -> BTreeSet<JobId> {
        let mut found: BTreeSet<JobId> = jobs.into_iter().collect();
        let mut latest = found.last().copied();
        // What a job waits for is earlier.
        while let Some(id) = latest {
            found.extend(self.predecessors(id));
            latest = found.range(..id).next_back().copied();
        }
        found
    }

    /// Length of the longest chain of jobs that begins with each waiting job, among some jobs and
    /// by the sizes of their sources.
    fn path_lengths(&self, jobs: &BTreeSet<JobId>) -> BTreeMap<JobId, u64> {
        let mut lengths: BTreeMap<JobId, u64> = BTreeMap::new();
        for (id, job) in self.waiting().rev().filter(|(id, _)| jobs.contains(id)) {
            // All jobs that follow it are later.
            let length = lengths.entry(*id).or_default();
            *length += job.source_size;
            let length = *length;
            for earlier in job.waits_for.keys() {
                let behind = lengths.entry(*earlier).or_default();
                *behind = length.max(*behind);
            }
        }
        lengths
    }

    /// The earlier jobs that must end before this one starts.
    pub(crate) fn predecessors(&self, id: JobId) -> Vec<JobId> {
        self.jobs.get(&id).map_or_else(Vec::new, |job| job.waits_for.keys().copied().collect())
    }

    /// The first job in the serial order, with its progress.
    pub(crate) fn first(&self) -> Option<(JobId, Progress)> {
        self.jobs.first_key_value().map(|(id, job)| (*id, job.progress))
    }

    pub(crate) fn set_progress(&mut self, id: JobId, progress: Progress) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.progress = progress;
            if progress == Progress::Succeeded {
                self.names.remove(&job.effects);
            }
        }
    }

    /// Notes that make was told about a pending output.
    pub(crate) fn tell(&mut self, id: JobId, path: PathBuf) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.told.insert(path);
        }
    }

    /// Outputs of a job with their promised states, times, and whether make was told.
    pub(crate) fn outputs(&self, id: JobId) -> Vec<PromisedOutput> {
        let Some(job) = self.jobs.get(&id) else { return Vec::new() };
        job.effects
            .writes
            .iter()
            .zip(&job.times)
            .map(|(write, time)| PromisedOutput {
                path: write.path.clone(),
                after: write.after,
                time: *time,
                is_told: job.told.contains(&write.path),
                origin: write.origin.clone(),
            })
            .collect()
    }

    /// Removes a settled job.
    pub(crate) fn settle(&mut self, id: JobId) {
        if let Some(job) = self.jobs.remove(&id)
            && job.progress != Progress::Succeeded
        {
            self.names.remove(&job.effects);
        }
    }

    /// Removes a job and all later ones. Returns the later ones, the last first.
    pub(crate) fn cancel_from(&mut self, id: JobId) -> Vec<JobId> {
        let removed = self.jobs.split_off(&id);
        for job in removed.values().filter(|job| job.progress != Progress::Succeeded) {
            self.names.remove(&job.effects);
        }
        removed.into_keys().rev().filter(|later| *later != id).collect()
    }

    /// The pending write of a name, if one is not finished; the last in the serial order.
    pub(crate) fn pending(&self, path: &Path) -> Option<Pending> {
        if !self.may_write(path.file_name()?) {
            return None;
        }
        self.unfinished().rev().find_map(|(id, job)| {
            // A file in a new directory is written after the directory.
            let index = job.effects.writes.iter().rposition(|write| write.concerns(path))?;
            let write = &job.effects.writes[index];
            Some(Pending {
                job: *id,
                path: write.path.clone(),
                after: write.after,
                time: job.times[index],
                origin: write.origin.clone(),
            })
        })
    }

    /// A pending write with those behind it: the target if the name will be a symbolic link, and so
    /// on. `None` if the last one is a link to a file that is not pending.
    pub(crate) fn pending_chain(&self, first: Pending) -> Option<Vec<Pending>> {
        let mut chain = vec![first];
        while let Origin::Link(target) = &chain.last()?.origin {
            // The links of a circle lead nowhere, and what is behind a link to a directory is not
            // told.
            let next = self.pending(target).filter(|next| next.path == *target && !chain.contains(next))?;
            chain.push(next);
        }
        Some(chain)
    }

    /// Whether a job may find an output of an earlier job that has not ended.
    pub(crate) fn may_find_pending(&self, id: JobId) -> bool {
        let is_unfinished = |earlier: &JobId| {
            self.jobs.get(earlier).is_some_and(|earlier| earlier.progress != Progress::Succeeded)
        };
        self.jobs.get(&id).is_some_and(|job| job.may_find.iter().any(is_unfinished))
    }

    /// Whether an unfinished job before this one writes a name.
    pub(crate) fn is_pending_before(&self, id: JobId, path: &Path) -> bool {
        self.unfinished()
            .take_while(|(earlier, _)| **earlier < id)
            .any(|(_, job)| job.effects.writes.iter().any(|write| write.concerns(path)))
    }

    /// Whether an unfinished job before this one changes a name in a directory.
    pub(crate) fn is_pending_in_before(&self, id: JobId, directory: &Path) -> bool {
        self.unfinished()
            .take_while(|(earlier, _)| **earlier < id)
            .any(|(_, job)| job.effects.writes.iter().any(|write| write.path.parent() == Some(directory)))
    }

    /// The unfinished jobs that change a name in a directory.
    pub(crate) fn pending_in(&self, directory: &Path) -> impl Iterator<Item = JobId> {
        let is_here = |write: &Write| write.path.parent() == Some(directory);
        let here = self.unfinished().filter(move |(_, job)| job.effects.writes.iter().any(is_here));
        here.map(|(id, _)| *id)
    }

    /// Whether a job may be pending whose output has this file name: a quick check before the
    /// resolution of a path.
    pub(crate) fn may_write(&self, name: &OsStr) -> bool {
        self.names.may_include(name)
    }

    /// Whether a command must run after a pending job.
    pub(crate) fn conflicts(&self, effects: &Effects) -> bool {
        self.unfinished().any(|(_, job)| effects.conflict(&job.effects).is_some())
    }

    /// Passes the jobs of a driver that ends before them to its parent.
    pub(crate) fn pass_on(&mut self, driver: Process, parent: Process) {
        for job in self.jobs.values_mut().filter(|job| job.driver == driver) {
            job.driver = parent;
        }
    }

    /// The last unsettled job of a driver.
    pub(crate) fn last_of(&self, driver: Process) -> Option<JobId> {
        self.jobs.iter().rev().find(|(_, job)| job.driver == driver).map(|(id, _)| *id)
    }

    /// Number of jobs that are not settled.
    pub(crate) fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Processes that have unsettled jobs.
    pub(crate) fn drivers(&self) -> BTreeSet<Process> {
        self.jobs.values().map(|job| job.driver).collect()
    }

    /// Number of jobs that have not ended with success.
    pub(crate) fn unfinished_count(&self) -> usize {
        self.unfinished().count()
    }

    fn unfinished(&self) -> impl DoubleEndedIterator<Item = (&JobId, &Job)> {
        self.jobs.iter().filter(|(_, job)| job.progress != Progress::Succeeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::Search;

    const DRIVER: Process = Process(1);

    fn job(reads: &[&str], writes: &[&str]) -> Effects {
        Effects {
            reads: reads.iter().map(PathBuf::from).collect(),
            writes: writes
                .iter()
                .map(|path| Write::new(path.into(), State::Binary { mode: 0o666 }))
                .collect(),
            search: Search::default(),
        }
    }

    #[test]
    fn a_link_starts_after_its_objects_and_before_later_objects() {
        let mut jobs = Jobs::default();
        let a = jobs.defer(job(&["/a.c"], &["/a.o"]), 0, DRIVER, 0);
        let b = jobs.defer(job(&["/b.c"], &["/b.o"]), 0, DRIVER, 0);
        let link = jobs.defer(job(&["/a.o", "/b.o"], &["/p"]), 0, DRIVER, 0);
        let c = jobs.defer(job(&["/c.c"], &["/c.o"]), 0, DRIVER, 0);
        for (expected, then) in [(a, Progress::Running), (b, Progress::Running), (c, Progress::Running)] {
            assert_eq!(jobs.next_ready(&Order::Serial), Some(expected));
            jobs.set_progress(expected, then);
        }
        assert_eq!(jobs.next_ready(&Order::Serial), None);
        jobs.set_progress(b, Progress::Succeeded);
        assert_eq!(jobs.next_ready(&Order::Serial), None);
        jobs.set_progress(a, Progress::Succeeded);
        assert_eq!(jobs.next_ready(&Order::Serial), Some(link));
        assert_eq!(jobs.pending(Path::new("/a.o")), None);
        assert_eq!(jobs.pending(Path::new("/p")).map(|pending| pending.job), Some(link));
    }

    #[test]
    fn at_the_end_a_long_chain_begins_before_it_would_run_alone() {
        let mut jobs = Jobs::default();
        let a = jobs.defer(job(&["/a.c"], &["/a.o"]), 20, DRIVER, 0);
        let b = jobs.defer(job(&["/b.c"], &["/b.o"]), 30, DRIVER, 0);
        let first = jobs.defer(job(&["/c.in"], &["/c.c"]), 20, DRIVER, 0);
        let second = jobs.defer(job(&["/c.c"], &["/c.o"]), 20, DRIVER, 0);
        let link = jobs.defer(job(&["/a.o", "/b.o", "/c.o"], &["/p"]), 0, DRIVER, 0);
        let order = Order::Awaited { jobs: jobs.all(), at_once: 2 };
        // The chain has 40 of 90, then 40 of 70.
        for expected in [a, first, b, second, link] {
            assert_eq!(jobs.next_ready(&order), Some(expected));
            jobs.set_progress(expected, Progress::Succeeded);
        }
        assert_eq!(jobs.next_ready(&order), None);
        let equal = [1, 2].map(|_| jobs.defer(job(&[], &[]), 0, DRIVER, 0));
        let order = Order::Awaited { jobs: jobs.all(), at_once: 2 };
        assert_eq!(jobs.next_ready(&order), Some(equal[0]));
    }

    #[test]
    fn what_the_build_waits_for_starts_before_the_rest() {
        let mut jobs = Jobs::default();
        let other = jobs.defer(job(&["/a.c"], &["/a.o"]), 90, DRIVER, 0);
        let source = jobs.defer(job(&["/b.in"], &["/b.c"]), 5, DRIVER, 0);
        let object = jobs.defer(job(&["/b.c"], &["/b.o"]), 5, DRIVER, 0);
        jobs.defer(job(&["/a.o", "/b.o"], &["/p"]), 0, DRIVER, 0);
        let awaited = jobs.with_predecessors([object]);
        assert_eq!(awaited, BTreeSet::from([source, object]));
        let order = Order::Awaited { jobs: awaited, at_once: 2 };
        for (expected, then) in [(source, Progress::Running), (other, Progress::Running)] {
            assert_eq!(jobs.next_ready(&order), Some(expected));
            jobs.set_progress(expected, then);
        }
        jobs.set_progress(source, Progress::Succeeded);
        assert_eq!(jobs.next_ready(&order), Some(object));
    }

    #[test]
    fn promised_times_keep_the_serial_order_within_one_tick_of_the_clock() {
        let mut jobs = Jobs::default();
        let times: Vec<Timestamp> = ["/a.o", "/b.o", "/c.o"]
            .iter()
            .map(|path| {
                jobs.defer(job(&[], &[path]), 0, DRIVER, 1000);
                jobs.last_time()
            })
            .collect();
        assert_eq!(times, [1000, 1001, 1002]);
        jobs.defer(job(&[], &["/d.o"]), 0, DRIVER, 5000);
        assert_eq!(jobs.last_time(), 5000);
    }

    #[test]
    fn a_moved_file_keeps_the_state_and_the_time_that_were_promised() {
        let mut jobs = Jobs::default();
        jobs.defer(job(&["/a.c"], &["/tmp.o"]), 0, DRIVER, 1000);
        jobs.defer(job(&["/b.c"], &["/b.o"]), 0, DRIVER, 2000);
        let moved =
            Write { origin: Origin::Moved("/tmp.o".into()), ..Write::new("/a.o".into(), State::Other) };
        let absent = Write::new("/tmp.o".into(), State::Absent);
        let effects =
            Effects { reads: vec!["/tmp.o".into()], writes: vec![absent, moved], ..Effects::default() };
        let id = jobs.defer(effects, 0, DRIVER, 3000);
        let pending = jobs.pending(Path::new("/a.o"));
        let facts = pending.map(|pending| (pending.job, pending.after, pending.time));
        assert_eq!(facts, Some((id, State::Binary { mode: 0o666 }, 1000)));
    }

    #[test]
    fn a_promised_link_leads_to_what_is_promised_of_its_target() {
        let mut jobs = Jobs::default();
        let link = |name: &str, target: &str| Effects {
            reads: vec![target.into()],
            writes: vec![Write {
                origin: Origin::Link(target.into()),
                ..Write::new(name.into(), State::Other)
            }],
            ..Effects::default()
        };
        let library = jobs.defer(job(&["/a.o"], &["/liba.so.1"]), 0, DRIVER, 1000);
        jobs.defer(link("/liba.so", "/liba.so.1"), 0, DRIVER, 2000);
        jobs.defer(link("/one", "/two"), 0, DRIVER, 3000);
        jobs.defer(link("/two", "/one"), 0, DRIVER, 4000);
        jobs.defer(link("/old", "/etc/passwd"), 0, DRIVER, 5000);
        let behind = |path: &str| {
            let chain = jobs.pending_chain(jobs.pending(Path::new(path))?)?;
            chain.last().map(|pending| (pending.job, pending.time))
        };
        assert_eq!(behind("/liba.so"), Some((library, 1000)));
        assert_eq!(behind("/liba.so.1"), Some((library, 1000)));
        assert_eq!((behind("/one"), behind("/old")), (None, None));
    }

    #[test]
    fn a_failure_cancels_the_later_jobs_from_the_last() {
        let mut jobs = Jobs::default();
        let ids: Vec<JobId> = ["/a.o", "/b.o", "/c.o", "/d.o"]
            .iter()
            .map(|path| jobs.defer(job(&[], &[path]), 0, DRIVER, 0))
            .collect();
        jobs.settle(ids[0]);
        assert_eq!(jobs.cancel_from(ids[1]), [ids[3], ids[2]]);
        assert!(jobs.is_empty());
    }
}
