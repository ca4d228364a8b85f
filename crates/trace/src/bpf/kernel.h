/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The fields of the kernel's structures that the programs read, and no others. Their offsets are
 * filled in at load time from the running kernel's own description of its types (CO-RE), so
 * nothing here depends on one kernel's layout. This header must hold no code.
 */
#ifndef MORECORES_KERNEL_H
#define MORECORES_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

/* Names used by bpf_helper_defs.h. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef short __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* include/uapi/linux/bpf.h; numbers of its ABI. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_STACK_TRACE 7
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_ANY 0
#define BPF_NOEXIST 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rt_rq {
	int rt_throttled; /* since Linux 6.12, only with CONFIG_RT_GROUP_SCHED */
};

struct rq {
	u64 prev_irq_time; /* only with CONFIG_IRQ_TIME_ACCOUNTING */
	struct rt_rq rt;
};

struct cfs_rq {
	struct rq *rq; /* only with CONFIG_FAIR_GROUP_SCHED */
	int throttle_count; /* only with CONFIG_CFS_BANDWIDTH */
};

struct sched_rt_entity {
	struct sched_rt_entity *parent; /* only with CONFIG_RT_GROUP_SCHED */
	struct rt_rq *rt_rq; /* only with CONFIG_RT_GROUP_SCHED */
};

struct sched_dl_entity {
	unsigned dl_throttled : 1;
};

/* This structure exists from Linux 6.2 to 6.14; before and after, preempt_count is a separate
 * variable. */
struct pcpu_hot {
	int preempt_count;
};

struct sched_entity {
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* only with CONFIG_FAIR_GROUP_SCHED */
};

struct rw_semaphore {
	u64 owner;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	unsigned long start_stack;
};

typedef struct {
	u32 val;
} kuid_t;

typedef struct {
	u32 val;
} kgid_t;

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
};

struct thread_struct {
	unsigned long fsbase;
};

struct cpumask {
	unsigned long bits[1];
};

struct inode {
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct kiocb {
	struct file *ki_filp;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	unsigned policy;
	bool throttled; /* since Linux 6.18, only with CONFIG_CFS_BANDWIDTH */
	unsigned long jobctl;
	u64 utime;
	u64 stime;
	unsigned long min_flt;
	unsigned long maj_flt;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	struct mm_struct *mm;
	struct files_struct *files;
	const struct cred *cred;
	struct thread_struct thread;
	unsigned in_iowait : 1;
	unsigned frozen : 1; /* only with CONFIG_CGROUPS */
};

struct pt_regs {
	unsigned long bp;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long ax;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
};

struct work_struct;
struct pool_workqueue;

#pragma clang attribute pop

/* include/uapi/linux/bpf_perf_event.h with the registers of x86-64. It is part of the ABI, so
 * its layout is fixed. */
struct bpf_perf_event_data {
	struct {
		u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
	} regs;
	u64 sample_period;
	u64 addr;
};

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define TASK_INTERRUPTIBLE 0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED 0x0004
#define TASK_TRACED 0x0008
#define TASK_PARKED 0x0040
#define TASK_DEAD 0x0080
#define TASK_NOLOAD 0x0400
#define TASK_FROZEN 0x8000 /* since Linux 6.1 */

/* include/linux/sched/jobctl.h */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

/* include/uapi/linux/sched.h */
#define SCHED_FIFO 1
#define SCHED_RR 2
#define SCHED_DEADLINE 6

/* include/uapi/asm-generic/errno-base.h and include/linux/errno.h: results of a system call that
 * a signal interrupted and that is restarted. */
#define EINTR 4
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

/* include/linux/preempt.h */
#define SOFTIRQ_OFFSET (1U << 8)
#define HARDIRQ_MASK 0x000f0000U
#define NMI_MASK 0x00f00000U

/* arch/x86/entry/syscalls/syscall_64.tbl */
#define SYS_READ 0
#define SYS_WRITE 1
#define SYS_PREAD64 17
#define SYS_PWRITE64 18
#define SYS_READV 19
#define SYS_WRITEV 20
#define SYS_SCHED_YIELD 24
#define SYS_CONNECT 42
#define SYS_ACCEPT 43
#define SYS_SENDTO 44
#define SYS_RECVFROM 45
#define SYS_SENDMSG 46
#define SYS_RECVMSG 47
#define SYS_WAIT4 61
#define SYS_FUTEX 202
#define SYS_EPOLL_WAIT 232
#define SYS_EPOLL_PWAIT 281
#define SYS_ACCEPT4 288
#define SYS_FUTEX_WAKE 454
#define SYS_FUTEX_WAIT 455

/* arch/x86/include/asm/segment.h: code segment of a thread in 64-bit mode. */
#define USER_CS 0x33

/* include/uapi/linux/futex.h */
#define FUTEX_WAIT 0

#endif
