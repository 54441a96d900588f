#include "guard/sandbox/mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/namespaces.h"
#include "guard/sandbox/namespaces_private.h"

#define MASK_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define GRANT_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* ---- opened before a mount covers it ---- */

static struct path_rule *add_mask_or_grant(struct setup *s, char *path,
					   int kind, int fd, bool dir)
{
	struct path_rule *rule = VEC_ADD(&s->rules);

	*rule = (struct path_rule){.path = path,
				   .kind = kind,
				   .fd = fd,
				   .dir = dir,
				   .mount_fd = -1};
	return rule;
}

static int add_grants(struct setup *s, struct err *err)
{
	const struct grants *grants = s->policy->grants;
	size_t i;

	for (i = 0; grants && i < grants->count; i++) {
		const struct grant *g = &grants->items[i];
		int fd = grant_reopen(g, err);

		if (fd < 0)
			return fd;
		(void)add_mask_or_grant(s, mem_strdup(g->real),
					g->kind == GRANT_READ_ONLY
						? RULE_READ_ONLY
						: RULE_READ_WRITE,
					fd, S_ISDIR(g->mode));
	}
	return 0;
}

/* A path that does not exist or that the user cannot reach needs no mask: the
 * run has no more permissions than the user. With any other error, such as a
 * lack of memory, the run could see the file. */
static bool needs_no_mask(int num)
{
	return num == ENOENT || num == ENOTDIR || num == EACCES || num == ELOOP;
}

static int add_masked_path(struct setup *s, const struct mountinfo *table,
			   const char *path, const struct buf *text,
			   struct err *err)
{
	struct stat st;
	auto_free char *real = NULL;
	AUTO(names) struct names names = {0};
	size_t i;

	real = path_resolve(path, err);
	if (!real)
		return needs_no_mask(err->num) ? 0 : -err->num;
	mountinfo_aliases(table, real, &names);
	*VEC_ADD(&names) = TAKE(real);
	for (i = 0; i < names.count; i++) {
		const char *name = names.items[i];

		if (lstat(name, &st) == 0)
			add_mask_or_grant(s, mem_strdup(name), RULE_MASK, -1,
					  S_ISDIR(st.st_mode))
				->text = text;
		else if (!needs_no_mask(errno))
			return fail_errno(err, "mask %s", text_quote(name));
	}
	return 0;
}

/* Adds masks for hidden paths and for files with redactions. */
static int add_masks(struct setup *s, const struct mountinfo *table,
		     struct err *err)
{
	const struct redactions *redactions = s->policy->redactions;
	const char *const *hide;
	size_t i;

	for (i = 0; redactions && i < redactions->count; i++)
		if (add_masked_path(s, table, redactions->items[i].path,
				    &redactions->items[i].text, err) < 0)
			return -err->num;
	for (hide = s->policy->hide; hide && *hide; hide++) {
		for (i = 0; redactions && i < redactions->count; i++)
			if (strcmp(redactions->items[i].path, *hide) == 0)
				break;
		if ((!redactions || i == redactions->count) &&
		    add_masked_path(s, table, *hide, NULL, err) < 0)
			return -err->num;
	}
	return 0;
}

