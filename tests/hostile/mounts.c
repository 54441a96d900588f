/* Attacks on mounts and namespaces. */
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/hostile/attack.h"

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif

/* ENOSYS and EPERM are the filter's answers, or equivalent. */
static int reached(long rc, const char *what)
{
	if (rc < 0 && (errno == ENOSYS || errno == EPERM || errno == ENOSPC))
		return tell(HELD, "%s: %s", what, strerror(errno));
	return tell(WORKED, "%s: %s", what, rc < 0 ? strerror(errno) : "done");
}

static int new_userns(void)
{
	return verdict(unshare(CLONE_NEWUSER), "unshare(CLONE_NEWUSER)");
}

static int new_userns_clone3(void)
{
	struct clone_args args = {.flags = CLONE_NEWUSER,
				  .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return verdict(pid, "clone3(CLONE_NEWUSER)");
}

static int new_userns_clone(void)
{
	unsigned long high = 1UL << 32;
	long pid = syscall(SYS_clone, high | CLONE_NEWUSER | SIGCHLD, NULL,
			   NULL, NULL, 0UL);

	if (pid == 0)
		_exit(0);
	return verdict(pid, "clone with high bits");
}

static int other_namespaces(void)
{
	static const int flags[] = {CLONE_NEWNS,  CLONE_NEWPID, CLONE_NEWIPC,
				    CLONE_NEWUTS, CLONE_NEWNET, CLONE_NEWCGROUP,
				    0x80 /* CLONE_NEWTIME */};
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (unshare(flags[i]) == 0)
			return tell(WORKED, "unshare(%#x)", flags[i]);
	return verdict(-1, "unshare");
}

static int new_mount_calls(void)
{
	long rc = syscall(SYS_fsopen, "tmpfs", 0);

	if (rc < 0)
		rc = syscall(SYS_open_tree, AT_FDCWD, "/", 0);
	return reached(rc, "fsopen, open_tree");
}

static int open_tree_attr(void)
{
	return reached(
		syscall(SYS_open_tree_attr, -1, NULL, 0U, NULL, (size_t)0),
		"open_tree_attr");
}

static int unknown_calls(void)
{
	long nr;

	/* Calls newer than the lists: they must not reach the kernel. */
	for (nr = 467; nr < 480; nr++)
		if (syscall(nr, -1, 0, 0, 0, 0, 0) < 0 && errno != ENOSYS)
			return tell(WORKED, "call %ld: %s", nr,
				    strerror(errno));
	return tell(HELD, "ENOSYS");
}

static int enter_by_pid(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/mnt",
		       getenv("VICTIM_PID"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return verdict(-1, path);
	return reached(setns(fd, CLONE_NEWNS), "setns");
}

static int enter_own_parent(void)
{
	/* NS_GET_USERNS, NS_GET_PARENT */
	int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	int up = ioctl(fd, 0xb702);

	return verdict(up, "the user namespace above");
}

/* Runs the script in a nested mount namespace: which mounts can it undo? */
static int nested(const char *script)
{
	char command[4096];

	(void)snprintf(command, sizeof(command),
		       "unshare -Urm sh -c '%s' || exit 1", script);
	return system(command) == 0 ? WORKED : HELD;
}

static int nested_umount(void)
{
	return nested("umount -l ~/.ssh || umount -l ~; cat ~/.ssh/id_rsa");
}

static int nested_bind(void)
{
	return nested("mkdir -p b; mount --bind ~ b && cat b/.ssh/id_rsa; "
		      "mount --rbind / /mnt && cat /mnt/$HOME/.ssh/id_rsa");
}

static int nested_remount(void)
{
	return nested("mount -o remount,rw,bind /srv; mount -o remount,rw /; "
		      "mount -o remount,rw,bind /; echo x >>/srv/service/own");
}

static int nested_overlay(void)
{
	return nested("mkdir -p u w m; mount -t overlay o -o "
		      "lowerdir=$HOME,upperdir=u,workdir=w,userxattr m && "
		      "cat m/.ssh/id_rsa; "
		      "mount -t overlay o -o lowerdir=$HOME:/usr,userxattr m "
		      "&& cat m/.ssh/id_rsa");
}

/* Enters nested namespaces, if possible; the ids stay. */
static int make_nested(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char text[64];
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "deny", 4);
	(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, text, strlen(text));
	(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	fd = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
	(void)!write(fd, text, strlen(text));
	return 0;
}

static int tell_secret(int dir)
{
	char text[64] = "";
	int fd = openat(dir, ".ssh/id_rsa", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return verdict(-1, "below the mask");
	return tell(WORKED, "%s", text);
}

static int nested_open_tree(void)
{
	int fd;

	if (make_nested() < 0)
		return verdict(-1, "unshare");
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, getenv("HOME"), 1U);
	return fd < 0 ? verdict(-1, "open_tree") : tell_secret(fd);
}

/* A mount below the mask instead of on it, to lift the mask off? */
static int nested_beneath(void)
{
	char path[4096];
	int fd, mnt;

	(void)snprintf(path, sizeof(path), "%s/.ssh", getenv("HOME"));
	if (make_nested() < 0)
		return verdict(-1, "unshare");
	fd = (int)syscall(SYS_fsopen, "tmpfs", 0);
	(void)syscall(SYS_fsconfig, fd, 6U, NULL, NULL, 0);
	mnt = (int)syscall(SYS_fsmount, fd, 0U, 0U);
	(void)syscall(SYS_move_mount, mnt, "", AT_FDCWD, path, 0x204U);
	(void)umount2(path, MNT_DETACH);
	(void)umount2(path, MNT_DETACH);
	fd = open(getenv("HOME"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return tell_secret(fd);
}

static int nested_attributes(void)
{
	struct {
		unsigned long long set, clear, propagation, userns;
	} a = {.clear = 1 /* MOUNT_ATTR_RDONLY */};
	int fd;

	if (make_nested() < 0)
		return verdict(-1, "unshare");
	(void)syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000U, &a, sizeof(a));
	(void)syscall(SYS_mount_setattr, AT_FDCWD, "/srv", 0U, &a, sizeof(a));
	fd = open("/srv/service/own", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return verdict(-1, "open a file outside");
	return verdict(write(fd, "x", 1), "write a file outside");
}

static const struct attack table[] = {
	{"P19", "umount the project, write what lies below", "no capabilities",
	 PROOF_HOST, "root", .options = "MOUNTED",
	 .shell = "cd /; umount -l ~/project && echo x >>~/project/README"},
	{"P20", "remount / read-write", "no capabilities, locked mounts",
	 PROOF_CLAIM, "root", .options = "PRIVATE",
	 .shell = "mount -o remount,rw,bind /"},
	{"P21", "bind mount, look below a mask", "no capabilities", PROOF_CLAIM,
	 "root", .options = "PRIVATE", .shell = "mkdir -p b; mount --bind ~ b"},
	{"P22", "unshare a user namespace", "filter, namespace limit",
	 PROOF_CLAIM, .play = new_userns},
	{"P23", "clone3 a user namespace", "filter", PROOF_CLAIM,
	 .play = new_userns_clone3},
	{"P24", "clone a user namespace, high bits set",
	 "filter on the low bits", PROOF_CLAIM, .play = new_userns_clone},
	{"M01", "every other namespace", "filter", PROOF_CLAIM, "root",
	 .options = "PRIVATE", .play = other_namespaces},
	{"P25", "new mount calls", "filter", PROOF_CLAIM, "root",
	 .options = "PRIVATE", .play = new_mount_calls},
	{"P26", "a mount call younger than the lists", "unknown is absent",
	 PROOF_CLAIM, "root", .play = open_tree_attr},
	{"M02", "all calls younger than the lists", "unknown is absent",
	 PROOF_CLAIM, .play = unknown_calls},
	{"P27", "chroot and walk out", "no capabilities, filter", PROOF_CLAIM,
	 "root", .shell = "chroot . true || chroot / true || exit 1"},
	{"P28", "setns into a process outside", "PID namespace", PROOF_CLAIM,
	 "root", .play = enter_by_pid},
	{"M03", "the user namespace above by ioctl", "user namespaces",
	 PROOF_CLAIM, .play = enter_own_parent},
	{"P29", "raise the limit of namespaces", "closed /proc/sys",
	 PROOF_CLAIM,
	 .shell = "echo 100 >/proc/sys/user/max_user_namespaces; "
		  "unshare -Ur true"},
	{"P30", "nested: umount a mask", "locked mounts", PROOF_SECRET, "both",
	 "--nested", .play = nested_umount},
	{"P30b", "nested: bind and look below a mask", "locked mounts",
	 PROOF_SECRET, "both", "--nested", .play = nested_bind},
	{"P30r", "nested: remount read-write", "locked mounts", PROOF_HOST,
	 "both", "--nested", .play = nested_remount},
	{"P31", "nested: an overlay over a masked folder", "kernel",
	 PROOF_SECRET, "both", "--nested", .play = nested_overlay},
	{"M05", "nested: a copy of the mount below a mask", "locked mounts",
	 PROOF_SECRET, "both", "--nested", .play = nested_open_tree},
	{"M06", "nested: a mount beneath a mask", "locked mounts", PROOF_SECRET,
	 "both", "--nested", .play = nested_beneath},
	{"M07", "nested: clear a mount's attributes", "locked mounts",
	 PROOF_HOST, "both", "--nested", .play = nested_attributes},
	{"M04", "nested: umount the layers", "locked mounts", PROOF_HOST,
	 "both", "--nested MOUNTED",
	 .shell = "(cd / && umount -l ~/project && echo x >>~/project/README) "
		  "|| unshare -Urm sh -c 'cd /; umount -l ~/project && "
		  "echo x >>~/project/README'"},
	{"P32", "nested: a sandbox inside works", "-", PROOF_WORKS, "user",
	 "--nested", .shell = "unshare -Urmpf --mount-proc true"},
	/* A /proc of root would contain all settings of the machine. */
	{"P32r", "nested: a sandbox of root's inside works", "-", PROOF_WORKS,
	 "root", "--nested", .shell = "unshare -Urmipf true"},
	{"P69n", "nested: a /proc of its own for uid 0", "closed /proc",
	 PROOF_CLAIM, "root", "--nested",
	 .shell = "unshare -Urmpf --mount-proc "
		  "sh -c ': >>/proc/sys/kernel/core_pattern'"},
	{"P32b", "nested: bubblewrap inside works", "-", PROOF_WORKS, "user",
	 "--nested",
	 .shell = "command -v bwrap >/dev/null || "
		  "{ echo bwrap is not installed; exit 77; }; "
		  "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all "
		  "true"},
	{"P35", "the working folder is inside", "mounts", PROOF_WORKS,
	 .shell = "test \"$(/bin/pwd)\" = \"$HOME/project\" && "
		  "! ls -l /proc/self/cwd | grep -q unreachable"},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
