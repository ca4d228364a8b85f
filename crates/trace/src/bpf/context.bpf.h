/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The context in which a program was called, and so the source of a wake-up, a queued work item
 * or a raised interrupt. Interrupts with tracepoints are followed from entry to exit. For the
 * others (from another CPU, NMIs), the CPU's preempt_count shows that one is running. This
 * header records nothing.
 */
#ifndef MORECORES_CONTEXT_H
#define MORECORES_CONTEXT_H

#include "state.bpf.h"

/*
 * Finds the address of this CPU's preempt_count without its symbol, which many kernels do not
 * export. A weak symbol does not help: loading fails if the kernel describes the variable but
 * does not give its address. The distance between two per-CPU variables is equal on all CPUs and
 * is part of the kernel's type information. One of these variables, the runqueue, can be reached
 * from any thread that belongs to the CPU. `here` must be such a thread.
 */
static __always_inline void find_preempt_count(struct cpu *state, struct task_struct *here)
{
	struct rq *rq;

	state->preempt_count = 1;
	state->runqueue = 1;
	if (!bpf_core_field_exists(here->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return;
	rq = BPF_CORE_READ(here, se.cfs_rq, rq);
	if (!rq)
		return;
	state->runqueue = (u64)rq;
	if (!preempt_count_from_runqueue)
		return;
	state->preempt_count = (u64)rq + preempt_count_from_runqueue;
	if (bpf_core_field_exists(struct pcpu_hot, preempt_count))
		state->preempt_count += bpf_core_field_offset(struct pcpu_hot, preempt_count);
}

/* Since Linux 6.2: reads through it are plain loads. */
extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;

/* Value of preempt_count; zero if it is not available. */
static __always_inline u32 preempt_count(struct cpu *state)
{
	u64 address = state->preempt_count;
	u32 count = 0;

	if (address <= 1)
		return 0;
	if (bpf_ksym_exists(bpf_rdonly_cast)) {
		/* The type only lends a member of the right size. */
		struct task_struct *lent = bpf_rdonly_cast(
			(void *)(address - bpf_core_field_offset(struct task_struct, pid)),
			bpf_core_type_id_kernel(struct task_struct));

		return lent->pid;
	}
	bpf_probe_read_kernel(&count, sizeof(count), (void *)address);
	return count;
}

/* Whether programs with a known context check that preempt_count gives this context; for the
 * tests. [context][0] counts the matches, [context][1] the mismatches. */
const volatile bool check_contexts = false;
u64 context_checks[3][2];

enum { IN_THREAD, IN_SOFTIRQ, IN_INTERRUPT };

static __always_inline void check_context(struct cpu *state, u32 context)
{
	u32 count, found;

	if (!check_contexts || state->preempt_count <= 1)
		return;
	count = preempt_count(state);
	found = count & HARDIRQ_MASK ? IN_INTERRUPT : count & SOFTIRQ_OFFSET ? IN_SOFTIRQ : IN_THREAD;
	__sync_fetch_and_add(&context_checks[context][found != context], 1);
}

/* Whether any interrupt is running, according to its tracepoint or to preempt_count. */
static __always_inline bool in_interrupt(struct cpu *state)
{
	return state->depth || (preempt_count(state) & (HARDIRQ_MASK | NMI_MASK | SOFTIRQ_OFFSET));
}

/* Source of the present action, without following a soft interrupt to its origin. */
static __always_inline struct origin direct_origin(struct cpu *state, struct task_struct *current)
{
	struct origin origin = {};

	if (state->hard) {
		origin.by = state->hard;
		origin.id = state->irq;
	} else if (!state->vector && (preempt_count(state) & (HARDIRQ_MASK | NMI_MASK))) {
		origin.by = BY_OTHER_INTERRUPT;
	} else {
		origin.by = BY_THREAD;
		origin.id = current->pid;
	}
	return origin;
}

/* Source of the present action. Sets `softirq` to the running soft interrupt, or to
 * SOFTIRQ_NONE. */
static __always_inline struct origin action_origin(struct cpu *state, struct task_struct *current, u32 *softirq)
{
	u32 vector = state->vector;

	if (vector && !state->hard) {
		*softirq = (vector - 1) & (SOFTIRQS - 1);
		return state->raised[(vector - 1) & (SOFTIRQS - 1)];
	}
	*softirq = SOFTIRQ_NONE;
	return direct_origin(state, current);
}

static __always_inline u16 pack_origin(struct origin origin, u32 softirq)
{
	return (origin.by & BY_MASK) | softirq << SOFTIRQ_SHIFT;
}

#endif
