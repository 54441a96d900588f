/* The changes of a run that a power cut may have torn: overlay/torn.h. */
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/state/report.h"
#include "guard/timeline/timeline.h"
#include "overlay/torn.h"

/* Whether the layer has it. */
static bool stat_upper(const struct changes_root *root, const char *path,
		       struct meta *ret)
{
	const char *name = path;
	struct err ignored;
	auto_close int parent =
		beneath_parent(root->upper_fd, path, &name, &ignored);

	return parent >= 0 && meta_get(parent, name, ret) == 0;
}

/* Marks the torn files, and adds them to the list. */
static void mark_root(struct torn *t, struct changes_root *root)
{
	size_t i;

	for (i = 0; i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		struct meta m;

		/* A change of metadata has the bytes of the real
		 * file. */
		if (!S_ISREG(c->now.mode) || c->kind == CHANGE_META ||
		    !stat_upper(root, c->path, &m) || !torn_has(t, &m))
			continue;
		c->flags |= CHANGES_TORN;
		torn_add(t, &m);
	}
}

static void mark(struct torn *t, struct changes *c)
{
	size_t i;

	for (i = 0; i < c->root_count && torn_any(t); i++)
		mark_root(t, &c->roots[i]);
}

void changes_torn_mark(const struct session *s, struct changes *c)
{
	AUTO(torn) struct torn t;

	torn_load(s, &t);
	mark(&t, c);
}

/* The contents that were saved during the run, too. */
static void keep_spool(const struct session *s, struct torn *t)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(s->fd, TIMELINE_SPOOL);
	struct err ignored;
	struct meta m;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		if (meta_get(fd, list.items[i].name, &m) == 0 &&
		    torn_has(t, &m))
			torn_add(t, &m);
}

int changes_torn_keep(const struct session *s, struct changes *c,
		      struct err *err)
{
	AUTO(torn) struct torn t;

	torn_load(s, &t);
	if (!torn_any(&t))
		return 0;
	keep_spool(s, &t);
	mark(&t, c);
	return torn_save(&t, s, err);
}

void changes_torn_report(const struct session *s, const struct changes *c)
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
