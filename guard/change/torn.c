#include "guard/change/torn.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/boot.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/state/report.h"
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
	return !s->live && !changes_are_stored(s) &&
	       (s->state == RUN_INTERRUPTED ||
		record_get(&s->more, TORN_KNOWN)) &&
	       boot && *boot_id() && strcmp(boot, boot_id()) != 0;
}

/* 1; 0: the layer does not have it. */
static bool stat_upper(const struct changes_root *root, const char *path,
		       struct meta *ret)
{
	const char *name = path;
	struct err ignored;
	auto_close int parent =
		beneath_parent(root->upper_fd, path, &name, &ignored);

	return parent >= 0 && meta_get(parent, name, ret) == 0;
}

static char *kept_text(size_t index, uint64_t ino, const char *path)
{
	return mem_printf("%zu %" PRIu64 " %s", index, ino, path);
}

static void mark_root(const struct record *kept, const struct timestamp *since,
		      size_t index, struct changes_root *root)
{
	size_t i;

	for (i = 0; i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		auto_free char *text = NULL;
		struct meta m;

		/* Of a change of metadata the bytes are those of the real
		 * file. */
		if (!S_ISREG(c->now.mode) || c->kind == CHANGE_META ||
		    !stat_upper(root, c->path, &m))
			continue;
		text = kept_text(index, m.ino, c->path);
		if ((since && timestamp_compare(m.ctime, *since) >= 0) ||
		    FIND_BY_TEXT(text, kept->items, kept->count, value))
			c->flags |= CHANGES_TORN;
	}
}

/* This is the place where a torn file gets the last version that was kept of
 * it during the run, instead of the mark. */
void torn_mark(const struct session *s, struct changes *c)
{
	AUTO(record) struct record kept = {0};
	struct timestamp since;
	struct err ignored;
	bool cut = was_cut(s, &since);
	size_t i;

	(void)record_load(s->fd, TORN, TORN, 1, &kept, &ignored);
	SORT_BY_TEXT(kept.items, kept.count, value);
	for (i = 0; i < c->root_count && (cut || kept.count); i++)
		mark_root(&kept, cut ? &since : NULL, i, &c->roots[i]);
}

bool torn_is_cut(const struct session *s)
{
	struct timestamp ignored;

	return was_cut(s, &ignored);
}

int torn_keep(const struct session *s, const struct changes *c, struct err *err)
{
	AUTO(record) struct record kept = {0};
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].list.count; k++) {
			const struct change *change =
				&c->roots[i].list.items[k];
			auto_free char *text = NULL;
			struct meta m;

			if (!(change->flags & CHANGES_TORN) ||
			    !stat_upper(&c->roots[i], change->path, &m))
				continue;
			text = kept_text(i, m.ino, change->path);
			record_add(&kept, "file", text);
		}
	/* The second record, which ends the first one's time, comes after it.
	 */
	if (kept.count &&
	    record_save(s->fd, TORN, TORN, 1, &kept, ATOMIC_DURABLE, err) < 0)
		return -err->num;
	return torn_save_synced(s, timestamp_now(), ATOMIC_DURABLE, err);
}

void torn_report(const struct session *s, const struct changes *c)
{
	const char *run = session_label(s);
	size_t count = 0, i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].list.count; k++)
			count += (c->roots[i].list.items[k].flags &
				  CHANGES_TORN) != 0;
	if (count)
		report_warning("%s of run %s may be torn, because the machine "
			       "stopped before guard had synced %s: guard diff "
			       "%s names them, guard apply asks about each, "
			       "--except critical leaves them out",
			       text_count(count, "file"), run,
			       count == 1 ? "it" : "them", run);
}
