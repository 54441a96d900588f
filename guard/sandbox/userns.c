#include "guard/sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

static int write_map(pid_t pid, const char *name, const char *text,
		     struct err *err)
{
	char path[64];
	auto_close int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* A single write(2): the kernel accepts a map only once. */
	if (fd < 0 || fd_write(fd, text, strlen(text)) < 0) {
		if (errno == EPERM || errno == EACCES)
			return userns_explain(errno, name, err);
		return fail_errno(err, "user namespace: %s", name);
	}
	return 0;
}

/* Maps all ids of the current namespace to themselves. In a container, or under
 * `unshare -r`, these are not all numbers. */
static int map_all(pid_t pid, const char *name, struct err *err)
{
	auto_free char *path = mem_printf("/proc/self/%s", name);
	AUTO(buf) struct buf own = {0}, map = {0};
	unsigned int first, count;
	const char *at;
	int used;

	if (fd_slurp_at(AT_FDCWD, path, 1 << 16, &own, err) < 0)
		return -err->num;
	for (at = buf_text(&own);
	     sscanf(at, "%u %*u %u%n", &first, &count, &used) == 2; at += used)
		buf_printf(&map, "%u %u %u\n", first, first, count);
	return write_map(pid, name, buf_text(&map), err);
}

/* A plain user is uid 0 in the first namespace, as devpts and the limit of
 * namespaces require, and has its own id again in the second. Root keeps all
 * ids in both: otherwise files of other owners would give EOVERFLOW. */
int userns_map(pid_t pid, bool root, bool inner, uid_t uid, gid_t gid,
	       struct err *err)
{
	char uids[64], gids[64];

	if (root)
		return map_all(pid, "uid_map", err) < 0
			       ? -err->num
			       : map_all(pid, "gid_map", err);
	(void)snprintf(uids, sizeof(uids), "%u %u 1", inner ? uid : 0,
		       inner ? 0 : uid);
	(void)snprintf(gids, sizeof(gids), "%u %u 1", inner ? gid : 0,
		       inner ? 0 : gid);
	if ((!inner && write_map(pid, "setgroups", "deny", err) < 0) ||
	    write_map(pid, "uid_map", uids, err) < 0)
		return -err->num;
	return write_map(pid, "gid_map", gids, err);
}

static bool is_filtered(void)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	return fd_slurp_at(AT_FDCWD, "/proc/self/status", 1 << 16, &b,
			   &ignored) == 0 &&
	       strstr(buf_text(&b), "\nSeccomp:\t2");
}

/* The name of the AppArmor profile that confines this process. */
static bool read_profile(struct buf *name)
{
	static const char enforced[] = " (enforce)";
	struct err ignored;
	const char *end;

	if (fd_slurp_at(AT_FDCWD, "/proc/self/attr/apparmor/current", 4096,
			name, &ignored) < 0)
		return false;
	end = strstr(buf_text(name), enforced);
	if (end)
		name->len = (size_t)(end - buf_text(name));
	return end;
}

/* The first namespace type needed by a run of which the machine allows none. */
static const char *kind_switched_off(void)
{
	static const char *const kinds[] = {"user", "mnt",    "pid", "ipc",
					    "uts",  "cgroup", "net"};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_free char *path = mem_printf(
			"/proc/sys/user/max_%s_namespaces", kinds[i]);

		if (fd_read_number(path, -1) == 0)
			return kinds[i];
	}
	return NULL;
}

