#include "snapshot/store/content.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "snapshot/store/chunklist.h"
#include "snapshot/store/longfile.h"

#define PIECE ((size_t)1 << 20)

static const unsigned char zero_bytes[64 << 10];

/* --- into the store --- */

int content_put(struct store *s, int fd, const struct longfile_hints *hints,
		struct oid *ret, uint64_t *ret_size, struct err *err)
{
	auto_free unsigned char *data = NULL;
	struct stat st;
	size_t capacity;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat");
	if (st.st_size > CONTENT_SINGLE_MAX)
		return longfile_put(s, fd, (uint64_t)st.st_size, hints, ret,
				    ret_size, err);
	capacity = (size_t)st.st_size + 1;
	data = mem_alloc(capacity);
	n = fd_pread(fd, data, capacity, 0);
	if (n < 0)
		return fail_errno(err, "read");
	if ((size_t)n == capacity) /* the file grows */
		return longfile_put(s, fd, (uint64_t)st.st_size, hints, ret,
				    ret_size, err);
	if (content_put_bytes(s, data, (uint64_t)n, ret, err) < 0)
		return -err->num;
	*ret_size = (uint64_t)n;
	return 0;
}

int content_put_bytes(struct store *s, const void *data, uint64_t len,
		      struct oid *ret, struct err *err)
{
	if (!len) {
		*ret = (struct oid){0};
		return 0;
	}
	if (len > CONTENT_SINGLE_MAX)
		return longfile_put_bytes(s, data, len, ret, err);
	return store_put(s, OBJECT_DATA, data, len, ret, err);
}

/* --- out of the store --- */

/* The chunks of a long file, and the size of any. */
static int load_chunks(struct store *s, const struct oid *id,
		       struct chunklist *ret, struct err *err)
{
	if (id->type == OBJECT_CHUNKLIST)
		return chunklist_load(s, id, ret, err);
	ret->size = id->type == OBJECT_DATA ? id->len : 0;
	return id->type == OBJECT_DATA || id->type == OBJECT_NONE
		       ? 0
		       : fail(err, EBADMSG, "the object is not a file");
}

/* Visits bytes, or a hole (data NULL). A result other than 0 ends the walk. */
typedef int content_visit(void *arg, uint64_t at, const unsigned char *data,
			  uint64_t len, struct err *err);

/* Visits the verified bytes and the holes, in order. Returns 1 when a visit
 * did. */
static int content_walk(struct store *s, const struct oid *id,
			const struct chunklist *list,
			const struct content_watch *watch, content_visit *visit,
			void *arg, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	uint64_t at = 0;
	size_t i;
	int got = 0;

	if (id->type == OBJECT_DATA) {
		if (store_get(s, id, &b, err) < 0)
			return -err->num;
		return visit(arg, 0, b.data, b.len, err);
	}
	for (i = 0; i < list->count && got == 0; i++) {
		const struct chunk_run *run = &list->runs[i];

		buf_clear(&b);
		if (run->hole)
			got = visit(arg, at, NULL, run->len, err);
		else if (store_get(s, &run->id, &b, err) < 0)
			got = -err->num;
		else
			got = visit(arg, at, b.data, b.len, err);
		at += run->len;
		if (got == 0 && watch && !watch->go_on(watch->arg, at))
			got = fail(err, EINTR, "interrupted");
	}
	return got;
}

/* The length of the next data, which zeros may precede, and of these zeros, 0
 * if they are too few for a hole: long runs of zeros in a file without chunks
 * are holes, too; chunks contain no long runs. */
static size_t next_data_len(const unsigned char *data, size_t len,
			    size_t *ret_zeros)
{
	size_t zeros = hole_zeros_len(data, len);

	*ret_zeros = zeros < HOLE_MIN ? 0 : zeros;
	return zeros < len ? zeros + hole_data_len(data + zeros, len - zeros)
			   : zeros;
}

struct writing {
	int fd;
	uint64_t end; /* end of the bytes written so far */
};

static int write_data(void *arg, uint64_t at, const unsigned char *data,
		      uint64_t len, struct err *err)
{
	struct writing *w = arg;
	size_t zeros, n;

	for (; data && len; data += n, at += n, len -= n) {
		n = next_data_len(data, len, &zeros);
		if (fd_pwrite(w->fd, data + zeros, n - zeros, at + zeros) < 0)
			return fail_errno(err, "write");
		if (n > zeros)
			w->end = at + n;
	}
	return 0;
}

int content_write(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err)
{
	AUTO(chunklist) struct chunklist list = {0};
	struct writing w = {.fd = fd};

	if (load_chunks(s, id, &list, err) < 0 ||
	    content_walk(s, id, &list, watch, write_data, &w, err) < 0)
		return -err->num;
	/* ftruncate(2) costs as much as a small write: it is needed only after
	 * a hole at the end. */
	if (w.end != list.size && ftruncate(fd, (off_t)list.size) < 0)
		return fail_errno(err, "set length");
	return 0;
}

struct map {
	int (*call)(void *arg, uint64_t at, uint64_t len, struct err *err);
	void *arg;
};

