/*
 * Reads /dev/zero through io_uring, each time by a worker that the kernel makes in this process.
 * Then reports the CPU time of the whole process so far: `uring READS FILE` writes nanoseconds
 * to FILE. The status is 77 if io_uring is not available.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES (8 << 20)

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static unsigned *in(void *ring, unsigned offset)
{
	return (unsigned *)((char *)ring + offset);
}

static long long cpu_time(void)
{
	struct rusage usage;

	must(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

int main(int argc, char **argv)
{
	struct io_uring_params params = {};
	int ring, zero, reads = argc > 1 ? atoi(argv[1]) : 1;
	void *queue, *completions;
	struct io_uring_sqe *entries;
	char *buffer;
	FILE *told;

	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		return errno == ENOSYS || errno == EPERM ? 77 : 1;
	queue = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	must(queue != MAP_FAILED, "mmap");
	completions = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
			   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	must(completions != MAP_FAILED, "mmap");
	entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	must(entries != MAP_FAILED, "mmap");
	buffer = malloc(BYTES);
	must(buffer != NULL, "malloc");
	zero = open("/dev/zero", O_RDONLY);
	must(zero >= 0, "/dev/zero");

	for (int i = 0; i < reads; i++) {
		unsigned tail = *in(queue, params.sq_off.tail), place = tail & *in(queue, params.sq_off.ring_mask);
		unsigned head = *in(completions, params.cq_off.head);
		struct io_uring_cqe *done;

		memset(&entries[place], 0, sizeof(entries[place]));
		entries[place].opcode = IORING_OP_READ;
		/* The worker reads, and not this thread. */
		entries[place].flags = IOSQE_ASYNC;
		entries[place].fd = zero;
		entries[place].addr = (unsigned long)buffer;
		entries[place].len = BYTES;
		in(queue, params.sq_off.array)[place] = place;
		__atomic_store_n(in(queue, params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
		must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "io_uring_enter");
		done = (struct io_uring_cqe *)in(completions, params.cq_off.cqes) +
		       (head & *in(completions, params.cq_off.ring_mask));
		must(done->res == BYTES, "a read");
		__atomic_store_n(in(completions, params.cq_off.head), head + 1, __ATOMIC_RELEASE);
	}
	told = argc > 2 ? fopen(argv[2], "w") : stdout;
	must(told != NULL, "the file");
	fprintf(told, "%lld\n", cpu_time());
	must(fclose(told) == 0, "the file");
	return 0;
}
