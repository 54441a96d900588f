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
#include "guard/history/newer_version.h"
#include "guard/history/pathglob.h"
#include "guard/state/report.h"
#include "guard/change/resolve_run.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

/* Without --at: so many versions at most are passed over. */
#define VERSIONS_BACK_MAX 100

static void restore_target_free(struct restore_target *t)
{
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

/* Whether restore takes it without being told: 1 or 0, or negative. */
static int is_restorable(const struct sources *s,
			 const struct restore_target *t, struct err *err)
{
	const char *path = path_rest(t->arg, t->snapshot.root_path);
	const char *reason = t->snapshot.reason;
	AUTO(entry) struct entry e = {0};

	if (strcmp(reason, "pre-restore") == 0 ||
	    strcmp(reason, "pre-undo") == 0)
		return 0;
	if (tree_lookup(s->store, &t->snapshot.root, path, &e, err) < 0)
		return -err->num;
	return !(e.flags & ENTRY_INCOMPLETE);
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
 * For a time: the newest snapshot not after it that has the complete directory,
 * which a partial snapshot does not have. 0: there is none, or s->at is no
 * time.
 */
static int find_before_time(const struct sources *s, const char *path,
			    struct snapshot *ret, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	struct timestamp until;
	size_t count;

	if (!s->at || !may_take_newest(s, &until) || !until.sec)
		return 0;
	if (catalog_list(s->store, &seqs, &count, err) < 0)
		return -err->num;
	while (count--) {
		AUTO(snapshot) struct snapshot one = {0};
		AUTO(entry) struct entry e = {0};
		struct err damage;
		int got;

		got = catalog_load(s->store, seqs[count], &one, &damage);
		/* An older snapshot must not take the place of an unread one.
		 */
		if (err_is_exhaustion(got)) {
			*err = damage;
			return got;
		}
		if (got < 0 || !path_below(path, one.root_path) ||
		    snapshot_of_run(&one) ||
		    timestamp_compare(one.time, until) > 0)
			continue;
		got = tree_lookup(s->store, &one.root,
				  path_rest(path, one.root_path), &e, err);
		if (got < 0)
			return got;
		if (!got || e.flags & ENTRY_INCOMPLETE)
			continue;
		*ret = one;
		one = (struct snapshot){0};
		return 1;
	}
	return 0;
}

/*
 * Without --at, the states before an earlier restore or undo are skipped (they
 * are reached by number or by undo): otherwise the second restore of a file
 * would return the content that the first one (or its --dry-run) replaced.
 * Entries that could not be read completely are skipped if there is an older
 * complete version.
 */
static int find_source_snapshot(struct sources *s, struct restore_target *t,
				struct err *err)
{
	size_t back;
	int got;

	got = find_before_time(s, t->arg, &t->snapshot, err);
	if (got)
		return got < 0 ? got : 0;
	if (s->at)
		return catalog_find(s->store, s->at, t->arg, true, &t->snapshot,
				    err);
	for (back = 0; back < VERSIONS_BACK_MAX; back++) {
		auto_free char *time_spec = mem_printf("latest~%zu", back);

		got = catalog_find(s->store, time_spec, t->arg, true,
				   &t->snapshot, err);
		if (got == -ENOENT && back)
			break;
		if (got < 0)
			return got;
		got = is_restorable(s, t, err);
		if (got)
			return got < 0 ? got : 0;
		snapshot_free(&t->snapshot);
		t->snapshot = (struct snapshot){0};
	}
	return catalog_find(s->store, NULL, t->arg, true, &t->snapshot, err);
}

static int find_source(struct sources *s, char *path, struct err *err)
{
	struct restore_target *t;
	int got;

	t = VEC_ADD(s);
	*t = (struct restore_target){.arg = path};
	if (find_source_snapshot(s, t, err) < 0)
		return -err->num;
	t->path = mem_strdup(path_rest(t->arg, t->snapshot.root_path));
	got = tree_lookup(s->store, &t->snapshot.root, t->path, &t->entry, err);
	if (got < 0)
		return got;
	if (snapshot_purge_note(&t->snapshot, t->path))
		return fail(err, ENODATA,
			    "%s of snapshot %" PRIu64
			    " was %s: it cannot be restored",
			    text_quote(t->arg), t->snapshot.seq,
			    snapshot_purge_note(&t->snapshot, t->path));
	if (!got)
		return fail(err, ENOENT,
			    "no such path: %s in snapshot %" PRIu64
			    "; `guard find NAME` searches all snapshots for a "
			    "name",
			    text_quote(t->arg), t->snapshot.seq);
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
		report_warning("%s of snapshot %" PRIu64 " was %s",
			       text_quote(full_path), x->snapshot->seq, gone);
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
	x->count++;
	free(x->skip);
	x->skip = TAKE(full_path);
	return catalog_load(s->store, x->snapshot->seq, &t->snapshot, err);
}

static int find_matches(struct sources *s, const char *pattern, struct err *err)
{
	auto_free char *fixed = pathglob_fixed(pattern);
	struct restore_target in = {.arg = fixed};
	struct expand x = {
		.s = s,
		.pattern = pattern,
		.fixed = fixed,
		.snapshot = &in.snapshot,
	};
	size_t back;
	int got = 0;

	for (back = 0; back < VERSIONS_BACK_MAX && got == 0; back++) {
		auto_free char *time_spec = mem_printf("latest~%zu", back);
		AUTO(entry) struct entry top = {0};

		got = find_before_time(s, fixed, &in.snapshot, err);
		if (got == 0)
			got = catalog_find(s->store, s->at ? s->at : time_spec,
					   fixed, true, &in.snapshot, err);
		if (got == -ENOENT && back)
			break;
		if (got < 0)
			return got;
		got = s->at ? 1 : is_restorable(s, &in, err);
		if (got > 0)
			got = tree_lookup(
				s->store, &in.snapshot.root,
				path_rest(fixed, in.snapshot.root_path), &top,
				err);
		if (got > 0)
			got = tree_each(s->store, &top, add_glob_match, &x,
					err);
		free(TAKE(x.skip));
		if (got == 0)
			got = x.count > 0;
		snapshot_free(&in.snapshot);
		in.snapshot = (struct snapshot){0};
		if (s->at)
			break;
	}
	if (got == 0 || got == -ENOENT)
		return fail(err, ENOENT, "no stored path matches %s",
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

void sources_print(const struct sources *s)
{
	size_t i, next;

	for (i = 0; i < s->count; i = next) {
		const struct restore_target *t = &s->items[i];
		const char *pattern = t->pattern;
		auto_free char *fixed =
			pattern ? pathglob_fixed(pattern) : NULL;
		struct newer_version n = {
			.than = &t->snapshot,
			.path = fixed ? fixed : t->arg,
			.pattern = pattern,
		};
		struct err err;
		uint64_t seq;
		int got;

		for (next = i + 1; next < s->count && pattern; next++)
			if (!s->items[next].pattern ||
			    strcmp(s->items[next].pattern, pattern) != 0)
				break;
		report_note("%s%s%s from snapshot %" PRIu64 " (%s, %s)",
			    pattern ? text_count(next - i, "path") : "",
			    pattern ? " like " : "",
			    text_quote(pattern ? pattern : t->arg),
			    t->snapshot.seq, text_time(t->snapshot.time),
			    t->snapshot.reason);
		if (!may_take_newest(s, &n.until))
			continue;
		got = newer_version_find(s->store, &n, &seq, &err);
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
			    " PATH restores the previous version (%s, %s)",
			    earlier->snapshot.seq,
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

		if (lstat(path, &st) == 0)
			return fail(err, EEXIST,
				    "%s already exists: restore into another "
				    "directory",
				    text_quote(path));
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
