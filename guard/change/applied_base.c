#include "guard/change/applied_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "overlay/session_base.h"

uint64_t applied_base_seq(const struct session *s, size_t root)
{
	return s->roots[root].applied ?: s->roots[root].base;
}

/* --- trees --- */

static int put(struct tree_editor *editor, const char *path,
	       const struct entry *e, struct err *err)
{
	return S_ISDIR(e->mode) ? tree_editor_put_dir(editor, path, e, err)
				: tree_editor_put(editor, path, e, err);
}

int applied_base_dirs_above(struct tree_editor *editor, struct lookup *tree,
			    const char *path, struct err *err)
{
	size_t len;

	for (len = 0; path[len]; len++) {
		auto_free char *dir = mem_strndup(path, len);
		AUTO(entry) struct entry is = {0}, wanted = {0};

		if (path[len] != '/')
			continue;
		if (tree_editor_get(editor, dir, &is, err) < 0 ||
		    lookup_find(tree, dir, &wanted, err) < 0)
			return -err->num;
		if (!S_ISDIR(wanted.mode))
			return (int)len;
		if (!S_ISDIR(is.mode) && put(editor, dir, &wanted, err) < 0)
			return -err->num;
	}
	return 0;
}

int applied_base_copy(struct tree_editor *editor, struct lookup *tree,
		      const char *path, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got;

	if (tree_editor_move_to(editor, path, err) < 0 ||
	    lookup_find(tree, path, &e, err) < 0)
		return -err->num;
	if (!e.mode)
		return tree_editor_remove(editor, path, err);
	got = put(editor, path, &e, err);
	if (got != -ENOTDIR)
		return got;
	got = applied_base_dirs_above(editor, tree, path, err);
	return got < 0 ? got : put(editor, path, &e, err);
}

struct copying {
	struct tree_editor *editor;
	struct lookup from;
};

static int copy_difference(void *arg, const char *path,
			   const struct entry *from, const struct entry *other,
			   struct err *err)
{
	struct copying *c = arg;

	(void)from;
	(void)other;
	return applied_base_copy(c->editor, &c->from, path, err);
}

int applied_base_copy_different(struct store *store, const struct entry *from,
				const struct entry *other, struct entry *to,
				struct err *err)
{
	struct copying c = {
		.editor = tree_editor_new(store, to),
		.from = {.store = store, .root = from},
	};
	int got = tree_diff(store, from, other, copy_difference, &c, err);

	lookup_free(&c.from);
	return tree_editor_end(&c.editor, got, to, err);
}

int applied_base_add(struct store *store, const struct session *s, size_t root,
		     const struct entry *tree, const struct snapshot *like,
		     uint64_t *ret, struct err *err)
{
	AUTO(snapshot)
	struct snapshot made = {
		.parent = like->seq,
		.time = timestamp_now(),
		.uid = like->uid,
		.root_dev = like->root_dev,
		.files = like->files,
		.dirs = like->dirs,
		.bytes = like->bytes,
		.reason = mem_strdup(APPLIED_BASE),
		.run_id = mem_strdup(s->id),
		.command = mem_strdup(s->command),
		.message = mem_strdup(""),
		.root_path = mem_strdup(s->roots[root].path),
	};

	entry_copy(&made.root, tree);
	if (catalog_add(store, &made, err) < 0)
		return -err->num;
	*ret = made.seq;
	return 0;
}

/* --- an apply --- */

/* The path, unless it needs a directory that the base does not have. */
static int copy_kept(struct tree_editor *editor, struct lookup *tree,
		     const char *path, struct err *err)
{
	auto_free char *dir = path_parent(path);
	AUTO(entry) struct entry is = {0};

	if (tree_editor_get(editor, dir, &is, err) < 0)
		return -err->num;
	return *dir && !S_ISDIR(is.mode)
		       ? 0
		       : applied_base_copy(editor, tree, path, err);
}

/* A step that deletes a directory stands for all entries below it. */
static int copy_step(struct tree_editor *editor, struct lookup *tree,
		     const struct step *step, struct err *err)
{
	AUTO(entry) struct entry e = {0};

	if (applied_base_copy(editor, tree, step->path, err) < 0 ||
	    lookup_find(tree, step->path, &e, err) < 0)
		return -err->num;
	return step->kind == STEP_DELETE && S_ISDIR(e.mode)
		       ? tree_editor_put(editor, step->path, &e, err)
		       : 0;
}

static int copy_plan(struct tree_editor *editor, struct lookup *tree,
		     const struct plan *plan, struct err *err)
{
	size_t i;
	int got = 0;

	for (i = 0; i < plan->steps.count && got == 0; i++)
		if (plan->steps.items[i].how != STEP_MARKED)
			got = copy_step(editor, tree, &plan->steps.items[i],
					err);
	for (i = 0; i < plan->kept.count && got == 0; i++)
		got = copy_kept(editor, tree, plan->kept.items[i].path, err);
	for (i = 0; i < plan->settled.count && got == 0; i++)
		got = copy_kept(editor, tree, plan->settled.items[i], err);
	return got;
}

/* Stores *base with the plan's paths as the tree has them. *seq: the number of
 * the base, replaced if something differs. */
static int store_moved(struct store *store, const struct session *s,
		       size_t root, struct entry *base, const struct plan *plan,
		       const struct entry *tree, const struct snapshot *like,
		       uint64_t *seq, struct err *err)
{
	AUTO(lookup) struct lookup from = {.store = store, .root = tree};
	struct tree_editor *editor = tree_editor_new(store, base);
	AUTO(entry) struct entry was = {0};
	int got = copy_plan(editor, &from, plan, err);

	entry_copy(&was, base);
	if (tree_editor_end(&editor, got, base, err) < 0)
		return -err->num;
	return *seq && entry_equal(base, &was)
		       ? 0
		       : applied_base_add(store, s, root, base, like, seq, err);
}

