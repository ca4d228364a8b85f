/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Waits of threads for kernel locks, from the first attempt to the end. A mutex wait may begin
 * several times before it ends once, and the end does not identify the wait: the awaited lock is
 * therefore stored for each thread. Waits in interrupts count as part of the interrupts.
 */

#define STACK_DEPTH 24

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACK_DEPTH * sizeof(u64));
} stacks SEC(".maps");

/* The wait at a depth. The compiler must keep the mask, which proves the bounds to older
 * verifiers. */
static __always_inline struct wait *wait_at(struct waits *waits, u32 depth)
{
	asm volatile("" : "+r"(depth));
	return &waits->nested[depth & (NESTED - 1)];
}

/* No stack was taken. */
#define NO_STACK 0xffffffffU

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct task_struct *current = current_task();
	struct waits *waits;
	struct wait *wait;
	u32 depth;

	if (!in_tree(current->pid) || in_interrupt(&cpus[this_cpu()]))
		return 0;
	waits = bpf_task_storage_get(&waits_of, current, NULL, 0);
	if (!waits)
		return 0;
	depth = waits->depth;
	wait = wait_at(waits, depth - 1);
	if (depth && wait->lock == (u64)lock) {
		wait->flags |= flags;
		return 0;
	}
	/* This depth exceeds all known nesting: an end was missed. Restart at depth 0. */
	if (depth >= NESTED)
		depth = 0;
	wait = wait_at(waits, depth);
	wait->lock = (u64)lock;
	wait->since = bpf_ktime_get_ns();
	wait->flags = flags;
	waits->depth = depth + 1;
	return 0;
}

/* Identifies the lock by comparison with the thread's own `mmap_lock` and its CPU's runqueue,
 * whose lock is its first member. */
static __always_inline u16 known_lock(struct cpu *state, struct task_struct *current, u64 lock)
{
	struct mm_struct *mm = current->mm;

	if (mm && lock == (u64)&mm->mmap_lock)
		return LOCK_IS_MMAP;
	if (state->runqueue == lock)
		return LOCK_IS_RUNQUEUE;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock)
{
	struct task_struct *current = current_task();
	u32 cpu = this_cpu(), depth, stack = NO_STACK;
	struct cpu *state = &cpus[cpu];
	struct claim claimed;
	struct waits *waits;
	struct slot *slot;
	struct wait *wait;
	u64 now, waited;
	u16 detail;

	if (!in_tree(current->pid) || in_interrupt(state))
		return 0;
	waits = bpf_task_storage_get(&waits_of, current, NULL, 0);
	if (!waits)
		return 0;
	depth = waits->depth;
	if (!depth || depth > NESTED)
		return 0;
	wait = wait_at(waits, depth - 1);
	if (wait->lock != (u64)lock) {
		/* This is the end of an outer wait after a missed inner end, or the end of a
		 * wait that began before the trace. */
		if (depth < 2)
			return 0;
		depth--;
		wait = wait_at(waits, depth - 1);
		if (wait->lock != (u64)lock)
			return 0;
	}
	waits->depth = depth - 1;
	now = bpf_ktime_get_ns();
	waited = now - wait->since;
	detail = (wait->flags & 0xff) | known_lock(state, current, (u64)lock);
	/* The choice is random: with a counter, a wait in step with the counter would be chosen
	 * always or never. */
	if (waited >= long_wait_ns || bpf_get_prandom_u32() % stack_share == 0)
		stack = bpf_get_stackid(ctx, &stacks, 0);
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = current->pid;
	slot->other = stack;
	slot->value = (u64)lock;
	slot->extra = short_time(waited);
	commit(&claimed, KIND_CONTENTION, detail);
	return 0;
}
