/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * State of a thread's waits for kernel locks. It is allocated when a thread of the tree is
 * forked: inside a wait for a lock, an allocation could wait for another lock.
 */

/* Number of locks that a thread can wait for at one time: the mutex, a spinlock on its way to
 * sleep, and two spare. A power of two, as SOFTIRQS. */
#define NESTED 4

struct wait {
	u64 lock;
	u64 since;
	u32 flags;
	u32 pad;
};

struct waits {
	struct wait nested[NESTED];
	u32 depth;
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct waits);
} waits_of SEC(".maps");
