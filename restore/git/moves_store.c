#include "restore/git/moves_store.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/sorted.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

static const struct entry *entry_of(const struct moves_store *s,
				    const struct moves_file *f)
{
	return s->entry ? s->entry(s->arg, f) : f->entry;
}

static int stored_file_key(void *arg, const struct moves_file *f,
			   unsigned char ret[HASH_LEN], struct err *err)
{
	const struct moves_store *s = arg;
	const struct entry *e = entry_of(s, f);

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

static int read_stored_bytes(void *arg, const struct moves_file *f,
			     struct buf *to, struct err *err)
{
	const struct moves_store *s = arg;

	return content_append(s->store, &entry_of(s, f)->content, to, err);
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

void moves_find_stored(struct moves *m, struct store *store)
{
	struct moves_store s = {.store = store};
	const struct moves_source source = moves_of_store(&s);

	SORT_BY_PATH(m->deleted.items, m->deleted.count, path);
	SORT_BY_PATH(m->added.items, m->added.count, path);
	moves_find(m, &source);
}

/* --- two trees --- */

struct gathering {
	struct moves *to;
	bool (*wanted)(void *arg, const char *path, const struct entry *e);
	void *arg;
	uint64_t least, most; /* range of the deleted files' sizes */
	bool dirs;
};

static int add_deleted_entry(void *arg, const char *path, const struct entry *a,
			     const struct entry *b, struct err *err)
{
	struct gathering *g = arg;

	(void)err;
	if (!*path || !a || !a->mode || (b && b->mode) ||
	    !g->wanted(g->arg, path, a))
		return 0;
	moves_add_copy(g->to, false, path, a);
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
	moves_add_copy(g->to, true, path, b);
	return 0;
}

int moves_of_trees(struct store *store, const struct entry *old,
		   const struct entry *now,
		   bool (*wanted)(void *arg, const char *path,
				  const struct entry *e),
		   void *arg, struct moves *ret, struct err *err)
{
	struct gathering g = {ret, wanted, arg, .least = UINT64_MAX};

	*ret = (struct moves){0};
	if (tree_diff(store, old, now, add_deleted_entry, &g, err) < 0)
		return -err->num;
	if (g.least == UINT64_MAX)
		return 0;
	if (tree_diff(store, old, now, add_added_entry, &g, err) < 0)
		return -err->num;
	moves_find_stored(ret, store);
	return 0;
}
