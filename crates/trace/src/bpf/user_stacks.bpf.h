/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Copies of user stacks: registers and stack memory at samples, at waits and at wake-ups by a
 * thread. The driver unwinds the copies.
 *
 * Every sample has its stack. Of the waits and wake-ups, a random share has it, so that their cost
 * stays bounded at any rate of events. The share depends only on earlier events of the CPU and on
 * the time that the thread ran. So each moment has a known probability, which its record gives.
 * This header must not decide what a stack means.
 */
#ifndef MORECORES_USER_STACKS_H
#define MORECORES_USER_STACKS_H

#include "state.bpf.h"

/* Set by the driver before loading. */
const volatile u32 stack_bits = 0; /* log2 of the pages in a CPU's buffer of stack memory; 0: no stacks are copied */

/* User and group of whose processes stacks are copied, as the kernel numbers them; 0 as user: all.
 * A process of another user or group, such as a program with a set-user-ID bit, may hold secrets
 * in its stack that the user of the tracer may not read. */
const volatile u32 stack_user = 0;
const volatile u32 stack_group = 0;

/* Length of a window of time as a power of two: 16.8 ms. */
#define WINDOW_SHIFT 24
/* Moments of one type in a window from which only a share has stacks: 1,000 a second on each CPU.
 * A copy takes one or two microseconds. */
#define WINDOW_QUOTA 16
/* Run time before a wait from which the stack is always copied: the copy then takes less than a
 * hundredth of the thread's time. */
#define LONG_RUN_NS 250000
#define MAX_SHARE_LOG2 15

/* Distance above the stack pointer at which the end of a thread's stack is plausible: a multiple of
 * the default limit of 8 MiB. */
#define LARGEST_STACK (64ULL << 20)
/* Bytes to copy from a stack whose end is unknown, as in coroutines. */
#define UNKNOWN_STACK_BYTES (16ULL << 10)

/* Pages of stack memory of each CPU; the size of the value is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, PAGE_BYTES);
} stack_memory SEC(".maps");

struct user_registers {
	u64 ip;
	u64 sp;
	u64 bp;
};

/* Whether this moment has its stack copied; sets `log2` to its weight. */
static __always_inline bool takes_share(struct stack_share *share, u64 now, u32 *log2)
{
	u64 window = now >> WINDOW_SHIFT;

	if (share->window != window) {
		if (window - share->window > 1)
			share->seen = 0;
#pragma unroll
		for (int i = 0; i < MAX_SHARE_LOG2; i++) {
			if (share->log2 && share->seen >> share->log2 < WINDOW_QUOTA / 2)
				share->log2--;
		}
		share->window = window;
		share->seen = 0;
	}
	if (++share->seen >> share->log2 > WINDOW_QUOTA && share->log2 < MAX_SHARE_LOG2)
		share->log2++;
	*log2 = share->log2;
	if (!share->log2)
		return true;
	return !(bpf_get_prandom_u32() & ((1U << (share->log2 & 31)) - 1));
}

/* End of the stack of the current thread. The main thread's stack ends at its arguments. glibc
 * places the control block of another thread, to which the FS segment points, at the end of its
 * stack. */
static __always_inline u64 stack_end(struct task_struct *task, u64 sp)
{
	u64 main_end = BPF_CORE_READ(task, mm, start_stack), thread_end = task->thread.fsbase;

	if (sp < main_end && main_end - sp < LARGEST_STACK)
		return main_end;
	if (sp < thread_end && thread_end - sp < LARGEST_STACK)
		return thread_end;
	return sp + UNKNOWN_STACK_BYTES;
}

/* Whether the user of the tracer may read the memory of a thread's process: the rule by user and
 * group of `__ptrace_may_access` in the kernel's kernel/ptrace.c. */
static __always_inline bool may_read(struct task_struct *task)
{
	if (!stack_user)
		return true;
	return BPF_CORE_READ(task, cred, uid.val) == stack_user && BPF_CORE_READ(task, cred, euid.val) == stack_user &&
	       BPF_CORE_READ(task, cred, suid.val) == stack_user && BPF_CORE_READ(task, cred, gid.val) == stack_group &&
	       BPF_CORE_READ(task, cred, egid.val) == stack_group && BPF_CORE_READ(task, cred, sgid.val) == stack_group;
}

