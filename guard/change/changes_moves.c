#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/change/changes.h"
#include "guard/change/delta.h"
#include "guard/rules/risk.h"
#include "restore/git/moves.h"

/* Largest number of bytes that is read to find equal files. */
#define READ_MAX ((uint64_t)2 << 30)
#define PIECE (1 << 20)
_Static_assert(CHANGES_READ_MAX >= MOVES_SIMILAR_MAX, "read similar files");

/* The two directories of a root. */
struct moves_layer {
	const struct changes_root *root;
	struct hash_key hash;
	uint64_t left; /* remaining bytes that may be read */
	unsigned char *piece; /* bytes behind the hashed ones */
};

static int moved_file_bytes(void *arg, const struct moves_file *f,
			    struct buf *to, struct err *err)
{
	const struct moves_layer *l = arg;

	return changes_read(l->root, f->path, f->mode, f->added, to, err);
}

static int moved_file_key(void *arg, const struct moves_file *f,
			  unsigned char ret[HASH_LEN], struct err *err)
{
	struct moves_layer *l = arg;
	AUTO(buf) struct buf target = {0};
	auto_close int fd = -1;
	ssize_t got;

	memset(ret, 0, HASH_LEN);
	if (S_ISLNK(f->mode)) {
		if (moved_file_bytes(arg, f, &target, err) < 0)
			return -err->num;
		hash_keyed(&l->hash, target.data, target.len, ret);
		return 0;
	}
	if (!f->size)
		return 0;
	if (f->size > l->left)
		return fail(err, EFBIG, "that is too much");
	fd = changes_open(l->root, f->path, f->added, err);
	if (fd < 0)
		return fd;
	do {
		got = fd_read(fd, l->piece + HASH_LEN, PIECE);
		if (got < 0)
			return fail_errno(err, "read a file");
		if ((uint64_t)got > l->left)
			return fail(err, EFBIG, "that is too much");
		l->left -= (uint64_t)got;
		memcpy(l->piece, ret, HASH_LEN);
		hash_keyed(&l->hash, l->piece, HASH_LEN + (size_t)got, ret);
	} while (got == PIECE);
	return 0;
}

/* --- one list --- */

static bool is_move_candidate(const struct change *c, bool home)
{
	return !(c->flags & (CHANGE_NODE | CHANGE_UNREADABLE)) &&
	       !changes_is_apart(c, home);
}

static bool has_deleted(const struct change_list *list, bool home)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i].kind == CHANGE_DELETED &&
		    !S_ISDIR(list->items[i].old.mode) &&
		    is_move_candidate(&list->items[i], home))
			return true;
	return false;
}

bool changes_group_alone(const struct change_side *a,
			 const struct change_side *b)
{
	return a->gid != b->gid && a->uid == b->uid && geteuid() != 0;
}

bool changes_same_meta(const struct change_side *a, const struct change_side *b)
{
	return a->mode == b->mode && a->uid == b->uid &&
	       (a->gid == b->gid || changes_group_alone(a, b)) &&
	       a->chattr == b->chattr;
}

void changes_moves_count(struct change_move *moves, size_t count)
{
	auto_free struct change_move **above =
		mem_alloc((count + 1) * sizeof(*above));
	size_t depth = 0, i;

	for (i = 0; i < count; i++) {
		struct change_move *now = &moves[i];

		while (depth && !path_below(now->to, above[depth - 1]->to))
			depth--;
		if (S_ISDIR(now->now.mode)) {
			if (!now->with_dir)
				above[depth++] = now;
		} else if (now->with_dir && depth) {
			above[depth - 1]->files++;
		}
	}
}

static bool is_move_end(const struct change *c, bool home)
{
	return is_move_candidate(c, home) &&
	       (c->kind == CHANGE_DELETED || c->kind == CHANGE_ADDED ||
		c->kind == CHANGE_MODIFIED);
}

