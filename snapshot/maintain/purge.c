#include "snapshot/maintain/purge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"

struct purge_job {
	struct store *store;
	const char *path;
	char note[PURGE_NOTE_LEN];
};

/* --- the placeholder --- */

static int replace_purged_path(struct purge_job *p, struct snapshot *s,
			       const char *rest, const struct entry *old,
			       struct err *err)
{
	struct entry root = {0},
		     now = {
			     .name = old->name,
			     .mode = S_ISDIR(old->mode)
					     ? old->mode
					     : S_IFREG | (old->mode & 0777),
			     .uid = old->uid,
			     .gid = old->gid,
			     .mtime = old->mtime,
			     .flags = ENTRY_INCOMPLETE,
		     };
	struct tree_editor *ed;
	int got;

	if (!*rest) {
		entry_copy(&root, &now);
	} else {
		ed = tree_editor_new(p->store, &s->root);
		got = tree_editor_put(ed, rest, &now, err);
		if (tree_editor_end(&ed, got, &root, err) < 0)
			return -err->num;
	}
	entry_free(&s->root);
	s->root = root;
	snapshot_add_note(s, NOTE_INCOMPLETE, rest, p->note);
	return catalog_replace(p->store, s, err);
}

/* 1: the snapshot had the path; 0: it did not. */
static int purge_snapshot(struct purge_job *p, uint64_t seq, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	const char *rest;
	int got = catalog_load(p->store, seq, &s, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	/* The tree of a timeline has no paths of the directory. */
	if (strcmp(s.reason, CATALOG_TIMELINE) == 0)
		return 0;
	if (path_below(s.root_path, p->path))
		rest = "";
	else if (path_below(p->path, s.root_path))
		rest = path_rest(p->path, s.root_path);
	else
		return 0;
	got = tree_lookup(p->store, &s.root, rest, &e, err);
	/* A placeholder has no content. */
	if (got <= 0 || ((S_ISREG(e.mode) || S_ISDIR(e.mode)) &&
			 e.content.type == OBJECT_NONE && !e.size &&
			 e.flags & ENTRY_INCOMPLETE))
		return got < 0 ? got : 0;
	return replace_purged_path(p, &s, rest, &e, err) < 0 ? -err->num : 1;
}

void purge_note(char ret[PURGE_NOTE_LEN], struct timestamp now)
{
	time_t clock = (time_t)now.sec;
	struct tm tm;

	if (!localtime_r(&clock, &tm) ||
	    !strftime(ret, PURGE_NOTE_LEN, NOTE_PURGED "%Y-%m-%d %H:%M", &tm))
		(void)snprintf(ret, PURGE_NOTE_LEN, NOTE_PURGED "%lld",
			       (long long)now.sec);
}

/* --- the purge --- */

int purge_path(struct store *s, const char *path,
	       const struct prune_options *options, struct purge_result *ret,
	       struct err *err)
{
	struct purge_job p = {.store = s, .path = path};
	struct purge_result result = {0};
	struct prune_result pruned = {0};
	struct prune_options o = {
		.policy = {.within = INT64_MAX},
		.thorough = true,
		.now = options->now,
		.busy = options->busy,
		.progress = options->progress,
		.arg = options->arg,
	};
	auto_free uint64_t *seqs = NULL;
	size_t count, i;
	int lock;

	purge_note(p.note, options->now);
	if (catalog_list(s, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		int got = purge_snapshot(&p, seqs[i], err);

		if (got < 0)
			return err_context(err, "snapshot %" PRIu64, seqs[i]);
		result.snapshots += (uint64_t)got;
		if (o.progress)
			o.progress(o.arg, "snapshot", i + 1, count);
	}
	/* Also when no snapshot had the path: an earlier call may have been
	 * killed at this point. */
	if (prune_run(s, &o, NULL, &pruned, err) < 0)
		return -err->num;
	/* A process that wrote to the store before prune_run() had it alone may
	 * have written the cache by snapshots from before the purge. */
	lock = store_commit_begin(s, err);
	if (lock < 0)
		return lock;
	catalog_drop_changed_paths(s);
	store_commit_end(s, lock);
	result.packs = pruned.packs;
	*ret = result;
	return 0;
}
