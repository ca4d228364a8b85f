/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Programs that the driver calls itself.
 */

/* The thread that calls this is the one whose next child is the command. */
SEC("syscall")
int on_adopt(void *ctx)
{
	root = 0;
	starter = current_task()->pid;
	return 0;
}

/* The number of the thread that calls this, in the first pid namespace, which it may not know itself. */
SEC("syscall")
int on_ask(void *ctx)
{
	return current_task()->pid;
}
