#include "restore/plan/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

static void pop_lookup_level(struct lookup *l)
{
	struct lookup_level *top = &l->levels.items[--l->levels.count];

	free(top->path);
	tree_free(&top->tree);
}

void lookup_free(struct lookup *l)
{
	while (l->levels.count)
		pop_lookup_level(l);
	VEC_FREE(&l->levels);
}

static int push_lookup_level(struct lookup *l, const char *path,
			     const struct entry *e, struct err *err)
{
	struct tree tree = {0};

	if (tree_load(l->store, &e->content, &tree, err) < 0)
		return err_context(err, "directory %s", text_quote(path));
	*VEC_ADD(&l->levels) = (struct lookup_level){
		.path = mem_strdup(path),
		.tree = tree,
	};
	return 0;
}

/* Loads directories until the top level is `dir`: 1; 0: no such directory. */
static int descend(struct lookup *l, const char *dir, struct err *err)
{
	while (l->levels.count &&
	       !path_below(dir, l->levels.items[l->levels.count - 1].path))
		pop_lookup_level(l);
	if (!l->levels.count) {
		if (!S_ISDIR(l->root->mode))
			return 0;
		if (push_lookup_level(l, "", l->root, err) < 0)
			return -err->num;
	}
	for (;;) {
		struct lookup_level *top =
			&l->levels.items[l->levels.count - 1];
		const char *rest = path_rest(dir, top->path);
		auto_free char *name = mem_strndup(rest, strcspn(rest, "/"));
		auto_free char *path = NULL;
		const struct entry *e;

		if (!*rest)
			return 1;
		e = tree_find(&top->tree, name);
		if (!e || !S_ISDIR(e->mode))
			return 0;
		path = path_join(top->path, name);
		if (push_lookup_level(l, path, e, err) < 0)
			return -err->num;
	}
}

int lookup_find(struct lookup *l, const char *path, struct entry *ret,
		struct err *err)
{
	auto_free char *dir = path_parent(path);
	const struct entry *e;
	int got;

	*ret = (struct entry){0};
	if (!*path) {
		if (!l->root->mode)
			return 0;
		entry_copy(ret, l->root);
		return 1;
	}
	got = descend(l, dir, err);
	if (got <= 0)
		return got;
	e = tree_find(&l->levels.items[l->levels.count - 1].tree,
		      path_name(path));
	if (!e)
		return 0;
	entry_copy(ret, e);
	return 1;
}
