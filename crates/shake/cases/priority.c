// A thread of higher priority writes two halves of a value, and relies on its priority to keep the
// reader of lower priority from running in between.
#define _GNU_SOURCE
#include "case.h"

#include <semaphore.h>
#include <stdint.h>
#include <string.h>

static volatile uint64_t pair __attribute__((aligned(8)));
static sem_t request;
static volatile int done, wrong;

static void *writer(void *argument) {
    for (uint32_t value = 1;; value++) {
        sem_wait(&request);
        if (done) return argument;
        work(1000);
#ifdef TWIN
        pair = ((uint64_t)value << 32) | value;
#else
        ((volatile uint32_t *)&pair)[0] = value;
        ((volatile uint32_t *)&pair)[1] = value;
#endif
    }
}

static void *reader(void *argument) {
    for (int round = 0; round < 40; round++) {
        sem_post(&request);
        work(20000);
        uint64_t seen = pair;
        if ((uint32_t)seen != (uint32_t)(seen >> 32)) wrong = 1;
    }
    done = 1;
    sem_post(&request);
    return argument;
}

static pthread_t start(void *(*function)(void *), int priority) {
    pthread_attr_t attributes;
    struct sched_param parameter = {.sched_priority = priority};
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
    if (pthread_create(&thread, &attributes, function, 0)) exit(77);
    return thread;
}

int main(void) {
    sem_init(&request, 0, 0);
    pthread_t high = start(writer, 20), low = start(reader, 10);
    pthread_join(low, 0);
    pthread_join(high, 0);
    return wrong;
}
