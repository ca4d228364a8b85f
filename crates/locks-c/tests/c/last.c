/*
 * The last owner of a lock frees its memory, possibly before the previous owner's unlock has
 * returned, which the header allows. The program must be linked with -Wl,--wrap=syscall, which
 * keeps an unlock from returning until the memory is gone, and run by a memory checker. The exit
 * status is 0 if every lock was freed and some wake-ups were late. On a busy machine the other
 * owner does not come in time to sleep in every round.
 */
#define _POSIX_C_SOURCE 200809L
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "morecores_locks.h"

enum { LATE = 10, MOST_ROUNDS = 2000, OWNERS = 2 };

/*
 * Time for another thread to come and to sleep, or to take the lock and to free it. It is too short
 * for a handoff to a starving thread.
 */
static const struct timespec a_while = {.tv_sec = 0, .tv_nsec = 4000000};

struct shared {
    morecores_lock_t lock;
    int owners;
};

static int freed;
static atomic_int late;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Replacement of the library's syscall(2): a wake-up returns late. */
long __wrap_syscall(long number, ...)
{
    va_list list;
    long arguments[4], result;
    int i;

    va_start(list, number);
    for (i = 0; i < 4; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    result = __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3]);
    if (number == SYS_futex && (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        nanosleep(&a_while, NULL);
        late++;
    }
    return result;
}

static void *own(void *argument)
{
    struct shared *shared = argument;
    bool is_last;

    morecores_lock_lock(&shared->lock);
    is_last = --shared->owners == 0;
    if (!is_last)
        nanosleep(&a_while, NULL);
    morecores_lock_unlock(&shared->lock);
    if (is_last) {
        free(shared);
        freed++;
    }
    return NULL;
}

int main(void)
{
    int round, i;

    for (round = 0; late < LATE && round < MOST_ROUNDS; round++) {
        pthread_t threads[OWNERS];
        struct shared *shared = malloc(sizeof *shared);

        if (shared == NULL)
            return 2;
        morecores_lock_init(&shared->lock);
        shared->owners = OWNERS;
        for (i = 0; i < OWNERS; i++)
            if (pthread_create(&threads[i], NULL, own, shared) != 0)
                return 2;
        for (i = 0; i < OWNERS; i++)
            pthread_join(threads[i], NULL);
    }
    return freed == round && late >= LATE ? 0 : 1;
}
