/*
 * All ways to change a file or a directory outside, call by call: a gap in the
 * protection against one of them is not closed by the others. Each attack tries
 * all calls of its kind and prints the first that worked.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "tests/hostile/attack.h"

#define FOLDER "/srv/service"
#define OWN FOLDER "/own"
#define NEW FOLDER "/hostile"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

struct way {
	const char *name;
	long (*go)(void);
};

/* Restores the target for the next attempt. */
static void put_back(void)
{
	if (access(OWN, F_OK) < 0)
		(void)rename(NEW, OWN);
	(void)remove(NEW);
}

/* Tries all of them, so that the bare run shows which of them work at all. */
static int try_all(const struct way *ways)
{
	char good[512] = "", bad[512] = "";
	int num = 0, count = 0;

	for (; ways->name; ways++) {
		char *to = bad;

		if (ways->go() >= 0) {
			to = good;
			count++;
			put_back();
		} else {
			num = errno;
		}
		(void)snprintf(to + strlen(to), sizeof(good) - strlen(to),
			       "%s, ", ways->name);
	}
	if (count)
		return tell(WORKED, "not %s%d by %s", bad, count, good);
	return tell(HELD, "none: %s", strerror(num));
}

static int folder(void)
{
	return open(FOLDER, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- opening for writing ---- */

static long by_open(void)
{
	return open(OWN, O_WRONLY | O_CLOEXEC);
}

static long by_creat(void)
{
	return creat(OWN, 0600);
}

static long by_openat2(void)
{
	struct open_how how = {.flags = O_RDWR | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH};

	return syscall(SYS_openat2, folder(), "own", &how, sizeof(how));
}

static long by_descriptor(void)
{
	char path[64];
	int fd = open(OWN, O_PATH | O_CLOEXEC);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static long by_dev_fd(void)
{
	char path[64];
	int fd = open(OWN, O_RDONLY | O_CLOEXEC);

	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static long by_root(void)
{
	return open("/proc/self/root" OWN, O_WRONLY | O_CLOEXEC);
}

static long by_thread(void)
{
	return open("/proc/thread-self/root" OWN, O_WRONLY | O_CLOEXEC);
}

static long by_cwd(void)
{
	int before = open(".", O_PATH | O_CLOEXEC);
	long rc = -1;

	if (chdir(FOLDER) == 0)
		rc = open("/proc/self/cwd/own", O_WRONLY | O_CLOEXEC);
	(void)!fchdir(before);
	return rc;
}

static long by_tmpfile(void)
{
	return open(FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int writers(void)
{
	static const struct way ways[] = {
		{"open", by_open},
		{"openat2", by_openat2},
		{"/proc/self/fd of O_PATH", by_descriptor},
		{"/dev/fd", by_dev_fd},
		{"/proc/self/root", by_root},
		{"/proc/thread-self/root", by_thread},
		{"/proc/self/cwd", by_cwd},
		{"O_TMPFILE", by_tmpfile},
		{"creat", by_creat},
		{0},
	};

	return try_all(ways);
}

/* ---- names ---- */

static long by_mkdir(void)
{
	return mkdir(NEW, 0700);
}

static long by_mkfifo(void)
{
	return mkfifo(NEW, 0600);
}

static long by_symlink(void)
{
	return symlinkat("/", folder(), "hostile");
}

static long by_link(void)
{
	return link(OWN, NEW);
}

/* A file of the run's own gets a name outside. */
static long by_link_of_descriptor(void)
{
	char path[64];
	int fd = open("/srv", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, NEW, AT_SYMLINK_FOLLOW);
}

static long by_rename(void)
{
	return renameat2(AT_FDCWD, OWN, AT_FDCWD, NEW, RENAME_NOREPLACE);
}

static long by_exchange(void)
{
	return renameat2(AT_FDCWD, OWN, AT_FDCWD, FOLDER "/open",
			 RENAME_EXCHANGE);
}

static long by_whiteout(void)
{
	return renameat2(AT_FDCWD, OWN, AT_FDCWD, NEW, RENAME_WHITEOUT);
}

static long by_unlink(void)
{
	return unlinkat(folder(), "own", 0);
}

static long by_rmdir(void)
{
	return rmdir("/srv/elsewhere");
}

static long by_socket(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = NEW};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

static int namers(void)
{
	static const struct way ways[] = {
		{"mkdir", by_mkdir},
		{"mkfifo", by_mkfifo},
		{"symlink", by_symlink},
		{"link", by_link},
		{"link of a descriptor", by_link_of_descriptor},
		{"bind of a socket", by_socket},
		{"rename", by_rename},
		{"exchange", by_exchange},
		{"rename with a whiteout", by_whiteout},
		{"rmdir", by_rmdir},
		{"unlink", by_unlink},
		{0},
	};

	return try_all(ways);
}

static int reader(void)
{
	return open(OWN, O_RDONLY | O_CLOEXEC);
}

/* ---- the other data of an inode ---- */

static long by_fchmod(void)
{
	return fchmod(reader(), 0777);
}

static long by_fchmodat2(void)
{
	return syscall(SYS_fchmodat2, AT_FDCWD, OWN, 0777, 0);
}

static long by_chmod_of_descriptor(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", reader());
	return chmod(path, 0777);
}

static long by_futimens(void)
{
	return futimens(reader(), NULL);
}

static long by_fchownat(void)
{
	return fchownat(reader(), "", getuid(), getgid(), AT_EMPTY_PATH);
}

static long by_fsetxattr(void)
{
	return fsetxattr(reader(), "user.hostile", "x", 1, 0);
}

static long by_setxattrat(void)
{
	struct {
		unsigned long long value;
		unsigned int size, flags;
	} args = {(unsigned long long)(unsigned long)"x", 1, 0};

	return syscall(SYS_setxattrat, AT_FDCWD, OWN, 0, "user.hostile", &args,
		       sizeof(args));
}

static long by_acl(void)
{
	/* version 2: the owner, the group, all others */
	static const unsigned char acl[] = {
		2,    0,    0, 0, 1,	0,    7,    0,	  0xff, 0xff,
		0xff, 0xff, 4, 0, 7,	0,    0xff, 0xff, 0xff, 0xff,
		0x20, 0,    7, 0, 0xff, 0xff, 0xff, 0xff};

	return setxattr(OWN, "system.posix_acl_access", acl, sizeof(acl), 0);
}

static long by_file_setattr(void)
{
	unsigned long long attr[3] = {0x40 /* no dump */};

	return syscall(SYS_file_setattr, AT_FDCWD, OWN, attr, sizeof(attr), 0);
}

static int inodes(void)
{
	static const struct way ways[] = {
		{"fchmod", by_fchmod},
		{"fchmodat2", by_fchmodat2},
		{"chmod of /proc/self/fd", by_chmod_of_descriptor},
		{"futimens", by_futimens},
		{"fchownat", by_fchownat},
		{"fsetxattr", by_fsetxattr},
		{"setxattrat", by_setxattrat},
		{"an ACL", by_acl},
		{"file_setattr", by_file_setattr},
		{0},
	};

	return try_all(ways);
}

/* ---- through another user's process ---- */

static int through_victim(void)
{
	static const char *const names[] = {"root" OWN, "cwd/README", NULL};
	char path[128];
	size_t i;

	for (i = 0; names[i]; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%s/%s",
			       getenv("VICTIM_PID"), names[i]);
		if (open(path, O_WRONLY | O_CLOEXEC) >= 0)
			return tell(WORKED, "%s", path);
	}
	return verdict(-1, path);
}

static const struct attack table[] = {
	{"W01", "open a file outside for writing, by every way",
	 "read-only root", PROOF_CLAIM, .play = writers},
	{"W02", "make, move, remove names outside, by every call",
	 "read-only root", PROOF_CLAIM, .play = namers},
	{"W03", "mode, times, owner, attributes, by every call",
	 "read-only root", PROOF_CLAIM, .play = inodes},
	{"W04", "write through the folders of a process outside",
	 "PID namespace", PROOF_CLAIM, .play = through_victim},
	{0},
};

int main(int argc, char **argv)
{
	return attack_main(table, argc, argv);
}
