#include "guard/past/newer.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"

/* What one of some paths lacks, it says nothing of. */
static int each(void *arg, const char *path, const struct entry *a,
		const struct entry *b, struct err *err)
{
	bool *differs = arg;

	(void)path;
	(void)err;
	if (b && !S_ISDIR(b->mode) && (!a || !entry_same_content(a, b)))
		*differs = true;
	return 0;
}

/* What was there before an earlier restore or undo is had by its number. */
static bool counts(const struct snapshot *s, const char *path)
{
	return path_below(path, s->root_path) && !snapshot_of_run(s) &&
	       (s->root.flags & ENTRY_INCOMPLETE) && !s->excludes &&
	       strcmp(s->reason, "pre-restore") != 0 &&
	       strcmp(s->reason, "pre-undo") != 0;
}

/* 1: it has some of it, and *ret_differs; 0: none. */
static int compare(struct store *store, const struct snapshot *s,
		   const char *path, const struct entry *e, bool *ret_differs,
		   struct err *err)
{
	AUTO(entry) struct entry part = {0};
	int got;

	*ret_differs = false;
	if (!counts(s, path))
		return 0;
	got = tree_lookup(store, &s->root, path_rest(path, s->root_path), &part,
			  err);
	if (got <= 0)
		return got;
	got = tree_diff(store, e, &part, each, ret_differs, err);
	return got < 0 ? got : 1;
}

int newer_part(struct store *store, const struct snapshot *than,
	       const char *path, const struct entry *e, uint64_t *ret_seq,
	       struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count;

	if (!S_ISDIR(e->mode))
		return 0;
	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	while (count-- && seqs[count] > than->seq) {
		AUTO(snapshot) struct snapshot s = {0};
		struct err damage;
		bool differs;
		int got;

		/* A damaged one, or one that is pruned meanwhile. */
		if (catalog_load(store, seqs[count], &s, &damage) < 0)
			continue;
		got = compare(store, &s, path, e, &differs, err);
		*ret_seq = s.seq;
		if (got)
			return got < 0 ? got : differs;
	}
	return 0;
}
