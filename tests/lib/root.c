/*
 * A throw-away root for one test: the only place where a destructive command of
 * the tests may run.
 *
 *	root [--as root|user] [--timeout SECONDS] [--images IMAGES] \
 *		[--network yes] [--fuse yes] [--team yes] \
 *		CHECKOUT DIR -- CMD ARGS
 *
 * Makes DIR/root.XXXXXX on disk and runs CMD in namespaces of its own (user,
 * mount, pid, ipc, uts, net) with that directory as "/" by pivot_root:
 *
 *	/usr /bin /sbin /lib* /etc /sys	the machine's, read-only
 *	/opt/guard			CHECKOUT, read-only
 *	/proc /dev /dev/pts		fresh
 *	/sys/fs/cgroup			as root: groups of its own, as far as
 *					the machine has any (v1 and v2)
 *	/home/tester /root /tmp /var ..	new and empty, on DIR's disk
 *	/images				IMAGES with all of its mounts, or empty
 *	/small				a tmpfs that tests may fill: 160 MB,
 *					20,000 inodes
 *	/run/user/UID /srv		the user's own
 *
 * --network adds the network of tests/lib/network and /dev/net/tun. The pids of
 * its processes are in GUARD_TEST_NETWORK="PID PID", which is empty where such
 * a network cannot be made. --fuse adds /dev/fuse. --team, where the caller is
 * root, adds the plain user to a second group "team" (1001), to which /srv/team
 * belongs: root's file "notes" there is readable for the group, root's
 * directory "theirs" is writable. /srv/web, which all may write, gives its
 * entries the group "web" (1003), in which the plain user is not.
 *
 * No other file of the machine has a name in the root. Root maps every id, so
 * that "--as user" can become uid 1000; a plain user keeps its ids.
 *
 * The environment of CMD has GUARD_TEST_ROOT=1 and the mount namespace and root
 * directory of the machine in GUARD_TEST_OUTSIDE="NS DEV:INO"; the file
 * /.guard-test-root contains the same line. A test compares them.
 *
 * The status is that of CMD; 99 if this program failed, 98 if processes were
 * left (named on stderr), 97 after the time limit. The root is always removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STATUS_TIMEOUT = 97,
	STATUS_LEFT = 98,
	STATUS_FAILED = 99,
	PLAIN_ID = 1000,
	TEAM_ID = 1001,
	WEB_ID = 1003,
	CGROUP2_MAGIC = 0x63677270,
	OVERLAY_MAGIC = 0x794c7630,
	TMPFS_MAGIC = 0x01021994
};

#define SMALL_BYTES "160m"
#define SMALL_INODES "20000"

struct job {
	const char *checkout, *images;
	char root[PATH_MAX]; /* absolute, outside */
	char outside[128];
	bool privileged; /* the caller is root */
	bool as_user;
	char **argv;
	bool network, fuse, team;
	/* Nodes, outside; "": none was made. */
	char tun[PATH_MAX], fuse_node[PATH_MAX];
	pid_t peers[2];
	int go_fd; /* a byte comes when the ids are mapped */
};

static volatile sig_atomic_t stop_signal;
static bool in_cgroups;
static unsigned joined; /* bits of controllers */

static void die(const char *format, ...) __attribute__((format(printf, 1, 2)))
__attribute__((noreturn));

static void die(const char *format, ...)
{
	int saved = errno;
	va_list ap;

	fprintf(stderr, "root: ");
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(saved));
	_exit(STATUS_FAILED);
}

/* Removing ------------------------------------------------------------- */

static void remove_tree(int dirfd, const char *name, dev_t dev);

static void remove_entries(int fd, dev_t dev)
{
	int copy = dup(fd);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!dir)
		die("open a folder to empty it");
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove_tree(fd, e->d_name, dev);
	closedir(dir);
}

