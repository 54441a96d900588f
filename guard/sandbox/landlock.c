#include "guard/sandbox/internal.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"

/* Of the kernel's interface, which headers may be older than. */
#define CREATE_RULESET_VERSION 1U
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define ABI_WITH_SCOPES 6

struct ruleset {
	uint64_t fs, net, scoped;
};

/*
 * Scopes alone: a ruleset that handles any right on files forbids every mount,
 * and sandboxes inside would fail. In a network namespace of its own the run
 * reaches no abstract socket anyway; on the machine's this is what keeps it
 * from X11, from a D-Bus, from whatever listens there.
 */
int landlock_scope(struct err *err)
{
	struct ruleset rules = {
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
			   CREATE_RULESET_VERSION);
	auto_close int fd = -1;

	if (abi < ABI_WITH_SCOPES)
		return 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules),
			  0U);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0U) < 0)
		return fail_errno(err, "Landlock");
	return 0;
}
