/*
 * The sandbox from both sides. Each case runs in a process of its own (the
 * caller, as guard is), whose output is that of the run. Each attack is made
 * outside first, where it must succeed or fail in another way; inside, the same
 * program is started with "--attack NAME".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/dirtree.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/sandbox.h"
#include "tests/unit/skip.h"

#undef fail
#include <cmocka.h>

#define WAIT_MS 60000

/* ---- attacks: a line with what happened, for both sides ---- */

static void say(long rc)
{
	printf("%s\n", rc >= 0 ? "done" : strerrorname_np(errno));
}

#if defined(__x86_64__)
static long call_i386(void)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory");
	if (rc < 0)
		errno = (int)-rc;
	return rc < 0 ? -1 : 0;
}
#endif

struct attack {
	const char *name, *inside;
	bool always; /* the result outside differs between machines */
};

static const struct attack attacks[] = {
	{"unshare-user", "EPERM", true},
	{"clone3", "ENOSYS", true},
	{"mount", "EPERM", true},
	{"umount", "EPERM", true},
	{"setns", "EPERM", true},
	{"chroot", "EPERM", true},
	{"fsopen", "ENOSYS", true},
	{"open-tree-attr", "ENOSYS", false},
	{"tiocsti", "EPERM", true},
	{"tiocsti-high", "EPERM", true},
	{"tiocsetd", "EPERM", true},
	{"tioclinux", "EPERM", true},
	{"io-uring", "ENOSYS", true},
	{"bpf", "EPERM", false},
	{"perf", "EPERM", true},
	{"userfaultfd", "EPERM", true},
	{"keyctl", "EPERM", true},
	{"add-key", "EPERM", true},
	{"mknod", "EPERM", true},
	{"vsock", "EAFNOSUPPORT", false},
	{"alg", "EAFNOSUPPORT", false},
	{"netlink-audit", "EPROTONOSUPPORT", false},
	{"exec-personality", "EPERM", true},
};

/* Invalid pointers: a call that reads them was allowed by the filters. */
static long attack_call(const char *name)
{
	char dir[] = "/tmp/guard-test-XXXXXX", node[64];
	long rc;
	int saved;

#define IS(text) (strcmp(name, text) == 0)
	if (IS("unshare-user"))
		return unshare(CLONE_NEWUSER);
	if (IS("clone3"))
		return syscall(SYS_clone3, NULL, 0);
	if (IS("mount"))
		return syscall(SYS_mount, NULL, NULL, NULL, 0, NULL);
	if (IS("umount"))
		return syscall(SYS_umount2, NULL, 0);
	if (IS("setns"))
		return setns(-1, 0);
	if (IS("chroot"))
		return syscall(SYS_chroot, NULL);
	if (IS("fsopen"))
		return syscall(SYS_fsopen, NULL, 0);
	if (IS("open-tree-attr"))
		return syscall(467, -1, NULL, 0, NULL, 0);
	if (IS("tiocsti"))
		return ioctl(0, TIOCSTI, "x");
	if (IS("tiocsti-high"))
		return syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 40, "x");
	if (IS("tiocsetd"))
		return ioctl(0, TIOCSETD, NULL);
	if (IS("tioclinux"))
		return ioctl(0, TIOCLINUX, NULL);
	if (IS("io-uring"))
		return syscall(SYS_io_uring_setup, 1, NULL);
	if (IS("bpf"))
		return syscall(SYS_bpf, -1, NULL, 0);
	if (IS("perf"))
		return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
	if (IS("userfaultfd"))
		return syscall(SYS_userfaultfd, ~0);
	if (IS("keyctl"))
		return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
	if (IS("add-key"))
		return syscall(SYS_add_key, NULL, NULL, NULL, 0, 0);
	if (IS("vsock"))
		return socket(40, SOCK_STREAM, 0);
	if (IS("alg"))
		return socket(AF_ALG, SOCK_SEQPACKET, 0);
	if (IS("netlink-audit"))
		return socket(AF_NETLINK, SOCK_RAW, 9);
	if (IS("exec-personality"))
		return syscall(SYS_personality, 0x0400000);
	if (!IS("mknod") || !mkdtemp(dir))
		return -1;
	/* Device 0:0 is a whiteout, which plain users may create outside. */
	(void)snprintf(node, sizeof(node), "%s/w", dir);
	rc = mknod(node, S_IFCHR, 0);
	saved = errno;
	(void)unlink(node);
	(void)rmdir(dir);
	errno = saved;
	return rc;
}

static int attack_main(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strcmp(name, "abstract") == 0) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		memcpy(address.sun_path, "\0guard-test", 11);
		say(connect(fd, (void *)&address, sizeof(address)));
#if defined(__x86_64__)
	} else if (strcmp(name, "i386") == 0) {
		say(call_i386());
	} else if (strcmp(name, "x32") == 0) {
		say(syscall(0x40000000 | 39));
#endif
	} else {
		say(attack_call(name));
	}
	return 0;
}

/* ---- the caller's process ---- */

static char test_program[4096], test_folder[4096];
static char scratch[] = "/var/tmp/guard-sandbox-XXXXXX";

struct caller {
	pid_t pid;
	int out; /* output of the run, and errors of guard */
};

/* The exit status that main() of guard would return. */
static int status_of(const struct sandbox_result *r)
{
	if (r->end == SANDBOX_STOPPED)
		return 124;
	return r->end == SANDBOX_EXITED ? r->code : 128 + r->code;
}

static enum sandbox_tick_action end_at_once(void *arg, int *ret_next_ms)
{
	(void)arg;
	(void)ret_next_ms;
	return SANDBOX_KILL;
}

