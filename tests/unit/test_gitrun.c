/* restore/git/gitrun.c: the limit of git's processor time; and the sandbox that
 * git gets. tests/integration/import-hostile.t has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/sandbox/git_process.h"
#include "guard/sandbox/namespaces.h"
#include "restore/git/gitrun.h"
#include "tests/unit/skip.h"

static void a_pack_gets_the_time_of_its_size(void **state)
{
	(void)state;
	assert_int_equal(gitrun_seconds(0), 300);
	assert_int_equal(gitrun_seconds(10000000), 400);
	assert_int_equal(gitrun_seconds((uint64_t)1 << 30), 3600);
	assert_int_equal(gitrun_seconds(UINT64_MAX), 3600);
}

/* --- the sandbox --- */

/* A directory with own/, objects/f and secret. */
static char lab[] = "/tmp/guard-gitrun-XXXXXX";
static char folder[64], objects[64], secret[64];

/* Whether the call was refused with this errno, or succeeded (0). */
#define GIVES(num, call) ((call) < 0 ? errno == (num) : (num) == 0)

static bool reads(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;

	return fd >= 0 && read(fd, &byte, 1) >= 0;
}

static bool writes(const char *path, int flags)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);

	return fd >= 0 && write(fd, "x", 1) == 1;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static bool starts_a_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, do_nothing, NULL) == 0 &&
	       pthread_join(thread, NULL) == 0;
}

/* Each returns whether it went as it should; the number of a wrong one is the
 * exit status. */
static bool what_git_needs(int step)
{
	switch (step) {
	case 0:
		return writes("new", O_CREAT | O_EXCL);
	case 1:
		return mkdir("dir", 0700) == 0 && rename("new", "old") == 0;
	case 2:
		return reads("old") && writes("old", O_TRUNC);
	case 3:
		return unlink("old") == 0;
	case 4:
		return reads(objects) && reads("/dev/null") &&
		       writes("/dev/null", 0);
	case 5:
		return starts_a_thread();
	case 6:
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
	}
	return true;
}