/* Uses descriptors only: follows no link and enters no other file system. */
static void remove_tree(int dirfd, const char *name, dev_t dev)
{
	struct stat st;
	int fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(dirfd, name, 0) < 0)
			fprintf(stderr, "root: cannot remove %s: %s\n", name,
				strerror(errno));
		return;
	}
	if (st.st_dev != dev)
		return;
	fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0) {
		char proc[64];
		int readable;

		/* overlayfs's work directory has mode 000; tests chmod too. */
		(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
		(void)chmod(proc, 0700);
		readable = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (readable >= 0) {
			remove_entries(readable, dev);
			close(readable);
		}
		close(fd);
	}
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
		fprintf(stderr, "root: cannot remove %s: %s\n", name,
			strerror(errno));
}

static void remove_root(const struct job *job)
{
	struct stat st;

	if (lstat(job->root, &st) == 0 && S_ISDIR(st.st_mode))
		remove_tree(AT_FDCWD, job->root, st.st_dev);
}

/* Inside --------------------------------------------------------------- */

static void make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		die("mkdir %s", path);
	if (chmod(path, mode) < 0)
		die("chmod %s", path);
}

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("write %s", path);
	close(fd);
}

/* A detached copy of the mounts at `from`. */
static int clone_mounts(const char *from, bool read_only)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};
	int fd = syscall(SYS_open_tree, AT_FDCWD, from,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (fd < 0)
		die("open_tree %s", from);
	if (read_only)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
		    &attr, sizeof(attr)) < 0)
		die("mount_setattr %s", from);
	return fd;
}