static int run_policy(struct sandbox_policy *policy, bool end_it)
{
	AUTO(sandbox) struct sandbox *sb = NULL;
	struct sandbox_result result;
	struct err err;
	int rc = sandbox_start(policy, &sb, &err);

	if (rc == 0)
		rc = sandbox_release(sb, &err);
	if (rc == -ENOENT || rc == -EACCES) {
		dprintf(2, "error: %s\n", err.text);
		return rc == -ENOENT ? 127 : 126;
	}
	if (rc == 0)
		rc = sandbox_wait(sb, end_it ? end_at_once : NULL, NULL,
				  &result, &err);
	if (rc == 0) {
		sandbox_unmount(sb);
		if (waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD)
			return status_of(&result);
		rc = fail_num(&err, ECHILD, "a process was left");
	}
	dprintf(2, "error: %s\n", err.text);
	return 125;
}

static struct grants granted;

/* The grant of one path, valid until the next call. */
static const struct grants *grant_only(enum grant_kind kind, const char *path)
{
	struct err err;

	grants_free(&granted);
	assert_int_equal(grants_add(&granted, kind, mem_strdup("test"), path,
				    NULL, &err),
			 0);
	return &granted;
}

static struct sandbox_policy plain_policy(char *const *argv)
{
	static char *envp[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin",
			       "HOME=/", "GUARD=1", NULL};

	return (struct sandbox_policy){
		.argv = argv,
		.envp = envp,
		.cwd = "/",
		.home = "/",
		.tmp_fd = -1,
		.var_tmp_fd = -1,
		.exec_socket_fd = -1,
		.grants = grant_only(GRANT_READ_ONLY, test_folder),
	};
}

static struct caller start_caller(struct sandbox_policy *policy, bool end_it)
{
	struct caller c = {0};
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		(void)dup2(open("/dev/null", O_RDWR), 0);
		(void)dup2(out[1], 1);
		(void)dup2(out[1], 2);
		(void)close(out[0]);
		(void)close(out[1]);
		_exit(run_policy(policy, end_it));
	}
	(void)close(out[1]);
	c.out = out[0];
	return c;
}

/* Returns when the last process with the output's pipe has ended. */
static int end_caller(struct caller *c, struct buf *out)
{
	struct err err;
	int status;

	assert_int_equal(fd_slurp(c->out, 1 << 20, out, &err), 0);
	(void)close(c->out);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 1000 + WTERMSIG(status);
}

static int run_with(struct sandbox_policy *policy, struct buf *out)
{
	struct caller c = start_caller(policy, false);

	return end_caller(&c, out);
}

static struct sandbox_policy shell_policy(const char *script)
{
	static char *argv[4];

	argv[0] = (char *)"sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)(uintptr_t)script;
	argv[3] = NULL;
	return plain_policy(argv);
}

static int run_shell(const char *script, struct buf *out)
{
	struct sandbox_policy policy = shell_policy(script);

	return run_with(&policy, out);
}

#define assert_shell(script, text)                                             \
	do {                                                                   \
		AUTO(buf) struct buf b_ = {0};                                 \
		(void)run_shell((script), &b_);                                \
		assert_string_equal(buf_text(&b_), (text));                    \
	} while (0)

#define assert_finds(text, part)                                               \
	do {                                                                   \
		if (!strstr((text), (part)))                                   \
			fail_msg("no '%s' in: %s", (part), (text));            \
	} while (0)

/* ---- ends ---- */

static void the_status_of_the_command_comes_back(void **state)
{
	AUTO(buf) struct buf out = {0};

	(void)state;
	assert_int_equal(run_shell("exit 0", &out), 0);
	assert_int_equal(run_shell("exit 77", &out), 77);
	assert_int_equal(run_shell("kill -9 $$", &out), 128 + 9);
	assert_int_equal(run_shell("kill -SEGV $$", &out), 128 + 11);
	assert_string_equal(buf_text(&out), "");
}

static void a_command_that_is_not_there_is_told_apart(void **state)
{
	static char *absent[] = {"no-such-command", NULL};
	static char *plain[] = {"/etc/passwd", NULL};
	static char *path[] = {"/no/such", NULL};
	AUTO(buf) struct buf out = {0};
	struct sandbox_policy p = plain_policy(absent);

	(void)state;
	assert_int_equal(run_with(&p, &out), 127);
	assert_finds(buf_text(&out), "'no-such-command'");
	p = plain_policy(path);
	assert_int_equal(run_with(&p, &out), 127);
	p = plain_policy(plain);
	assert_int_equal(run_with(&p, &out), 126);
}

static void arguments_arrive_untouched(void **state)
{
	static char *argv[] = {"printf", "<%s>", "a b", "", "*", "$x\n", NULL};
	AUTO(buf) struct buf out = {0};
	struct sandbox_policy p = plain_policy(argv);

	(void)state;
	assert_int_equal(run_with(&p, &out), 0);
	assert_string_equal(buf_text(&out), "<a b><><*><$x\n>");
}

static void what_the_command_left_behind_is_gone(void **state)
{
	AUTO(buf) struct buf out = {0};

	(void)state;
	/* The pipe stays open as long as one of the processes lives: the test
	 * ends only with all of them. */
	assert_int_equal(
		run_shell("setsid sleep 1000 & (trap '' HUP TERM; sleep 1000) &"
			  " echo ready",
			  &out),
		0);
	assert_string_equal(buf_text(&out), "ready\n");
}

static void a_run_over_its_time_is_ended(void **state)
{
	struct sandbox_policy p = shell_policy("sleep 1000");
	AUTO(buf) struct buf out = {0};

	(void)state;
	p.timeout_ms = 100;
	assert_int_equal(run_with(&p, &out), 124);
	p = shell_policy("trap '' TERM; sleep 1000 & wait; wait");
	p.timeout_ms = 100;
	assert_int_equal(run_with(&p, &out), 124);
}

static void a_tick_may_end_a_run(void **state)
{
	struct sandbox_policy p = shell_policy("sleep 1000");
	struct caller c = start_caller(&p, true);
	AUTO(buf) struct buf out = {0};

	(void)state;
	assert_int_equal(end_caller(&c, &out), 124);
}

