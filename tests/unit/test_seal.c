/* users: one */
/* link: -Wl,--wrap=dlopen */
#include "tests/unit/directory_fixture.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/backup/seal.h"
#include "tests/unit/skip.h"

#define MIB ((size_t)1 << 20)
#define FRAME (SEAL_FRAME_LEN + SEAL_FRAME_ADDS)

static const unsigned char key[SEAL_KEY_LEN] = "a key";
static const unsigned char space[SEAL_SPACE_LEN] = "a namespace";

static bool no_library;
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	return no_library ? NULL : __real_dlopen(name, flags);
}

/* Bytes that differ from frame to frame. */
static unsigned char byte_at(size_t at)
{
	return (unsigned char)(at * 7 + at / MIB * 13 + 1);
}

struct sealed {
	int fd;
	uint64_t len;
	unsigned char hash[SEAL_HASH_LEN];
};

static void sealed_free(struct sealed *s)
{
	fd_close(&s->fd);
}

static struct sealed seal(size_t len)
{
	struct sealed s = {.fd = memfd_create("sealed", MFD_CLOEXEC)};
	AUTO(seal_writer) struct seal_writer *w = NULL;
	auto_free unsigned char *content = mem_alloc(len + 1);
	size_t at, n;
	struct err err;

	for (at = 0; at < len; at++)
		content[at] = byte_at(at);
	ok(seal_writer_new(s.fd, key, SEAL_PACKS, space, &w, &err));
	for (at = 0; at < len; at += n) {
		n = len - at < 300001 ? len - at : 300001;
		ok(seal_writer_add(w, content + at, n, &err));
	}
	ok(seal_writer_end(w, s.hash, &s.len, &err));
	return s;
}

/* Reads all in pieces: the length, or a negative errno. *ret: the bytes that
 * were returned. */
static int64_t unseal_as(int fd, const unsigned char *with, enum seal_kind kind,
			 const unsigned char *in, size_t *ret)
{
	AUTO(seal_reader) struct seal_reader *r = NULL;
	static unsigned char piece[700001];
	struct err err;
	size_t n, i;

	*ret = 0;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (seal_reader_new(fd, with, kind, in, &r, &err) < 0)
		return -err.num;
	do {
		if (seal_reader_read(r, *ret, piece, sizeof(piece), &n, &err) <
		    0) {
			int num = err.num;

			/* No later byte is returned. */
			assert_int_equal(
				seal_reader_read(r, *ret, piece, 1, &n, &err),
				-num);
			return -num;
		}
		for (i = 0; i < n; i++)
			if (piece[i] != byte_at(*ret + i))
				fail_msg("byte %zu is wrong", *ret + i);
		*ret += n;
	} while (n == sizeof(piece));
	return (int64_t)*ret;
}

static int64_t unseal(int fd)
{
	size_t ignored;

	return unseal_as(fd, key, SEAL_PACKS, space, &ignored);
}

static void without_libsodium_the_package_is_named(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		struct err err;
		struct seal_reader *r;

		no_library = true;
		_exit(seal_init(&err) == -ENOPKG &&
		      strstr(err.text, "apt-get install libsodium23") &&
		      seal_reader_new(-1, key, SEAL_PACKS, space, &r, &err) ==
			      -ENOPKG);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 1 << 8);
}

static void content_of_any_length_is_read_back(void **state)
{
	static const size_t lens[] = {0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		AUTO(sealed) struct sealed s = seal(lens[i]);
		AUTO(sealed) struct sealed again = seal(lens[i]);
		struct err err;

		assert_int_equal(unseal(s.fd), lens[i]);
		assert_int_equal(s.len,
				 SEAL_OVERHEAD + lens[i] +
					 (lens[i] / MIB + 1) * SEAL_FRAME_ADDS);
		assert_int_equal(s.len, lseek(s.fd, 0, SEEK_END));
		ok(seal_check_file(s.fd, s.hash, &err));
		assert_int_equal(seal_check_file(s.fd, again.hash, &err),
				 -EBADMSG);
	}
}

/* The example of FIPS 180-4. */
static void other_programs_compute_the_same_hash(void **state)
{
	auto_close int fd = memfd_create("abc", MFD_CLOEXEC);
	unsigned char hash[SEAL_HASH_LEN];
	struct err err;

	(void)state;
	assert_int_equal(fd_write(fd, "abc", 3), 0);
	assert_true(text_unhex(hash,
			       "bddd813c634239723171ef3fee98579b"
			       "94964e3bb1cb3e427262c8c068d52319",
			       sizeof(hash)));
	ok(seal_check_file(fd, hash, &err));
}

