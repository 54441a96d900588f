#include "guard/timeline/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/state/background.h"
#include "guard/state/context.h"
#include "guard/state/usage.h"
#include "guard/timeline/contents_private.h"
#include "snapshot/walk/take.h"

bool import_is_due(int run_fd, uint64_t bytes)
{
	struct usage u = {.most_bytes = bytes, .most_entries = !bytes};

	usage_add(run_fd, TIMELINE_SPOOL, &u);
	return usage_is_above(&u);
}

/* The order of their numbers. */
static int compare_spooled(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	size_t a_len = strlen(a->name), b_len = strlen(b->name);

	return a_len == b_len ? strcmp(a->name, b->name)
			      : (a_len > b_len) - (a_len < b_len);
}

/* *ret: the files in the order of their numbers. They are read as those of a
 * snapshot are: in batches, by several threads. */
static int import_spool(struct contents *c, struct tree *ret, struct err *err)
{
	static const char *const unfinished[] = {"*.part", NULL};
	AUTO(snapshot) struct snapshot s = {0};
	const struct take_options o = {
		.root_path = c->session->project,
		.root_fd = c->spool_fd,
		.excludes = unfinished,
		.look = true,
	};
	size_t i;
	int got;

	if (!import_is_due(c->session->fd, 0))
		return 0;
	if (take_snapshot(c->store, &o, &s, err) < 0 ||
	    tree_load(c->store, &s.root.content, ret, err) < 0)
		return -err->num;
	vec_sort(ret->entries, ret->count, sizeof(*ret->entries),
		 compare_spooled);
	for (i = 0, got = 0; i < ret->count && got == 0; i++) {
		struct entry *e = &ret->entries[i];
		uint64_t number = strtoull(e->name, NULL, 10);
		const struct timeline_record *r = contents_record(c, number);

		/* An incomplete one stays for the next import. */
		if (!S_ISREG(e->mode) || e->flags & ENTRY_INCOMPLETE ||
		    (r && contents_is_torn(c, r)))
			*e->name = '\0';
		else
			got = contents_put(c, number, e, err);
	}
	return got;
}

static int import_standing(struct contents *c, struct err *err)
{
	uint64_t before = 0;
	size_t i;

	contents_find_last(c);
	for (i = 0; i < c->last.count; i++) {
		uint64_t number = c->last.items[i].content;
		AUTO(entry) struct entry e = {0};
		int got;

		if (number == before || !c->last.items[i].record->size)
			continue;
		before = number;
		got = contents_stored(c, number, &e, err);
		if (got)
			continue;
		got = contents_standing(c, number, &e, err);
		if (got > 0)
			got = contents_put(c, number, &e, err);
		if (got < 0)
			return got;
	}
	return 0;
}

static int import_contents(struct contents *c, bool ended, struct err *err)
{
	AUTO(tree) struct tree spooled = {0};
	AUTO(entry) struct entry records = {0};
	size_t i;
	int got;

	contents_edit(c);
	got = import_spool(c, &spooled, err);
	if (got == 0 && ended)
		got = import_standing(c, err);
	if (got == 0 && ended)
		got = tree_lookup(c->store, &c->stored.root, CONTENTS_RECORDS,
				  &records, err);
	c->stored.time = timestamp_now();
	if (got >= 0 &&
	    (c->changed || (ended && records.size != c->timeline.valid)))
		got = contents_commit(c, ended, "", err);
	for (i = 0; i < spooled.count && got >= 0; i++)
		if (*spooled.entries[i].name)
			(void)unlinkat(c->spool_fd, spooled.entries[i].name, 0);
	return got < 0 ? got : 0;
}

int import_run(struct store *store, const struct session *s, bool ended,
	       bool wait, struct err *err)
{
	struct contents *c = NULL;
	auto_close int lock = contents_lock(s->fd, wait, err);
	int got;

	if (lock < 0)
		return lock;
	if (contents_open(&c, store, s, err) < 0)
		return -err->num;
	got = import_contents(c, ended, err);
	contents_close(&c);
	return got;
}

int import_now(const struct session *s, bool ended, bool wait, struct err *err)
{
	AUTO(store) struct store *store = NULL;
	struct state state;

	if (!fd_exists(s->fd, TIMELINE_DIR))
		return 0;
	if (state_open(&state, err) < 0 ||
	    store_open(&store, state.store_path, STORE_WRITE, err) < 0)
		return -err->num;
	/* A part of the disk stays free for the run's own records. */
	store_limit(store, UINT64_MAX, 0);
	return import_run(store, s, ended, wait, err);
}

pid_t import_start(const struct session *s, bool ended)
{
	struct session session = *s;
	struct err err;
	sigset_t before;
	pid_t pid;

	/* The terminal may be closed right after the run. */
	context_block_signals(&before);
	pid = fork();
	if (pid == 0) {
		session.lock_fd = -1;
		if (background_enter("guard-importer",
				     (int *const[]){&session.fd}, 1) < 0)
			_exit(EIO);
		_exit(-import_now(&session, ended, ended, &err));
	}
	(void)context_restore_signals(&before);
	return pid;
}
