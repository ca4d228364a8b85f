// An object is published before its field is set.
#include "case.h"

struct object {
    int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *volatile instance;
static volatile int wrong;

static void use(int turns) {
    work(turns);
    if (!instance) {
        pthread_mutex_lock(&lock);
        if (!instance) {
            struct object *object = calloc(1, sizeof *object);
#ifdef TWIN
            object->value = 42;
            __atomic_store_n(&instance, object, __ATOMIC_RELEASE);
#else
            instance = object;
            __asm__ volatile("" : : : "memory");
            object->value = 42;
#endif
        }
        pthread_mutex_unlock(&lock);
    }
    if (instance->value != 42) wrong = 1;
}

static void *early(void *argument) {
    use(100000);
    return argument;
}

static void *late(void *argument) {
    use(600000);
    return argument;
}

int main(void) {
    run_two(early, late);
    return wrong;
}