/* Reads until the text appears. */
static void wait_for_text(int fd, struct buf *out, const char *text)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (!strstr(buf_text(out), text)) {
		char bytes[4096];
		ssize_t n;

		if (poll(&p, 1, WAIT_MS) != 1)
			fail_msg("no '%s' after: %s", text, buf_text(out));
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			fail_msg("end without '%s': %s", text, buf_text(out));
		buf_add(out, bytes, (size_t)n);
	}
}

static void a_killed_caller_takes_everything_along(void **state)
{
	struct sandbox_policy p = shell_policy(
		"setsid sleep 1000 & trap '' TERM HUP INT; echo up; "
		"while :; do sleep 1; done");
	struct caller c = start_caller(&p, false);
	AUTO(buf) struct buf out = {0};
	struct pollfd end = {.fd = c.out, .events = POLLIN};
	char byte;

	(void)state;
	wait_for_text(c.out, &out, "up\n");
	assert_int_equal(kill(c.pid, SIGKILL), 0);
	/* The last process closes the pipe. */
	assert_int_equal(poll(&end, 1, WAIT_MS), 1);
	assert_int_equal(read(c.out, &byte, 1), 0);
	assert_int_equal(end_caller(&c, &out), 1000 + SIGKILL);
}

static void signals_to_the_caller_reach_the_command(void **state)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct sandbox_policy p = shell_policy(
			"for s in INT TERM HUP QUIT; do "
			"trap \"echo got; exit 40\" $s; done; echo up; "
			"while :; do sleep 0.05; done");
		struct caller c = start_caller(&p, false);
		AUTO(buf) struct buf out = {0};

		wait_for_text(c.out, &out, "up\n");
		assert_int_equal(kill(c.pid, sigs[i]), 0);
		wait_for_text(c.out, &out, "got\n");
		assert_int_equal(end_caller(&c, &out), 40);
	}
}

/* ---- permissions of the run ---- */

static void nothing_outside_can_be_written(void **state)
{
	char *script = mem_printf(
		"echo x > /guard-x; echo x > /etc/guard-x; "
		"echo x > %s/f; chmod 777 %s/f; mkdir %s/d; rm %s/f; "
		"mv %s/f /tmp/; echo x > /proc/sys/kernel/core_pattern; "
		"echo x > /sys/kernel/uevent_helper; "
		"echo x > /dev/new; echo 99 > "
		"/proc/sys/user/max_user_namespaces",
		scratch, scratch, scratch, scratch, scratch);
	char *file = mem_printf("%s/f", scratch);
	struct sandbox_policy p = shell_policy(script);
	AUTO(buf) struct buf out = {0}, left = {0};
	struct stat before, after;
	struct err err;
	int fd = open(file, O_CREAT | O_WRONLY, 0640);

	(void)state;
	assert_int_equal(fd_write(fd, "old", 3), 0);
	assert_int_equal(fstat(fd, &before), 0);
	p.grants = grant_only(GRANT_READ_ONLY, scratch);
	(void)run_with(&p, &out);
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(fd_slurp_at(AT_FDCWD, file, 100, &left, &err), 0);
	assert_string_equal(buf_text(&left), "old");
	assert_int_equal(access("/guard-x", F_OK), -1);
	assert_int_equal(access("/etc/guard-x", F_OK), -1);
	assert_finds(buf_text(&out), "/guard-x: Read-only file system");
	assert_finds(buf_text(&out), "/f: Read-only file system");
	(void)close(fd);
	(void)unlink(file);
	free(file);
	free(script);
}

static void private_folders_are_empty_and_writable(void **state)
{
	struct sandbox_policy p = shell_policy(
		"cd /tmp; ls -A; echo a > b && cat b; "
		"cd /var/tmp && echo c > d && ls; "
		"echo e > /dev/shm/f && cat /dev/shm/f; "
		"ls /run; ls -A /run/user/*; echo > /run/user/$(id -u)/x");
	AUTO(buf) struct buf out = {0};

	(void)state;
	p.grants = NULL;
	assert_int_equal(run_with(&p, &out), 0);
	assert_string_equal(buf_text(&out), "a\nd\ne\nlock\nuser\n");
}

static void private_folders_may_lie_on_disk(void **state)
{
	struct sandbox_policy p = shell_policy("echo a > /tmp/left; "
					       "stat -c %a /tmp");
	AUTO(buf) struct buf out = {0};
	struct stat st;
	int fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	p.tmp_fd = fd;
	p.grants = NULL;
	assert_int_equal(run_with(&p, &out), 0);
	assert_string_equal(buf_text(&out), "1777\n");
	assert_int_equal(fstatat(fd, "left", &st, 0), 0);
	assert_int_equal(unlinkat(fd, "left", 0), 0);
	(void)close(fd);
}

static void the_machine_s_processes_are_not_there(void **state)
{
	char *script = mem_printf("kill -0 %d; ls -d /proc/%d /proc/1; "
				  "ls -d /proc/[0-9]* | wc -l; kill -9 -1; "
				  "echo on",
				  getpid(), getpid());
	AUTO(buf) struct buf out = {0};

	(void)state;
	(void)run_shell(script, &out);
	if (getpid() > 100)
		assert_finds(buf_text(&out), "No such process");
	assert_finds(buf_text(&out), "/proc/1\n");
	free(script);
}

static void pid_1_shows_nothing_of_the_caller(void **state)
{
	AUTO(buf) struct buf out = {0};

	(void)state;
	(void)setenv("GUARD_TEST_SECRET", "hunter2", 1);
	(void)run_shell("cat /proc/1/environ; readlink /proc/1/exe; "
			"ls -l /proc/1/fd/3; ls /proc/1/root/; "
			"cat /proc/1/maps; "
			"chmod 777 /proc/1/exe",
			&out);
	assert_null(strstr(buf_text(&out), "hunter2"));
	assert_finds(buf_text(&out), "/proc/1/environ: Permission denied");
	assert_null(strstr(buf_text(&out), "->"));
	assert_finds(buf_text(&out), "/proc/1/root/': Permission denied");
	assert_null(strstr(buf_text(&out), "test_sandbox"));
	(void)unsetenv("GUARD_TEST_SECRET");
}

