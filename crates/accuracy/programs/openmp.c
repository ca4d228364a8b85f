/* Parallel regions of OpenMP with unequal work, with serial parts between them: `solve` has one
 * region of long and unequal parts, `smooth` short regions with a barrier inside. The truth: the
 * time for which the threads of each region waited for its slowest thread, by the wall clock. */
#include "known.h"
#include <omp.h>

#define THREADS 2

/* CPU time of a round in nanoseconds: the serial part, the parts of the threads in the long region,
 * and the parts before and behind the barrier of each short region. */
#define ALONE 60e6
static const double long_parts[THREADS] = {400e6, 90e6};
#define SHORT_REGIONS 20
static const double before_barrier[THREADS] = {1e6, 3e6};
static const double behind_barrier[THREADS] = {2e6, 0.5e6};
#define BETWEEN 1e6

/* Waits of all threads, in seconds. */
static double waited_in_solve, waited_in_smooth;

OUT_OF_LINE void compute_alone(uint64_t turns) { spin(turns); }

/* Waits of the threads that finished at these times for the last one. */
static double sum_of_waits(const double *finished) {
    double last = 0, waited = 0;
    for (int i = 0; i < THREADS; i++) last = finished[i] > last ? finished[i] : last;
    for (int i = 0; i < THREADS; i++) waited += last - finished[i];
    return waited;
}

OUT_OF_LINE void solve(void) {
    double finished[THREADS];
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num();
        burn((uint64_t)long_parts[thread]);
        finished[thread] = omp_get_wtime();
    }
    waited_in_solve += sum_of_waits(finished);
}

OUT_OF_LINE void smooth(int swap) {
    double before[THREADS], behind[THREADS];
#pragma omp parallel num_threads(THREADS)
    {
        int thread = omp_get_thread_num(), part = swap ? THREADS - 1 - thread : thread;
        burn((uint64_t)before_barrier[part]);
        before[thread] = omp_get_wtime();
#pragma omp barrier
        burn((uint64_t)behind_barrier[part]);
        behind[thread] = omp_get_wtime();
    }
    waited_in_smooth += sum_of_waits(before) + sum_of_waits(behind);
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    calibrate();
    double idle = idle_s();
    uint64_t end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    while (monotonic() < end) {
        burn_in((uint64_t)ALONE, compute_alone);
        solve();
        for (int region = 0; region < SHORT_REGIONS; region++) {
            smooth(region % 2);
            burn_in((uint64_t)BETWEEN, compute_alone);
        }
    }
    idle = idle_s() - idle;
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"waited_s\":%.9f,\"idle_s\":%.9f,\"functions\":{"
            "\"solve\":{\"waited_s\":%.9f},\"smooth\":{\"waited_s\":%.9f}}}\n",
            process_cpu_s(), waited_in_solve + waited_in_smooth, idle, waited_in_solve, waited_in_smooth);
    return fclose(truth) != 0;
}
