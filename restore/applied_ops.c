#include "restore/applied_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"

struct isolation {
	const struct applied_ops *did;
	struct store *store;
	const struct snapshot *after;
	struct tree_editor *editor; /* edits after; NULL: no change so far */
};

void applied_ops_free(struct applied_ops *d)
{
	size_t i;

	for (i = 0; d->own && i < d->count; i++) {
		struct entry *to = (struct entry *)(uintptr_t)d->items[i].to;

		free((char *)(uintptr_t)d->items[i].path);
		entry_free(to);
		free(to);
	}
	free(d->items);
	free(d->root_path);
	*d = (struct applied_ops){0};
}

void applied_ops_add(struct applied_ops *d, const char *path,
		     const struct entry *to)
{
	struct applied_op *op = VEC_ADD(d);
	struct entry *copy;

	*op = (struct applied_op){path, to, !to->mode};
	if (d->own) {
		copy = mem_zalloc(sizeof(*copy));
		entry_copy(copy, to);
		op->to = copy;
		op->path = mem_strdup(path);
	}
}

void applied_ops_add_plan(struct applied_ops *d, const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->steps.count; i++)
		applied_ops_add(d, plan->steps.items[i].path,
				&plan->steps.items[i].to);
}

/* A deletion sorts before the creation in its place. */
static int compare_applied_ops(const void *a, const void *b)
{
	const struct applied_op *p = a, *q = b;
	int order = path_compare(p->path, q->path);

	return order ? order : (p->to->mode != 0) - (q->to->mode != 0);
}

void applied_ops_sort(struct applied_ops *d)
{
	size_t i;

	VEC_SORT(d, compare_applied_ops);
	for (i = 1; i < d->count; i++)
		if (strcmp(d->items[i - 1].path, d->items[i].path) == 0)
			d->items[i].emptied |= d->items[i - 1].emptied;
}

/* The last operation on a path: a creation follows the deletion. */
static const struct applied_op *find_applied_op(const struct applied_ops *d,
						const char *path)
{
	const struct applied_op *op =
		FIND_BY_PATH(path, d->items, d->count, path);

	while (op && op + 1 < d->items + d->count &&
	       strcmp(op[1].path, path) == 0)
		op++;
	return op;
}

static bool is_in_deleted_dir(const struct applied_ops *d, const char *path)
{
	auto_free char *up = mem_strdup(path);

	while (*up) {
		char *slash = strrchr(up, '/');
		const struct applied_op *did;

		*(slash ? slash : up) = '\0';
		did = find_applied_op(d, up);
		if (did && did->emptied)
			return true;
	}
	return false;
}

static struct tree_editor *editor(struct isolation *a)
{
	if (!a->editor)
		a->editor = tree_editor_new(a->store, &a->after->root);
	return a->editor;
}

/* Sets the entry of path to e (NULL: no entry). In a parent that is no
 * directory the result is no entry. */
static int set_tree_entry(struct tree_editor *ed, const char *path,
			  const struct entry *e, struct err *err)
{
	int got;

	if (!e)
		got = tree_editor_remove(ed, path, err);
	else if (S_ISDIR(e->mode))
		got = tree_editor_put_dir(ed, path, e, err);
	else
		got = tree_editor_put(ed, path, e, err);
	return got == -ENOTDIR ? 0 : got;
}

/* The same; was: the present value of the entry. */
static int set_isolated_entry(struct isolation *a, const char *path,
			      const struct entry *e, const struct entry *was,
			      struct err *err)
{
	if (e && was && ((e->mode ^ was->mode) & S_IFMT) &&
	    set_tree_entry(editor(a), path, NULL, err) < 0)
		return -err->num;
	return set_tree_entry(editor(a), path, e, err);
}

/* Whether the entry is as the action left it. A later write to a file changes
 * its mtime. */
static bool is_as_applied(const struct entry *to, const struct entry *is)
{
	if (!to->mode || !is)
		return !to->mode && !is;
	if (is->flags & ENTRY_INCOMPLETE)
		return true;
	/* Owner and xattrs may differ from the wanted ones, because only root
	 * can set all of them. */
	return (S_ISLNK(to->mode) || ((to->mode ^ is->mode) & 0777) == 0) &&
	       (entry_same_content(to, is) ||
		(S_ISREG(to->mode) && S_ISREG(is->mode) &&
		 timestamp_compare(to->mtime, is->mtime) == 0));
}

/* Whether a note about path, or about an entry in that directory, says
 * "incomplete"; NULL: any note. */
static bool has_incomplete_note(const struct snapshot *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->note_count; i++) {
		const struct note *n = &s->notes[i];
		auto_free char *up = path_parent(n->path);

		if (n->kind == NOTE_INCOMPLETE &&
		    (!path || strcmp(up, path) == 0 ||
		     strcmp(n->path, path) == 0))
			return true;
	}
	return false;
}

