#include "guard/history/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/state/report.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/changed_paths.h"

static void history_row_free(struct history_row *row)
{
	snapshot_free(&row->snapshot);
	entry_free(&row->entry);
	free(row->renamed);
	free(row->moment);
	free(row->before);
	free(row->note);
}

void history_free(struct history *h)
{
	size_t i;

	for (i = 0; i < h->count; i++)
		history_row_free(&h->rows[i]);
	free(h->rows);
	pins_free(&h->pins);
	json_decref(h->commands);
	mem_list_free(&h->timelines);
	*h = (struct history){0};
}

/* A lookup of the path in a tree. A tree of the same name has the same entry.
 * A run and its apply store two trees twice, in turns: before, result, before,
 * result. */
struct lookup {
	struct oid tree;
	char *path; /* below the tree's root; NULL: no lookup yet */
	struct entry found; /* mode 0: the tree does not have the path */
};

#define LOOKUPS 4

/* The newest snapshot seen so far that is no result of a run; root.mode 0: none
 * yet, or the directory did not exist. */
struct previous {
	struct snapshot snapshot;
	/* Its number, or that of a later one in which nothing at the path is
	 * different, and which was not loaded. */
	uint64_t seq;
	struct entry entry; /* the path's entry in it */
	bool any;
	/* purged with a directory above it: the state is unknown */
	bool purged;
	/* The path's entry in the newest snapshot of a run. */
	struct entry made;
	char *run_id;
	struct lookup last[LOOKUPS]; /* a ring */
	size_t next; /* the one that the next lookup replaces */
};

/* --- changes of the path --- */

/* Search for the other path of a rename: the same bytes under another name. */
struct rename_search {
	const struct entry *wanted;
	bool came; /* search the deleted paths, else the added ones */
	const char *name; /* the path's name: an equal name is the best match */
	char *found;
};

static int match_renamed_entry(void *arg, const char *path,
			       const struct entry *a, const struct entry *b,
			       struct err *err)
{
	struct rename_search *s = arg;
	const struct entry *e = s->came ? (b ? NULL : a) : (a ? NULL : b);
	const struct entry *w = s->wanted;

	(void)err;
	if (!e || !*path || (e->mode & S_IFMT) != (w->mode & S_IFMT) ||
	    w->content.type == OBJECT_NONE ||
	    !oid_equal(&e->content, &w->content))
		return 0;
	if (!s->found || strcmp(path_name(path), s->name) == 0) {
		free(s->found);
		s->found = mem_strdup(path);
	}
	return 0;
}

static int count_below(void *arg, const char *path, const struct entry *a,
		       const struct entry *b, struct err *err)
{
	struct history_row *row = arg;

	(void)err;
	if (!*path || (a && S_ISDIR(a->mode) && b && S_ISDIR(b->mode)))
		return 0;
	row->added += !a;
	row->deleted += !b;
	row->modified += a && b;
	return 0;
}

/* Loads the newest of the snapshots that were not loaded. */
static int load_previous(struct store *store, struct previous *previous,
			 struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};

	if (!previous->any || previous->snapshot.seq == previous->seq)
		return 0;
	if (catalog_load(store, previous->seq, &s, err) < 0)
		return err->num == ENOENT ? 0 : -err->num; /* just pruned */
	snapshot_free(&previous->snapshot);
	previous->snapshot = TAKE(s);
	return 0;
}

static int describe_row(struct store *store, struct previous *previous,
			struct history_row *row, const char *rest,
			struct err *err)
{
	const struct snapshot *before = &previous->snapshot;
	const struct snapshot *now = &row->snapshot;
	const struct entry *a = &previous->entry, *b = &row->entry;
	struct rename_search s = {
		.came = b->mode,
		.name = path_name(rest),
		.wanted = b->mode ? b : a,
	};
	int got;