static int map_data(void *arg, uint64_t at, const unsigned char *data,
		    uint64_t len, struct err *err)
{
	const struct map *map = arg;
	uint64_t start = at;
	size_t zeros, n;
	int got = 0;

	/* Zeros that are too few for a hole belong to the range of data. */
	for (; len && got == 0; data += n, at += n, len -= n) {
		n = next_data_len(data, len, &zeros);
		if (!zeros)
			continue;
		if (at > start)
			got = map->call(map->arg, start, at - start, err);
		start = at + zeros;
	}
	return got || at == start ? got
				  : map->call(map->arg, start, at - start, err);
}

int content_map(struct store *s, const struct oid *id,
		int (*each)(void *arg, uint64_t at, uint64_t len,
			    struct err *err),
		void *arg, struct err *err)
{
	AUTO(chunklist) struct chunklist list = {0};
	struct map map = {each, arg};
	uint64_t at = 0, len;
	size_t i, n;
	int got = 0;

	if (load_chunks(s, id, &list, err) < 0)
		return -err->num;
	if (id->type == OBJECT_DATA)
		return content_walk(s, id, NULL, NULL, map_data, &map, err);
	for (i = 0; i < list.count && got == 0; i = n) {
		for (len = 0, n = i; n < list.count && !list.runs[n].hole; n++)
			len += list.runs[n].len;
		if (len)
			got = each(arg, at, len, err);
		at += len;
		for (; n < list.count && list.runs[n].hole; n++)
			at += list.runs[n].len;
	}
	return got;
}

struct each {
	int (*call)(void *arg, const void *data, size_t len, struct err *err);
	void *arg;
	bool short_holes;
};

static int each_data(void *arg, uint64_t at, const unsigned char *data,
		     uint64_t len, struct err *err)
{
	const struct each *each = arg;
	int got = 0;

	(void)at;
	if (!data && each->short_holes && len > sizeof(zero_bytes))
		len = sizeof(zero_bytes);
	while (!data && len > sizeof(zero_bytes) && got >= 0) {
		got = each->call(each->arg, zero_bytes, sizeof(zero_bytes),
				 err);
		len -= sizeof(zero_bytes);
	}
	if (got < 0 || !len)
		return got;
	got = each->call(each->arg, data ? data : zero_bytes, (size_t)len, err);
	return got < 0 ? got : 0;
}

static int walk_each(struct store *s, const struct oid *id, struct each *call,
		     struct err *err)
{
	AUTO(chunklist) struct chunklist list = {0};

	if (load_chunks(s, id, &list, err) < 0)
		return -err->num;
	return content_walk(s, id, &list, NULL, each_data, call, err);
}

int content_each(struct store *s, const struct oid *id,
		 int (*each)(void *arg, const void *data, size_t len,
			     struct err *err),
		 void *arg, struct err *err)
{
	struct each call = {each, arg, false};

	return walk_each(s, id, &call, err);
}

int content_each_text(struct store *s, const struct oid *id,
		      int (*each)(void *arg, const void *data, size_t len,
				  struct err *err),
		      void *arg, struct err *err)
{
	struct each call = {each, arg, true};

	return walk_each(s, id, &call, err);
}

static int append_piece(void *arg, const void *data, size_t len,
			struct err *err)
{
	(void)err;
	buf_add(arg, data, len);
	return 0;
}

int content_append(struct store *s, const struct oid *id, struct buf *to,
		   struct err *err)
{
	return content_each(s, id, append_piece, to, err);
}

struct compare {
	int fd;
	unsigned char *piece; /* CHUNK_MAX bytes */
};

static int compare_bytes(const struct compare *c, uint64_t at,
			 const unsigned char *data, uint64_t len,
			 struct err *err)
{
	while (len) {
		size_t want = len < PIECE ? (size_t)len : PIECE;
		ssize_t n = fd_pread(c->fd, c->piece, want, at);

		if (n < 0)
			return fail_errno(err, "read");
		if ((size_t)n < want || memcmp(c->piece, data, want) != 0)
			return 1;
		data += want;
		at += want;
		len -= want;
	}
	return 0;
}

/* Returns 1 for different bytes. */
static int compare_data(void *arg, uint64_t at, const unsigned char *data,
			uint64_t len, struct err *err)
{
	const struct compare *c = arg;
	uint64_t end = at + len, start, stop;

	if (data)
		return compare_bytes(c, at, data, len, err);
	while (at < end) {
		if (!hole_next_data(c->fd, at, &start, &stop) || start >= end)
			return 0;
		at = start > at ? start : at;
		for (stop = stop < end ? stop : end; at < stop;) {
			size_t want = stop - at < sizeof(zero_bytes)
					      ? (size_t)(stop - at)
					      : sizeof(zero_bytes);
			int got = compare_bytes(c, at, zero_bytes, want, err);

			if (got)
				return got;
			at += want;
		}
	}
	return 0;
}

int content_equal(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err)
{
	AUTO(chunklist) struct chunklist list = {0};
	auto_free unsigned char *piece = NULL;
	struct compare compare = {.fd = fd};
	struct stat st;
	int got;

	if (load_chunks(s, id, &list, err) < 0)
		return -err->num;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat");
	if ((uint64_t)st.st_size != list.size)
		return 0;
	piece = mem_alloc(list.size < PIECE ? (size_t)list.size + 1 : PIECE);
	compare.piece = piece;
	got = content_walk(s, id, &list, watch, compare_data, &compare, err);
	return got < 0 ? got : !got;
}
