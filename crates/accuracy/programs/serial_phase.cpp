// A serial fraction of 30%, as in serial_phase.c, with the threads and condition variables of C++.
#include "known.h"
#include <condition_variable>
#include <mutex>
#include <thread>

constexpr unsigned ROUNDS = 20, WORKERS = 2;
constexpr double SERIAL_SHARE = 0.3;

OUT_OF_LINE void compute_alone(uint64_t turns) { spin(turns); }

// The second loop never runs: a compiler may merge equal functions.
OUT_OF_LINE void compute_together(uint64_t turns) {
    spin(turns);
    if (turns == UINT64_MAX) spin(1);
}

// Rounds handed out, threads that are not finished, and sums of the threads; under `lock`. Times in
// nanoseconds.
struct Rounds {
    std::mutex lock;
    std::condition_variable work, finished;
    unsigned begun = 0, unfinished = 0;
    uint64_t cpu_together = 0, runnable = 0;

    void run_worker(uint64_t each) {
        uint64_t cpu = 0;
        for (unsigned round = 1; round <= ROUNDS; round++) {
            {
                std::unique_lock<std::mutex> held(lock);
                work.wait(held, [&] { return begun >= round; });
            }
            cpu += burn_in(each, compute_together);
            bool is_last;
            {
                std::lock_guard<std::mutex> held(lock);
                is_last = --unfinished == 0;
            }
            if (is_last) finished.notify_one();
        }
        std::lock_guard<std::mutex> held(lock);
        cpu_together += cpu;
        runnable += runnable_time();
    }

    void run_round() {
        {
            std::lock_guard<std::mutex> held(lock);
            begun++;
            unfinished = WORKERS;
        }
        work.notify_all();
        std::unique_lock<std::mutex> held(lock);
        finished.wait(held, [&] { return unfinished == 0; });
    }
};

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    calibrate();
    double round_ns = atof(argv[2]) * SECOND / ROUNDS;
    uint64_t alone = (uint64_t)(round_ns * SERIAL_SHARE), cpu_alone = 0;
    uint64_t each = (uint64_t)(round_ns * (1.0 - SERIAL_SHARE) / WORKERS);
    double idle = idle_s();
    Rounds rounds;
    std::thread threads[WORKERS];
    for (auto &thread : threads) thread = std::thread([&] { rounds.run_worker(each); });
    for (unsigned round = 0; round < ROUNDS; round++) {
        cpu_alone += burn_in(alone, compute_alone);
        rounds.run_round();
    }
    for (auto &thread : threads) thread.join();
    idle = idle_s() - idle;
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"idle_s\":%.9f,\"runnable_s\":%.9f,\"functions\":{"
            "\"compute_alone\":{\"cpu_s\":%.9f},\"compute_together\":{\"cpu_s\":%.9f}}}\n",
            process_cpu_s(), idle, (double)rounds.runnable / SECOND, (double)cpu_alone / SECOND,
            (double)rounds.cpu_together / SECOND);
    return fclose(truth) != 0;
}
