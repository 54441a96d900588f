#include "snapshot/backup/copy_prune.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "snapshot/backup/push.h"

/* Lists the files that are kept: the manifests from a complete one on, which is
 * the one at `first` or older, and all that they add. None may be missing: it
 * may be listed later. All that the newest backup needs must be known: back to
 * a complete manifest none may be damaged. Of older ones a damaged one is
 * passed over, because nothing recovers it; after an error of a read the prune
 * stops. Of a number which two clones have used, the chain of each
 * begins before. */
static int list_kept(const struct manifest_place *place,
		     const struct manifest_names *names, size_t first,
		     struct names *ret, struct err *err)
{
	const struct manifest_name *n = names->items;
	size_t i = names->count, k;
	bool known = false, complete = false;

	while (i-- > 0 && !complete) {
		AUTO(manifest) struct manifest m = {0};
		int got = manifest_read(place, &n[i], &m, err);

		if (i + 1 < names->count && n[i].number + 1 < n[i + 1].number)
			got = fail(err, ESTALE,
				   "the next one is not listed: try again "
				   "later, or keep fewer backups");
		if (got < 0 && (!known || got != -EBADMSG))
			return err_context(err, "backup %" PRIu64, n[i].number);
		names_add(ret, manifest_file_name(&n[i]));
		for (k = 0; k < m.adds.count; k++)
			names_add(ret, manifest_object_name(&m.adds.items[k]));
		complete = m.complete && !manifest_has_twin(names, i);
		known |= complete;
		complete &= i <= first;
	}
	VEC_SORT(ret, sorted_compare_texts);
	return 0;
}

static int delete_others(const struct manifest_place *place,
			 enum seal_kind kind, const struct names *keep,
			 bool dry_run, struct copy_prune_result *ret,
			 struct err *err)
{
	const struct destination *d = place->destination;
	auto_free char *dir = manifest_space_path(place->space, kind);
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (destination_list(d, dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_free char *path = path_join(dir, name);
		auto_close int fd = -1;
		struct stat st;

		if (list.items[i].type != DT_REG ||
		    !destination_is_hashed(name) ||
		    bsearch(&name, keep->items, keep->count, sizeof(char *),
			    sorted_compare_texts))
			continue;
		fd = destination_read(d, path, err);
		if (fd == -ENOENT)
			continue;
		if (fd < 0 ||
		    (!dry_run && destination_delete(d, path, err) < 0))
			return -err->num;
		if (fstat(fd, &st) == 0)
			ret->bytes += (uint64_t)st.st_size;
		ret->backups += kind == SEAL_MANIFEST;
		ret->files += kind != SEAL_MANIFEST;
	}
	return 0;
}

int copy_prune(struct destination *d, const unsigned char space[SEAL_SPACE_LEN],
	       uint64_t keep, bool dry_run, int local_fd,
	       struct copy_prune_result *ret, struct err *err)
{
	struct manifest_place place = {.destination = d};
	AUTO(manifest_names) struct manifest_names names = {0};
	AUTO(names) struct names kept = {0};
	auto_close int lock = push_lock(local_fd, d, err);
	struct manifest_name last;
	enum seal_kind kind;

	*ret = (struct copy_prune_result){0};
	if (lock < 0)
		return lock;
	memcpy(place.space, space, SEAL_SPACE_LEN);
	if (manifest_list(&place, &names, err) < 0)
		return -err->num;
	push_read_last(local_fd, &last);
	if (last.number && !sorted_find_number(last.number, names.items,
					       names.count, sizeof(last))) {
		(void)fail(err, ESTALE,
			   "the list of its backups lacks the newest one, "
			   "%" PRIu64,
			   last.number);
		return destination_explain(d, err);
	}
	if (names.count <= keep)
		return 0;
	if (list_kept(&place, &names, names.count - (size_t)keep, &kept, err) <
	    0)
		return -err->num;
	/* Manifests go first: a killed prune leaves no backup without its
	 * files. */
	for (kind = SEAL_MANIFEST; kind; kind--)
		if (delete_others(&place, kind, &kept, dry_run, ret, err) < 0)
			return -err->num;
	return 0;
}
