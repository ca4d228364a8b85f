/*
 * Adaptive locks for threads of one process: they spin while that is cheaper than blocking, then block.
 *
 *     static morecores_lock_t lock = MORECORES_LOCK_INIT;
 *
 *     morecores_lock_lock(&lock);
 *     total += 1;
 *     morecores_lock_unlock(&lock);
 *
 * For Linux; C11 or C++11. How the locks wait is told in docs/locks.md of morecores.
 *
 * What all of them promise and ask:
 *
 * - Taking a lock is an acquire, freeing it a release: the next owner sees what the one before wrote.
 * - A lock is free, or it has an owner that is not remembered. It must be freed by one who has it, which may be another thread than took it.
 *   Taking it twice waits for ever. Freeing what one does not have is undefined.
 * - Nothing needs to be destroyed. The memory of a morecores_lock_t may be freed by a thread that has taken and freed it and knows that nobody
 *   will touch it any more, even while the unlock of the owner before has not returned yet. That of a morecores_rwlock_t may be freed
 *   once all calls have returned: a reader can be through before the unlock of the writer before it has returned.
 * - No lock starts a thread or touches the signal mask. A lock spins for as long as a sleep and a wake-up are taken to cost: 14 µs, as
 *   measured on a virtual machine. A program that wants the price on this machine calls morecores_lock_prepare() at its start.
 * - For one process: a lock in memory that processes share would never wake a waiter of another process.
 * - After fork(2) the child has the locks as they were. One that another thread of the parent had at that moment is never freed in the
 *   child: call exec there, or fork with the locks in hand and make them anew in the child (morecores_lock_init).
 * - Not for signal handlers. No call is a cancellation point, and none changes errno.
 * - A lock must not be moved or copied while anybody has it or waits for it.
 *
 * With MORECORES_LOCKS_CHECK defined, the same calls tell Helgrind, DRD and ThreadSanitizer about the locks: morecores_locks_check.h.
 */
#ifndef MORECORES_LOCKS_H
#define MORECORES_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One owner at a time. What is in it is the library's alone. */
typedef struct morecores_lock {
    uint32_t morecores_word;
    uint32_t morecores_calls;
    uint32_t morecores_turn;
    uint32_t morecores_due;
    uint32_t morecores_experience;
} morecores_lock_t;

/* A free lock, for a definition: the same bytes as morecores_lock_init writes. */
#define MORECORES_LOCK_INIT { 0, 0, 0, 0, 0xffff }

/* Many readers, or one writer. A writer that waits keeps new readers out; so a thread that reads must not begin to read again. */
typedef struct morecores_rwlock {
    morecores_lock_t morecores_gate;
    uint32_t morecores_readers;
} morecores_rwlock_t;

/* A free lock, for a definition: the same bytes as morecores_rwlock_init writes. */
#define MORECORES_RWLOCK_INIT { MORECORES_LOCK_INIT, 0 }

/* Makes a free lock of memory that nobody uses as one. */
void morecores_lock_init(morecores_lock_t *lock);

/* Waits until this thread has it. */
void morecores_lock_lock(morecores_lock_t *lock);

/* Takes it where it is free, and does not wait: 0, or EBUSY (errno.h). */
int morecores_lock_trylock(morecores_lock_t *lock);

/* Frees it. */
void morecores_lock_unlock(morecores_lock_t *lock);

/* Whether anybody has it: may have changed when this returns. */
bool morecores_lock_is_locked(const morecores_lock_t *lock);

/*
 * Measures what a sleep and a wake-up cost on this machine, once per process; any other call returns at once. It starts two threads and
 * joins them, which takes about half a millisecond. All signals are blocked in these; the caller's signal mask is left as it was.
 * It cannot fail: where no thread can be started, or the process may use one CPU only, the locks do as without it.
 */
void morecores_lock_prepare(void);

/* Makes a free lock of memory that nobody uses as one. */
void morecores_rwlock_init(morecores_rwlock_t *lock);

/* Waits until this thread may read. */
void morecores_rwlock_rdlock(morecores_rwlock_t *lock);

/* Reads where no writer is there or waits, and does not wait: 0, or EBUSY. */
int morecores_rwlock_tryrdlock(morecores_rwlock_t *lock);

/* Ends reading. */
void morecores_rwlock_rdunlock(morecores_rwlock_t *lock);

/* Waits until this thread alone may read and write. */
void morecores_rwlock_wrlock(morecores_rwlock_t *lock);

/* Writes where nobody is there, and does not wait: 0, or EBUSY. */
int morecores_rwlock_trywrlock(morecores_rwlock_t *lock);

/* Ends writing. */
void morecores_rwlock_wrunlock(morecores_rwlock_t *lock);

/* Whether anybody reads or writes: may have changed when this returns. */
bool morecores_rwlock_is_locked(const morecores_rwlock_t *lock);

#ifdef __cplusplus
}
#endif

#ifdef MORECORES_LOCKS_CHECK
#include "morecores_locks_check.h"
#endif

#endif
