#include "guard/change/restore_paths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/change/recover.h"
#include "guard/state/report.h"
#include "restore/create_file.h"
#include "restore/plan/unit.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/walk/take.h"

/* --- the wanted tree --- */

struct restore_request {
	struct store *store;
	const struct entry *now; /* the root as it is */
	bool exact;
};

/* Missing directories above the path come from the snapshot. */
static int put_missing_parents(const struct restore_request *w,
			       struct tree_editor *ed,
			       const struct restore_target *t, struct err *err)
{
	const char *slash = t->path;

	while ((slash = strchr(slash, '/'))) {
		auto_free char *parent =
			mem_strndup(t->path, (size_t)(slash - t->path));
		AUTO(entry) struct entry now = {0}, then = {0};
		int got = tree_lookup(w->store, w->now, parent, &now, err);

		slash++;
		if (got < 0)
			return got;
		if (got && !S_ISDIR(now.mode))
			return fail(err, ENOTDIR,
				    "%s is not a directory: move it away, or "
				    "restore elsewhere with --to",
				    text_quote(parent));
		if (got)
			continue;
		if (tree_lookup(w->store, &t->snapshot.root, parent, &then,
				err) < 0 ||
		    tree_editor_put_dir(ed, parent, &then, err) < 0)
			return -err->num;
	}
	return 0;
}

struct keep_current_git {
	const struct restore_request *w;
	struct tree_editor *ed;
	const char *prefix;
	size_t kept;
};

/*
 * A .git that is there is left as it is unless it was named: an older HEAD,
 * index or ref would hide commits that were made since.
 */
static int keep_current_git(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct keep_current_git *k = arg;
	auto_free char *parent = path_parent(path);
	auto_free char *full_path = path_join(k->prefix, path);
	AUTO(entry) struct entry now = {0};
	int got;

	(void)e;
	if (strcmp(path_name(path), ".git") != 0 ||
	    path_has_part(parent, ".git"))
		return 0;
	got = tree_lookup(k->w->store, k->w->now, full_path, &now, err);
	if (got <= 0)
		return got;
	k->kept++;
	return tree_editor_put(k->ed, full_path, &now, err);
}

static bool is_lost(const struct restore_target *t, const char *path)
{
	return t->lost.count && bsearch(&path, t->lost.items, t->lost.count,
					sizeof(path), sorted_compare_texts);
}

bool restore_paths_lost(const struct restore_target *t, const char *path,
			const struct entry *e)
{
	return is_lost(t, path) && e->content.type == OBJECT_NONE &&
	       (S_ISDIR(e->mode) || e->size);
}

struct skip_unread {
	struct store *store;
	const struct entry *now;
	struct tree_editor *ed; /* NULL: only report */
	const char *prefix;
	const struct restore_target *from;
	bool exact;
};

/*
 * A file or directory that could not be read completely replaces nothing, and
 * no partial file is created; the readable part of a directory is restored. A
 * directory whose entries are all lost is not created either: an empty one
 * would be the newest version from then on. A file whose attributes alone are
 * lost is restored without them, and a directory keeps the present ones.
 */