static void add_masked_socket(struct setup *s, const char *real)
{
	const struct grants *grants = s->policy->grants;
	struct path_rule *rule;
	struct stat st;

	/* A private directory has the machine's files only below a grant. */
	if (lstat(real, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    (mounts_private_dir(real) &&
	     !(grants && grants_cover(grants, real))))
		return;
	rule = add_mask_or_grant(s, mem_strdup(real), RULE_MASK, -1, false);
	rule->socket = true;
	rule->dev = st.st_dev;
	rule->ino = st.st_ino;
}

static void add_masked_sockets(struct setup *s, const struct mountinfo *table)
{
	size_t i, k;

	for (i = 0; i < s->sockets.count; i++) {
		AUTO(names) struct names aliases = {0};
		struct err ignored;
		auto_free char *real =
			path_resolve(s->sockets.items[i], &ignored);

		if (!real)
			continue;
		add_masked_socket(s, real);
		if (s->policy->grants && s->policy->grants->count)
			mountinfo_aliases(table, real, &aliases);
		for (k = 0; k < aliases.count; k++)
			add_masked_socket(s, aliases.items[k]);
	}
}

/* A path of never_granted that is mounted elsewhere as well has aliases there.
 * A grant of an alias would win over the mask. */
static int refuse_granted_aliases(const struct setup *s,
				  const struct mountinfo *table,
				  struct err *err)
{
	const char *never_granted = s->policy->never_granted;
	AUTO(names) struct names names = {0};
	size_t i, k;
	int rc = 0;

	if (!never_granted)
		return 0;
	mountinfo_aliases(table, never_granted, &names);
	for (i = 0; i < s->rules.count; i++)
		for (k = 0; rc == 0 && k < names.count; k++)
			if (s->rules.items[i].kind != RULE_MASK &&
			    path_below(s->rules.items[i].path, names.items[k]))
				rc = fail(err, EPERM,
					  "%s would expose a path that every "
					  "run must mask (%s)",
					  text_quote(s->rules.items[i].path),
					  text_quote(never_granted));
	return rc;
}

static int compare_path_rules(const void *a, const void *b)
{
	const struct path_rule *x = a, *y = b;
	int rc = path_compare(x->path, y->path);

	return rc ? rc : (int)x->kind - (int)y->kind;
}

int masks_open(struct setup *s, struct err *err)
{
	AUTO(mountinfo) struct mountinfo table = {0};

	if (mountinfo_load(0, &table, err) < 0)
		return -err->num;
	if (add_masks(s, &table, err) < 0)
		return -err->num;
	add_masked_sockets(s, &table);
	if (add_grants(s, err) < 0 ||
	    refuse_granted_aliases(s, &table, err) < 0)
		return -err->num;
	VEC_SORT(&s->rules, compare_path_rules);
	return 0;
}

/* ---- onto the new root ---- */

static int place_grant(struct setup *s, struct path_rule *p, struct err *err)
{
	unsigned int attrs = GRANT_ATTRS;
	auto_close int mnt = -1;
	int rc = mount_make_point(s->root_fd, p->path, p->dir, err);

	if (rc < 0)
		return rc;
	if (p->kind == RULE_READ_ONLY)
		attrs |= MOUNT_ATTR_RDONLY;
	mnt = mount_copy(p->fd, true, attrs, err);
	if (mnt < 0)
		return err_context(err, "expose %s", text_quote(p->path));
	return mount_place(s->root_fd, p->path, mnt, err);
}

int masks_make(int scratch_fd, size_t number, bool dir, struct err *err)
{
	auto_close int fd = -1;
	char name[32];

	(void)snprintf(name, sizeof(name), "%zu", number);
	if (dir && mkdirat(scratch_fd, name, 0555) < 0)
		return fail_errno(err, "create a mask");
	fd = openat(scratch_fd, dir ? name : "empty",
		    O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "open a mask");
	return mount_copy(fd, false, MASK_ATTRS, err);
}

/* Makes a mask with content. */
static int make_text_mask(int scratch_fd, size_t number, const struct buf *text,
			  struct err *err)
{
	char name[32];
	auto_close int fd = -1;

	(void)snprintf(name, sizeof(name), "%zu", number);
	fd = openat(scratch_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		    0444);
	if (fd < 0 || fd_write(fd, text->data, text->len) < 0)
		return fail_errno(err, "create a mask");
	return mount_copy(fd, false, MASK_ATTRS, err);
}

static int place_mask(struct setup *s, struct path_rule *p, int scratch_fd,
		      struct err *err)
{
	size_t number = (size_t)(p - s->rules.items);
	auto_close int target = mount_point(s->root_fd, p->path);

	/* Masked by a directory above it, or deleted in the run's layer. */
	if (target < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (target < 0)
		return fail_errno(err, "mask %s", text_quote(p->path));
	p->mount_fd = p->text && !p->dir
			      ? make_text_mask(scratch_fd, number, p->text, err)
			      : masks_make(scratch_fd, number, p->dir, err);
	if (p->mount_fd < 0)
		return err_context(err, "mask %s", text_quote(p->path));
	if (mount_attach(p->mount_fd, target) < 0)
		return fail_errno(err, "mask %s", text_quote(p->path));
	return 0;
}

static bool is_granted(const struct setup *s, size_t i)
{
	size_t next;

	for (next = i + 1; next < s->rules.count; next++) {
		if (path_compare(s->rules.items[i].path,
				 s->rules.items[next].path) != 0)
			return false;
		if (s->rules.items[next].kind != RULE_MASK)
			return true;
	}
	return false;
}

int masks_place(struct setup *s, int scratch_fd, struct err *err)
{
	auto_close int empty =
		openat(scratch_fd, "empty",
		       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	size_t i;
	int rc = 0;

	if (empty < 0)
		return fail_errno(err, "create the empty file");
	for (i = 0; rc == 0 && i < s->rules.count; i++) {
		struct path_rule *p = &s->rules.items[i];
		struct stat st;

		if (p->kind != RULE_MASK)
			rc = place_grant(s, p, err);
		else if (is_granted(s, i))
			continue;
		/* In a layer a socket's path may be another file, without a
		 * listener. */
		else if (!p->socket ||
			 (fstatat(s->root_fd, p->path + 1, &st,
				  AT_SYMLINK_NOFOLLOW) == 0 &&
			  st.st_dev == p->dev && st.st_ino == p->ino))
			rc = place_mask(s, p, scratch_fd, err);
	}
	for (i = 0; rc == 0 && i < s->rules.count; i++) {
		int fd = s->rules.items[i].mount_fd;

		if (fd >= 0 && mount_set_attrs(fd, MOUNT_ATTR_RDONLY))
			rc = fail_errno(err, "make the mask of %s read-only",
					text_quote(s->rules.items[i].path));
	}
	return rc;
}

/* ---- sockets with a listener ---- */

/* Sockets of well-known services, reported when the run cannot reach them.
 * Patterns of fnmatch(3), in which '*' also matches slashes. */
static const char *const unreachable_sockets[] = {
	"*/docker.sock",
	"*/docker-cli*.sock",
	"*/podman*.sock",
	"*/containerd.sock",
	"/run/user/*/bus",
	"/run/dbus/*",
	"*/gnupg/S.*",
	"*/keyring/*",
	"*/wayland-*",
	"*/.X11-unix/X*",
	"*/pulse/native",
	"*/pipewire-0",
	"*/.s.PGSQL.*",
	"*mysql*.sock",
	"*mariadb*.sock",
	"*redis*.sock",
	"*memcached*.sock",
	"*mongodb-*.sock",
	"*/daemon-socket/*",
	"*/snapd*.socket",
	"*ssh-agent*",
	"*/libvirt-sock",
	NULL,
};

/* Columns of /proc/net/unix before the path. The fourth has the flags; this bit
 * means that the socket listens. */
#define COLUMNS 7
#define FLAGS_COLUMN 3
#define LISTENING 0x10000UL

/* Datagram sockets have no listening state and receive without the bit. */
static const char *listening_path(const char *line)
{
	unsigned long flags = 0, type = 0;
	int column;

	for (column = 0; column < COLUMNS; column++) {
		if (column == FLAGS_COLUMN)
			flags = strtoul(line, NULL, 16);
		if (column == FLAGS_COLUMN + 1)
			type = strtoul(line, NULL, 16);
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	if (!*line || *line == '@' || (type != 2 && !(flags & LISTENING)))
		return NULL;
	return line;
}

#define SEARCHED_LEVELS 4
#define SEARCHED_DIRS_MAX 1000

/* Level by level, so that the directories near the top are found in a large
 * tree, too. */
static void search_sockets(struct setup *s, const char *top,
			   const struct names *wanted)
{
	AUTO(names) struct names dirs = {0};
	size_t i, level = 1, level_end = 1;

	names_add(&dirs, top);
	for (i = 0; i < dirs.count; i++) {
		auto_close int fd = fd_open_dir(AT_FDCWD, dirs.items[i]);
		AUTO(dirlist) struct dirlist list = {0};
		struct err ignored;
		size_t k;

		if (i == level_end) {
			level_end = dirs.count;
			level++;
		}
		if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
			continue;
		for (k = 0; k < list.count; k++) {
			const struct dirlist_item *e = &list.items[k];
			auto_free char *path =
				path_join(dirs.items[i], e->name);

			if (e->type == DT_DIR && level < SEARCHED_LEVELS &&
			    dirs.count < SEARCHED_DIRS_MAX)
				names_add(&dirs, path);
			else if (e->type == DT_SOCK &&
				 mem_list_has(
					 (const char *const *)wanted->items,
					 e->name))
				names_add(&s->sockets, path);
		}
	}
}

/* The kernel knows a socket by the name that its program gave, which may begin
 * in a directory that no other process knows. */
static void find_relative_sockets(struct setup *s, struct names *relative)
{
	const struct grants *grants = s->policy->grants;
	size_t i;

	if (!relative->count)
		return;
	*VEC_ADD(relative) = NULL;
	for (i = 0; grants && i < grants->count; i++)
		if (S_ISDIR(grants->items[i].mode))
			search_sockets(s, grants->items[i].real, relative);
}

/* A read-only mount does not prevent connect(2). Sockets in private directories
 * exist in the run only below a grant, and a layer shows another file; every
 * other listener's socket gets a mask. */
void sockets_find(struct setup *s)
{
	AUTO(names) struct names relative = {0};
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	char *save = NULL, *line;

	if (fd_slurp_at(AT_FDCWD, "/proc/self/net/unix", 16 << 20, &b,
			&ignored) < 0)
		return;
	(void)buf_text(&b);
	line = strtok_r((char *)b.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		const char *path = listening_path(line);
		const char *const *pattern = unreachable_sockets;

		if (!path)
			continue;
		if (*path != '/') {
			names_add(&relative, path_name(path));
			continue;
		}
		while (*pattern && fnmatch(*pattern, path, 0) != 0)
			pattern++;
		if (*pattern && access(path, W_OK) == 0)
			mem_list_add(&s->unreachable_sockets, path);
		names_add(&s->sockets, path);
	}
	find_relative_sockets(s, &relative);
}

void sockets_free(struct setup *s)
{
	names_free(&s->sockets);
	mem_list_free(&s->unreachable_sockets);
}
