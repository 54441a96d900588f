/*
 * Common parts of the tests of the store: a directory of their own, bytes to
 * store, and the calls that make data durable, interposed, plain ones and those
 * through io_uring: each can be traced, fail, or be the last call of the
 * process.
 *
 * Include it once, after all other headers.
 */
#ifndef GUARD_TESTS_STORETEST_H
#define GUARD_TESTS_STORETEST_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "snapshot/store/ring.h"
#include "tests/unit/ring_hooks.h"
#include "snapshot/store/store.h"
#include "tests/unit/directory_fixture.h"

struct box {
	char dir[64]; /* the test's own directory */
	char store[80];
};

static int setup(void **state)
{
	struct box *box = mem_zalloc(sizeof(*box));

	ring_forbid(false);
	(void)snprintf(box->dir, sizeof(box->dir),
		       "/var/tmp/guard-test-XXXXXX");
	assert_non_null(mkdtemp(box->dir));
	(void)snprintf(box->store, sizeof(box->store), "%s/store", box->dir);
	*state = box;
	return 0;
}

static int teardown(void **state)
{
	struct box *box = *state;
	struct err err;

	ok(dirtree_remove(AT_FDCWD, box->dir, &err));
	free(box);
	return 0;
}

/* Bytes that depend on a number; every second kind compresses well. */
static unsigned char *bytes_make(uint64_t seed, size_t len)
{
	unsigned char *data = mem_alloc(len);
	uint64_t v = seed * 0x9e3779b97f4a7c15u + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
		data[i] = (unsigned char)(seed % 2 ? "guard "[v % 6] : v >> 32);
	}
	return data;
}

static void check_get(struct store *s, const struct oid *id, const void *data,
		      size_t len)
{
	AUTO(buf) struct buf b = {0};
	struct err err;

	assert_true(store_has(s, id));
	ok(store_get(s, id, &b, &err));
	assert_int_equal(b.len, len);
	assert_int_equal(id->len, len);
	if (len)
		assert_memory_equal(b.data, data, len);
}

#include "tests/unit/calls.h"

#endif
