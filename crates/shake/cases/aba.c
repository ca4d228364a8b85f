// A stack without locks whose pop compares addresses alone: a node that left and came back looks
// unchanged.
#include "case.h"

struct node {
    struct node *next;
    int owners;
};

static struct node nodes[3];
static struct node *volatile top;
static volatile int wrong;
#ifdef TWIN
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static struct node *pop(void) {
#ifdef TWIN
    pthread_mutex_lock(&lock);
    struct node *node = top;
    if (node) top = node->next;
    pthread_mutex_unlock(&lock);
    return node;
#else
    for (;;) {
        struct node *node = top;
        if (!node) return 0;
        struct node *next = *(struct node *volatile *)&node->next;
        if (__sync_bool_compare_and_swap(&top, node, next)) return node;
    }
#endif
}

static void push(struct node *node) {
#ifdef TWIN
    pthread_mutex_lock(&lock);
    node->next = top;
    top = node;
    pthread_mutex_unlock(&lock);
#else
    struct node *next;
    do {
        next = top;
        *(struct node *volatile *)&node->next = next;
    } while (!__sync_bool_compare_and_swap(&top, next, node));
#endif
}

static void use(struct node *node) {
    if (node && __sync_add_and_fetch(&node->owners, 1) != 1) wrong = 1;
}

static void leave(struct node *node) {
    if (node) __sync_sub_and_fetch(&node->owners, 1);
}

static void *worker(void *argument) {
    for (int round = 0; round < 20; round++) {
        work(15000);
        struct node *first = pop(), *second = pop();
        use(first);
        use(second);
        work(2000);
        leave(first);
        if (first) push(first);
        leave(second);
        if (second) push(second);
    }
    return argument;
}

int main(void) {
    for (int i = 0; i < 3; i++) push(&nodes[i]);
    run_two(worker, worker);
    return wrong;
}
