//! What the locks are made of: an atomic word that threads can sleep on, and pausing.
//!
//! The one place that knows whether the machine is real or loom's. It must not know any lock.

#[cfg(loom)]
mod modelled;
#[cfg(not(loom))]
mod real;

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

/// How a wait for a word ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Woken, or the word was not what was expected, or a signal came: look again.
    Perhaps,
    /// The time was over.
    TimedOut,
}

/// Makes a function `const` where the machine is real: loom's atomics are registered with the model when they are made.
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
