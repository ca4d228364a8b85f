/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The tree of the command: who forked, became another program, was renamed and ended, with what the kernel has accounted
 * to each. Of the whole machine: forks are rare beside switches, and the names of others are wanted too.
 */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 tid = parent->pid, new = child->pid, cpu = this_cpu();
	struct claim claimed;
	struct slot *slot;

	set_in_tree(new, in_tree(tid) || tid == *(volatile u32 *)&starter);
	if (in_tree(new))
		bpf_task_storage_get(&waits_of, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (confined_any)
		bpf_map_delete_elem(&confined, &new);
	claimed = claim(cpu, 1);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = tid;
	slot->other = new;
	slot->value = child->tgid;
	commit(&claimed, KIND_FORK, 0);
	return 0;
}

static __always_inline void fill_accounts(struct accounts_slot *accounts, struct task_struct *task)
{
	accounts->user = task->utime;
	accounts->system = task->stime;
	accounts->minor_faults = task->min_flt;
	accounts->major_faults = task->maj_flt;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	struct claim claimed;
	struct name_slot *name;
	struct slot *slot;

	set_in_tree(task->pid, in_tree(old_tid));
	claimed = claim(this_cpu(), 3);
	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = task->pid;
	slot->other = old_tid;
	slot->value = task->se.sum_exec_runtime;
	name = (struct name_slot *)slot_at(&claimed, 1);
	BPF_CORE_READ_INTO(&name->name, task, comm);
	fill_accounts((struct accounts_slot *)slot_at(&claimed, 2), task);
	commit(&claimed, KIND_EXEC, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct claim claimed = claim(this_cpu(), 2);
	struct slot *slot;

	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = task->pid;
	slot->value = task->se.sum_exec_runtime;
	fill_accounts((struct accounts_slot *)slot_at(&claimed, 1), task);
	commit(&claimed, KIND_EXIT, 0);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *new_name)
{
	struct claim claimed = claim(this_cpu(), 2);
	struct name_slot *name;
	struct slot *slot;

	if (!claimed.base)
		return 0;
	slot = slot_at(&claimed, 0);
	slot->time = bpf_ktime_get_ns();
	slot->tid = task->pid;
	name = (struct name_slot *)slot_at(&claimed, 1);
	bpf_probe_read_kernel_str(name->name, sizeof(name->name), new_name);
	commit(&claimed, KIND_RENAME, 0);
	return 0;
}
