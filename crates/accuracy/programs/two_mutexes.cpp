// Two threads and two mutexes, as in two_mutexes.c, with the mutex and the threads of C++.
#include "known.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

// Mean times of a turn in nanoseconds, as in src/program/two_mutexes.rs.
constexpr double THINK = 4e6, INDEX_HOLD = 1.6e6, CACHE_HOLD = 6.4e6;

struct TimedMutex {
    std::mutex mutex;
    // Time at which the other thread began to wait; 0 if it does not wait.
    std::atomic<uint64_t> waiting_since{0};
    uint64_t taken_at = 0;
    uint64_t held_meanwhile = 0;
};

static TimedMutex index_lock;
static std::unique_ptr<TimedMutex> cache_lock;

// Time of the waits of one thread, in nanoseconds.
struct Waits {
    uint64_t in_update_index = 0, in_rebuild_cache = 0;
};

// Returns the length of the wait without the time in which the woken thread waited for a CPU.
OUT_OF_LINE uint64_t take(TimedMutex &lock) {
    if (lock.mutex.try_lock()) {
        lock.taken_at = monotonic();
        return 0;
    }
    uint64_t runnable = runnable_time(), begun = monotonic();
    lock.waiting_since = begun;
    lock.mutex.lock();
    lock.taken_at = monotonic();
    lock.waiting_since = 0;
    runnable = runnable_time() - runnable;
    uint64_t waited = lock.taken_at - begun;
    return runnable < waited ? waited - runnable : 0;
}

static inline __attribute__((always_inline)) void release(TimedMutex &lock) {
    uint64_t now = monotonic(), since = lock.waiting_since;
    if (since > 0) lock.held_meanwhile += now - (since > lock.taken_at ? since : lock.taken_at);
    lock.mutex.unlock();
}

// The result is needed after `release`, so the function does not end in a jump to the unlocking
// function.
OUT_OF_LINE uint64_t update_index(uint64_t hold) {
    uint64_t waited = take(index_lock);
    burn(hold);
    release(index_lock);
    return waited;
}

OUT_OF_LINE uint64_t rebuild_cache(uint64_t hold) {
    uint64_t waited = take(*cache_lock);
    burn(hold);
    release(*cache_lock);
    return waited;
}

static void work(Waits &waits, uint64_t chance, uint64_t end) {
    while (monotonic() < end) {
        burn(next_length(&chance, THINK));
        if (next_random(&chance) < 0.5) {
            waits.in_update_index += update_index(next_length(&chance, INDEX_HOLD));
        } else {
            waits.in_rebuild_cache += rebuild_cache(next_length(&chance, CACHE_HOLD));
        }
    }
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    calibrate();
    cache_lock = std::make_unique<TimedMutex>();
    uint64_t end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    Waits one, two;
    std::thread other([&] { work(two, 2, end); });
    work(one, 1, end);
    other.join();
    fprintf(truth,
            "{\"cpu_s\":%.9f,\"functions\":{\"update_index\":{\"waited_s\":%.9f,\"held_s\":%.9f},"
            "\"rebuild_cache\":{\"waited_s\":%.9f,\"held_s\":%.9f}}}\n",
            process_cpu_s(), (double)(one.in_update_index + two.in_update_index) / SECOND,
            (double)index_lock.held_meanwhile / SECOND,
            (double)(one.in_rebuild_cache + two.in_rebuild_cache) / SECOND,
            (double)cache_lock->held_meanwhile / SECOND);
    return fclose(truth) != 0;
}
