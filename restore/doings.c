#include "restore/doings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"

struct alone {
	const struct doings *did;
	struct store *store;
	const struct snapshot *after;
	struct tree_editor *editor; /* of after; NULL: it is as it shall be */
};

void doings_free(struct doings *d)
{
	size_t i;

	for (i = 0; d->own && i < d->count; i++) {
		struct entry *to = (struct entry *)(uintptr_t)d->items[i].to;

		free((char *)(uintptr_t)d->items[i].path);
		entry_free(to);
		free(to);
	}
	free(d->items);
	*d = (struct doings){0};
}

void doings_add(struct doings *d, const char *path, const struct entry *to)
{
	struct entry *copy;

	GROW(d->items, d->count, d->room);
	d->items[d->count] = (struct doing){path, to, !to->mode};
	if (d->own) {
		copy = mem_zalloc(sizeof(*copy));
		entry_copy(copy, to);
		d->items[d->count].to = copy;
		d->items[d->count].path = mem_strdup(path);
	}
	d->count++;
}

/* What was deleted before what was made in its place. */
static int by_path(const void *a, const void *b)
{
	const struct doing *p = a, *q = b;
	int order = path_compare(p->path, q->path);

	return order ? order : (p->to->mode != 0) - (q->to->mode != 0);
}

void doings_settle(struct doings *d)
{
	size_t i;

	if (d->count)
		qsort(d->items, d->count, sizeof(*d->items), by_path);
	for (i = 1; i < d->count; i++)
		if (strcmp(d->items[i - 1].path, d->items[i].path) == 0)
			d->items[i].emptied |= d->items[i - 1].emptied;
}

/* Of two of one path the latter. */
static const struct doing *find(const struct doings *d, const char *path)
{
	size_t low = 0, high = d->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_compare(d->items[middle].path, path) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && strcmp(d->items[low - 1].path, path) == 0
		       ? &d->items[low - 1]
		       : NULL;
}

static bool went_with_folder(const struct doings *d, const char *path)
{
	auto_free char *up = mem_strdup(path);

	while (*up) {
		char *slash = strrchr(up, '/');
		const struct doing *did;

		*(slash ? slash : up) = '\0';
		did = find(d, up);
		if (did && did->emptied)
			return true;
	}
	return false;
}

static struct tree_editor *editor(struct alone *a)
{
	if (!a->editor)
		a->editor = tree_editor_new(a->store, &a->after->root);
	return a->editor;
}

/* It shall be e, NULL: nothing; was: what it is otherwise. In a folder that is
 * none there, it is nothing. */
static int set(struct alone *a, const char *path, const struct entry *e,
	       const struct entry *was, struct err *err)
{
	struct tree_editor *ed = editor(a);
	int got = 0;

	if (!e || (was && ((e->mode ^ was->mode) & S_IFMT)))
		got = tree_editor_remove(ed, path, err);
	if (got == 0 && e)
		got = S_ISDIR(e->mode) ? tree_editor_put_dir(ed, path, e, err)
				       : tree_editor_put(ed, path, e, err);
	return got == -ENOTDIR ? 0 : got;
}

/* Nobody has given it other rights. Its owner and attributes need not be what
 * was wanted: only root may set all of them. */
static bool same_rights(const struct entry *to, const struct entry *is)
{
	return S_ISLNK(to->mode) || ((to->mode ^ is->mode) & 0777) == 0;
}

/* Whoever writes to a file that was put moves its time. */
static bool as_made(const struct entry *to, const struct entry *is)
{
	if (!to->mode || !is)
		return !to->mode && !is;
	if (is->flags & ENTRY_INCOMPLETE)
		return true;
	return same_rights(to, is) &&
	       (entry_same_content(to, is) ||
		(S_ISREG(to->mode) && S_ISREG(is->mode) &&
		 timestamp_compare(to->mtime, is->mtime) == 0));
}