static void add_move_end(struct moves *m, const struct change *c,
			 const char *path, size_t index)
{
	bool deleted = c->kind == CHANGE_DELETED;
	const struct change_side *it = deleted ? &c->old : &c->now;
	struct moves_file *f = moves_add(m, !deleted, path, it->mode, it->size);

	f->index = index;
	f->over = c->kind == CHANGE_MODIFIED;
	f->plain = risk_in_generated(c->path);
}

static void find_moves_in(struct change_list *list, bool home,
			  const struct moves_source *source)
{
	AUTO(moves) struct moves m = {0};
	size_t i;

	if (list->moves || !has_deleted(list, home))
		return;
	for (i = 0; i < list->count; i++)
		if (is_move_end(&list->items[i], home))
			add_move_end(&m, &list->items[i], list->items[i].path,
				     i);
	moves_find(&m, source);
	list->moves = mem_zalloc((m.added.count + 1) * sizeof(*list->moves));
	for (i = 0; i < m.added.count; i++) {
		const struct moves_file *f = &m.added.items[i];
		struct change *from, *to = &list->items[f->index];

		if (!f->other)
			continue;
		from = &list->items[f->other->index];
		list->moves[list->move_count++] = (struct change_move){
			.from = from->path,
			.to = to->path,
			.old = from->old,
			.now = to->now,
			.over = to->old,
			.flags = from->flags | to->flags,
			.percent = f->percent,
			.with_dir =
				f->with_parent && f->percent == 100 &&
				!(to->flags & CHANGE_SETID) &&
				!((from->flags | to->flags) & CHANGES_EDITED) &&
				changes_same_meta(&from->old, &to->now),
		};
		from->move = to->move = (unsigned int)list->move_count;
	}
	list->moves = mem_resize(list->moves, list->move_count + 1,
				 sizeof(*list->moves));
	changes_moves_count(list->moves, list->move_count);
	list->more_moves = m.limited;
}

/* --- each root --- */

/* The hash is keyed, so that a run cannot construct files with equal hashes. */
static bool start_layer(struct moves_layer *l)
{
	unsigned char secret[SECRET_LEN];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return false;
	hash_key_make(&l->hash, HASH_XXH3_64X2, secret);
	l->left = READ_MAX;
	l->piece = mem_alloc(HASH_LEN + PIECE);
	return true;
}

struct moves_lookup {
	struct delta *delta;
	struct entry entry; /* the last one */
};

static const struct entry *find_moved_entry(void *arg,
					    const struct moves_file *f)
{
	struct moves_lookup *l = arg;
	struct err ignored;

	entry_free(&l->entry);
	if (delta_entry(l->delta, f->path, f->added, &l->entry, &ignored) < 0)
		l->entry.flags = ENTRY_INCOMPLETE;
	return &l->entry;
}

/* Finds the moves by the ids of the store. */
static void find_moves_in_delta(struct changes_root *g)
{
	struct moves_lookup l = {.delta = g->delta};
	struct moves_store from = {.store = *g->delta->store,
				   .entry = find_moved_entry,
				   .arg = &l};
	const struct moves_source source = moves_of_store(&from);

	find_moves_in(&g->list, g->home, &source);
	entry_free(&l.entry);
}

static void find_moves_in_root(struct changes_root *g)
{
	struct moves_layer l = {g};
	const struct moves_source source = {moved_file_key, moved_file_bytes,
					    &l};

	if (g->list.move_count || !has_deleted(&g->list, g->home))
		return;
	if (g->delta) {
		find_moves_in_delta(g);
		return;
	}
	if (!start_layer(&l))
		return;
	find_moves_in(&g->list, g->home, &source);
	free(l.piece);
}

/* --- from one root to another --- */

/* An end that no move in its own root has. */
struct loose_end {
	size_t root;
	const struct change *change;
	char *path; /* unique among all roots */
};

struct loose_ends {
	struct loose_end *items;
	size_t count, capacity;
	const struct changes *changes;
	struct moves_layer layer;
};

static void loose_ends_free(struct loose_ends *ends)
{
	size_t i;

	for (i = 0; i < ends->count; i++)
		free(ends->items[i].path);
	VEC_FREE(ends);
	free(ends->layer.piece);
}

