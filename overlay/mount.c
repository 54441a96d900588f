#include "overlay/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#define TABLE_MAX (64u << 20)

/* The remedy for the user; overlayfs reports only an errno and a log
 * message. */
static const char *mount_error_advice(int num)
{
	switch (num) {
	case ENODEV:
		return " (this kernel has no overlayfs: run modprobe overlay)";
	case EPERM:
	case EACCES:
		return " (the kernel or its AppArmor profile forbids users to "
		       "mount overlayfs, which needs Linux 5.11)";
	case ELOOP:
		return " (the directory and guard's state contain one another)";
	case EXDEV:
	case EINVAL:
		return " (a mount in the directory, or a file system that "
		       "overlayfs does not support for it or for guard's "
		       "state: see guard doctor)";
	case EOVERFLOW:
		return " (an owner or group that has no id in the run)";
	default:
		return "";
	}
}

/* Reports errno with the messages of the kernel, on one line. */
static int fail_mount_overlay(int fs_fd, const char *path, struct err *err)
{
	AUTO(buf) struct buf words = {0};
	int num = errno;
	char line[512];
	ssize_t len;

	while (fs_fd >= 0 && (len = read(fs_fd, line, sizeof(line))) > 0) {
		while (len > 0 && line[len - 1] == '\n')
			len--;
		buf_add_text(&words, words.len ? "; " : ": ");
		text_escape(&words, line, (size_t)len, false);
	}
	return fail(err, num, "mount a layer over %s: %s%s%s", text_quote(path),
		    strerror(num), buf_text(&words), mount_error_advice(num));
}

