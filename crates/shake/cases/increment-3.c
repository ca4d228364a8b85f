// An increment in three instructions. Not thread-safe: another thread may run between any two.
#include "case.h"

static int counter;

static void *worker(void *argument) {
    for (int round = 0; round < 20; round++) {
        work(20000);
#ifdef TWIN
        __asm__ volatile("lock addl $1, %0" : "+m"(counter));
#else
        __asm__ volatile("movl %0, %%eax\n\taddl $1, %%eax\n\tmovl %%eax, %0" : "+m"(counter) : : "eax", "memory");
#endif
    }
    return argument;
}

int main(void) {
    run_two(worker, worker);
    return counter != 40;
}
