/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Holds of the command's own locks, for the exact account only: probes at the entries of the C
 * library's functions that take and release a lock. Sums by lock and calling instruction stay in
 * the kernel until the end of the trace; this header records no events.
 *
 * A hold begins when a thread enters a function that takes the lock. If the thread then waits for
 * the lock, the hold begins when the thread runs again. It ends when the thread enters the
 * function that releases the lock. No probe is at the end of a function: such a probe replaces the
 * return address on the stack, where the copies of stack memory would end. An attempt that fails
 * is therefore not seen, but no release follows it, and only a release adds to the sums.
 */
#ifndef MORECORES_EXACT_LOCKS_H
#define MORECORES_EXACT_LOCKS_H

#include "state.bpf.h"

/* Whether the holds are counted. Set by the driver before loading. */
const volatile bool exact_locks = false;

/* Bytes of a lock in which a futex belongs to it: at least those of glibc's reader-writer lock,
 * its largest with 56. */
#define LOCK_BYTES 64

/* glibc's mutex, the same since version 2.4: nptl/descr.h and struct_mutex.h in its sources. */
struct glibc_mutex {
	s32 lock;
	u32 count; /* how often the owner has taken a recursive mutex */
	s32 owner;
	u32 users;
	s32 kind;
};
#define KIND_MASK 3
#define KIND_RECURSIVE 1

/* Thread with a lock. */
struct hold_key {
	u64 lock;
	u32 tid;
	u32 pad;
};

struct hold {
	u64 since;
	u64 caller;
	u32 mode;
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCKS_HELD);
	__type(key, struct hold_key);
	__type(value, struct hold);
} holds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCK_USES);
	__type(key, struct lock_use_key);
	__type(value, struct lock_use);
} lock_uses SEC(".maps");

/* Holds that found no room in a table. */
u64 lost_holds;

/* Last attempt of a thread to get a lock. */
struct attempt {
	u64 lock;
	u64 condition; /* condition variable at which the thread gave up the lock; 0 for none */
	u64 waits; /* whether the thread waits in the attempt */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct attempt);
} attempts SEC(".maps");

static __always_inline bool is_in_lock(u64 futex, u64 lock)
{
	return lock && futex - lock < LOCK_BYTES;
}

/* Notes that a thread waits for a futex in its last attempt, if it does. */
static __always_inline void note_futex_wait(struct task_struct *prev, u64 futex)
{
	struct attempt *attempt;

	if (!exact_locks)
		return;
	attempt = bpf_task_storage_get(&attempts, prev, NULL, 0);
	if (attempt)
		attempt->waits = is_in_lock(futex, attempt->lock) || is_in_lock(futex, attempt->condition);
}

/* Restarts the hold of a thread that runs again after a wait in its last attempt. */
static __always_inline void restart_hold(struct task_struct *next, u64 now)
{
	struct hold_key key = { .tid = next->pid };
	struct attempt *attempt;
	struct hold *hold;

	if (!exact_locks || !in_tree(next->pid))
		return;
	attempt = bpf_task_storage_get(&attempts, next, NULL, 0);
	if (!attempt || !attempt->waits)
		return;
	attempt->waits = 0;
	key.lock = attempt->lock;
	hold = bpf_map_lookup_elem(&holds, &key);
	if (hold)
		hold->since = now;
}

static __always_inline bool is_recursive(const struct glibc_mutex *mutex)
{
	return (mutex->kind & KIND_MASK) == KIND_RECURSIVE;
}

/* Begins a hold. `mutex` is the content of the lock, for a mutex of glibc. */
static __always_inline void begin_hold(struct task_struct *task, u64 now, u64 lock, u64 condition, u64 caller,
				       u32 mode, const struct glibc_mutex *mutex)
{
	struct hold_key key = { .lock = lock, .tid = task->pid };
	struct hold hold = { .since = now, .caller = caller, .mode = mode };
	struct attempt *attempt;

	/* A recursive mutex that is taken again. */
	if (mutex && is_recursive(mutex) && mutex->lock && bpf_map_lookup_elem(&holds, &key))
		return;
	attempt = bpf_task_storage_get(&attempts, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (attempt) {
		attempt->lock = lock;
		attempt->condition = condition;
		attempt->waits = 0;
	}
	if (bpf_map_update_elem(&holds, &key, &hold, BPF_ANY))
		__sync_fetch_and_add(&lost_holds, 1);
}

static __always_inline void add_use(const struct lock_use_key *key, u64 now, u64 held)
{
	struct lock_use *use = bpf_map_lookup_elem(&lock_uses, key);

	if (!use) {
		struct lock_use none = {};

		/* Another thread may be first. */
		bpf_map_update_elem(&lock_uses, key, &none, BPF_NOEXIST);
		use = bpf_map_lookup_elem(&lock_uses, key);
		if (!use) {
			__sync_fetch_and_add(&lost_holds, 1);
			return;
		}
	}
	__sync_fetch_and_add(&use->count, 1);
	__sync_fetch_and_add(&use->held, held);
	/* Only holds of readers can end at the same time, and then the longer one may be missed. */
	if (held > use->longest)
		use->longest = held;
	use->last = now;
}

/* Ends the hold of a thread, if it has one. */
static __always_inline void end_hold(struct task_struct *task, u64 now, u64 lock, const struct glibc_mutex *mutex)
{
	struct hold_key key = { .lock = lock, .tid = task->pid };
	struct lock_use_key use = { .process = task->tgid, .lock = lock };
	struct hold *hold = bpf_map_lookup_elem(&holds, &key);
	u64 since;

	if (!hold || (mutex && is_recursive(mutex) && mutex->count > 1))
		return;
	since = hold->since;
	use.caller = hold->caller;
	use.mode = hold->mode;
	bpf_map_delete_elem(&holds, &key);
	add_use(&use, now, now - since);
}

SEC("uprobe")
int on_lock_call(struct pt_regs *ctx)
{
	struct task_struct *task = current_task();
	u64 cookie, now, lock = ctx->di, caller = 0;
	struct glibc_mutex content, *mutex = NULL;
	u32 call;

	if (!in_tree(task->pid))
		return 0;
	now = bpf_ktime_get_ns();
	cookie = bpf_get_attach_cookie(ctx);
	call = cookie & LOCK_CALL_MASK;
	bpf_probe_read_user(&caller, sizeof(caller), (void *)ctx->sp);
	if (call == CALL_AWAIT_CONDITION) {
		/* The function releases the mutex, and takes it again before it returns. */
		lock = ctx->si;
		end_hold(task, now, lock, NULL);
		begin_hold(task, now, lock, ctx->di, caller, MODE_MUTEX, NULL);
		return 0;
	}
	if (cookie & LOCK_IS_GLIBC_MUTEX && !bpf_probe_read_user(&content, sizeof(content), (void *)lock))
		mutex = &content;
	switch (call) {
	case CALL_TAKE_MUTEX:
		begin_hold(task, now, lock, 0, caller, MODE_MUTEX, mutex);
		break;
	case CALL_TAKE_READ:
		begin_hold(task, now, lock, 0, caller, MODE_READ, NULL);
		break;
	case CALL_TAKE_WRITE:
		begin_hold(task, now, lock, 0, caller, MODE_WRITE, NULL);
		break;
	case CALL_RELEASE:
		end_hold(task, now, lock, mutex);
		break;
	}
	return 0;
}

#endif
