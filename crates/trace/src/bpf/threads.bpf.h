/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Threads on CPUs: the running thread, the source of each wake-up, and the CPUs that a thread
 * may not use. This is the hot path of every trace: two records for each wait of a thread.
 */

/* Whether a record about these threads on this CPU matters to the run. On the allotted CPUs
 * every record matters. Elsewhere it matters for threads of the tree, and for kernel threads,
 * which may work for the tree. */
static __always_inline bool concerns_run(u32 cpu, struct task_struct *one, struct task_struct *other)
{
	return is_allotted(cpu) || in_tree(one->pid) || in_tree(other->pid) ||
	       (one->flags & PF_KTHREAD && one->pid) || (other->flags & PF_KTHREAD && other->pid);
}

static __always_inline u16 why_left(bool preempt, u32 state)
{
	if (preempt || !state)
		return LEFT_PREEMPTED;
	if (state & TASK_DEAD)
		return LEFT_DEAD;
	if (state & (TASK_NOLOAD | TASK_PARKED))
		return LEFT_IDLE;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return LEFT_STOPPED;
	if (state & TASK_INTERRUPTIBLE)
		return LEFT_ASLEEP;
	return LEFT_UNINTERRUPTIBLE;
}

/* Records the futex that a thread is about to wait for, and the arguments of its call that show
 * the use of the futex. The registers hold their values from the entry of the call. */
static __always_inline void record_futex_wait(u32 cpu, u64 now, u32 tid, u32 call, struct pt_regs *regs)
{
	struct claim claimed = claim(cpu, 1);
	struct slot *slot;

	if (!claimed.base)
		return;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	slot->value = regs->di;
	if (call == SYS_FUTEX) {
		slot->other = regs->si;
		slot->extra = regs->dx;
	} else {
		slot->other = FUTEX_WAIT;
		slot->extra = regs->si;
	}
	commit(&claimed, KIND_AWAITS, OBJECT_FUTEX);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u32 cpu = this_cpu(), tid = prev->pid, call = CALL_UNKNOWN;
	struct cpu *state = &cpus[cpu];
	u64 interrupts = state->interrupts, now;
	struct claim claimed;
	struct slot *slot;
	u16 left;

	/* No interrupt is running here, even if an entry or exit was missed. */
	state->interrupts = 0;
	state->depth = 0;
	state->hard = 0;
	state->vector = 0;
	state->entered = 0;
	if (!state->preempt_count)
		find_preempt_count(state, next);
	check_context(state, IN_THREAD);
	if (!concerns_run(cpu, prev, next))
		return 0;

	now = bpf_ktime_get_ns();
	left = why_left(preempt, prev_state);
	/* The other records of a wait come right before its switch. */
	if (left != LEFT_PREEMPTED && left != LEFT_DEAD && in_tree(tid))
		record_wait_stack(cpu, now, prev);
	if (in_tree(tid)) {
		u16 held = held_leaving(prev, preempt, prev_state);

		if (held)
			record_held(cpu, now, tid, held);
	}
	if (left != LEFT_PREEMPTED && left != LEFT_DEAD && in_tree(tid)) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);
		s64 number = regs->orig_ax;

		call = number < 0 || number >= CALL_FAULT ? CALL_FAULT : number;
		if (call == SYS_FUTEX || call == SYS_FUTEX_WAIT) {
			note_futex_wait(prev, regs->di);
			record_futex_wait(cpu, now, tid, call, regs);
		}
	}
	restart_hold(next, now);
	state->switched = now;
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	slot->other = next->pid;
	slot->value = prev->se.sum_exec_runtime;
	slot->extra = short_time(interrupts);
	commit(&claimed, KIND_SWITCH, left | call << CALL_SHIFT);
	return 0;
}

/* Whether any thread was ever confined. Only then do the programs look up unconfined threads. */
u32 confined_any;

/* CPUs that confined threads may use, as last recorded: a sum over the words of the mask. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u64);
} confined SEC(".maps");

/* Word `i` of the CPUs that a thread may use. */
static __always_inline u64 allowed_word(struct task_struct *task, u32 i)
{
	const struct cpumask *mask = task->cpus_ptr;
	u64 bits = 0;

	bpf_probe_read_kernel(&bits, sizeof(bits), (const char *)mask + i * sizeof(bits));
	return bits;
}

/* Records the allotted CPUs that a thread may use. */
static __always_inline void record_confined(struct task_struct *task, u32 cpu)
{
	u32 tid = task->pid, more = 0;
	struct claim claimed;
	struct slot *slot;
	u64 sum = 1, *last;

	for (u32 i = 0; i < MAX_CPUS / 64; i++) {
		if (allotted[i]) {
			sum = sum * 31 + allowed_word(task, i);
			more++;
		}
	}
	last = bpf_map_lookup_elem(&confined, &tid);
	if (last && *last == sum)
		return;
	confined_any = 1;
	bpf_map_update_elem(&confined, &tid, &sum, BPF_ANY);
	for (u32 i = 0; i < MAX_CPUS / 64; i++) {
		if (!allotted[i])
			continue;
		claimed = claim(cpu, 1);
		if (!claimed.base)
			return;
		slot = slot_at(&claimed, 0);
		slot->time = bpf_ktime_get_ns();
		slot->tid = tid;
		slot->other = i * 64;
		slot->value = allowed_word(task, i);
		slot->extra = --more;
		commit(&claimed, KIND_CONFINED, 0);
	}
}

/* Whether a thread of the tree must be examined: it may use fewer CPUs than were allotted, or
 * its last recorded mask did. */
static __always_inline bool may_be_confined(struct task_struct *task)
{
	u32 tid = task->pid;

	return task->nr_cpus_allowed < allotted_count || (confined_any && bpf_map_lookup_elem(&confined, &tid));
}

static __always_inline void record_waking(u32 cpu, u64 now, struct task_struct *task, struct task_struct *current)
{
	struct cpu *state = &cpus[cpu];
	struct claim claimed;
	struct origin origin;
	struct slot *slot;
	u32 softirq;
	u16 detail;

	claimed = claim(cpu, 1);
	if (!claimed.base)
		return;
	origin = action_origin(state, current, &softirq);
	detail = pack_origin(origin, softirq);
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		detail |= IO_WAIT;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = task->pid;
	slot->other = origin.id;
	commit(&claimed, KIND_WAKING, detail);
}

/* Records that `task` is made ready, for the first time or again. */
static __always_inline void handle_waking(struct task_struct *task)
{
	struct task_struct *current = current_task();
	u32 cpu = this_cpu();
	u16 held;
	u64 now;

	if (!concerns_run(cpu, task, current))
		return;
	now = bpf_ktime_get_ns();
	if (in_tree(current->pid) && in_tree(task->pid) && !in_interrupt(&cpus[cpu]))
		record_waking_stack(cpu, now, current);
	record_waking(cpu, now, task, current);
	if (!in_tree(task->pid))
		return;
	if (may_be_confined(task))
		record_confined(task, cpu);
	held = held_ready(task);
	if (held)
		record_held(cpu, bpf_ktime_get_ns(), task->pid, held);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	handle_waking(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	handle_waking(task);
	return 0;
}
