#include "guard/timeline/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/sorted.h"
#include "guard/state/background.h"
#include "guard/state/context.h"
#include "guard/timeline/contents_private.h"
#include "snapshot/walk/take.h"

int64_t import_spooled(int run_fd, int64_t most)
{
	auto_close int spool = fd_open_dir(run_fd, TIMELINE_SPOOL);
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	int64_t bytes = -1;
	struct stat st;
	size_t i;

	if (spool < 0 || dirlist_read(spool, &list, &ignored) < 0)
		return -1;
	for (i = 0; i < list.count && bytes < most; i++) {
		if (!contents_spool_number(list.items[i].name) ||
		    fstatat(spool, list.items[i].name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		bytes = (bytes < 0 ? 0 : bytes) + st.st_size;
	}
	return bytes;
}

struct spooled {
	uint64_t number;
	struct entry entry;
};

struct spooled_list {
	struct spooled *items;
	size_t count, capacity;
};

static void spooled_list_free(struct spooled_list *l)
{
	while (l->count)
		entry_free(&l->items[--l->count].entry);
	VEC_FREE(l);
}

static int add_spooled(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct spooled_list *list = arg;
	uint64_t number = contents_spool_number(path);
	struct spooled *spooled;

	(void)err;
	/* An incomplete one stays for the next import. */
	if (!number || !S_ISREG(e->mode) || e->flags & ENTRY_INCOMPLETE)
		return 0;
	spooled = VEC_ADD(list);
	spooled->number = number;
	entry_copy(&spooled->entry, e);
	return 0;
}

/* The files are read as those of a snapshot are: in batches, by several
 * threads. */
static int import_spool(struct contents *c, struct spooled_list *ret,
			struct err *err)
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

	if (import_spooled(c->session->fd, 0) < 0)
		return 0;
	if (take_snapshot(c->store, &o, &s, err) < 0 ||
	    tree_each(c->store, &s.root, add_spooled, ret, err) < 0)
		return -err->num;
	/* Their names have no zeros in front. */
	VEC_SORT(ret, sorted_compare_numbers);
	for (i = 0; i < ret->count; i++)
		if (contents_put(c, ret->items[i].number, &ret->items[i].entry,
				 err) < 0)
			return -err->num;
	return 0;
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

static void remove_spooled(const struct contents *c,
			   const struct spooled_list *list)
{
	char name[24];
	size_t i;

	for (i = 0; i < list->count; i++) {
		(void)snprintf(name, sizeof(name), "%" PRIu64,
			       list->items[i].number);
		(void)unlinkat(c->spool_fd, name, 0);
	}
}

/* Whether the records in the store are all that there are, or there is nothing
 * in them that changed a file. */
static int has_all_records(struct contents *c, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = c->stored.seq ? tree_lookup(c->store, &c->stored.root,
					      CONTENTS_RECORDS, &e, err)
				: 0;
	size_t i;

	if (got)
		return got < 0 ? got : e.size == c->timeline.valid;
	for (i = 0; i < c->timeline.count; i++)
		if (c->timeline.items[i].kind >= TIMELINE_ENTRY &&
		    c->timeline.items[i].kind <= TIMELINE_NONE)
			return 0;
	return 1;
}

static int import_contents(struct contents *c, bool ended, struct err *err)
{
	AUTO(spooled_list) struct spooled_list spooled = {0};
	int got;

	contents_edit(c);
	got = import_spool(c, &spooled, err);
	if (got == 0 && ended)
		got = import_standing(c, err);
	if (got == 0 && ended)
		got = has_all_records(c, err);
	c->stored.time = timestamp_now();
	if (got >= 0 && (c->changed || (ended && !got)))
		got = contents_commit(c, ended, "", err);
	if (got >= 0)
		remove_spooled(c, &spooled);
	return got < 0 ? got : 0;
}

int import_run(struct store *store, const struct session *s, bool ended,
	       struct err *err)
{
	struct contents *c = NULL;
	auto_close int lock = -1;
	int got;

	if (!fd_exists(s->fd, TIMELINE_DIR))
		return 0;
	lock = contents_lock(s->fd, ended, err);
	if (lock < 0)
		return lock;
	if (contents_open(&c, store, s, err) < 0)
		return -err->num;
	got = import_contents(c, ended, err);
	contents_close(&c);
	return got;
}

/* --- the process --- */

static int import_in_child(const struct session *s, bool ended, struct err *err)
{
	AUTO(store) struct store *store = NULL;
	struct state state;

	if (state_open(&state, err) < 0 ||
	    store_open(&store, state.store_path, STORE_WRITE, err) < 0)
		return -err->num;
	/* A part of the disk stays free for the run's own records. */
	store_limit(store, UINT64_MAX, 0);
	return import_run(store, s, ended, err);
}

static void __attribute__((noreturn))
run_importer(const struct session *s, bool ended, int fd)
{
	struct session session = *s;
	struct import_result result = {""};
	struct err err;

	session.lock_fd = -1;
	if (background_enter("guard-importer", (int *const[]){&session.fd, &fd},
			     fd < 0 ? 1 : 2) < 0)
		_exit(1);
	if (import_in_child(&session, ended, &err) < 0)
		(void)snprintf(result.failed, sizeof(result.failed), "%s",
			       err.text);
	_exit(fd >= 0 && fd_write(fd, &result, sizeof(result)) < 0);
}

pid_t import_start(const struct session *s, bool ended, int *ret_fd)
{
	int ends[2] = {-1, -1};
	sigset_t before;
	pid_t pid;

	if (ret_fd && pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	/* The terminal may be closed right after the run. */
	context_block_signals(&before);
	pid = fork();
	if (pid == 0)
		run_importer(s, ended, ends[1]);
	(void)context_restore_signals(&before);
	fd_close(&ends[1]);
	if (ret_fd && pid > 0)
		*ret_fd = TAKE_FD(ends[0]);
	fd_close(&ends[0]);
	return pid;
}
