#include "restore/git/moves_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

static int stored_file_key(void *arg, const struct moves_file *f, bool added,
			   unsigned char ret[HASH_LEN], struct err *err)
{
	const struct moves_store *s = arg;
	const struct entry *e = s->entry(s->arg, f, added);

	if (e->flags & ENTRY_INCOMPLETE)
		return fail(err, EIO, "it was not stored whole");
	memset(ret, 0, HASH_LEN);
	if (S_ISLNK(e->mode)) {
		hash_keyed(&s->hash, e->link, strlen(e->link), ret);
		return 0;
	}
	if (!e->size)
		return 0;
	memcpy(ret, e->content.hash, HASH_LEN);
	/* Objects with the same hash are told apart by their number. */
	ret[0] ^= (unsigned char)e->content.ord;
	ret[1] ^= (unsigned char)(e->content.ord >> 8);
	return 0;
}

static int read_stored_bytes(void *arg, const struct moves_file *f, bool added,
			     struct buf *to, struct err *err)
{
	const struct moves_store *s = arg;
	const struct entry *e = s->entry(s->arg, f, added);

	return content_append(s->store, &e->content, to, err);
}

struct moves_source moves_of_store(struct moves_store *s)
{
	unsigned char secret[SECRET_LEN] = {0};

	/* Without a secret, targets of symbolic links could be crafted to
	 * collide. */
	(void)!getrandom(secret, sizeof(secret), 0);
	hash_key_make(&s->hash, HASH_XXH3_64X2, secret);
	return (struct moves_source){stored_file_key, read_stored_bytes, s};
}

/* --- two trees --- */

static const struct entry *entry_at(void *arg, const struct moves_file *f,
				    bool added)
{
	const struct moves_trees *t = arg;

	return added ? &t->added[f->index] : &t->deleted[f->index];
}

static void add_moves_entry(struct moves_side *side, struct entry **entries,
			    char ***paths, size_t *capacity, const char *path,
			    const struct entry *e)
{
	size_t at = side->count;

	if (at == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 16;
		*entries = mem_resize(*entries, *capacity, sizeof(**entries));
		*paths = mem_resize(*paths, *capacity, sizeof(**paths));
	}
	(*paths)[at] = mem_strdup(path);
	(*entries)[at] = (struct entry){0};
	entry_copy(&(*entries)[at], e);
	moves_add(side, (*paths)[at], e->mode, e->size, at);
}

void moves_trees_add(struct moves_trees *t, const char *path,
		     const struct entry *e, bool added)
{
	if (added)
		add_moves_entry(&t->moves.added, &t->added, &t->added_paths,
				&t->added_capacity, path, e);
	else
		add_moves_entry(&t->moves.deleted, &t->deleted,
				&t->deleted_paths, &t->deleted_capacity, path,
				e);
}

void moves_trees_find(struct moves_trees *t, struct store *store)
{
	struct moves_source source;

	t->from = (struct moves_store){
		.store = store, .entry = entry_at, .arg = t};
	source = moves_of_store(&t->from);
	SORT_BY_PATH(t->moves.deleted.items, t->moves.deleted.count, path);
	SORT_BY_PATH(t->moves.added.items, t->moves.added.count, path);
	moves_find(&t->moves, &source);
}

struct gathering {
	struct moves_trees *to;
	bool (*wanted)(void *arg, const char *path, const struct entry *e);
	void *arg;
	uint64_t least, most; /* range of the deleted files' sizes */
	bool dirs;
};

static int add_deleted_entry(void *arg, const char *path, const struct entry *a,
			     const struct entry *b, struct err *err)
{
	struct gathering *g = arg;
	struct moves_trees *t = g->to;

	(void)err;
	if (!*path || !a || !a->mode || (b && b->mode) ||
	    !g->wanted(g->arg, path, a))
		return 0;
	moves_trees_add(t, path, a, false);
	g->dirs |= S_ISDIR(a->mode);
	if (S_ISDIR(a->mode))
		return 0;
	g->least = a->size < g->least ? a->size : g->least;
	g->most = a->size > g->most ? a->size : g->most;
	return 0;
}

/* Only files in the range can be a destination. */
static int add_added_entry(void *arg, const char *path, const struct entry *a,
			   const struct entry *b, struct err *err)
{
	struct gathering *g = arg;

	(void)err;
	if (!*path || !b || !b->mode || (a && a->mode) ||
	    (S_ISDIR(b->mode)
		     ? !g->dirs
		     : b->size < g->least / 2 || b->size / 2 > g->most) ||
	    !g->wanted(g->arg, path, b))
		return 0;
	moves_trees_add(g->to, path, b, true);
	return 0;
}

int moves_trees_make(struct store *store, const struct entry *old,
		     const struct entry *now,
		     bool (*wanted)(void *arg, const char *path,
				    const struct entry *e),
		     void *arg, struct moves_trees *ret, struct err *err)
{
	struct gathering g = {ret, wanted, arg, .least = UINT64_MAX};

	*ret = (struct moves_trees){0};
	if (tree_diff(store, old, now, add_deleted_entry, &g, err) < 0)
		return -err->num;
	if (g.least == UINT64_MAX)
		return 0;
	if (tree_diff(store, old, now, add_added_entry, &g, err) < 0)
		return -err->num;
	moves_trees_find(ret, store);
	return 0;
}

void moves_trees_free(struct moves_trees *t)
{
	size_t i;

	for (i = 0; i < t->moves.deleted.count; i++) {
		entry_free(&t->deleted[i]);
		free(t->deleted_paths[i]);
	}
	for (i = 0; i < t->moves.added.count; i++) {
		entry_free(&t->added[i]);
		free(t->added_paths[i]);
	}
	free(t->deleted);
	free(t->added);
	free(t->deleted_paths);
	free(t->added_paths);
	moves_free(&t->moves);
}

const struct moves_file *moves_trees_at(const struct moves_trees *t,
					const char *path, bool added)
{
	const struct moves_side *side =
		added ? &t->moves.added : &t->moves.deleted;
	uint32_t at = moves_find_path(side, path);

	return at == MOVES_NONE || side->items[at].other == MOVES_NONE
		       ? NULL
		       : &side->items[at];
}
