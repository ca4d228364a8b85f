/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the tree's threads were doing at the instants of a sampling clock, and whether that was waiting in a tight loop:
 * time that looks like work.
 */

/* How far from the sampled instruction a PAUSE is looked for: a spinning loop is some ten instructions of some four
 * bytes, and a sample finds the instruction that follows the PAUSE far more often than any other, since PAUSE is slow. */
#define NEAR 16

/* PAUSE is `rep nop`: Intel SDM, volume 2B. */
#define PAUSE_FIRST 0xf3
#define PAUSE_SECOND 0x90

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
	return false;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	u32 tid = current_task()->pid, cpu = this_cpu();
	struct cpu *state = &cpus[cpu];
	u64 address = ctx->regs.ip;
	struct claim claimed;
	struct slot *slot;
	u16 detail;

	if (!in_tree(tid))
		return 0;
	/* The two low bits of the code segment are the mode; 3 is user mode. The sampling clock is a timer interrupt itself:
	 * one more than it is an interrupt that it fell into. */
	if (ctx->regs.cs & 3)
		detail = SAMPLE_USER;
	else if (state->vector || state->depth > 1)
		detail = SAMPLE_INTERRUPT;
	else
		detail = SAMPLE_KERNEL;
	if (detail == SAMPLE_USER && near_pause(address))
		detail |= SAMPLE_SPINS;
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = tid;
	slot->value = address;
	commit(&claimed, KIND_SAMPLE, detail);
	return 0;
}
