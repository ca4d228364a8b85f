/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Programs that the driver calls itself.
 */

/* The thread that calls this is the one whose next child is the command; its number in the first pid namespace, which
 * it may not know itself. */
SEC("syscall")
int on_adopt(void *ctx)
{
	starter = current_task()->pid;
	return starter;
}

/* The same number of any thread that calls this. */
SEC("syscall")
int on_ask(void *ctx)
{
	return current_task()->pid;
}
