//! Kind of object for which a thread waits: by the functions of the library that waits, else by the
//! arguments of its futex call. These are data on libraries; this module must not look at threads.

use morecores_study::trace::FutexWait;
use morecores_view::code::WaitKind;

use super::runtimes::without_bracket;

/// Beginnings of the names of waiting functions, in glibc (its exported names, and the names in its
/// debug file), C++'s headers, Rust's standard library and `parking_lot`. The first match counts.
const FUNCTIONS: [(&str, WaitKind); 36] = [
    ("pthread_cond_", WaitKind::ConditionVariable),
    ("__pthread_cond_", WaitKind::ConditionVariable),
    ("___pthread_cond_", WaitKind::ConditionVariable),
    ("std::condition_variable", WaitKind::ConditionVariable),
    ("std::sys::sync::condvar", WaitKind::ConditionVariable),
    ("std::sync::condvar", WaitKind::ConditionVariable),
    ("std::sync::poison::condvar", WaitKind::ConditionVariable),
    ("parking_lot::condvar", WaitKind::ConditionVariable),
    ("sem_", WaitKind::Semaphore),
    ("__new_sem_", WaitKind::Semaphore),
    ("__sem_", WaitKind::Semaphore),
    ("pthread_barrier_", WaitKind::Barrier),
    ("__pthread_barrier_", WaitKind::Barrier),
    ("___pthread_barrier_", WaitKind::Barrier),
    ("std::sync::barrier", WaitKind::Barrier),
    ("std::thread::scoped::scope", WaitKind::Join),
    ("pthread_join", WaitKind::Join),
    ("pthread_clockjoin", WaitKind::Join),
    ("pthread_timedjoin", WaitKind::Join),
    ("__pthread_clockjoin", WaitKind::Join),
    ("__pthread_timedjoin", WaitKind::Join),
    ("pthread_rwlock_", WaitKind::ReadWriteLock),
    ("__pthread_rwlock_", WaitKind::ReadWriteLock),
    ("___pthread_rwlock_", WaitKind::ReadWriteLock),
    ("std::sys::sync::rwlock", WaitKind::ReadWriteLock),
    ("parking_lot::raw_rwlock", WaitKind::ReadWriteLock),
    ("pthread_mutex_", WaitKind::Mutex),
    ("__pthread_mutex_", WaitKind::Mutex),
    ("___pthread_mutex_", WaitKind::Mutex),
    ("__lll_lock_", WaitKind::Mutex),
    ("__lll_mutex_", WaitKind::Mutex),
    ("std::sys::sync::mutex", WaitKind::Mutex),
    ("parking_lot::raw_mutex", WaitKind::Mutex),
    ("std::thread::park", WaitKind::Park),
    ("std::thread::current", WaitKind::Park),
    ("std::sys::sync::thread_parking", WaitKind::Park),
];

/// Kind by the name of a waiting function, if it is a known one.
pub(super) fn kind_by_function(function: &str) -> Option<WaitKind> {
    let function = without_bracket(function);
    FUNCTIONS.iter().find(|(start, _)| function.starts_with(start)).map(|(_, kind)| *kind)
}

/// `FUTEX_PRIVATE_FLAG`, and `FUTEX_WAIT_BITSET` with `FUTEX_CLOCK_REALTIME`
/// (include/uapi/linux/futex.h).
const PRIVATE: u32 = 0x80;
const WAIT_BITSET: u32 = 9;
const CLOCK_REALTIME: u32 = 0x100;

/// Kind by the arguments of a futex call, where they leave one possibility. glibc 2.25 to 2.41
/// waits for reader-writer locks with the words 2 and 3 and for a thread's end with the thread's
/// number; Rust's standard library waits for mutexes with 2 and parks threads with all ones. The
/// word zero is that of condition variables, semaphores, barriers, and others: it leaves the kind
/// open.
pub(super) fn kind_by_arguments(futex: FutexWait) -> Option<WaitKind> {
    let FutexWait { operation, expected } = futex;
    match (operation & !PRIVATE, expected) {
        _ if futex.takes_a_lock() => Some(WaitKind::Mutex),
        (WAIT_BITSET, u32::MAX) => Some(WaitKind::Park),
        (WAIT_BITSET, 2) => Some(WaitKind::Mutex),
        (bitset, 2 | 3) if bitset == WAIT_BITSET | CLOCK_REALTIME => Some(WaitKind::ReadWriteLock),
        // Other processes' threads may wait for this word: glibc uses no private futex for it.
        (bitset, 4..) if bitset == WAIT_BITSET | CLOCK_REALTIME && operation & PRIVATE == 0 => {
            Some(WaitKind::Join)
        }
        (0, _) if futex.expects_a_taken_lock() => Some(WaitKind::Mutex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_tell_kinds_with_words_of_their_own() {
        let kind = |operation, expected| kind_by_arguments(FutexWait { operation, expected });
        // As recorded of glibc 2.36 and of Rust 1.89.
        assert_eq!(kind(0x80, 2), Some(WaitKind::Mutex));
        assert_eq!(kind(0x00, 2), Some(WaitKind::Mutex));
        assert_eq!(kind(0x80, 0x8000_0064), Some(WaitKind::Mutex));
        assert_eq!(kind(0x86, 0), Some(WaitKind::Mutex));
        assert_eq!(
            (kind(0x189, 2), kind(0x189, 3)),
            (Some(WaitKind::ReadWriteLock), Some(WaitKind::ReadWriteLock))
        );
        assert_eq!(kind(0x109, 4711), Some(WaitKind::Join));
        assert_eq!((kind(0x89, 2), kind(0x89, u32::MAX)), (Some(WaitKind::Mutex), Some(WaitKind::Park)));
        assert_eq!((kind(0x189, 0), kind(0x80, 0), kind(0x80, 8)), (None, None, None));
    }

    #[test]
    fn functions_tell_the_kinds_that_arguments_leave_open() {
        let kind = kind_by_function;
        assert_eq!(kind("pthread_cond_timedwait"), Some(WaitKind::ConditionVariable));
        assert_eq!(kind("sem_wait"), Some(WaitKind::Semaphore));
        assert_eq!(kind("pthread_barrier_wait"), Some(WaitKind::Barrier));
        assert_eq!((kind("semaphore_of_the_program"), kind("read")), (None, None));
        // As recorded of Rust 1.95.
        assert_eq!(
            kind("<std::sys::sync::condvar::futex::Condvar>::wait"),
            Some(WaitKind::ConditionVariable)
        );
        assert_eq!(kind("<std::sys::sync::mutex::futex::Mutex>::lock_contended"), Some(WaitKind::Mutex));
        assert_eq!(
            kind("<std::sys::sync::rwlock::futex::RwLock>::write_contended"),
            Some(WaitKind::ReadWriteLock)
        );
    }
}
