#include "guard/change/run_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "snapshot/tree/catalog.h"

struct version_count {
	struct snapshot *s;
	bool any; /* more than mtimes of directories */
};

static void count_version_entry(struct snapshot *s, const struct entry *e,
				int by)
{
	if (!e || !e->mode)
		return;
	s->dirs += (uint64_t)(S_ISDIR(e->mode) ? by : 0);
	s->files += (uint64_t)(S_ISDIR(e->mode) ? 0 : by);
	if (S_ISREG(e->mode))
		s->bytes += by < 0 ? 0 - e->size : e->size;
}

static int count_change(void *arg, const char *path, const struct entry *old,
			const struct entry *now, struct err *err)
{
	struct version_count *c = arg;

	(void)path;
	(void)err;
	count_version_entry(c->s, old, -1);
	count_version_entry(c->s, now, 1);
	c->any |= !old || !now || !S_ISDIR(old->mode) || !S_ISDIR(now->mode) ||
		  !entry_same_meta(old, now);
	return 0;
}

int run_state_add(struct store *store, const struct session *s, size_t dir,
		  const struct snapshot *last, struct timestamp time,
		  const struct entry *root, uint64_t *seq, struct err *err)
{
	AUTO(snapshot)
	struct snapshot made = {
		.parent = last->seq,
		.time = time,
		.uid = geteuid(),
		.root_dev = last->root_dev,
		.files = last->files,
		.dirs = last->dirs,
		.bytes = last->bytes,
	};
	struct version_count version_count = {.s = &made};

	made.reason = mem_strdup("during-run");
	made.run_id = mem_strdup(s->id);
	made.command = mem_strdup(s->command);
	made.message = mem_strdup("");
	made.root_path = mem_strdup(s->roots[dir].path);
	entry_copy(&made.root, root);
	if (tree_diff(store, &last->root, root, count_change, &version_count,
		      err) < 0 ||
	    (version_count.any && catalog_add(store, &made, err) < 0))
		return -err->num;
	if (version_count.any)
		*seq = made.seq;
	return 0;
}
