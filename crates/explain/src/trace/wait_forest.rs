//! The waiting relation between threads, updated at each change of a thread's state. At each
//! instant it gives the number of blocked threads whose chain ends at a kernel lock, at a device
//! and so on.
//!
//! Every thread is attached to the thread that it waits for, to a class, or to nothing while it
//! runs. The cost of a change is proportional to the length of the chain above the thread, not to
//! the number of threads below it. This module knows neither time nor CPUs.

use super::timeline::ThreadId;

/// Class of causes that absorb idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CauseClass {
    KernelLock,
    UserLock,
    Disk,
    Peer,
    Device,
    Rcu,
    Uninterruptible,
    /// Any cause that absorbs no idle CPU.
    Other,
}

impl CauseClass {
    /// Classes that are neither a lock nor a thread. They absorb after those.
    pub(super) const OUTSIDE: [Self; 5] =
        [Self::Disk, Self::Peer, Self::Device, Self::Rcu, Self::Uninterruptible];
}

/// Parent of a thread in the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    /// The thread is the end of a chain.
    None,
    Thread(ThreadId),
    Class(CauseClass),
    /// The thread would be attached to this thread, but this thread is attached to it.
    Cycle(ThreadId),
}

pub(super) struct WaitForest {
    parents: Vec<Parent>,
    /// Number of blocked threads that are attached to each thread, itself included.
    blocked_below: Vec<u32>,
    /// Number of blocked threads whose chain ends at each class.
    counts: [u32; CauseClass::Other as usize + 1],
    /// Threads whose chain is a cycle.
    cycles: Vec<ThreadId>,
}

impl WaitForest {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            parents: vec![Parent::None; threads],
            blocked_below: vec![0; threads],
            counts: [0; CauseClass::Other as usize + 1],
            cycles: Vec::new(),
        }
    }

    /// Number of blocked threads whose chain ends at `class`.
    pub(super) const fn count(&self, class: CauseClass) -> u32 {
        self.counts[class as usize]
    }

    /// Makes a thread that does not exist yet wait for its creator.
    pub(super) fn add_unborn(&mut self, child: ThreadId, parent: ThreadId) {
        self.parents[child.index()] = Parent::Thread(parent);
    }

    /// Makes the thread wait for another thread.
    pub(super) fn block_on_thread(&mut self, id: ThreadId, on: ThreadId) {
        self.detach(id);
        self.blocked_below[id.index()] += 1;
        self.attach(id, on);
        self.reconnect_cycles();
    }

    /// Makes the thread wait for a class.
    pub(super) fn block_on_class(&mut self, id: ThreadId, class: CauseClass) {
        self.detach(id);
        self.blocked_below[id.index()] += 1;
        self.parents[id.index()] = Parent::Class(class);
        self.counts[class as usize] += self.blocked_below[id.index()];
        self.reconnect_cycles();
    }

    /// Ends the thread's wait.
    pub(super) fn unblock(&mut self, id: ThreadId) {
        self.detach(id);
        self.blocked_below[id.index()] -= 1;
        self.reconnect_cycles();
    }

    /// Makes a thread that did not wait the end of its chain.
    pub(super) fn make_root(&mut self, id: ThreadId) {
        self.detach(id);
        self.reconnect_cycles();
    }

    /// Whether the chain above `start` ends without passing `avoided`.
    fn chain_avoids(&self, start: ThreadId, avoided: ThreadId) -> bool {
        let mut at = start;
        loop {
            if at == avoided {
                return false;
            }
            match self.parents[at.index()] {
                Parent::Thread(above) => at = above,
                Parent::None | Parent::Class(_) | Parent::Cycle(_) => return true,
            }
        }
    }

    /// Corrects the counts from `start` to the end of its chain.
    fn adjust_counts(&mut self, start: ThreadId, change: u32, adjust: fn(u32, u32) -> u32) {
        if change == 0 {
            return;
        }
        let mut at = start;
        loop {
            self.blocked_below[at.index()] = adjust(self.blocked_below[at.index()], change);
            let class = match self.parents[at.index()] {
                Parent::Thread(above) => {
                    at = above;
                    continue;
                }
                Parent::None => return,
                Parent::Class(class) => class,
                Parent::Cycle(_) => CauseClass::Other,
            };
            self.counts[class as usize] = adjust(self.counts[class as usize], change);
            return;
        }
    }

    fn attach(&mut self, id: ThreadId, on: ThreadId) {
        if self.chain_avoids(on, id) {
            self.parents[id.index()] = Parent::Thread(on);
            self.adjust_counts(on, self.blocked_below[id.index()], |a, b| a + b);
        } else {
            self.parents[id.index()] = Parent::Cycle(on);
            self.counts[CauseClass::Other as usize] += self.blocked_below[id.index()];
            self.cycles.push(id);
        }
    }

    fn detach(&mut self, id: ThreadId) {
        match self.parents[id.index()] {
            Parent::None => {}
            Parent::Thread(above) => self.adjust_counts(above, self.blocked_below[id.index()], |a, b| a - b),
            Parent::Class(class) => self.counts[class as usize] -= self.blocked_below[id.index()],
            Parent::Cycle(_) => {
                self.counts[CauseClass::Other as usize] -= self.blocked_below[id.index()];
                self.cycles.retain(|other| *other != id);
            }
        }
        self.parents[id.index()] = Parent::None;
    }

    /// Reconnects cycles, because a cycle may have been broken at another thread than the one
    /// where it was cut.
    fn reconnect_cycles(&mut self) {
        for id in std::mem::take(&mut self.cycles) {
            if let Parent::Cycle(on) = self.parents[id.index()] {
                self.counts[CauseClass::Other as usize] -= self.blocked_below[id.index()];
                self.parents[id.index()] = Parent::None;
                self.attach(id, on);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Soft interrupts and workers act late, so that two threads may seem to wait for each other.
    #[test]
    fn a_cycle_has_no_class_until_it_is_broken() {
        let [a, b, c, d] = [0, 1, 2, 3].map(ThreadId);
        let mut forest = WaitForest::new(4);
        forest.block_on_thread(d, a);
        forest.block_on_thread(a, b);
        forest.block_on_thread(b, c);
        forest.block_on_thread(c, a);
        assert_eq!(forest.count(CauseClass::Other), 4);
        // The cycle is broken at another thread than the one that closed it.
        forest.unblock(b);
        assert_eq!(forest.count(CauseClass::Other), 0);
        forest.block_on_class(b, CauseClass::Disk);
        assert_eq!((forest.count(CauseClass::Disk), forest.count(CauseClass::Other)), (4, 0));
        forest.unblock(a);
        assert_eq!(forest.count(CauseClass::Disk), 1);
    }
}
