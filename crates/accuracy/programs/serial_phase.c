/* A serial fraction of 30%, by threads and condition variables: `compute_alone` in the main thread,
 * then `compute_together` in two threads. The truth: the CPU time of each function. As in
 * src/program/serial_threads.rs. */
#include "known.h"
#include <pthread.h>

#define ROUNDS 20
#define WORKERS 2
#define SERIAL_SHARE 0.3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
/* Rounds handed out, threads that are not finished, length of a thread's part, and sums of the
 * threads; under `lock`. Times in nanoseconds. */
static unsigned rounds, unfinished;
static uint64_t each, cpu_together, runnable;

OUT_OF_LINE void compute_alone(uint64_t turns) { spin(turns); }

/* The second loop never runs: a compiler may merge equal functions. */
OUT_OF_LINE void compute_together(uint64_t turns) {
    spin(turns);
    if (turns == UINT64_MAX) spin(1);
}

static void *run_worker(void *argument) {
    (void)argument;
    uint64_t cpu = 0;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        while (rounds < round) pthread_cond_wait(&work, &lock);
        pthread_mutex_unlock(&lock);
        cpu += burn_in(each, compute_together);
        pthread_mutex_lock(&lock);
        unsigned left = --unfinished;
        pthread_mutex_unlock(&lock);
        if (left == 0) pthread_cond_signal(&finished);
    }
    pthread_mutex_lock(&lock);
    cpu_together += cpu;
    runnable += runnable_time();
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    pthread_t threads[WORKERS];
    calibrate();
    double round_ns = atof(argv[2]) * SECOND / ROUNDS;
    uint64_t alone = (uint64_t)(round_ns * SERIAL_SHARE), cpu_alone = 0;
    each = (uint64_t)(round_ns * (1.0 - SERIAL_SHARE) / WORKERS);
    double idle = idle_s();
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], 0, run_worker, 0) != 0) return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        cpu_alone += burn_in(alone, compute_alone);
        pthread_mutex_lock(&lock);
        rounds++;
        unfinished = WORKERS;
        pthread_mutex_unlock(&lock);
        pthread_cond_broadcast(&work);
        pthread_mutex_lock(&lock);
        while (unfinished > 0) pthread_cond_wait(&finished, &lock);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], 0);
    idle = idle_s() - idle;
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"idle_s\":%.9f,\"runnable_s\":%.9f,\"functions\":{"
            "\"compute_alone\":{\"cpu_s\":%.9f},\"compute_together\":{\"cpu_s\":%.9f}}}\n",
            process_cpu_s(), idle, (double)runnable / SECOND, (double)cpu_alone / SECOND,
            (double)cpu_together / SECOND);
    return fclose(truth) != 0;
}
