/* The store: what was put comes back, whatever happens in between. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/walk.h"
#include "snapshot/hash.h"
#include "snapshot/store.h"

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

struct box {
	char dir[64]; /* a folder of the test's own */
	char store[80];
};

static int setup(void **state)
{
	struct box *box = mem_zalloc(sizeof(*box));

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

	if (walk_remove(AT_FDCWD, box->dir, &err) < 0)
		fail_msg("%s", err.text);
	free(box);
	return 0;
}

#define ok(call)                                                               \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", #call, err.text);                   \
	} while (0)

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

static const size_t sizes[] = {0,      1,	15,	 240,	 241,
			       4096,   16384,	65535,	 65536,	 70000,
			       262144, 1000000, 1048576, 3000000};
#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define KINDS (SIZES * 2)

static void put_all(struct store *s, struct oid *ids)
{
	struct err err;
	size_t i;

	for (i = 0; i < KINDS; i++) {
		unsigned char *data = bytes_make(i, sizes[i / 2]);

		ok(store_put(s, (enum object_type)(1 + i % 4), data,
			     sizes[i / 2], &ids[i], &err));
		free(data);
	}
}

static void get_all(struct store *s, const struct oid *ids)
{
	size_t i;

	for (i = 0; i < KINDS; i++) {
		unsigned char *data = bytes_make(i, sizes[i / 2]);

		assert_int_equal(ids[i].type, 1 + i % 4);
		check_get(s, &ids[i], data, sizes[i / 2]);
		free(data);
	}
}

static void what_was_put_comes_back_before_and_after_a_flush(void **state)
{
	struct box *box = *state;
	struct oid ids[KINDS];
	struct store *s;
	struct err err;

	ok(store_open(&s, box->store, STORE_WRITE, &err));
	put_all(s, ids);
	get_all(s, ids);
	ok(store_flush(s, &err));
	get_all(s, ids);
	store_free(&s);
	ok(store_open(&s, box->store, STORE_READ, &err));
	get_all(s, ids);
	store_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_was_put_comes_back_before_and_after_a_flush, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