static int skip_unread(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct skip_unread *l = arg;
	auto_free char *full_path = path_join(l->prefix, path);
	AUTO(entry) struct entry now = {0}, want = {0};
	AUTO(tree) struct tree old = {0}, tree = {0};
	bool is_dir = S_ISDIR(e->mode);
	auto_free char *stored = path_join(l->from->path, path);
	bool lost = restore_paths_lost(l->from, stored, e);
	bool lost_attrs = !lost && is_lost(l->from, stored);
	bool skip = lost || (!is_dir && !lost_attrs);
	const char *purged, *name;
	size_t i;

	if (!(e->flags & ENTRY_INCOMPLETE) || (!*path && skip))
		return 0;
	name = text_quote(*full_path ? full_path : ".");
	purged = snapshot_purge_note(&l->from->snapshot, stored);
	if (skip)
		report_warning(
			"%s is skipped: %s%s", name, purged ? "it was " : "",
			purged
				?: lost
				   ? "its content is lost"
				   : "it could not be read completely when "
				     "it was stored");
	else
		report_warning(lost_attrs ? "the attributes of %s are lost, "
					    "with the permissions of its "
					    "group: all else is restored"
					  : "this snapshot has only a part of "
					    "%s: all else is unchanged",
			       name);
	if (!l->ed)
		return 0;
	if (tree_lookup(l->store, l->now, full_path, &now, err) < 0)
		return -err->num;
	if (skip)
		return tree_editor_put(l->ed, full_path, &now, err);
	entry_copy(&want, e);
	want.flags &= ~ENTRY_INCOMPLETE;
	if (!is_dir)
		return tree_editor_put(l->ed, full_path, &want, err);
	if (S_ISDIR(now.mode) && l->exact) {
		if (tree_load(l->store, &e->content, &old, err) < 0 ||
		    tree_load(l->store, &now.content, &tree, err) < 0)
			return -err->num;
		/* Present entries that the snapshot does not have stay. */
		for (i = 0; i < tree.count; i++) {
			const struct entry *each = &tree.entries[i];
			auto_free char *kept = path_join(full_path, each->name);

			if (!tree_find(&old, each->name) &&
			    tree_editor_put(l->ed, kept, each, err) < 0)
				return -err->num;
		}
	}
	return tree_editor_put_dir(l->ed, full_path,
				   S_ISDIR(now.mode) ? &now : &want, err);
}

int restore_paths_report(struct store *store, const struct restore_target *t,
			 const char *shown, struct err *err)
{
	struct skip_unread l = {.store = store, .prefix = shown, .from = t};

	return tree_each(store, &t->entry, skip_unread, &l, err);
}

/*
 * Replaces in ed, which has from->entry at `prefix`, every file that was not
 * read completely when it was stored by the file in `now`, and warns about it.
 * A target that is itself such a file stays in ed, so that the plan refuses it.
 * exact: also puts back the entries of `now` that are missing in a directory
 * that was not read completely, since the snapshot does not tell that they are
 * to be deleted.
 */
static int skip_all_unread(const struct restore_request *w,
			   const struct restore_target *from,
			   const char *prefix, struct tree_editor *ed,
			   struct err *err)
{
	struct skip_unread l = {
		.store = w->store,
		.now = w->now,
		.ed = ed,
		.prefix = prefix,
		.from = from,
		.exact = w->exact,
	};

	return tree_each(w->store, &from->entry, skip_unread, &l, err);
}

struct target_hardlinks {
	struct store *store;
	const struct entry *now;
	const char *path; /* the target's path */
	struct tree_editor *ed;
	VEC(uint64_t) groups; /* sorted */
};

static void target_hardlinks_free(struct target_hardlinks *p)
{
	VEC_FREE(&p->groups);
}

static int add_target_group(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;

	(void)path;
	(void)err;
	if (!e->link_group || !S_ISREG(e->mode))
		return 0;
	*VEC_ADD(&p->groups) = e->link_group;
	return 0;
}

static int add_outside_link(void *arg, const char *path, const struct entry *e,
			    struct err *err)
{
	struct target_hardlinks *p = arg;
	AUTO(entry) struct entry now = {0};
	int got;

	if (!e->link_group || !S_ISREG(e->mode) || path_below(path, p->path) ||
	    !sorted_find_number(e->link_group, p->groups.items, p->groups.count,
				sizeof(*p->groups.items)))
		return 0;
	got = tree_lookup(p->store, p->now, path, &now, err);
	if (got <= 0)
		return got;
	if (!entry_same_content(&now, e) || !entry_same_meta(&now, e))
		return 0;
	now.link_group = e->link_group;
	return tree_editor_put(p->ed, path, &now, err);
}

