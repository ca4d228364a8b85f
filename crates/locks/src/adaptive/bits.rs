//! The bits of an adaptive lock's word; their meanings are in the table of [the lock](super).

/// The lock has an owner, or it was handed to a sleeper.
pub(crate) const LOCKED: u32 = 1;
/// One waiter is awake and will look at the word.
pub(crate) const AWAKE: u32 = 2;
/// The lock was handed to a sleeper.
pub(crate) const HANDOFF: u32 = 4;
/// A sleeper has waited too long.
pub(crate) const STARVING: u32 = 8;
/// One counted waiter. The maximum count of 2^28 exceeds Linux's maximum number of threads
/// (`PID_MAX_LIMIT`, 2^22).
pub(crate) const WAITER: u32 = 16;

/// Number of counted waiters.
pub(crate) const fn waiter_count(word: u32) -> u32 {
    word / WAITER
}
