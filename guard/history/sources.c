#include "guard/history/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/history/history.h"
#include "guard/history/locate.h"
#include "guard/history/pathglob.h"
#include "guard/state/report.h"
#include "restore/plan/unit.h"
#include "guard/change/resolve_run.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

static void restore_target_free(struct restore_target *t)
{
	names_free(&t->lost);
	free(t->arg);
	free(t->path);
	free(t->pattern);
	snapshot_free(&t->snapshot);
	entry_free(&t->entry);
}

void sources_free(struct sources *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		restore_target_free(&s->items[i]);
	free(s->items);
	*s = (struct sources){0};
}

void sources_skip_lost(struct sources *s)
{
	size_t i, count = s->count;

	s->count = 0;
	for (i = 0; i < count; i++) {
		struct restore_target *t = &s->items[i];

		if (!restore_paths_lost(t, t->path, &t->entry)) {
			s->items[s->count++] = *t;
			continue;
		}
		report_warning("%s is skipped: its content is lost",
			       text_quote(t->arg));
		restore_target_free(t);
	}
}

/* --- the snapshots that have a path --- */

/* May take *s and leave {0}. A result other than 0 ends the loop. */
typedef int (*version_visit)(void *arg, struct snapshot *s,
			     const struct entry *e, struct err *err);

/* Calls visit() for each snapshot of the real files that has the path, the
 * newest first. An unread snapshot is skipped, unless memory or descriptors are
 * lacking: an older one must not take its place then. */
static int each_version(struct store *store, const char *path,
			version_visit visit, void *arg, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count;
	int got = 0;

	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	while (count-- && got == 0) {
		AUTO(snapshot) struct snapshot s = {0};
		AUTO(entry) struct entry e = {0};
		struct err damage;

		got = catalog_load(store, seqs[count], &s, &damage);
		if (err_is_exhaustion(-got)) {
			*err = damage;
			return got;
		}
		if (got < 0 || !path_below(path, s.root_path) ||
		    snapshot_of_run(&s)) {
			got = 0;
			continue;
		}
		got = snapshot_covers_path(store, &s, path, err);
		if (got > 0)
			got = tree_lookup(store, &s.root,
					  path_rest(path, s.root_path), &e,
					  err);
		if (got > 0)
			got = visit(arg, &s, &e, err);
	}
	return got;
}

/* The state before a restore or undo: the user selects it by its number. */
static bool is_before_restore(const struct snapshot *s)
{
	return strcmp(s->reason, "pre-restore") == 0 ||
	       strcmp(s->reason, "pre-undo") == 0;
}

/* The newest version with all bytes. */
struct choice {
	struct timestamp until; /* not newer; {0}: any that is_before_restore()
				   does not exclude */
	struct snapshot *ret;
};

static int choose_version(void *arg, struct snapshot *s, const struct entry *e,
			  struct err *err)
{
	const struct choice *c = arg;

	(void)err;
	if (e->flags & ENTRY_INCOMPLETE ||
	    (c->until.sec ? timestamp_compare(s->time, c->until) > 0
			  : is_before_restore(s)))
		return 0;
	*c->ret = *s;
	*s = (struct snapshot){0};
	return 1;
}

/* A snapshot that is named by its number, or counted back to, is used exactly;
 * for a time, all earlier snapshots are candidates. */
static bool may_take_newest(const struct sources *s,
			    struct timestamp *ret_until)
{
	struct err ignored;
	struct time_spec time_spec;

	if (time_spec_parse(s->at, timestamp_now(), &time_spec, &ignored) < 0)
		return false;
	*ret_until = time_spec.kind == TIME_SPEC_TIME ? time_spec.time
						      : (struct timestamp){0};
	return time_spec.kind == TIME_SPEC_TIME ||
	       (time_spec.kind == TIME_SPEC_LATEST && !time_spec.number);
}