/* The unit of a target, in its snapshot or (now, may be NULL) at present. */
static int unit_of_target(struct store *store, const struct restore_target *t,
			  const struct entry *now, struct unit *ret,
			  struct err *err)
{
	AUTO(lookup)
	struct lookup then = {.store = store, .root = &t->snapshot.root};
	AUTO(lookup) struct lookup is = {.store = store, .root = now};
	struct lookup *const trees[] = {&then, &is};

	return S_ISREG(t->entry.mode)
		       ? unit_of(trees, now ? 2 : 1, t->path, ret, err)
		       : 0;
}

/* The other members of the target's unit come from the same snapshot: those
 * that it lacks are deleted. name: of the target in ed. */
static int put_unit(struct store *store, struct tree_editor *ed,
		    const struct restore_target *t, const struct entry *now,
		    const char *name, struct err *err)
{
	AUTO(unit) struct unit u = {{NULL}};
	auto_free char *dir = path_parent(name);
	int got = unit_of_target(store, t, now, &u, err);
	size_t i;

	for (i = 0; i < UNIT_MEMBERS && got > 0; i++) {
		AUTO(entry) struct entry e = {0};
		auto_free char *path = NULL;

		if (!u.paths[i] || strcmp(u.paths[i], t->path) == 0)
			continue;
		path = path_join(dir, path_name(u.paths[i]));
		if (tree_lookup(store, &t->snapshot.root, u.paths[i], &e, err) <
			    0 ||
		    (e.mode ? tree_editor_put(ed, path, &e, err)
			    : tree_editor_remove(ed, path, err)) < 0)
			return -err->num;
	}
	return got < 0 ? got : 0;
}

/* Puts one target into ed, which has started from it when it is the root. */
static int put_target(const struct restore_request *w, struct tree_editor *ed,
		      const struct restore_target *t, struct err *err)
{
	struct keep_current_git k = {.w = w, .ed = ed, .prefix = t->path};
	AUTO(target_hardlinks)
	struct target_hardlinks p = {
		.store = w->store,
		.now = w->now,
		.path = t->path,
		.ed = ed,
	};

	if (*t->path && (put_missing_parents(w, ed, t, err) < 0 ||
			 tree_editor_put(ed, t->path, &t->entry, err) < 0 ||
			 put_unit(w->store, ed, t, w->now, t->path, err) < 0))
		return -err->num;
	if (skip_all_unread(w, t, t->path, ed, err) < 0)
		return -err->num;
	/*
	 * Hard links between restored files and files that stay. A snapshot
	 * numbers the groups of paths that are hard links of one file; the
	 * project as it is now has other numbers. If a file of the target has a
	 * hard link outside of the target, and that path still holds the same
	 * file, ed gets the group number: the restore then creates a hard link
	 * and no file of its own.
	 */
	if (*t->path &&
	    tree_each(w->store, &t->entry, add_target_group, &p, err) < 0)
		return -err->num;
	VEC_SORT(&p.groups, sorted_compare_numbers);
	if (p.groups.count && tree_each(w->store, &t->snapshot.root,
					add_outside_link, &p, err) < 0)
		return -err->num;
	if (!S_ISDIR(t->entry.mode) || path_has_part(t->path, ".git"))
		return 0;
	if (tree_each(w->store, &t->entry, keep_current_git, &k, err) < 0)
		return -err->num;
	if (k.kept)
		report_note("%s unchanged: name it to restore it",
			    text_count(k.kept, ".git directory"));
	return 0;
}

static int make_wanted_tree(struct restore_paths *r, struct entry *ret,
			    struct err *err)
{
	struct store *store = r->c->store;
	const struct entry *now = &r->change.roots[0].now.root, *start = now;
	const struct restore_request w = {store, now,
					  r->exact && !r->root_missing};
	struct tree_editor *ed;
	size_t i;
	int got = 0;

	/* The root itself stands for everything, once. */
	for (i = 0; i < r->count; i++)
		if (!r->targets[i].path[0])
			start = &r->targets[i].entry;
	ed = tree_editor_new(store, start);
	if (r->root_missing && start == now)
		got = tree_editor_put_dir(ed, "", &r->targets[0].snapshot.root,
					  err);
	for (i = 0; i < r->count && got == 0; i++)
		got = put_target(&w, ed, &r->targets[i], err);
	return tree_editor_end(&ed, got, ret, err);
}