/* The file under its path in its own root. */
static struct moves_file own_file(struct loose_ends *ends,
				  const struct moves_file *f)
{
	const struct loose_end *end = &ends->items[f->index];
	struct moves_file own = *f;

	ends->layer.root = &ends->changes->roots[end->root];
	own.path = end->change->path;
	return own;
}

static int loose_end_key(void *arg, const struct moves_file *f,
			 unsigned char ret[HASH_LEN], struct err *err)
{
	struct loose_ends *ends = arg;
	const struct moves_file own = own_file(ends, f);

	return moved_file_key(&ends->layer, &own, ret, err);
}

static int loose_end_bytes(void *arg, const struct moves_file *f,
			   struct buf *to, struct err *err)
{
	struct loose_ends *ends = arg;
	const struct moves_file own = own_file(ends, f);

	return moved_file_bytes(&ends->layer, &own, to, err);
}

static bool is_loose_end(const struct change *c, bool home)
{
	return !c->move && is_move_end(c, home);
}

/* Whether one root has a loose deleted file, and another one an added file. */
static bool may_move_across(const struct changes *c)
{
	auto_free size_t *deleted =
		mem_zalloc(c->root_count * sizeof(*deleted));
	auto_free size_t *added = mem_zalloc(c->root_count * sizeof(*added));
	size_t all_added = 0, i, k;

	for (i = 0; i < c->root_count; i++) {
		const struct changes_root *g = &c->roots[i];

		for (k = 0; k < g->list.count; k++) {
			const struct change *item = &g->list.items[k];
			bool gone = item->kind == CHANGE_DELETED;

			if (is_loose_end(item, g->home) &&
			    !S_ISDIR(gone ? item->old.mode : item->now.mode))
				++*(gone ? &deleted[i] : &added[i]);
		}
		all_added += added[i];
	}
	for (i = 0; i < c->root_count; i++)
		if (deleted[i] && all_added > added[i])
			return true;
	return false;
}

static void collect_loose_ends(struct loose_ends *ends)
{
	size_t i, k;

	for (i = 0; i < ends->changes->root_count; i++) {
		const struct changes_root *g = &ends->changes->roots[i];

		for (k = 0; k < g->list.count; k++) {
			const struct change *c = &g->list.items[k];

			if (is_loose_end(c, g->home))
				*VEC_ADD(ends) = (struct loose_end){
					i, c, mem_printf("%zu/%s", i, c->path)};
		}
	}
	SORT_BY_PATH(ends->items, ends->count, path);
}

static bool same_name(const char *a, const char *b)
{
	return strcmp(strrchr(a, '/'), strrchr(b, '/')) == 0;
}

static void find_moves_across(struct changes *c)
{
	AUTO(loose_ends) struct loose_ends ends = {.changes = c};
	AUTO(moves) struct moves m = {0};
	const struct moves_source source = {loose_end_key, loose_end_bytes,
					    &ends};
	size_t i;

	if (!may_move_across(c) || !start_layer(&ends.layer))
		return;
	collect_loose_ends(&ends);
	for (i = 0; i < ends.count; i++)
		add_move_end(&m, ends.items[i].change, ends.items[i].path, i);
	moves_find(&m, &source);
	for (i = 0; i < m.added.count; i++) {
		const struct moves_file *f = &m.added.items[i];
		const struct loose_end *to = &ends.items[f->index], *from;

		from = f->other ? &ends.items[f->other->index] : to;
		if (from->root != to->root &&
		    (f->percent == 100 || same_name(from->path, to->path)))
			*VEC_ADD(&c->across) = (struct changes_across){
				from->root, to->root, from->change->path,
				to->change->path, f->percent == 100};
	}
}

void changes_find_moves(struct changes *c)
{
	size_t i;

	for (i = 0; i < c->root_count; i++)
		find_moves_in_root(&c->roots[i]);
	if (!c->searched_across)
		find_moves_across(c);
	c->searched_across = true;
}
