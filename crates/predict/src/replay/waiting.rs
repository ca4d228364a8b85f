//! What threads wait for: tokens, locks, devices. Who comes first is served first.

use std::collections::VecDeque;

use super::Id;

/// A channel: tokens, and who waits for how many of them.
#[derive(Debug, Default)]
pub(super) struct Line {
    tokens: u64,
    waiting: VecDeque<(Id, u64)>,
}

impl Line {
    pub(super) fn with(tokens: u64) -> Self {
        Self { tokens, waiting: VecDeque::new() }
    }

    /// Takes so many, or stands in line.
    pub(super) fn take(&mut self, id: Id, tokens: u64) -> bool {
        if self.waiting.is_empty() && self.tokens >= tokens {
            self.tokens -= tokens;
            return true;
        }
        self.waiting.push_back((id, tokens));
        false
    }

    /// Takes somebody out of the line, and who has its tokens by that.
    pub(super) fn forget(&mut self, id: Id) -> Vec<Id> {
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.put(0)
    }

    /// Puts so many, and who has its tokens by that.
    pub(super) fn put(&mut self, tokens: u64) -> Vec<Id> {
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

/// A lock.
#[derive(Debug, Default)]
pub(super) struct Lock {
    holder: Option<Id>,
    waiting: VecDeque<Id>,
}

impl Lock {
    /// Whether the thread has it now; otherwise it stands in line.
    pub(super) fn take(&mut self, id: Id) -> bool {
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

    /// Who is to go on; with `hand_over` it has the lock, without it may try.
    pub(super) fn give_back(&mut self, hand_over: bool) -> Option<Id> {
        let next = self.waiting.pop_front();
        self.holder = next.filter(|_| hand_over);
        next
    }
}

/// A device with some channels, each of which serves one at a time.
#[derive(Debug)]
pub(super) struct Device {
    /// Channels that serve nobody.
    free: u32,
    /// Who waits for one, with their times.
    line: VecDeque<(Id, u64)>,
}

impl Device {
    /// With so many channels, one at least.
    pub(super) fn with(channels: u32) -> Self {
        Self { free: channels.max(1), line: VecDeque::new() }
    }

    /// Whether it is served at once.
    pub(super) fn ask(&mut self, id: Id, time: u64) -> bool {
        let at_once = self.free > 0;
        if at_once {
            self.free -= 1;
        } else {
            self.line.push_back((id, time));
        }
        at_once
    }

    /// Somebody was served; who comes next.
    pub(super) fn done(&mut self) -> Option<(Id, u64)> {
        let next = self.line.pop_front();
        self.free += u32::from(next.is_none());
        next
    }
}
