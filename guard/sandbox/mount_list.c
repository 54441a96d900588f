#include "guard/sandbox/mount_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/mount.h"

static const char *const private_dirs[] = {
	"/tmp", "/var/tmp", "/run", "/var/run", "/dev", "/proc", NULL,
};

const char *mount_list_private_dir(const char *path)
{
	const char *const *dir = private_dirs;

	while (*dir && !path_below(path, *dir))
		dir++;
	return *dir;
}

struct mount_entry *mount_list_add(struct setup *s, enum visibility sight,
				   char *path)
{
	struct mount_entry *e = VEC_ADD(&s->mounts);

	*e = (struct mount_entry){
		.sight = sight, .path = path, .fd = -1, .mount_fd = -1};
	return e;
}

void mount_list_free(struct setup *s)
{
	size_t i;

	for (i = 0; i < s->mounts.count; i++) {
		fd_close(&s->mounts.items[i].fd);
		free(s->mounts.items[i].path);
	}
	VEC_FREE(&s->mounts);
}

/* Without the file behind /etc/resolv.conf no host name resolves. On many
 * machines the file is below /run, which is private in the run. With a private
 * network its text is the run's own. */
static void add_resolv(struct setup *s)
{
	const bool own = s->policy->net == SANDBOX_NET_PRIVATE;
	auto_close int fd = -1;
	auto_free char *path = NULL;
	struct mount_entry *e;
	struct err ignored;

	if (s->policy->net != SANDBOX_NET_NONE)
		path = path_resolve("/etc/resolv.conf", &ignored);
	if (path && !own && mount_list_private_dir(path))
		fd = open(path, O_PATH | O_CLOEXEC);
	if (!path || (!own && fd < 0))
		return;
	e = mount_list_add(s, VISIBILITY_READ_ONLY, TAKE(path));
	e->fd = TAKE_FD(fd);
	e->text = own ? &s->network.resolv : NULL;
}

/* A FIFO on a read-only mount can be written to, but has fixed permissions. */
static void add_files(struct setup *s)
{
	const struct sandbox_file *file = s->policy->files;

	for (; file && file->path; file++) {
		int fd = open(file->source, O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			mount_list_add(s, VISIBILITY_READ_ONLY,
				       mem_strdup(file->path))
				->fd = fd;
	}
}

/* Before the rules: later mounts cover earlier ones. */
static void add_views(struct setup *s)
{
	const struct sandbox_policy *p = s->policy;
	const char *const *path;
	size_t layer = 0;

	for (path = private_dirs; *path; path++)
		(void)mount_list_add(s, VISIBILITY_PRIVATE, mem_strdup(*path));
	add_resolv(s);
	add_files(s);
	/* sandbox_environ() uses the same path without a home. */
	if (!p->home || p->strict)
		(void)mount_list_add(s, VISIBILITY_PRIVATE,
				     mem_strdup(p->home ?: "/tmp/home"));
	for (path = p->layers; path && *path; path++)
		mount_list_add(s, VISIBILITY_LAYER, mem_strdup(*path))->layer =
			layer++;
}

static int add_grants(struct setup *s, struct err *err)
{
	const struct grants *grants = s->policy->grants;
	size_t i;

	for (i = 0; grants && i < grants->count; i++) {
		const struct grant *g = &grants->items[i];
		int fd = grant_reopen(g, err);
		struct mount_entry *e;

		if (fd < 0)
			return fd;
		e = mount_list_add(s,
				   g->kind == GRANT_READ_ONLY
					   ? VISIBILITY_READ_ONLY
					   : VISIBILITY_READ_WRITE,
				   mem_strdup(g->real));
		e->granted = true;
		e->fd = fd;
		e->dir = S_ISDIR(g->mode);
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

/* r: the file's content in the run; NULL: none. */
static int add_masked_path(struct setup *s, const struct mountinfo *table,
			   const char *path, const struct redaction *r,
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
		struct mount_entry *e;

		if (lstat(name, &st) < 0) {
			if (needs_no_mask(errno))
				continue;
			return fail_errno(err, "mask %s", text_quote(name));
		}
		e = mount_list_add(s, VISIBILITY_HIDDEN, mem_strdup(name));
		e->dir = S_ISDIR(st.st_mode);
		if (e->dir || !r)
			continue;
		e->text = &r->text;
		if (r->copy) {
			e->fd = open(r->copy, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			if (e->fd < 0)
				return fail_errno(err, "open the copy of %s",
						  text_quote(name));
		}
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
		if (!redactions->items[i].tracked &&
		    add_masked_path(s, table, redactions->items[i].path,
				    &redactions->items[i], err) < 0)
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
	struct mount_entry *e;
	struct stat st;

	/* A private directory has the machine's files only below a grant. */
	if (lstat(real, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    (mount_list_private_dir(real) &&
	     !(grants && grants_cover(grants, real))))
		return;
	e = mount_list_add(s, VISIBILITY_HIDDEN, mem_strdup(real));
	e->socket = true;
	e->dev = st.st_dev;
	e->ino = st.st_ino;
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

	if (!never_granted)
		return 0;
	mountinfo_aliases(table, never_granted, &names);
	for (i = 0; i < s->mounts.count; i++)
		for (k = 0; k < names.count; k++)
			if (s->mounts.items[i].granted &&
			    path_below(s->mounts.items[i].path, names.items[k]))
				return fail(err, EPERM,
					    "%s would expose a path that every "
					    "run must mask (%s)",
					    text_quote(s->mounts.items[i].path),
					    text_quote(never_granted));
	return 0;
}

static int compare_rules(const void *a, const void *b)
{
	const struct mount_entry *x = a, *y = b;
	int rc = path_compare(x->path, y->path);

	if (rc == 0)
		rc = (int)x->granted - (int)y->granted;
	return rc ? rc : (int)x->sight - (int)y->sight;
}

int mount_list_make(struct setup *s, struct err *err)
{
	AUTO(mountinfo) struct mountinfo table = {0};
	size_t first;

	add_views(s);
	first = s->mounts.count;
	if (mountinfo_load(0, &table, err) < 0 || add_masks(s, &table, err) < 0)
		return -err->num;
	add_masked_sockets(s, &table);
	if (add_grants(s, err) < 0 ||
	    refuse_granted_aliases(s, &table, err) < 0)
		return -err->num;
	vec_sort(s->mounts.items + first, s->mounts.count - first,
		 sizeof(*s->mounts.items), compare_rules);
	return 0;
}
