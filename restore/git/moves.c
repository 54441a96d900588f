#include "restore/git/moves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "restore/git/similar.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

/* The state of one search. */
struct moves_work {
	struct moves *m;
	const struct moves_source *source;
	uint64_t similar_bytes; /* read so far */
};

/* Files of either side, or of both. */
struct files {
	struct moves_file **items;
	size_t count, capacity;
};

static void files_free(struct files *list)
{
	VEC_FREE(list);
}

/* A path and an entry of its own. */
struct moves_copy {
	char *path;
	struct entry entry;
};

static void side_free(struct moves_side *side)
{
	size_t i;

	for (i = 0; i < side->count; i++) {
		struct moves_copy *copy = side->items[i].copy;

		if (!copy)
			continue;
		free(copy->path);
		entry_free(&copy->entry);
		free(copy);
	}
	VEC_FREE(side);
}

void moves_free(struct moves *m)
{
	side_free(&m->deleted);
	side_free(&m->added);
}

struct moves_file *moves_add(struct moves *m, bool added, const char *path,
			     uint32_t mode, uint64_t size)
{
	struct moves_file *f = VEC_ADD(added ? &m->added : &m->deleted);

	f->path = path;
	f->mode = mode;
	f->size = size;
	f->added = added;
	return f;
}

void moves_add_copy(struct moves *m, bool added, const char *path,
		    const struct entry *e)
{
	struct moves_copy *copy = mem_zalloc(sizeof(*copy));
	struct moves_file *f;

	copy->path = mem_strdup(path);
	entry_copy(&copy->entry, e);
	f = moves_add(m, added, copy->path, e->mode, e->size);
	f->entry = &copy->entry;
	f->copy = copy;
}

/* The file with this path, or NULL. */
static struct moves_file *moves_find_path(const struct moves *m, bool added,
					  const char *path)
{
	const struct moves_side *side = added ? &m->added : &m->deleted;

	return FIND_BY_PATH(path, side->items, side->count, path);
}

const struct moves_file *moves_at(const struct moves *m, bool added,
				  const char *path)
{
	const struct moves_file *f = moves_find_path(m, added, path);

	return f && f->other ? f : NULL;
}

static void moves_pair(struct moves_file *deleted, struct moves_file *added,
		       unsigned percent)
{
	deleted->other = added;
	added->other = deleted;
	deleted->percent = added->percent = (uint8_t)percent;
}

static void find_parents(const struct moves *m, const struct moves_side *side)
{
	size_t i;

	for (i = 0; i < side->count; i++) {
		struct moves_file *f = &side->items[i];
		auto_free char *dir = path_parent(f->path);

		f->parent = moves_find_path(m, f->added, dir);
		if (f->parent && !S_ISDIR(f->parent->mode))
			f->parent = NULL;
	}
}

/* --- classes of files --- */

/* Targets of symbolic links are short: all count as one size. */
static int by_size(const void *a, const void *b)
{
	const struct moves_file *x = *(struct moves_file *const *)a;
	const struct moves_file *y = *(struct moves_file *const *)b;
	uint64_t size = S_ISLNK(x->mode) ? 0 : x->size;
	uint64_t other = S_ISLNK(y->mode) ? 0 : y->size;

	return size != other
		       ? (size < other ? -1 : 1)
		       : (int)(x->mode & S_IFMT) - (int)(y->mode & S_IFMT);
}

static int by_key(const void *a, const void *b)
{
	const struct moves_file *x = *(struct moves_file *const *)a;
	const struct moves_file *y = *(struct moves_file *const *)b;
	int order = memcmp(x->key, y->key, sizeof(x->key));

	return order ? order : by_size(a, b);
}

static int by_last_name(const void *a, const void *b)
{
	const struct moves_file *x = *(struct moves_file *const *)a;
	const struct moves_file *y = *(struct moves_file *const *)b;

	return strcmp(path_name(x->path), path_name(y->path));
}

static int by_key_and_name(const void *a, const void *b)
{
	int order = by_key(a, b);

	return order ? order : by_last_name(a, b);
}

/* The order by side, then by path, which is the order in memory. */
static int by_place(const void *a, const void *b)
{
	const struct moves_file *x = *(struct moves_file *const *)a;
	const struct moves_file *y = *(struct moves_file *const *)b;

	if (x->added != y->added)
		return x->added ? 1 : -1;
	if (x->over != y->over)
		return x->over ? 1 : -1;
	return (x > y) - (x < y);
}

static void add_files(const struct moves_side *side,
		      bool (*wanted)(const struct moves_file *f),
		      struct files *to)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (wanted(&side->items[i]))
			*VEC_ADD(to) = &side->items[i];
}

