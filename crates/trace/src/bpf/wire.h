/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the programs and the driver share: the records in the buffers and the state of each CPU. `wire.rs` says the
 * same in Rust; both sides assert the sizes. It must hold no code, and needs no other header than the one that
 * defines u8 to u64.
 */
#ifndef MORECORES_WIRE_H
#define MORECORES_WIRE_H

/* CPUs that a trace can cover; more than any machine that Linux 6.18 is configured for by Debian has (8192) would
 * take memory for nothing. */
#define MAX_CPUS 1024
/* `PID_MAX_LIMIT` of include/linux/threads.h on 64 bits. */
#define MAX_PIDS (4U << 20)
/* At least `NR_SOFTIRQS` of include/linux/interrupt.h, which is 10; a power of two, so that every kernel's verifier sees
 * that an index is in bounds. */
#define SOFTIRQS 16

enum kind {
	KIND_SWITCH = 1,
	KIND_WAKING,
	KIND_FORK,
	KIND_EXEC,     /* and two more slots */
	KIND_RENAME,   /* and one more slot */
	KIND_EXIT,     /* and one more slot */
	KIND_WORK,
	KIND_CONTENTION,
	KIND_SAMPLE,
	KIND_AWAITS,
	KIND_CONFINED, /* one for each 64 CPUs */
	KIND_SYSCALL,
	KIND_HELD,
};

/* What holds back a thread that is ready: a held one's `detail`. */
enum held {
	HELD_NOT,
	HELD_QUOTA,
	HELD_FREEZER,
	HELD_RT_BUDGET,
};

/* Why a thread left its CPU: the low three bits of a switch's `detail`. */
enum left {
	LEFT_PREEMPTED,
	LEFT_ASLEEP,
	LEFT_UNINTERRUPTIBLE,
	LEFT_STOPPED,
	LEFT_DEAD,
	LEFT_IDLE,
};
/* The rest of `detail`: the number of the system call, or one of these. */
#define CALL_SHIFT 3
#define CALL_UNKNOWN 0x1fff
#define CALL_FAULT 0x1ffe

/* In which context something was done. */
enum context {
	BY_THREAD,
	BY_DEVICE,          /* `id` is the number of the interrupt */
	BY_TIMER,
	BY_OTHER_INTERRUPT, /* from another CPU, or not known */
	BY_UNKNOWN,
};
/* Who did something: a context, perhaps through a soft interrupt that was raised in it. */
#define BY_MASK 0x7U
#define SOFTIRQ_SHIFT 3
#define SOFTIRQ_NONE 0xfU
#define IO_WAIT (1U << 8)
#define WORK_ENDS (1U << 9)

/* Of a contention's `detail`: flags of the kernel's in the low byte. */
#define LOCK_IS_MMAP (1U << 8)
#define LOCK_IS_RUNQUEUE (1U << 9)

/* Of a sample's `detail`. */
#define SAMPLE_USER 0
#define SAMPLE_KERNEL 1
#define SAMPLE_INTERRUPT 2
#define SAMPLE_MODE 3
#define SAMPLE_SPINS 4

/* What an object is: the low two bits of `detail`. Above them in a system call's: its number. */
#define NUMBER_SHIFT 2
enum object {
	OBJECT_NONE,
	OBJECT_FUTEX,
	OBJECT_INODE,
	OBJECT_PROCESS,
};

/*
 * One record, or the first part of one. A slot is written by the CPU that owns it and read by the driver; `lap` is
 * written last and says which time round the buffer the slot belongs to, so that the driver knows a whole record
 * from a begun one and never has to write into the buffer.
 *
 *   kind        tid        other        value                  extra
 *   SWITCH      prev       next         prev's run time        interrupts since the switch before
 *   WAKING      woken      who          -                      -                   detail: by, softirq, IO_WAIT
 *   FORK        parent     child        child's process        -
 *   EXEC        thread     was          run time               -
 *   RENAME      thread     -            -                      -
 *   EXIT        thread     -            run time               -
 *   WORK        worker     who          -                      -                   detail: by, softirq, WORK_ENDS
 *   CONTENTION  waiter     stack        lock                   wait                 detail: flags
 *   SAMPLE      thread     -            address                -                   detail: mode
 *   AWAITS      thread     operation    object                 expected value      detail: what; both of a futex
 *   CONFINED    thread     first CPU    mask                   how many more follow
 *   SYSCALL     thread     took or 0    object                 result, of 32 bits   detail: what, number
 *   HELD        thread     -            -                      -                   detail: by what
 */
struct slot {
	u64 time; /* CLOCK_MONOTONIC, ns */
	u32 tid;
	u32 other;
	u64 value;
	u32 extra;
	u16 detail;
	u8 kind;
	u8 lap;
};

/* A length of time in 32 bits: nanoseconds, or with this bit set units of 1,024 ns: from 2.1 s on, up to 36 minutes. */
#define COARSE (1U << 31)
#define COARSE_SHIFT 10

/* The parts of the longer records behind their first slot. */
struct accounts_slot {
	u64 user;
	u64 system;
	u64 minor_faults;
	u64 major_faults;
};

struct name_slot {
	char name[16];
	u64 unused[2];
};

_Static_assert(sizeof(struct slot) == 32, "SLOT_SIZE of wire.rs");
_Static_assert(sizeof(struct accounts_slot) == sizeof(struct slot), "it lies in a slot");
_Static_assert(sizeof(struct name_slot) == sizeof(struct slot), "it lies in a slot");

/* Who raised a soft interrupt. */
struct origin {
	u32 id;
	u32 by;
};

/* One CPU: its place in its buffer, and the context that it is in. The first line is the driver's alone to write. */
struct cpu {
	u64 read; /* slots that the driver has taken */
	u64 pad[7];

	u64 written; /* slots claimed */
	u64 dropped; /* records for which there was no room */
	u64 interrupts; /* ns in interrupts since the last switch */
	u64 interrupted_at; /* when the outermost of the interrupts now running began */
	u64 preempt_count; /* address of this CPU's preempt_count; 0 not yet looked for, 1 not to be had */
	u64 runqueue; /* address of its runqueue, likewise */
	u32 depth; /* interrupts now running inside each other */
	u32 hard; /* the context of the hard interrupt now running, 0 for none */
	u32 irq; /* its number */
	u32 vector; /* the soft interrupt now running, plus one */
	struct origin raised[SOFTIRQS];
	u64 entered; /* when the system call now running was entered; 0 where the CPU was another thread's since */
	u64 pad2[7]; /* to a multiple of the line */
};

_Static_assert(sizeof(struct cpu) == 320, "CpuState of ring.rs");

#endif
