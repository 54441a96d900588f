#include "guard/change/apply_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "guard/change/action.h"
#include "guard/change/applied_base.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"
#include "restore/entry_compare.h"
#include "restore/workspace.h"

#define NAME "applied"
#define VERSION 1

/* The items of the log, and those that the first guards stored in the session's
 * record. -ENOENT: there are none. A damaged log is set aside. */
static int load_apply_log(const struct session *s, struct record *ret,
			  struct err *err)
{
	static const char *const keys[] = {"applied", "merged", "applied-home"};
	int got = record_load(s->fd, NAME, NAME, VERSION, ret, err);
	size_t i, k;

	if (got == -EBADMSG) {
		got = record_set_aside(s->fd, NAME, err);
		report_warning("run %s: %s: changes that were applied together "
			       "with edits of yours may be listed again",
			       session_label(s), err->text);
	}
	if (got < 0 && got != -ENOENT)
		return err_context(err, "run %s", session_label(s));
	for (i = 0; i < s->more.count; i++)
		for (k = 0; k < ARRAY_SIZE(keys); k++)
			if (strcmp(s->more.items[i].key, keys[k]) == 0)
				record_add(ret, keys[k],
					   s->more.items[i].value);
	return ret->count ? 0 : -ENOENT;
}

/* "applied", or "applied-2" for the second additional root. */
static char *root_key(const struct session *s, const char *key, size_t root)
{
	if (root == s->root_count)
		return mem_printf("%s-home", key);
	return root ? mem_printf("%s-%zu", key, root) : mem_strdup(key);
}

/* One apply in one root. */
struct logged_apply {
	struct store *store;
	const struct record *record;
	const char *merged, *version; /* keys of the merged paths */
	const struct entry *base;
	struct tree_editor *editor;
	struct snapshot before, after;
	bool in_effect, home;
	int root_fd;
};

/* Whether the apply that has this snapshot before it, in one of its roots, was
 * not undone. An apply whose action is unknown counts as undone. */
static bool is_in_effect(int workspace_fd, uint64_t before)
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

/* Whether the real file is as the apply left it. */
static bool is_as_applied(const struct logged_apply *l, const char *path,
			  const struct entry *after)
{
	const char *name = path;
	struct err ignored;
	auto_close int parent =
		beneath_parent(l->root_fd, path, &name, &ignored);
	struct stat st;

	if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return !after;
	return after && after->mode == (uint32_t)st.st_mode &&
	       (S_ISDIR(st.st_mode) ||
		entry_compare_content(l->store, parent, name, after,
				      &ignored) == 1);
}

static int copy_from(const struct logged_apply *l, const struct snapshot *from,
		     const char *path, struct err *err)
{
	AUTO(lookup)
	struct lookup tree = {.store = l->store, .root = &from->root};

	return applied_base_copy(l->editor, &tree, path, err);
}

/* Copies the run's version, without the user's edits, that the apply has
 * merged; does nothing if it is not known, or no longer stored. */
static int copy_merged(const struct logged_apply *l, const char *path,
		       struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	const char *value;
	uint64_t before, seq;
	size_t n;
	int used, got;

	for (n = 0; (value = record_get_nth(l->record, l->version, n)); n++) {
		used = 0;
		/* A blank in the format would skip blanks of the path. */
		if (sscanf(value, "%" SCNu64 " %" SCNu64 "%n", &before, &seq,
			   &used) < 2 ||
		    value[used] != ' ' || before != l->before.seq ||
		    strcmp(value + used + 1, path) != 0)
			continue;
		got = catalog_load(l->store, seq, &result, err);
		if (got < 0)
			return got == -ENOENT ? 0 : got;
		return copy_from(l, &result, path, err);
	}
	return 0;
}

