//! Selection of the command's records among the machine's exit records: the records of tasks whose
//! line of parents leads to this process.
//!
//! This process is the subreaper, and adopts the orphans of the tree. The line of each of the
//! tree's tasks therefore ends here, whatever the order of the exits. A line that leads to another
//! subreaper, or to the init of a PID namespace inside the tree, continues from there.

use std::collections::HashMap;

use super::TreeTimes;
use super::record::ExitRecord;

/// Sums up the records of the tree below process `root`, without the `excluded` processes and their
/// descendants. `records` are in the order of the exits, from before the tree began until after it
/// ended. `parent` returns the parent of a process that still exists.
pub(super) fn sum_tree_times(
    records: &[ExitRecord],
    root: u32,
    excluded: &[u32],
    parent: impl Fn(u32) -> Option<u32>,
) -> TreeTimes {
    let ancestry = Ancestry { records, exits: exits_by_process(records), root, excluded, parent };
    let mut known = vec![None; records.len()];
    let mut times = TreeTimes::default();
    for (index, record) in records.iter().enumerate() {
        if ancestry.is_descendant(index, &mut known) {
            times.user += record.user;
            times.system += record.system;
            times.run += record.run;
            times.tasks += 1;
        }
    }
    times
}

/// Positions of each process's records, ascending.
fn exits_by_process(records: &[ExitRecord]) -> HashMap<u32, Vec<usize>> {
    let mut exits: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        exits.entry(record.tgid).or_default().push(index);
    }
    exits
}

struct Ancestry<'a, P> {
    records: &'a [ExitRecord],
    exits: HashMap<u32, Vec<usize>>,
    root: u32,
    excluded: &'a [u32],
    parent: P,
}

impl<P: Fn(u32) -> Option<u32>> Ancestry<'_, P> {
    /// Whether the line of the record at `index` leads to `root`. The result is stored in `known`
    /// for the whole line.
    fn is_descendant(&self, index: usize, known: &mut [Option<bool>]) -> bool {
        let mut path = Vec::new();
        let mut at = index;
        let is_descendant = loop {
            if let Some(result) = known[at] {
                break result;
            }
            // The preliminary answer is no. It also ends a line that reused numbers have closed
            // into a ring.
            known[at] = Some(false);
            path.push(at);
            let record = &self.records[at];
            if self.excluded.contains(&record.tgid) {
                break false;
            }
            match self.find_exit(record.ppid, at) {
                _ if record.ppid == self.root => break true,
                Some(next) => at = next,
                None => break self.is_living_descendant(record.ppid),
            }
        };
        path.into_iter().for_each(|at| known[at] = Some(is_descendant));
        is_descendant
    }

    /// Exit of the process `pid` that existed when the task at `index` exited: the next exit of
    /// that number, not the exit of an earlier process with it. `None` if the process still lives.
    /// If the process is in the middle of its own exit, the result is its last exit before `index`.
    fn find_exit(&self, pid: u32, index: usize) -> Option<usize> {
        let exits = self.exits.get(&pid)?;
        let later = exits.partition_point(|exit| *exit <= index);
        let last_before = || exits.last().copied().filter(|_| (self.parent)(pid).is_none());
        exits.get(later).copied().or_else(last_before)
    }

    fn is_living_descendant(&self, mut pid: u32) -> bool {
        loop {
            if pid == self.root {
                return true;
            }
            match (self.parent)(pid) {
                Some(parent) if !self.excluded.contains(&pid) && parent != pid => pid = parent,
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::Nanos;

    const US: u32 = 100;

    /// A record of a task that used 1 ns of system time.
    fn thread(pid: u32, tgid: u32, ppid: u32) -> ExitRecord {
        ExitRecord { pid, tgid, ppid, user: Nanos(0), system: Nanos(1), run: Nanos(2) }
    }

    fn exit(pid: u32, ppid: u32) -> ExitRecord {
        thread(pid, pid, ppid)
    }

    fn tasks(records: &[ExitRecord], excluded: &[u32], living: &[(u32, u32)]) -> usize {
        let parent = |pid| living.iter().find(|(living, _)| *living == pid).map(|(_, parent)| *parent);
        let times = sum_tree_times(records, US, excluded, parent);
        assert_eq!((times.system, times.run), (Nanos(times.tasks as u64), Nanos(2 * times.tasks as u64)));
        times.tasks
    }

    #[test]
    fn only_descendants_belong_to_the_tree() {
        let records = [exit(203, 202), exit(900, 1), exit(202, 201), exit(901, 900), exit(201, US)];
        assert_eq!(tasks(&records, &[], &[]), 3);
        assert_eq!(tasks(&[], &[], &[]), 0);
    }

    #[test]
    fn orphans_belong_to_this_process() {
        // 202's parent was gone. 203's parent was in the middle of its exit, and its record had
        // already been sent.
        assert_eq!(tasks(&[exit(201, US), exit(202, US)], &[], &[]), 2);
        assert_eq!(tasks(&[exit(201, US), exit(203, 201)], &[], &[]), 2);
    }

    #[test]
    fn threads_belong_to_their_process() {
        // The leader exits first, then a child of the process, then the process's last thread.
        let records = [exit(201, US), exit(301, 201), exit(302, 301), thread(202, 201, US)];
        assert_eq!(tasks(&records, &[], &[]), 4);
    }

    #[test]
    fn a_reused_number_means_the_process_of_that_time() {
        // Number 300 first belonged to another program, and later to the tree.
        let reused = [exit(401, 300), exit(300, 1), exit(402, 300), exit(300, US)];
        assert_eq!(tasks(&reused, &[], &[(1, 0)]), 2);
        // The reverse case: the other program is still alive.
        assert_eq!(tasks(&[exit(402, 300), exit(300, US), exit(401, 300)], &[], &[(300, 1), (1, 0)]), 2);
        // Two records name each other as parents, which no valid order of exits can produce.
        assert_eq!(tasks(&[exit(300, 301), exit(301, 300)], &[], &[]), 0);
    }

    #[test]
    fn living_processes_connect_lines_and_spared_ones_cut_them() {
        let living = [(201, US), (202, 201), (US, 1), (1, 0)];
        assert_eq!(tasks(&[exit(300, 202), exit(301, 1), exit(302, 77)], &[], &living), 1);
        assert_eq!(tasks(&[exit(300, 202)], &[201], &living), 0);
        assert_eq!(tasks(&[exit(300, 202), exit(202, 201), exit(201, US)], &[201], &[]), 0);
        assert_eq!(tasks(&[exit(99, 1), thread(US, US, 1)], &[], &living), 0, "we are not the tree");
    }

    #[test]
    fn a_long_chain_of_processes_needs_no_deep_stack() {
        let mut records: Vec<_> = (1..100_000).map(|i| exit(1_000 + i, 999 + i)).rev().collect();
        records.push(exit(1_000, US));
        assert_eq!(tasks(&records, &[], &[]), 100_000);
    }
}
