/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * System calls, for the exact trace alone: which, how long, with what result and about what, also where they did not
 * block. One record for each, when it returns.
 *
 * When a call was entered is kept for the CPU and not for the thread, which costs a tenth of a thread's own storage: a
 * call during which the CPU went to another thread has no time of its own, and its switches tell it.
 */

/* include/uapi/asm/unistd_64.h */
#define NR_READ 0
#define NR_WRITE 1
#define NR_PREAD64 17
#define NR_PWRITE64 18
#define NR_READV 19
#define NR_WRITEV 20
#define NR_CONNECT 42
#define NR_ACCEPT 43
#define NR_SENDTO 44
#define NR_RECVFROM 45
#define NR_SENDMSG 46
#define NR_RECVMSG 47
#define NR_WAIT4 61
#define NR_FUTEX 202
#define NR_EPOLL_WAIT 232
#define NR_EPOLL_PWAIT 281
#define NR_ACCEPT4 288
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter)
{
	if (in_tree(current_task()->pid))
		cpus[this_cpu()].entered = bpf_ktime_get_ns();
	return 0;
}

/* The inode behind a descriptor of the current thread; 0 for none. */
static __always_inline u64 inode_of(struct task_struct *current, u32 descriptor)
{
	struct fdtable *table = current->files->fdt;
	struct file *open = NULL;

	if (descriptor >= table->max_fds)
		return 0;
	if (bpf_ksym_exists(bpf_rdonly_cast)) {
		/* The type only lends a member that points to a file. */
		struct kiocb *lent = bpf_rdonly_cast(
			(void *)((u64)(table->fd + descriptor) - bpf_core_field_offset(struct kiocb, ki_filp)),
			bpf_core_type_id_kernel(struct kiocb));

		open = lent->ki_filp;
		return open ? open->f_inode->i_ino : 0;
	}
	if (bpf_probe_read_kernel(&open, sizeof(open), table->fd + descriptor) || !open)
		return 0;
	return BPF_CORE_READ(open, f_inode, i_ino);
}

/* A result in 32 bits: an address is cut to the largest number, of which nothing but its being none is of interest. */
static __always_inline u32 short_result(s64 result)
{
	return result > 0x7fffffff ? 0x7fffffff : (u32)result;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	struct task_struct *current = current_task();
	u32 tid = current->pid, cpu = this_cpu();
	u64 now, entered, object = 0;
	u32 number = regs->orig_ax;
	u16 what = OBJECT_NONE;
	struct claim claimed;
	struct slot *slot;

	if (!in_tree(tid))
		return 0;
	now = bpf_ktime_get_ns();
	entered = cpus[cpu].entered;
	switch (number) {
	case NR_READ:
	case NR_WRITE:
	case NR_PREAD64:
	case NR_PWRITE64:
	case NR_READV:
	case NR_WRITEV:
	case NR_CONNECT:
	case NR_ACCEPT:
	case NR_SENDTO:
	case NR_RECVFROM:
	case NR_SENDMSG:
	case NR_RECVMSG:
	case NR_EPOLL_WAIT:
	case NR_EPOLL_PWAIT:
	case NR_ACCEPT4:
		what = OBJECT_INODE;
		object = inode_of(current, regs->di);
		break;
	case NR_FUTEX:
	case NR_FUTEX_WAKE:
	case NR_FUTEX_WAIT:
		what = OBJECT_FUTEX;
		object = regs->di;
		break;
	case NR_WAIT4:
		what = OBJECT_PROCESS;
		object = result;
		break;
	}
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	slot->other = entered ? short_time(now - entered) : 0;
	slot->value = object;
	slot->extra = short_result(result);
	commit(&claimed, KIND_SYSCALL, what | number << NUMBER_SHIFT);
	return 0;
}
