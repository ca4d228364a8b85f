/* Threads that add to numbers under the locks of morecores, and check that nothing was lost.
 *
 *     cc -std=c11 counter.c $(pkg-config --cflags --libs morecores-locks) -lpthread && ./a.out
 *
 * With RACE defined one access goes without the lock: what a race checker must find. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <morecores_locks.h>

enum { THREADS = 4, TURNS = 2000 };

static morecores_mutex_t mutex = MORECORES_MUTEX_INIT;
static morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;
static long counter;
static long pair[2];
static int torn[THREADS];

static void *adds(void *argument) {
    int *mine = argument;
    for (int turn = 0; turn < TURNS; turn++) {
#ifndef RACE
        morecores_mutex_lock(&mutex);
#endif
        counter++;
#ifndef RACE
        morecores_mutex_unlock(&mutex);
#endif
        if (turn % 8 == 0) {
            morecores_rwlock_wrlock(&rwlock);
            pair[0]++;
            pair[1]++;
            morecores_rwlock_wrunlock(&rwlock);
        } else {
            morecores_rwlock_rdlock(&rwlock);
            *mine += pair[0] != pair[1];
            morecores_rwlock_rdunlock(&rwlock);
        }
    }
    return NULL;
}

static int is_as_initialised(void) {
    morecores_mutex_t made;
    morecores_rwlock_t made_too;
    morecores_mutex_init(&made);
    morecores_rwlock_init(&made_too);
    const morecores_mutex_t written = MORECORES_MUTEX_INIT;
    const morecores_rwlock_t written_too = MORECORES_RWLOCK_INIT;
    return memcmp(&made, &written, sizeof made) == 0 && memcmp(&made_too, &written_too, sizeof made_too) == 0;
}

int main(void) {
    pthread_t threads[THREADS];
    int ok = is_as_initialised();
    morecores_locks_prepare();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, adds, &torn[i]) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ok = ok && torn[i] == 0;
    }
    ok = ok && morecores_mutex_trylock(&mutex) == 0 && morecores_mutex_is_locked(&mutex);
    ok = ok && morecores_mutex_trylock(&mutex) == EBUSY;
    morecores_mutex_unlock(&mutex);
    ok = ok && morecores_rwlock_tryrdlock(&rwlock) == 0 && morecores_rwlock_trywrlock(&rwlock) == EBUSY;
    morecores_rwlock_rdunlock(&rwlock);
    ok = ok && morecores_rwlock_trywrlock(&rwlock) == 0 && morecores_rwlock_tryrdlock(&rwlock) == EBUSY;
    morecores_rwlock_wrunlock(&rwlock);
    printf("%ld of %d\n", counter, THREADS * TURNS);
    return ok && counter == THREADS * TURNS && pair[0] == THREADS * (TURNS / 8) ? 0 : 1;
}
