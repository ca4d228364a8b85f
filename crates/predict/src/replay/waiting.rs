//! Objects that threads wait for: tokens, locks, devices. Each serves its waiters first come first
//! served.

use std::collections::VecDeque;

use super::ThreadNumber;

/// Channel: tokens, and the waiting threads with their token counts.
#[derive(Debug, Default)]
pub(super) struct Channel {
    tokens: u64,
    waiting: VecDeque<(ThreadNumber, u64)>,
}

impl Channel {
    pub(super) fn new(tokens: u64) -> Self {
        Self { tokens, waiting: VecDeque::new() }
    }

    /// Takes tokens, or joins the line and returns `false`.
    pub(super) fn take(&mut self, id: ThreadNumber, tokens: u64) -> bool {
        if self.waiting.is_empty() && self.tokens >= tokens {
            self.tokens -= tokens;
            return true;
        }
        self.waiting.push_back((id, tokens));
        false
    }

    /// Removes a thread from the line. Returns the threads that receive their tokens as a result.
    pub(super) fn remove_waiter(&mut self, id: ThreadNumber) -> Vec<ThreadNumber> {
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.put(0)
    }

    /// Adds tokens. Returns the threads that receive their tokens as a result.
    pub(super) fn put(&mut self, tokens: u64) -> Vec<ThreadNumber> {
        self.tokens += tokens;
        let mut released = Vec::new();
        while let Some((id, wanted)) = self.waiting.front().copied()
            && wanted <= self.tokens
        {
            self.tokens -= wanted;
            self.waiting.pop_front();
            released.push(id);
        }
        released
    }
}

/// Lock with its holder and its waiters.
#[derive(Debug, Default)]
pub(super) struct Lock {
    holder: Option<ThreadNumber>,
    waiting: VecDeque<ThreadNumber>,
}

impl Lock {
    pub(super) const fn holder(&self) -> Option<ThreadNumber> {
        self.holder
    }

    /// Whether the thread gets the lock now; otherwise it joins the line.
    pub(super) fn acquire(&mut self, id: ThreadNumber) -> bool {
        match self.holder {
            None => self.holder = Some(id),
            Some(holder) if holder == id => {}
            Some(_) => {
                self.waiting.push_back(id);
                return false;
            }
        }
        true
    }

    /// Releases the lock and returns the next waiter. With `handoff` that waiter holds the lock;
    /// otherwise it may try to take the lock.
    pub(super) fn release(&mut self, handoff: bool) -> Option<ThreadNumber> {
        let next = self.waiting.pop_front();
        self.holder = next.filter(|_| handoff);
        next
    }
}

/// Device with a number of channels, each of which serves one request at a time.
#[derive(Debug)]
pub(super) struct Device {
    /// Number of free channels.
    free_channels: u32,
    /// Waiting threads, with their service times.
    waiting: VecDeque<(ThreadNumber, u64)>,
}

impl Device {
    /// Creates a device with this number of channels, at least one.
    pub(super) fn new(channels: u32) -> Self {
        Self { free_channels: channels.max(1), waiting: VecDeque::new() }
    }

    /// Whether service starts at once; otherwise the thread joins the line.
    pub(super) fn request(&mut self, id: ThreadNumber, time: u64) -> bool {
        let at_once = self.free_channels > 0;
        if at_once {
            self.free_channels -= 1;
        } else {
            self.waiting.push_back((id, time));
        }
        at_once
    }

    /// Ends one service and returns the next request in line.
    pub(super) fn finish_service(&mut self) -> Option<(ThreadNumber, u64)> {
        let next = self.waiting.pop_front();
        self.free_channels += u32::from(next.is_none());
        next
    }
}
