#include "snapshot/tree/transfer.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/tree/tree.h"

struct transfer {
	struct store *from, *to;
	transfer_lost *lost;
	void *arg;
};

/* 1: the object is lost; err says why. */
static int is_lost(int got)
{
	return got == -ENOENT || got == -EBADMSG || got == -EIO ? 1 : got;
}

/* An object other than a tree, with all that it refers to. */
static int transfer_object(const struct transfer *c, const struct oid *id,
			   struct oid *ret, struct err *err)
{
	AUTO(chunklist) struct chunklist list = {0};
	AUTO(buf) struct buf b = {0};
	bool chunks = id->type == OBJECT_CHUNKLIST;
	size_t i;
	int got;

	*ret = *id;
	if (id->type == OBJECT_NONE)
		return 0;
	got = is_lost(chunks ? chunklist_load(c->from, id, &list, err)
			     : store_get(c->from, id, &b, err));
	for (i = 0; i < list.count && got == 0; i++)
		if (!list.runs[i].hole)
			got = transfer_object(c, &list.runs[i].id,
					      &list.runs[i].id, err);
	if (got)
		return got;
	if (chunks)
		chunklist_encode(&list, &b);
	return store_put(c->to, id->type, b.data, b.len, ret, err);
}

static int transfer_below(const struct transfer *c, const char *path,
			  const struct entry *e, struct entry *ret,
			  struct err *err);

static int transfer_tree(const struct transfer *c, const char *path,
			 const struct oid *id, struct oid *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	AUTO(tree_writer) struct tree_writer *w = NULL;
	int got = is_lost(tree_load(c->from, id, &t, err));
	size_t i;

	if (got)
		return got;
	w = tree_writer_new(c->to, t.count);
	for (i = 0; i < t.count; i++) {
		AUTO(entry) struct entry e = {0};
		auto_free char *name = path_join(path, t.entries[i].name);

		if (transfer_below(c, name, &t.entries[i], &e, err) < 0 ||
		    tree_writer_add(w, &e, err) < 0)
			return -err->num;
	}
	return tree_writer_end(w, ret, err);
}

static int transfer_below(const struct transfer *c, const char *path,
			  const struct entry *e, struct entry *ret,
			  struct err *err)
{
	AUTO(entry) struct entry copy = {0};
	int lost_attrs, got;

	entry_copy(&copy, e);
	got = lost_attrs = transfer_object(c, &e->attrs, &copy.attrs, err);
	/* The content does not need the attributes. */
	if (got >= 0 && e->content.type != OBJECT_NONE)
		got = S_ISDIR(e->mode) ? transfer_tree(c, path, &e->content,
						       &copy.content, err)
				       : transfer_object(c, &e->content,
							 &copy.content, err);
	if (got < 0)
		return err_context(err, "%s", text_quote(path));
	if (got)
		copy.content = (struct oid){0};
	if (got || lost_attrs) {
		c->lost(c->arg, path, err->text);
		copy.attrs = (struct oid){0};
		copy.flags |= ENTRY_INCOMPLETE;
		/* The bits of the group may be the mask of a lost ACL. */
		copy.mode &= ~(mode_t)S_IRWXG;
	}
	*ret = TAKE(copy);
	return 0;
}

int transfer_entry(struct store *from, struct store *to, const char *path,
		   const struct entry *e, transfer_lost *lost, void *arg,
		   struct entry *ret, struct err *err)
{
	const struct transfer c = {from, to, lost, arg};

	return transfer_below(&c, path, e, ret, err);
}