	if (snapshot_purge_note(&row->snapshot, rest)) {
		row->change = HISTORY_PURGED;
	} else if (!previous->any) {
		row->change = HISTORY_FIRST;
	} else if (!a->mode || !b->mode) {
		row->change = b->mode ? HISTORY_ADDED : HISTORY_DELETED;
		if (strcmp(before->root_path, now->root_path) != 0)
			return 0;
		if (load_previous(store, previous, err) < 0)
			return -err->num;
		got = tree_diff(store, &before->root, &now->root,
				match_renamed_entry, &s, err);
		if (got == 0 && s.found)
			row->renamed = path_join(now->root_path, s.found);
		free(s.found);
		return got;
	} else if ((a->mode & S_IFMT) != (b->mode & S_IFMT)) {
		row->change = HISTORY_TYPE;
	} else if (oid_equal(&a->content, &b->content) &&
		   entry_same_content(a, b)) {
		row->change = HISTORY_META;
	} else {
		row->change = HISTORY_MODIFIED;
		if (S_ISDIR(b->mode))
			return tree_diff(store, a, b, count_below, row, err);
	}
	return 0;
}

/* --- loading --- */

static void previous_free(struct previous *b)
{
	size_t i;

	snapshot_free(&b->snapshot);
	entry_free(&b->entry);
	entry_free(&b->made);
	free(b->run_id);
	for (i = 0; i < LOOKUPS; i++) {
		entry_free(&b->last[i].found);
		free(b->last[i].path);
	}
	*b = (struct previous){0};
}

/* tree_lookup() of the path, without reading a tree of the last lookups. */
static int find_entry(struct previous *previous, struct store *store,
		      const struct entry *root, const char *rest,
		      struct entry *ret, struct err *err)
{
	struct lookup *at = &previous->last[previous->next];
	AUTO(entry) struct entry found = {0};
	size_t i;

	/* The root itself is no part of its tree. */
	if (!*rest || root->content.type == OBJECT_NONE)
		return tree_lookup(store, root, rest, ret, err);
	for (i = 0; i < LOOKUPS; i++) {
		const struct lookup *l = &previous->last[i];

		if (!l->path || !oid_equal(&l->tree, &root->content) ||
		    strcmp(l->path, rest) != 0)
			continue;
		if (l->found.mode)
			entry_copy(ret, &l->found);
		return l->found.mode != 0;
	}
	if (tree_lookup(store, root, rest, &found, err) < 0)
		return -err->num;
	if (found.mode)
		entry_copy(ret, &found);
	entry_free(&at->found);
	free(at->path);
	*at = (struct lookup){
		.tree = root->content,
		.path = mem_strdup(rest),
		.found = found,
	};
	found = (struct entry){0};
	previous->next = (previous->next + 1) % LOOKUPS;
	return at->found.mode != 0;
}

/* A snapshot taken during a run is a version only when it differs from the
 * previous snapshot of that run. It becomes the new previous one. A directory
 * is compared with its tree. */
static bool is_repeated_in_run(struct previous *previous,
			       const struct history_row *row)
{
	const struct snapshot *s = &row->snapshot;
	bool again = previous->run_id &&
		     strcmp(previous->run_id, s->run_id) == 0 &&
		     strcmp(s->reason, "during-run") == 0 &&
		     entry_same_state(&previous->made, &row->entry) &&
		     oid_equal(&previous->made.content, &row->entry.content);

	entry_free(&previous->made);
	entry_copy(&previous->made, &row->entry);
	free(previous->run_id);
	previous->run_id = mem_strdup(s->run_id);
	return again;
}

/* Returns 1 when the snapshot belongs into the history. */
static int load_row(struct history *h, struct store *store,
		    struct previous *previous, struct history_row *row,
		    struct err *err)
{
	const struct snapshot *s = &row->snapshot;
	struct snapshot root = {0};
	const char *rest;
	bool is_new, again, purged;
	int got;

