// One thread takes away an object when it believes that the other one has finished with it.
#include "case.h"

struct object {
    int value;
};

static struct object *volatile shared;
#ifdef TWIN
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void *user(void *argument) {
    work(20000);
#ifdef TWIN
    pthread_mutex_lock(&lock);
#endif
    if (shared) shared->value++;
#ifdef TWIN
    pthread_mutex_unlock(&lock);
#endif
    return argument;
}

static void *owner(void *argument) {
    work(600000);
#ifdef TWIN
    pthread_mutex_lock(&lock);
#endif
    struct object *object = shared;
    shared = 0;
#ifdef TWIN
    pthread_mutex_unlock(&lock);
#endif
    free(object);
    return argument;
}

int main(void) {
    shared = calloc(1, sizeof(struct object));
    run_two(user, owner);
    return 0;
}
