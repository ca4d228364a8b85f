/*
 * Adaptive locks for threads of one process: they spin while that is cheaper than blocking, then
 * block.
 *
 *     static morecores_lock_t lock = MORECORES_LOCK_INIT;
 *
 *     morecores_lock_lock(&lock);
 *     total += 1;
 *     morecores_lock_unlock(&lock);
 *
 * For Linux; C11 or C++11. The waiting strategy is described in docs/locks.md of morecores.
 *
 * Guarantees and requirements of all locks:
 *
 * - Taking a lock is an acquire operation, freeing it a release operation: the next owner sees all
 *   writes of the previous one.
 * - A lock is free, or it has an owner. The lock does not store its owner. Only an owner may free
 *   the lock, but the freeing thread may differ from the one that took it. Taking a lock twice
 *   waits for ever. Freeing a lock without owning it is undefined.
 * - A lock needs no destruction. A thread may free the memory of a morecores_lock_t if it has taken
 *   and freed the lock and knows that no thread will touch it any more, even if the previous
 *   owner's unlock has not returned yet. The memory of a morecores_rwlock_t may be freed once all
 *   calls have returned: a reader can finish before the previous writer's unlock has returned.
 * - No lock starts a thread or touches the signal mask. A lock spins for the assumed cost of a
 *   sleep and a wake-up: 14 µs, as measured on a virtual machine. A program calls
 *   morecores_lock_prepare() at its start to use the cost on this machine instead.
 * - For one process only: a lock in memory that processes share would never wake a waiter of
 *   another process.
 * - After fork(2) the child has the locks in their states at that moment. A lock that another
 *   thread of the parent owned then is never freed in the child. Call exec in the child, or take
 *   the locks before the fork and initialise them again in the child (morecores_lock_init).
 * - Not for signal handlers. No call is a cancellation point, and none changes errno.
 * - A lock must not be moved or copied while a thread owns it or waits for it.
 *
 * With MORECORES_LOCKS_CHECK defined, the calls also tell Helgrind, DRD and ThreadSanitizer about
 * the locks: morecores_locks_check.h.
 */
#ifndef MORECORES_LOCKS_H
#define MORECORES_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A lock with one owner at a time. Its fields are private to the library. */
typedef struct morecores_lock {
    uint32_t morecores_word;
    uint32_t morecores_calls;
    uint32_t morecores_turn;
    uint32_t morecores_due;
    uint32_t morecores_experience;
} morecores_lock_t;

/* Initialiser of a free lock, with the bytes that morecores_lock_init writes. */
#define MORECORES_LOCK_INIT { 0, 0, 0, 0, 0xffff }

/*
 * A lock with many readers, or one writer. A waiting writer keeps new readers out, so a reading
 * thread must not begin to read again.
 */
typedef struct morecores_rwlock {
    morecores_lock_t morecores_gate;
    uint32_t morecores_readers;
} morecores_rwlock_t;

/* Initialiser of a free lock, with the bytes that morecores_rwlock_init writes. */
#define MORECORES_RWLOCK_INIT { MORECORES_LOCK_INIT, 0 }

/* Initialises a free lock in memory that no thread uses as a lock. */
void morecores_lock_init(morecores_lock_t *lock);

/* Waits until this thread owns the lock. */
void morecores_lock_lock(morecores_lock_t *lock);

/* Takes the lock if it is free, and does not wait: 0, or EBUSY (errno.h). */
int morecores_lock_trylock(morecores_lock_t *lock);

/* Frees the lock. */
void morecores_lock_unlock(morecores_lock_t *lock);

/* Whether the lock has an owner. The state may have changed when this returns. */
bool morecores_lock_is_locked(const morecores_lock_t *lock);

/*
 * Measures the cost of a sleep and a wake-up on this machine, once per process; any other call
 * returns at once. The first call starts two threads and joins them, which takes about half a
 * millisecond. All signals are blocked in these threads, and the caller's signal mask is left
 * unchanged. The call cannot fail: if no thread can be started, or the process may use only one
 * CPU, the locks behave as without it.
 */
void morecores_lock_prepare(void);

/* Initialises a free lock in memory that no thread uses as a lock. */
void morecores_rwlock_init(morecores_rwlock_t *lock);

/* Waits until this thread may read. */
void morecores_rwlock_rdlock(morecores_rwlock_t *lock);

/*
 * Acquires the lock for reading if no writer is present or waits, and does not wait: 0, or EBUSY.
 */
int morecores_rwlock_tryrdlock(morecores_rwlock_t *lock);

/* Ends reading. */
void morecores_rwlock_rdunlock(morecores_rwlock_t *lock);

/* Waits until this thread may read and write exclusively. */
void morecores_rwlock_wrlock(morecores_rwlock_t *lock);

/*
 * Acquires the lock for writing if it has no readers and no writer, and does not wait: 0, or EBUSY.
 */
int morecores_rwlock_trywrlock(morecores_rwlock_t *lock);

/* Ends writing. */
void morecores_rwlock_wrunlock(morecores_rwlock_t *lock);

/* Whether the lock has a reader or a writer. The state may have changed when this returns. */
bool morecores_rwlock_is_locked(const morecores_rwlock_t *lock);

#ifdef __cplusplus
}
#endif

#ifdef MORECORES_LOCKS_CHECK
#include "morecores_locks_check.h"
#endif

#endif
