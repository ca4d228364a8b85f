/* Tells a race checker what the locks do. Included by morecores_locks.h where MORECORES_LOCKS_CHECK is HELGRIND, DRD or TSAN.
 *
 * The checkers know the locks of pthreads by their names. Of a lock made of atomic instructions they see the accesses, and take them for
 * races, or do not see that one thread waits for another. So each call is wrapped in what the tool offers to say so, and the words of
 * the lock are left out of the check. Client requests of valgrind cost some instructions outside of it, so this is for builds that are to be checked. */
#ifndef MORECORES_LOCKS_CHECK_H
#define MORECORES_LOCKS_CHECK_H

#define MORECORES_CHECK_HELGRIND 1
#define MORECORES_CHECK_DRD 2
#define MORECORES_CHECK_TSAN 3
#define MORECORES_CHECK_NUMBER_(tool) MORECORES_CHECK_##tool
#define MORECORES_CHECK_NUMBER(tool) MORECORES_CHECK_NUMBER_(tool)

#if MORECORES_CHECK_NUMBER(MORECORES_LOCKS_CHECK) == MORECORES_CHECK_HELGRIND
#include <valgrind/helgrind.h>
#define MORECORES_CHECK_TAKEN(lock) VALGRIND_HG_DISABLE_CHECKING(lock, sizeof *(lock))
#define MORECORES_CHECK_ACQUIRED(lock, writes) ANNOTATE_RWLOCK_ACQUIRED(lock, writes)
#define MORECORES_CHECK_RELEASED(lock, writes) ANNOTATE_RWLOCK_RELEASED(lock, writes)
#elif MORECORES_CHECK_NUMBER(MORECORES_LOCKS_CHECK) == MORECORES_CHECK_DRD
#include <valgrind/drd.h>
#define MORECORES_CHECK_TAKEN(lock) ANNOTATE_BENIGN_RACE_SIZED(lock, sizeof *(lock), "words of a lock")
#define MORECORES_CHECK_ACQUIRED(lock, writes) ANNOTATE_RWLOCK_ACQUIRED(lock, writes)
#define MORECORES_CHECK_RELEASED(lock, writes) ANNOTATE_RWLOCK_RELEASED(lock, writes)
#elif MORECORES_CHECK_NUMBER(MORECORES_LOCKS_CHECK) == MORECORES_CHECK_TSAN
#ifdef __cplusplus
extern "C" {
#endif
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#ifdef __cplusplus
}
#endif
#define MORECORES_CHECK_TAKEN(lock) (void)0
#define MORECORES_CHECK_ACQUIRED(lock, writes) __tsan_acquire((void *)(lock))
#define MORECORES_CHECK_RELEASED(lock, writes) __tsan_release((void *)(lock))
#else
#error "MORECORES_LOCKS_CHECK is to be HELGRIND, DRD or TSAN"
#endif

#define MORECORES_CHECK_LOCKED(lock, call, writes) \
    do { \
        MORECORES_CHECK_TAKEN(lock); \
        call(lock); \
        MORECORES_CHECK_ACQUIRED(lock, writes); \
    } while (0)

#define MORECORES_CHECK_UNLOCKED(lock, call, writes) \
    do { \
        MORECORES_CHECK_RELEASED(lock, writes); \
        call(lock); \
    } while (0)

#define MORECORES_CHECK_TRIED(lock, call, writes) \
    do { \
        MORECORES_CHECK_TAKEN(lock); \
        int busy = call(lock); \
        if (!busy) \
            MORECORES_CHECK_ACQUIRED(lock, writes); \
        return busy; \
    } while (0)

static inline void morecores_checked_mutex_lock(morecores_mutex_t *lock) {
    MORECORES_CHECK_LOCKED(lock, morecores_mutex_lock, 1);
}
static inline int morecores_checked_mutex_trylock(morecores_mutex_t *lock) {
    MORECORES_CHECK_TRIED(lock, morecores_mutex_trylock, 1);
}
static inline void morecores_checked_mutex_unlock(morecores_mutex_t *lock) {
    MORECORES_CHECK_UNLOCKED(lock, morecores_mutex_unlock, 1);
}
static inline void morecores_checked_rwlock_rdlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_LOCKED(lock, morecores_rwlock_rdlock, 0);
}
static inline int morecores_checked_rwlock_tryrdlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_TRIED(lock, morecores_rwlock_tryrdlock, 0);
}
static inline void morecores_checked_rwlock_rdunlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_UNLOCKED(lock, morecores_rwlock_rdunlock, 0);
}
static inline void morecores_checked_rwlock_wrlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_LOCKED(lock, morecores_rwlock_wrlock, 1);
}
static inline int morecores_checked_rwlock_trywrlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_TRIED(lock, morecores_rwlock_trywrlock, 1);
}
static inline void morecores_checked_rwlock_wrunlock(morecores_rwlock_t *lock) {
    MORECORES_CHECK_UNLOCKED(lock, morecores_rwlock_wrunlock, 1);
}

#define morecores_mutex_lock morecores_checked_mutex_lock
#define morecores_mutex_trylock morecores_checked_mutex_trylock
#define morecores_mutex_unlock morecores_checked_mutex_unlock
#define morecores_rwlock_rdlock morecores_checked_rwlock_rdlock
#define morecores_rwlock_tryrdlock morecores_checked_rwlock_tryrdlock
#define morecores_rwlock_rdunlock morecores_checked_rwlock_rdunlock
#define morecores_rwlock_wrlock morecores_checked_rwlock_wrlock
#define morecores_rwlock_trywrlock morecores_checked_rwlock_trywrlock
#define morecores_rwlock_wrunlock morecores_checked_rwlock_wrunlock

#endif