static int move_logged_path(void *arg, const char *path,
			    const struct entry *before,
			    const struct entry *after, struct err *err)
{
	const struct logged_apply *l = arg;
	AUTO(entry) struct entry base = {0};

	if (!*path)
		return 0;
	if (l->home)
		return copy_from(l, l->in_effect ? &l->after : &l->before, path,
				 err);
	if (record_has(l->record, l->merged, path))
		return l->in_effect ? copy_merged(l, path, err) : 0;
	/* An apply may have written only entries of a directory: the mode of
	 * the directory itself may come from the user. */
	if (before && after && S_ISDIR(before->mode) && S_ISDIR(after->mode) &&
	    entry_same_meta(before, after)) {
		if (tree_lookup(l->store, l->base, path, &base, err) < 0)
			return -err->num;
		if (S_ISDIR(base.mode))
			return 0;
	}
	return l->in_effect || is_as_applied(l, path, after)
		       ? copy_from(l, &l->after, path, err)
		       : 0;
}

static int move_by_log(struct logged_apply *l, const char *key,
		       int workspace_fd, struct err *err)
{
	const char *value;
	uint64_t first, second;
	size_t n;
	int got = 0;

	for (n = 0; (value = record_get_nth(l->record, key, n)); n++) {
		if (sscanf(value, "%" SCNu64 " %" SCNu64, &first, &second) != 2)
			return fail(err, EBADMSG, "its record is damaged");
		snapshot_free(&l->before);
		snapshot_free(&l->after);
		got = catalog_load(l->store, first, &l->before, err);
		if (got == 0)
			got = catalog_load(l->store, second, &l->after, err);
		if (got == 0) {
			l->in_effect = is_in_effect(workspace_fd, first);
			got = tree_diff(l->store, &l->before.root,
					&l->after.root, move_logged_path, l,
					err);
		}
		if (got < 0 && got != -ENOENT)
			return got;
	}
	return 0;
}

static int convert_root(struct context *c, struct session *s, size_t root,
			const struct record *r, int workspace_fd,
			struct err *err)
{
	bool home = root == s->root_count;
	uint64_t *to = home ? &s->roots[root].left : &s->roots[root].applied;
	auto_free char *applied = root_key(s, "applied", root);
	auto_free char *merged = root_key(s, "merged", root);
	auto_free char *version = root_key(s, "merged-version", root);
	AUTO(snapshot) struct snapshot base = {0};
	AUTO(entry) struct entry made = {0};
	auto_close int root_fd = fd_open_dir(AT_FDCWD, s->roots[root].path);
	struct logged_apply l = {
		.store = c->store,
		.record = r,
		.merged = merged,
		.version = version,
		.base = &base.root,
		.home = home,
		.root_fd = root_fd,
	};
	int got;

	if (!record_get(r, applied) || (!home && !s->roots[root].base))
		return 0;
	if (home)
		base.root.mode = S_IFDIR | 0700;
	else if (catalog_load(c->store, s->roots[root].base, &base, err) < 0)
		return -err->num;
	l.editor = tree_editor_new(c->store, &base.root);
	got = move_by_log(&l, applied, workspace_fd, err);
	got = tree_editor_end(&l.editor, got, &made, err);
	if (got == 0 && !entry_equal(&made, &base.root))
		got = applied_base_add(c->store, s, root, &made, &base, to,
				       err);
	snapshot_free(&l.before);
	snapshot_free(&l.after);
	return got;
}

int apply_log_convert(struct context *c, struct session *s, struct err *err)
{
	AUTO(record) struct record r = {0};
	auto_close int workspace_fd = -1;
	struct err ignored;
	size_t i;
	int got;

	if (fd_exists(s->fd, SESSION_APPLIED))
		return 0;
	got = load_apply_log(s, &r, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	workspace_fd = workspace_open(c->state.workspaces_fd, s->project, false,
				      &ignored);
	got = context_store(c, STORE_WRITE, err);
	for (i = 0; i <= s->root_count && got == 0; i++)
		got = convert_root(c, s, i, &r, workspace_fd, err);
	if (got == 0)
		got = session_put_applied(s, NULL, err);
	return got < 0 ? err_context(err,
				     "record of what was applied of run %s",
				     session_label(s))
		       : 0;
}