static void attach(int fd, const char *to)
{
	if (syscall(SYS_move_mount, fd, "", AT_FDCWD, to,
		    MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die("move_mount %s", to);
	close(fd);
}

/* Binds `from` with all that is mounted in it; read-only when asked. */
static void bind_at(const char *from, const char *to, bool read_only)
{
	attach(clone_mounts(from, read_only), to);
}

/* mount(2) by number: <sys/mount.h> and <linux/mount.h> do not agree. */
static void mount_new(const char *type, const char *to, unsigned long flags,
		      const char *options)
{
	if (syscall(SYS_mount, type, to, type, flags, options) < 0)
		die("mount %s on %s", type, to);
}

/* Adds a directory of the machine: a link is copied, a directory bound. */
static void take_over(const char *name)
{
	char target[PATH_MAX], to[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (lstat(name, &st) < 0)
		return;
	(void)snprintf(to, sizeof(to), ".%s", name);
	if (S_ISLNK(st.st_mode)) {
		len = readlink(name, target, sizeof(target) - 1);
		if (len < 0)
			die("readlink %s", name);
		target[len] = 0;
		if (symlink(target, to) < 0)
			die("symlink %s", to);
		return;
	}
	make_dir(to, 0755);
	bind_at(name, to, true);
}

static void make_dev(const struct job *job)
{
	static const char *const nodes[] = {"null",   "zero",	 "full",
					    "random", "urandom", "tty"};
	char from[64], to[64];
	size_t i;

	make_dir("dev", 0755);
	mount_new("tmpfs", "dev", 2 /* nosuid */, "mode=0755,size=16m");
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		(void)snprintf(from, sizeof(from), "/dev/%s", nodes[i]);
		(void)snprintf(to, sizeof(to), "dev/%s", nodes[i]);
		if (access(from, F_OK) < 0)
			continue;
		make_file(to, "");
		bind_at(from, to, false);
	}
	make_dir("dev/pts", 0755);
	mount_new("devpts", "dev/pts", 2,
		  job->privileged ? "newinstance,ptmxmode=0666,mode=0620,gid=5"
				  : "newinstance,ptmxmode=0666,mode=0620");
	make_dir("dev/shm", 01777);
	if (symlink("pts/ptmx", "dev/ptmx") < 0 ||
	    symlink("/proc/self/fd", "dev/fd") < 0 ||
	    symlink("fd/0", "dev/stdin") < 0 ||
	    symlink("fd/1", "dev/stdout") < 0 ||
	    symlink("fd/2", "dev/stderr") < 0)
		die("links in /dev");
}

/* Root makes a node that every user may open, as udev does; otherwise it is the
 * machine's node. */
static void add_tun(const struct job *job)
{
	make_dir("dev/net", 0755);
	make_file("dev/net/tun", "");
	if (*job->tun)
		bind_at(job->tun, "dev/net/tun", false);
	else if (access("/dev/net/tun", F_OK) == 0)
		bind_at("/dev/net/tun", "dev/net/tun", false);
}

static void add_fuse(const struct job *job)
{
	make_file("dev/fuse", "");
	if (*job->fuse_node)
		bind_at(job->fuse_node, "dev/fuse", false);
	else if (access("/dev/fuse", F_OK) == 0)
		bind_at("/dev/fuse", "dev/fuse", false);
}

/* The machine's /etc with users of our own. */
static void make_etc(const struct job *job)
{
	char text[256];
	unsigned uid = job->privileged ? PLAIN_ID : getuid();
	unsigned gid = job->privileged ? PLAIN_ID : getgid();

	take_over("/etc");
	make_dir("opt", 0755);
	(void)snprintf(text, sizeof(text),
		       "root:x:0:0:root:/root:/bin/sh\n"
		       "tester:x:%u:%u:tester:/home/tester:/bin/sh\n"
		       "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		       uid, gid);
	make_file("opt/passwd", text);
	(void)snprintf(text, sizeof(text),
		       "root:x:0:\ntty:x:5:\ntester:x:%u:\nteam:x:%u:tester\n"
		       "web:x:%u:\nnogroup:x:65534:\n",
		       gid, TEAM_ID, WEB_ID);
	make_file("opt/group", text);
	bind_at("opt/passwd", "etc/passwd", true);
	bind_at("opt/group", "etc/group", true);
	if (!job->network || access("/etc/resolv.conf", F_OK) < 0)
		return;
	make_file("opt/resolv.conf",
		  "search example.test\nnameserver 127.0.0.53\n");
	bind_at("opt/resolv.conf", "etc/resolv.conf", true);
}

static void make_homes(const struct job *job)
{
	unsigned int id = !job->as_user	    ? 0
			  : job->privileged ? PLAIN_ID
					    : getuid();
	char runtime[64];

	make_dir("home", 0755);
	make_dir("home/tester", 0755);
	make_dir("root", 0700);
	make_dir("tmp", 01777);
	make_dir("run", 0755);
	make_dir("mnt", 0755);
	make_dir("srv", 0755);
	make_dir("var", 0755);
	make_dir("var/tmp", 01777);
	make_dir("var/lib", 0755);
	make_dir("small", 01777);
	mount_new("tmpfs", "small", 2,
		  "mode=1777,size=" SMALL_BYTES ",nr_inodes=" SMALL_INODES);
	if (job->team) {
		make_dir("srv/team", 02770);
		make_dir("srv/team/theirs", 02770);
		make_file("srv/team/notes", "of the team\n");
		make_file("srv/team/theirs/plan", "of all\n");
		if (job->privileged &&
		    (chown("srv/team", 0, TEAM_ID) < 0 ||
		     chown("srv/team/notes", 0, TEAM_ID) < 0 ||
		     chown("srv/team/theirs", 0, TEAM_ID) < 0 ||
		     chown("srv/team/theirs/plan", 0, TEAM_ID) < 0 ||
		     chmod("srv/team", 02770) < 0 ||
		     chmod("srv/team/theirs", 02770) < 0 ||
		     chmod("srv/team/theirs/plan", 0660) < 0 ||
		     chmod("srv/team/notes", 0640) < 0))
			die("give the team its folder");
		make_dir("srv/web", 02777);
		if (job->privileged && (chown("srv/web", 0, WEB_ID) < 0 ||
					chmod("srv/web", 02777) < 0))
			die("give the web server its folder");
	}
	make_dir("run/user", 0755);
	(void)snprintf(runtime, sizeof(runtime), "run/user/%u", id);
	make_dir(runtime, 0700);
	if (!job->privileged)
		return;
	if (chown("home/tester", PLAIN_ID, PLAIN_ID) < 0 ||
	    chown(runtime, id, id) < 0 || chown("srv", id, id) < 0)
		die("chown what is the user's");
}

/*
 * Control groups, as root: one of our own in each of these hierarchies (v1) or
 * with each of these controllers (v2), which is all that is seen of them
 * inside.
 */
static const char *const controllers[] = {"memory", "cpu", "pids"};
enum {
	CONTROLLERS = sizeof(controllers) / sizeof(controllers[0]),
	JOINED_V2 = 1 << CONTROLLERS
};

/* This process's group in the hierarchy of that name; "": in that of v2. */
static bool cgroup_path(const char *top, const char *name, char path[PATH_MAX])
{
	char line[PATH_MAX], pattern[32];
	bool found = false;
	FILE *f = fopen("/proc/self/cgroup", "re");

	(void)snprintf(pattern, sizeof(pattern), ":%s:", name);
	while (f && !found && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, pattern);

		line[strcspn(line, "\n")] = 0;
		if (at && (size_t)snprintf(path, PATH_MAX, "%s%s", top,
					   at + strlen(pattern)) < PATH_MAX)
			found = access(path, W_OK) == 0;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static bool write_at(const char *folder, const char *name, const char *text)
{
	char path[2 * PATH_MAX];
	bool done;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) > 0;
	if (fd >= 0)
		close(fd);
	return done;
}

/* Removes a group, with the groups that tests left in it. */
static void remove_cgroup(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			(void)unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	if (dir)
		(void)closedir(dir);
	(void)rmdir(path);
}

/* Finds a group whose children have all controllers: in v2 only a group without
 * processes of its own can be one. */
static bool share_controllers(const char *path)
{
	int i;

	for (i = 0; i < CONTROLLERS; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "+%s", controllers[i]);
		if (!write_at(path, "cgroup.subtree_control", text))
			return false;
	}
	return true;
}

/* The nearest ancestor group that can contain a group of the tests. */
static bool v2_parent(char path[PATH_MAX])
{
	static const char top[] = "/sys/fs/cgroup";
	struct statfs fs;

	if (statfs(top, &fs) < 0 || fs.f_type != CGROUP2_MAGIC ||
	    !cgroup_path(top, "", path))
		return false;
	while (!share_controllers(path)) {
		char *slash = strrchr(path, '/');

		if (!slash || (size_t)(slash - path) < strlen(top))
			return false;
		*slash = 0;
	}
	return true;
}

static void use_cgroup_at(const char *path, pid_t pid, unsigned bit)
{
	char own[PATH_MAX + 64], text[32];

	(void)snprintf(own, sizeof(own), "%s/root-%d", path, getpid());
	(void)snprintf(text, sizeof(text), "%d", pid);
	if (pid < 0)
		remove_cgroup(own);
	else if (mkdir(own, 0755) == 0 && write_at(own, "cgroup.procs", text))
		joined |= bit;
}

/* Called before the namespaces: moves pid into the groups; -1: removes them. */
static void use_cgroups(pid_t pid)
{
	char path[PATH_MAX], top[64];
	int i;

	if (v2_parent(path)) {
		use_cgroup_at(path, pid, JOINED_V2);
		return;
	}
	for (i = 0; i < CONTROLLERS; i++) {
		(void)snprintf(top, sizeof(top), "/sys/fs/cgroup/%s",
			       controllers[i]);
		if (cgroup_path(top, controllers[i], path))
			use_cgroup_at(path, pid, 1U << i);
	}
}

/* The topmost group has the controllers, the tests are in a child of it. */
static void mount_cgroup_v2(void)
{
	/* The machine's mount is there: a second one on the same place is
	 * refused. */
	mount_new("tmpfs", "sys/fs/cgroup", 14, "mode=0755,size=64k");
	mount_new("cgroup2", "sys/fs/cgroup", 14, NULL);
	make_dir("sys/fs/cgroup/tests", 0755);
	if (!write_at("sys/fs/cgroup/tests", "cgroup.procs", "0") ||
	    !share_controllers("sys/fs/cgroup"))
		die("a control group of our own");
}

static void mount_cgroups(void)
{
	char path[64], line[PATH_MAX], own[64];
	int i;

	if (!in_cgroups)
		return;
	if (joined & JOINED_V2) {
		mount_cgroup_v2();
		return;
	}
	mount_new("tmpfs", "sys/fs/cgroup", 14, "mode=0755,size=64k");
	for (i = 0; i < CONTROLLERS; i++) {
		FILE *f = fopen("/proc/self/cgroup", "re");
		bool ours = false;

		(void)snprintf(own, sizeof(own), ":%s:/\n", controllers[i]);
		while (f && fgets(line, sizeof(line), f))
			ours = ours || strstr(line, own);
		if (f)
			(void)fclose(f);
		(void)snprintf(path, sizeof(path), "sys/fs/cgroup/%s",
			       controllers[i]);
		/* The machine's hierarchy stays out if no group could be made
		 * in it. */
		if (ours && (joined & 1U << i)) {
			make_dir(path, 0755);
			mount_new("cgroup", path, 14, controllers[i]);
		}
	}
}

static void pivot(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		die("pivot_root");
	/* The old root lies on top of the new one: take it off. */
	if (syscall(SYS_umount2, ".", 2 /* MNT_DETACH */) < 0)
		die("umount of the machine's root");
	if (chdir("/") < 0)
		die("chdir /");
}

static void build_root(const struct job *job)
{
	static const char *const system_dirs[] = {"/usr",    "/bin",   "/sbin",
						  "/lib",    "/lib32", "/lib64",
						  "/libx32", "/sys"};
	struct mount_attr attr = {.propagation = 1 << 18 /* MS_PRIVATE */};
	struct statfs fs;
	int checkout_fd, images_fd = -1;
	size_t i;

	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr,
		    sizeof(attr)) < 0)
		die("make the mounts private");
	/* Cloned before the new root, which lies in it, has mounts of its own.
	 */
	checkout_fd = clone_mounts(job->checkout, true);
	if (job->images)
		images_fd = clone_mounts(job->images, false);
	/* An overlay cannot contain a layer of another one; a tmpfs can, if the
	 * kernel has user xattrs on tmpfs (6.6). */
	if (statfs(job->root, &fs) == 0 && fs.f_type == OVERLAY_MAGIC)
		mount_new("tmpfs", job->root, 2, "mode=0755,size=2g");
	else
		bind_at(job->root, job->root, false);
	if (chdir(job->root) < 0)
		die("chdir %s", job->root);
	for (i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
		take_over(system_dirs[i]);
	make_etc(job);
	make_dev(job);
	if (job->network)
		add_tun(job);
	if (job->fuse)
		add_fuse(job);
	mount_cgroups();
	make_homes(job);
	make_dir("proc", 0555);
	mount_new("proc", "proc", 2 | 4 | 8 /* nosuid nodev noexec */, NULL);
	make_dir("opt/guard", 0755);
	attach(checkout_fd, "opt/guard");
	make_dir("images", 0755);
	if (images_fd >= 0)
		attach(images_fd, "images");
	make_file(".guard-test-root", job->outside);
	if (chmod(".", 0755) < 0)
		die("chmod of the root");
	pivot();
}

/* The root must not be the machine's, or a test could destroy that. */
static void check_inside(const struct job *job)
{
	char ns[64], now[256];
	struct stat st;
	ssize_t len = readlink("/proc/self/ns/mnt", ns, sizeof(ns) - 1);

	if (len < 0 || stat("/", &st) < 0)
		die("look at the new root");
	ns[len] = 0;
	(void)snprintf(now, sizeof(now), "%s %ju:%ju", ns, (uintmax_t)st.st_dev,
		       (uintmax_t)st.st_ino);
	errno = EPERM;
	if (!strncmp(now, job->outside, strcspn(job->outside, " ")))
		die("still in the machine's mount namespace");
	if (!strcmp(strchr(now, ' '), strchr(job->outside, ' ')))
		die("still on the machine's root");
}

static void loopback_up(void)
{
	struct ifreq ifr = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	memcpy(ifr.ifr_name, "lo", 3);
	(void)ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
}

static void become(const struct job *job)
{
	gid_t team = TEAM_ID;

	if (job->privileged && job->as_user &&
	    (setgroups(job->team, &team) < 0 ||
	     setresgid(PLAIN_ID, PLAIN_ID, PLAIN_ID) ||
	     setresuid(PLAIN_ID, PLAIN_ID, PLAIN_ID)))
		die("become the plain user");
}

/* The executed program keeps the capabilities of its namespaces. */
static void keep_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	int cap;

	if (syscall(SYS_capget, &head, sets) < 0)
		die("capget");
	sets[0].inheritable = sets[0].permitted;
	sets[1].inheritable = sets[1].permitted;
	if (syscall(SYS_capset, &head, sets) < 0)
		die("capset");
	for (cap = 0; cap < 40; cap++)
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
}