static bool same(const struct entry *a, const struct entry *b)
{
	return a && b && entry_same_content(a, b) && entry_same_meta(a, b);
}

/* Of the path, or of something in that folder; NULL: of any. */
static bool is_noted(const struct snapshot *s, const char *path)
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

/* What could be read before, and afterwards fails to: what it is goes by what
 * it was, and by what was done. On the way to some paths nothing has failed. */
static bool fails(const struct alone *a, const char *path,
		  const struct entry *from, const struct entry *is)
{
	return from && is && (is->flags & ENTRY_INCOMPLETE) &&
	       !(from->flags & ENTRY_INCOMPLETE) &&
	       ((from->mode ^ is->mode) & S_IFMT) == 0 &&
	       is_noted(a->after, path);
}

/* Owner, rights and time are told without reading it. */
static int complete(struct alone *a, const char *path, const struct entry *from,
		    const struct entry *is, struct err *err)
{
	struct entry e = *from; /* borrows */

	e.mode = is->mode;
	e.uid = is->uid;
	e.gid = is->gid;
	if (S_ISDIR(is->mode))
		e.mtime = is->mtime;
	return set(a, path, &e, is, err);
}

static int decide(struct alone *a, const char *path, const struct entry *was,
		  const struct entry *is, struct err *err)
{
	const struct doing *did = find(a->did, path);
	const struct entry *from = did ? did->to : was;

	if (fails(a, path, from, is))
		return complete(a, path, from, is, err);
	if (same(was, is) || (!*path && (!was || !is)))
		return 0;
	if (did)
		return as_made(did->to, is)
			       ? 0
			       : set(a, path, did->to->mode ? did->to : NULL,
				     is, err);
	if (went_with_folder(a->did, path))
		was = NULL;
	return was || is ? set(a, path, was, is, err) : 0;
}

/* What was not seen before is in none of the two. */
static int keep_unseen(struct alone *a, const char *path, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_editor_get(editor(a), path, &e, err);

	if (got <= 0 || !S_ISDIR(e.mode))
		return got < 0 ? got : 0;
	e.flags |= ENTRY_INCOMPLETE;
	return tree_editor_put_dir(editor(a), path, &e, err);
}

static int judge(void *arg, const char *path, const struct entry *was,
		 const struct entry *is, struct err *err)
{
	struct alone *a = arg;
	int got = decide(a, path, was, is, err);

	if (got == 0 && was && is && S_ISDIR(was->mode) && S_ISDIR(is->mode) &&
	    (was->flags & ~is->flags & ENTRY_INCOMPLETE))
		got = keep_unseen(a, path, err);
	return got;
}

/* What is in a folder that could not be read, and was not there before. */
static int add_made(struct alone *a, struct err *err)
{
	size_t i;
	int got = 0;

	for (i = 0; i < a->did->count && got >= 0; i++) {
		const struct doing *did = &a->did->items[i];
		AUTO(entry) struct entry is = {0};

		if (!did->to->mode)
			continue;
		got = tree_editor_get(editor(a), did->path, &is, err);
		if (got == 0)
			got = set(a, did->path, did->to, NULL, err);
	}
	return got;
}

int doings_alone(const struct doings *d, struct store *store,
		 const struct entry *before, struct snapshot *after,
		 struct err *err)
{
	AUTO(entry) struct entry root = {0};
	struct alone a = {.did = d, .store = store, .after = after};
	int got = tree_diff(store, before, &after->root, judge, &a, err);
	bool more;

	if (got >= 0 && is_noted(after, NULL))
		got = add_made(&a, err);
	more = a.editor != NULL;
	if (got >= 0 && more)
		got = tree_editor_save(a.editor, &root, err);
	tree_editor_free(&a.editor);
	if (got < 0)
		return got;
	if (more) {
		entry_free(&after->root);
		after->root = root;
		root = (struct entry){0};
	}
	return more;
}