	if (!path_below(h->path, s->root_path))
		return 0;
	got = snapshot_covers_path(store, s, h->path, err);
	if (got <= 0)
		return got;
	rest = path_rest(h->path, s->root_path);
	if (s->root.mode &&
	    find_entry(previous, store, &s->root, rest, &row->entry, err) < 0)
		return -err->num;
	purged = !row->entry.mode && snapshot_purge_note(s, rest);
	/* The path was not readable, which is no deletion. */
	if (!row->entry.mode && !purged &&
	    snapshot_has_note(s, NOTE_INCOMPLETE, rest))
		return 0;
	again = row->of_run && is_repeated_in_run(previous, row);
	is_new = !again &&
		 !(purged ? previous->purged
			  : entry_same_state(&previous->entry, &row->entry) &&
				    oid_equal(&previous->entry.content,
					      &row->entry.content));
	if (is_new && describe_row(store, previous, row, rest, err) < 0)
		return -err->num;
	if (!row->of_run) {
		/* The next snapshot is compared with this one. */
		root.root_path = mem_strdup(s->root_path);
		root.seq = previous->seq = s->seq;
		entry_copy(&root.root, &s->root);
		snapshot_free(&previous->snapshot);
		entry_free(&previous->entry);
		previous->snapshot = root;
		entry_copy(&previous->entry, &row->entry);
		previous->any = true;
		previous->purged = purged;
	}
	return is_new;
}

static void add_command(struct history *h, const struct snapshot *s)
{
	if (*s->run_id && *s->command)
		(void)json_object_set_new(
			h->commands, s->run_id,
			json_stringn_nocheck(s->command, strlen(s->command)));
}

/* snaps_fd: the directory of the snapshots. */
static int add_row(struct history *h, struct store *store, int snaps_fd,
		   uint64_t seq, struct previous *previous, struct err *err)
{
	struct history_row row = {0};
	struct snapshot *s = &row.snapshot;
	int got = catalog_load_from(snaps_fd, seq, s, err);

	if (err_is_exhaustion(-got))
		return got;
	if (got < 0) {
		if (got != -ENOENT) /* -ENOENT: pruned during the loop */
			report_warning("snapshot %" PRIu64 ": %s", seq,
				       err->text);
		return 0;
	}
	if (snapshot_is_hidden(s)) {
		if (strcmp(s->reason, CATALOG_TIMELINE) == 0 && h->path &&
		    path_below(h->path, s->root_path))
			mem_list_add(&h->timelines, s->run_id);
		snapshot_free(s);
		return 0;
	}
	row.of_run = snapshot_of_run(s);
	add_command(h, s);
	if (h->path)
		got = load_row(h, store, previous, &row, err);
	else
		got = !h->project || strcmp(s->root_path, h->project) == 0;
	if (got > 0) {
		GROW(h->rows, h->count, h->capacity);
		h->rows[h->count++] = row;
		return 0;
	}
	history_row_free(&row);
	return got;
}

/* --- snapshots that are not loaded --- */

/* A snapshot that has a run's command. */
struct command_of {
	uint32_t run, seq; /* run: hash of its id */
};

struct skipping {
	struct changed_paths *changed;
	uint32_t root; /* hash of the root in which the path has `hash` */
	uint32_t hash;
	/* Hashes of the roots whose snapshots can be in the history; none: all
	 * can. */
	VEC(uint32_t) roots;
	VEC(struct command_of) commands; /* of those that were not loaded */
};

static void skipping_free(struct skipping *s)
{
	changed_paths_free(&s->changed);
	free(s->roots.items);
	free(s->commands.items);
}

/* The roots that hold the path: the path itself and the directories above it.
 * Without a path: the project. */
static void add_roots(struct skipping *s, const struct history *h)
{
	auto_free char *path = h->path ? mem_strdup(h->path) : NULL;

	if (!path && h->project)
		*VEC_ADD(&s->roots) = changed_paths_hash(h->project);
	while (path) {
		char *slash = strrchr(path, '/');

		*VEC_ADD(&s->roots) = changed_paths_hash(path);
		if (!path[1])
			return;
		slash[slash == path] = '\0';
	}
}

static bool is_wanted_root(const struct skipping *s, uint32_t root)
{
	size_t i;

	for (i = 0; i < s->roots.count && s->roots.items[i] != root; i++)
		;
	return !root || !s->roots.count || i < s->roots.count;
}

