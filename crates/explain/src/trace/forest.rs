//! The waiting relation between threads, updated at each change of a thread's state. At each
//! instant it gives the number of blocked threads whose chain ends at a kernel lock, at a device
//! and so on.
//!
//! Every thread hangs on the thread that it waits for, on a class, or on nothing while it runs. The
//! cost of a change is proportional to the length of the chain above the thread, not to the number
//! of threads below it. This module knows neither time nor CPUs.

use super::timeline::ThreadId;

/// Class of causes that absorb idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    KernelLock,
    UserLock,
    Disk,
    Peer,
    Device,
    Rcu,
    Uninterruptible,
    /// Any cause that absorbs no idle CPU.
    Nothing,
}

impl Class {
    /// Classes that are neither a lock nor a thread. They absorb after those.
    pub(super) const OUTSIDE: [Self; 5] =
        [Self::Disk, Self::Peer, Self::Device, Self::Rcu, Self::Uninterruptible];
}

/// Parent of a thread in the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    /// The thread is the end of a chain.
    End,
    Thread(ThreadId),
    Class(Class),
    /// The thread would hang on this thread, but this thread hangs on it.
    Circle(ThreadId),
}

pub(super) struct Forest {
    up: Vec<Up>,
    /// Number of blocked threads that hang on each thread, itself included.
    blocked: Vec<u32>,
    /// Number of blocked threads whose chain ends at each class.
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

    /// Number of blocked threads whose chain ends at `class`.
    pub(super) const fn count(&self, class: Class) -> u32 {
        self.counts[class as usize]
    }

    /// Makes a thread that does not exist yet wait for the thread that will make it.
    pub(super) fn expect(&mut self, child: ThreadId, parent: ThreadId) {
        self.up[child.index()] = Up::Thread(parent);
    }

    /// Makes the thread wait for another thread.
    pub(super) fn block_on_thread(&mut self, id: ThreadId, on: ThreadId) {
        self.unhang(id);
        self.blocked[id.index()] += 1;
        self.hang(id, on);
        self.mend();
    }

    /// Makes the thread wait for a class.
    pub(super) fn block_on(&mut self, id: ThreadId, class: Class) {
        self.unhang(id);
        self.blocked[id.index()] += 1;
        self.up[id.index()] = Up::Class(class);
        self.counts[class as usize] += self.blocked[id.index()];
        self.mend();
    }

    /// Ends the thread's wait.
    pub(super) fn unblock(&mut self, id: ThreadId) {
        self.unhang(id);
        self.blocked[id.index()] -= 1;
        self.mend();
    }

    /// Makes a thread that did not wait the end of its chain.
    pub(super) fn settle(&mut self, id: ThreadId) {
        self.unhang(id);
        self.mend();
    }

    /// Whether the chain above `from` ends without passing `not_over`.
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

    /// Reconnects circles, because a circle may have been broken at another thread than the one
    /// where it was cut.
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
        // The circle is broken at another thread than the one that closed it.
        forest.unblock(b);
        assert_eq!(forest.count(Class::Nothing), 0);
        forest.block_on(b, Class::Disk);
        assert_eq!((forest.count(Class::Disk), forest.count(Class::Nothing)), (4, 0));
        forest.unblock(a);
        assert_eq!(forest.count(Class::Disk), 1);
    }
}
