//! Calls of readers of other authors that panic at some damaged files. This module must not hide a
//! panic of this project.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether the thread is in a call of a reader.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Result of a reader; `None` if it panics. The reader must hold no lock and keep no half-made
/// value then. Nothing is printed: a damaged file is no fault of the user or of this program.
pub(crate) fn catch_reader_panic<T>(read: impl FnOnce() -> T) -> Option<T> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(silence_readers);
    let is_nested = IS_READING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(is_nested);
    result.ok()
}

/// Installs a panic hook that prints nothing on a thread in a call of a reader. All other panics
/// reach the hook before it.
fn silence_readers() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !IS_READING.get() {
            before(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static PRINTED: Cell<u32> = const { Cell::new(0) };
    }

    #[test]
    fn only_a_panic_of_a_reader_is_silent() {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PRINTED.set(PRINTED.get() + 1);
            before(panic);
        }));
        // Another test may have installed the hook before.
        silence_readers();
        assert_eq!(catch_reader_panic(|| -> u32 { panic!("of a reader") }), None);
        assert_eq!(PRINTED.get(), 0);
        assert_eq!(catch_reader_panic(|| 7), Some(7));
        assert!(catch_unwind(|| panic!("of this project, printed by the test")).is_err());
        assert_eq!(PRINTED.get(), 1);
        let on_another_thread = || std::thread::spawn(|| panic!("printed by the test")).join().is_err();
        assert_eq!(catch_reader_panic(on_another_thread), Some(true));
    }
}
