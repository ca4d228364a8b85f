/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state that all programs share: the driver's settings from before loading, the buffers, and
 * the set of traced threads. This header claims slots and commits them; it does not interpret
 * their contents.
 */
#ifndef MORECORES_STATE_H
#define MORECORES_STATE_H

#include "kernel.h"
#include "wire.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Set by the driver before loading. */
const volatile u32 ring_bits = 10;      /* log2 of the number of slots of a CPU's buffer */
const volatile u64 long_wait_ns = 10000; /* shortest wait for a kernel lock whose stack is always taken */
const volatile u32 stack_share = 64;    /* one in this many of the shorter waits has its stack taken, by chance */
const volatile s64 preempt_count_from_runqueue = 0; /* distance of two per-CPU variables; 0: unknown */
const volatile u64 allotted[MAX_CPUS / 64] = {};

/* State of each CPU; in .bss, so that the driver maps it and the programs address it without a
 * lookup. */
struct cpu cpus[MAX_CPUS] __attribute__((aligned(64)));

/* One bit for each thread of the tree, by number. The bit is set or cleared at the creation of
 * each thread, so that a number's next owner never inherits it. */
u64 tree[MAX_PIDS / 64];

/* Thread whose children are the roots of trees: the one that starts the command. */
u32 starter;

/* First process made by the starter: the command's main process. 0 for none yet. */
u32 root;

/* Number of CPUs allotted to the run. It is 0 during the measurement of the tracing cost: the
 * threads of that measurement are confined to one CPU and must cost no more than other threads. */
u32 allotted_count;

/* Buffer of each CPU; the size of the value is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct slot));
} slots SEC(".maps");

/* Number of slots that nested interrupts may claim between the check for room and the claim of
 * the interrupted program: task, soft interrupt, hard interrupt, NMI, three slots each. */
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

/* Claims slots for one record. If there is no room, it counts a drop and returns a null base. */
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
		/* This CPU was not present when the buffers were made. */
		__sync_fetch_and_add(&state->dropped, 1);
		return claimed;
	}
	/* An interrupt may come in between: only the addition is atomic. */
	claimed.position = __sync_fetch_and_add(&state->written, count);
	return claimed;
}

static __always_inline struct slot *slot_at(struct claim *claimed, u32 offset)
{
	return &claimed->base[(claimed->position + offset) & ((1U << ring_bits) - 1)];
}

/* Commits a record: from now on the driver may read it. On x86-64, other CPUs see stores in
 * program order. */
static __always_inline void commit(struct claim *claimed, u8 kind, u16 detail)
{
	struct slot *first = slot_at(claimed, 0);
	u32 lap = (claimed->position >> ring_bits) + 1;

	asm volatile("" ::: "memory");
	*(volatile u32 *)&first->detail = detail | (u32)kind << 16 | lap << 24;
}

/* Length of time in the 32-bit encoding of the records. */
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
