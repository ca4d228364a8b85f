/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Activity of the tree's threads at the instants of a sampling clock. A sample also shows if the
 * thread spins, with PAUSE, TPAUSE or UMWAIT or by sched_yield: such time looks like work. A
 * loop of loads alone still looks like work here.
 */

/* Distance from the sampled instruction within which a waiting instruction is sought. A spinning
 * loop has some ten instructions of some four bytes. A waiting instruction is slow, so a sample
 * finds the instruction after it far more often than any other. */
#define NEAR 16

/* Intel SDM, volume 2B: PAUSE is `rep nop`. TPAUSE and UMWAIT are group 15 with extension 6 and
 * a register, after an operand size prefix and after `repne`; a REX prefix may come in between. */
#define PAUSE_FIRST 0xf3
#define PAUSE_SECOND 0x90
#define GROUP_15_FIRST 0x0f
#define GROUP_15_SECOND 0xae
#define REGISTER_MASK 0xf8
#define EXTENSION_6 0xf0
#define TPAUSE_PREFIX 0x66
#define UMWAIT_PREFIX 0xf2
#define REX_MASK 0xf0
#define REX 0x40

static __always_inline bool is_wait_prefix(u8 byte)
{
	return byte == TPAUSE_PREFIX || byte == UMWAIT_PREFIX;
}

static __always_inline bool near_pause(u64 address)
{
	u8 code[2 * NEAR] = {};

	if (bpf_probe_read_user(code, sizeof(code), (void *)(address - NEAR)))
		return false;
#pragma unroll
	for (int i = 0; i + 1 < 2 * NEAR; i++) {
		if (code[i] == PAUSE_FIRST && code[i + 1] == PAUSE_SECOND)
			return true;
	}
#pragma unroll
	for (int i = 2; i + 2 < 2 * NEAR; i++) {
		if (code[i] != GROUP_15_FIRST || code[i + 1] != GROUP_15_SECOND)
			continue;
		if ((code[i + 2] & REGISTER_MASK) != EXTENSION_6)
			continue;
		if (is_wait_prefix(code[i - 1]) || ((code[i - 1] & REX_MASK) == REX && is_wait_prefix(code[i - 2])))
			return true;
	}
	return false;
}

/* Whether a thread in the kernel is in sched_yield and still has its CPU. */
static __always_inline bool yields(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return regs->orig_ax == SYS_SCHED_YIELD;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	u32 tid = current_task()->pid, cpu = this_cpu();
	struct cpu *state = &cpus[cpu];
	u64 address = ctx->regs.ip;
	struct claim claimed;
	u64 now = bpf_ktime_get_ns();
	struct slot *slot;
	u16 detail;

	if (!in_tree(tid))
		return 0;
	/* The two low bits of the code segment are the mode; 3 is user mode. The sampling clock
	 * is a timer interrupt itself, so a depth above one means that it interrupted another
	 * interrupt. */
	if (ctx->regs.cs & 3)
		detail = SAMPLE_USER;
	else if (state->vector || state->depth > 1)
		detail = SAMPLE_INTERRUPT;
	else
		detail = SAMPLE_KERNEL;
	if (detail == SAMPLE_USER ? near_pause(address) : detail == SAMPLE_KERNEL && yields(current_task()))
		detail |= SAMPLE_SPINS;
	if (stack_bits && detail != SAMPLE_INTERRUPT) {
		struct user_registers registers = { .ip = address, .sp = ctx->regs.sp, .bp = ctx->regs.bp };

		if ((detail & SAMPLE_MODE) == SAMPLE_KERNEL)
			record_entry_stack(cpu, now, current_task(), MOMENT_SAMPLE, 0);
		else if (ctx->regs.cs == USER_CS)
			record_stack(cpu, now, current_task(), &registers, MOMENT_SAMPLE, 0);
	}
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	slot->value = address;
	commit(&claimed, KIND_SAMPLE, detail);
	return 0;
}