static void every_changed_bit_and_every_cut_is_found(void **state)
{
	AUTO(sealed) struct sealed s = seal(40);
	unsigned char bytes[SEAL_OVERHEAD + 40 + SEAL_FRAME_ADDS];
	size_t i;

	(void)state;
	assert_int_equal(s.len, sizeof(bytes));
	assert_int_equal(fd_pread(s.fd, bytes, sizeof(bytes), 0), s.len);
	for (i = 0; i < 8 * sizeof(bytes); i++) {
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
		assert_int_equal(fd_pwrite(s.fd, bytes, sizeof(bytes), 0), 0);
		assert_int_equal(unseal(s.fd), -EBADMSG);
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	assert_int_equal(fd_pwrite(s.fd, bytes, sizeof(bytes), 0), 0);
	assert_int_equal(unseal(s.fd), 40);
	assert_int_equal(fd_pwrite(s.fd, "", 1, s.len), 0);
	assert_int_equal(unseal(s.fd), -EBADMSG);
	for (i = s.len; i--;) {
		assert_int_equal(ftruncate(s.fd, (off_t)i), 0);
		assert_int_equal(unseal(s.fd), -EBADMSG);
	}
}

/* Parts are skipped, also whole frames, and none comes twice. */
static void content_is_read_forward(void **state)
{
	AUTO(sealed) struct sealed s = seal(4 * MIB + 9);
	AUTO(seal_reader) struct seal_reader *r = NULL;
	static const struct {
		uint64_t offset;
		size_t want;
	} rows[] = {{5, 20},	  {MIB - 3, 20}, {3 * MIB - 20, 20},
		    {4 * MIB, 9}, {5 * MIB, 0},	 {7, 0}};
	unsigned char piece[20];
	struct err err;
	size_t i, k, n;

	(void)state;
	assert_int_equal(lseek(s.fd, 0, SEEK_SET), 0);
	ok(seal_reader_new(s.fd, key, SEAL_PACKS, space, &r, &err));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ok(seal_reader_read(r, rows[i].offset, piece, sizeof(piece), &n,
				    &err));
		assert_int_equal(n, rows[i].want);
		for (k = 0; k < n; k++)
			assert_int_equal(piece[k], byte_at(rows[i].offset + k));
	}
}

/* Puts a frame of one file in the place of a frame of another one. */
static void put_frame(int from_fd, size_t from, int to_fd, size_t to)
{
	auto_free void *frame = mem_alloc(FRAME);

	assert_int_equal(
		fd_pread(from_fd, frame, FRAME, SEAL_OVERHEAD + from * FRAME),
		FRAME);
	assert_int_equal(
		fd_pwrite(to_fd, frame, FRAME, SEAL_OVERHEAD + to * FRAME), 0);
}

static void a_frame_in_another_place_is_found(void **state)
{
	AUTO(sealed) struct sealed s = seal(3 * MIB + 5);
	AUTO(sealed) struct sealed copy = seal(3 * MIB + 5);
	size_t n;

	(void)state;
	put_frame(s.fd, 0, s.fd, 1);
	assert_int_equal(unseal_as(s.fd, key, SEAL_PACKS, space, &n), -EBADMSG);
	assert_true(n <= MIB);
	/* The frame behind is authentic, but not at its place. */
	put_frame(copy.fd, 2, copy.fd, 1);
	assert_int_equal(unseal(copy.fd), -EBADMSG);
	sealed_free(&s);
	s = seal(3 * MIB + 5);
	put_frame(copy.fd, 0, s.fd, 0);
	assert_int_equal(unseal(s.fd), -EBADMSG);
}

static void nothing_behind_an_inserted_frame_is_read(void **state)
{
	AUTO(sealed) struct sealed s = seal(2 * MIB + 5);
	size_t len = s.len - SEAL_OVERHEAD - FRAME, n;
	auto_free void *rest = mem_alloc(len);

	(void)state;
	assert_int_equal(fd_pread(s.fd, rest, len, SEAL_OVERHEAD + FRAME), len);
	put_frame(s.fd, 0, s.fd, 1);
	assert_int_equal(fd_pwrite(s.fd, rest, len, SEAL_OVERHEAD + 2 * FRAME),
			 0);
	assert_int_equal(unseal_as(s.fd, key, SEAL_PACKS, space, &n), -EBADMSG);
}

