/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state that all programs share: what the driver decides before they are loaded, the buffers, and the set of
 * threads that are traced. Claims slots and ends them; knows nothing of what is in them.
 */
#ifndef MORECORES_STATE_H
#define MORECORES_STATE_H

#include "kernel.h"
#include "wire.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Decided before loading. */
const volatile u32 ring_bits = 10;      /* log2 of the slots of a CPU's buffer */
const volatile u64 long_wait_ns = 10000; /* waits for a kernel lock from here on have their stack taken */
const volatile u32 stack_share = 64;    /* and one in so many of the others, by chance */
const volatile s64 preempt_count_from_runqueue = 0; /* distance of two per-CPU variables; 0: unknown */
const volatile u64 allotted[MAX_CPUS / 64] = {};

/* Each CPU's state; in .bss, so that the driver maps it and the programs address it without a lookup. */
struct cpu cpus[MAX_CPUS] __attribute__((aligned(64)));

/* A bit for each thread of the tree, by number. Whoever is made has its bit set or cleared, so a number's next owner never
 * inherits it. */
u64 tree[MAX_PIDS / 64];

/* The thread whose children are the roots of trees: the one that starts the command. */
u32 starter;

/* The first process that it made: the command's main one. 0 for none yet. */
u32 root;

/* CPUs allotted to the run; none until what tracing costs has been measured, by threads that are confined to one CPU and
 * must cost no more than others. */
u32 allotted_count;

/* A buffer for each CPU: the value's size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct slot));
} slots SEC(".maps");

/* Nested interrupts may claim this many slots between the check for room and the claim of what they interrupted:
 * task, soft interrupt, hard interrupt, NMI, three slots each. */
#define HEADROOM 12

struct claim {
	struct slot *base;
	u64 position;
};

static __always_inline u32 this_cpu(void)
{
	return bpf_get_smp_processor_id() & (MAX_CPUS - 1);
}

static __always_inline bool is_allotted(u32 cpu)
{
	return allotted[(cpu >> 6) & (MAX_CPUS / 64 - 1)] >> (cpu & 63) & 1;
}

static __always_inline bool in_tree(u32 tid)
{
	return tree[(tid >> 6) & (MAX_PIDS / 64 - 1)] >> (tid & 63) & 1;
}

static __always_inline void set_in_tree(u32 tid, bool is_in)
{
	u64 *word = &tree[(tid >> 6) & (MAX_PIDS / 64 - 1)];
	u64 bit = 1ULL << (tid & 63);

	if (is_in)
		__sync_fetch_and_or(word, bit);
	else
		__sync_fetch_and_and(word, ~bit);
}

/* Claims slots for one record; a null base where there is no room, which is counted. */
static __always_inline struct claim claim(u32 cpu, u32 count)
{
	struct cpu *state = &cpus[cpu];
	struct claim claimed = {};
	u64 size = 1ULL << ring_bits;

	if (*(volatile u64 *)&state->written + count + HEADROOM - *(volatile u64 *)&state->read > size) {
		__sync_fetch_and_add(&state->dropped, 1);
		return claimed;
	}
	claimed.base = bpf_map_lookup_elem(&slots, &cpu);
	if (!claimed.base) {
		/* A CPU that was not there when the buffers were made. */
		__sync_fetch_and_add(&state->dropped, 1);
		return claimed;
	}
	/* An interrupt may come in between: only the sum is atomic. */
	claimed.position = __sync_fetch_and_add(&state->written, count);
	return claimed;
}

static __always_inline struct slot *slot_at(struct claim *claimed, u32 offset)
{
	return &claimed->base[(claimed->position + offset) & ((1U << ring_bits) - 1)];
}

/* Ends a record: from now on the driver may read it. On x86-64 stores are seen in the order of the program. */
static __always_inline void commit(struct claim *claimed, u8 kind, u16 detail)
{
	struct slot *first = slot_at(claimed, 0);
	u32 lap = (claimed->position >> ring_bits) + 1;

	asm volatile("" ::: "memory");
	*(volatile u32 *)&first->detail = detail | (u32)kind << 16 | lap << 24;
}

/* A length of time as the records keep it. */
static __always_inline u32 short_time(u64 ns)
{
	if (ns < COARSE)
		return ns;
	ns >>= COARSE_SHIFT;
	return COARSE | (ns < COARSE ? ns : COARSE - 1);
}

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task_btf();
}

#endif
