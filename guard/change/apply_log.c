#include "guard/change/apply_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "guard/change/action.h"
#include "guard/change/run_state.h"
#include "guard/state/report.h"
#include "restore/entry_compare.h"
#include "snapshot/tree/catalog.h"

#define NAME "applied"
#define VERSION 1

/* -ENOENT: the run has no log, or its damaged log is set aside. Without the
 * log, changes that were applied before are compared with the project alone. */
static int load_own_log(const struct session *s, struct record *ret,
			struct err *err)
{
	int got = record_load(s->fd, NAME, NAME, VERSION, ret, err);

	if (got != -EBADMSG)
		return got;
	got = record_set_aside(s->fd, NAME, err);
	report_warning("run %s: %s: changes that were applied together with "
		       "edits of yours may be listed again",
		       session_label(s), err->text);
	return got;
}

/* Loads the items of the log, and the items that an earlier guard stored in the
 * session's record. */
static int load_apply_log(const struct session *s, struct record *ret,
			  struct err *err)
{
	static const char *const keys[] = {"applied", "merged", "applied-home"};
	int got = load_own_log(s, ret, err);
	size_t i, k;

	if (got < 0 && got != -ENOENT)
		return err_context(err, "run %s", session_label(s));
	for (i = 0; i < s->more.count; i++)
		for (k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			if (strcmp(s->more.items[i].key, keys[k]) == 0)
				record_add(ret, keys[k],
					   s->more.items[i].value);
	return 0;
}

/* "applied", or "applied-2" for the second additional root. */
static char *apply_log_key(const char *key, size_t dir)
{
	if (dir == APPLY_LOG_HOME)
		return mem_printf("%s-home", key);
	return dir ? mem_printf("%s-%zu", key, dir) : mem_strdup(key);
}

/* Opens the log for one more apply. */
static int begin_add(const struct session *s, const char *applied,
		     uint64_t before, uint64_t after, struct record *ret,
		     struct err *err)
{
	auto_free char *value =
		mem_printf("%" PRIu64 " %" PRIu64, before, after);
	int got = load_own_log(s, ret, err);

	if (got < 0 && got != -ENOENT)
		return got;
	record_add(ret, applied, value);
	return 0;
}

static int end_add(const struct session *s, const struct record *r,
		   struct err *err)
{
	return record_save(s->fd, NAME, NAME, VERSION, r, ATOMIC_NO_SYNC, err);
}

/* 1: the applied version is the one of the run's stored result. */
static int is_whole(struct store *store, const struct entry *wanted,
		    const struct entry *result, const char *path,
		    struct err *err)
{
	AUTO(entry) struct entry applied = {0}, made = {0};

