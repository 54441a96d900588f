#include "snapshot/store/packer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/writer.h"

/* Upper bound of the bytes that are reserved and not written yet by running
 * threads. */
#define PENDING_MAX ((uint64_t)16 << 20)

struct packer {
	int dirfd, fd;
	/* A second descriptor of the file, for the lock: requests of io_uring
	 * keep `fd` open for some time after the process was killed. */
	int lock_fd;
	struct writer *writer;
	char name[48]; /* name in packs/; ".tmp" is appended while it is in
			  tmp/ */
	char temp[56];
	uint64_t end; /* offset of the next record */
	uint64_t plain_bytes;
	VEC(struct pack_entry) entries;
	bool published;
};

/* Creates and locks a file with a new name. A process that clears tmp/ deletes
 * files that it can lock, and can do so between the open and the flock, so the
 * link count is checked afterwards. */
static int open_temp_pack(struct packer *w, struct err *err)
{
	struct timespec now;
	unsigned char random[8];
	struct stat st;
	int num;

	for (;;) {
		auto_close int fd = -1, lock = -1;

		(void)clock_gettime(CLOCK_REALTIME, &now);
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return fail_errno(err, "random bytes");
		(void)snprintf(w->name, sizeof(w->name), "%012llx%016llx.gpk",
			       (unsigned long long)(now.tv_sec * 1000 +
						    now.tv_nsec / 1000000),
			       (unsigned long long)get_le(random, 8));
		(void)snprintf(w->temp, sizeof(w->temp), "%s.tmp", w->name);
		fd = openat(w->dirfd, w->temp,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0400);
		if (fd < 0)
			return fail_errno(err, "create pack %s",
					  text_quote(w->temp));
		lock = openat(w->dirfd, w->temp,
			      O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (lock < 0 && errno != ENOENT)
			return fail_errno(err, "open pack %s",
					  text_quote(w->temp));
		num = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 ? errno
								     : 0;
		if (num && lock >= 0 && num != EWOULDBLOCK) {
			(void)unlinkat(w->dirfd, w->temp, 0);
			return fail_num(err, num, "lock pack %s",
					text_quote(w->temp));
		}
		/* A count of 0 means that the process that clears tmp/ was
		 * faster. */
		if (!num && fstat(lock, &st) == 0 && st.st_nlink == 1) {
			w->fd = TAKE_FD(fd);
			w->lock_fd = TAKE_FD(lock);
			return 0;
		}
	}
}

static int write_pack_bytes(struct packer *w, const void *data, size_t len,
			    uint64_t offset, struct err *err)
{
	struct iovec part = {(void *)(uintptr_t)data, len};

	if (writer_write(w->writer, &part, 1, offset, err) < 0)
		return err_context(err, "pack %s", text_quote(w->name));
	return 0;
}

int packer_new(int dirfd, const struct format *format, enum pack_kind kind,
	       struct packer **ret, struct err *err)
{
	AUTO(packer) struct packer *w = mem_zalloc(sizeof(*w));
	unsigned char h[HEADER_LEN] = "GUARDPK1";
	struct timespec now;

	w->fd = w->lock_fd = -1;
	w->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	if (w->dirfd < 0)
		return fail_errno(err, "folder of packs");
	if (open_temp_pack(w, err) < 0)
		return -err->num;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	put_le(h + 8, PACK_VERSION, 2);
	h[10] = (unsigned char)kind;
	h[11] = (unsigned char)format->hash;
	put_le(h + 12, HEADER_LEN, 4);
	memcpy(h + 16, format->uuid, PACK_UUID_LEN);
	put_le(h + 32,
	       (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, 8);
	put_le(h + 56, hash_check(h, 56), 8);
	w->writer = writer_new(w->fd, false);
	if (write_pack_bytes(w, h, sizeof(h), 0, err) < 0)
		return -err->num;
	w->end = HEADER_LEN;
	*ret = TAKE(w);
	return 0;
}

void packer_free(struct packer **writer)
{
	struct packer *w = *writer;

	if (!w)
		return;
	writer_free(&w->writer);
	if (w->fd >= 0 && !w->published)
		(void)unlinkat(w->dirfd, w->temp, 0);
	if (w->fd >= 0)
		(void)close(w->fd);
	if (w->lock_fd >= 0)
		(void)close(w->lock_fd);
	if (w->dirfd >= 0)
		(void)close(w->dirfd);
	VEC_FREE(&w->entries);
	free(w);
	*writer = NULL;
}

const char *packer_name(const struct packer *w)
{
	return w->name;
}

uint64_t packer_size(const struct packer *w)
{
	return w->end;
}

uint32_t packer_count(const struct packer *w)
{
	return (uint32_t)w->entries.count;
}

uint64_t packer_pending(const struct packer *w)
{
	uint64_t index = FANOUT_LEN + FOOTER_LEN +
			 (uint64_t)packer_count(w) * INDEX_ENTRY;
	struct stat st;
	uint64_t left = 0;

	if (fstat(w->fd, &st) == 0 && (uint64_t)st.st_blocks * 512 < w->end)
		left = w->end - (uint64_t)st.st_blocks * 512;
	/* Running writes never exceed PENDING_MAX; the rest is reserved by
	 * threads that still compress. */
	return index + (left < PENDING_MAX ? left : PENDING_MAX);
}

uint64_t packer_reserve(struct packer *w, uint64_t stored_len)
{
	uint64_t offset = w->end;

	w->end += record_file_len(stored_len);
	return offset;
}

int packer_put(struct packer *w, uint64_t offset,
	       const struct record_head *head, const void *payload,
	       struct err *err)
{
	static const unsigned char zeros[8];
	unsigned char start[HEAD_LEN];
	uint64_t len = HEAD_LEN + head->stored_len;
	struct iovec parts[3] = {
		{start, HEAD_LEN},
		{(void *)(uintptr_t)payload, head->stored_len},
		{(void *)(uintptr_t)zeros, (8 - len % 8) % 8},
	};

	record_head_put(start, head);
	if (writer_write(w->writer, parts, 3, offset, err) < 0)
		return err_context(err, "pack %s", text_quote(w->name));
	return 0;
}

void packer_add(struct packer *w, const struct pack_entry *entry)
{
	*VEC_ADD(&w->entries) = *entry;
	w->plain_bytes += entry->id.len;
}

int packer_read(struct packer *w, uint64_t offset, struct record_head *head,
		unsigned char **ret, size_t *ret_len, struct err *err)
{
	unsigned char start[HEAD_LEN];
	auto_free unsigned char *payload = NULL;

	if (fd_pread(w->fd, start, HEAD_LEN, offset) != HEAD_LEN ||
	    !record_head_get(start, head))
		return fail(err, EBADMSG, "pack %s has no record at byte %llu",
			    text_quote(w->name), (unsigned long long)offset);
	payload = mem_alloc(head->stored_len);
	if (fd_pread(w->fd, payload, head->stored_len, offset + HEAD_LEN) !=
	    (ssize_t)head->stored_len)
		return fail(err, EBADMSG, "pack %s cannot be read at %llu",
			    text_quote(w->name), (unsigned long long)offset);
	if (record_unpack(w->name, offset, head, payload, ret, err) < 0)
		return -err->num;
	*ret_len = head->plain_len;
	return 0;
}

int packer_finish(struct packer *w, struct err *err)
{
	AUTO(buf) struct buf index = {0};
	unsigned char f[FOOTER_LEN] = "GUARDPKE";

	pack_index_make(w->entries.items, w->entries.count, &index);
	put_le(f + 8, w->end, 8);
	put_le(f + 16, w->entries.count, 4);
	put_le(f + 24, hash_check(index.data, index.len), 8);
	put_le(f + 32, w->plain_bytes, 8);
	put_le(f + 56, hash_check(f, 56), 8);
	buf_add(&index, f, sizeof(f));
	if (write_pack_bytes(w, index.data, index.len, w->end, err) < 0)
		return -err->num;
	writer_sync_begin(w->writer);
	return 0;
}

int packer_sync(struct packer *w, struct err *err)
{
	if (writer_sync_end(w->writer, err) < 0)
		return err_context(err, "pack %s", text_quote(w->name));
	return 0;
}

int packer_publish(struct packer *w, int to_dirfd, struct err *err)
{
	int got = renameat2(w->dirfd, w->temp, to_dirfd, w->name,
			    RENAME_NOREPLACE);

	/* The file system lacks RENAME_NOREPLACE; random names do not collide.
	 */
	if (got < 0 && (errno == EINVAL || errno == ENOSYS))
		got = renameat(w->dirfd, w->temp, to_dirfd, w->name);
	if (got < 0)
		return fail_errno(err, "keep pack %s", text_quote(w->name));
	w->published = true;
	return 0;
}
