/* Three threads with names and one mutex. The truth: the time for which each thread held the mutex
 * while another thread waited for it. Each thread writes down the times at which it wants the
 * mutex, has it and gives it back. After the run, the notes of all threads are put in order.
 *
 * glibc gives a mutex to the first thread that asks, so a wait sees several owners, also ones that
 * never waited. */
#include "known.h"
#include <pthread.h>

/* Mean times of a turn in nanoseconds. The holds are long in comparison with the time for waking an
 * idle virtual CPU. */
static const struct turns {
    const char *name;
    double pause, hold;
} TURNS[] = {{"brief", 2e6, 0.4e6}, {"steady", 3e6, 1.5e6}, {"rare", 20e6, 8e6}};

#define THREADS 3
#define MOST_NOTES 1000000

enum step { WANTS, HAS, GIVES_BACK };

struct note {
    uint64_t at;
    int thread;
    enum step step;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct note *notes[THREADS];
static size_t counts[THREADS];
static uint64_t end;

static void write_down(int thread, enum step step) {
    struct note note = {monotonic(), thread, step};
    notes[thread][counts[thread]++] = note;
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    uint64_t chance = (uint64_t)thread + 1;
    pthread_setname_np(pthread_self(), TURNS[thread].name);
    while (monotonic() < end && counts[thread] + 3 <= MOST_NOTES) {
        burn(next_length(&chance, TURNS[thread].pause));
        write_down(thread, WANTS);
        pthread_mutex_lock(&lock);
        write_down(thread, HAS);
        burn(next_length(&chance, TURNS[thread].hold));
        write_down(thread, GIVES_BACK);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static int in_order(const void *one, const void *other) {
    uint64_t a = ((const struct note *)one)->at, b = ((const struct note *)other)->at;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    pthread_t threads[THREADS];
    double held_s[THREADS] = {0}, idle = idle_s();
    calibrate();
    for (int i = 0; i < THREADS; i++) {
        notes[i] = malloc(MOST_NOTES * sizeof *notes[i]);
        if (notes[i] == 0) return 1;
    }
    end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], 0, work, (void *)(intptr_t)i) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    idle = idle_s() - idle;
    double cpu_s = process_cpu_s();
    size_t total = counts[0] + counts[1] + counts[2], next = 0;
    struct note *all = malloc((total + 1) * sizeof *all);
    if (all == 0) return 1;
    for (int i = 0; i < THREADS; i++) {
        memcpy(all + next, notes[i], counts[i] * sizeof *all);
        next += counts[i];
    }
    qsort(all, total, sizeof *all, in_order);
    int owner = -1, waiting = 0;
    for (size_t i = 0; i < total; i++) {
        if (owner >= 0 && waiting > 0) held_s[owner] += (double)(all[i].at - all[i - 1].at) / SECOND;
        switch (all[i].step) {
        case WANTS: waiting++; break;
        case HAS: waiting--; owner = all[i].thread; break;
        case GIVES_BACK: owner = -1; break;
        }
    }
    fprintf(truth, "{\"cpu_s\":%.9f,\"idle_s\":%.9f,\"functions\":{", cpu_s, idle);
    for (int i = 0; i < THREADS; i++) {
        fprintf(truth, "%s\"%s\":{\"held_s\":%.9f}", i == 0 ? "" : ",", TURNS[i].name, held_s[i]);
    }
    fprintf(truth, "}}\n");
    return fclose(truth) != 0;
}
