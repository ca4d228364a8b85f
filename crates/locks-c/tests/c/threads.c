/*
 * Threads that the library starts: none by waits for its locks, and those of
 * morecores_lock_prepare() once, with all signals blocked. The program must be linked with
 * -Wl,--wrap=pthread_create, which shows each thread that the library starts; the program's own
 * threads are not counted. The exit status is 0 if all of this holds; otherwise the program prints
 * the difference.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "morecores_locks.h"

enum { ROUNDS = 3 };

/* Time for another thread to spin and to sleep. */
static const struct timespec a_while = {.tv_sec = 0, .tv_nsec = 30000000};

static morecores_lock_t lock = MORECORES_LOCK_INIT;
static morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;
static atomic_int started, open_to_signals;

struct start {
    void *(*routine)(void *);
    void *argument;
};

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/*
 * Whether a program can block a signal. The exceptions are the two that cannot be blocked and those
 * that the C library reserves for itself.
 */
static bool can_be_blocked(int number)
{
    return number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN);
}

/* Start of a thread of the library: checks its signal mask first. */
static void *look(void *argument)
{
    struct start start = *(struct start *)argument;
    sigset_t mask;
    int number;

    free(argument);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (number = 1; number <= SIGRTMAX; number++)
        if (can_be_blocked(number) && sigismember(&mask, number) == 0)
            open_to_signals++;
    return start.routine(start.argument);
}

/* Replacement of the library's pthread_create(3). */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                          void *argument)
{
    struct start *start = malloc(sizeof *start);

    if (start == NULL)
        abort();
    *start = (struct start){.routine = routine, .argument = argument};
    started++;
    return __real_pthread_create(thread, attributes, look, start);
}

static void *wait_for_all(void *nothing)
{
    morecores_lock_lock(&lock);
    morecores_lock_unlock(&lock);
    morecores_rwlock_rdlock(&rwlock);
    morecores_rwlock_rdunlock(&rwlock);
    morecores_rwlock_wrlock(&rwlock);
    morecores_rwlock_wrunlock(&rwlock);
    return nothing;
}

/* Makes another thread wait for each lock, for a long time. */
static void contend(void)
{
    pthread_t thread;

    morecores_lock_lock(&lock);
    morecores_rwlock_wrlock(&rwlock);
    if (__real_pthread_create(&thread, NULL, wait_for_all, NULL) != 0)
        abort();
    nanosleep(&a_while, NULL);
    morecores_lock_unlock(&lock);
    nanosleep(&a_while, NULL);
    morecores_rwlock_wrunlock(&rwlock);
    pthread_join(thread, NULL);
}

static int expect(const char *when, int threads)
{
    if (started == threads && open_to_signals == 0)
        return 0;
    printf("%s: %d threads of the library, %d expected; %d signals not blocked in them\n", when, started, threads,
           open_to_signals);
    return 1;
}

int main(void)
{
    sigset_t before, after;
    cpu_set_t cpus;
    int round, threads, number, wrong = 0;

    /* With one CPU there is nothing to measure. */
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 2;
    threads = CPU_COUNT(&cpus) > 1 ? 2 : 0;

    for (round = 0; round < ROUNDS; round++)
        contend();
    wrong |= expect("waiting", 0);

    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    morecores_lock_prepare();
    wrong |= expect("preparing", threads);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (number = 1; number <= SIGRTMAX; number++)
        if (can_be_blocked(number) && sigismember(&after, number) != (number == SIGUSR1)) {
            printf("preparing: signal %d is not as it was in the caller's mask\n", number);
            wrong = 1;
        }

    morecores_lock_prepare();
    wrong |= expect("preparing again", threads);
    contend();
    wrong |= expect("waiting after it", threads);
    return wrong;
}