/* The first line means that the process listens. */
static pid_t start_peer(const char *role)
{
	static char path[] = "/opt/guard/build/tests/lib/netpeer";
	int answer[2];
	char byte;
	pid_t pid;

	if (pipe(answer) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		(void)dup2(answer[1], 1);
		(void)close(answer[0]);
		(void)close(answer[1]);
		keep_capabilities();
		(void)execl(path, path, role, (char *)NULL);
		_exit(STATUS_FAILED);
	}
	(void)close(answer[1]);
	if (pid > 0 && read(answer[0], &byte, 1) != 1) {
		(void)kill(pid, SIGKILL);
		pid = 0;
	}
	(void)close(answer[0]);
	return pid;
}

static void end_network(struct job *job)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (job->peers[i] > 0 && kill(job->peers[i], SIGKILL) == 0)
			(void)waitpid(job->peers[i], NULL, 0);
		job->peers[i] = 0;
	}
}

static void make_network(struct job *job)
{
	static char path[] = "/opt/guard/tests/lib/network";
	char number[16];
	int status = 1;
	pid_t pid;

	job->peers[0] = start_peer("outside");
	job->peers[1] = start_peer("stub");
	(void)snprintf(number, sizeof(number), "%d", (int)job->peers[0]);
	pid = fork();
	if (pid == 0) {
		(void)setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
		keep_capabilities();
		(void)execl(path, path, number, (char *)NULL);
		_exit(STATUS_FAILED);
	}
	(void)waitpid(pid, &status, 0);
	job->network = status == 0 && job->peers[0] > 0 && job->peers[1] > 0;
	/* The test would find processes that it does not know. */
	if (!job->network)
		end_network(job);
}

