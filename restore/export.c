#include "restore/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "restore/hardlinks.h"
#include "restore/tarfile.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

struct exporter {
	struct store *store;
	const struct export_sink *sink;
	const char *const *paths;
	struct hardlinks names;
	char *git; /* the .git reported last */
	char *deleted_dir; /* the directory reported as deleted last */
	struct tarfile *tar;
};

static void exporter_free(struct exporter *x)
{
	hardlinks_free(&x->names);
	free(x->git);
	free(x->deleted_dir);
	tarfile_free(&x->tar);
}

/* --- bytes of files --- */

struct map {
	struct tarfile_range *items;
	size_t count, capacity;
	uint64_t len; /* total bytes of data */
};

static void map_free(struct map *m)
{
	free(m->items);
}

static int add_data_range(void *arg, uint64_t at, uint64_t len, struct err *err)
{
	struct map *m = arg;

	(void)err;
	*VEC_ADD(m) = (struct tarfile_range){at, len};
	m->len += len;
	return 0;
}

struct pass {
	struct tarfile *tar;
	uint64_t done;
};

static int pass_piece(void *arg, const void *data, size_t len, struct err *err)
{
	struct pass *p = arg;

	p->done += len;
	return tarfile_data(p->tar, data, len, err);
}

static int write_tar_file(struct exporter *x, struct tarfile_item *item,
			  struct err *err)
{
	const struct entry *e = item->entry;
	AUTO(map) struct map map = {0};
	struct pass pass = {.tar = x->tar};

	if (e->size >= HOLE_MIN &&
	    content_map(x->store, &e->content, add_data_range, &map, err) < 0)
		return -err->num;
	item->sparse = e->size >= HOLE_MIN && map.len < e->size;
	item->ranges = map.items;
	item->count = map.count;
	if (tarfile_entry(x->tar, item, err) < 0)
		return -err->num;
	if (e->content.type != OBJECT_NONE &&
	    content_each(x->store, &e->content, pass_piece, &pass, err) < 0)
		return -err->num;
	if (pass.done != e->size)
		return fail(err, EBADMSG,
			    "it has %llu bytes in the store instead of %llu",
			    (unsigned long long)pass.done,
			    (unsigned long long)e->size);
	return 0;
}

static int write_tar_entry(struct exporter *x, const char *path,
			   const struct entry *e, struct err *err)
{
	AUTO(xattrs) struct xattrs attrs = {0};
	struct tarfile_item item = {
		.path = path,
		.entry = e,
		.attrs = &attrs,
	};

	if (e->link_group && !S_ISDIR(e->mode))
		item.same_as = hardlinks_first(&x->names, e->link_group, path);
	if (attrset_load(x->store, &e->attrs, &attrs, err) < 0)
		return -err->num;
	if (S_ISREG(e->mode) && !item.same_as)
		return write_tar_file(x, &item, err);
	return tarfile_entry(x->tar, &item, err);
}

/* --- selection of entries --- */

/* Each outermost .git is reported once. */
static bool is_exported(struct exporter *x, const char *path, bool report)
{
	auto_free char *git = NULL;
	const char *const *p = x->paths;
	size_t end = path_part_end(path, ".git");
	bool below = !p;

	for (; p && *p; p++) {
		if (!path_below(path, *p))
			continue;
		below = true;
		if (path_has_part(*p, ".git"))
			return true;
	}
	if (!below || !end)
		return below;
	git = mem_strndup(path, end);
	if (report && (!x->git || strcmp(x->git, git) != 0)) {
		x->sink->lost(x->sink->arg, git, EXPORT_GIT);
		free(x->git);
		x->git = TAKE(git);
	}
	return false;
}

/* Reports the deletions first. */
static int report_deleted(void *arg, const char *path, const struct entry *old,
			  const struct entry *now, struct err *err)
{
	struct exporter *x = arg;
	auto_free char *name = NULL;

	(void)err;
	if (!old || (now && S_ISDIR(now->mode) == S_ISDIR(old->mode)) ||
	    !is_exported(x, path, false) ||
	    (x->deleted_dir && path_below(path, x->deleted_dir)))
		return 0;
	name = mem_printf("%s%s", path, S_ISDIR(old->mode) ? "/" : "");
	x->sink->deleted(x->sink->arg, name);
	if (S_ISDIR(old->mode)) {
		free(x->deleted_dir);
		x->deleted_dir = mem_strdup(path);
	}
	return 0;
}

static int export_change(void *arg, const char *path, const struct entry *old,
			 const struct entry *now, struct err *err)
{
	struct exporter *x = arg;
	/* Above the paths of two partial snapshots. */
	bool partial = old && now && S_ISDIR(old->mode) && S_ISDIR(now->mode) &&
		       old->flags & ENTRY_INCOMPLETE;

	if (!is_exported(x, path, true) || !now)
		return 0;
	if (S_ISSOCK(now->mode)) {
		x->sink->lost(x->sink->arg, path, EXPORT_SOCKET);
		return 0;
	}
	if (now->flags & ENTRY_INCOMPLETE && !partial)
		x->sink->lost(x->sink->arg, path, EXPORT_INCOMPLETE);
	/* A directory is exported with its readable entries. */
	if (now->flags & ENTRY_INCOMPLETE && !S_ISDIR(now->mode))
		return 0;
	if (write_tar_entry(x, path, now, err) < 0)
		return err_context(err, "%s",
				   *path ? text_quote(path) : "the root");
	return 0;
}

int export_tar(struct store *store, const struct entry *old,
	       const struct entry *now, const char *const *paths,
	       const struct export_sink *sink, struct err *err)
{
	static const struct entry nothing;
	const struct tarfile_sink bytes = {sink->add, sink->arg};
	AUTO(exporter)
	struct exporter x = {.store = store, .sink = sink, .paths = paths};

	if (tarfile_open(&bytes, &x.tar, err) < 0 ||
	    (old && tree_diff(store, old, now, report_deleted, &x, err) < 0) ||
	    tree_diff(store, old ? old : &nothing, now, export_change, &x,
		      err) < 0)
		return -err->num;
	return tarfile_close(x.tar, err);
}