static void every_right_is_gone(void **state)
{
	AUTO(buf) struct buf out = {0};

	(void)state;
	(void)run_shell("grep -E '^(Cap|NoNew|Seccomp)' /proc/self/status; "
			"ulimit -c; hostname; cat /proc/self/oom_score_adj",
			&out);
	assert_string_equal(buf_text(&out), "CapInh:\t0000000000000000\n"
					    "CapPrm:\t0000000000000000\n"
					    "CapEff:\t0000000000000000\n"
					    "CapBnd:\t0000000000000000\n"
					    "CapAmb:\t0000000000000000\n"
					    "NoNewPrivs:\t1\n"
					    "Seccomp:\t2\n"
					    "Seccomp_filters:\t2\n"
					    "0\nguard\n500\n");
}

static void it_is_the_same_user_as_outside(void **state)
{
	char *ids = mem_printf("%u %u\n", geteuid(), getegid());

	(void)state;
	assert_shell("echo $(id -u) $(id -g)", ids);
	free(ids);
}

static void no_descriptor_of_the_caller_comes_along(void **state)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY), high;

	(void)state;
	high = fcntl(fd, F_DUPFD, 200);
	assert_true(high >= 200);
	assert_shell("ls /proc/self/fd | wc -l; ls -d /proc/self/fd/200 "
		     "2>/dev/null",
		     "4\n");
	(void)close(fd);
	(void)close(high);
}

static void the_environment_is_what_was_given(void **state)
{
	static char *argv[] = {"/usr/bin/env", NULL};
	static char *envp[] = {"A=1", "B=2", NULL};
	struct sandbox_policy p = plain_policy(argv);
	AUTO(buf) struct buf out = {0};

	(void)state;
	p.envp = envp;
	assert_int_equal(run_with(&p, &out), 0);
	assert_string_equal(buf_text(&out), "A=1\nB=2\n");
}

/* ---- attacks ---- */

static int run_attack(const char *name, bool inside, struct buf *out)
{
	char *argv[] = {test_program, (char *)"--attack",
			(char *)(uintptr_t)name, NULL};
	struct sandbox_policy p = plain_policy(argv);
	struct caller c = {0};
	int pipe_fds[2];

	if (inside)
		return run_with(&p, out);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	c.pid = fork();
	if (c.pid == 0) {
		(void)dup2(open("/dev/null", O_RDWR), 0);
		(void)dup2(pipe_fds[1], 1);
		(void)execv(test_program, argv);
		_exit(99);
	}
	(void)close(pipe_fds[1]);
	c.out = pipe_fds[0];
	return end_caller(&c, out);
}

static void calls_are_refused_inside_and_not_outside(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
		AUTO(buf) struct buf in = {0}, out = {0};
		char *want = mem_printf("%s\n", attacks[i].inside);

		(void)run_attack(attacks[i].name, false, &out);
		(void)run_attack(attacks[i].name, true, &in);
		if (strcmp(buf_text(&in), want) != 0)
			fail_msg("%s inside: %s", attacks[i].name,
				 buf_text(&in));
		if (attacks[i].always && strcmp(buf_text(&out), want) == 0)
			fail_msg("%s is no attack outside: %s", attacks[i].name,
				 buf_text(&out));
		free(want);
	}
}

#if defined(__x86_64__)
static void calls_of_other_machines_kill(void **state)
{
	AUTO(buf) struct buf out = {0};

	(void)state;
	assert_int_equal(run_attack("i386", true, &out), 128 + SIGSYS);
	assert_int_equal(run_attack("x32", true, &out), 128 + SIGSYS);
	assert_int_equal(run_attack("i386", false, &out), 0);
	assert_int_equal(run_attack("x32", false, &out), 0);
}
#endif

static void without_network_there_is_a_loopback_and_no_more(void **state)
{
	char *argv[] = {test_program, (char *)"--attack", (char *)"abstract",
			NULL};
	struct sandbox_policy p = shell_policy(
		"tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
		"cat /sys/class/net/lo/flags");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO(buf) struct buf out = {0};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	p.net = SANDBOX_NET_NONE;
	p.argv = (char *[]){"sh", "-c",
			    "tail -n +3 /proc/net/dev | cut -d: -f1 | "
			    "tr -d ' '; grep -c 00000000:0000000001000000 "
			    "/proc/net/if_inet6 || "
			    "grep -c 127.0.0.1 /proc/net/fib_trie",
			    NULL};
	assert_int_equal(run_with(&p, &out), 0);
	assert_memory_equal(buf_text(&out), "lo\n", 3);

	memcpy(address.sun_path, "\0guard-test", 11);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	buf_clear(&out);
	(void)run_attack("abstract", false, &out);
	assert_string_equal(buf_text(&out), "done\n");
	buf_clear(&out);
	p = plain_policy(argv);
	p.net = SANDBOX_NET_NONE;
	(void)run_with(&p, &out);
	assert_string_equal(buf_text(&out), "ECONNREFUSED\n");
	(void)close(fd);
}

/* ---- hidden and let in ---- */

static void put(const char *dir, const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", dir, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
	(void)close(fd);
	free(path);
}

/* Makes a tree outside of the private directories; remove_tree() removes it. */
static char *make_tree(void)
{
	char *dir = mem_printf("%s/../../lib/guard-test-XXXXXX", scratch);

	/* Root uses /var/lib; other users the scratch directory. */
	if (!mkdtemp(dir)) {
		free(dir);
		dir = mem_printf("%s/tree-XXXXXX", scratch);
		assert_non_null(mkdtemp(dir));
	}
	return dir;
}

static void remove_tree(char *dir)
{
	struct err err;

	assert_int_equal(dirtree_remove(AT_FDCWD, dir, &err), 0);
	free(dir);
}

