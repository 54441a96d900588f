#include "guard/sandbox/ns/ns_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/sandbox/ns/mount.h"

/* Constants of the kernel's interface: installed headers may be older. */
#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_REMOVE_AND_MAKE 0x1ff0ULL /* bits 4 to 12 */
#define FS_REFER (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define FS_ON_FILES (FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define ABI_WITH_SCOPES 6

struct landlock_ruleset {
	uint64_t fs, net, scoped;
};

struct landlock_path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
		       CREATE_RULESET_VERSION);
}

static int create_landlock_ruleset(const struct landlock_ruleset *rules)
{
	return (int)syscall(SYS_landlock_create_ruleset, rules, sizeof(*rules),
			    0U);
}

static int enforce_landlock(int fd, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, fd, 0U) < 0)
		return fail_errno(err, "enter the Landlock rules");
	return 0;
}

/*
 * Only scopes: a ruleset that handles any access right on files forbids all
 * mounts, so nested sandboxes would fail. With a network namespace of its own
 * the run reaches no abstract socket anyway; on the machine's network this
 * scope keeps it from X11, D-Bus and other listeners.
 */
int landlock_scope(struct err *err)
{
	struct landlock_ruleset rules = {
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	auto_close int fd = -1;

	if (landlock_abi() < ABI_WITH_SCOPES)
		return 0;
	fd = create_landlock_ruleset(&rules);
	if (fd < 0)
		return fail_errno(err, "Landlock");
	return enforce_landlock(fd, err);
}

static int allow_landlock_path(int landlock_ruleset, const char *path,
			       uint64_t rights, struct err *err)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_rule rule = {.allowed = rights, .fd = fd};

	/* A mount that another mount covers cannot be opened. */
	if (fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, landlock_ruleset, RULE_PATH_BENEATH,
		    &rule, 0U) < 0 &&
	    errno != EINVAL)
		return fail_errno(err, "Landlock rule for %s",
				  text_quote(path));
	return 0;
}

/*
 * Allows writes on writable mounts of the run and on the nodes of /dev. A
 * read-only mount alone does not protect a FIFO or a device on it. Rules and
 * scopes share one ruleset: a second ruleset without rules for files would
 * forbid every rename from one directory to another.
 */
int landlock_writes(struct err *err)
{
	AUTO(mountinfo) struct mountinfo table = {0};
	struct landlock_ruleset rules = {
		.fs = FS_WRITE_FILE | FS_REMOVE_AND_MAKE,
		.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
	};
	long abi = landlock_abi();
	auto_close int fd = -1;
	size_t i;
	int rc;

	if (abi < 2)
		return fail(err, ENOSYS,
			    "--strict needs Landlock (Linux 5.19, "
			    "CONFIG_SECURITY_LANDLOCK, lsm=landlock,...): see "
			    "guard doctor");
	rules.fs |= FS_REFER | (abi >= 3 ? FS_TRUNCATE : 0) |
		    (abi >= 5 ? FS_IOCTL_DEV : 0);
	if (abi < ABI_WITH_SCOPES)
		rules.scoped = 0;
	rc = mountinfo_load(&table, err);
	if (rc < 0)
		return rc;
	fd = create_landlock_ruleset(&rules);
	if (fd < 0)
		return fail_errno(err, "Landlock");
	rc = allow_landlock_path(fd, "/dev", rules.fs & FS_ON_FILES, err);
	for (i = 0; rc == 0 && i < table.count; i++)
		if (table.items[i].writable)
			rc = allow_landlock_path(fd, table.items[i].point,
						 rules.fs, err);
	return rc < 0 ? rc : enforce_landlock(fd, err);
}
