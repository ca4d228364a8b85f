/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The programs of a trace: one for each tracepoint. Each looks at its arguments, decides whether they concern the run,
 * and writes one record; what the records mean together is for the decoder and the analysis to say.
 *
 * They use BTF tracepoints alone, which every kernel has that describes its types, and no kprobes. What they need of them
 * came with Linux 5.19 at the latest: the state of who leaves as the last argument of sched_switch.
 */
#include "context.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "held.bpf.h"
#include "threads.bpf.h"
#include "waits.bpf.h"
#include "tree.bpf.h"
#include "interrupts.bpf.h"
#include "locks.bpf.h"
#include "samples.bpf.h"
#include "calls.bpf.h"
#include "hotplug.bpf.h"
#include "driver.bpf.h"
