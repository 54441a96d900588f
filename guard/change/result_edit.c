#include "guard/change/result_edit.h"

#include <string.h>

#include "base/auto.h"
#include "guard/change/applied_base.h"
#include "guard/change/changes.h"
#include "restore/result.h"

#define OLDER "older"

int result_edit_begin(struct session *s, struct err *err)
{
	if (!record_get(&s->more, SESSION_STORED))
		return 0;
	record_set(&s->more, SESSION_STORED, OLDER);
	return session_save(s, err);
}

/* Sets the path to the layer's entry, with all entries below it. */
static int put_path(struct store *store, struct tree_editor *editor,
		    const struct entry *layer, const char *path,
		    struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int found = tree_lookup(store, layer, path, &e, err);

	if (found < 0 || tree_editor_remove(editor, path, err) < 0 ||
	    (found && tree_editor_put(editor, path, &e, err) < 0))
		return -err->num;
	return 0;
}

/* Puts the paths of one tree into another. */
static int graft_paths(struct store *store, const struct entry *layer,
		       const char *const *paths, struct entry *result,
		       struct err *err)
{
	AUTO(lookup) struct lookup from = {.store = store, .root = layer};
	struct tree_editor *editor = tree_editor_new(store, result);
	int got = 0;

	for (; *paths && got >= 0; paths++) {
		auto_free char *top = NULL;

		got = applied_base_dirs_above(editor, &from, *paths, err);
		/* The layer has another entry, or none, above the path. */
		if (got > 0)
			top = mem_strndup(*paths, (size_t)got);
		if (got >= 0)
			got = put_path(store, editor, layer, top ?: *paths,
				       err);
	}
	return tree_editor_end(&editor, got, result, err);
}

static int edit_root(struct context *c, struct session *s, size_t index,
		     const struct changes_root *changes,
		     const char *const *paths, struct err *err)
{
	struct session_root *root = &s->roots[index];
	AUTO(snapshot) struct snapshot base = {0}, result = {0};
	AUTO(entry) struct entry layer = {0};
	const char *const *only = paths;

	for (; *paths; paths++)
		if (!**paths || strcmp(*paths, ".") == 0)
			only = NULL;
	if (catalog_load(c->store, applied_base_seq(s, index), &base, err) <
		    0 ||
	    catalog_load(c->store, root->result, &result, err) < 0 ||
	    result_make(c->store, &base.root, changes->upper_fd, &changes->list,
			only, &layer, err) < 0 ||
	    (only &&
	     graft_paths(c->store, &layer, only, &result.root, err) < 0))
		return -err->num;
	if (!only)
		entry_copy(&result.root, &layer);
	if (catalog_add(c->store, &result, err) < 0)
		return -err->num;
	root->result = result.seq;
	return 0;
}

int result_edit_end(struct context *c, struct session *s,
		    const struct action *a, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(change_list) struct change_list caches = {0};
	const char *state = record_get(&s->more, SESSION_STORED);
	bool stored = true;
	size_t i, k;

	if (!state || strcmp(state, OLDER) != 0)
		return 0;
	if (changes_load(s, &c->state, &changes, err) < 0 ||
	    context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	/* The list of the layer stays the list of the run. */
	if (!changes_complete(&changes))
		return 0;
	changes_take_caches(&changes_home(&changes)->list, &caches);
	for (i = 0; i <= s->root_count; i++) {
		auto_free char *layer = changes_layer_name(&changes, i);
		auto_free const char **paths =
			mem_zalloc((a->parts.count + 1) * sizeof(*paths));
		size_t count = 0;

		for (k = 0; k < a->parts.count; k++)
			if (strcmp(a->parts.items[k].layer, layer) == 0)
				paths[count++] = a->parts.items[k].path;
		/* At the last end there was no change: the layer counts. */
		stored &= !count || s->roots[i].result;
		for (k = 0; k < count && changes.roots[i].home; k++)
			if (changes_has(&caches, paths[k]))
				record_set(&s->more, CHANGES_HOME,
					   CHANGES_HOME_BUT_CACHES);
		if (count && s->roots[i].result &&
		    edit_root(c, s, i, &changes.roots[i], paths, err) < 0)
			return -err->num;
	}
	record_set(&s->more, SESSION_STORED, stored ? "1" : NULL);
	return session_save(s, err);
}
