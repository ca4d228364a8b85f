/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Which CPUs were taken offline. No record: a CPU that is offline tells no switches, so that its last thread seems to
 * run on; which CPUs that concerns is all there is to tell.
 */

/* A bit for each CPU; the driver clears them. */
u64 went_offline[MAX_CPUS / 64];

/* Called on either CPU, for each step down and up again, and for single steps where a driver of the kernel comes or goes.
 * The target is CPUHP_OFFLINE, zero on every kernel, on the way down alone. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_hotplug, unsigned int cpu, int target)
{
	if (!target)
		__sync_fetch_and_or(&went_offline[(cpu >> 6) & (MAX_CPUS / 64 - 1)], 1ULL << (cpu & 63));
	return 0;
}
