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
#include "snapshot/store/store.h"
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