/* No signal is ignored or blocked, as in a program started at a terminal; a
 * shell's "&" ignores SIGINT. */
static void reset_signals(void)
{
	sigset_t none;
	int number;

	for (number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_command(const struct job *job)
{
	static char path[] = "PATH=/opt/guard/build:/usr/local/sbin:/usr/local/"
			     "bin:/usr/sbin:/usr/bin:/sbin:/bin";
	const char *home = job->as_user ? "/home/tester" : "/root";
	const char *keep[] = {"ASAN_OPTIONS",  "UBSAN_OPTIONS",
			      "TERM",	       "CI",
			      "TEST_VERBOSE",  "MODEL_SEED",
			      "MODEL_SECONDS", "CRASH_SEED",
			      "SEQUENCE_SEED", "SEQUENCE_COUNT",
			      "CRASH_CALLS"};
	char *env[28], text[15][512];
	size_t i, count = 0, used = 0;

	env[count++] = path;
	(void)snprintf(text[used], 512, "HOME=%s", home);
	env[count++] = text[used++];
	(void)snprintf(text[used], 512, "USER=%s",
		       job->as_user ? "tester" : "root");
	env[count++] = text[used++];
	(void)snprintf(text[used], 512, "GUARD_TEST_OUTSIDE=%s", job->outside);
	env[count++] = text[used++];
	if (job->network) {
		(void)snprintf(text[used], 512, "GUARD_TEST_NETWORK=%d %d",
			       job->peers[0], job->peers[1]);
		env[count++] = text[used++];
	}
	env[count++] = (char[]){"GUARD_TEST_ROOT=1"};
	env[count++] = (char[]){"LC_ALL=C.UTF-8"};
	env[count++] = (char[]){"CMOCKA_MESSAGE_OUTPUT=TAP"};
	for (i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
		const char *value = getenv(keep[i]);

		if (!value || used == sizeof(text) / sizeof(text[0]))
			continue;
		(void)snprintf(text[used], 512, "%s=%s", keep[i], value);
		env[count++] = text[used++];
	}
	env[count] = NULL;
	umask(022);
	become(job);
	if (chdir(home) < 0)
		die("chdir %s", home);
	environ = env;
	reset_signals();
	execvp(job->argv[0], job->argv);
	die("exec %s", job->argv[0]);
}

/* Whether a process has ended, or is just about to, with all its threads:
 * PF_EXITING among its flags. */
static bool has_ended(long pid)
{
	char path[64], text[1024], state, *end;
	unsigned int flags;
	int threads;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	(void)fclose(f);
	end = strrchr(text, ')');
	return !end ||
	       (sscanf(end + 1,
		       " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u "
		       "%*d %*d %*d %*d %d",
		       &state, &flags, &threads) == 3 &&
		threads <= 1 && (state == 'Z' || flags & 4));
}

/* Whether a process ends by itself in this many milliseconds: one whose
 * parent has just ended may not have had its turn yet on a busy machine. */
static bool ends_soon(long pid, int ms)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	bool ends;

	if (fd < 0)
		return errno == ESRCH;
	ends = poll(&ended, 1, ms) > 0;
	close(fd);
	return ends;
}

static bool report_left(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	bool left = false;

	if (!dir)
		die("open /proc");
	while ((e = readdir(dir))) {
		char path[300], line[256] = "";
		long pid = strtol(e->d_name, NULL, 10);
		ssize_t len, i;
		int fd;

		if (pid <= 1)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		if (fd >= 0)
			close(fd);
		if (len < 0 || has_ended(pid) || ends_soon(pid, 1000))
			continue;
		for (i = 0; i < len - 1; i++)
			if (!line[i])
				line[i] = ' ';
		fprintf(stderr, "root: process %ld was left: %s\n", pid, line);
		left = true;
	}
	closedir(dir);
	return left;
}

/* pid 1 of the namespaces: builds, runs, reaps, looks for leftovers. */
static int inside(struct job *job)
{
	int status = 0;
	pid_t pid, done;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(job->go_fd, &c, 1) != 1)
		_exit(STATUS_FAILED);
	close(job->go_fd);
	joined = (unsigned char)c;
	in_cgroups = joined && unshare(CLONE_NEWCGROUP) == 0;
	if (job->privileged && (setresgid(0, 0, 0) || setresuid(0, 0, 0)))
		die("become root of the namespace");
	/* A change of ids makes a process undumpable and clears this signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	umask(0);
	build_root(job);
	check_inside(job);
	loopback_up();
	if (job->network)
		make_network(job);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		run_command(job);
	do {
		done = wait(&status);
	} while (done != pid && (done >= 0 || errno == EINTR));
	end_network(job);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (report_left())
		return STATUS_LEFT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Outside -------------------------------------------------------------- */

static void write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("write %s", path);
	close(fd);
}

