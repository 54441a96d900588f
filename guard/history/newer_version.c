#include "guard/history/newer_version.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/history/pathglob.h"

struct newer_search {
	struct store *store;
	const struct newer_version *n;
	bool found;
};

/* Whether the path or a directory above it matches the pattern. */
static bool is_newer_wanted(const struct newer_version *n, const char *path)
{
	auto_free char *full_path = path_join(n->path, path);
	size_t least = strlen(n->path);
	char *slash;

	while (n->pattern && !pathglob_match(n->pattern, full_path)) {
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
	struct newer_search *s = arg;

	(void)err;
	if (b && !S_ISDIR(b->mode) && (!a || !entry_same_content(a, b)) &&
	    is_newer_wanted(s->n, path))
		s->found = true;
	return 0;
}

int newer_version_find(struct store *store, const struct newer_version *n,
		       uint64_t *ret_seq, struct err *err)
{
	struct newer_search newer_search = {.store = store, .n = n};
	AUTO(entry) struct entry e = {0};
	auto_free uint64_t *seqs = NULL;
	size_t count;

	if (tree_lookup(store, &n->than->root,
			path_rest(n->path, n->than->root_path), &e, err) < 0 ||
	    catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	if (!S_ISDIR(e.mode))
		return 0;
	while (count-- && seqs[count] > n->than->seq && !newer_search.found) {
		AUTO(snapshot) struct snapshot s = {0};
		AUTO(entry) struct entry part = {0};
		struct err damage;
		int got;

		/* The snapshot is damaged or was pruned during the loop. */
		got = catalog_load(store, seqs[count], &s, &damage);
		if (err_is_exhaustion(got)) {
			*err = damage;
			return got;
		}
		if (got < 0)
			continue;
		*ret_seq = s.seq;
		/* Snapshots before an earlier restore or undo do not count: the
		 * user selects them by their numbers. */
		if (!path_below(n->path, s.root_path) || snapshot_of_run(&s) ||
		    !(s.root.flags & ENTRY_INCOMPLETE) || s.excludes ||
		    strcmp(s.reason, "pre-restore") == 0 ||
		    strcmp(s.reason, "pre-undo") == 0 ||
		    (n->until.sec && timestamp_compare(s.time, n->until) > 0))
			continue;
		got = tree_lookup(store, &s.root,
				  path_rest(n->path, s.root_path), &part, err);
		if (got < 0)
			return got;
		if (got == 0)
			continue;
		if (tree_diff(store, &e, &part, note_newer_entry, &newer_search,
			      err) < 0)
			return -err->num;
		/* With a pattern, each snapshot may have other paths. */
		if (!n->pattern)
			return newer_search.found;
	}
	return newer_search.found;
}
