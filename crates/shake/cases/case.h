// Parts that the cases share: work without shared data, and two threads.
#include <pthread.h>
#include <stdlib.h>

static inline void work(int turns) {
    for (volatile int turn = 0; turn < turns; turn++) {
    }
}

static inline void run_two(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t threads[2];
    if (pthread_create(&threads[0], 0, first, 0) || pthread_create(&threads[1], 0, second, 0)) abort();
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
}