static int set_layers(int fs, const struct mount_overlay_dirs *p)
{
	struct fd_proc_path lower = fd_proc_path(p->lower_fd),
			    upper = fd_proc_path(p->upper_fd),
			    work = fd_proc_path(p->work_fd);

	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", "guard", 0) < 0)
		return -1;
	/* The option is "lowerdir", not "lowerdir+": support for the latter
	 * cannot be probed. Before Linux 6.5 this call accepts any word, and
	 * the creation fails at the end. */
	if (fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", lower.text, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", upper.text, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "workdir", work.text, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
	    (p->is_volatile &&
	     fsconfig(fs, FSCONFIG_SET_FLAG, "volatile", NULL, 0) < 0))
		return -1;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int mount_move(int mount_fd, int target_fd)
{
	return move_mount(mount_fd, "", target_fd, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_overlay(const struct mount_overlay_dirs *p, int target_fd,
		  const char *path, struct err *err)
{
	auto_close int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	auto_close int made = -1;

	if (fs < 0 && (errno == ENOSYS || errno == EPERM)) {
		auto_free char *options = mem_printf(
			"lowerdir=%s,upperdir=%s,workdir=%s,userxattr%s",
			fd_proc_path(p->lower_fd).text,
			fd_proc_path(p->upper_fd).text,
			fd_proc_path(p->work_fd).text,
			p->is_volatile ? ",volatile" : "");

		return mount("guard", fd_proc_path(target_fd).text, "overlay",
			     MS_NOSUID | MS_NODEV, options) < 0
			       ? fail_mount_overlay(-1, path, err)
			       : 0;
	}
	if (fs < 0 || set_layers(fs, p) < 0)
		return fail_mount_overlay(fs, path, err);
	made = fsmount(fs, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (made < 0 || mount_move(made, target_fd) < 0)
		return fail_mount_overlay(fs, path, err);
	return 0;
}

/* The mount id, as in mountinfo, of the mount that holds a file; 0: unknown. */
static uint64_t mount_id(int dirfd, const char *path)
{
	struct statx st;

	if (statx(dirfd, path, AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return 0;
	return st.stx_mnt_id;
}

/*
 * The mount table of this process as it was last read. guard needs it several
 * times in a row, and the kernel takes long to write it. poll(2) on the
 * descriptor reports a change of the table; another mount namespace has another
 * root mount.
 */
static struct {
	struct buf text;
	int fd; /* 0: not read yet */
	pid_t pid;
	uint64_t root;
} table;

static int read_table(struct err *err)
{
	struct pollfd changed = {.fd = table.fd, .events = POLLPRI};
	auto_close int fd = -1;

	if (table.fd > 0 && table.pid == getpid() && table.root &&
	    table.root == mount_id(AT_FDCWD, "/") && poll(&changed, 1, 0) == 0)
		return 0;
	if (table.fd > 0)
		(void)close(table.fd);
	table.fd = 0;
	buf_clear(&table.text);
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "read /proc/self/mountinfo");
	if (fd_slurp(fd, TABLE_MAX, &table.text, err) < 0)
		return err_context(err, "/proc/self/mountinfo");
	table.pid = getpid();
	table.root = mount_id(AT_FDCWD, "/");
	table.fd = TAKE_FD(fd);
	return 0;
}

int mount_list_below(int dir_fd, const char *path, char ***ret, struct err *err)
{
	uint64_t own = mount_id(dir_fd, "");
	const char *next;
	int count = 0;

	if (read_table(err) < 0)
		return -err->num;
	for (next = buf_text(&table.text); *next; next += *next == '\n') {
		size_t len = strcspn(next, "\n");
		auto_free char *line = mem_strndup(next, len);
		uint64_t parent;
		int at = 0, end = 0;

		next += len;
		/* id parent major:minor root mountpoint ... */
		if (sscanf(line, "%*u %" SCNu64 " %*s %*s %n%*s%n", &parent,
			   &at, &end) < 1 ||
		    !end)
			continue;
		line[end] = '\0';
		text_unescape_octal(line + at);
		if ((own && parent != own) || !path_below(line + at, path) ||
		    strcmp(line + at, path) == 0)
			continue;
		count += mem_list_add_once(ret, line + at);
	}
	return count;
}

int mount_detached_copy(int fd, bool read_only)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (read_only ? MOUNT_ATTR_RDONLY : 0),
	};
	unsigned int deep = read_only ? AT_RECURSIVE : 0;
	auto_close int copy = open_tree(fd, "",
					AT_EMPTY_PATH | OPEN_TREE_CLONE |
						OPEN_TREE_CLOEXEC | deep);

	if (copy < 0 || mount_setattr(copy, "", AT_EMPTY_PATH | deep, &attr,
				      sizeof(attr)) < 0)
		return -1;
	return TAKE_FD(copy);
}

int mount_bind(int from_fd, int target_fd, bool read_only, const char *path,
	       struct err *err)
{
	auto_close int fd = mount_detached_copy(from_fd, read_only);

	if (fd < 0 || mount_move(fd, target_fd) < 0)
		return fail_errno(err, "mount %s", text_quote(path));
	return 0;
}

int mount_open_dir(int root_fd, const char *path, bool make, struct err *err)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	auto_close int dir = -1;
	const char *part = path;

	/* One call is enough when the complete path exists without symbolic
	 * links. */
	if (!strstr(path, ".."))
		dir = (int)syscall(SYS_openat2, root_fd, path, &how,
				   sizeof(how));
	if (dir >= 0)
		return TAKE_FD(dir);
	dir = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return fail_errno(err, "open %s", text_quote(path));
	while (*part) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(part, "/");
		int next;

		if (len > NAME_MAX)
			return fail(err, ENAMETOOLONG, "%s", text_quote(path));
		memcpy(name, part, len);
		name[len] = '\0';
		part += len + (part[len] == '/');
		if (!len)
			continue;
		if (strcmp(name, "..") == 0)
			return fail(err, EINVAL, "%s contains '..'",
				    text_quote(path));
		next = fd_open_dir_path(dir, name);
		if (next < 0 && errno == ENOENT && make &&
		    mkdirat(dir, name, 0755) == 0)
			next = fd_open_dir_path(dir, name);
		if (next < 0)
			return fail_errno(err, "open %s of %s",
					  text_quote(name), text_quote(path));
		(void)close(dir);
		dir = next;
	}
	return TAKE_FD(dir);
}

/* ---- directories of two mount namespaces ---- */

void mount_dir_free(struct mount_dir *d)
{
	free(d->path);
	fd_close(&d->fd);
	*d = (struct mount_dir){.fd = -1};
}

int mount_dir_open(struct mount_dir *d, char *path, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	mount_dir_free(d);
	d->path = path;
	if (root < 0)
		return fail_errno(err, "open /");
	d->fd = mount_open_dir(root, path, false, err);
	if (d->fd >= 0 && meta_get(d->fd, "", &d->meta) < 0)
		return fail_errno(err, "%s", text_quote(path));
	return d->fd < 0 ? d->fd : 0;
}

int mount_dir_reopen(struct mount_dir *d, struct err *err)
{
	struct meta before = d->meta, now;
	int rc;

	if (!d->path)
		return 0;
	rc = mount_dir_open(d, TAKE(d->path), err);
	now = d->meta;
	d->meta = before;
	if (rc == 0 && before.mode &&
	    (now.dev != before.dev || now.ino != before.ino))
		rc = fail(err, ESTALE,
			  "%s was replaced during the command: try again",
			  text_quote(d->path));
	return rc;
}
