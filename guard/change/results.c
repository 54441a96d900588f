#include "guard/change/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/sorted.h"
#include "guard/change/apply_log.h"
#include "guard/change/applied_base.h"
#include "guard/change/late_base.h"
#include "overlay/session_base.h"
#include "overlay/whiteout.h"
#include "restore/result.h"

/* The numbers that people see in `guard log`, from the base's. */
static void count_result(struct snapshot *s, const struct snapshot *base,
			 const struct change_list *changes)
{
	size_t i;

	s->files = base->files;
	s->dirs = base->dirs;
	s->bytes = base->bytes;
	for (i = 0; i < changes->count; i++) {
		const struct change *c = &changes->items[i];

		s->dirs += S_ISDIR(c->now.mode) && !S_ISDIR(c->old.mode);
		s->dirs -= S_ISDIR(c->old.mode) && !S_ISDIR(c->now.mode);
		s->files += c->now.mode && !S_ISDIR(c->now.mode);
		s->files -= c->old.mode && !S_ISDIR(c->old.mode);
		s->bytes += S_ISREG(c->now.mode) ? c->now.size : 0;
		s->bytes -= S_ISREG(c->old.mode) ? c->old.size : 0;
	}
}

struct kept_changes {
	const struct changes_root *changes;
	struct change_list again;
};

/* Whether the directory has the path, and no whiteout there. */
static bool has_entry(int dir_fd, const char *path)
{
	struct err ignored;
	auto_close int fd = beneath_open(dir_fd, path, O_PATH, 0, &ignored);
	struct meta m;

	return fd >= 0 && meta_get(fd, "", &m) == 0 && !whiteout_is(&m);
}

static int note_kept_change(void *arg, const char *path,
			    const struct entry *base, const struct entry *was,
			    struct err *err)
{
	struct kept_changes *k = arg;
	const struct change_list *list = &k->changes->list;
	struct meta m = {.mode = (was ? was : base)->mode};
	bool in_layer = has_entry(k->changes->upper_fd, path);

	(void)err;
	if (!*path || FIND_BY_PATH(path, list->items, list->count, path))
		return 0;
	if (was ? in_layer && !entry_same_state(was, base)
		: !in_layer && !has_entry(k->changes->lower_fd, path))
		change_list_add(&k->again, path,
				was ? CHANGE_MODIFIED : CHANGE_DELETED, 0,
				was ? NULL : &m, was ? &m : NULL);
	return 0;
}

/* A change that the run had before it went on is one still, if the layer has
 * it, although the real file is the same at the moment. *result: the new one.
 */
static int keep_changes(struct store *store, const struct changes_root *changes,
			const struct entry *base, const struct entry *before,
			struct entry *result, bool *kept, struct err *err)
{
	struct kept_changes k = {.changes = changes};
	AUTO(entry) struct entry made = {0};
	int got = tree_diff(store, base, before, note_kept_change, &k, err);

	*kept |= k.again.count > 0;
	if (got == 0 && k.again.count)
		got = result_make(store, result, changes->upper_fd, &k.again,
				  NULL, &made, err);
	if (got == 0 && k.again.count) {
		entry_free(result);
		*result = TAKE(made);
	}
	change_list_free(&k.again);
	return got;
}

int results_store_root(struct store *store, struct session *s, size_t index,
		       const struct changes_root *changes, uint64_t before,
		       bool *kept, struct err *err)
{
	struct session_root *root = &s->roots[index];
	AUTO(snapshot) struct snapshot base = {0}, result = {0}, stored = {0};
	bool own = false;
	struct err ignored;
	int got = catalog_load(store, applied_base_seq(s, index), &base, err);

	if (got == 0)
		got = result_make(store, &base.root, changes->upper_fd,
				  &changes->list, NULL, &result.root, err);
	if (got == 0 && before &&
	    catalog_load(store, before, &stored, &ignored) == 0)
		got = keep_changes(store, changes, &base.root, &stored.root,
				   &result.root, &own, err);
	*kept |= own;
	/* No change. */
	if (got < 0 ||
	    (!changes->list.count && !session_has_applied(s) && !own))
		return got;
	/* A layer that went on and is as it was before has its result
	 * already. */
	if (stored.seq && entry_equal(&stored.root, &result.root)) {
		root->result = before;
		return 0;
	}
	result.reason = mem_strdup("post-run");
	result.run_id = mem_strdup(s->id);
	result.command = mem_strdup(s->command);
	result.message = mem_strdup("");
	result.root_path = mem_strdup(root->path);
	result.root_dev = base.root_dev;
	result.parent = base.seq;
	result.time = s->ended;
	result.uid = geteuid();
	count_result(&result, &base, &changes->list);
	got = catalog_add(store, &result, err);
	if (got == 0)
		root->result = result.seq;
	return got;
}

int results_store_home(struct context *c, struct session *s,
		       struct changes_root *home, uint64_t before, bool *kept,
		       struct err *err)
{
	AUTO(change_list) struct change_list caches = {0};
	const struct session_root *root = &s->roots[s->root_count];
	int got = 0;

	changes_take_caches(&home->list, &caches);
	if (home->list.count || before || root->applied || root->left) {
		if (context_store(c, STORE_WRITE, err) < 0 ||
		    apply_log_convert(c, s, err) < 0 ||
		    late_base_take_home(c->store, &c->state, s, home, err) <
			    0 ||
		    results_store_root(c->store, s, s->root_count, home, before,
				       kept, err) < 0)
			got = err_context(err, "the home directory");
	}
	if (got == 0)
		record_set(&s->more, CHANGES_HOME,
			   caches.count ? CHANGES_HOME_BUT_CACHES
					: CHANGES_HOME_ALL);
	changes_add_caches(&home->list, &caches);
	return got;
}
