/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Interrupts: their duration, and the interrupt that a CPU is in, so that wake-ups by interrupts
 * differ from wake-ups by threads. Interrupts have no records of their own: their time goes into
 * the next switch's record, their source into the records of their actions. This header also
 * follows queued work, which a kernel worker does on behalf of another thread.
 */

static __always_inline void interrupt_begins(struct cpu *state)
{
	if (!state->depth++)
		state->interrupted_at = bpf_ktime_get_ns();
}

static __always_inline void interrupt_ends(struct cpu *state)
{
	/* No beginning was seen: the interrupt was running when the trace began. */
	if (!state->depth)
		return;
	if (!--state->depth)
		state->interrupts += bpf_ktime_get_ns() - state->interrupted_at;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq)
{
	struct cpu *state = &cpus[this_cpu()];

	interrupt_begins(state);
	state->irq = irq;
	state->hard = BY_DEVICE;
	check_context(state, IN_INTERRUPT);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit)
{
	struct cpu *state = &cpus[this_cpu()];

	state->hard = 0;
	interrupt_ends(state);
	return 0;
}

/* Only x86 has this tracepoint; on other architectures, the timer is a device. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_timer_entry)
{
	struct cpu *state = &cpus[this_cpu()];

	interrupt_begins(state);
	state->irq = 0;
	state->hard = BY_TIMER;
	check_context(state, IN_INTERRUPT);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_timer_exit)
{
	struct cpu *state = &cpus[this_cpu()];

	state->hard = 0;
	interrupt_ends(state);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(on_softirq_raise, unsigned int vector)
{
	struct cpu *state = &cpus[this_cpu()];
	struct origin origin;
	u32 softirq;

	origin = action_origin(state, current_task(), &softirq);
	state->raised[vector & (SOFTIRQS - 1)] = origin;
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct cpu *state = &cpus[this_cpu()];

	interrupt_begins(state);
	state->vector = vector + 1;
	check_context(state, IN_SOFTIRQ);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit)
{
	struct cpu *state = &cpus[this_cpu()];

	state->vector = 0;
	interrupt_ends(state);
	return 0;
}

struct work_origin {
	struct origin origin;
	u32 softirq;
};

/* Source of each queued work item that no worker has started yet. A cancelled item is never
 * started: the map evicts the oldest entries. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct work_origin);
} queued_work SEC(".maps");

/* Number of work items whose source could not be stored; the driver clears it. */
u64 lost_work;

static __always_inline void record_work(u32 cpu, u32 worker, u32 id, u16 detail)
{
	struct claim claimed = claim(cpu, 1);
	struct slot *slot;

	if (!claimed.base)
		return;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = worker;
	slot->other = id;
	commit(&claimed, KIND_WORK, detail);
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(on_queue_work, int wanted_cpu, struct pool_workqueue *queue, struct work_struct *work)
{
	struct cpu *state = &cpus[this_cpu()];
	u64 key = (u64)work;
	struct work_origin queued = {};

	queued.origin = action_origin(state, current_task(), &queued.softirq);
	if (bpf_map_update_elem(&queued_work, &key, &queued, BPF_ANY))
		__sync_fetch_and_add(&lost_work, 1);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work_start, struct work_struct *work)
{
	u64 key = (u64)work;
	struct work_origin *queued = bpf_map_lookup_elem(&queued_work, &key);

	if (queued) {
		record_work(this_cpu(), current_task()->pid, queued->origin.id, pack_origin(queued->origin, queued->softirq));
		bpf_map_delete_elem(&queued_work, &key);
	} else {
		record_work(this_cpu(), current_task()->pid, 0, BY_UNKNOWN | SOFTIRQ_NONE << SOFTIRQ_SHIFT);
	}
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(on_work_end)
{
	record_work(this_cpu(), current_task()->pid, 0, WORK_ENDS);
	return 0;
}