/*
 * For a time, the newest snapshot not after it that has the complete directory,
 * which a partial snapshot does not have. Without --at, the states before an
 * earlier restore or undo are skipped (they are reached by number or by undo):
 * otherwise the second restore of a file would return the content that the
 * first one (or its --dry-run) replaced. Entries that could not be read
 * completely are skipped if there is an older complete version.
 */
static int find_snapshot(const struct sources *s, const char *path,
			 struct snapshot *ret, struct err *err)
{
	struct choice c = {.ret = ret};
	size_t i;
	int got = 0;

	if (!s->at || (may_take_newest(s, &c.until) && c.until.sec))
		got = each_version(s->store, path, choose_version, &c, err);
	if (got)
		return got < 0 ? got : 0;
	for (i = 0; i + 1 < s->count; i++) {
		const struct snapshot *at = &s->items[i].snapshot;

		/* The state of a run is made once. */
		if (!at->seq && path_below(path, at->root_path)) {
			snapshot_copy(ret, at);
			return 0;
		}
	}
	return locate_find(s->c, s->at, path, true, ret, err);
}

static int find_source(struct sources *s, char *path, struct err *err)
{
	struct restore_target *t;
	int got;

	t = VEC_ADD(s);
	*t = (struct restore_target){.arg = path};
	if (find_snapshot(s, t->arg, &t->snapshot, err) < 0)
		return locate_only_run(s->store, t->arg, err);
	t->path = mem_strdup(path_rest(t->arg, t->snapshot.root_path));
	got = tree_lookup(s->store, &t->snapshot.root, t->path, &t->entry, err);
	if (got < 0)
		return got;
	if (snapshot_purge_note(&t->snapshot, t->path))
		return fail(err, ENODATA,
			    "%s of %s was %s: it cannot be restored",
			    text_quote(t->arg), snapshot_label(&t->snapshot),
			    snapshot_purge_note(&t->snapshot, t->path));
	if (!got)
		return fail(err, ENOENT,
			    "no such path: %s in %s; `guard find NAME` "
			    "searches all snapshots for a name",
			    text_quote(t->arg), snapshot_label(&t->snapshot));
	return 0;
}

/* --- wildcards --- */

struct expand {
	struct sources *s;
	const char *pattern;
	const char *fixed; /* where the walk begins */
	const struct snapshot *snapshot;
	char *skip; /* comes along as a whole */
	size_t count;
};

static int add_glob_match(void *arg, const char *path, const struct entry *e,
			  struct err *err)
{
	struct expand *x = arg;
	struct sources *s = x->s;
	auto_free char *full_path = path_join(x->fixed, path);
	struct restore_target *t;
	const char *gone;

	if ((x->skip && path_below(full_path, x->skip)) ||
	    !pathglob_match(x->pattern, full_path))
		return 0;
	gone = snapshot_purge_note(
		x->snapshot, path_rest(full_path, x->snapshot->root_path));
	if (gone) {
		report_warning("%s of %s was %s", text_quote(full_path),
			       snapshot_label(x->snapshot), gone);
		return 0;
	}
	t = VEC_ADD(s);
	*t = (struct restore_target){
		.arg = mem_strdup(full_path),
		.path = mem_strdup(
			path_rest(full_path, x->snapshot->root_path)),
		.pattern = mem_strdup(x->pattern),
	};
	entry_copy(&t->entry, e);
	snapshot_copy(&t->snapshot, x->snapshot);
	(void)err;
	x->count++;
	free(x->skip);
	x->skip = TAKE(full_path);
	return 0;
}

/* Adds the matches of a snapshot. 1: there are some. */
static int expand_in(struct expand *x, const struct snapshot *s,
		     const struct entry *top, struct err *err)
{
	int got;

	x->snapshot = s;
	got = tree_each(x->s->store, top, add_glob_match, x, err);
	free(TAKE(x->skip));
	return got < 0 ? got : x->count > 0;
}

static int expand_version(void *arg, struct snapshot *s, const struct entry *e,
			  struct err *err)
{
	if (e->flags & ENTRY_INCOMPLETE || is_before_restore(s))
		return 0;
	return expand_in(arg, s, e, err);
}