/* Calls each() for each class of wanted files that are equal in this order. */
static void each_class(struct moves_work *w,
		       bool (*wanted)(const struct moves_file *f),
		       int (*order)(const void *a, const void *b),
		       void (*each)(struct moves_work *w,
				    struct moves_file **class, size_t count))
{
	AUTO(files) struct files list = {0};
	size_t from, end;

	add_files(&w->m->deleted, wanted, &list);
	add_files(&w->m->added, wanted, &list);
	VEC_SORT(&list, order);
	for (from = 0; from < list.count; from = end) {
		for (end = from + 1;
		     end < list.count &&
		     order(&list.items[from], &list.items[end]) == 0;
		     end++)
			continue;
		each(w, list.items + from, end - from);
	}
}

/* --- moved directories --- */

struct vote {
	struct moves_file *from, *to;
};

static int compare_votes(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Finds the destinations of the files in each deleted directory. A file votes
 * for every directory above it in which it kept its relative path. */
static void count_votes(struct moves_work *w)
{
	struct moves_side *deleted = &w->m->deleted;
	VEC(struct vote) v = {0};
	size_t from, end, i;

	for (i = 0; i < deleted->count; i++) {
		struct moves_file *f = &deleted->items[i], *g = f->other;

		f->best = NULL;
		f->votes = 0;
		if (S_ISDIR(f->mode))
			continue;
		while (g && by_last_name(&f, &g) == 0 && f->parent &&
		       g->parent) {
			f = f->parent;
			g = g->parent;
			*VEC_ADD(&v) = (struct vote){f, g};
		}
	}
	VEC_SORT(&v, compare_votes);
	for (from = 0; from < v.count; from = end) {
		const struct vote *x = &v.items[from];

		for (end = from;
		     end < v.count && compare_votes(x, &v.items[end]) == 0;
		     end++)
			continue;
		if (end - from > x->from->votes) {
			x->from->votes = (uint32_t)(end - from);
			x->from->best = x->to;
		}
	}
	VEC_FREE(&v);
}

static struct moves_file *find_below(const struct moves_work *w,
				     const struct moves_file *dir,
				     const char *rest)
{
	auto_free char *path = path_join(dir->path, rest);

	return moves_find_path(w->m, true, path);
}

/* The place of the deleted file if its directory moved as a whole. */
static struct moves_file *expected(const struct moves_work *w,
				   const struct moves_file *f)
{
	const struct moves_file *dir;
	struct moves_file *to = NULL;

	for (dir = f->parent; dir && !to; dir = dir->parent)
		if (dir->best)
			to = find_below(w, dir->best,
					path_rest(f->path, dir->path));
	return to;
}

/* The place of the deleted file in its directory, where that was moved. */
static struct moves_file *inherited(const struct moves_work *w,
				    const struct moves_file *f)
{
	return f->parent && f->parent->other
		       ? find_below(w, f->parent->other, path_name(f->path))
		       : NULL;
}

static bool is_free_dir(const struct moves_file *f)
{
	return f && S_ISDIR(f->mode) && !f->other;
}

/* Pairs directories, and files that moved with them. */
static void pair_dirs(struct moves_work *w)
{
	struct moves_side *deleted = &w->m->deleted;
	struct moves_file *f, *to, *dir;
	size_t i;

	for (i = 0; i < deleted->count; i++)
		if (!S_ISDIR(deleted->items[i].mode))
			for (dir = deleted->items[i].parent; dir;
			     dir = dir->parent)
				dir->files++;
	for (i = 0; i < deleted->count; i++) {
		f = &deleted->items[i];
		to = inherited(w, f);
		if (S_ISDIR(f->mode)) {
			if (is_free_dir(f->best) && f->votes * 2 > f->files)
				to = f->best;
			if (is_free_dir(to))
				moves_pair(f, to, 100);
		}
		if (to && f->other == to)
			f->with_parent = to->with_parent =
				inherited(w, f) == to;
	}
}

/* --- the same bytes --- */

static bool has_bytes(const struct moves_file *f)
{
	return S_ISREG(f->mode) || S_ISLNK(f->mode);
}

static bool is_unpaired(const struct moves_file *f)
{
	return f->keyed && !f->other;
}

/* Reads the files of one size if both sides have one. Small files come first:
 * there are many, and they are read fast. */
static void read_keys(struct moves_work *w, struct moves_file **class,
		      size_t count)
{
	struct err ignored;
	size_t deleted = 0, i;

	for (i = 0; i < count; i++)
		deleted += !class[i]->added;
	for (i = 0; deleted && deleted < count && i < count; i++) {
		int got = w->source->key(w->source->arg, class[i],
					 class[i] -> key, &ignored);

		w->m->limited |= got == -EFBIG;
		class[i]->keyed = got >= 0;
	}
}

/* Pairs the files of a class in order. */
static void pair_class(struct moves_work *w, struct moves_file **class,
		       size_t count)
{
	size_t added = 0, i;

	(void)w;
	qsort(class, count, sizeof(*class), by_place);
	while (added < count && !class[added] -> added)
		added++;
	/* All empty files are equal: only one with the same name was moved. */
	for (i = 0; added + i < count && !class[i] -> added; i++)
		if ((S_ISREG(class[i] -> mode) && class[i] -> size) ||
		    by_last_name(&class[i], &class[added + i]) == 0)
			moves_pair(class[i], class[added + i], 100);
}

/* The same if only one pair is possible. */
static void pair_only(struct moves_work *w, struct moves_file **class,
		      size_t count)
{
	size_t deleted = 0, added = 0, i;

	for (i = 0; i < count; i++) {
		deleted += !class[i]->added;
		added += class[i]->added && !class[i]->over;
	}
	if (deleted == 1 && added == 1)
		pair_class(w, class, count);
}

static void pair_equal_bytes(struct moves_work *w)
{
	size_t i;

	each_class(w, has_bytes, by_size, read_keys);
	each_class(w, is_unpaired, by_key, pair_only);
	count_votes(w);
	for (i = 0; i < w->m->deleted.count; i++) {
		struct moves_file *f = &w->m->deleted.items[i], *to;

		to = is_unpaired(f) ? expected(w, f) : NULL;
		if (to && is_unpaired(to) && by_key(&f, &to) == 0)
			moves_pair(f, to, 100);
	}
	each_class(w, is_unpaired, by_key_and_name, pair_class);
	each_class(w, is_unpaired, by_key, pair_class);
}

/* --- similar texts --- */

static bool is_open(const struct moves_file *f)
{
	return !f->other && S_ISREG(f->mode) && f->size && !f->over &&
	       !f->plain && f->size <= MOVES_SIMILAR_MAX;
}

/* Whether the smaller file could be half of the larger one. */
static bool may_be_similar(const struct moves_file *a,
			   const struct moves_file *b)
{
	return a->size <= 2 * b->size && b->size <= 2 * a->size;
}

/* False: the file is not readable, or the limit is reached. */
static bool read_similar(struct moves_work *w, const struct moves_file *f,
			 struct buf *to)
{
	struct err ignored;

	if (w->similar_bytes + f->size > MOVES_SIMILAR_BYTES) {
		w->m->limited = true;
		return false;
	}
	w->similar_bytes += f->size;
	return w->source->bytes(w->source->arg, f, to, &ignored) == 0;
}

static void try_pair(struct moves_work *w, struct moves_file *deleted,
		     struct moves_file *added)
{
	AUTO(buf) struct buf a = {0}, b = {0};
	struct err ignored;
	int percent;

	if (!is_open(deleted) || !is_open(added) ||
	    !may_be_similar(deleted, added) || !read_similar(w, deleted, &a) ||
	    !read_similar(w, added, &b))
		return;
	percent = similar_percent(&a, &b, &ignored);
	w->m->limited |= percent < 0;
	if (percent >= MOVES_SIMILAR)
		moves_pair(deleted, added, (unsigned)percent);
}

/* Pairs two files whose name is on each side only once. */
static void pair_only_names(struct moves_work *w, struct moves_file **class,
			    size_t count)
{
	if (count == 2 && class[0] -> added != class[1] -> added)
		try_pair(w, class[class[0] -> added],
			 class[!class[0] -> added]);
}

struct candidate {
	struct moves_file *deleted, *added;
	unsigned percent;
	bool name; /* the same name */
};

/* Number of candidates that are kept for each added file. */
#define BEST 4

/* The best first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	if (x->name != y->name)
		return x->name ? -1 : 1;
	if (x->added != y->added)
		return x->added < y->added ? -1 : 1;
	return (x->deleted > y->deleted) - (x->deleted < y->deleted);
}

/* Drops the files for which no file of the other side has a similar size. */
static void drop_unmatched(struct files *list, struct files *other)
{
	size_t kept = 0, low = 0, i;

	VEC_SORT(list, by_size);
	VEC_SORT(other, by_size);
	for (i = 0; i < list->count; i++) {
		while (low < other->count &&
		       other->items[low]->size * 2 < list->items[i]->size)
			low++;
		if (low < other->count &&
		    may_be_similar(other->items[low], list->items[i]))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

/* Adds a candidate to the best ones of its added file. */
static void keep_best(struct candidate *best, const struct candidate *c)
{
	size_t at;

	for (at = BEST; at && compare_candidates(c, &best[at - 1]) < 0; at--)
		continue;
	if (at == BEST)
		return;
	memmove(best + at + 1, best + at, (BEST - 1 - at) * sizeof(*best));
	best[at] = *c;
}

/* Signatures of these files, numbered on from the ones before. */
static int sign_files(struct moves_work *w, struct similar *s,
		      const struct files *files, struct err *err)
{
	size_t i;

	for (i = 0; i < files->count; i++) {
		AUTO(buf) struct buf bytes = {0};

		if (!read_similar(w, files->items[i], &bytes))
			buf_clear(&bytes);
		if (similar_add(s, &bytes, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Compares an added file with all deleted ones. */
static int find_best(struct similar *s, const struct files *deleted,
		     struct moves_file *added, size_t number,
		     struct candidate *best, struct err *err)
{
	auto_free size_t *with = mem_alloc(deleted->count * sizeof(*with));
	AUTO(buf) struct buf percents = {0};
	size_t count = 0, k;

	for (k = 0; k < deleted->count; k++)
		if (may_be_similar(deleted->items[k], added))
			with[count++] = k;
	if (similar_compare(s, number, with, count, &percents, err) < 0)
		return -err->num;
	for (k = 0; k < count; k++) {
		struct candidate c = {deleted->items[with[k]], added,
				      percents.data[k], false};

		c.name = by_last_name(&c.deleted, &c.added) == 0;
		if (c.percent >= MOVES_SIMILAR)
			keep_best(best, &c);
	}
	return 0;
}

static int compare_all(struct moves_work *w, const struct files *deleted,
		       const struct files *added, struct err *err)
{
	auto_free struct candidate *found =
		mem_zalloc(added->count * BEST * sizeof(*found));
	AUTO(similar) struct similar s = {0};
	size_t count = added->count * BEST, i;

	if (sign_files(w, &s, deleted, err) < 0 ||
	    sign_files(w, &s, added, err) < 0)
		return -err->num;
	for (i = 0; i < added->count; i++)
		if (find_best(&s, deleted, added->items[i], deleted->count + i,
			      found + i * BEST, err) < 0)
			return -err->num;
	qsort(found, count, sizeof(*found), compare_candidates);
	for (i = 0; i < count && found[i].percent; i++)
		if (!found[i].deleted->other && !found[i].added->other)
			moves_pair(found[i].deleted, found[i].added,
				   found[i].percent);
	return 0;
}

static void pair_similar_texts(struct moves_work *w)
{
	AUTO(files) struct files deleted = {0}, added = {0};
	struct err ignored;
	size_t i;

	for (i = 0; i < w->m->deleted.count; i++) {
		struct moves_file *f = &w->m->deleted.items[i], *to;

		to = is_open(f) ? expected(w, f) : NULL;
		if (to)
			try_pair(w, f, to);
	}
	each_class(w, is_open, by_last_name, pair_only_names);
	add_files(&w->m->deleted, is_open, &deleted);
	add_files(&w->m->added, is_open, &added);
	drop_unmatched(&deleted, &added);
	drop_unmatched(&added, &deleted);
	VEC_SORT(&deleted, by_place);
	VEC_SORT(&added, by_place);
	if (deleted.count + added.count > MOVES_SIMILAR_FILES)
		w->m->limited = true;
	else if (deleted.count &&
		 compare_all(w, &deleted, &added, &ignored) < 0)
		w->m->limited = true;
}

void moves_find(struct moves *m, const struct moves_source *source)
{
	struct moves_work w = {.m = m, .source = source};

	if (!m->deleted.count || !m->added.count)
		return;
	find_parents(m, &m->deleted);
	find_parents(m, &m->added);
	pair_equal_bytes(&w);
	count_votes(&w);
	pair_similar_texts(&w);
	count_votes(&w);
	pair_dirs(&w);
}

/* --- entries of the store --- */

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
		return fail(err, EIO, "it was not stored completely");
	memset(ret, 0, HASH_LEN);
	if (S_ISLNK(e->mode)) {
		hash_keyed(&s->hash, e->link, strlen(e->link), ret);
	} else if (e->size) {
		memcpy(ret, e->content.hash, HASH_LEN);
		/* Objects with the same hash are told apart by their number. */
		ret[0] ^= (unsigned char)e->content.ord;
		ret[1] ^= (unsigned char)(e->content.ord >> 8);
	}
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
