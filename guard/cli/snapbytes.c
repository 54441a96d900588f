#include "guard/cli/snapbytes.h"

#include <errno.h>

#include "base/auto.h"
#include "base/text.h"
#include "restore/git/moves_store.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

static int find_changed_entry(const struct snapbytes *s, const struct change *c,
			      bool now, struct entry *ret, struct err *err)
{
	int got =
		tree_lookup(s->store, now ? s->now : s->old, c->path, ret, err);

	return got ? got : fail(err, ENOENT, "%s", text_quote(c->path));
}

static int add_entry_bytes(void *arg, const void *data, size_t len,
			   struct err *err)
{
	(void)err;
	buf_add(arg, data, len);
	return 0;
}

static int read_entry_bytes(void *arg, const struct change *c, bool now,
			    struct buf *to, struct err *err)
{
	const struct snapbytes *s = arg;
	AUTO(entry) struct entry e = {0};

	if (find_changed_entry(s, c, now, &e, err) < 0)
		return -err->num;
	if (e.size > DIFFTEXT_MAX)
		return fail(err, EFBIG, "%s is too large", text_quote(c->path));
	if (e.content.type == OBJECT_NONE)
		return 0;
	return content_each(s->store, &e.content, add_entry_bytes, to, err);
}

/* The same for moves, which are told from the store's own ids. */
struct moves_lookup {
	const struct snapbytes *sides;
	const struct change_list *list;
	struct entry entry; /* the last one */
};

static const struct entry *find_moved_entry(void *arg,
					    const struct moves_file *f)
{
	struct moves_lookup *l = arg;
	struct err ignored;

	entry_free(&l->entry);
	if (find_changed_entry(l->sides, &l->list->items[f->index], f->added,
			       &l->entry, &ignored) < 0)
		l->entry.flags = ENTRY_INCOMPLETE;
	return &l->entry;
}

void snapbytes_find_moves(const struct snapbytes *s, struct change_list *list)
{
	struct moves_lookup l = {.sides = s, .list = list};
	struct moves_store from = {s->store, find_moved_entry, &l};
	const struct moves_source source = moves_of_store(&from);

	changes_find_moves_in(list, false, &source);
	entry_free(&l.entry);
}

static int read_entry_target(void *arg, const struct change *c, bool now,
			     struct buf *to, struct err *err)
{
	AUTO(entry) struct entry e = {0};

	if (find_changed_entry(arg, c, now, &e, err) < 0)
		return -err->num;
	buf_add_text(to, e.link ? e.link : "");
	return 0;
}

struct difftext_source snapbytes_source(struct snapbytes *s)
{
	return (struct difftext_source){read_entry_bytes, read_entry_target, s};
}
