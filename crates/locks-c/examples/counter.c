/*
 * Threads add to a counter under an adaptive lock, and keep two numbers equal under its
 * reader-writer form.
 *
 *     counter [THREADS [ROUNDS]]          4 threads and 20000 rounds by default
 *
 * The exit status is 0 if all additions are present and no thread saw an inconsistency, 1
 * otherwise, and 2 after wrong arguments.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "morecores_locks.h"

enum { MOST_THREADS = 64, WRITE_EVERY = 8 };

static morecores_lock_t counter_lock = MORECORES_LOCK_INIT;
static long counter;
/* Whether a thread is between lock and unlock. With exclusion no other thread finds it true. */
static bool inside;
static long met_another;

/* This lock is initialised at run time, like a lock in allocated memory. */
static morecores_rwlock_t pair_lock;
static long first, second;

static long threads = 4;
static long rounds = 20000;

static void add_one(bool tries)
{
    if (!tries || morecores_lock_trylock(&counter_lock) != 0)
        morecores_lock_lock(&counter_lock);
    met_another += inside;
    inside = true;
    counter++;
    inside = false;
    morecores_lock_unlock(&counter_lock);
}

static void write_both(bool tries)
{
    if (!tries || morecores_rwlock_trywrlock(&pair_lock) != 0)
        morecores_rwlock_wrlock(&pair_lock);
    first++;
    second++;
    morecores_rwlock_wrunlock(&pair_lock);
}

static bool are_equal(bool tries)
{
    bool equal;

    if (!tries || morecores_rwlock_tryrdlock(&pair_lock) != 0)
        morecores_rwlock_rdlock(&pair_lock);
    equal = first == second;
    morecores_rwlock_rdunlock(&pair_lock);
    return equal;
}

/* Counts how often the two numbers were not equal. */
static void *work(void *unequal)
{
    long round;

    for (round = 0; round < rounds; round++) {
        /* Every other round tries first, and waits only if the try fails. */
        bool tries = round % 2 == 1;

        add_one(tries);
        if (round % WRITE_EVERY < 2)
            write_both(tries);
        else if (!are_equal(tries))
            ++*(long *)unequal;
    }
    return NULL;
}

/* Value of an argument from 1 to `most`, or 0 for any other text. */
static long number(const char *text, long most)
{
    char *end;
    long value = strtol(text, &end, 10);

    return end != text && *end == '\0' && value >= 1 && value <= most ? value : 0;
}

int main(int argc, char **argv)
{
    pthread_t workers[MOST_THREADS];
    long unequal[MOST_THREADS] = {0};
    long started, seen_unequal = 0, written;

    if (argc > 1)
        threads = number(argv[1], MOST_THREADS);
    if (argc > 2)
        rounds = number(argv[2], 1000000000);
    if (argc > 3 || threads == 0 || rounds == 0) {
        fprintf(stderr, "usage: counter [THREADS [ROUNDS]], with 1 to %d threads\n", MOST_THREADS);
        return 2;
    }

    morecores_lock_prepare();
    morecores_rwlock_init(&pair_lock);
    for (started = 0; started < threads; started++)
        if (pthread_create(&workers[started], NULL, work, &unequal[started]) != 0) {
            fprintf(stderr, "counter: thread %ld cannot be started\n", started + 1);
            return 1;
        }
    while (started-- > 0) {
        pthread_join(workers[started], NULL);
        seen_unequal += unequal[started];
    }

    written = threads * (rounds / WRITE_EVERY * 2 + (rounds % WRITE_EVERY < 2 ? rounds % WRITE_EVERY : 2));
    printf("counter %ld of %ld, met another %ld times; written %ld of %ld, seen unequal %ld times\n",
           counter, threads * rounds, met_another, first, written, seen_unequal);
    return counter == threads * rounds && met_another == 0 && first == written && second == written && seen_unequal == 0
                   && !morecores_lock_is_locked(&counter_lock) && !morecores_rwlock_is_locked(&pair_lock)
               ? 0
               : 1;
}