	if (tree_lookup(store, wanted, path, &applied, err) < 0 ||
	    tree_lookup(store, result, path, &made, err) < 0)
		return -err->num;
	return applied.mode && entry_same_state(&applied, &made);
}

/* The number of a snapshot with the applied version of a merged file: of the
 * run's stored result, or of the applied tree (*applied), which is stored then.
 * 0: none could be stored, and the file stays pending. */
static uint64_t store_merged_version(struct store *store,
				     const struct session *s, size_t dir,
				     const struct apply_log_merge *m,
				     const char *path, uint64_t *applied)
{
	AUTO(snapshot) struct snapshot result = {0};
	uint64_t seq = s->roots[dir].result;
	struct err ignored;

	if (seq && catalog_load(store, seq, &result, &ignored) == 0 &&
	    is_whole(store, m->wanted, &result.root, path, &ignored) > 0)
		return seq;
	if (!*applied)
		(void)run_state_add(store, s, dir, m->base, timestamp_now(),
				    m->wanted, applied, &ignored);
	return *applied;
}

static void add_merged(struct store *store, const struct session *s, size_t dir,
		       uint64_t before, uint64_t after,
		       const struct apply_log_merge *m, struct record *to)
{
	auto_free char *merged = apply_log_key("merged", dir);
	auto_free char *version = apply_log_key("merged-version", dir);
	uint64_t applied = 0;
	size_t i;

	for (i = 0; i < m->plan->steps.count; i++) {
		const struct step *step = &m->plan->steps.items[i];
		bool is_merged =
			step->how == STEP_MERGED || step->how == STEP_MARKED;
		bool had_edits = record_has(to, merged, step->path);
		auto_free char *value = NULL;
		uint64_t seq = 0;

		if (is_merged && !had_edits)
			record_add(to, merged, step->path);
		if (step->how == STEP_MERGED)
			seq = store_merged_version(store, s, dir, m, step->path,
						   &applied);
		else if (!is_merged && had_edits)
			seq = after;
		if (!seq)
			continue;
		value = mem_printf("%" PRIu64 " %" PRIu64 " %s", before, seq,
				   step->path);
		record_add(to, version, value);
	}
}

int apply_log_add(struct store *store, const struct session *s, size_t dir,
		  uint64_t before, uint64_t after,
		  const struct apply_log_merge *m, struct err *err)
{
	auto_free char *applied = apply_log_key("applied", dir);
	AUTO(record) struct record r = {0};

	if (begin_add(s, applied, before, after, &r, err) < 0)
		return -err->num;
	add_merged(store, s, dir, before, after, m, &r);
	return end_add(s, &r, err);
}

int apply_log_add_home(const struct session *s, uint64_t before, uint64_t after,
		       struct err *err)
{
	AUTO(record) struct record r = {0};

	return begin_add(s, "applied-home", before, after, &r, err) < 0
		       ? -err->num
		       : end_add(s, &r, err);
}

bool apply_log_any(const struct session *s)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	int got = load_apply_log(s, &r, &ignored);

	return got < 0 || r.count;
}

struct rebase {
	struct store *store;
	const struct apply_log_query *query;
	const struct record *record;
	const char *merged, *version; /* keys of the merged paths */
	uint64_t before; /* the snapshot before the current apply */
	const struct entry *base;
	bool apply_in_effect; /* state of the current apply */
	apply_log_each each;
	void *arg;
};

/* timed: mtime must be equal, too. Without a tree the file itself is looked at:
 * its bytes are compared only when mtime differs, and an unreadable one
 * differs. */
static int path_is_as_applied(const struct rebase *r, const char *path,
			      const struct entry *after, bool timed,
			      struct err *err)
{
	AUTO(entry) struct entry now = {0};
	auto_close int parent = -1;
	struct timestamp mtime;
	const char *name = path;
	struct err ignored;
	struct stat st;

	if (r->query->now) {
		if (tree_lookup(r->store, r->query->now, path, &now, err) < 0)
			return -err->num;
		return entry_same_state(&now, after) &&
		       (!timed || entry_same_time(&now, after));
	}
	parent = beneath_parent(r->query->lower_fd, path, &name, &ignored);
	if (parent < 0)
		return !after && (parent == -ENOENT || parent == -ENOTDIR);
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return !after && errno == ENOENT;
	if (!after || after->mode != (uint32_t)st.st_mode ||
	    (S_ISREG(st.st_mode) && after->size != (uint64_t)st.st_size))
		return false;
	mtime = (struct timestamp){st.st_mtim.tv_sec,
				   (uint32_t)st.st_mtim.tv_nsec};
	return S_ISDIR(st.st_mode) ||
	       timestamp_compare(after->mtime, mtime) == 0 ||
	       (!timed && entry_compare_content(r->store, parent, name, after,
						&ignored) == 1);
}

/* The version of the run, without the user's edits, that the current apply has
 * merged; 0: it is not known, or no longer stored. */
