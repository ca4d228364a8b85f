//! Who waits for whom, kept up to date with each change of a thread's state, so that at each instant it is known how
//! many blocked threads there are at the end of whose chain stands a kernel lock, a device and so on.
//!
//! Every thread hangs on the one that it waits for, or on a class, or on nothing where it runs. A change costs the
//! length of the chain above the thread, not the number of threads below it. Knows nothing of time and CPUs.

use super::timeline::ThreadId;

/// What absorbs idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    KernelLock,
    UserLock,
    Disk,
    Peer,
    Device,
    Rcu,
    Uninterruptible,
    /// Anything that absorbs none.
    Nothing,
}

impl Class {
    /// What is neither a lock nor a thread: it absorbs after those.
    pub(super) const OUTSIDE: [Self; 5] =
        [Self::Disk, Self::Peer, Self::Device, Self::Rcu, Self::Uninterruptible];
}

/// On what a thread hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    /// It is the end of a chain.
    End,
    Thread(ThreadId),
    Class(Class),
    /// It would hang on this thread, but that one hangs on it.
    Circle(ThreadId),
}

pub(super) struct Forest {
    up: Vec<Up>,
    /// Blocked threads that hang on each thread, itself included.
    blocked: Vec<u32>,
    /// Blocked threads at the end of whose chain a class stands.
    counts: [u32; Class::Nothing as usize + 1],
    /// Threads whose chain is a circle.
    circles: Vec<ThreadId>,
}

impl Forest {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            up: vec![Up::End; threads],
            blocked: vec![0; threads],
            counts: [0; Class::Nothing as usize + 1],
            circles: Vec::new(),
        }
    }

    /// How many blocked threads end at `class`.
    pub(super) const fn count(&self, class: Class) -> u32 {
        self.counts[class as usize]
    }

    /// A thread that is yet to be made waits for the one that will make it.
    pub(super) fn expect(&mut self, child: ThreadId, parent: ThreadId) {
        self.up[child.index()] = Up::Thread(parent);
    }

    /// The thread now waits, for a thread.
    pub(super) fn block_on_thread(&mut self, id: ThreadId, on: ThreadId) {
        self.unhang(id);
        self.blocked[id.index()] += 1;
        self.hang(id, on);
        self.mend();
    }

    /// The thread now waits, for something else.
    pub(super) fn block_on(&mut self, id: ThreadId, class: Class) {
        self.unhang(id);
        self.blocked[id.index()] += 1;
        self.up[id.index()] = Up::Class(class);
        self.counts[class as usize] += self.blocked[id.index()];
        self.mend();
    }

    /// The thread waits no longer.
    pub(super) fn unblock(&mut self, id: ThreadId) {
        self.unhang(id);
        self.blocked[id.index()] -= 1;
        self.mend();
    }

    /// The thread, which did not wait, is the end of its chain.
    pub(super) fn settle(&mut self, id: ThreadId) {
        self.unhang(id);
        self.mend();
    }

    /// Whether the chain above `from` comes to an end without leading over `not_over`.
    fn climb(&self, from: ThreadId, not_over: ThreadId) -> bool {
        let mut at = from;
        loop {
            if at == not_over {
                return false;
            }
            match self.up[at.index()] {
                Up::Thread(above) => at = above,
                Up::End | Up::Class(_) | Up::Circle(_) => return true,
            }
        }
    }

    /// Corrects the counts from `from` to the end of its chain.
    fn add(&mut self, from: ThreadId, change: u32, sign: fn(u32, u32) -> u32) {
        if change == 0 {
            return;
        }
        let mut at = from;
        loop {
            self.blocked[at.index()] = sign(self.blocked[at.index()], change);
            let class = match self.up[at.index()] {
                Up::Thread(above) => {
                    at = above;
                    continue;
                }
                Up::End => return,
                Up::Class(class) => class,
                Up::Circle(_) => Class::Nothing,
            };
            self.counts[class as usize] = sign(self.counts[class as usize], change);
            return;
        }
    }

    fn hang(&mut self, id: ThreadId, on: ThreadId) {
        if self.climb(on, id) {
            self.up[id.index()] = Up::Thread(on);
            self.add(on, self.blocked[id.index()], |a, b| a + b);
        } else {
            self.up[id.index()] = Up::Circle(on);
            self.counts[Class::Nothing as usize] += self.blocked[id.index()];
            self.circles.push(id);
        }
    }

    fn unhang(&mut self, id: ThreadId) {
        match self.up[id.index()] {
            Up::End => {}
            Up::Thread(above) => self.add(above, self.blocked[id.index()], |a, b| a - b),
            Up::Class(class) => self.counts[class as usize] -= self.blocked[id.index()],
            Up::Circle(_) => {
                self.counts[Class::Nothing as usize] -= self.blocked[id.index()];
                self.circles.retain(|other| *other != id);
            }
        }
        self.up[id.index()] = Up::End;
    }

    /// A circle may have been broken elsewhere than where it was cut.
    fn mend(&mut self) {
        for id in std::mem::take(&mut self.circles) {
            if let Up::Circle(on) = self.up[id.index()] {
                self.counts[Class::Nothing as usize] -= self.blocked[id.index()];
                self.up[id.index()] = Up::End;
                self.hang(id, on);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Soft interrupts and workers act late, so that two threads may seem to wait for each other.
    #[test]
    fn a_circle_ends_at_nothing_until_it_is_broken() {
        let [a, b, c, d] = [0, 1, 2, 3].map(ThreadId);
        let mut forest = Forest::new(4);
        forest.block_on_thread(d, a);
        forest.block_on_thread(a, b);
        forest.block_on_thread(b, c);
        forest.block_on_thread(c, a);
        assert_eq!(forest.count(Class::Nothing), 4);
        // Broken elsewhere than where it was closed.
        forest.unblock(b);
        assert_eq!(forest.count(Class::Nothing), 0);
        forest.block_on(b, Class::Disk);
        assert_eq!((forest.count(Class::Disk), forest.count(Class::Nothing)), (4, 0));
        forest.unblock(a);
        assert_eq!(forest.count(Class::Disk), 1);
    }
}