static int isolate_path(struct isolation *a, const char *path,
			const struct entry *was, const struct entry *is,
			struct err *err)
{
	const struct applied_op *did = find_applied_op(a->did, path);
	const struct entry *from = did ? did->to : was;

	/* The entry was readable before and is unreadable now: its content
	 * comes from the state before plus the action. On the way to the paths
	 * of a partial snapshot nothing was read, so nothing failed. */
	if (from && is && (is->flags & ENTRY_INCOMPLETE) &&
	    !(from->flags & ENTRY_INCOMPLETE) &&
	    ((from->mode ^ is->mode) & S_IFMT) == 0 &&
	    has_incomplete_note(a->after, path)) {
		struct entry e = *from; /* borrowed strings */

		/* These are known without a read of the content. */
		e.mode = is->mode;
		e.uid = is->uid;
		e.gid = is->gid;
		if (S_ISDIR(is->mode))
			e.mtime = is->mtime;
		return set_isolated_entry(a, path, &e, is, err);
	}
	if ((was && is && entry_same_content(was, is) &&
	     entry_same_meta(was, is)) ||
	    (!*path && (!was || !is)))
		return 0;
	if (did)
		return is_as_applied(did->to, is)
			       ? 0
			       : set_isolated_entry(a, path,
						    did->to->mode ? did->to
								  : NULL,
						    is, err);
	if (is_in_deleted_dir(a->did, path))
		was = NULL;
	return was || is ? set_isolated_entry(a, path, was, is, err) : 0;
}

static int isolate_difference(void *arg, const char *path,
			      const struct entry *was, const struct entry *is,
			      struct err *err)
{
	AUTO(entry) struct entry e = {0};
	struct isolation *a = arg;
	int got = isolate_path(a, path, was, is, err);

	if (got || !was || !S_ISDIR(was->mode) ||
	    !(was->flags & ~(is ? is->flags : 0) & ENTRY_INCOMPLETE))
		return got;
	/* An entry that was unread before is in neither snapshot, also when
	 * another process has removed the directory since then. */
	got = tree_editor_get(editor(a), path, &e, err);
	if (got <= 0 || !S_ISDIR(e.mode))
		return got < 0 ? got : 0;
	e.flags |= ENTRY_INCOMPLETE;
	return tree_editor_put_dir(editor(a), path, &e, err);
}

/* New entries of the action in a directory that is unreadable now. */
static int add_applied_entries(struct isolation *a, struct err *err)
{
	size_t i;
	int got = 0;

	for (i = 0; i < a->did->count && got >= 0; i++) {
		const struct applied_op *did = &a->did->items[i];
		AUTO(entry) struct entry is = {0};

		if (!did->to->mode)
			continue;
		got = tree_editor_get(editor(a), did->path, &is, err);
		if (got == 0)
			got = set_isolated_entry(a, did->path, did->to, NULL,
						 err);
	}
	return got;
}

int applied_ops_isolate(const struct applied_ops *d, struct store *store,
			const struct entry *before, struct snapshot *after,
			struct err *err)
{
	struct isolation a = {.did = d, .store = store, .after = after};
	int got = tree_diff(store, before, &after->root, isolate_difference, &a,
			    err);
	bool more;

	if (got >= 0 && has_incomplete_note(after, NULL))
		got = add_applied_entries(&a, err);
	more = a.editor != NULL;
	if (more)
		got = tree_editor_end(&a.editor, got, &after->root, err);
	return got < 0 ? got : more;
}

int applied_ops_replay(const struct applied_ops *d, struct store *store,
		       char *const *only, struct entry *root, struct err *err)
{
	struct tree_editor *ed = tree_editor_new(store, root);
	int got = 0;
	size_t i;

	for (i = 0; i < d->count && got >= 0; i++) {
		const struct applied_op *did = &d->items[i];
		struct entry to = *did->to; /* borrowed strings */
		AUTO(entry) struct entry is = {0};
		char *const *at = only;

		while (at && *at && !path_below(did->path, *at) &&
		       !path_below(*at, did->path))
			at++;
		if (at && !*at)
			continue;
		/* A directory on the way to the paths that the action read is
		 * marked incomplete there; this tree knows better. */
		if (S_ISDIR(to.mode) &&
		    (got = tree_editor_get(ed, did->path, &is, err)) > 0)
			to.flags = is.flags;
		if (got >= 0)
			got = set_tree_entry(ed, did->path,
					     to.mode ? &to : NULL, err);
	}
	return tree_editor_end(&ed, got, root, err);
}
