#include "overlay/torn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/sorted.h"
#include "overlay/layers.h"

#define SYNCED "synced-at"
#define TORN "torn"

int torn_save_synced(const struct session *s, struct timestamp time,
		     enum atomic_durability how, struct err *err)
{
	auto_free char *text =
		mem_printf("%" PRId64 ".%09u", time.sec, time.nsec);
	AUTO(record) struct record r = {0};

	record_add(&r, "boot", boot_id());
	record_add(&r, "time", text);
	return record_save(s->fd, SYNCED, "synced", 1, &r, how, err);
}

/* Whether the machine may have stopped before the layer was on disk. *ret: all
 * older files were. */
static bool was_cut(const struct session *s, struct timestamp *ret)
{
	AUTO(record) struct record r = {0};
	const char *boot = record_get(&s->more, LAYERS_BOOT), *time = NULL;
	struct err ignored;

	*ret = s->began;
	if (record_load(s->fd, SYNCED, "synced", 1, &r, &ignored) == 0)
		time = record_get(&r, "time");
	if (time && sscanf(time, "%" SCNd64 ".%9u", &ret->sec, &ret->nsec) == 2)
		boot = record_get(&r, "boot");
	return !s->live && !session_is_stored(s) &&
	       (s->state == RUN_INTERRUPTED ||
		record_get(&s->more, TORN_KNOWN)) &&
	       boot && *boot_id() && strcmp(boot, boot_id()) != 0;
}

void torn_load(const struct session *s, struct torn *ret)
{
	struct err ignored;
	int got;

	*ret = (struct torn){0};
	ret->cut = was_cut(s, &ret->since);
	got = record_load(s->fd, TORN, TORN, 1, &ret->list, &ignored);
	ret->all =
		got < 0 && (got != -ENOENT || record_get(&s->more, TORN_LIST));
	ret->sorted = ret->list.count;
	SORT_BY_TEXT(ret->list.items, ret->sorted, value);
}

void torn_free(struct torn *t)
{
	record_free(&t->list);
}

bool torn_any(const struct torn *t)
{
	return t->cut || t->all || t->list.count;
}

static char *text_of(const char *what, uint64_t number, struct timestamp time)
{
	return mem_printf("%s %" PRIu64 " %" PRId64 ".%09u", what, number,
			  time.sec, time.nsec);
}

static bool has(const struct torn *t, const char *what, uint64_t number,
		struct timestamp time)
{
	auto_free char *text = text_of(what, number, time);

	return FIND_BY_TEXT(text, t->list.items, t->sorted, value);
}

bool torn_has_copy(const struct torn *t, uint64_t size, struct timestamp mtime)
{
	return has(t, "size", size, mtime);
}

bool torn_has(const struct torn *t, const struct meta *m)
{
	return t->all || has(t, "inode", m->ino, m->born) ||
	       (t->cut && timestamp_compare(m->ctime, t->since) >= 0) ||
	       torn_has_copy(t, m->size, m->mtime);
}

static void add(struct torn *t, const char *what, uint64_t number,
		struct timestamp time)
{
	auto_free char *text = text_of(what, number, time);

	if (!has(t, what, number, time))
		record_add(&t->list, "file", text);
}

void torn_add(struct torn *t, const struct meta *m)
{
	add(t, "inode", m->ino, m->born);
	add(t, "size", m->size, m->mtime);
}

int torn_save(const struct torn *t, const struct session *s, struct err *err)
{
	return record_save(s->fd, TORN, TORN, 1, &t->list, ATOMIC_DURABLE, err);
}
