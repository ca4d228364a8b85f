/* Prints the elapsed time of one call of `stat`, in microseconds: the mean of all calls. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int count, char **arguments)
{
	int calls = count > 1 ? atoi(arguments[1]) : 0;
	double begin = now();
	struct stat found;

	if (calls < 1)
		return 2;
	for (int i = 0; i < calls; i++)
		stat("/nonexistent/name", &found);
	printf("%.3f\n", (now() - begin) / calls);
	return 0;
}
