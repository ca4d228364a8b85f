/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Definitions shared by the programs and the driver: the records in the buffers and the state of
 * each CPU. `wire.rs` holds the Rust counterpart; both sides assert the sizes. This header must
 * hold no code, and needs only the header that defines u8 to u64.
 */
#ifndef MORECORES_WIRE_H
#define MORECORES_WIRE_H

/* Number of CPUs that a trace can cover. Debian configures Linux 6.18 for 8192 CPUs; space for
 * all of them would take memory for nothing. */
#define MAX_CPUS 1024
/* `PID_MAX_LIMIT` of include/linux/threads.h on 64 bits. */
#define MAX_PIDS (4U << 20)
/* At least `NR_SOFTIRQS` of include/linux/interrupt.h, which is 10. A power of two, so that
 * every kernel's verifier can prove that an index is in bounds. */
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
	KIND_STACK,    /* and one more slot */
};

/* Moment of a STACK record: the low two bits of `detail`. The bits above hold the binary logarithm
 * of the number of moments that the record stands for. */
enum moment {
	MOMENT_SAMPLE,
	MOMENT_WAIT,
	MOMENT_WAKING,
	MOMENTS,
};
#define WEIGHT_SHIFT 2

/* Bytes of a page of stack memory, and the largest number of pages of one stack. */
#define PAGE_BYTES 4096
#define STACK_PAGES 16
/* Position of the number of pages in a STACK record's `extra`. The bits below show which of the
 * pages were copied. */
#define PAGES_SHIFT 16

/* Reason that holds back a ready thread: the `detail` of a HELD record. */
enum held {
	HELD_NOT,
	HELD_QUOTA,
	HELD_FREEZER,
	HELD_RT_BUDGET,
};

/* Reason for which a thread left its CPU: the low three bits of a switch's `detail`. */
enum left {
	LEFT_PREEMPTED,
	LEFT_ASLEEP,
	LEFT_UNINTERRUPTIBLE,
	LEFT_STOPPED,
	LEFT_DEAD,
	LEFT_IDLE,
};
/* The rest of `detail`: the number of the system call, or one of these values. */
#define CALL_SHIFT 3
#define CALL_UNKNOWN 0x1fff
#define CALL_FAULT 0x1ffe

/* Context of an action. */
enum context {
	BY_THREAD,
	BY_DEVICE,          /* `id` is the number of the interrupt */
	BY_TIMER,
	BY_OTHER_INTERRUPT, /* from another CPU, or unknown */
	BY_UNKNOWN,
};
/* Source of an action: a context, possibly through a soft interrupt raised in that context. */
#define BY_MASK 0x7U
#define SOFTIRQ_SHIFT 3
#define SOFTIRQ_NONE 0xfU
#define IO_WAIT (1U << 8)
#define WORK_ENDS (1U << 9)

/* Bits of a contention's `detail`; the low byte holds the kernel's flags. */
#define LOCK_IS_MMAP (1U << 8)
#define LOCK_IS_RUNQUEUE (1U << 9)

/* Bits of a sample's `detail`. */
#define SAMPLE_USER 0
#define SAMPLE_KERNEL 1
#define SAMPLE_INTERRUPT 2
#define SAMPLE_MODE 3
#define SAMPLE_SPINS 4

/* Type of an object: the low two bits of `detail`. In a SYSCALL record, the bits above hold the
 * call's number. */
#define NUMBER_SHIFT 2
enum object {
	OBJECT_NONE,
	OBJECT_FUTEX,
	OBJECT_INODE,
	OBJECT_PROCESS,
};

/*
 * One record, or the first slot of one. The CPU that owns a slot writes it; the driver reads it.
 * `lap` is written last and gives the number of the pass over the buffer. It tells the driver that
 * the record is complete, so the driver never has to write into the buffer.
 *
 *   kind        tid      other      value            extra           detail
 *   SWITCH      prev     next       prev's run time  interrupts (1)  left, call
 *   WAKING      woken    source     -                -               by, softirq, IO_WAIT
 *   FORK        parent   child      child's process  -               -
 *   EXEC        thread   old tid    run time         -               -
 *   RENAME      thread   -          -                -               -
 *   EXIT        thread   -          run time         -               -
 *   WORK        worker   source     -                -               by, softirq, WORK_ENDS
 *   CONTENTION  waiter   stack      lock             wait            flags
 *   SAMPLE      thread   -          address          -               mode
 *   AWAITS      thread   operation  object           expected (2)    object type
 *   CONFINED    thread   first CPU  mask             words left      -
 *   SYSCALL     thread   time or 0  object           result (3)      object type, number
 *   HELD        thread   -          -                -               reason
 *   STACK       thread   copy time  instruction      pages           moment, weight
 *
 *   (1) time in interrupts since the previous switch
 *   (2) expected value; operation and expected value only for a futex
 *   (3) in 32 bits
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

/* A length of time in 32 bits: nanoseconds, or units of 1,024 ns if this bit is set. The units
 * serve lengths from 2.1 s up to 36 minutes. */
