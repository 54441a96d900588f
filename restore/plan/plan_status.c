/*
 * Files that the status command of a version system rewrites: no user made that
 * change. Compared is what such a file has beside the times and sizes of the
 * files in the work tree.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/path.h"
#include "restore/git/gitindex.h"
#include "restore/plan/plan_private.h"
#include "snapshot/store/content.h"

#define DIRSTATE_MAX (256u << 20)
#define PARENTS_LEN 40
#define ENTRY_LEN 17 /* state; mode, size, mtime, length of the name */
#define SIZE_AT 5
#define NAME_LEN_AT 13

enum status_file {
	STATUS_NONE,
	STATUS_GIT, /* an index of git: also that of a worktree or module */
	STATUS_HG, /* the dirstate of hg; of sl, where it has the same format */
	STATUS_OPAQUE, /* also has the additions of the user */
	STATUS_CACHE, /* has nothing else */
};

static const struct status_row {
	const char *dir, *rest; /* "X/": all below X */
	enum status_file kind;
} rows[] = {
	{".git", "index", STATUS_GIT},
	{".hg", "dirstate", STATUS_HG},
	{".hg", "cache/", STATUS_CACHE},
	{".hg", "wcache/", STATUS_CACHE},
	{".sl", "dirstate", STATUS_HG},
	{".sl", "treestate/", STATUS_OPAQUE},
	{".sl", "cache/", STATUS_CACHE},
	{".sl", "wcache/", STATUS_CACHE},
	{".jj", "working_copy/tree_state", STATUS_CACHE},
	{".bzr", "checkout/dirstate", STATUS_OPAQUE},
};

static enum status_file classify(const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t end = path_part_end(path, rows[i].dir);
		size_t len = strlen(rows[i].rest);
		const char *rest = path + end + (end && path[end]);

		if (end && (rows[i].rest[len - 1] == '/'
				    ? strncmp(rest, rows[i].rest, len) == 0
				    : strcmp(rest, rows[i].rest) == 0 ||
					      (rows[i].kind == STATUS_GIT &&
					       path_ends(rest, "/index"))))
			return rows[i].kind;
	}
	return STATUS_NONE;
}

/* The first version of the format: both parents, then for each file its state
 * (n, a, r, m), mode, size, mtime and name. A negative size is a mark of a
 * merge, but for -1, an unknown size. */
static bool sum_dirstate(const struct buf *bytes, struct buf *sum)
{
	size_t at = PARENTS_LEN;

	if (bytes->len < at)
		return false;
	buf_add(sum, bytes->data, at);
	while (at < bytes->len) {
		const unsigned char *p = bytes->data + at;
		uint32_t len;

		if (bytes->len - at < ENTRY_LEN || !strchr("narm", *p) || !*p)
			return false;
		len = get_be32(p + NAME_LEN_AT);
		if (len > bytes->len - at - ENTRY_LEN)
			return false;
		buf_add(sum, p, 1);
		if (p[SIZE_AT] & 0x80 && get_be32(p + SIZE_AT) != UINT32_MAX)
			buf_add(sum, p + SIZE_AT, 4);
		buf_add(sum, p + NAME_LEN_AT, 4 + len);
		at += ENTRY_LEN + len;
	}
	return true;
}

/* 1 and the sum; 0: another format. */
static int read_dirstate(struct store *store, const struct entry *e,
			 struct buf *sum, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	if (!S_ISREG(e->mode) || e->size > DIRSTATE_MAX)
		return 0;
	return content_append(store, &e->content, &bytes, err) < 0
		       ? -err->num
		       : sum_dirstate(&bytes, sum);
}

static int match_dirstates(struct store *store, const struct entry *now,
			   const struct entry *other, struct err *err)
{
	AUTO(buf) struct buf x = {0}, y = {0};
	int got = read_dirstate(store, now, &x, err);

	if (got > 0)
		got = read_dirstate(store, other, &y, err);
	if (got < 0)
		return got;
	return got ? buf_same(&x, &y) : PLAN_STATUS_REPLACED;
}

static bool is_file_or_none(const struct entry *e)
{
	return !e->mode || S_ISREG(e->mode);
}

int plan_status_same(struct planner *pl, const char *path,
		     const struct entry *now, const struct entry *other,
		     struct err *err)
{
	enum status_file kind = classify(path);

	if (kind == STATUS_CACHE)
		return is_file_or_none(now) && is_file_or_none(other);
	if (!kind || !now->mode || !other->mode ||
	    entry_same_content(now, other) || !entry_same_meta(now, other))
		return 0;
	if (kind == STATUS_GIT)
		return gitindex_same(pl->store, now, other, err);
	return kind == STATUS_HG ? match_dirstates(pl->store, now, other, err)
				 : PLAN_STATUS_REPLACED;
}
