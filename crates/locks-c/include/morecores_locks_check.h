/*
 * Makes the locks known to the tools that look for data races. morecores_locks.h includes this file
 * if MORECORES_LOCKS_CHECK is defined. The macro must then be defined for all files of a program
 * that use the locks.
 *
 * These tools know the locks of pthread and take any other lock for plain memory accesses. Each
 * call is therefore replaced by one that also reports its effect:
 *
 * - with -fsanitize=thread, to ThreadSanitizer (sanitizer/tsan_interface.h, which comes with the
 *   compiler);
 * - otherwise, to Helgrind and DRD (valgrind/drd.h, which comes with valgrind). Run them with
 *   --suppressions=morecores_locks.supp, since the library's own words have deliberate races. A
 *   program that was built in this way also runs without valgrind, a few nanoseconds slower per
 *   call.
 *
 * This file must not change the effect of a call.
 */
#ifndef MORECORES_LOCKS_CHECK_H
#define MORECORES_LOCKS_CHECK_H

#include "morecores_locks.h"

#if defined(__SANITIZE_THREAD__)
#define MORECORES_CHECK_BY_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MORECORES_CHECK_BY_SANITIZER 1
#endif
#endif

/*
 * Reports in the life of an ownership: before a wait or a try, after it, before the release, after
 * it.
 */
#ifdef MORECORES_CHECK_BY_SANITIZER

#include <sanitizer/tsan_interface.h>

/*
 * Kind of the call, in ThreadSanitizer's terms. Initialisers of static memory make no call that it
 * would see.
 */
#define MORECORES_CHECK_WRITES __tsan_mutex_linker_init
#define MORECORES_CHECK_READS (__tsan_mutex_linker_init | __tsan_mutex_read_lock)

#define MORECORES_CHECK_WAITS(lock, kind) __tsan_mutex_pre_lock(lock, kind)
#define MORECORES_CHECK_HAS(lock, kind) __tsan_mutex_post_lock(lock, kind, 0)
#define MORECORES_CHECK_TRIES(lock, kind) __tsan_mutex_pre_lock(lock, (kind) | __tsan_mutex_try_lock)
#define MORECORES_CHECK_TRIED(lock, kind, failed) \
    __tsan_mutex_post_lock(lock, (kind) | __tsan_mutex_try_lock | ((failed) ? __tsan_mutex_try_lock_failed : 0u), 0)
#define MORECORES_CHECK_FREES(lock, kind) (void)__tsan_mutex_pre_unlock(lock, kind)
#define MORECORES_CHECK_FREED(lock, kind) __tsan_mutex_post_unlock(lock, kind)

#else

/*
 * Requests of drd.h for reader-writer locks deliberately have the numbers of Helgrind's, so that
 * one request informs either tool. Both tools see a plain lock as a reader-writer lock that is only
 * written with. They follow any reader-writer lock without having seen its initialisation.
 */
#include <valgrind/drd.h>

#define MORECORES_CHECK_WRITES 1
#define MORECORES_CHECK_READS 0

#define MORECORES_CHECK_WAITS(lock, kind) (void)0
#define MORECORES_CHECK_HAS(lock, kind) ANNOTATE_RWLOCK_ACQUIRED(lock, kind)
#define MORECORES_CHECK_TRIES(lock, kind) (void)0
#define MORECORES_CHECK_TRIED(lock, kind, failed) \
    do {                                          \
        if (!(failed))                            \
            MORECORES_CHECK_HAS(lock, kind);      \
    } while (0)
#define MORECORES_CHECK_FREES(lock, kind) ANNOTATE_RWLOCK_RELEASED(lock, kind)
#define MORECORES_CHECK_FREED(lock, kind) (void)0

#endif

/* A waiting call, a trying call and a freeing call, each around a function of the library. */
#define MORECORES_CHECK_CALLS(type, lock_call, try_call, unlock_call, kind) \
    static inline void morecores_check_##lock_call(type *lock)              \
    {                                                                       \
        MORECORES_CHECK_WAITS(lock, kind);                                  \
        morecores_##lock_call(lock);                                        \
        MORECORES_CHECK_HAS(lock, kind);                                    \
    }                                                                       \
    static inline int morecores_check_##try_call(type *lock)                \
    {                                                                       \
        int failed;                                                         \
        MORECORES_CHECK_TRIES(lock, kind);                                  \
        failed = morecores_##try_call(lock);                                \
        MORECORES_CHECK_TRIED(lock, kind, failed);                          \
        return failed;                                                      \
    }                                                                       \
    static inline void morecores_check_##unlock_call(type *lock)            \
    {                                                                       \
        MORECORES_CHECK_FREES(lock, kind);                                  \
        morecores_##unlock_call(lock);                                      \
        MORECORES_CHECK_FREED(lock, kind);                                  \
    }

MORECORES_CHECK_CALLS(morecores_lock_t, lock_lock, lock_trylock, lock_unlock, MORECORES_CHECK_WRITES)
MORECORES_CHECK_CALLS(morecores_rwlock_t, rwlock_rdlock, rwlock_tryrdlock, rwlock_rdunlock, MORECORES_CHECK_READS)
MORECORES_CHECK_CALLS(morecores_rwlock_t, rwlock_wrlock, rwlock_trywrlock, rwlock_wrunlock, MORECORES_CHECK_WRITES)

/* Macros without arguments, so that the address of a call is also that of the checked call. */
#define morecores_lock_lock morecores_check_lock_lock
#define morecores_lock_trylock morecores_check_lock_trylock
#define morecores_lock_unlock morecores_check_lock_unlock
#define morecores_rwlock_rdlock morecores_check_rwlock_rdlock
#define morecores_rwlock_tryrdlock morecores_check_rwlock_tryrdlock
#define morecores_rwlock_rdunlock morecores_check_rwlock_rdunlock
#define morecores_rwlock_wrlock morecores_check_rwlock_wrlock
#define morecores_rwlock_trywrlock morecores_check_rwlock_trywrlock
#define morecores_rwlock_wrunlock morecores_check_rwlock_wrunlock

#endif