static int expand_at(struct expand *x, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry top = {0};
	int got = find_snapshot(x->s, x->fixed, &s, err);

	if (got == 0)
		got = tree_lookup(x->s->store, &s.root,
				  path_rest(x->fixed, s.root_path), &top, err);
	return got > 0 ? expand_in(x, &s, &top, err) : got;
}

static int find_matches(struct sources *s, const char *pattern, struct err *err)
{
	auto_free char *fixed = pathglob_fixed(pattern);
	struct expand x = {.s = s, .pattern = pattern, .fixed = fixed};
	int got =
		s->at ? expand_at(&x, err)
		      : each_version(s->store, fixed, expand_version, &x, err);

	if (got == 0 || got == -ENOENT)
		return fail(err, ENOENT,
			    "no stored path matches %s; `guard find GLOB` "
			    "searches the results of runs, too",
			    text_quote(pattern));
	return got < 0 ? got : 0;
}

int sources_find(struct sources *s, const char *arg, struct err *err)
{
	auto_free char *path = resolve_run_path(arg, err);
	size_t before = s->count;

	if (!path)
		return -err->num;
	if (!pathglob_has_wildcards(arg))
		return find_source(s, TAKE(path), err);
	if (find_source(s, mem_strdup(path), err) == 0)
		return 0;
	if (err->num != ENOENT)
		return -err->num;
	while (s->count > before)
		restore_target_free(&s->items[--s->count]);
	return find_matches(s, path, err);
}

/* --- newer files in partial snapshots --- */

/*
 * An apply in a large project stores only a few paths
 * (guard/change/apply_plan.c). Such a snapshot does not have a directory
 * completely, so that a restore takes the directory from an older snapshot,
 * although some of its files were stored later.
 */
struct newer_search {
	struct store *store;
	struct timestamp until; /* {0}: all */
	const struct restore_target *than;
	const char *path; /* absolute */
	struct entry top; /* the path in the chosen snapshot */
	uint64_t seq; /* the newest snapshot with such a file, or 0 */
	bool found;
};

/* Whether the path or a directory above it matches the pattern. */
static bool is_newer_wanted(const struct newer_search *n, const char *path)
{
	const char *pattern = n->than->pattern;
	auto_free char *full_path = path_join(n->path, path);
	size_t least = strlen(n->path);
	char *slash;

	while (pattern && !pathglob_match(pattern, full_path)) {
		slash = strrchr(full_path, '/');
		if (!slash || slash <= full_path + least)
			return false;
		*slash = '\0';
	}
	return true;
}

/* A path that a partial snapshot lacks is unknown, not deleted. */
static int note_newer_entry(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	struct newer_search *n = arg;

	(void)err;
	if (b && !S_ISDIR(b->mode) && (!a || !entry_same_content(a, b)) &&
	    is_newer_wanted(n, path))
		n->found = true;
	return 0;
}

static int search_newer(void *arg, struct snapshot *s, const struct entry *e,
			struct err *err)
{
	struct newer_search *n = arg;

	if (s->seq <= n->than->snapshot.seq)
		return 1;
	if (!(s->root.flags & ENTRY_INCOMPLETE) || s->excludes ||
	    is_before_restore(s) ||
	    (n->until.sec && timestamp_compare(s->time, n->until) > 0))
		return 0;
	n->seq = s->seq;
	if (tree_diff(n->store, &n->top, e, note_newer_entry, n, err) < 0)
		return -err->num;
	/* With a pattern, each snapshot may have other paths. */
	return n->found || !n->than->pattern;
}

/* For a directory. 1: a later partial snapshot (*ret_seq) has another version
 * of one of the paths. */
