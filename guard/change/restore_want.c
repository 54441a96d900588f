#include "guard/change/restore_want.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/target_hardlinks.h"
#include "guard/report.h"
#include "snapshot/maintain/purge.h"

struct restore_request {
	struct store *store;
	const struct entry *now;
	const struct restore_target *targets;
	size_t count;
	enum restore_mode how;
	struct entry *ret;
};

/* Folders above the path that are missing now come from the snapshot. */
static int put_missing_parents(const struct restore_request *w,
			       struct tree_editor *ed,
			       const struct restore_target *t, struct err *err)
{
	const char *slash = t->path;

	while ((slash = strchr(slash, '/'))) {
		auto_free char *parent =
			mem_strndup(t->path, (size_t)(slash - t->path));
		AUTO(entry) struct entry now = {0}, then = {0};
		int got = tree_lookup(w->store, w->now, parent, &now, err);

		slash++;
		if (got < 0)
			return got;
		if (got && !S_ISDIR(now.mode))
			return fail(err, ENOTDIR,
				    "%s is no folder now: move it away, or "
				    "restore elsewhere with --to",
				    text_quote(parent));
		if (got)
			continue;
		if (tree_lookup(w->store, &t->snapshot.root, parent, &then,
				err) < 0 ||
		    tree_editor_put_dir(ed, parent, &then, err) < 0)
			return -err->num;
	}
	return 0;
}

struct keep_current_git {
	const struct restore_request *w;
	struct tree_editor *ed;
	const char *prefix;
	size_t kept;
};

/*
 * A .git that is there is left as it is unless it was named: an older HEAD,
 * index or ref would hide commits that were made since.
 */
static int keep_current_git(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct keep_current_git *k = arg;
	auto_free char *parent = path_parent(path);
	auto_free char *full_path = path_join(k->prefix, path);
	AUTO(entry) struct entry now = {0};
	int got;

	(void)e;
	if (strcmp(path_name(path), ".git") != 0 ||
	    path_has_part(parent, ".git"))
		return 0;
	got = tree_lookup(k->w->store, k->w->now, full_path, &now, err);
	if (got <= 0)
		return got;
	k->kept++;
	return tree_editor_put(k->ed, full_path, &now, err);
}

struct skip_unread {
	struct store *store;
	const struct entry *now;
	struct tree_editor *ed;
	const char *prefix;
	const struct restore_target *from;
	bool exact;
};

/* What lies in the folder now, and was not seen there then. */
static int keep_unseen_entries(const struct skip_unread *l, const char *path,
			       const struct entry *then,
			       const struct entry *now, struct err *err)
{
	AUTO(tree) struct tree old = {0};
	AUTO(tree) struct tree tree = {0};
	size_t i;

	if (tree_load(l->store, &then->content, &old, err) < 0 ||
	    tree_load(l->store, &now->content, &tree, err) < 0)
		return -err->num;
	for (i = 0; i < tree.count; i++) {
		auto_free char *full_path =
			path_join(path, tree.entries[i].name);

		if (!tree_find(&old, tree.entries[i].name) &&
		    tree_editor_put(l->ed, full_path, &tree.entries[i], err) <
			    0)
			return -err->num;
	}
	return 0;
}

/*
 * Of what could not be read whole nothing is put over what is there, and no
 * half of a file is made; a folder's readable part comes back.
 */
static int skip_unread(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct skip_unread *l = arg;
	auto_free char *full_path = path_join(l->prefix, path);
	AUTO(entry) struct entry now = {0};
	bool is_dir = S_ISDIR(e->mode);
	auto_free char *stored = path_join(l->from->path, path);
	const char *purged;

	if (!(e->flags & ENTRY_INCOMPLETE) || (!*path && !is_dir))
		return 0;
	if (tree_lookup(l->store, l->now, full_path, &now, err) < 0)
		return -err->num;
	purged = purge_note(&l->from->snapshot, stored);
	if (is_dir)
		report_warning(
			"not all of %s is in this snapshot: what is missing "
			"is left as it is",
			text_quote(*full_path ? full_path : "."));
	else
		report_warning("%s is left out: it %s%s", text_quote(full_path),
			       purged ? "was " : "",
			       purged ? purged
				      : "could not be read whole when it was "
					"stored");
	if (!is_dir)
		return tree_editor_put(l->ed, full_path, &now, err);
	if (!S_ISDIR(now.mode)) {
		entry_free(&now);
		entry_copy(&now, e);
		now.flags &= ~ENTRY_INCOMPLETE;
	} else if (l->exact &&
		   keep_unseen_entries(l, full_path, e, &now, err) < 0) {
		return -err->num;
	}
	return tree_editor_put_dir(l->ed, full_path, &now, err);
}

