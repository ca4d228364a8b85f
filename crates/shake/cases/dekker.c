// Mutual exclusion by two flags, without the fence that x86 needs between the store and the load.
#include "case.h"

// On cache lines of their own, as flags of two threads should be.
static volatile struct {
    int flag __attribute__((aligned(64)));
} wants[2];
static volatile int inside;
static volatile int wrong;

static void enter(int self) {
    for (int round = 0; round < 100; round++) {
        work(3000 + 997 * ((round * (self + 3)) & 7));
        wants[self].flag = 1;
#ifdef TWIN
        __sync_synchronize();
#endif
        if (!wants[!self].flag) {
            if (__sync_add_and_fetch(&inside, 1) != 1) wrong = 1;
            __sync_sub_and_fetch(&inside, 1);
        }
        __sync_synchronize();
        wants[self].flag = 0;
    }
}

static void *one(void *argument) {
    enter(0);
    return argument;
}

static void *other(void *argument) {
    enter(1);
    return argument;
}

int main(void) {
    run_two(one, other);
    return wrong;
}
