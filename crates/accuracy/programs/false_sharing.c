/* Two threads that each count in a counter of its own: in `count_side_by_side` the two counters are
 * in one cache line, in `count_apart` they are not. Both functions do equal work, so the first one
 * takes longer if the threads run at once. The truth: the CPU time of each function. */
#include "known.h"
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 2
/* Counters in 256 bytes, which no cache line exceeds on common processors. */
#define APART 32
/* Counts between two reads of the clock, and reads in a turn: some 0.1 ms and 20 ms without false
 * sharing, several periods of the samples. */
#define COUNTS 20000
#define READS 200

static _Alignas(256) atomic_long side_by_side[APART], apart[THREADS * APART];
static uint64_t end;

/* CPU time of one thread, in nanoseconds. */
struct times {
    long thread;
    uint64_t side_by_side, apart;
};

OUT_OF_LINE void count_side_by_side(atomic_long *counter) {
    for (int i = 0; i < COUNTS; i++) atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Counts down: a compiler may merge equal functions. */
OUT_OF_LINE void count_apart(atomic_long *counter) {
    for (int i = 0; i < COUNTS; i++) atomic_fetch_sub_explicit(counter, 1, memory_order_relaxed);
}

static uint64_t repeat(void (*count)(atomic_long *), atomic_long *counter) {
    uint64_t begun = thread_cpu();
    for (int i = 0; i < READS && monotonic() < end; i++) count(counter);
    return thread_cpu() - begun;
}

static void *work(void *argument) {
    struct times *times = argument;
    while (monotonic() < end) {
        times->side_by_side += repeat(count_side_by_side, &side_by_side[times->thread]);
        times->apart += repeat(count_apart, &apart[times->thread * APART]);
    }
    return 0;
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    struct times one = {0, 0, 0}, two = {1, 0, 0};
    pthread_t other;
    end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    if (pthread_create(&other, 0, work, &two) != 0) return 1;
    work(&one);
    pthread_join(other, 0);
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"functions\":{\"count_side_by_side\":{\"cpu_s\":%.9f},"
            "\"count_apart\":{\"cpu_s\":%.9f}}}\n",
            process_cpu_s(), (double)(one.side_by_side + two.side_by_side) / SECOND,
            (double)(one.apart + two.apart) / SECOND);
    return fclose(truth) != 0;
}
