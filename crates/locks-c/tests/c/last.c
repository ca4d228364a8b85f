/*
 * The last owner of a lock frees its memory, while the unlock of the one before may not have returned: what the header allows.
 * To be run by a checker of memory. Ends with 0 where every lock was freed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "morecores_locks.h"

enum { ROUNDS = 100, OWNERS = 3, LOOKS = 50 };

struct shared {
    morecores_lock_t lock;
    morecores_rwlock_t rwlock;
    int owners, writers;
};

static int freed;

static void *own(void *argument)
{
    struct shared *shared = argument;
    int looks, is_last;

    morecores_lock_lock(&shared->lock);
    /* Long enough for the others to come, and to sleep. */
    for (looks = 0; looks < LOOKS; looks++)
        sched_yield();
    shared->owners--;
    morecores_lock_unlock(&shared->lock);

    morecores_rwlock_wrlock(&shared->rwlock);
    for (looks = 0; looks < LOOKS; looks++)
        sched_yield();
    is_last = --shared->writers == 0;
    morecores_rwlock_wrunlock(&shared->rwlock);
    if (is_last) {
        free(shared);
        freed++;
    }
    return NULL;
}

int main(void)
{
    int round, i;

    for (round = 0; round < ROUNDS; round++) {
        pthread_t threads[OWNERS];
        struct shared *shared = malloc(sizeof *shared);

        if (shared == NULL)
            return 2;
        morecores_lock_init(&shared->lock);
        morecores_rwlock_init(&shared->rwlock);
        shared->owners = shared->writers = OWNERS;
        for (i = 0; i < OWNERS; i++)
            if (pthread_create(&threads[i], NULL, own, shared) != 0)
                return 2;
        for (i = 0; i < OWNERS; i++)
            pthread_join(threads[i], NULL);
    }
    return freed == ROUNDS ? 0 : 1;
}
