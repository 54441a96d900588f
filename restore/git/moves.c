#include "restore/git/moves.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "restore/git/moves_private.h"

void moves_free(struct moves *m)
{
	free(m->deleted.items);
	free(m->added.items);
	*m = (struct moves){0};
}

void moves_add(struct moves_side *side, const char *path, uint32_t mode,
	       uint64_t size, size_t index)
{
	/* Indexes have 32 bits; longer lists do not occur. */
	if (side->count >= MOVES_NONE - 1)
		return;
	*VEC_ADD(side) = (struct moves_file){
		.path = path,
		.size = size,
		.mode = mode,
		.index = (uint32_t)index,
		.other = MOVES_NONE,
	};
}

uint32_t moves_find_path(const struct moves_side *side, const char *path)
{
	const struct moves_file *f =
		FIND_BY_PATH(path, side->items, side->count, path);

	return f ? (uint32_t)(f - side->items) : MOVES_NONE;
}

bool moves_is_free(const struct moves_file *f)
{
	return f->other == MOVES_NONE;
}

void moves_pair(struct moves *m, uint32_t deleted, uint32_t added,
		unsigned percent)
{
	m->deleted.items[deleted].other = added;
	m->added.items[added].other = deleted;
	m->deleted.items[deleted].percent = (uint8_t)percent;
	m->added.items[added].percent = (uint8_t)percent;
}

/* The nearest item above each file, if it is the parent directory. */
static uint32_t *parents_of(const struct moves_side *side)
{
	uint32_t *parent = mem_alloc((side->count + 1) * sizeof(*parent));
	uint32_t i, at = MOVES_NONE;

	for (i = 0; i < side->count; i++) {
		const char *path = side->items[i].path;

		while (at != MOVES_NONE &&
		       !path_below(path, side->items[at].path))
			at = parent[at];
		parent[i] = at;
		if (S_ISDIR(side->items[i].mode))
			at = i;
	}
	/* The item above may be more than one level up. */
	for (i = 0; i < side->count; i++) {
		const char *path = side->items[i].path;

		if (parent[i] != MOVES_NONE &&
		    strlen(side->items[parent[i]].path) + 1 !=
			    (size_t)(path_name(path) - path))
			parent[i] = MOVES_NONE;
	}
	return parent;
}

static void work_free(struct moves_work *w)
{
	free(w->deleted_parent);
	free(w->added_parent);
	free(w->deleted_group);
	free(w->added_group);
	free(w->best);
	free(w->votes);
}

void moves_find(struct moves *m, const struct moves_source *source)
{
	struct moves_work w = {.m = m, .source = source};

	if (!m->deleted.count || !m->added.count)
		return;
	w.deleted_parent = parents_of(&m->deleted);
	w.added_parent = parents_of(&m->added);
	w.deleted_group = mem_zalloc(m->deleted.count * sizeof(uint32_t));
	w.added_group = mem_zalloc(m->added.count * sizeof(uint32_t));
	w.best = mem_alloc(m->deleted.count * sizeof(uint32_t));
	w.votes = mem_alloc(m->deleted.count * sizeof(uint32_t));
	moves_exact(&w);
	moves_vote(&w);
	moves_exact_rest(&w);
	moves_vote(&w);
	moves_similar(&w);
	moves_vote(&w);
	moves_dirs(&w);
	work_free(&w);
}
