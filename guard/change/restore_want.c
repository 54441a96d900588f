#include "guard/change/restore_want.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/state/report.h"
#include "snapshot/tree/catalog.h"

struct restore_request {
	struct store *store;
	const struct entry *now;
	enum restore_mode how;
};

/* Missing directories above the path come from the snapshot. */
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
				    "%s is not a directory: move it away, or "
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

/*
 * A file or directory that could not be read completely replaces nothing, and
 * no partial file is created; the readable part of a directory is restored.
 */
static int skip_unread(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct skip_unread *l = arg;
	auto_free char *full_path = path_join(l->prefix, path);
	AUTO(entry) struct entry now = {0};
	AUTO(tree) struct tree old = {0}, tree = {0};
	bool is_dir = S_ISDIR(e->mode);
	auto_free char *stored = path_join(l->from->path, path);
	const char *purged;
	size_t i;

	if (!(e->flags & ENTRY_INCOMPLETE) || (!*path && !is_dir))
		return 0;
	if (tree_lookup(l->store, l->now, full_path, &now, err) < 0)
		return -err->num;
	purged = snapshot_purge_note(&l->from->snapshot, stored);
	if (is_dir)
		report_warning("this snapshot has only a part of %s: all else "
			       "is unchanged",
			       text_quote(*full_path ? full_path : "."));
	else
		report_warning("%s is skipped: it %s%s", text_quote(full_path),
			       purged ? "was " : "",
			       purged ? purged
				      : "could not be read completely when it "
					"was stored");
	if (!is_dir)
		return tree_editor_put(l->ed, full_path, &now, err);
	if (!S_ISDIR(now.mode)) {
		entry_free(&now);
		entry_copy(&now, e);
		now.flags &= ~ENTRY_INCOMPLETE;
	} else if (l->exact) {
		if (tree_load(l->store, &e->content, &old, err) < 0 ||
		    tree_load(l->store, &now.content, &tree, err) < 0)
			return -err->num;
		/* Present entries that the snapshot does not have stay. */
		for (i = 0; i < tree.count; i++) {
			const struct entry *each = &tree.entries[i];
			auto_free char *kept = path_join(full_path, each->name);

			if (!tree_find(&old, each->name) &&
			    tree_editor_put(l->ed, kept, each, err) < 0)
				return -err->num;
		}
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

struct target_hardlinks {
	struct store *store;
	const struct entry *now;
	const char *path; /* the target's path */
	struct tree_editor *ed;
	VEC(uint64_t) groups; /* sorted */
};

static void target_hardlinks_free(struct target_hardlinks *p)
{
	VEC_FREE(&p->groups);
}

static int add_target_group(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;

	(void)path;
	(void)err;
	if (!e->link_group || !S_ISREG(e->mode))
		return 0;
	*VEC_ADD(&p->groups) = e->link_group;
	return 0;
}

static int add_outside_link(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;
	AUTO(entry) struct entry now = {0};
	int got;

	if (!e->link_group || !S_ISREG(e->mode) || path_below(path, p->path) ||
	    !sorted_find_number(e->link_group, p->groups.items, p->groups.count,
				sizeof(*p->groups.items)))
		return 0;
	got = tree_lookup(p->store, p->now, path, &now, err);
	if (got <= 0)
		return got;
	if (!entry_same_content(&now, e) || !entry_same_meta(&now, e))
		return 0;
	now.link_group = e->link_group;
	return tree_editor_put(p->ed, path, &now, err);
}

/* Puts one target into ed, which has started from it when it is the root. */
static int put_target(const struct restore_request *w, struct tree_editor *ed,
		      const struct restore_target *t, struct err *err)
{
	struct keep_current_git k = {.w = w, .ed = ed, .prefix = t->path};
	AUTO(target_hardlinks)
	struct target_hardlinks p = {
		.store = w->store,
		.now = w->now,
		.path = t->path,
		.ed = ed,
	};

	if (*t->path && (put_missing_parents(w, ed, t, err) < 0 ||
			 tree_editor_put(ed, t->path, &t->entry, err) < 0))
		return -err->num;
	if (restore_want_skip_unread(w->store, w->now, t, t->path, ed,
				     w->how == RESTORE_EXACT, err) < 0)
		return -err->num;
	/*
	 * Hard links between restored files and files that stay. A snapshot
	 * numbers the groups of paths that are hard links of one file; the
	 * project as it is now has other numbers. If a file of the target has a
	 * hard link outside of the target, and that path still holds the same
	 * file, ed gets the group number: the restore then creates a hard link
	 * and no file of its own.
	 */
	if (*t->path &&
	    tree_each(w->store, &t->entry, add_target_group, &p, err) < 0)
		return -err->num;
	VEC_SORT(&p.groups, sorted_compare_numbers);
	if (p.groups.count && tree_each(w->store, &t->snapshot.root,
					add_outside_link, &p, err) < 0)
		return -err->num;
	if (!S_ISDIR(t->entry.mode) || path_has_part(t->path, ".git"))
		return 0;
	if (tree_each(w->store, &t->entry, keep_current_git, &k, err) < 0)
		return -err->num;
	if (k.kept)
		report_note("%s unchanged: name it to restore it",
			    text_count(k.kept, ".git directory"));
	return 0;
}

int restore_want_make(struct store *store, const struct entry *now,
		      const struct restore_target *targets, size_t count,
		      enum restore_mode how, struct entry *ret, struct err *err)
{
	const struct restore_request w = {store, now, how};
	struct tree_editor *ed;
	const struct entry *start = now;
	size_t i;
	int got = 0;

	/* The root itself stands for everything, once. */
	for (i = 0; i < count; i++)
		if (!targets[i].path[0])
			start = &targets[i].entry;
	ed = tree_editor_new(store, start);
	if (how == RESTORE_GONE && start == now)
		got = tree_editor_put_dir(ed, "", &targets[0].snapshot.root,
					  err);
	for (i = 0; i < count && got == 0; i++)
		got = put_target(&w, ed, &targets[i], err);
	if (got == 0)
		got = tree_editor_save(ed, ret, err);
	tree_editor_free(&ed);
	return got;
}