static int find_merged_version(const struct rebase *r, const char *path,
			       struct entry *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	const char *value;
	uint64_t before, seq;
	size_t n;
	int used, got;

	for (n = 0; (value = record_get_nth(r->record, r->version, n)); n++) {
		used = 0;
		/* A blank in the format would skip blanks of the path. */
		if (sscanf(value, "%" SCNu64 " %" SCNu64 "%n", &before, &seq,
			   &used) < 2 ||
		    value[used] != ' ' || before != r->before ||
		    strcmp(value + used + 1, path) != 0)
			continue;
		got = catalog_load(r->store, seq, &result, err);
		if (got < 0)
			return got == -ENOENT ? 0 : got;
		return tree_lookup(r->store, &result.root, path, ret, err);
	}
	return 0;
}

static int rebase_applied_path(void *arg, const char *path,
			       const struct entry *before,
			       const struct entry *after, struct err *err)
{
	struct rebase *r = arg;
	AUTO(entry) struct entry base = {0}, made = {0};
	/* Content and metadata are equal before and after the apply, so only
	 * mtime tells which version is on disk. */
	bool timed = before && after && !S_ISDIR(after->mode) &&
		     entry_same_state(before, after);
	int got;

	if (!*path)
		return 0;
	if (record_has(r->record, r->merged, path)) {
		got = find_merged_version(r, path, &made, err);
		if (got <= 0)
			return got;
	}
	/* An apply may have written only entries of a directory: the mode of
	 * the directory itself may come from the user. */
	if (before && after && S_ISDIR(before->mode) && S_ISDIR(after->mode) &&
	    entry_same_meta(before, after)) {
		if (tree_lookup(r->store, r->base, path, &base, err) < 0)
			return -err->num;
		if (S_ISDIR(base.mode))
			return 0;
	}
	got = path_is_as_applied(r, path, after, timed, err);
	if (got == 0 && r->apply_in_effect) {
		got = path_is_as_applied(r, path, before, timed, err);
		if (got >= 0)
			got = !got;
	}
	return got <= 0 ? got
			: r->each(r->arg, path, made.mode ? &made : after, err);
}

/* Whether the apply that has this snapshot before it, in one of its roots, was
 * not undone. An apply whose action is unknown counts as undone. */
static bool apply_in_effect(int workspace_fd, uint64_t before)
{
	struct err ignored;
	bool found = false;
	size_t back, n;

	for (back = 0; workspace_fd >= 0 && !found; back++) {
		AUTO(action) struct action a = {0};

		if (action_load_effective(workspace_fd, back, &a, &ignored) < 0)
			break;
		for (n = 0; n < a.roots.count; n++)
			found |= action_first(&a, n) == before;
	}
	return found;
}

int apply_log_each_base(struct store *store, const struct session *s,
			size_t dir, const struct apply_log_query *query,
			const struct entry *base, apply_log_each each,
			void *arg, struct err *err)
{
	auto_free char *applied = apply_log_key("applied", dir);
	auto_free char *merged = apply_log_key("merged", dir);
	auto_free char *version = apply_log_key("merged-version", dir);
	AUTO(record) struct record record = {0};
	struct rebase r = {
		.store = store,
		.query = query,
		.record = &record,
		.merged = merged,
		.version = version,
		.base = base,
		.each = each,
		.arg = arg,
	};
	uint64_t first, second;
	size_t n;
	int got = load_apply_log(s, &record, err);

	for (n = 0; got >= 0; n++) {
		AUTO(snapshot) struct snapshot before = {0}, after = {0};
		const char *value = record_get_nth(&record, applied, n);

		if (!value)
			break;
		if (sscanf(value, "%" SCNu64 " %" SCNu64, &first, &second) !=
		    2) {
			got = fail(err, EBADMSG, "the run's record is damaged");
			break;
		}
		got = catalog_load(store, first, &before, err);
		if (got == 0)
			got = catalog_load(store, second, &after, err);
		if (got == 0) {
			r.before = first;
			r.apply_in_effect =
				apply_in_effect(query->workspace_fd, first);
			got = tree_diff(store, &before.root, &after.root,
					rebase_applied_path, &r, err);
		} else if (got == -ENOENT) {
			got = 0;
		}
	}
	return got < 0 ? err_context(err,
				     "record of what was applied of run %s",
				     session_label(s))
		       : 0;
}

