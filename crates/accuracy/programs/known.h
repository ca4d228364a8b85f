/* Clocks, work of a set length, the kernel's accounts and the line of truth, for the compiled
 * programs with known truth; in the common part of C and C++. The work is that of src/clock.rs.
 * Each program is called with a file for its truth and its length in seconds. */
#ifndef KNOWN_H
#define KNOWN_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function with a frame of its own and the name of the source. */
#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noinline, noclone))
#endif

/* A function that not every program calls. */
#define UNUSED __attribute__((unused))

/* Nanoseconds a second. */
#define SECOND 1e9

/* Longest computation between two reads of the clock, in nanoseconds. */
#define TIME_PER_READ 500000

static uint64_t read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline uint64_t monotonic(void) { return read_clock(CLOCK_MONOTONIC); }

static inline uint64_t thread_cpu(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/* CPU time of the process in seconds. */
static inline double process_cpu_s(void) { return (double)read_clock(CLOCK_PROCESS_CPUTIME_ID) / SECOND; }

/* Chain of multiplications without memory; its time belongs to the function that contains it. */
static inline __attribute__((always_inline)) void spin(uint64_t turns) {
    uint64_t x = 1;
    for (; turns > 0; turns--) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ volatile("" : "+r"(x));
    }
}

static double turns_per_ns;

/* Measures the speed of `spin`; to be called before the threads start. */
static UNUSED void calibrate(void) {
    uint64_t begun = thread_cpu(), turns = 0, took;
    do {
        spin(20000);
        turns += 20000;
        took = thread_cpu() - begun;
    } while (took < 2000000);
    turns_per_ns = (double)turns / (double)took;
}

/* Computes in `compute`, a function with `spin` inside, for this much CPU time of the thread in
 * nanoseconds. Returns the CPU time that it took. */
static inline uint64_t burn_in(uint64_t length, void (*compute)(uint64_t turns)) {
    uint64_t begun = thread_cpu(), now = begun, end = begun + length;
    while (now < end) {
        uint64_t left = end - now < TIME_PER_READ ? end - now : TIME_PER_READ;
        compute((uint64_t)((double)left * 0.95 * turns_per_ns) + 1);
        now = thread_cpu();
    }
    return now - begun;
}

static OUT_OF_LINE UNUSED void compute_any(uint64_t turns) { spin(turns); }

/* Computes for this much CPU time of the thread, in nanoseconds. */
static UNUSED void burn(uint64_t length) { burn_in(length, compute_any); }

/* Next value of SplitMix64 (Steele, Lea and Flood 2014), between 0 and 1. */
static inline double next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Random length of an exponential distribution, in the unit of its mean. */
static inline uint64_t next_length(uint64_t *state, double mean) {
    return (uint64_t)(-log(1.0 - next_random(state)) * mean);
}

/* The scheduler's account of the time that the calling thread was runnable and did not run, in
 * nanoseconds; 0 without such an account. */
static inline uint64_t runnable_time(void) {
    static __thread int file;
    char text[96];
    unsigned long long ran, waited;
    if (file == 0) file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t length = pread(file, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/* Idle time since the start of the machine of the CPUs that the program may use, in seconds. */
static inline double idle_s(void) {
    static char line[8192];
    double ticks = 0;
    cpu_set_t allotted;
    FILE *file = fopen("/proc/stat", "r");
    if (file == 0 || sched_getaffinity(0, sizeof allotted, &allotted) != 0) exit(1);
    while (fgets(line, sizeof line, file) != 0) {
        unsigned cpu;
        unsigned long long idle, disk;
        if (sscanf(line, "cpu%u %*s %*s %*s %llu %llu", &cpu, &idle, &disk) == 3 && cpu < CPU_SETSIZE
            && CPU_ISSET(cpu, &allotted)) {
            ticks += (double)(idle + disk);
        }
    }
    fclose(file);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Opens the file for the truth. */
static inline FILE *open_truth(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "w") : 0;
    if (file == 0) {
        fprintf(stderr, "usage: %s TRUTH-FILE SECONDS; the file must be writable\n", argv[0]);
        exit(2);
    }
    return file;
}

#endif