static int find_newer(const struct sources *s, const struct restore_target *t,
		      struct timestamp until, uint64_t *ret_seq,
		      struct err *err)
{
	auto_free char *fixed = t->pattern ? pathglob_fixed(t->pattern) : NULL;
	struct newer_search n = {
		.store = s->store,
		.until = until,
		.than = t,
		.path = fixed ? fixed : t->arg,
	};
	int got = tree_lookup(s->store, &t->snapshot.root,
			      path_rest(n.path, t->snapshot.root_path), &n.top,
			      err);

	if (got >= 0 && S_ISDIR(n.top.mode))
		got = each_version(s->store, n.path, search_newer, &n, err);
	entry_free(&n.top);
	*ret_seq = n.seq;
	return got < 0 ? got : n.found;
}

void sources_print(const struct sources *s)
{
	size_t i, next;

	for (i = 0; i < s->count; i = next) {
		const struct restore_target *t = &s->items[i];
		const char *pattern = t->pattern;
		struct timestamp until;
		struct err err;
		uint64_t seq;
		int got;

		for (next = i + 1; next < s->count && pattern; next++)
			if (!s->items[next].pattern ||
			    strcmp(s->items[next].pattern, pattern) != 0)
				break;
		report_note("%s%s%s from %s (%s, %s)",
			    pattern ? text_count(next - i, "path") : "",
			    pattern ? " like " : "",
			    text_quote(pattern ? pattern : t->arg),
			    snapshot_label(&t->snapshot),
			    text_time(t->snapshot.time), t->snapshot.reason);
		if (!may_take_newest(s, &until))
			continue;
		got = find_newer(s, t, until, &seq, &err);
		if (got < 0)
			report_warning("%s", err.text);
		if (got > 0)
			report_warning("partial snapshot %" PRIu64
				       " has a newer version %s %s: guard "
				       "restore --at %" PRIu64 " restores it",
				       seq, pattern ? "like" : "in",
				       text_quote(pattern ? pattern : t->arg),
				       seq);
	}
}

void sources_print_earlier(const struct sources *s)
{
	AUTO(history) struct history h = {0};
	const struct history_row *now = NULL, *earlier = NULL;
	struct err err;
	size_t i;

	if (s->count != 1 || s->at || s->items[0].pattern)
		return;
	h.path = s->items[0].arg;
	if (history_load(&h, s->store, &err) < 0)
		return;
	for (i = h.count; i-- > 0 && !earlier;) {
		const struct history_row *row = &h.rows[i];

		if (row->of_run || !row->entry.mode)
			continue;
		if (!now)
			now = row;
		else if (!entry_same_content(&row->entry, &now->entry) ||
			 !entry_same_meta(&row->entry, &now->entry))
			earlier = row;
	}
	if (earlier)
		report_hint("guard restore --at %" PRIu64
			    " %s restores the previous version (%s, %s)",
			    earlier->snapshot.seq, text_shell(s->items[0].arg),
			    text_time(earlier->snapshot.time),
			    earlier->snapshot.reason);
}

int sources_check_free(const struct sources *s, const char *dir,
		       struct err *err)
{
	size_t i, k;

	for (i = 0; i < s->count; i++) {
		const char *name = path_name(s->items[i].arg);
		auto_free char *path = path_join(dir, name);
		struct stat st;
		int fits = unit_is_main(s->store, &s->items[i].entry, err);

		/* A database would read the sidecars of another one. */
		for (k = 0; k < UNIT_MEMBERS && fits >= 0; k++) {
			auto_free char *member =
				unit_path(path, (enum unit_member)k);

			if ((!k || fits) && lstat(member, &st) == 0)
				return fail(err, EEXIST,
					    "%s already exists: restore into "
					    "another directory",
					    text_quote(member));
		}
		if (fits < 0)
			return fits;
		for (k = 0; k < i; k++)
			if (strcmp(path_name(s->items[k].arg), name) == 0)
				return fail(err, EEXIST,
					    "%s and %s have the same name: "
					    "restore them one by one",
					    text_quote(s->items[k].arg),
					    text_quote(s->items[i].arg));
	}
	return 0;
}
