//! The bits of an adaptive lock's word; their meanings are in the table of [the lock](super).

/// Somebody has it, or it was given away.
pub(crate) const LOCKED: u32 = 1;
/// One that waits is awake and will look at the word.
pub(crate) const AWAKE: u32 = 2;
/// It was given to one that sleeps.
pub(crate) const GIFT: u32 = 4;
/// A sleeper has waited for too long.
pub(crate) const HUNGRY: u32 = 8;
/// One that is counted. 2^28 of them are more than Linux has threads (`PID_MAX_LIMIT`, 2^22).
pub(crate) const WAITER: u32 = 16;

/// How many are counted.
pub(crate) const fn waiters(word: u32) -> u32 {
    word / WAITER
}