struct base_edit {
	struct store *store;
	const struct entry *base, *now; /* now may be NULL */
	struct tree_editor *editor; /* NULL: no change yet */
};

static int edit_base_tree(void *arg, const char *path,
			  const struct entry *began, struct err *err)
{
	struct base_edit *e = arg;
	AUTO(entry) struct entry now = {0};
	AUTO(entry) struct entry dir = {0};

	if (!e->editor)
		e->editor = tree_editor_new(e->store, e->base);
	if (!began)
		return tree_editor_remove(e->editor, path, err);
	if (!S_ISDIR(began->mode))
		return tree_editor_put(e->editor, path, began, err);
	/* The flags come from `now`: the applied entry may be incomplete
	 * because its snapshot is partial. */
	if (e->now && tree_lookup(e->store, e->now, path, &now, err) < 0)
		return -err->num;
	entry_copy(&dir, began);
	dir.flags = now.flags;
	return tree_editor_put_dir(e->editor, path, &dir, err);
}

int apply_log_rebase(struct store *store, const struct session *s, size_t dir,
		     const struct apply_log_query *query, struct entry *base,
		     struct err *err)
{
	struct base_edit e = {.store = store, .base = base, .now = query->now};
	struct entry root = {0};
	int got = apply_log_each_base(store, s, dir, query, base,
				      edit_base_tree, &e, err);

	if (got == 0 && e.editor) {
		got = tree_editor_save(e.editor, &root, err);
		if (got < 0)
			(void)err_context(
				err, "record of what was applied of run %s",
				session_label(s));
	}
	if (got == 0 && e.editor) {
		entry_free(base);
		*base = root;
	}
	tree_editor_free(&e.editor);
	return got;
}

/* Whether `now` has the path as in that snapshot; 0 when the snapshot no longer
 * exists. */
static int is_as_in_snapshot(struct store *store, uint64_t seq,
			     const struct entry *now, const char *path,
			     struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry was = {0};
	int got = catalog_load(store, seq, &s, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0 || tree_lookup(store, &s.root, path, &was, err) < 0)
		return -err->num;
	return was.mode && entry_same_state(now, &was);
}

static int is_own_change(struct store *store, const struct record *r,
			 const char *key, const struct entry *root,
			 const char *path, struct err *err)
{
	AUTO(entry) struct entry now = {0};
	const char *value;
	size_t n;
	int got = tree_lookup(store, root, path, &now, err);

	for (n = 0; got > 0; n++) {
		uint64_t before, after;

		value = record_get_nth(r, key, n);
		if (!value)
			return 0;
		if (sscanf(value, "%" SCNu64 " %" SCNu64, &before, &after) != 2)
			continue;
		got = is_as_in_snapshot(store, after, &now, path, err);
		if (got == 0)
			got = is_as_in_snapshot(store, before, &now, path, err);
		if (got)
			return got;
		got = 1;
	}
	return got;
}

int apply_log_filter_notes(struct store *store, const struct session *s,
			   size_t dir, struct snapshot *now, struct err *err)
{
	auto_free char *key = apply_log_key("applied", dir);
	AUTO(record) struct record r = {0};
	size_t kept = 0, i;

	if (load_apply_log(s, &r, err) < 0)
		return -err->num;
	if (!record_get(&r, key))
		return 0;
	for (i = 0; i < now->note_count; i++) {
		struct note *n = &now->notes[i];
		int got = n->kind == NOTE_MOVED
				  ? is_own_change(store, &r, key, &now->root,
						  n->path, err)
				  : 0;

		if (got < 0) {
			memmove(&now->notes[kept], n,
				(now->note_count - i) * sizeof(*n));
			now->note_count -= i - kept;
			return got;
		}
		if (got) {
			free(n->path);
			free(n->text);
		} else {
			now->notes[kept++] = *n;
		}
	}
	now->note_count = kept;
	return 0;
}
