/*
 * A test's own open directory below /var/tmp, and its removal. A test that
 * needs no more takes folder_box_setup() and folder_box_teardown() as they are:
 * *state is the struct folder_box then.
 */
#ifndef GUARD_TESTS_UNIT_DIRECTORY_FIXTURE_H
#define GUARD_TESTS_UNIT_DIRECTORY_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/dirtree.h"

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

/* Asserts a call that explains its failure in `err`. */
#define ok(call)                                                               \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", #call, err.text);                   \
	} while (0)

struct folder_box {
	char path[32];
	int fd;
};

static inline void folder_box_make(struct folder_box *box)
{
	(void)strcpy(box->path, "/var/tmp/guard-test-XXXXXX");
	assert_non_null(mkdtemp(box->path));
	box->fd = open(box->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(box->fd >= 0);
}

static inline void folder_box_remove(struct folder_box *box)
{
	struct err err;

	(void)close(box->fd);
	ok(dirtree_remove(AT_FDCWD, box->path, &err));
}

static inline int folder_box_setup(void **state)
{
	struct folder_box *box = mem_zalloc(sizeof(*box));

	folder_box_make(box);
	*state = box;
	return 0;
}

static inline int folder_box_teardown(void **state)
{
	folder_box_remove(*state);
	free(*state);
	return 0;
}

#endif
