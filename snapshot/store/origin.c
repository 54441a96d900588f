#include "snapshot/store/origin.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

static int save_origin(int root_fd, struct record *r, const char *place,
		       struct err *err)
{
	record_set(r, "place", place);
	return record_save(root_fd, NAME, NAME, VERSION, r, ATOMIC_DURABLE,
			   err);
}

int origin_get(int root_fd, unsigned char ret[ORIGIN_LEN], struct err *err)
{
	AUTO(record) struct record old = {0}, made = {0};
	char place[17];
	struct err ignored;

	if (describe_place(root_fd, place, err) < 0)
		return -err->num;
	if (record_load(root_fd, NAME, NAME, VERSION, &old, &ignored) == 0 &&
	    record_has(&old, "place", place) &&
	    text_unhex(ret, record_get(&old, "id"), ORIGIN_LEN))
		return 0;
	mem_random(ret, ORIGIN_LEN);
	record_set(&made, "id", text_hex(ret, ORIGIN_LEN));
	return save_origin(root_fd, &made, place, err);
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
	return save_origin(root_fd, &r, place, err);
}
