/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Threads that are ready and may not run on any CPU: a quota, a frozen group or a real-time
 * budget holds them back. The hold is recorded when a thread leaves its CPU and when it is
 * woken. No event records its end; the thread's next run shows it.
 */

/* Largest depth of nested groups that the programs examine. */
#define GROUPS_DEEP 4

/* Whether the group of a real-time thread, or an enclosing group, has used up its budget. */
static __always_inline bool rt_group_throttled(struct task_struct *task)
{
	struct sched_rt_entity *entity = &task->rt;
	struct rt_rq *queue;

	for (int i = 0; i < GROUPS_DEEP && entity; i++) {
		queue = BPF_CORE_READ(entity, rt_rq);
		if (queue && BPF_CORE_READ(queue, rt_throttled))
			return true;
		entity = BPF_CORE_READ(entity, parent);
	}
	return false;
}

static __always_inline bool rt_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->rt.rt_rq))
		return rt_group_throttled(task);
	if (!bpf_core_field_exists(struct rt_rq, rt_throttled) || !bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(struct cfs_rq, rq))
		return false;
	return BPF_CORE_READ(task, se.cfs_rq, rq, rt.rt_throttled);
}

/* Reason that holds back a thread that is not asleep. */
static __always_inline u16 held_ready(struct task_struct *task)
{
	u32 policy = task->policy;

	if (policy == SCHED_DEADLINE)
		return BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled) ? HELD_RT_BUDGET : HELD_NOT;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return rt_throttled(task) ? HELD_RT_BUDGET : HELD_NOT;
	/* The thread's own flag counts, if it exists: the thread may still run in the kernel
	 * while its group is out of quota. */
	if (bpf_core_field_exists(task->throttled))
		return task->throttled ? HELD_QUOTA : HELD_NOT;
	if (bpf_core_field_exists(task->se.cfs_rq) && bpf_core_field_exists(struct cfs_rq, throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) ? HELD_QUOTA : HELD_NOT;
	return HELD_NOT;
}

/* Whether the signal that freezes a group's threads interrupted a system call that will be
 * restarted. A thread that is frozen in a wait is not ready. */
static __always_inline bool was_waiting(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	s64 call = regs->orig_ax, result = regs->ax;

	return call >= 0 && (result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK));
}

/* Reason that holds back a thread that leaves its CPU in this state. */
static __always_inline u16 held_leaving(struct task_struct *task, bool preempt, u32 state)
{
	if (preempt || !state)
		return held_ready(task);
	if (state & TASK_FROZEN)
		return was_waiting(task) ? HELD_NOT : HELD_FREEZER;
	/* In version 2, a group is frozen in the way in which a signal stops a thread. */
	if (state & TASK_INTERRUPTIBLE && task->jobctl & JOBCTL_TRAP_FREEZE &&
	    bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen))
		return was_waiting(task) ? HELD_NOT : HELD_FREEZER;
	return HELD_NOT;
}

static __always_inline void record_held(u32 cpu, u64 now, u32 tid, u16 by)
{
	struct claim claimed = claim(cpu, 1);
	struct slot *slot;

	if (!claimed.base)
		return;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	commit(&claimed, KIND_HELD, by);
}
