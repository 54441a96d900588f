/*
 * A test's own directory with an open store in it, for the tests of trees,
 * snapshots and the stat cache. Each test gets a new one.
 */
#ifndef GUARD_TESTS_UNIT_SNAP_FIXTURE_H
#define GUARD_TESTS_UNIT_SNAP_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "base/sorted.h"
#include "snapshot/store/store.h"
#include "snapshot/tree/tree.h"
#include "tests/unit/directory_fixture.h"

struct box {
	char dir[64];
	char store_root_fd[80], root[80], cache[80];
	struct store *store;
	int root_fd;
};

static int setup(void **state)
{
	struct box *box = mem_zalloc(sizeof(*box));
	struct err err;

	(void)snprintf(box->dir, sizeof(box->dir),
		       "/var/tmp/guard-test-XXXXXX");
	assert_non_null(mkdtemp(box->dir));
	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd),
		       "%s/store", box->dir);
	(void)snprintf(box->root, sizeof(box->root), "%s/root", box->dir);
	(void)snprintf(box->cache, sizeof(box->cache), "%s/cache", box->dir);
	assert_return_code(mkdir(box->root, 0755), errno);
	box->root_fd = open(box->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	*state = box;
	return 0;
}

static int teardown(void **state)
{
	struct box *box = *state;
	struct err err;

	store_free(&box->store);
	(void)close(box->root_fd);
	ok(dirtree_remove(AT_FDCWD, box->dir, &err));
	free(box);
	return 0;
}

/* Stores a tree whose entries may be in any order. */
static inline int tree_save(struct store *s, struct tree *t, struct oid *ret,
			    struct err *err)
{
	AUTO(tree_writer)
	struct tree_writer *w = tree_writer_new(s, t->count);
	size_t i;

	SORT_BY_TEXT(t->entries, t->count, name);
	for (i = 0; i < t->count; i++)
		if (tree_writer_add(w, &t->entries[i], err) < 0)
			return -err->num;
	return tree_writer_end(w, ret, err);
}

/* Writes a file of the directory. */
static inline void put_bytes(struct box *box, const char *name,
			     const void *data, size_t len)
{
	auto_close int fd =
		openat(box->root_fd, name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_return_code(fd, errno);
	assert_return_code(fd_write(fd, data, len), errno);
}

#endif
