/*
 * Prints the header's definition of the two types, one line each: size, alignment, and the bytes of
 * INIT.
 */
#include <stdalign.h>
#include <stdio.h>

#include "morecores_locks.h"

static void print(const char *name, size_t size, size_t alignment, const void *bytes)
{
    size_t i;

    printf("%s %zu %zu ", name, size, alignment);
    for (i = 0; i < size; i++)
        printf("%02x", ((const unsigned char *)bytes)[i]);
    printf("\n");
}

int main(void)
{
    morecores_lock_t lock = MORECORES_LOCK_INIT;
    morecores_rwlock_t rwlock = MORECORES_RWLOCK_INIT;

    print("lock", sizeof lock, alignof(morecores_lock_t), &lock);
    print("rwlock", sizeof rwlock, alignof(morecores_rwlock_t), &rwlock);
    return 0;
}