/*
 * Whether the snapshot has the path as the previous one: it is no version. A
 * snapshot that was taken during a run is compared with others of that run, and
 * always loaded.
 */
static bool is_unchanged(struct skipping *s, const struct history *h,
			 const struct previous *previous,
			 const struct changed_snapshot *at)
{
	if (!h->path || !at->before || !previous->any ||
	    at->before != previous->seq || at->flags & CHANGED_DURING)
		return false;
	if (at->root != s->root) {
		s->root = at->root;
		s->hash = changed_paths_hash(
			path_rest(h->path, previous->snapshot.root_path));
	}
	return !changed_paths_has(s->changed, at, s->hash);
}

/* Whether the snapshot is no part of the history, without loading it. */
static bool skip_snapshot(struct skipping *s, const struct history *h,
			  struct previous *previous,
			  const struct changed_snapshot *at)
{
	bool wanted = is_wanted_root(s, at->root);

	if (wanted && !is_unchanged(s, h, previous, at))
		return false;
	if (at->run && at->flags & CHANGED_COMMAND)
		*VEC_ADD(&s->commands) = (struct command_of){at->run, at->seq};
	if (!wanted)
		return true;
	if (at->flags & CHANGED_OF_RUN) {
		/* As the previous one, with which the next snapshot of the run
		 * is compared in any case. */
		entry_free(&previous->made);
		free(previous->run_id);
		previous->run_id = NULL;
	} else {
		previous->seq = at->seq;
	}
	return true;
}

static int compare_commands(const void *a, const void *b)
{
	const struct command_of *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Whether the snapshot is one of that run; adds its command. */
static bool load_command(struct history *h, struct store *store, uint64_t seq,
			 const char *run_id)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (catalog_load(store, seq, &s, &ignored) < 0 ||
	    strcmp(s.run_id, run_id) != 0)
		return false;
	add_command(h, &s);
	return true;
}

/* The command of a run is that of its last snapshot. */
static void load_skipped_commands(struct history *h, struct store *store,
				  struct skipping *s)
{
	const struct command_of *all = s->commands.items;
	bool sorted = false;
	size_t i;

	for (i = 0; i < h->count; i++) {
		const char *id = h->rows[i].snapshot.run_id;
		const uint32_t run = changed_paths_hash(id);
		size_t low = 0, high = s->commands.count;

		if (!*id)
			continue;
		if (!sorted)
			VEC_SORT(&s->commands, compare_commands);
		sorted = true;
		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (all[mid].run <= run)
				low = mid + 1;
			else
				high = mid;
		}
		while (low-- > 0 && all[low].run == run)
			if (load_command(h, store, all[low].seq, id))
				break;
	}
}

int history_load(struct history *h, struct store *store, struct err *err)
{
	AUTO(previous) struct previous previous = {0};
	AUTO(skipping) struct skipping skipping = {0};
	auto_close int snaps_fd = -1;
	auto_free uint64_t *newer = NULL;
	const struct changed_paths *c;
	size_t count, i;

	h->commands = json_object();
	snaps_fd = store_open_subdir(store, "snaps", err);
	if (snaps_fd < 0)
		return snaps_fd;
	c = skipping.changed = changed_paths_open(store);
	if (changed_paths_newer(c, store, &newer, &count, err) < 0)
		return -err->num;
	count += c->count;
	add_roots(&skipping, h);
	for (i = 0; i < count; i++) {
		uint64_t seq =
			i < c->count ? c->items[i].seq : newer[i - c->count];

		if (i < c->count &&
		    skip_snapshot(&skipping, h, &previous, &c->items[i]))
			continue;
		if (add_row(h, store, snaps_fd, seq, &previous, err) < 0)
			return err_context(err, "snapshot %" PRIu64, seq);
		if (h->progress)
			h->progress(h->arg, "snapshot", i + 1, count);
	}
	load_skipped_commands(h, store, &skipping);
	return 0;
}