/* --- in place --- */

/* Set-id bits and the like come back from the user's own snapshots, not from
 * what a run left. */
static bool from_run(const struct restore_paths *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (snapshot_of_run(&r->targets[i].snapshot))
			return true;
	return false;
}

struct partial_count {
	uint64_t count, max;
};

/* -E2BIG: it is known that all has to be looked at. */
static int count_partial_path(void *arg, const char *path,
			      const struct entry *e, struct err *err)
{
	struct partial_count *c = arg;

	(void)path;
	/* Other names of a file may be anywhere. */
	if (++c->count > c->max || (e->link_group && S_ISREG(e->mode)))
		return fail(err, E2BIG,
			    "too many paths for a partial snapshot");
	return 0;
}

/*
 * The sorted paths of the restore, for changeset_root.only. NULL: the whole
 * project must be read, because it is small, the targets are large, a target
 * has hard links, which may be anywhere, it lies in a .git, or the root was
 * just created. When the snapshot of the first target is partial itself, none
 * of that is asked.
 */
static int list_paths_to_read(const struct restore_paths *r, char ***ret,
			      struct err *err)
{
	const struct restore_target *targets = r->targets;
	bool has_only_paths = targets[0].snapshot.root.flags & ENTRY_INCOMPLETE;
	struct partial_count c = {0};
	size_t i;

	*ret = NULL;
	if (r->root_missing && !has_only_paths)
		return 0;
	for (i = 0; i < r->count && !has_only_paths; i++) {
		const struct restore_target *t = &targets[i];
		int got;

		c.max = changeset_partial_max(&t->snapshot);
		if (!c.max || !*t->path || path_has_part(t->path, ".git"))
			return 0;
		got = tree_each(r->c->store, &t->entry, count_partial_path, &c,
				err);
		if (got < 0)
			return got == -E2BIG ? 0 : got;
	}
	for (i = 0; i < r->count; i++)
		mem_list_add(ret, targets[i].path);
	qsort(*ret, r->count, sizeof(**ret), sorted_compare_paths);
	return 0;
}

/* Takes a snapshot of the current state. With OVERWRITE_ALWAYS, files that the
 * stat cache holds for unchanged are read again. */
static int snapshot_before_restore(struct restore_paths *r, struct err *err)
{
	struct project *project = &r->change.roots[0].project;
	char *cache = project->cache_path;
	int got;

	if (r->overwrite == OVERWRITE_ALWAYS)
		project->cache_path = NULL;
	got = changeset_inspect_root(&r->change, 0, "pre-restore", "", err);
	project->cache_path = cache;
	return got;
}

static int plan_in_place(struct restore_paths *r, struct err *err)
{
	const char *path = r->targets[0].snapshot.root_path;
	auto_free const char **paths =
		mem_zalloc((r->count + 1) * sizeof(*paths));
	struct plan_options options = {
		.paths = r->root_missing ? NULL : paths,
		.additive = !r->root_missing && !r->exact,
		.missing_only = r->overwrite == OVERWRITE_NEVER,
		.keep_git = !r->root_missing && r->exact,
		.refuse_special = from_run(r),
	};
	struct changeset_root *root;
	auto_close int fd = -1;
	size_t i;

	changeset_init(&r->change, r->c, 1);
	root = &r->change.roots[0];
	for (i = 0; i < r->count; i++) {
		paths[i] = r->targets[i].path;
		root->restores_all |= !*paths[i];
	}
	if (r->root_missing) {
		fd = project_make(path, r->c->state.workspaces_fd, err);
		/* An action that was interrupted there before the directory
		 * was deleted can be ended now. */
		if (fd < 0 || recover_project(r->c, path, err) < 0)
			return -err->num;
	}
	/* A home directory with a partial snapshot is not read completely for a
	 * few paths, and neither is a large project. */
	if (changeset_open_root(&r->change, 0, path, err) < 0 ||
	    list_paths_to_read(r, &root->only, err) < 0 ||
	    snapshot_before_restore(r, err) < 0 ||
	    make_wanted_tree(r, &root->want.root, err) < 0)
		return -err->num;
	options.partial = root->only != NULL;
	return changeset_plan_root(&r->change, 0, NULL, &options, err);
}

