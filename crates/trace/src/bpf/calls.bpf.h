/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * System calls, for the exact trace only: number, duration, result and object, also of calls
 * that did not block. Each call gives one record, when it returns.
 *
 * The entry time of a call is stored for the CPU and not for the thread, which takes a tenth of
 * the time of thread-local storage. A call during which the CPU went to another thread has no
 * duration of its own; its switches show it.
 */

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter)
{
	if (in_tree(current_task()->pid))
		cpus[this_cpu()].entered = bpf_ktime_get_ns();
	return 0;
}

/* Inode of a descriptor of the current thread; 0 for none. */
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

/* Result in 32 bits. An address is cut to the largest number: it only has to differ from an
 * error. */
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
	case SYS_READ:
	case SYS_WRITE:
	case SYS_PREAD64:
	case SYS_PWRITE64:
	case SYS_READV:
	case SYS_WRITEV:
	case SYS_CONNECT:
	case SYS_ACCEPT:
	case SYS_SENDTO:
	case SYS_RECVFROM:
	case SYS_SENDMSG:
	case SYS_RECVMSG:
	case SYS_EPOLL_WAIT:
	case SYS_EPOLL_PWAIT:
	case SYS_ACCEPT4:
		what = OBJECT_INODE;
		object = inode_of(current, regs->di);
		break;
	case SYS_FUTEX:
	case SYS_FUTEX_WAKE:
	case SYS_FUTEX_WAIT:
		what = OBJECT_FUTEX;
		object = regs->di;
		break;
	case SYS_WAIT4:
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
