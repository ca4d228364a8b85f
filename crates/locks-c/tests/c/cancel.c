/*
 * A thread with a pending cancellation prepares and waits for a lock. It gets the lock, frees it,
 * and ends only at its own cancellation point. The wait is the first of the process. The exit
 * status is 0 if all of this holds.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "morecores_locks.h"

static const struct timespec a_while = {.tv_sec = 0, .tv_nsec = 30000000};

static morecores_lock_t lock = MORECORES_LOCK_INIT;
static morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;
static bool had_it, had_it_to_read, had_it_to_write, went_on;

static void *wait_cancelled(void *nothing)
{
    pthread_cancel(pthread_self());
    morecores_lock_prepare();
    morecores_lock_lock(&lock);
    had_it = true;
    morecores_lock_unlock(&lock);
    morecores_rwlock_rdlock(&rwlock);
    had_it_to_read = true;
    morecores_rwlock_rdunlock(&rwlock);
    morecores_rwlock_wrlock(&rwlock);
    had_it_to_write = true;
    morecores_rwlock_wrunlock(&rwlock);
    pthread_testcancel();
    went_on = true;
    return nothing;
}

int main(void)
{
    pthread_t thread;
    void *end = NULL;

    morecores_lock_lock(&lock);
    morecores_rwlock_wrlock(&rwlock);
    if (pthread_create(&thread, NULL, wait_cancelled, NULL) != 0)
        return 2;
    nanosleep(&a_while, NULL);
    morecores_lock_unlock(&lock);
    nanosleep(&a_while, NULL);
    morecores_rwlock_wrunlock(&rwlock);
    pthread_join(thread, &end);
    return end == PTHREAD_CANCELED && had_it && had_it_to_read && had_it_to_write && !went_on
                   && !morecores_lock_is_locked(&lock) && !morecores_rwlock_is_locked(&rwlock)
               ? 0
               : 1;
}
