/*
 * For the tests of verify, prune and repair: small projects, snapshots of
 * them with plain copies as the oracle, and damage done on purpose.
 */
#ifndef GUARD_TESTS_UNIT_KEEP_FIXTURE_H
#define GUARD_TESTS_UNIT_KEEP_FIXTURE_H

#include <sys/mman.h>
#include <sys/xattr.h>

#include "snapshot/walk/take.h"
#include "snapshot/maintain/verify.h"
#include "snapshot/store/content.h"
#include "tests/unit/snap_fixture.h"

/* Numbers that depend on the seed only. */
static __attribute__((unused)) uint64_t chance(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1du >> 11;
}

/* A file of the project, with bytes that depend on the seed. */
static __attribute__((unused)) void put_file(struct box *box, const char *name,
					     uint64_t seed, size_t len)
{
	unsigned char *data = mem_alloc(len + 1);
	uint64_t v = seed * 0x9e3779b97f4a7c15u + 1;
	size_t i;

	for (i = 0; i < len; i++)
		data[i] = (unsigned char)(chance(&v) >> 8);
	put_bytes(box, name, data, len);
	free(data);
}

/* Takes a snapshot of the project and returns its number. sec: the time at
 * which it seems to begin, 0: now. */
static uint64_t take_at(struct box *box, struct store *store, int64_t sec)
{
	AUTO(snapshot) struct snapshot s = {0}, later = {0};
	struct take_options options = {
		.root_path = box->root,
		.root_fd = -1,
		.reason = "manual",
		.plain = true,
	};
	struct err err;

	ok(take_snapshot(store, &options, &s, &err));
	if (!sec)
		return s.seq;
	later = s;
	s = (struct snapshot){0};
	later.time = (struct timestamp){.sec = sec};
	ok(catalog_add(store, &later, &err));
	return later.seq;
}

static __attribute__((unused)) uint64_t take(struct box *box)
{
	return take_at(box, box->store, 0);
}

/* The names in a directory of the store that end with `end`; to be freed by
 * dirlist_free(). */
static void list_store(struct box *box, const char *folder, struct dirlist *ret)
{
	auto_free char *path = path_join(box->store_root_fd, folder);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	assert_return_code(fd, errno);
	ok(dirlist_read(fd, ret, &err));
}

static char *store_path(struct box *box, const char *folder, const char *name)
{
	auto_free char *dir = path_join(box->store_root_fd, folder);

	return path_join(dir, name);
}

/* The name of the longest pack of a kind (enum pack_kind), which is the first
 * snapshot's, to be freed. Names have no order within one millisecond. */
static __attribute__((unused)) char *pack_of_kind(struct box *box, int kind)
{
	AUTO(dirlist) struct dirlist packs = {0};
	const char *longest = NULL;
	off_t len = 0;
	size_t i;

	list_store(box, "packs", &packs);
	for (i = 0; i < packs.count; i++) {
		auto_free char *path =
			store_path(box, "packs", packs.items[i].name);
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		unsigned char byte;
		struct stat st;

		assert_int_equal(pread(fd, &byte, 1, 10), 1);
		assert_return_code(fstat(fd, &st), errno);
		if (byte != kind || st.st_size <= len)
			continue;
		len = st.st_size;
		longest = packs.items[i].name;
	}
	assert_non_null(longest);
	return mem_strdup(longest);
}

/* Inverts the bits of one byte. */
static __attribute__((unused)) void flip(const char *path, uint64_t offset)
{
	auto_close int fd = -1;
	unsigned char byte;

	assert_return_code(chmod(path, 0600), errno);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 0xff;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	assert_return_code(chmod(path, 0400), errno);
}

static __attribute__((unused)) void
remove_from(struct box *box, const char *folder, const char *name)
{
	auto_free char *dir = path_join(box->store_root_fd, folder);
	auto_free char *path = path_join(dir, name);

	assert_return_code(chmod(dir, 0700), errno);
	assert_return_code(unlink(path), errno);
	assert_return_code(chmod(dir, 0500), errno);
}

/* The faults that verify reports, one line each. */
static int note_fault(void *arg, const struct verify_fault *f, struct err *err)
{
	static const char *const kinds[] = {"secret", "pack", "record",
					    "snapshot", "path"};

	(void)err;
	buf_printf(arg, "%s %llu %s\n", kinds[f->kind],
		   (unsigned long long)f->seq, f->name);
	return 0;
}

/* Returns 1 if damaged, 0 if intact; the faults in *to (may be NULL). */
static int verify_now(struct box *box, bool read_data, struct buf *to)
{
	AUTO(store) struct store *s = NULL;
	AUTO(buf) struct buf own = {0};
	struct verify_options options = {
		.read_data = read_data,
		.fault = note_fault,
		.arg = to ? to : &own,
	};
	struct verify_result result;
	struct err err;
	int got;

	ok(store_open(&s, box->store_root_fd, STORE_READ, &err));
	got = verify_store(s, &options, &result, &err);
	if (got < 0)
		fail_msg("verify: %s", err.text);
	return got;
}

static __attribute__((unused)) void check_whole(struct box *box)
{
	AUTO(buf) struct buf faults = {0};

	if (verify_now(box, true, &faults) != 0)
		fail_msg("not whole:\n%s", buf_text(&faults));
}

/* --- plain copies --- */

static int describe(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	struct buf *to = ((void **)arg)[0];
	struct store *s = ((void **)arg)[1];
	AUTO(buf) struct buf bytes = {0};

	buf_printf(to, "%s %o %llu %s ", path, e->mode,
		   (unsigned long long)e->size, e->link ? e->link : "");
	if (S_ISREG(e->mode) && e->content.type != OBJECT_NONE) {
		struct oid id = e->content;

		if (id.type == OBJECT_DATA) {
			if (store_get(s, &id, &bytes, err) < 0)
				return -err->num;
			buf_add(to, bytes.data, bytes.len);
		} else {
			auto_close int fd = memfd_create("x", MFD_CLOEXEC);

			if (content_write(s, &id, fd, NULL, err) < 0)
				return -err->num;
			(void)lseek(fd, 0, SEEK_SET);
			if (fd_slurp(fd, 1u << 30, to, err) < 0)
				return -err->num;
		}
	}
	buf_add_char(to, '\n');
	return 0;
}

/* The complete snapshot as bytes, read from the store. Returns 0 or negative.
 */
static __attribute__((unused)) int
snapshot_bytes(struct box *box, uint64_t seq, struct buf *to, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	void *args[2] = {to, NULL};

	if (store_open(&s, box->store_root_fd, STORE_READ, err) < 0)
		return -err->num;
	args[1] = s;
	if (catalog_load(s, seq, &snap, err) < 0)
		return -err->num;
	return tree_each(s, &snap.root, describe, args, err);
}

#endif