int applied_base_move(struct store *store, const struct session *s, size_t root,
		      const struct snapshot *base, const struct plan *plan,
		      const struct entry *wanted, struct action *a,
		      struct err *err)
{
	struct action_base moved = {false, root, base->seq, base->seq};
	AUTO(entry) struct entry tree = {0};

	entry_copy(&tree, &base->root);
	if (store_moved(store, s, root, &tree, plan, wanted, base, &moved.to,
			err) < 0)
		return -err->num;
	*VEC_ADD(&a->bases) = moved;
	return 0;
}

int applied_base_move_left(struct store *store, const struct session *s,
			   size_t root, const struct snapshot *now,
			   const struct plan *plan, const struct entry *wanted,
			   struct action *a, struct err *err)
{
	struct action_base moved = {true, root, s->roots[root].left, 0};
	AUTO(snapshot) struct snapshot left = {0};
	AUTO(entry) struct entry tree = {0};

	if (moved.from && catalog_load(store, moved.from, &left, err) < 0)
		return -err->num;
	entry_copy(&tree, &now->root);
	tree.content = left.root.content;
	if (store_moved(store, s, root, &tree, plan, &now->root, now,
			&moved.from, err) < 0)
		return -err->num;
	moved.to = moved.from;
	if (store_moved(store, s, root, &tree, plan, wanted, now, &moved.to,
			err) < 0)
		return -err->num;
	*VEC_ADD(&a->bases) = moved;
	return 0;
}

/* --- an undo or redo --- */

/* The base at present, with the paths that the action moved as in `from`. */
static int move_root_back(struct store *store, const struct session *s,
			  const struct action_base *undone, uint64_t now,
			  uint64_t *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot from = {0}, to = {0}, is = {0};

	*ret = undone->from;
	if (now == undone->to)
		return 0;
	if (catalog_load(store, undone->from, &from, err) < 0 ||
	    catalog_load(store, undone->to, &to, err) < 0 ||
	    catalog_load(store, now, &is, err) < 0)
		return -err->num;
	return applied_base_copy_different(store, &from.root, &to.root,
					   &is.root, err) < 0
		       ? -err->num
		       : applied_base_add(store, s, undone->root, &is.root, &is,
					  ret, err);
}

/* Earlier guards moved no base: all changes that they applied are pending
 * again, except those that the real files have. */
static void add_unmoved(const struct session *s, const struct action *undone,
			struct action *a)
{
	size_t i;

	for (i = 0; i < s->root_count && strcmp(undone->kind, "apply") == 0;
	     i++)
		if (s->roots[i].applied)
			*VEC_ADD(&a->bases) = (struct action_base){
				false, i, s->roots[i].applied,
				s->roots[i].base};
}

int applied_base_move_back(struct store *store, const struct session *s,
			   const struct action *undone, struct action *a,
			   struct err *err)
{
	size_t i;

	if (!undone->bases.count)
		add_unmoved(s, undone, a);
	for (i = 0; i < undone->bases.count; i++) {
		const struct action_base *b = &undone->bases.items[i];
		struct action_base moved = {b->left, b->root, 0, 0};

		if (b->root > s->root_count)
			continue;
		moved.from = b->left ? s->roots[b->root].left
				     : applied_base_seq(s, b->root);
		if (move_root_back(store, s, b, moved.from, &moved.to, err) < 0)
			return err_context(err, "what run %s has applied",
					   session_label(s));
		*VEC_ADD(&a->bases) = moved;
	}
	return 0;
}

int applied_base_put(const struct state *state, const struct action *a,
		     struct session *run, struct atomic_set *to,
		     struct err *err)
{
	struct err ignored;
	size_t i;
	int got;

	if (!a->bases.count)
		return 0;
	session_free(run);
	got = session_open(state->runs_fd, a->run_id, false, run, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	(void)session_base(run, false, &ignored);
	for (i = 0; i < a->bases.count; i++) {
		const struct action_base *b = &a->bases.items[i];
		struct session_root *root;

		if (b->root > run->root_count)
			continue;
		root = &run->roots[b->root];
		if (b->left)
			root->left = b->to;
		else
			root->applied = b->to == root->base ? 0 : b->to;
	}
	return session_put_applied(run, to, err);
}

/* --- directories without a base --- */

/* False also when that cannot be read: the path is a conflict then. */
static bool is_as_left(struct store *store, const struct snapshot *now,
		       const struct snapshot *left, const char *path)
{
	AUTO(entry) struct entry is = {0}, was = {0};
	struct err ignored;

	return tree_lookup(store, &now->root, path, &is, &ignored) > 0 &&
	       tree_lookup(store, &left->root, path, &was, &ignored) > 0 &&
	       entry_same_state(&is, &was);
}

int applied_base_filter_notes(struct store *store, const struct session *s,
			      size_t root, struct snapshot *now,
			      struct err *err)
{
	uint64_t seq = s->roots[root].left;
	AUTO(snapshot) struct snapshot left = {0};
	size_t kept = 0, i;

	if (!seq)
		return 0;
	if (catalog_load(store, seq, &left, err) < 0)
		return -err->num;
	for (i = 0; i < now->note_count; i++) {
		struct note *n = &now->notes[i];

		if (n->kind == NOTE_MOVED &&
		    is_as_left(store, now, &left, n->path)) {
			free(n->path);
			free(n->text);
		} else {
			now->notes[kept++] = *n;
		}
	}
	now->note_count = kept;
	return 0;
}