static void what_is_hidden_is_empty_under_any_name(void **state)
{
	char *dir = make_tree(), *real = realpath(dir, NULL);
	char *secret = mem_printf("%s/secret", dir);
	char *file = mem_printf("%s/file", dir);
	char *link = mem_printf("%s/link", dir);
	char *absent = mem_printf("%s/absent", dir);
	char *script = mem_printf("cd %s; ls -A secret | wc -l; cat file; "
				  "cat secret/key; echo x > secret/y; "
				  "echo x > file; rm -r secret; echo -; "
				  "cat other",
				  real);
	const char *hide[] = {link, file, absent, NULL};
	struct sandbox_policy p = shell_policy(script);
	AUTO(buf) struct buf out = {0};

	(void)state;
	assert_int_equal(mkdir(secret, 0755), 0);
	put(secret, "key", "hunter2");
	put(dir, "file", "hunter3");
	put(dir, "other", "open");
	assert_int_equal(symlink("secret", link), 0);
	p.hide = hide;
	p.grants = grant_only(GRANT_READ_WRITE, real);
	(void)run_with(&p, &out);
	assert_memory_equal(buf_text(&out), "0\n", 2);
	assert_null(strstr(buf_text(&out), "hunter"));
	assert_finds(buf_text(&out), "secret/y: Read-only file system");
	assert_finds(buf_text(&out), "-\nopen");
	free(script);
	free(absent);
	free(link);
	free(file);
	free(secret);
	free(real);
	remove_tree(dir);
}

static void what_is_let_in_below_something_hidden_is_there(void **state)
{
	char *dir = make_tree(), *real = realpath(dir, NULL);
	char *known = mem_printf("%s/known", real);
	char *deep = mem_printf("%s/deep", real);
	char *inner = mem_printf("%s/deep/inner", real);
	char *script = mem_printf("cd %s; ls; cat known; ls deep; "
				  "echo new > deep/new; echo x > known; "
				  "echo x > x; ls deep/inner",
				  real);
	const char *hide[] = {real, inner, NULL};
	struct err err;
	struct sandbox_policy p = shell_policy(script);
	AUTO(buf) struct buf out = {0};
	struct stat st;
	char *made = mem_printf("%s/new", deep);
	char *outside = mem_printf("%s/x", real);

	(void)state;
	put(real, "known", "hosts\n");
	put(real, "key", "hunter2\n");
	assert_int_equal(mkdir(deep, 0755), 0);
	assert_int_equal(mkdir(inner, 0755), 0);
	put(inner, "key", "hunter3\n");
	p.hide = hide;
	p.grants = grant_only(GRANT_READ_ONLY, known);
	assert_int_equal(grants_add(&granted, GRANT_READ_WRITE,
				    mem_strdup("test"), deep, NULL, &err),
			 0);
	(void)run_with(&p, &out);
	assert_memory_equal(buf_text(&out), "deep\nknown\nhosts\ninner\n", 23);
	assert_null(strstr(buf_text(&out), "hunter"));
	assert_null(strstr(buf_text(&out), "key"));
	assert_finds(buf_text(&out), "known: Read-only file system");
	/* Below a private directory nothing would be masked. */
	if (geteuid() == 0)
		assert_finds(buf_text(&out), "x: Read-only file system");
	assert_int_equal(faccessat(AT_FDCWD, outside, F_OK, 0), -1);
	assert_int_equal(stat(made, &st), 0);
	free(made);
	free(outside);
	free(script);
	free(inner);
	free(deep);
	free(known);
	free(real);
	remove_tree(dir);
}