#define COARSE (1U << 31)
#define COARSE_SHIFT 10

/* Later slots of the longer records. */
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

/* Second slot of a STACK record: registers, and the place of the copied pages in the buffer of
 * stack memory. The first page begins at the stack pointer; the others are whole. */
struct stack_slot {
	u64 sp;
	u64 bp;
	u64 position; /* number of the first page */
	u64 end; /* address after the last byte that the stack may have */
};

_Static_assert(sizeof(struct slot) == 32, "SLOT_SIZE of wire.rs");
_Static_assert(sizeof(struct accounts_slot) == sizeof(struct slot), "it lies in a slot");
_Static_assert(sizeof(struct name_slot) == sizeof(struct slot), "it lies in a slot");
_Static_assert(sizeof(struct stack_slot) == sizeof(struct slot), "it lies in a slot");

/* Source of a soft interrupt. */
struct origin {
	u32 id;
	u32 by;
};

/* Share of the moments of one type, on one CPU, at which the stack is copied. */
struct stack_share {
	u64 window; /* number of the present window of time */
	u32 seen; /* moments in the present window */
	u32 log2; /* one in 2^log2 moments has its stack copied */
};

/* State of one CPU: the positions in its buffer, and its context. Only the driver writes the
 * first cache line. */
struct cpu {
	u64 read; /* slots read by the driver */
	u64 stack_read; /* pages of stack memory read by the driver */
	u64 pad[6];

	u64 written; /* slots claimed */
	u64 dropped; /* records without room in the buffer */
	u64 interrupts; /* ns in interrupts since the last switch */
	u64 interrupted_at; /* start time of the outermost running interrupt */
	u64 preempt_count; /* address of this CPU's preempt_count; 0: not yet determined, 1: not available */
	u64 runqueue; /* address of its runqueue, with the same special values */
	u32 depth; /* nesting depth of the running interrupts */
	u32 hard; /* context of the running hard interrupt, 0 for none */
	u32 irq; /* number of that interrupt */
	u32 vector; /* the running soft interrupt, plus one */
	struct origin raised[SOFTIRQS];
	u64 entered; /* entry time of the running system call; 0 if another thread has used the CPU since */
	u64 switched; /* time of the last switch */
	u64 stack_written; /* pages of stack memory claimed */
	struct stack_share shares[MOMENTS];
	u64 pad2[7]; /* padding to a multiple of the cache line */
};

_Static_assert(sizeof(struct cpu) == 384, "CpuState of ring.rs");

/* Largest number of locks that all threads hold at one time, and of elements of `lock_uses`. */
#define LOCKS_HELD 16384
#define LOCK_USES 65536

/* Call of a function that takes or releases a lock: the low bits of a probe's cookie. */
enum lock_call {
	CALL_TAKE_MUTEX,
	CALL_TAKE_READ,
	CALL_TAKE_WRITE,
	CALL_RELEASE,
	CALL_AWAIT_CONDITION, /* with the mutex as the second argument */
};
#define LOCK_CALL_MASK 7
/* The lock is a mutex of glibc. */
#define LOCK_IS_GLIBC_MUTEX 8

/* Mode in which a lock is held. */
enum lock_mode {
	MODE_MUTEX,
	MODE_READ,
	MODE_WRITE,
};

/* Sums over the holds of one lock that began at one instruction of one process. */
struct lock_use_key {
	u32 process;
	u32 mode;
	u64 lock;
	u64 caller; /* return address of the call that took the lock */
};

struct lock_use {
	u64 count;
	u64 held; /* ns */
	u64 longest; /* ns */
	u64 last; /* CLOCK_MONOTONIC at the end of the last hold, ns */
};

_Static_assert(sizeof(struct lock_use_key) == 24, "lock_uses.rs");
_Static_assert(sizeof(struct lock_use) == 32, "lock_uses.rs");

#endif