int restore_want_skip_unread(struct store *store, const struct entry *now,
			     const struct restore_target *from,
			     const char *prefix, struct tree_editor *ed,
			     bool exact, struct err *err)
{
	struct skip_unread l = {
		.store = store,
		.now = now,
		.ed = ed,
		.prefix = prefix,
		.from = from,
		.exact = exact,
	};

	return tree_each(store, &from->entry, skip_unread, &l, err);
}

static int put_restore_target(const struct restore_request *w,
			      struct tree_editor *ed,
			      const struct restore_target *t, struct err *err)
{
	struct keep_current_git k = {.w = w, .ed = ed, .prefix = t->path};

	if (put_missing_parents(w, ed, t, err) < 0 ||
	    tree_editor_put(ed, t->path, &t->entry, err) < 0 ||
	    restore_want_skip_unread(w->store, w->now, t, t->path, ed,
				     w->how == RESTORE_EXACT, err) < 0 ||
	    target_hardlinks_add(w->store, w->now, &t->snapshot.root, t->path,
				 &t->entry, ed, err) < 0)
		return -err->num;
	if (!S_ISDIR(t->entry.mode) || path_has_part(t->path, ".git"))
		return 0;
	if (tree_each(w->store, &t->entry, keep_current_git, &k, err) < 0)
		return -err->num;
	if (k.kept)
		report_note("%s left as it is: name it to restore it",
			    text_count(k.kept, ".git folder"));
	return 0;
}

/* The root itself: the editor has started from it. */
static int put_restored_root(const struct restore_request *w,
			     struct keep_current_git *k,
			     const struct restore_target *t, struct err *err)
{
	int got = restore_want_skip_unread(w->store, w->now, t, "", k->ed,
					   w->how == RESTORE_EXACT, err);

	return got < 0 ? got
		       : tree_each(w->store, &t->entry, keep_current_git, k,
				   err);
}

/* now, with what is wanted put in. */
static int make_restore_want(const struct restore_request *w, struct err *err)
{
	struct tree_editor *ed;
	const struct entry *start = w->now;
	size_t i;
	int got = 0;

	/* The root itself stands for everything, once. */
	for (i = 0; i < w->count; i++)
		if (!w->targets[i].path[0])
			start = &w->targets[i].entry;
	ed = tree_editor_new(w->store, start);
	if (w->how == RESTORE_GONE && start == w->now)
		got = tree_editor_put_dir(ed, "", &w->targets[0].snapshot.root,
					  err);
	for (i = 0; i < w->count && got == 0; i++) {
		struct keep_current_git k = {.w = w, .ed = ed, .prefix = ""};

		if (w->targets[i].path[0])
			got = put_restore_target(w, ed, &w->targets[i], err);
		else
			got = put_restored_root(w, &k, &w->targets[i], err);
		if (k.kept && got == 0)
			report_note("%s left as it is: name it to restore it",
				    text_count(k.kept, ".git folder"));
	}
	if (got == 0)
		got = tree_editor_save(ed, w->ret, err);
	tree_editor_free(&ed);
	return got;
}

int restore_want_make(struct store *store, const struct entry *now,
		      const struct restore_target *targets, size_t count,
		      enum restore_mode how, struct entry *ret, struct err *err)
{
	struct restore_request w = {
		.store = store,
		.now = now,
		.targets = targets,
		.count = count,
		.how = how,
		.ret = ret,
	};

	return make_restore_want(&w, err);
}
