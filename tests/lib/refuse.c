/*
 * Runs a command behind a seccomp filter, like that of a container, which fails
 * one system call with a given error:
 *
 *	refuse CALL ERRNO CMD ARGS
 *
 * Ends with 99 when filters are not available.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{"mount", SYS_mount},
	{"umount2", SYS_umount2},
	{"pivot_root", SYS_pivot_root},
	{"open_tree", SYS_open_tree},
	{"move_mount", SYS_move_mount},
	{"mount_setattr", SYS_mount_setattr},
	{"fsopen", SYS_fsopen},
	{"fsconfig", SYS_fsconfig},
	{"fsmount", SYS_fsmount},
	{"openat2", SYS_openat2},
	{"keyctl", SYS_keyctl},
	{"seccomp", SYS_seccomp},
	{"landlock_create_ruleset", SYS_landlock_create_ruleset},
	{"landlock_restrict_self", SYS_landlock_restrict_self},
	{"sethostname", SYS_sethostname},
	{"close_range", SYS_close_range},
};

static int refuse(unsigned int number, unsigned int num)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | num),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 3 && i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(argv[1], calls[i].name) != 0)
			continue;
		if (refuse(calls[i].number,
			   (unsigned int)strtoul(argv[2], NULL, 10)) < 0)
			break;
		(void)execvp(argv[3], argv + 3);
		return 127;
	}
	(void)fprintf(stderr, "refuse: no such filter\n");
	return 99;
}