static void a_cut_between_frames_is_found(void **state)
{
	AUTO(sealed) struct sealed s = seal(2 * MIB);
	size_t i;

	(void)state;
	for (i = 3; i--;) {
		assert_int_equal(
			ftruncate(s.fd, (off_t)(SEAL_OVERHEAD + i * FRAME)), 0);
		assert_int_equal(unseal(s.fd), -EBADMSG);
	}
}

static void another_key_kind_or_namespace_opens_nothing(void **state)
{
	static const unsigned char other[SEAL_KEY_LEN] = "another";
	AUTO(sealed) struct sealed s = seal(40);
	size_t n;

	(void)state;
	assert_int_equal(unseal_as(s.fd, other, SEAL_PACKS, space, &n),
			 -EBADMSG);
	assert_int_equal(unseal_as(s.fd, key, SEAL_META, space, &n), -EBADMSG);
	assert_int_equal(unseal_as(s.fd, key, SEAL_PACKS, other, &n), -EBADMSG);
	assert_int_equal(unseal_as(s.fd, key, SEAL_PACKS, space, &n), 40);
}

static void a_full_disk_is_reported(void **state)
{
	auto_close int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct seal_writer *w = NULL;
	struct err err;

	(void)state;
	assert_int_equal(seal_writer_new(fd, key, SEAL_PACKS, space, &w, &err),
			 -ENOSPC);
	assert_null(w);
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void a_writer_and_a_reader_need_little_memory(void **state)
{
	size_t before = allocated(), after;
	AUTO(sealed) struct sealed s = seal(0);
	AUTO(seal_writer) struct seal_writer *w = NULL;
	AUTO(seal_reader) struct seal_reader *r = NULL;
	struct err err;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer's mallinfo2(3) counts nothing");
#endif
	assert_int_equal(lseek(s.fd, 0, SEEK_SET), 0);
	ok(seal_reader_new(s.fd, key, SEAL_PACKS, space, &r, &err));
	ok(seal_writer_new(s.fd, key, SEAL_PACKS, space, &w, &err));
	after = allocated();
	assert_true(after > before && after - before <= 2 * 22 * MIB / 10);
}

static void only_the_same_secret_and_slot_open_a_key(void **state)
{
	const struct seal_slot usual = {.memory = 1 << 20, .passes = 2};
	struct seal_slot made = usual, again = usual, s;
	unsigned char got[SEAL_KEY_LEN];
	struct err err;
	size_t i;

	(void)state;
	ok(seal_slot_make(&made, "secret", key, &err));
	ok(seal_slot_make(&again, "secret", key, &err));
	assert_memory_not_equal(&made, &again, sizeof(made));
	ok(seal_slot_open(&made, "secret", got, &err));
	assert_memory_equal(got, key, SEAL_KEY_LEN);
	assert_int_equal(seal_slot_open(&made, "secreT", got, &err), -EACCES);
	s = made;
	s.passes++;
	assert_int_equal(seal_slot_open(&s, "secret", got, &err), -EACCES);
	s = made;
	s.memory *= 2;
	assert_int_equal(seal_slot_open(&s, "secret", got, &err), -EACCES);
	for (i = offsetof(struct seal_slot, salt); i < sizeof(s); i += 5) {
		s = made;
		((unsigned char *)&s)[i] ^= 0x80;
		assert_int_equal(seal_slot_open(&s, "secret", got, &err),
				 -EACCES);
	}
	s = made;
	s.memory = 1;
	assert_int_equal(seal_slot_make(&s, "secret", key, &err), -EINVAL);
	assert_int_equal(seal_slot_open(&s, "secret", got, &err), -EINVAL);
	s = made;
	s.passes = 0;
	assert_int_equal(seal_slot_open(&s, "secret", got, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: the library stays loaded. */
		cmocka_unit_test(without_libsodium_the_package_is_named),
		cmocka_unit_test(content_of_any_length_is_read_back),
		cmocka_unit_test(other_programs_compute_the_same_hash),
		cmocka_unit_test(every_changed_bit_and_every_cut_is_found),
		cmocka_unit_test(content_is_read_forward),
		cmocka_unit_test(a_frame_in_another_place_is_found),
		cmocka_unit_test(nothing_behind_an_inserted_frame_is_read),
		cmocka_unit_test(a_cut_between_frames_is_found),
		cmocka_unit_test(another_key_kind_or_namespace_opens_nothing),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(a_writer_and_a_reader_need_little_memory),
		cmocka_unit_test(only_the_same_secret_and_slot_open_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
