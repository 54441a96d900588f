#include "guard/sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

int mount_new_fs(const char *type, const char *const *options,
		 unsigned int attrs, struct err *err)
{
	auto_close int context = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (context < 0)
		return fail_errno(err, "open file system %s", type);
	(void)fsconfig(context, FSCONFIG_SET_STRING, "source", "guard", 0);
	for (; options && options[0]; options += 2)
		if (fsconfig(context, FSCONFIG_SET_STRING, options[0],
			     options[1], 0) < 0)
			return fail_errno(err, "file system %s: option %s=%s",
					  type, options[0], options[1]);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "open file system %s", type);
	fd = fsmount(context, FSMOUNT_CLOEXEC, attrs);
	if (fd < 0)
		return fail_errno(err, "mount file system %s", type);
	return fd;
}

int mount_copy(int fd, bool recursive, unsigned int attrs, struct err *err)
{
	unsigned int deep = recursive ? AT_RECURSIVE : 0;
	struct mount_attr attr = {.attr_set = attrs};
	auto_close int copy = open_tree(fd, "",
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
						AT_EMPTY_PATH | deep);

	if (copy < 0)
		return fail_errno(err, "copy a mount");
	if (attrs && mount_setattr(copy, "", AT_EMPTY_PATH | deep, &attr,
				   sizeof(attr)) < 0)
		return fail_errno(err, "set a mount's attributes");
	return TAKE_FD(copy);
}

static int open_in_root(int root_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

int mount_point(int root_fd, const char *path)
{
	return open_in_root(root_fd, path, O_PATH);
}

int mount_attach(int mount_fd, int target)
{
	return move_mount(mount_fd, "", target, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_set_attrs(int mount_fd, unsigned int attrs)
{
	struct mount_attr attr = {.attr_set = attrs};

	return mount_setattr(mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr));
}

int mount_place(int root_fd, const char *path, int mount_fd, struct err *err)
{
	auto_close int target = mount_point(root_fd, path);

	if (target < 0)
		return fail_errno(err, "mount point %s", text_quote(path));
	if (mount_attach(mount_fd, target) < 0)
		return fail_errno(err, "mount on %s", text_quote(path));
	return 0;
}

static int make_point_part(int root_fd, const char *path, bool dir,
			   struct err *err)
{
	auto_free char *parent = path_parent(path);
	auto_close int fd = mount_point(root_fd, path);
	auto_close int parent_fd = -1;

	if (fd >= 0)
		return 0;
	if (errno != ENOENT)
		return fail_errno(err, "mount point %s", text_quote(path));
	parent_fd = open_in_root(root_fd, *parent ? parent : ".",
				 O_PATH | O_DIRECTORY);
	if (parent_fd < 0)
		return fail_errno(err, "mount point %s", text_quote(parent));
	if (dir ? mkdirat(parent_fd, path_name(path), 0755) < 0
		: mknodat(parent_fd, path_name(path), S_IFREG | 0644, 0) < 0)
		return fail_errno(err, "create the mount point %s",
				  text_quote(path));
	return 0;
}

int mount_make_point(int root_fd, const char *path, bool dir, struct err *err)
{
	auto_free char *part = mem_strdup(path + strspn(path, "/"));
	char *slash = part;

	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		if (make_point_part(root_fd, part, true, err) < 0)
			return -err->num;
		*slash++ = '/';
	}
	return make_point_part(root_fd, part, dir, err);
}

const char *mount_size(uint64_t limit, char text[24])
{
	unsigned long long size = limit;

	(void)snprintf(text, 24, size ? "%llu" : "50%%", size);
	return text;
}

void mountinfo_free(struct mountinfo *m)
{
	VEC_FREE(m);
	buf_free(&m->text);
}

/* Fields: id parent major:minor root point options ... - type ... (proc(5)) */
static void add_mountinfo_line(struct mountinfo *m, char *line)
{
	char *save = NULL, *field[6], *at = line;
	char *dash = strstr(line, " - ");
	const char *type = "";
	size_t i;

	if (dash) {
		type = dash + 3;
		dash[3 + strcspn(type, " ")] = '\0';
	}
	for (i = 0; i < 6; i++, at = NULL) {
		field[i] = strtok_r(at, " ", &save);
		if (!field[i])
			return;
	}
	text_unescape_octal(field[3]);
	text_unescape_octal(field[4]);
	*VEC_ADD(m) = (struct mountinfo_item){
		.dev = field[2],
		.root = field[3],
		.point = field[4],
		.type = type,
		.writable = strncmp(field[5], "rw", 2) == 0,
	};
}

int mountinfo_load(pid_t pid, struct mountinfo *ret, struct err *err)
{
	auto_free char *path = pid ? mem_printf("/proc/%d/mountinfo", (int)pid)
				   : mem_strdup("/proc/self/mountinfo");
	char *save = NULL, *line;

	if (fd_slurp_at(AT_FDCWD, path, 64 << 20, &ret->text, err) < 0)
		return err_context(err, "%s", path);
	(void)buf_text(&ret->text);
	line = strtok_r((char *)ret->text.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save))
		add_mountinfo_line(ret, line);
	return 0;
}

static const struct mountinfo_item *find_mount_of(const struct mountinfo *m,
						  const char *path)
{
	const struct mountinfo_item *best = NULL;
	size_t i;

	for (i = 0; i < m->count; i++) {
		const struct mountinfo_item *item = &m->items[i];

		if (path_below(path, item->point) &&
		    (!best || strlen(item->point) >= strlen(best->point)))
			best = item;
	}
	return best;
}

/* Returns the path at which item shows `inside` (a path in the file system;
 * `path` in this namespace) or a part of it; NULL if it shows neither. */
static char *find_alias_in(const struct mountinfo_item *item,
			   const char *inside, const char *path)
{
	auto_free char *alias = NULL, *here = NULL;
	struct stat x, y;

	if (path_below(inside, item->root)) {
		alias = path_join(item->point, path_rest(inside, item->root));
		here = mem_strdup(path);
	} else if (path_below(item->root, inside)) {
		alias = mem_strdup(item->point);
		here = path_join(path, path_rest(item->root, inside));
	} else {
		return NULL;
	}
	/* The table does not tell which mounts are covered by others; device
	 * and inode numbers do. */
	if (path_below(alias, path) || lstat(alias, &x) < 0 ||
	    lstat(here, &y) < 0 || x.st_dev != y.st_dev || x.st_ino != y.st_ino)
		return NULL;
	return TAKE(alias);
}

void mountinfo_aliases(const struct mountinfo *m, const char *path,
		       struct names *ret)
{
	const struct mountinfo_item *containing = find_mount_of(m, path);
	auto_free char *inside = NULL;
	size_t i;

	*ret = (struct names){0};
	if (!containing)
		return;
	inside =
		path_join(containing->root, path_rest(path, containing->point));
	for (i = 0; i < m->count; i++) {
		char *alias;

		if (&m->items[i] == containing ||
		    strcmp(m->items[i].dev, containing->dev) != 0)
			continue;
		alias = find_alias_in(&m->items[i], inside, path);
		if (!alias)
			continue;
		*VEC_ADD(ret) = alias;
	}
}
