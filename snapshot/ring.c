#include "snapshot/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct slot {
	uint64_t cookie;
	unsigned char *data;
	size_t room, size, len;
	char *name;
	int dirfd, error;
	bool busy;
};

struct reader {
	unsigned int depth;
	unsigned int under_way;
	struct slot *slots;
	unsigned int *done; /* queue of finished slots, as a ring */
	unsigned int done_head, done_count;
	int given; /* the slot whose data the caller holds, or -1 */
};

struct reader *reader_new(unsigned int depth, bool plain)
{
	struct reader *r = mem_zalloc(sizeof(*r));

	(void)plain;
	r->depth = depth < 1		      ? 1
		   : depth > READER_DEPTH_MAX ? READER_DEPTH_MAX
					      : depth;
	r->slots = mem_zalloc(r->depth * sizeof(*r->slots));
	r->done = mem_zalloc(r->depth * sizeof(*r->done));
	r->given = -1;
	return r;
}

void reader_free(struct reader **reader)
{
	struct reader *r = *reader;
	unsigned int i;

	if (!r)
		return;
	for (i = 0; i < r->depth; i++) {
		free(r->slots[i].data);
		free(r->slots[i].name);
	}
	free(r->slots);
	free(r->done);
	free(r);
	*reader = NULL;
}

bool reader_uses_ring(const struct reader *r)
{
	(void)r;
	return false;
}

static struct slot *slot_take(struct reader *r)
{
	unsigned int i;

	if (r->given >= 0) {
		r->slots[r->given].busy = false;
		r->given = -1;
	}
	for (i = 0; i < r->depth; i++) {
		if (!r->slots[i].busy)
			return &r->slots[i];
	}
	return NULL;
}

static void slot_finish(struct reader *r, struct slot *slot)
{
	unsigned int at = (r->done_head + r->done_count) % r->depth;

	r->done[at] = (unsigned int)(slot - r->slots);
	r->done_count++;
}

static void read_plain(struct slot *slot)
{
	auto_close int fd =
		openat(slot->dirfd, slot->name, OPEN_FLAGS | O_NOATIME);
	ssize_t n;

	if (fd < 0 && errno == EPERM)
		fd = openat(slot->dirfd, slot->name, OPEN_FLAGS);
	if (fd < 0) {
		slot->error = errno;
		return;
	}
	n = fd_read(fd, slot->data, slot->size + 1);
	if (n < 0)
		slot->error = errno;
	else
		slot->len = (size_t)n;
}

bool reader_add(struct reader *r, int dirfd, const char *name, size_t size,
		uint64_t cookie)
{
	struct slot *slot = slot_take(r);

	if (!slot)
		return false;
	if (size > READER_LEN_MAX)
		size = READER_LEN_MAX;
	if (slot->room < size + 1) {
		free(slot->data);
		slot->room = (size + 4096) & ~(size_t)4095;
		slot->data = mem_alloc(slot->room);
	}
	free(slot->name);
	slot->name = mem_strdup(name);
	slot->cookie = cookie;
	slot->dirfd = dirfd;
	slot->size = size;
	slot->len = 0;
	slot->error = 0;
	slot->busy = true;
	r->under_way++;
	read_plain(slot);
	slot_finish(r, slot);
	return true;
}

bool reader_next(struct reader *r, struct reader_file *ret)
{
	struct slot *slot;

	if (r->given >= 0) {
		r->slots[r->given].busy = false;
		r->given = -1;
	}
	if (!r->under_way)
		return false;
	slot = &r->slots[r->done[r->done_head]];
	r->done_head = (r->done_head + 1) % r->depth;
	r->done_count--;
	r->under_way--;
	r->given = (int)(slot - r->slots);
	*ret = (struct reader_file){
		.cookie = slot->cookie,
		.error = slot->error,
		.grew = slot->len > slot->size,
		.len = slot->len > slot->size ? slot->size : slot->len,
		.data = slot->data,
	};
	return true;
}

int ring_sync_files(const int *fds, size_t count, bool plain, struct err *err)
{
	size_t i;
	int num = 0;

	(void)plain;
	for (i = 0; i < count; i++) {
		if (fdatasync(fds[i]) < 0 && !num)
			num = errno;
	}
	return num ? fail_num(err, num, "sync") : 0;
}
