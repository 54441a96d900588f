#include "snapshot/store/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "snapshot/store/hash.h"

#define MARKS_MAGIC "GUARDMK1"
#define MAGIC_LEN (sizeof(MARKS_MAGIC) - 1)
#define CHECK_LEN 8
/* Enough for the chunks of a terabyte. */
#define FILE_MAX ((size_t)64 << 20)

struct list {
	struct oid id;
	unsigned char *marks;
	size_t count;
	bool gone; /* of no use for the next snapshot */
};

struct marks {
	char *path;
	pthread_mutex_t mutex; /* all below */
	bool loaded, changed;
	unsigned char key[MARK_KEY_LEN];
	struct list *lists;
	size_t count, capacity;
};

struct marks *marks_new(const char *path)
{
	struct marks *m = mem_zalloc(sizeof(*m));

	m->path = mem_strdup(path);
	(void)pthread_mutex_init(&m->mutex, NULL);
	return m;
}

static void forget(struct marks *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		free(m->lists[i].marks);
	free(m->lists);
	m->lists = NULL;
	m->count = m->capacity = 0;
}

void marks_free(struct marks **marks)
{
	struct marks *m = *marks;

	if (!m)
		return;
	forget(m);
	(void)pthread_mutex_destroy(&m->mutex);
	free(m->path);
	free(m);
	*marks = NULL;
}

static void add(struct marks *m, const struct oid *id, unsigned char *marks,
		size_t count)
{
	GROW(m->lists, m->count, m->capacity);
	m->lists[m->count++] =
		(struct list){.id = *id, .marks = marks, .count = count};
}

static bool decode_list(struct marks *m, struct dec *d)
{
	struct oid id = {.type = OBJECT_CHUNKLIST};
	const unsigned char *hash = dec_raw(d, HASH_LEN), *marks;
	uint64_t ord, count;

	id.len = dec_var(d);
	ord = dec_var(d);
	count = dec_var(d);
	if (!hash || ord > UINT16_MAX || count > FILE_MAX / MARK_LEN)
		return false;
	marks = dec_raw(d, count * MARK_LEN);
	if (!marks)
		return false;
	memcpy(id.hash, hash, HASH_LEN);
	id.ord = (uint16_t)ord;
	add(m, &id,
	    memcpy(mem_alloc(count * MARK_LEN + 1), marks, count * MARK_LEN),
	    count);
	return true;
}

static bool decode(struct marks *m, const unsigned char *data, size_t len)
{
	struct dec d = dec_start(data, len), check;
	const unsigned char *magic, *key;

	if (len < CHECK_LEN)
		return false;
	d.end -= CHECK_LEN;
	check = dec_start(d.end, CHECK_LEN);
	magic = dec_raw(&d, MAGIC_LEN);
	key = dec_raw(&d, MARK_KEY_LEN);
	if (!key || memcmp(magic, MARKS_MAGIC, MAGIC_LEN) != 0 ||
	    dec_u64(&check) != hash_check(data, len - CHECK_LEN))
		return false;
	memcpy(m->key, key, MARK_KEY_LEN);
	while (d.at < d.end)
		if (!decode_list(m, &d))
			return false;
	return dec_end(&d);
}

/* Under the mutex. */
static void load(struct marks *m)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	if (m->loaded)
		return;
	m->loaded = true;
	if (fd_slurp_at(AT_FDCWD, m->path, FILE_MAX, &b, &ignored) == 0 &&
	    decode(m, b.data, b.len))
		return;
	forget(m);
	if (getrandom(m->key, MARK_KEY_LEN, 0) != MARK_KEY_LEN)
		abort(); /* cannot happen for so few bytes */
}

const unsigned char *marks_key(struct marks *m)
{
	(void)pthread_mutex_lock(&m->mutex);
	load(m);
	(void)pthread_mutex_unlock(&m->mutex);
	return m->key;
}

/* Under the mutex. */
static struct list *find(struct marks *m, const struct oid *id)
{
	size_t i;

	for (i = m->count; i-- > 0;)
		if (oid_equal(&m->lists[i].id, id))
			return &m->lists[i];
	return NULL;
}

const unsigned char *marks_find(struct marks *m, const struct oid *list,
				size_t count)
{
	const struct list *l;
	const unsigned char *ret;

	(void)pthread_mutex_lock(&m->mutex);
	load(m);
	l = find(m, list);
	ret = l && l->count == count ? l->marks : NULL;
	(void)pthread_mutex_unlock(&m->mutex);
	return ret;
}

void marks_put(struct marks *m, const struct oid *list,
	       const struct oid *before, unsigned char *marks, size_t count)
{
	struct list *l;

	(void)pthread_mutex_lock(&m->mutex);
	load(m);
	l = before && !oid_equal(before, list) ? find(m, before) : NULL;
	if (l)
		l->gone = m->changed = true;
	l = find(m, list);
	if (l) {
		m->changed |= l->gone;
		l->gone = false;
		free(marks);
	} else {
		add(m, list, marks, count);
		m->changed = true;
	}
	(void)pthread_mutex_unlock(&m->mutex);
}

/* The newest lists, as many as may be. */
static void encode(const struct marks *m, struct buf *to)
{
	size_t len = 0, first = m->count, i;

	while (first > 0 && len < FILE_MAX / 2)
		len += m->lists[--first].count * MARK_LEN;
	buf_add(to, MARKS_MAGIC, MAGIC_LEN);
	buf_add(to, m->key, MARK_KEY_LEN);
	for (i = first; i < m->count; i++) {
		const struct list *l = &m->lists[i];

		if (l->gone)
			continue;
		buf_add(to, l->id.hash, HASH_LEN);
		enc_var(to, l->id.len);
		enc_var(to, l->id.ord);
		enc_var(to, l->count);
		buf_add(to, l->marks, l->count * MARK_LEN);
	}
	enc_u64(to, hash_check(to->data, to->len));
}

int marks_save(struct marks *m, struct err *err)
{
	auto_free char *temp = mem_printf("%s.%d.tmp", m->path, (int)getpid());
	AUTO(buf) struct buf b = {0};
	auto_close int fd = -1;
	int got = 0;

	if (!m->changed)
		return 0;
	encode(m, &b);
	(void)unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return fail_errno(err, "create the marks of long files");
	if (fd_write(fd, b.data, b.len) < 0)
		got = fail_errno(err, "write the marks of long files");
	if (got == 0 && rename(temp, m->path) < 0)
		got = fail_errno(err, "put the marks of long files in place");
	if (got < 0)
		(void)unlink(temp);
	return got;
}
