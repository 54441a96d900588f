/*
 * Another process of the same user, at work at the same time as guard:
 *
 *	swapper A B [A B]...	exchanges each two names, and back again, at
 *				random times
 *
 * until it gets SIGTERM; then every pair is as before, and the number of
 * exchanges is printed. The first line, "ready", shows that it has begun.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void end(int sig)
{
	(void)sig;
	stop = 1;
}

/* guard may have renamed one of them for a short time. */
static bool swap(const char *a, const char *b)
{
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0;
}

/* As long as one command of guard: the command finds one state first and the
 * other later. */
static void rest(unsigned int most_us)
{
	struct timespec time = {.tv_nsec = random() % most_us * 1000L};

	(void)nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = end};
	unsigned long count = 0;
	bool *turned;
	int i, tries;

	if (argc < 3 || argc % 2 == 0) {
		(void)fprintf(stderr, "usage: swapper A B [A B]...\n");
		return 99;
	}
	(void)sigaction(SIGTERM, &action, NULL);
	turned = calloc((size_t)argc, sizeof(*turned));
	if (!turned)
		return 99;
	(void)puts("ready");
	(void)fflush(stdout);
	srandom((unsigned int)getpid());
	while (!stop)
		for (i = 1; i < argc; i += 2) {
			if (swap(argv[i], argv[i + 1])) {
				turned[i] = !turned[i];
				count++;
			}
			rest(50000);
		}
	for (i = 1; i < argc; i += 2)
		for (tries = 0; turned[i] && tries < 1000; tries++)
			if (swap(argv[i], argv[i + 1]))
				turned[i] = false;
	(void)printf("%lu\n", count);
	free(turned);
	return 0;
}
