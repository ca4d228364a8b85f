// Two locks in either order.
#include "case.h"

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void take(int first) {
    for (int round = 0; round < 10; round++) {
        work(40000);
        pthread_mutex_lock(&locks[first]);
        pthread_mutex_lock(&locks[!first]);
        pthread_mutex_unlock(&locks[!first]);
        pthread_mutex_unlock(&locks[first]);
    }
}

static void *one(void *argument) {
    take(0);
    return argument;
}

static void *other(void *argument) {
#ifdef TWIN
    take(0);
#else
    take(1);
#endif
    return argument;
}

int main(void) {
    run_two(one, other);
    return 0;
}