static bool what_git_has_no_use_for(int step)
{
	struct rlimit limit = {0, 0};
	auto_close int fd = -1;

	switch (step) {
	case 0:
		return !reads(secret) && !reads("/etc/passwd") &&
		       !reads("/proc/self/environ");
	case 1:
		return !writes(secret, 0) && !writes(objects, 0) &&
		       !writes("../new", O_CREAT) &&
		       !writes("/dev/zero", O_WRONLY);
	case 2:
		return GIVES(ENOSYS, truncate(objects, 0)) &&
		       GIVES(EACCES, unlink(secret));
	case 3:
		return GIVES(0, chmod(objects, 0)) && reads(objects);
	case 4:
		fd = open(objects, O_RDONLY | O_CLOEXEC);
		return GIVES(0, fchmod(fd, 0)) && reads(objects) &&
		       GIVES(ENOSYS, futimens(fd, NULL)) &&
		       GIVES(ENOSYS, fsetxattr(fd, "user.x", "", 0, 0)) &&
		       GIVES(ENOSYS, fchown(fd, 0, 0));
	case 5:
		return GIVES(ENOSYS, socket(AF_UNIX, SOCK_STREAM, 0)) &&
		       GIVES(ENOSYS, socket(AF_INET, SOCK_DGRAM, 0));
	case 6:
		return GIVES(EPERM, fork());
	case 7:
		return GIVES(ENOSYS, kill(getppid(), 0)) &&
		       GIVES(EPERM,
			     syscall(SYS_tgkill, getppid(), getppid(), 0));
	case 8:
		return GIVES(ENOSYS, ptrace(PTRACE_TRACEME, 0, NULL, NULL)) &&
		       GIVES(ENOSYS, syscall(SYS_pidfd_open, getppid(), 0));
	case 9:
		return GIVES(EPERM,
			     prlimit(getppid(), RLIMIT_CORE, &limit, NULL));
	case 10:
		return GIVES(ENOSYS, symlink("/", "link"));
	case 11:
		return GIVES(ENOSYS, syscall(SYS_io_uring_setup, 1, NULL)) &&
		       GIVES(ENOSYS, syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	}
	return true;
}

static void make_lab(void)
{
	char own[64];

	assert_non_null(mkdtemp(lab));
	(void)snprintf(own, sizeof(own), "%s/own", lab);
	(void)snprintf(folder, sizeof(folder), "%s/objects", lab);
	(void)snprintf(secret, sizeof(secret), "%s/secret", lab);
	assert_int_equal(mkdir(own, 0700), 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	(void)snprintf(objects, sizeof(objects), "%s/objects/f", lab);
	assert_true(writes(objects, O_CREAT) && writes(secret, O_CREAT));
	assert_int_equal(chdir(own), 0);
}

static int remove_lab(void **state)
{
	static const char *const files[] = {"own/new", "own/old", "objects/f",
					    "secret"};
	static const char *const dirs[] = {"own/dir", "own", "objects"};
	size_t i;

	(void)state;
	if (chdir(lab) < 0)
		return 0;
	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		(void)unlink(files[i]);
	for (i = 0; i < 3; i++)
		(void)rmdir(dirs[i]);
	(void)!chdir("/");
	return rmdir(lab);
}

/* The first step that went wrong, in the sandbox; -1: none. */
static int first_wrong(bool (*step)(int number), int count)
{
	AUTO(names) struct names readable = {0};
	int status, i;
	pid_t pid;

	names_add(&readable, folder);
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    git_process_confine(&readable) < 0)
			_exit(98);
		for (i = 0; i < count; i++)
			if (!step(i))
				_exit(i);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 99 ? -1 : WEXITSTATUS(status);
}

static void git_reads_and_writes_what_it_needs_and_nothing_else(void **state)
{
	(void)state;
	if (landlock_abi() < 1)
		skip_because("the kernel has no Landlock");
	make_lab();
	assert_int_equal(first_wrong(what_git_needs, 7), -1);
	assert_int_equal(first_wrong(what_git_has_no_use_for, 12), -1);
	/* Not the sandbox's parent. */
	assert_true(reads(secret) && reads("/etc/passwd"));
}

/* --- without Landlock --- */

/* The address sanitizer makes calls that the sandbox refuses. */
#ifdef __SANITIZE_ADDRESS__
#define WAYS 2
#else
#define WAYS 3
#endif

static int refuse_to_confine(const struct names *readable)
{
	(void)readable;
	return -ENOSYS;
}

static void without_a_sandbox_git_is_not_started(void **state)
{
	static char *const arguments[] = {"version", NULL};
	char name[] = "/tmp/guard-gitrun-XXXXXX";
	struct gitrun g = {.seconds = 10};
	struct err err = {0};
	char path[64];
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(name));
	g.dirfd = fd_open_dir(AT_FDCWD, name);
	assert_true(g.dirfd >= 0);
	for (i = 0; i < WAYS; i++) {
		static gitrun_confine *const how[] = {NULL, refuse_to_confine,
						      git_process_confine};

		gitrun_use(how[i]);
		assert_int_equal(gitrun(&g, GITRUN_CHECKED, arguments, NULL,
					GITRUN_OUTPUT, &err),
				 i < 2 ? -ENOTSUP : 0);
		if (i == 1)
			assert_non_null(strstr(err.text, "needs Landlock"));
	}
	(void)close(g.dirfd);
	(void)snprintf(path, sizeof(path), "%s/output", name);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/messages", name);
	(void)unlink(path);
	assert_int_equal(rmdir(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pack_gets_the_time_of_its_size),
		cmocka_unit_test_teardown(
			git_reads_and_writes_what_it_needs_and_nothing_else,
			remove_lab),
		cmocka_unit_test(without_a_sandbox_git_is_not_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
