/* A program with known behaviour that prints the kernel's accounts of its threads, for
 * comparison with its trace: lines of `TID MICROSECONDS SWITCHES`, by getrusage(2) of each
 * thread right before its end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long amount;
static int forth[2], back[2];

static void account(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	long us = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
	char line[64];
	int length = snprintf(line, sizeof line, "%ld %ld %ld\n", syscall(SYS_gettid), us, u.ru_nvcsw + u.ru_nivcsw);
	if (write(1, line, length) != length)
		exit(1);
}

/* Uses `amount` milliseconds of CPU time. */
static void *spin(void *unused)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < amount);
	account();
	return unused;
}

/* Sends `amount` bytes back and forth. */
static void *ping(void *unused)
{
	char c = 0;

	for (long i = 0; i < amount; i++)
		if (write(forth[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			exit(1);
	account();
	return unused;
}

static void *pong(void *unused)
{
	char c;

	for (long i = 0; i < amount; i++)
		if (read(forth[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
			exit(1);
	account();
	return unused;
}

/* Executes another program, in a thread that is not the first. */
static void *become(void *program)
{
	execl(program, program, (char *)0);
	exit(1);
}

/* Confines the thread to its present CPU. */
static void stay(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one))
		exit(1);
}

static void run(int threads, void *(*bodies[])(void *), void *argument)
{
	pthread_t t[64];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], 0, bodies[i], argument))
			exit(1);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
}

int main(int argc, char **argv)
{
	void *(*bodies[64])(void *);

	if (argc != 3)
		return 2;
	amount = atol(argv[2]);
	if (!strcmp(argv[1], "spin")) {
		spin(0);
	} else if (!strcmp(argv[1], "spin-in-threads")) {
		for (int i = 0; i < 4; i++)
			bodies[i] = spin;
		run(4, bodies, 0);
	} else if (!strcmp(argv[1], "pipe")) {
		/* On one CPU, each byte costs two switches. */
		stay();
		if (pipe(forth) || pipe(back))
			return 1;
		bodies[0] = ping;
		bodies[1] = pong;
		run(2, bodies, 0);
	} else if (!strcmp(argv[1], "exec-in-thread")) {
		/* The records identify the thread only if it stays on its CPU. */
		stay();
		bodies[0] = become;
		run(1, bodies, "/bin/true");
	} else {
		return 2;
	}
	return 0;
}