/* Copies the stack of the current thread. Must be called with its memory in use. If the buffer of
 * stack memory is full, the record has no pages. */
static __always_inline void record_stack(u32 cpu, u64 now, struct task_struct *task,
					 const struct user_registers *registers, u32 moment, u32 log2)
{
	u64 began = bpf_ktime_get_ns(), sp = registers->sp, end, position = 0, mask = (1ULL << stack_bits) - 1;
	struct cpu *state = &cpus[cpu];
	struct stack_slot *second;
	struct claim claimed;
	u32 pages, copied = 0, key = cpu;
	struct slot *slot;
	char *memory;

	if (!may_read(task))
		return;
	claimed = claim(cpu, 2);
	if (!claimed.base)
		return;
	end = stack_end(task, sp);
	pages = (end - 1) / PAGE_BYTES - sp / PAGE_BYTES + 1;
	if (pages > STACK_PAGES)
		pages = STACK_PAGES;
	memory = bpf_map_lookup_elem(&stack_memory, &key);
	if (!memory || state->stack_written + pages - *(volatile u64 *)&state->stack_read > mask + 1)
		pages = 0;
	else
		position = __sync_fetch_and_add(&state->stack_written, pages);
	for (u32 i = 0; memory && i < STACK_PAGES && i < pages; i++) {
		/* The first page begins at the stack pointer. */
		u64 from = i ? (sp & ~(u64)(PAGE_BYTES - 1)) + (u64)i * PAGE_BYTES : sp;
		char *to = memory + ((position + i) & mask) * PAGE_BYTES;
		u64 size = PAGE_BYTES - (i ? 0 : sp & (PAGE_BYTES - 1));

		if (i + 1 == pages && end - from < size)
			size = end - from;
		/* The compiler must keep the bound, in 64 bits: Linux 6.1 follows no other. */
		asm volatile("" : "+r"(size));
		if (size > PAGE_BYTES)
			size = PAGE_BYTES;
		if (!bpf_probe_read_user(to, size, (void *)from))
			copied |= 1U << i;
	}
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = task->pid;
	slot->value = registers->ip;
	slot->extra = copied | pages << PAGES_SHIFT;
	second = (struct stack_slot *)slot_at(&claimed, 1);
	second->sp = sp;
	second->bp = registers->bp;
	second->position = position;
	second->end = end;
	slot->other = short_time(bpf_ktime_get_ns() - began);
	commit(&claimed, KIND_STACK, moment | log2 << WEIGHT_SHIFT);
}

/* Copies the stack with which the current thread entered the kernel, if it is in 64-bit mode. */
static __always_inline void record_entry_stack(u32 cpu, u64 now, struct task_struct *task, u32 moment, u32 log2)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct user_registers registers = { .ip = regs->ip, .sp = regs->sp, .bp = regs->bp };

	/* A thread that exits has given up its memory. */
	if (regs->cs == USER_CS && task->mm)
		record_stack(cpu, now, task, &registers, moment, log2);
}

/* Copies the stack of a thread of the tree that is about to wait, if it is in the share. */
static __always_inline void record_wait_stack(u32 cpu, u64 now, struct task_struct *prev)
{
	struct cpu *state = &cpus[cpu];
	u32 log2 = 0;

	if (!stack_bits || prev->flags & PF_KTHREAD)
		return;
	if (now - state->switched >= LONG_RUN_NS || takes_share(&state->shares[MOMENT_WAIT], now, &log2))
		record_entry_stack(cpu, now, prev, MOMENT_WAIT, log2);
}

/* Copies the stack of a thread of the tree that wakes another one, if it is in the share. */
static __always_inline void record_waking_stack(u32 cpu, u64 now, struct task_struct *current)
{
	u32 log2;

	if (!stack_bits || current->flags & PF_KTHREAD)
		return;
	if (takes_share(&cpus[cpu].shares[MOMENT_WAKING], now, &log2))
		record_entry_stack(cpu, now, current, MOMENT_WAKING, log2);
}

#endif
