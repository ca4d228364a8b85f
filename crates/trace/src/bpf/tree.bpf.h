/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The tree of the command: the creation, exec, renaming and end of threads, with the resources
 * that the kernel has accounted to each. The records cover the whole machine: new threads are
 * rare compared with switches, and the names of other threads are needed too.
 */

static __always_inline void record_fork(u32 cpu, u64 now, u32 tid, struct task_struct *child)
{
	struct claim claimed = claim(cpu, 1);
	struct slot *slot;

	if (!claimed.base)
		return;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = tid;
	slot->other = child->pid;
	slot->value = child->tgid;
	commit(&claimed, KIND_FORK, 0);
}

/* Records the present name of a thread. */
static __always_inline void record_name(u32 cpu, u64 now, struct task_struct *task)
{
	struct claim claimed = claim(cpu, 2);
	struct name_slot *name;
	struct slot *slot;

	if (!claimed.base)
		return;
	slot = slot_at(&claimed, 0);
	slot->time = now;
	slot->tid = task->pid;
	name = (struct name_slot *)slot_at(&claimed, 1);
	BPF_CORE_READ_INTO(&name->name, task, comm);
	commit(&claimed, KIND_RENAME, 0);
}

static __always_inline bool same_name(struct task_struct *one, struct task_struct *other)
{
	u64 names[2][2];

	BPF_CORE_READ_INTO(&names[0], one, comm);
	BPF_CORE_READ_INTO(&names[1], other, comm);
	return names[0][0] == names[1][0] && names[0][1] == names[1][1];
}

/*
 * A thread was made. Threads that the kernel makes in a process for io_uring and vhost
 * (create_io_thread and vhost_task_create in the kernel's sources) do not pass the fork
 * tracepoint; all threads pass this one. A thread belongs to the tree if its process does, no
 * matter which thread made it. A process belongs to the tree if the thread that made it does.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *child)
{
	struct task_struct *parent = current_task();
	u32 tid = parent->pid, new = child->pid, process = child->tgid, cpu = this_cpu();
	bool started = tid == *(volatile u32 *)&starter;
	u64 now = bpf_ktime_get_ns();

	if (started && process == new && !root)
		root = new;
	set_in_tree(new, started || in_tree(process == new ? tid : process));
	if (in_tree(new))
		bpf_task_storage_get(&waits_of, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (confined_any)
		bpf_map_delete_elem(&confined, &new);
	record_fork(cpu, now, tid, child);
	/* Some kernel threads get their own name at creation, which no renaming records. */
	if (!same_name(parent, child))
		record_name(cpu, now, child);
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