static void map_ids(const struct job *job, pid_t pid)
{
	char text[64];

	if (job->privileged) {
		write_proc(pid, "uid_map", "0 0 4294967295");
		write_proc(pid, "gid_map", "0 0 4294967295");
		return;
	}
	write_proc(pid, "setgroups", "deny");
	(void)snprintf(text, sizeof(text), "%u %u 1", getuid(), getuid());
	write_proc(pid, "uid_map", text);
	(void)snprintf(text, sizeof(text), "%u %u 1", getgid(), getgid());
	write_proc(pid, "gid_map", text);
}

static void on_signal(int number)
{
	stop_signal = number;
}

static int supervise(pid_t pid, int timeout)
{
	struct sigaction act = {.sa_handler = on_signal};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
	int status;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	(void)alarm(timeout);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("wait");
		if (stop_signal)
			kill(pid, SIGKILL);
	}
	if (stop_signal == SIGALRM) {
		fprintf(stderr, "root: ended after %d s\n", timeout);
		return STATUS_TIMEOUT;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
}

static void remember_outside(struct job *job)
{
	char ns[64];
	struct stat st;
	ssize_t len = readlink("/proc/self/ns/mnt", ns, sizeof(ns) - 1);

	if (len < 0 || stat("/", &st) < 0)
		die("look at the machine's root");
	ns[len] = 0;
	(void)snprintf(job->outside, sizeof(job->outside), "%s %ju:%ju", ns,
		       (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
}

static int usage(void)
{
	fprintf(stderr, "usage: root [--as root|user] [--timeout SECONDS] "
			"[--images DIR] [--network yes] [--fuse yes] "
			"[--team yes] CHECKOUT FOLDER -- CMD "
			"[ARGS]\n");
	return STATUS_FAILED;
}

static int run(struct job *job, int timeout)
{
	int go[2], status;
	char byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		die("pipe");
	pid = syscall(SYS_clone,
		      SIGCHLD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET,
		      NULL, NULL, NULL, NULL);
	if (pid < 0) {
		fprintf(stderr,
			"root: no namespaces for the throw-away root: "
			"%s (are user namespaces switched off?)\n",
			strerror(errno));
		return STATUS_FAILED;
	}
	if (!pid) {
		close(go[1]);
		job->go_fd = go[0];
		_exit(inside(job));
	}
	close(go[0]);
	if (job->privileged && !job->as_user)
		use_cgroups(pid);
	map_ids(job, pid);
	byte = (char)joined;
	if (write(go[1], &byte, 1) != 1)
		die("start the child");
	close(go[1]);
	status = supervise(pid, timeout);
	return status;
}

/* A device node that every user can open, beside the root. */
static void make_node(const struct job *job, char path[PATH_MAX],
		      const char *name, dev_t dev)
{
	(void)snprintf(path, PATH_MAX, "%.*s.%s", PATH_MAX - 8, job->root,
		       name);
	if (mknod(path, S_IFCHR | 0666, dev) < 0 || chmod(path, 0666) < 0)
		*path = 0;
}

int main(int argc, char **argv)
{
	struct job job = {.privileged = geteuid() == 0};
	int i = 1, timeout = 300, status;
	char folder[PATH_MAX], checkout[PATH_MAX];

	job.as_user = !job.privileged;
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--as"))
			job.as_user = strcmp(argv[i + 1], "root") != 0;
		else if (!strcmp(argv[i], "--timeout"))
			timeout = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--images"))
			job.images = argv[i + 1];
		else if (!strcmp(argv[i], "--network"))
			job.network = true;
		else if (!strcmp(argv[i], "--fuse"))
			job.fuse = true;
		else if (!strcmp(argv[i], "--team"))
			job.team = true;
		else
			return usage();
	}
	if (argc - i < 4 || strcmp(argv[i + 2], "--"))
		return usage();
	if (!job.as_user && !job.privileged) {
		fprintf(stderr, "root: --as root needs root\n");
		return STATUS_FAILED;
	}
	if (!realpath(argv[i], checkout) || !realpath(argv[i + 1], folder))
		die("resolve the folders");
	job.checkout = checkout;
	job.argv = argv + i + 3;
	if (snprintf(job.root, sizeof(job.root), "%s/root.XXXXXX", folder) >=
	    (int)sizeof(job.root))
		die("path too long");
	/* Hard limits of 0 hide what guard does about core dumps and about
	 * priorities. */
	if (job.privileged) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 4096});
		(void)setrlimit(RLIMIT_RTPRIO, &(struct rlimit){0, 1});
	}
	/* The test's users need access to the files made here. */
	(void)umask(022);
	remember_outside(&job);
	if (!mkdtemp(job.root))
		die("mkdtemp %s", job.root);
	/* Beside the root: every entry of the root is the test's. */
	if (job.network && job.privileged)
		make_node(&job, job.tun, "tun", makedev(10, 200));
	if (job.fuse && job.privileged)
		make_node(&job, job.fuse_node, "fuse", makedev(10, 229));
	status = run(&job, timeout);
	if (*job.tun)
		(void)unlink(job.tun);
	if (*job.fuse_node)
		(void)unlink(job.fuse_node);
	if (job.privileged && !job.as_user)
		use_cgroups(-1);
	remove_root(&job);
	return status;
}
