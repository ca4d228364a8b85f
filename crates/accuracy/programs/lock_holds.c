/* Two threads that take four locks in turn, most often without a wait. The truth: the number of the
 * holds of each lock and their time, from the return of the call that takes the lock to the call
 * that releases it. The trace must count every hold: `--locks exact`. */
#include "known.h"
#include <pthread.h>

/* Mean times in nanoseconds. */
#define THINK 0.2e6
#define BRIEF_HOLD 4e3
#define LONG_HOLD 0.4e6
#define READ_HOLD 0.2e6
#define WRITE_HOLD 0.1e6

/* Holds of one lock by one thread. */
struct holds {
    uint64_t count, time;
};

/* Index of a lock among the accounts of a thread. */
enum { BRIEF, LONG, TABLE, QUEUE, LOCKS };

static const char *const NAMES[LOCKS] = {"brief_lock", "long_lock", "table_lock", "queue_lock"};

struct account {
    uint64_t seed;
    struct holds holds[LOCKS];
};

static pthread_mutex_t brief_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t long_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static uint64_t end;
static int items, is_done;

static inline void add_hold(struct holds *holds, uint64_t since) {
    holds->count++;
    holds->time += monotonic() - since;
}

static void hold_mutex(pthread_mutex_t *lock, struct holds *holds, uint64_t length) {
    pthread_mutex_lock(lock);
    uint64_t since = monotonic();
    burn(length);
    add_hold(holds, since);
    pthread_mutex_unlock(lock);
}

static void hold_table(struct account *account) {
    int writes = next_random(&account->seed) < 0.2;
    if (writes) pthread_rwlock_wrlock(&table_lock);
    else pthread_rwlock_rdlock(&table_lock);
    uint64_t since = monotonic();
    burn(next_length(&account->seed, writes ? WRITE_HOLD : READ_HOLD));
    add_hold(&account->holds[TABLE], since);
    pthread_rwlock_unlock(&table_lock);
}

static void add_item(struct account *account) {
    pthread_mutex_lock(&queue_lock);
    uint64_t since = monotonic();
    items++;
    pthread_cond_signal(&added);
    add_hold(&account->holds[QUEUE], since);
    pthread_mutex_unlock(&queue_lock);
}

static void *work(void *argument) {
    struct account *account = argument;
    uint64_t *chance = &account->seed;
    while (monotonic() < end) {
        burn(next_length(chance, THINK));
        for (int i = 0; i < 10; i++) {
            hold_mutex(&brief_lock, &account->holds[BRIEF], next_length(chance, BRIEF_HOLD));
        }
        hold_mutex(&long_lock, &account->holds[LONG], next_length(chance, LONG_HOLD));
        hold_table(account);
        add_item(account);
    }
    return 0;
}

/* The wait for the condition is no hold. */
static void *consume(void *argument) {
    struct holds *holds = &((struct account *)argument)->holds[QUEUE];
    pthread_mutex_lock(&queue_lock);
    uint64_t since = monotonic();
    while (!is_done) {
        while (items == 0 && !is_done) {
            add_hold(holds, since);
            pthread_cond_wait(&added, &queue_lock);
            since = monotonic();
        }
        items = 0;
    }
    add_hold(holds, since);
    pthread_mutex_unlock(&queue_lock);
    return 0;
}

int main(int argc, char **argv) {
    FILE *truth = open_truth(argc, argv);
    struct account accounts[3] = {{.seed = 1}, {.seed = 2}, {.seed = 3}};
    pthread_t other, consumer;
    double idle = idle_s();
    calibrate();
    end = monotonic() + (uint64_t)(atof(argv[2]) * SECOND);
    if (pthread_create(&consumer, 0, consume, &accounts[2]) != 0) return 1;
    if (pthread_create(&other, 0, work, &accounts[1]) != 0) return 1;
    work(&accounts[0]);
    pthread_join(other, 0);
    pthread_mutex_lock(&queue_lock);
    uint64_t since = monotonic();
    is_done = 1;
    pthread_cond_signal(&added);
    add_hold(&accounts[0].holds[QUEUE], since);
    pthread_mutex_unlock(&queue_lock);
    pthread_join(consumer, 0);
    idle = idle_s() - idle;
    fprintf(truth, "{\"cpu_s\":%.9f,\"idle_s\":%.9f,\"functions\":{", process_cpu_s(), idle);
    for (int i = 0; i < LOCKS; i++) {
        struct holds sum = {0, 0};
        for (int thread = 0; thread < 3; thread++) {
            sum.count += accounts[thread].holds[i].count;
            sum.time += accounts[thread].holds[i].time;
        }
        fprintf(truth, "%s\"%s\":{\"holds\":%llu,\"held_s\":%.9f}", i == 0 ? "" : ",", NAMES[i],
                (unsigned long long)sum.count, (double)sum.time / SECOND);
    }
    fprintf(truth, "}}\n");
    return fclose(truth) != 0;
}
