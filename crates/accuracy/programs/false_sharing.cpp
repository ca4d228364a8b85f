// Two threads that count in one cache line and in two, as in false_sharing.c, with the threads and
// atomic variables of C++.
#include "known.h"
#include <atomic>
#include <thread>

// As in false_sharing.c.
constexpr int THREADS = 2, APART = 32, COUNTS = 20000, READS = 200;

alignas(256) static std::atomic<long> side_by_side[APART], apart[THREADS * APART];

OUT_OF_LINE void count_side_by_side(std::atomic<long> &counter) {
    for (int i = 0; i < COUNTS; i++) counter.fetch_add(1, std::memory_order_relaxed);
}

// Counts down: a compiler may merge equal functions.
OUT_OF_LINE void count_apart(std::atomic<long> &counter) {
    for (int i = 0; i < COUNTS; i++) counter.fetch_sub(1, std::memory_order_relaxed);
}

// CPU time of one thread, in nanoseconds.
struct Times {
    uint64_t side_by_side = 0, apart = 0;
};

static uint64_t repeat(void (*count)(std::atomic<long> &), std::atomic<long> &counter, uint64_t end) {
    uint64_t begun = thread_cpu();
    for (int i = 0; i < READS && monotonic() < end; i++) count(counter);
    return thread_cpu() - begun;
}

static void work(int thread, Times &times, uint64_t end) {
    while (monotonic() < end) {
        times.side_by_side += repeat(count_side_by_side, side_by_side[thread], end);
        times.apart += repeat(count_apart, apart[thread * APART], end);
    }
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    uint64_t end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    Times one, two;
    std::thread other([&] { work(1, two, end); });
    work(0, one, end);
    other.join();
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"functions\":{\"count_side_by_side\":{\"cpu_s\":%.9f},"
            "\"count_apart\":{\"cpu_s\":%.9f}}}\n",
            process_cpu_s(), (double)(one.side_by_side + two.side_by_side) / SECOND,
            (double)(one.apart + two.apart) / SECOND);
    return fclose(truth) != 0;
}
