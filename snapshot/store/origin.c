#include "snapshot/store/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/record.h"
#include "base/text.h"
#include "snapshot/store/hash.h"

#define NAME "origin"
#define VERSION 1
#define FORMAT_MAX (1u << 16)

/* The device number of a file system can change with each boot; its id does
 * not on most. Another one only costs a new origin. */
static int describe_place(int root_fd, char ret[17], struct err *err)
{
	AUTO(buf) struct buf place = {0};
	struct err ignored;
	struct statfs fs;
	struct stat st;

	(void)fd_slurp_at(AT_FDCWD, "/etc/machine-id", 4096, &place, &ignored);
	if (fstatfs(root_fd, &fs) < 0 ||
	    fstatat(root_fd, "FORMAT", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "find the origin of the store");
	buf_add(&place, &fs.f_fsid, sizeof(fs.f_fsid));
	enc_u64(&place, st.st_ino);
	if (fd_slurp_at(root_fd, "FORMAT", FORMAT_MAX, &place, err) < 0)
		return -err->num;
	(void)snprintf(ret, 17, "%016" PRIx64,
		       hash_check(place.data, place.len));
	return 0;
}

static int save_origin(int root_fd, struct record *r, struct err *err)
{
	return record_save(root_fd, NAME, NAME, VERSION, r, ATOMIC_DURABLE,
			   err);
}

static int make_origin(int root_fd, const char *place, char ret[33],
		       struct err *err)
{
	AUTO(record) struct record r = {0};
	unsigned char bytes[ORIGIN_LEN];
	size_t i;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fail_errno(err, "read random bytes");
	for (i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	record_set(&r, "id", ret);
	record_set(&r, "place", place);
	return save_origin(root_fd, &r, err);
}

int origin_get(int root_fd, unsigned char ret[ORIGIN_LEN], struct err *err)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	char place[17], id[33] = "";
	const char *text;

	if (describe_place(root_fd, place, err) < 0)
		return -err->num;
	if (record_load(root_fd, NAME, NAME, VERSION, &r, &ignored) == 0) {
		const char *was = record_get(&r, "place");

		text = record_get(&r, "id");
		if (was && strcmp(was, place) == 0 && text &&
		    text_unhex(ret, text, ORIGIN_LEN))
			return 0;
	}
	if (make_origin(root_fd, place, id, err) < 0)
		return -err->num;
	(void)text_unhex(ret, id, ORIGIN_LEN);
	return 0;
}

int origin_bind(int root_fd, struct err *err)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	char place[17];

	if (record_load(root_fd, NAME, NAME, VERSION, &r, &ignored) < 0)
		return 0;
	if (describe_place(root_fd, place, err) < 0)
		return -err->num;
	record_set(&r, "place", place);
	return save_origin(root_fd, &r, err);
}
