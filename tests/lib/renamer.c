/*
 * Renames as programs do them, where a shell cannot:
 *
 *	renamer plain FROM TO		rename(2); the errno's number is printed
 *	renamer noreplace FROM TO	renameat2(2) with RENAME_NOREPLACE
 *	renamer exchange FROM TO	... RENAME_EXCHANGE
 *	renamer at FOLDER FROM TO	renameat(2) with a descriptor
 *	renamer storm FROM TO		with a timer's signal every ms, no
 *					SA_RESTART; up to 5 times EINTR
 *	renamer closed FROM TO		not dumpable
 *	renamer landlock FROM TO	fenced in by Landlock, that allows all
 *	renamer threads A B C D		A to B and C to D at once
 *	renamer many COUNT		a file to and fro; nanoseconds each
 *	renamer open FROM TO FILE	FROM/FILE is open meanwhile: a line is
 *					written to it afterwards
 *	renamer proc FROM TO		FROM as /proc/self/cwd/FROM
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

static int show(int rc)
{
	(void)printf("%d\n", rc < 0 ? errno : 0);
	return 0;
}

static int storm(char *const *names)
{
	struct itimerval each = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_handler = count}; /* no SA_RESTART */
	int tries = 0, rc;

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &each, NULL);
	while (!signals)
		;
	/* A signal before the question is taken up still ends the call. */
	do {
		rc = rename(names[0], names[1]);
	} while (rc < 0 && errno == EINTR && ++tries < 5);
	return show(rc);
}

static int landlock(char *const *names)
{
	struct landlock_ruleset_attr none = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_CHAR,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &none, sizeof(none),
			      0);

	if (fd < 0)
		return puts("none") < 0;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		err(99, "landlock");
	return show(rename(names[0], names[1]));
}

static void *one_of_two(void *arg)
{
	char *const *names = arg;

	return rename(names[0], names[1]) < 0 ? arg : NULL;
}

static int threads(char **names)
{
	pthread_t other;
	void *a, *b;

	if (pthread_create(&other, NULL, one_of_two, names) != 0)
		errx(99, "no thread");
	a = one_of_two(names + 2);
	(void)pthread_join(other, &b);
	(void)printf("%d\n", a || b);
	return 0;
}

static int many(long times)
{
	struct timespec start, end;
	long i;

	(void)close(open("many-a", O_CREAT | O_WRONLY, 0600));
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < times; i++)
		if (rename(i % 2 ? "many-b" : "many-a",
			   i % 2 ? "many-a" : "many-b") < 0)
			err(1, "rename");
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	(void)unlink(times % 2 ? "many-b" : "many-a");
	(void)printf("%ld\n", ((end.tv_sec - start.tv_sec) * 1000000000 +
			       end.tv_nsec - start.tv_nsec) /
				      times);
	return 0;
}

static int with_open_file(char *const *names)
{
	char path[4096];
	int fd, rc;

	(void)snprintf(path, sizeof(path), "%s/%s", names[0], names[2]);
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0)
		err(99, "%s", path);
	rc = rename(names[0], names[1]);
	if (write(fd, "late\n", 5) != 5)
		err(99, "write");
	return show(rc);
}

static int through_proc(char *const *names)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "/proc/self/cwd/%s", names[0]);
	return show(rename(path, names[1]));
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	char **names = argv + 2;

	if (strcmp(how, "many") == 0)
		return many(atol(argv[2]));
	if (argc < 4)
		errx(99, "see the source");
	if (strcmp(how, "plain") == 0)
		return show(rename(names[0], names[1]));
	if (strcmp(how, "noreplace") == 0)
		return show(renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1],
				      RENAME_NOREPLACE));
	if (strcmp(how, "exchange") == 0)
		return show(renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1],
				      RENAME_EXCHANGE));
	if (strcmp(how, "at") == 0) {
		int fd = open(names[0], O_RDONLY | O_DIRECTORY);

		return show(renameat(fd, names[1], fd, names[2]));
	}
	if (strcmp(how, "storm") == 0)
		return storm(names);
	if (strcmp(how, "closed") == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0);
		return show(rename(names[0], names[1]));
	}
	if (strcmp(how, "landlock") == 0)
		return landlock(names);
	if (strcmp(how, "threads") == 0 && argc == 6)
		return threads(names);
	if (strcmp(how, "open") == 0 && argc == 5)
		return with_open_file(names);
	if (strcmp(how, "proc") == 0)
		return through_proc(names);
	errx(99, "see the source");
}
