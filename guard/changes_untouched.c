#include "guard/changes.h"

#include <sys/stat.h>

#include "base/auto.h"

/* 1: the run left it as it was when it began, as far as anybody keeps it. */
static int is_as_begun(struct store *store, const struct snapshot *base,
		       const struct snapshot *result, const char *path,
		       struct err *err)
{
	AUTO(entry) struct entry was = {0};
	AUTO(entry) struct entry left = {0};

	if (tree_lookup(store, &base->root, path, &was, err) < 0 ||
	    tree_lookup(store, &result->root, path, &left, err) < 0)
		return -err->num;
	return was.mode && left.mode &&
	       !((was.flags | left.flags) & ENTRY_INCOMPLETE) &&
	       entry_same_meta(&was, &left) &&
	       (S_ISDIR(was.mode) || entry_same_content(&was, &left));
}

int changes_drop_untouched(struct store *store, const struct snapshot *base,
			   uint64_t seq, struct change_list *list,
			   struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	size_t i, kept = 0;
	int got = catalog_load(store, seq, &result, err);

	for (i = 0; i < list->count; i++) {
		const struct change *at = &list->items[i];
		bool may = got >= 0 && at->flags & CHANGES_HERE &&
			   (at->kind == CHANGE_MODIFIED ||
			    at->kind == CHANGE_META);

		if (may)
			got = is_as_begun(store, base, &result, at->path, err);
		if (!may || got <= 0)
			list->items[kept++] = *at;
	}
	list->count = kept;
	return got < 0 ? got : 0;
}
