#include "guard/change/delta.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

void delta_free(struct delta *d)
{
	VEC_FREE(&d->rows);
	lookup_free(&d->find[0]);
	lookup_free(&d->find[1]);
	entry_free(&d->old);
	entry_free(&d->now);
}

struct delta_listing {
	struct delta *delta;
	delta_unrecorded *unrecorded;
	void *arg;
	struct change_list *to;
	/* The directory whose entries are added or deleted with it; NULL. */
	char *whole;
};

/* CHANGE_ATTRS, CHANGE_ACL and (file capabilities) CHANGE_SETID. */
static unsigned int attr_flags(struct store *store, const struct entry *a,
			       const struct entry *b)
{
	AUTO(xattrs) struct xattrs was = {0}, now = {0};
	unsigned int flags = 0;
	struct err ignored;

	if (!b || (b->attrs.type == OBJECT_NONE &&
		   (!a || a->attrs.type == OBJECT_NONE)))
		return 0;
	if (attrset_load(store, &b->attrs, &now, &ignored) < 0 ||
	    (a && attrset_load(store, &a->attrs, &was, &ignored) < 0))
		return CHANGE_UNREADABLE;
	if (S_ISREG(b->mode) && xattrs_find(&now, "security.capability"))
		flags |= CHANGE_SETID;
	if (a && (a->mode & S_IFMT) == (b->mode & S_IFMT)) {
		flags |= xattrs_equal(&was, &now) ? 0 : CHANGE_ATTRS;
		flags |= xattrs_acl_differs(&now, &was) ? CHANGE_ACL : 0;
	}
	return flags;
}

/* -1: nothing but an mtime differs. */
static int delta_kind(const struct entry *a, const struct entry *b)
{
	if (!a || !b)
		return a ? CHANGE_DELETED : CHANGE_ADDED;
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return CHANGE_TYPE;
	/* A socket that a program binds again is another one. */
	if (!entry_same_content(a, b) ||
	    (S_ISSOCK(a->mode) && !entry_same_time(a, b)))
		return CHANGE_MODIFIED;
	return entry_same_meta(a, b) ? -1 : CHANGE_META;
}

static int list_difference(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	struct delta_listing *l = arg;
	const struct change *added;
	int kind = delta_kind(a, b);
	unsigned int flags = 0;
	struct meta was, now;

	(void)err;
	if (kind < 0 || (!*path && (!a || !b)) ||
	    (l->unrecorded && ((!a && l->unrecorded(l->arg, path, false)) ||
			       (!b && l->unrecorded(l->arg, path, true)))))
		return 0;
	if (kind == CHANGE_MODIFIED && !entry_same_meta(a, b))
		flags |= CHANGE_META_TOO;
	if (path_has_part(path, ".git"))
		flags |= CHANGE_GIT;
	if (l->whole && path_below(path, l->whole))
		flags |= CHANGE_WITH_PARENT;
	if ((a && a->flags & ENTRY_INCOMPLETE) ||
	    (b && b->flags & ENTRY_INCOMPLETE))
		flags |= CHANGE_UNREADABLE;
	flags |= attr_flags(*l->delta->store, a, b);
	if (a)
		was = entry_meta(a);
	if (b)
		now = entry_meta(b);
	change_list_add(l->to, path, (enum change_kind)kind, flags,
			a ? &was : NULL, b ? &now : NULL);
	added = &l->to->items[l->to->count - 1];
	if (S_ISREG(added->old.mode))
		*VEC_ADD(&l->delta->rows) = (struct delta_row){
			.path = added->path,
			.old = added->old,
			.content = a->content,
		};
	if (!(flags & CHANGE_WITH_PARENT) && (!a || !b) &&
	    S_ISDIR((a ? a : b)->mode)) {
		free(l->whole);
		l->whole = mem_strdup(path);
	}
	return 0;
}

int delta_list(struct delta *d, delta_unrecorded *unrecorded, void *arg,
	       struct change_list *to, struct err *err)
{
	struct delta_listing l = {d, unrecorded, arg, to, NULL};
	int got = tree_diff(*d->store, &d->old, &d->now, list_difference, &l,
			    err);

	free(l.whole);
	return got;
}

/* Risks and losses are judged by two threads, and a store serves one. */
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

int delta_entry(struct delta *d, const char *path, bool now, struct entry *ret,
		struct err *err)
{
	struct lookup *find = &d->find[now];
	int got;

	(void)pthread_mutex_lock(&store_lock);
	find->store = *d->store;
	find->root = now ? &d->now : &d->old;
	got = lookup_find(find, path, ret, err);
	(void)pthread_mutex_unlock(&store_lock);
	return got ? got : fail(err, ENOENT, "%s", text_quote(path));
}

const struct delta_row *delta_find(const struct delta *d, const char *path)
{
	return FIND_BY_PATH(path, d->rows.items, d->rows.count, path);
}

int delta_read(struct delta *d, const char *path, bool now, uint64_t max,
	       struct buf *to, struct err *err)
{
	const struct delta_row *row = now ? NULL : delta_find(d, path);
	AUTO(entry) struct entry e = {0};
	const struct oid *content = row ? &row->content : &e.content;
	int got;

	if (!row && delta_entry(d, path, now, &e, err) < 0)
		return -err->num;
	if (e.link)
		buf_add_text(to, e.link);
	if ((row ? row->old.size : e.size) > max)
		return fail(err, EFBIG, "%s is too large", text_quote(path));
	if (content->type == OBJECT_NONE)
		return 0;
	(void)pthread_mutex_lock(&store_lock);
	got = content_append(*d->store, content, to, err);
	(void)pthread_mutex_unlock(&store_lock);
	return got;
}
