/* Two threads and two mutexes, each mutex for one function; both functions call one wrapper. The
 * truth: the time of the waits in each function, and the time for which each function held its
 * mutex while the other thread waited. See src/program/two_mutexes.rs. */
#include "known.h"
#include <pthread.h>
#include <stdatomic.h>

/* Mean times of a turn in nanoseconds, as in src/program/two_mutexes.rs. */
#define THINK 4e6
#define INDEX_HOLD 1.6e6
#define CACHE_HOLD 6.4e6

struct timed_mutex {
    pthread_mutex_t mutex;
    /* Time at which the other thread began to wait; 0 if it does not wait. */
    atomic_uint_least64_t waiting_since;
    uint64_t taken_at;
    uint64_t held_meanwhile;
};

static struct timed_mutex index_lock = {PTHREAD_MUTEX_INITIALIZER, 0, 0, 0};
static struct timed_mutex *cache_lock;
static uint64_t end;

/* Time of the waits of one thread, in nanoseconds. */
struct waits {
    uint64_t seed, in_update_index, in_rebuild_cache;
};

/* Returns the length of the wait without the time in which the woken thread waited for a CPU. */
OUT_OF_LINE uint64_t take(struct timed_mutex *lock) {
    uint64_t waited = 0;
    if (pthread_mutex_trylock(&lock->mutex) == 0) {
        lock->taken_at = monotonic();
    } else {
        uint64_t runnable = runnable_time(), begun = monotonic();
        atomic_store(&lock->waiting_since, begun);
        pthread_mutex_lock(&lock->mutex);
        lock->taken_at = monotonic();
        atomic_store(&lock->waiting_since, 0);
        runnable = runnable_time() - runnable;
        waited = lock->taken_at - begun;
        waited -= runnable < waited ? runnable : waited;
    }
    return waited;
}

static inline __attribute__((always_inline)) void release(struct timed_mutex *lock) {
    uint64_t now = monotonic(), since = atomic_load(&lock->waiting_since);
    if (since > 0) lock->held_meanwhile += now - (since > lock->taken_at ? since : lock->taken_at);
    pthread_mutex_unlock(&lock->mutex);
}

/* The result is needed after `release`, so the function does not end in a jump to the unlocking
 * function. */
OUT_OF_LINE uint64_t update_index(uint64_t hold) {
    uint64_t waited = take(&index_lock);
    burn(hold);
    release(&index_lock);
    return waited;
}

OUT_OF_LINE uint64_t rebuild_cache(uint64_t hold) {
    uint64_t waited = take(cache_lock);
    burn(hold);
    release(cache_lock);
    return waited;
}

static void *work(void *argument) {
    struct waits *waits = argument;
    uint64_t *chance = &waits->seed;
    while (monotonic() < end) {
        burn(next_length(chance, THINK));
        if (next_random(chance) < 0.5) {
            waits->in_update_index += update_index(next_length(chance, INDEX_HOLD));
        } else {
            waits->in_rebuild_cache += rebuild_cache(next_length(chance, CACHE_HOLD));
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    struct waits one = {1, 0, 0}, two = {2, 0, 0};
    pthread_t other;
    calibrate();
    cache_lock = calloc(1, sizeof *cache_lock);
    if (cache_lock == 0 || pthread_mutex_init(&cache_lock->mutex, 0) != 0) return 1;
    end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    if (pthread_create(&other, 0, work, &two) != 0) return 1;
    work(&one);
    pthread_join(other, 0);
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"functions\":{\"update_index\":{\"waited_s\":%.9f,\"held_s\":%.9f},"
            "\"rebuild_cache\":{\"waited_s\":%.9f,\"held_s\":%.9f}}}\n",
            process_cpu_s(), (double)(one.in_update_index + two.in_update_index) / SECOND,
            (double)index_lock.held_meanwhile / SECOND,
            (double)(one.in_rebuild_cache + two.in_rebuild_cache) / SECOND,
            (double)cache_lock->held_meanwhile / SECOND);
    return fclose(truth) != 0;
}
