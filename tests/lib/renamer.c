/*
 * Renames in the ways of real programs, which a shell lacks:
 *
 *	renamer plain FROM TO		rename(2); prints the errno
 *	renamer noreplace FROM TO	renameat2(2) with RENAME_NOREPLACE
 *	renamer exchange FROM TO	... RENAME_EXCHANGE
 *	renamer at DIR FROM TO		renameat(2) with a descriptor
 *	renamer storm FROM TO		with 200 signals, no SA_RESTART, while
 *					guard's worker is stopped: prints
 *					"renamed", the name of an errno, or
 *					"missed": it was done before the stop
 *	renamer int FROM TO		the same with SIGINT, which ends this
 *					program; the worker continues after it
 *	renamer closed FROM TO		not dumpable; fails if this fails
 *	renamer landlock FROM TO	with Landlock rules that allow all
 *	renamer threads A B C D		A to B and C to D at once
 *	renamer many COUNT FROM TO	to and fro; nanoseconds each
 *	renamer open FROM TO FILE	FROM/FILE stays open, and a line is
 *					written to it afterwards
 *	renamer proc FROM TO		FROM as /proc/self/cwd/FROM
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int show(int rc)
{
	(void)printf("%d\n", rc < 0 ? errno : 0);
	return 0;
}

/* ---- while guard's worker is stopped ---- */

static pthread_t renaming;
static atomic_bool done, caught;

static void nothing(int sig)
{
	(void)sig;
}

static bool says(const char *pid, const char *name, const char *text)
{
	char path[300], line[512];
	FILE *f;
	bool yes;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	f = fopen(path, "re");
	yes = f && fgets(line, sizeof(line), f) && strstr(line, text);
	if (f)
		(void)fclose(f);
	return yes;
}

/* The worker that renames for this process; 0 if it is already done. */
static pid_t find_worker(void)
{
	while (!done) {
		DIR *proc = opendir("/proc");
		struct dirent *e;
		pid_t pid = 0;

		while (proc && !pid && (e = readdir(proc)))
			if (e->d_name[0] > '0' && e->d_name[0] <= '9' &&
			    says(e->d_name, "comm", "guard-rename"))
				pid = (pid_t)atol(e->d_name);
		if (proc)
			(void)closedir(proc);
		if (pid)
			return pid;
	}
	return 0;
}

/* The action while the worker has the request and has not answered. */
static void *while_it_stands(void *arg)
{
	const int *sig = arg;
	pid_t pid = find_worker();
	char number[16];
	int i;

	if (!pid || kill(pid, SIGSTOP) < 0)
		return NULL;
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	while (!done && !says(number, "stat", ") T "))
		;
	caught = !done;
	for (i = 0; caught && i < 200; i++)
		(void)pthread_kill(renaming, *sig);
	(void)kill(pid, SIGCONT);
	return NULL;
}

static int stand(int sig, char *const *names)
{
	struct sigaction action = {.sa_handler = nothing};
	pthread_t other;
	int rc;

	/* Without SA_RESTART. */
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)signal(SIGINT, SIG_DFL);
	renaming = pthread_self();
	if (pthread_create(&other, NULL, while_it_stands, &sig) != 0)
		errx(99, "no thread");
	rc = rename(names[0], names[1]);
	done = true;
	if (rc < 0)
		rc = errno;
	(void)pthread_join(other, NULL);
	(void)puts(!caught ? "missed" : rc ? strerrorname_np(rc) : "renamed");
	return 0;
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

static int many(long times, char *const *names)
{
	struct timespec start, end;
	long i;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < times; i++)
		if (rename(names[i % 2], names[(i + 1) % 2]) < 0)
			err(1, "rename");
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
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

	if (argc < 4)
		errx(99, "see the source");
	if (strcmp(how, "many") == 0 && argc > 4)
		return many(atol(argv[2]), argv + 3);
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
		return stand(SIGUSR1, names);
	if (strcmp(how, "int") == 0)
		return stand(SIGINT, names);
	if (strcmp(how, "closed") == 0) {
		int rc;

		(void)prctl(PR_SET_DUMPABLE, 0);
		rc = rename(names[0], names[1]);
		(void)show(rc);
		return rc < 0;
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
