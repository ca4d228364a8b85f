/*
 * One program that is correct or faulty, depending on its argument. A checker must find no fault in
 * the correct form, and each fault in the other forms.
 *
 *     none       all is under a lock
 *     unlocked   the main thread adds once without the lock
 *     shared     the threads write while they only have the right to read
 *     split      the threads add to one number under a lock each
 */
#include <pthread.h>
#include <string.h>

#include "morecores_locks.h"

enum { THREADS = 2, ROUNDS = 200 };

static morecores_lock_t lock = MORECORES_LOCK_INIT, other = MORECORES_LOCK_INIT;
static morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;
static long total, written;
static int is_shared, is_split;

static void *work(void *mine)
{
    long round, seen = 0;

    for (round = 0; round < ROUNDS; round++) {
        morecores_lock_lock(mine);
        total++;
        morecores_lock_unlock(mine);

        if (is_shared) {
            morecores_rwlock_rdlock(&rwlock);
            written++;
            morecores_rwlock_rdunlock(&rwlock);
        } else if (round % 4 == 0) {
            morecores_rwlock_wrlock(&rwlock);
            written++;
            morecores_rwlock_wrunlock(&rwlock);
        } else {
            morecores_rwlock_rdlock(&rwlock);
            seen += written;
            morecores_rwlock_rdunlock(&rwlock);
        }
    }
    return seen >= 0 ? mine : NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    const char *fault = argc == 2 ? argv[1] : "";
    int is_unlocked = strcmp(fault, "unlocked") == 0;
    int i;

    is_shared = strcmp(fault, "shared") == 0;
    is_split = strcmp(fault, "split") == 0;
    if (!is_unlocked && !is_shared && !is_split && strcmp(fault, "none") != 0)
        return 2;
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, is_split && i > 0 ? &other : &lock) != 0)
            return 2;
    /*
     * There is no lock and no other call between this and the threads, so a checker sees both as
     * concurrent in any order of execution.
     */
    if (is_unlocked)
        total++;
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
