/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The programs of a trace: one for each tracepoint. Each program reads its arguments, decides if
 * they concern the run, and writes one record. The decoder and the analysis interpret the
 * records together.
 *
 * The programs use only BTF tracepoints, which exist on every kernel that describes its types,
 * and no kprobes. The required features exist since Linux 5.19 at the latest: the state of the
 * leaving thread as the last argument of sched_switch. The exact account of locks uses uprobes.
 */
#include "context.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "user_stacks.bpf.h"
#include "held.bpf.h"
#include "exact_locks.bpf.h"
#include "threads.bpf.h"
#include "waits.bpf.h"
#include "tree.bpf.h"
#include "interrupts.bpf.h"
#include "locks.bpf.h"
#include "samples.bpf.h"
#include "calls.bpf.h"
#include "hotplug.bpf.h"
#include "driver.bpf.h"
