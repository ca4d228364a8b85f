/* The adaptive lock of morecores for C and C++: it spins for as long as a sleep and a wake-up cost on this machine, and
 * blocks after that; a thread that has waited for long is given the lock. Link with -lmorecores_locks_c.
 *
 * - Not for memory that processes share, and a lock that is held across fork() stays held in the child.
 * - Not recursive. Only the thread that locked may unlock, though nothing checks that.
 * - There is nothing to destroy. The memory of a lock may be freed by a thread that has taken and freed it and knows that no other
 *   will use it, even if another is still returning from its unlock. A reader-writer lock may be freed once all calls have returned.
 * - The first thread of a process that would spin measures, in about half a millisecond, what a sleep costs: it starts two threads
 *   for that. morecores_locks_prepare() does it at a time of your choice.
 *
 * With MORECORES_LOCKS_CHECK defined as HELGRIND, DRD or TSAN the locks tell that tool what they do, which they hide
 * otherwise: see morecores_locks_check.h. */
#ifndef MORECORES_LOCKS_H
#define MORECORES_LOCKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its words are the library's business. */
typedef struct morecores_mutex {
    uint32_t words[5];
} morecores_mutex_t;

typedef struct morecores_rwlock {
    uint32_t words[6];
} morecores_rwlock_t;

/* Free ones, for static memory. */
#define MORECORES_MUTEX_INIT {{0, 0, 0, 0, 0xffff}}
#define MORECORES_RWLOCK_INIT {{0, 0, 0, 0, 0xffff, 0}}

/* The same at run time. */
void morecores_mutex_init(morecores_mutex_t *mutex);
void morecores_rwlock_init(morecores_rwlock_t *lock);

void morecores_mutex_lock(morecores_mutex_t *mutex);
/* 0, or EBUSY where another has it. */
int morecores_mutex_trylock(morecores_mutex_t *mutex);
void morecores_mutex_unlock(morecores_mutex_t *mutex);
/* Whether anybody has it: of use in an assertion. */
int morecores_mutex_is_locked(const morecores_mutex_t *mutex);

/* Many readers or one writer. A writer that waits keeps new readers out, so a thread that reads must not begin to read again. */
void morecores_rwlock_rdlock(morecores_rwlock_t *lock);
int morecores_rwlock_tryrdlock(morecores_rwlock_t *lock);
void morecores_rwlock_rdunlock(morecores_rwlock_t *lock);
void morecores_rwlock_wrlock(morecores_rwlock_t *lock);
int morecores_rwlock_trywrlock(morecores_rwlock_t *lock);
void morecores_rwlock_wrunlock(morecores_rwlock_t *lock);

/* Measures now what a sleep costs, unless it has been done in this process. */
void morecores_locks_prepare(void);

#ifdef __cplusplus
}
#endif

#ifdef MORECORES_LOCKS_CHECK
#include "morecores_locks_check.h"
#endif

#endif
