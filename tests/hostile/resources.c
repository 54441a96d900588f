/* Attacks on what the machine has only so much of. All are bounded. */
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/hostile/attack.h"

static int fork_bomb(void)
{
	struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
	int i, num = 0;

	(void)setrlimit(RLIMIT_NPROC, &most);
	(void)setpgid(0, 0);
	for (i = 0; i < 300 && !num; i++) {
		pid_t pid = fork();

		if (pid < 0)
			num = errno;
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void)pause();
		}
	}
	(void)signal(SIGTERM, SIG_IGN);
	(void)kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return num ? tell(HELD, "after %d: %s", i - 1, strerror(num))
		   : tell(WORKED, "300 processes");
}

/* As many instances as the user may have, all in all. */
static int watchers(void)
{
	long most = 128, i;
	FILE *f = fopen("/proc/sys/fs/inotify/max_user_instances", "re");

	if (f && fscanf(f, "%ld", &most) != 1)
		most = 128;
	/* The last few belong to others. */
	most -= most / 4;
	for (i = 0; i < most; i++)
		if (inotify_init1(IN_CLOEXEC) < 0)
			return tell(HELD, "after %ld: %s", i, strerror(errno));
	return tell(WORKED, "%ld of the user's instances", most);
}

static const struct attack table[] = {
	{"P74", "more processes than allowed", "limit of processes",
	 PROOF_CLAIM, "user", .options = "--pids-limit 200", .play = fork_bomb},
	{"P78w", "take the user's inotify instances away",
	 "limit of the user namespace", PROOF_CLAIM, .play = watchers},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
