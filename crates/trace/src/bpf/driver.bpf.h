/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Programs that the driver calls itself.
 */

/* Declares the calling thread's next child to be the command. */
SEC("syscall")
int on_mark_next_child(void *ctx)
{
	root = 0;
	starter = current_task()->pid;
	return 0;
}

/* Number of the calling thread in the first pid namespace, which the thread may be unable to see
 * itself. */
SEC("syscall")
int on_report_tid(void *ctx)
{
	return current_task()->pid;
}