static int execute_in_place(struct restore_paths *r, struct err *err)
{
	AUTO(action)
	struct action action = {
		.kind = mem_strdup("restore"),
		.run_id = mem_strdup(""),
		.git = true,
		.complete = true,
	};
	const struct snapshot *s = &r->targets[0].snapshot;
	auto_free char *from = s->seq ? mem_printf("%" PRIu64, s->seq)
				      : mem_strdup(s->message);
	auto_free char *before = NULL;

	changeset_wait_starting_runs(&r->change);
	if (changeset_execute(&r->change, &action, err) < 0)
		return -err->num;
	action_close(r->change.roots[0].project.workspace_fd, &action);
	before = mem_printf("%" PRIu64, r->change.roots[0].now.seq);
	state_log(&r->c->state, "restore", "project", s->root_path, "path",
		  r->targets[0].arg, "from", from, "before", before, NULL);
	return 0;
}

/* --- into another directory --- */

static bool is_single_file(const struct restore_paths *r)
{
	AUTO(unit) struct unit u = {{NULL}};
	struct err ignored;

	return r->count == 1 &&
	       create_file_possible(&r->targets[0].entry,
				    path_name(r->targets[0].arg)) &&
	       unit_of_target(r->c->store, r->targets, NULL, &u, &ignored) == 0;
}

static int plan_elsewhere(struct restore_paths *r, struct err *err)
{
	struct plan_options options = {.refuse_special = from_run(r)};
	struct restore_request w = {.store = r->c->store};
	struct changeset_root *root;
	struct tree_editor *ed;
	size_t i;
	int got = 0;

	if (is_single_file(r))
		return 0;
	changeset_init(&r->change, r->c, 1);
	root = &r->change.roots[0];
	w.now = &root->now.root;
	if (context_project(r->c, r->to, true, &root->project, err) < 0 ||
	    take_entry(r->c->store, root->project.fd, "", NULL, &root->now.root,
		       err) < 0)
		return -err->num;
	ed = tree_editor_new(r->c->store, &root->now.root);
	for (i = 0; i < r->count && got == 0; i++) {
		const struct restore_target *t = &r->targets[i];
		const char *name = path_name(t->arg);

		got = tree_editor_put(ed, name, &t->entry, err);
		if (got == 0)
			got = put_unit(w.store, ed, t, NULL, name, err);
		if (got == 0)
			got = skip_all_unread(&w, t, name, ed, err);
	}
	if (tree_editor_end(&ed, got, &root->want.root, err) < 0)
		return -err->num;
	return changeset_plan_root(&r->change, 0, NULL, &options, err);
}

static int execute_elsewhere(struct restore_paths *r, struct err *err)
{
	const struct restore_target *first = &r->targets[0];

	if ((is_single_file(r) ? create_file_make(r->c->store, r->to,
						  path_name(first->arg),
						  &first->entry, err)
			       : changeset_execute_unrecorded(
					 &r->change, "restore", err)) < 0)
		return -err->num;
	state_log(&r->c->state, "restore", "project", first->snapshot.root_path,
		  "path", first->arg, "to", r->to, NULL);
	return 0;
}

/* --- both --- */

int restore_paths_plan(struct restore_paths *r, struct err *err)
{
	return r->to ? plan_elsewhere(r, err) : plan_in_place(r, err);
}

int restore_paths_execute(struct restore_paths *r, struct err *err)
{
	return r->to ? execute_elsewhere(r, err) : execute_in_place(r, err);
}

void restore_paths_free(struct restore_paths *r)
{
	changeset_free(&r->change);
}
