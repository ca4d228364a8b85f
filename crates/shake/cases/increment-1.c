// An increment in one instruction, without LOCK. Atomic on one CPU only.
#include "case.h"

static int counter;

static void *worker(void *argument) {
    for (int round = 0; round < 20; round++) {
        work(20000);
#ifdef TWIN
        __asm__ volatile("lock incl %0" : "+m"(counter));
#else
        __asm__ volatile("incl %0" : "+m"(counter));
#endif
    }
    return argument;
}

int main(void) {
    run_two(worker, worker);
    return counter != 40;
}
