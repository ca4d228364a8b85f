/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * CPUs that were taken offline. They give no record: an offline CPU records no switches, so its
 * last thread seems to run on. The set of these CPUs is the only information.
 */

/* A bit for each CPU; the driver clears them. */
u64 offline_cpus[MAX_CPUS / 64];

/* The tracepoint runs on either CPU, for each step down and up, and for single steps when a
 * kernel driver is loaded or unloaded. The target is CPUHP_OFFLINE, zero on every kernel, only
 * on the way down. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(on_hotplug, unsigned int cpu, int target)
{
	if (!target)
		__sync_fetch_and_or(&offline_cpus[(cpu >> 6) & (MAX_CPUS / 64 - 1)], 1ULL << (cpu & 63));
	return 0;
}
