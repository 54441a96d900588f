#include "guard/sandbox/ns/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

int mount_new_fs(const char *type, const char *const *options,
		 unsigned int attrs, struct err *err)
{
	auto_close int context = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (context < 0)
		return fail_errno(err, "new %s", type);
	(void)fsconfig(context, FSCONFIG_SET_STRING, "source", "guard", 0);
	for (; options && options[0]; options += 2)
		if (fsconfig(context, FSCONFIG_SET_STRING, options[0],
			     options[1], 0) < 0)
			return fail_errno(err, "new %s: option %s=%s", type,
					  options[0], options[1]);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fail_errno(err, "new %s", type);
	fd = fsmount(context, FSMOUNT_CLOEXEC, attrs);
	if (fd < 0)
		return fail_errno(err, "new %s: mount", type);
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

int mount_place(int root_fd, const char *path, int mount_fd, struct err *err)
{
	auto_close int target = mount_point(root_fd, path);

	if (target < 0)
		return fail_errno(err, "mount point %s", text_quote(path));
	if (move_mount(mount_fd, "", target, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(err, "mount on %s", text_quote(path));
	return 0;
}

static int make_point_part(int root_fd, const char *path, bool dir,
			   struct err *err)
{
	auto_free char *parent = path_parent(path);
	auto_close int fd = mount_point(root_fd, path);
	auto_close int parent_fd = -1, made = -1;

	if (fd >= 0)
		return 0;
	if (errno != ENOENT)
		return fail_errno(err, "mount point %s", text_quote(path));
	parent_fd = open_in_root(root_fd, *parent ? parent : ".",
				 O_PATH | O_DIRECTORY);
	if (parent_fd < 0)
		return fail_errno(err, "mount point %s", text_quote(parent));
	if (dir) {
		if (mkdirat(parent_fd, path_name(path), 0755) < 0)
			return fail_errno(err, "make the mount point %s",
					  text_quote(path));
		return 0;
	}
	made = openat(parent_fd, path_name(path),
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0644);
	if (made < 0)
		return fail_errno(err, "make the mount point %s",
				  text_quote(path));
	return 0;
}

int mount_make_point(int root_fd, const char *path, bool dir, struct err *err)
{
	auto_free char *part = mem_strdup(path + strspn(path, "/"));
	char *slash = part;
	int rc;

	while ((slash = strchr(slash, '/'))) {
		*slash = '\0';
		rc = make_point_part(root_fd, part, true, err);
		if (rc < 0)
			return rc;
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