bool userns_is_chrooted(void)
{
	struct statx root;

	return statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &root) == 0 &&
	       root.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT &&
	       !(root.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* A chroot to a mount point, or another mount namespace. False if unknown. */
static bool has_other_root(void)
{
	struct stat own, first;

	return stat("/", &own) == 0 && stat("/proc/1/root/", &first) == 0 &&
	       (own.st_dev != first.st_dev || own.st_ino != first.st_ino);
}

static int explain_chroot(struct err *err)
{
	return fail(err, EPERM,
		    "the kernel allows no user namespaces in a chroot: use "
		    "systemd-nspawn, bwrap or pivot_root");
}

/* Explains a refusal by a confinement around guard. Returns 0 if there is
 * none. */
static int explain_outer_confinement(int num, const char *step, struct err *err)
{
	AUTO(buf) struct buf profile = {0};

	if (num != EPERM && num != EACCES && num != ENOSYS)
		return 0;
	if (num != EACCES && is_filtered())
		return fail(err, num,
			    "%s: a seccomp filter around guard forbids it. In "
			    "a container: --security-opt seccomp=unconfined, "
			    "or run guard outside of it",
			    step);
	if (num != ENOSYS && read_profile(&profile))
		return fail(err, num,
			    "%s: the AppArmor profile %s around guard forbids "
			    "it. In a container: --security-opt "
			    "apparmor=unconfined, or run guard outside of it; "
			    "in a service: "
			    "AppArmorProfile=unconfined",
			    step, text_quote(buf_text(&profile)));
	return 0;
}

int userns_explain_step(int num, const char *text, struct err *err)
{
	const char *reason = strerror(num);
	size_t len = strlen(text), n = strlen(reason);

	/* A text that does not end in the kernel's message already gives a
	 * reason. */
	if (len < n || strcmp(text + len - n, reason) != 0)
		return fail(err, num, "%s", text);
	if (explain_outer_confinement(num, text, err) < 0)
		return -num;
	if (num == ENOSYS)
		return fail(err, num,
			    "%s: this kernel is too old for guard, "
			    "which needs Linux 5.12 or newer",
			    text);
	return fail(err, num, "%s", text);
}

int userns_explain(int num, const char *step, struct err *err)
{
	bool denied = num == EPERM || num == EACCES;
	const char *off = NULL;

	if (num == EPERM && userns_is_chrooted())
		return explain_chroot(err);
	if (denied &&
	    fd_read_number("/proc/sys/kernel/unprivileged_userns_clone", -1) ==
		    0)
		return fail(err, num,
			    "user namespaces are disabled for plain users, and "
			    "for root inside a first one: sudo sysctl -w "
			    "kernel.unprivileged_userns_clone=1 (permanently: "
			    "a file in /etc/sysctl.d)");
	if (denied && fd_read_number("/proc/sys/kernel/"
				     "apparmor_restrict_unprivileged_userns",
				     -1) == 1)
		return fail(err, num,
			    "AppArmor denies user namespaces to programs "
			    "without a profile: copy guard's profile "
			    "(share/doc/guard/apparmor below its prefix) to "
			    "/etc/apparmor.d/guard and load it: sudo "
			    "apparmor_parser -r /etc/apparmor.d/guard. Or, for "
			    "all programs: sudo sysctl -w "
			    "kernel.apparmor_restrict_unprivileged_userns=0");
	if (num == ENOSPC)
		off = kind_switched_off();
	else if (denied &&
		 fd_read_number("/proc/sys/user/max_user_namespaces", -1) == 0)
		off = "user";
	if (off)
		return fail(err, num,
			    "namespaces are disabled (%s): sudo sysctl -w "
			    "user.max_%s_namespaces=15000",
			    off, off);
	/* A run needs two nested user namespaces. From inside the first, the
	 * machine's limit is not visible. */
	if (num == ENOSPC)
		return fail(
			err, num,
			"no more namespaces: too many are in use or nested: "
			"sudo sysctl -w user.max_user_namespaces=15000");
	if (explain_outer_confinement(num, step, err) < 0)
		return -num;
	if (num == EPERM && has_other_root())
		return explain_chroot(err);
	if (num == ENOSYS || num == EINVAL)
		return fail_num(err, num,
				"%s: this kernel lacks namespaces that guard "
				"needs (Linux 5.12 or newer, CONFIG_USER_NS)",
				step);
	return fail_num(err, num, "%s", step);
}
