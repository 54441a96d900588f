/*
 * The content of a directory as text: from the directory itself by plain calls,
 * or from a snapshot of it. Equal texts mean equal trees, including bytes and
 * times. The text of the directory is the model for the snapshot.
 */
#ifndef GUARD_TESTS_UNIT_STOREMODEL_H
#define GUARD_TESTS_UNIT_STOREMODEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/catalog.h"

#define MODEL_FILE_MAX ((size_t)64 << 20)

/* FNV-1a, because the store's own hash is under test. */
static uint64_t model_number(const struct buf *b)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < b->len; i++)
		h = (h ^ b->data[i]) * 0x100000001b3u;
	return h;
}

static void model_line(struct buf *to, const char *path, uint32_t mode,
		       struct timestamp mtime, const char *link,
		       const struct buf *bytes)
{
	buf_printf(to, "%s %o %lld.%09u %s %zu %016llx\n", path, mode,
		   (long long)mtime.sec, mtime.nsec, link ? link : "-",
		   bytes->len, (unsigned long long)model_number(bytes));
}

/* --- from the directory --- */

/* Returns 0, or -1 with errno. */
static __attribute__((unused)) int model_folder(int dirfd, const char *path,
						struct buf *to)
{
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf bytes = {0};
	char link[4096];
	struct stat st;
	struct timestamp mtime;
	struct err err;
	size_t i;

	if (fstatat(dirfd, *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	mtime = (struct timestamp){st.st_mtim.tv_sec,
				   (uint32_t)st.st_mtim.tv_nsec};
	*link = '\0';
	if (S_ISLNK(st.st_mode)) {
		ssize_t n = readlinkat(dirfd, path, link, sizeof(link) - 1);

		link[n < 0 ? 0 : n] = '\0';
	}
	if (S_ISREG(st.st_mode) &&
	    fd_slurp_at(dirfd, path, MODEL_FILE_MAX, &bytes, &err) < 0)
		return -1;
	model_line(to, path, st.st_mode, mtime, *link ? link : NULL, &bytes);
	if (S_ISDIR(st.st_mode)) {
		auto_close int fd = openat(dirfd, *path ? path : ".",
					   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 || dirlist_read(fd, &list, &err) < 0)
			return -1;
		for (i = 0; i < list.count; i++) {
			auto_free char *below =
				path_join(path, list.items[i].name);

			if (model_folder(dirfd, below, to) < 0)
				return -1;
		}
	}
	return 0;
}

/* --- from a snapshot --- */

struct model_telling {
	struct store *store;
	struct buf *to;
};

static int model_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct model_telling *t = arg;
	AUTO(buf) struct buf bytes = {0};

	if (S_ISREG(e->mode) && e->content.type != OBJECT_NONE) {
		auto_close int fd = memfd_create("model", MFD_CLOEXEC);

		if (content_write(t->store, &e->content, fd, NULL, err) < 0)
			return -err->num;
		(void)lseek(fd, 0, SEEK_SET);
		if (fd_slurp(fd, MODEL_FILE_MAX, &bytes, err) < 0)
			return -err->num;
	}
	model_line(t->to, path, e->mode, e->mtime, e->link, &bytes);
	return 0;
}

static __attribute__((unused)) int
model_snapshot(struct store *s, uint64_t seq, struct buf *to, struct err *err)
{
	AUTO(snapshot) struct snapshot snap = {0};
	struct model_telling t = {s, to};

	if (catalog_load(s, seq, &snap, err) < 0)
		return -err->num;
	return tree_each(s, &snap.root, model_entry, &t, err);
}

#endif
