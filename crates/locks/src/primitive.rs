//! Building blocks of the locks: an atomic word on which threads can sleep, and pauses.
//!
//! Only this module knows whether the machine is real or loom's. It must not know any lock.

#[cfg(loom)]
mod modelled;
#[cfg(not(loom))]
mod real;

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

/// End of a wait for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// The thread was woken, the word was not the expected one, or a signal came: look again.
    MayHaveChanged,
    /// The time limit has passed.
    TimedOut,
}

/// Makes a function `const` on the real machine: loom's atomics are registered with the model when
/// they are made.
macro_rules! const_unless_modelled {
    ($(#[$meta:meta])* $vis:vis fn $name:ident() -> $ret:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $name() -> $ret $body
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $name() -> $ret $body
    };
}
pub(crate) use const_unless_modelled;