static void a_bind_mount_of_a_hidden_folder_is_hidden(void **state)
{
	char *dir, *real, *secret, *alias, *script;
	AUTO(buf) struct buf out = {0};
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can mount");
	dir = make_tree();
	real = realpath(dir, NULL);
	secret = mem_printf("%s/secret", real);
	alias = mem_printf("%s/alias", real);
	script = mem_printf("cat %s/key %s/key; echo -; ls -A %s | wc -l",
			    secret, alias, alias);
	assert_int_equal(mkdir(secret, 0755) | mkdir(alias, 0755), 0);
	put(secret, "key", "hunter2");
	/* In a mount namespace of the test's own. */
	pid = fork();
	if (pid == 0) {
		const char *hide[] = {secret, NULL};
		struct sandbox_policy p = shell_policy(script);

		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount(secret, alias, NULL, MS_BIND, NULL) < 0)
			_exit(1);
		p.hide = hide;
		(void)run_with(&p, &out);
		_exit(strstr(buf_text(&out), "hunter") ||
		      !strstr(buf_text(&out), "-\n0\n"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(script);
	free(alias);
	free(secret);
	free(real);
	remove_tree(dir);
}

/* ---- descriptors that are handed on ---- */

static void input_from_a_file_is_no_way_to_write_it(void **state)
{
	struct sandbox_policy p =
		shell_policy("read a; echo $a; echo x > /proc/self/fd/0; "
			     "chmod 777 /proc/self/fd/0; cat");
	char *file = mem_printf("%s/in", scratch);
	AUTO(buf) struct buf out = {0}, left = {0};
	struct stat st;
	struct err err;
	int status, fd, pair[2];
	pid_t pid;

	(void)state;
	put(scratch, "in", "skipped\none\ntwo\n");
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(open(file, O_RDONLY), 0);
		(void)lseek(0, 8, SEEK_SET);
		(void)dup2(pair[1], 1);
		(void)dup2(pair[1], 2);
		_exit(run_policy(&p, false));
	}
	(void)close(pair[1]);
	assert_int_equal(fd_slurp(pair[0], 1 << 20, &out, &err), 0);
	(void)close(pair[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_finds(buf_text(&out), "one\n");
	assert_finds(buf_text(&out), "two\n");
	assert_finds(buf_text(&out), "Read-only file system");
	fd = open(file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_slurp(fd, 100, &left, &err), 0);
	assert_string_equal(buf_text(&left), "skipped\none\ntwo\n");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	(void)close(fd);
	(void)unlink(file);
	free(file);
}

static void a_folder_as_input_is_refused(void **state)
{
	struct sandbox_policy p = shell_policy("echo in");
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)dup2(open("/", O_RDONLY | O_DIRECTORY), 0);
		(void)dup2(open("/dev/null", O_WRONLY), 2);
		_exit(run_policy(&p, false));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 125);
}

/* ---- sandboxes inside ---- */

static void sandboxes_inside_work_when_asked_for(void **state)
{
	struct sandbox_policy p = shell_policy(
		"unshare -U true && echo in; unshare -Um mount --bind / /mnt "
		"&& echo bound; umount /tmp");
	AUTO(buf) struct buf out = {0};

	(void)state;
	(void)run_with(&p, &out);
	assert_null(strstr(buf_text(&out), "in\n"));
	p.nested = true;
	buf_clear(&out);
	(void)run_with(&p, &out);
	assert_finds(buf_text(&out), "in\n");
}

static void masks_hold_against_sandboxes_inside(void **state)
{
	char *dir = make_tree(), *real = realpath(dir, NULL);
	char *script = mem_printf(
		"unshare -Urm sh -c 'umount %s; mount -o remount,rw,bind /; "
		"mount --bind %s/.. /mnt; cat %s/key /mnt/*/key; "
		"echo x > /guard-x'; echo end",
		real, real, real);
	const char *hide[] = {real, NULL};
	struct sandbox_policy p = shell_policy(script);
	AUTO(buf) struct buf out = {0};

	(void)state;
	put(real, "key", "hunter2");
	p.hide = hide;
	p.nested = true;
	(void)run_with(&p, &out);
	assert_finds(buf_text(&out), "end\n");
	assert_null(strstr(buf_text(&out), "hunter2"));
	assert_int_equal(access("/guard-x", F_OK), -1);
	free(script);
	free(real);
	remove_tree(dir);
}

/* ---- a machine that refuses ---- */

static void this_machine_can_do_it(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(sandbox_probe(NULL, NULL, &err), 0);
}

static void a_failed_start_leaves_no_process(void **state)
{
	struct sandbox_policy p = shell_policy("true");
	struct sandbox *sb = NULL;
	char *gone = mem_printf("%s/gone", scratch);
	struct err err;

	(void)state;
	assert_int_equal(mkdir(gone, 0700), 0);
	p.grants = grant_only(GRANT_READ_ONLY, gone);
	assert_int_equal(rmdir(gone), 0);
	assert_int_equal(sandbox_start(&p, &sb, &err), -ENOENT);
	assert_finds(err.text, gone);
	free(gone);
	assert_null(sb);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

/* ---- terminals ---- */

struct terminal {
	int master, slave;
	pid_t pid; /* the caller, a session leader on the terminal */
	struct buf out;
	/* pipe: status of the caller as an int; -1 - signal: stopped */
	int status;
	int command; /* pipe: 'c' continues a stopped caller */
};

/* Standard output of the next terminal's caller; -1: the terminal. */
static int next_stdout = -1;
/* The caller starts in the background; 'f' on the command pipe puts it in the
 * foreground, without a signal. */
static bool next_background;

/* Acts as a shell: runs the caller in the foreground, notices its stop, takes
 * the terminal back, and continues it at the test's command. */
static void __attribute__((noreturn))
play_shell(struct sandbox_policy *p, int slave, int status_fd, int command_fd)
{
	pid_t pid;
	int status, value;
	char c;

	(void)setsid();
	(void)ioctl(slave, TIOCSCTTY, 0);
	(void)signal(SIGTTOU, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		if (!next_background)
			(void)tcsetpgrp(slave, getpid());
		(void)signal(SIGTTOU, SIG_DFL);
		(void)dup2(slave, 0);
		(void)dup2(next_stdout >= 0 ? next_stdout : slave, 1);
		(void)dup2(slave, 2);
		value = run_policy(p, false);
		if (next_background)
			(void)fd_write(status_fd, &value, sizeof(value));
		_exit(value);
	}
	(void)setpgid(pid, pid);
	if (next_background) {
		if (fd_read(command_fd, &c, 1) != 1)
			_exit(0);
		(void)tcsetpgrp(slave, pid);
	}
	for (;;) {
		if (waitpid(pid, &status, WUNTRACED) < 0)
			_exit(99);
		(void)tcsetpgrp(slave, getpid());
		value = WIFSTOPPED(status)  ? -1 - WSTOPSIG(status)
			: WIFEXITED(status) ? WEXITSTATUS(status)
					    : 1000 + WTERMSIG(status);
		(void)fd_write(status_fd, &value, sizeof(value));
		if (!WIFSTOPPED(status))
			_exit(0);
		if (fd_read(command_fd, &c, 1) != 1)
			_exit(98);
		(void)tcsetpgrp(slave, pid);
		(void)kill(-pid, SIGCONT);
	}
}

static struct terminal open_terminal(struct sandbox_policy *p)
{
	struct terminal t = {0};
	struct winsize size = {.ws_row = 33, .ws_col = 77};
	int status[2], command[2];

	t.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(t.master >= 0);
	assert_int_equal(grantpt(t.master) | unlockpt(t.master), 0);
	t.slave = open(ptsname(t.master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(t.slave >= 0);
	assert_int_equal(ioctl(t.master, TIOCSWINSZ, &size), 0);
	assert_int_equal(pipe2(status, O_CLOEXEC) | pipe2(command, O_CLOEXEC),
			 0);
	t.pid = fork();
	if (t.pid == 0)
		play_shell(p, t.slave, status[1], command[0]);
	(void)close(status[1]);
	(void)close(command[0]);
	t.status = status[0];
	t.command = command[1];
	return t;
}

static void type(const struct terminal *t, const char *text)
{
	assert_int_equal(fd_write(t->master, text, strlen(text)), 0);
}

static void see(struct terminal *t, const char *text)
{
	wait_for_text(t->master, &t->out, text);
	buf_clear(&t->out);
}

static int next_status(struct terminal *t)
{
	struct pollfd p[2] = {{.fd = t->status, .events = POLLIN},
			      {.fd = t->master, .events = POLLIN}};
	int value = -1000;

	while (!(p[0].revents & (POLLIN | POLLHUP))) {
		char bytes[4096];
		ssize_t n;

		if (poll(p, 2, WAIT_MS) <= 0)
			fail_msg("no status after: %s", buf_text(&t->out));
		if (!(p[1].revents & POLLIN))
			continue;
		n = read(t->master, bytes, sizeof(bytes));
		if (n > 0)
			buf_add(&t->out, bytes, (size_t)n);
	}
	assert_int_equal(fd_read(t->status, &value, sizeof(value)),
			 sizeof(value));
	return value;
}

static void close_terminal(struct terminal *t)
{
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
	buf_free(&t->out);
	(void)close(t->master);
	(void)close(t->slave);
	(void)close(t->status);
	(void)close(t->command);
}

static void ctrl_c_reaches_what_runs_in_the_foreground(void **state)
{
	static char *argv[] = {"sh", "-i", NULL};
	struct sandbox_policy p = plain_policy(argv);
	struct terminal t = open_terminal(&p);

	(void)state;
	type(&t, "PS1=; echo sta''rt\r");
	see(&t, "start\r\n");
	type(&t, "stty size; tty\r");
	see(&t, "33 77\r\n/dev/pts/0\r\n");
	type(&t, "sh -c 'echo r''uns; exec sleep 1000'\r");
	see(&t, "runs\r\n");
	type(&t, "\003");
	type(&t, "echo \"rc=\"$?\r");
	see(&t, "rc=130\r\n");
	type(&t, "exit 5\r");
	assert_int_equal(next_status(&t), 5);
	close_terminal(&t);
}

static void the_terminal_is_as_it_was(void **state)
{
	struct sandbox_policy p = shell_policy(
		"stty -echo; printf '\\033[?1049h\\033[?25l\\033[?2004h"
		"\\033[31m'; echo u''p; read x; exit 3");
	struct termios before, during, after;
	struct terminal t = open_terminal(&p);
	const char *out;

	(void)state;
	assert_int_equal(tcgetattr(t.slave, &before), 0);
	see(&t, "up\r\n");
	assert_int_equal(tcgetattr(t.slave, &during), 0);
	assert_false(during.c_lflag & ICANON);
	type(&t, "\r");
	assert_int_equal(next_status(&t), 3);
	assert_int_equal(tcgetattr(t.slave, &after), 0);
	assert_int_equal(before.c_lflag, after.c_lflag);
	assert_int_equal(before.c_iflag, after.c_iflag);
	assert_int_equal(before.c_oflag, after.c_oflag);
	out = buf_text(&t.out);
	assert_finds(out, "\033[?25h");
	assert_finds(out, "\033[?2004l");
	assert_finds(out, "\033[?1049l");
	assert_finds(out, "\033[0m");
	close_terminal(&t);
}

/* How often the sequence is in the text. */
static int sequences(const char *text, const char *sequence)
{
	int count = 0;

	while ((text = strstr(text, sequence))) {
		text += strlen(sequence);
		count++;
	}
	return count;
}

static void only_the_title_of_a_quiet_terminal_is_saved(void **state)
{
	struct sandbox_policy p = shell_policy("echo plain");
	struct terminal t = open_terminal(&p);

	(void)state;
	assert_int_equal(next_status(&t), 0);
	/* The buffer already has the output after the status. */
	if (!strstr(buf_text(&t.out), "plain"))
		wait_for_text(t.master, &t.out, "plain\r\n");
	assert_int_equal(sequences(buf_text(&t.out), "\033"),
			 sequences(buf_text(&t.out), "\033[22;0t") +
				 sequences(buf_text(&t.out), "\033[23;0t"));
	close_terminal(&t);
}

static void a_new_window_size_is_passed_on(void **state)
{
	struct sandbox_policy p =
		shell_policy("trap 'stty size; exit 4' WINCH; echo u''p; "
			     "while :; do sleep 0.05; done");
	struct winsize size = {.ws_row = 11, .ws_col = 22};
	struct terminal t = open_terminal(&p);

	(void)state;
	see(&t, "up\r\n");
	assert_int_equal(ioctl(t.master, TIOCSWINSZ, &size), 0);
	see(&t, "11 22\r\n");
	assert_int_equal(next_status(&t), 4);
	close_terminal(&t);
}

static void ctrl_z_stops_the_caller_and_it_goes_on(void **state)
{
	struct sandbox_policy p = shell_policy(
		"echo u''p; read x; echo \"<$x>\"; read x; exit 6");
	struct termios before, stopped, again;
	struct terminal t = open_terminal(&p);

	(void)state;
	assert_int_equal(tcgetattr(t.slave, &before), 0);
	see(&t, "up\r\n");
	type(&t, "\032");
	assert_int_equal(next_status(&t), -1 - SIGTSTP);
	assert_int_equal(tcgetattr(t.slave, &stopped), 0);
	assert_int_equal(before.c_lflag, stopped.c_lflag);
	assert_int_equal(fd_write(t.command, "c", 1), 0);
	type(&t, "hello\r");
	see(&t, "<hello>\r\n");
	assert_int_equal(tcgetattr(t.slave, &again), 0);
	assert_false(again.c_lflag & ICANON);
	type(&t, "\004");
	assert_int_equal(next_status(&t), 6);
	close_terminal(&t);
}

static void in_a_pipeline_the_terminal_stays_as_it_is(void **state)
{
	struct sandbox_policy p =
		shell_policy("echo u''p >&2; while :; do sleep 0.05; done");
	AUTO(buf) struct buf out = {0};
	struct termios modes;
	struct terminal t;
	struct err err;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	next_stdout = pair[1];
	t = open_terminal(&p);
	next_stdout = -1;
	(void)close(pair[1]);
	see(&t, "up\r\n");
	assert_int_equal(tcgetattr(t.slave, &modes), 0);
	assert_true(modes.c_lflag & ICANON);
	/* The terminal turns Ctrl-C into a signal here, which guard gets. */
	type(&t, "\003");
	assert_int_equal(next_status(&t), 128 + SIGINT);
	assert_int_equal(fd_slurp(pair[0], 1000, &out, &err), 0);
	assert_string_equal(buf_text(&out), "");
	(void)close(pair[0]);
	close_terminal(&t);
}

static void in_a_pipeline_what_is_typed_arrives(void **state)
{
	struct sandbox_policy p = shell_policy(
		"echo u''p >&2; read x; echo \"<$x>\"; echo do''ne >&2; "
		"exit 8");
	AUTO(buf) struct buf out = {0};
	struct terminal t;
	struct err err;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	next_stdout = pair[1];
	t = open_terminal(&p);
	next_stdout = -1;
	(void)close(pair[1]);
	see(&t, "up\r\n");
	type(&t, "hi\r");
	assert_int_equal(next_status(&t), 8);
	assert_int_equal(fd_slurp(pair[0], 1000, &out, &err), 0);
	assert_string_equal(buf_text(&out), "<hi>\n");
	(void)close(pair[0]);
	close_terminal(&t);
}

static void from_the_background_it_comes_back_without_a_signal(void **state)
{
	struct sandbox_policy p =
		shell_policy("echo u''p; read x; echo \"<$x>\"; exit 7");
	struct terminal t;

	(void)state;
	next_background = true;
	t = open_terminal(&p);
	next_background = false;
	see(&t, "up\r");
	assert_int_equal(fd_write(t.command, "f", 1), 0);
	type(&t, "hello\r");
	see(&t, "<hello>\r\n");
	assert_int_equal(next_status(&t), 7);
	close_terminal(&t);
}

static void all_output_arrives_before_the_end(void **state)
{
	struct sandbox_policy p = shell_policy("seq 1 20000; echo l''ast");
	struct terminal t = open_terminal(&p);

	(void)state;
	assert_int_equal(next_status(&t), 0);
	if (!strstr(buf_text(&t.out), "last"))
		wait_for_text(t.master, &t.out, "last\r\n");
	assert_finds(buf_text(&t.out), "19999\r\n20000\r\nlast\r\n");
	close_terminal(&t);
}

static void a_terminal_has_nothing_of_the_caller_s(void **state)
{
	struct sandbox_policy p = shell_policy(
		"ls -1 /dev/pts; ls -l /proc/self/fd/0 | sed 's/.*-> //'; "
		"sleep 1000 < /dev/tty & echo e''nd");
	struct terminal t = open_terminal(&p);

	(void)state;
	see(&t, "0\r\nptmx\r\n/dev/pts/0\r\nend\r\n");
	assert_int_equal(next_status(&t), 0);
	close_terminal(&t);
}

/* ---- the group ---- */

static int set_up(void **state)
{
	ssize_t n = readlink("/proc/self/exe", test_program,
			     sizeof(test_program) - 1);

	(void)state;
	if (n <= 0 || !mkdtemp(scratch))
		return -1;
	test_program[n] = '\0';
	strcpy(test_folder, test_program);
	*strrchr(test_folder, '/') = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(scratch);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] =
	{ cmocka_unit_test(this_machine_can_do_it),
	  cmocka_unit_test(the_status_of_the_command_comes_back),
	  cmocka_unit_test(a_command_that_is_not_there_is_told_apart),
	  cmocka_unit_test(arguments_arrive_untouched),
	  cmocka_unit_test(what_the_command_left_behind_is_gone),
	  cmocka_unit_test(a_run_over_its_time_is_ended),
	  cmocka_unit_test(a_tick_may_end_a_run),
	  cmocka_unit_test(a_killed_caller_takes_everything_along),
	  cmocka_unit_test(signals_to_the_caller_reach_the_command),
	  cmocka_unit_test(nothing_outside_can_be_written),
	  cmocka_unit_test(private_folders_are_empty_and_writable),
	  cmocka_unit_test(private_folders_may_lie_on_disk),
	  cmocka_unit_test(the_machine_s_processes_are_not_there),
	  cmocka_unit_test(pid_1_shows_nothing_of_the_caller),
	  cmocka_unit_test(every_right_is_gone),
	  cmocka_unit_test(it_is_the_same_user_as_outside),
	  cmocka_unit_test(no_descriptor_of_the_caller_comes_along),
	  cmocka_unit_test(the_environment_is_what_was_given),
	  cmocka_unit_test(calls_are_refused_inside_and_not_outside),
#if defined(__x86_64__)
	  cmocka_unit_test(calls_of_other_machines_kill),
#endif
	  cmocka_unit_test(without_network_there_is_a_loopback_and_no_more),
	  cmocka_unit_test(what_is_hidden_is_empty_under_any_name),
	  cmocka_unit_test(what_is_let_in_below_something_hidden_is_there),
	  cmocka_unit_test(a_bind_mount_of_a_hidden_folder_is_hidden),
	  cmocka_unit_test(input_from_a_file_is_no_way_to_write_it),
	  cmocka_unit_test(a_folder_as_input_is_refused),
	  cmocka_unit_test(sandboxes_inside_work_when_asked_for),
	  cmocka_unit_test(masks_hold_against_sandboxes_inside),
	  cmocka_unit_test(a_failed_start_leaves_no_process),
	  cmocka_unit_test(ctrl_c_reaches_what_runs_in_the_foreground),
	  cmocka_unit_test(the_terminal_is_as_it_was),
	  cmocka_unit_test(only_the_title_of_a_quiet_terminal_is_saved),
	  cmocka_unit_test(a_new_window_size_is_passed_on),
	  cmocka_unit_test(ctrl_z_stops_the_caller_and_it_goes_on),
	  cmocka_unit_test(in_a_pipeline_the_terminal_stays_as_it_is),
	  cmocka_unit_test(in_a_pipeline_what_is_typed_arrives),
	  cmocka_unit_test(from_the_background_it_comes_back_without_a_signal),
	  cmocka_unit_test(all_output_arrives_before_the_end),
	  cmocka_unit_test(a_terminal_has_nothing_of_the_caller_s),
	};

	if (argc == 3 && strcmp(argv[1], "--attack") == 0)
		return attack_main(argv[2]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
