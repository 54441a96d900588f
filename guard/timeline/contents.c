#include "guard/timeline/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/record.h"
#include "base/sorted.h"
#include "guard/timeline/contents_private.h"
#include "guard/timeline/record_list.h"
#include "overlay/session_base.h"
#include "overlay/temp_chmod.h"
#include "overlay/whiteout.h"
#include "restore/result.h"
#include "snapshot/store/content.h"
#include "snapshot/walk/take.h"

#define PER_DIR 1000
#define STORED_VERSION 1
/* The version worker takes a tick to save a destroyed content, more under load.
 */
#define TICK_MS 50
#define WORKER_TICKS 20

/* The path of a content in the tree; of its directory. */
#define PATH_LEN 32
#define DIR_LEN (sizeof(CONTENTS_DIR "/") - 1 + 9)

static void make_path(char ret[PATH_LEN], uint64_t number)
{
	(void)snprintf(ret, PATH_LEN, CONTENTS_DIR "/%09" PRIu64 "/%03" PRIu64,
		       number / PER_DIR, number % PER_DIR);
}

/* --- open --- */

/* The snapshot that timeline/stored names; an empty one if there is none. */
static int load_snapshot(struct store *store, int run_fd, const char *run_id,
			 struct snapshot *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	AUTO(snapshot) struct snapshot s = {0};
	struct err why;
	int got = record_load(run_fd, SESSION_TIMELINE_DIR "/" SESSION_TIMELINE,
			      SESSION_TIMELINE_DIR, STORED_VERSION, &r, &why);

	if (got == 0)
		got = catalog_load(
			store,
			(uint64_t)record_get_int(&r, SESSION_TIMELINE_KEY), &s,
			&why);
	if (got < 0 && got != -ENOENT && got != -EBADMSG) {
		*err = why;
		return got;
	}
	/* After a power cut the number may belong to another snapshot. */
	if (got == 0 && strcmp(s.reason, CATALOG_TIMELINE) == 0 &&
	    strcmp(s.run_id, run_id) == 0)
		*ret = TAKE(s);
	return 0;
}

static struct contents *new_contents(struct store *store)
{
	struct contents *c = mem_zalloc(sizeof(*c));

	c->store = store;
	c->spool_fd = -1;
	return c;
}

/* Contents that a power cut tore are gaps. */
static void add_torn(struct contents *c)
{
	size_t count = torn_any(&c->torn) ? c->timeline.count : 0, i;

	for (i = 0; i < count; i++) {
		struct timeline_record gap = c->timeline.items[i];

		if (!S_ISREG(gap.mode) || !contents_is_torn(c, &gap))
			continue;
		gap.number =
			c->timeline.items[c->timeline.count - 1].number + 1;
		gap.kind = TIMELINE_GAP;
		gap.text = "torn by a power cut";
		*VEC_ADD(&c->timeline) = gap;
	}
}

int contents_open(struct contents **ret, struct store *store,
		  const struct session *s, struct err *err)
{
	struct contents *c = new_contents(store);
	size_t i;

	c->session = s;
	for (i = 0; i < s->root_count; i++)
		*VEC_ADD(&c->roots) = (struct contents_root){
			mem_strdup(s->roots[i].path), s->roots[i].base,
			s->roots[i].result};
	/* The spool first: what leaves it meanwhile is in the snapshot. */
	c->spool_fd = fd_open_dir(s->fd, TIMELINE_SPOOL);
	if (timeline_load(&c->timeline, s->fd, err) < 0 ||
	    load_snapshot(store, s->fd, s->id, &c->stored, err) < 0) {
		contents_close(&c);
		return -err->num;
	}
	torn_load(s, &c->torn);
	add_torn(c);
	*ret = c;
	return 0;
}

/* The snapshots of the run: the states that it had at its ends, before rewinds
 * and in the middle of applies; of a run without a directory the timeline. */
static int load_states(struct contents *c, const char *run_id, struct err *err)
{
	auto_free uint64_t *list = NULL;
	struct err ignored;
	size_t count = 0, i;

	if (catalog_list(c->store, &list, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};

		if (catalog_load(c->store, list[i], &s, &ignored) < 0 ||
		    strcmp(s.run_id, run_id) != 0)
			continue;
		if (strcmp(s.reason, CATALOG_TIMELINE) != 0)
			VEC_ADD(&c->states)->snapshot = TAKE(s);
		else if (!c->session) {
			snapshot_free(&c->stored);
			c->stored = TAKE(s);
		}
	}
	c->has_states = true;
	return 0;
}

static int read_file(struct contents *c, const char *name, struct buf *to,
		     struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(c->store, &c->stored.root, name, &e, err);

	if (got == 0 || (got > 0 && !S_ISREG(e.mode)))
		return fail(err, EBADMSG, "it has no %s", name);
	return got < 0 ? got : content_append(c->store, &e.content, to, err);
}

static int load_stored(struct contents *c, struct err *err)
{
	AUTO(buf) struct buf records = {0}, roots = {0};
	struct dec d;
	uint64_t count;

	if (read_file(c, CONTENTS_RECORDS, &records, err) < 0 ||
	    read_file(c, CONTENTS_ROOTS, &roots, err) < 0)
		return -err->num;
	timeline_parse(&c->timeline, &records);
	d = dec_start(roots.data, roots.len);
	for (count = dec_var(&d); count && !d.bad; count--) {
		struct contents_root *root = VEC_ADD(&c->roots);

		root->path = dec_text(&d);
		root->base = dec_var(&d);
		root->result = dec_var(&d);
	}
	/* The project may have moved. */
	if (c->roots.count) {
		free(c->roots.items[0].path);
		c->roots.items[0].path = mem_strdup(c->stored.root_path);
	}
	return dec_end(&d) ? 0
			   : fail(err, EBADMSG,
				  "its " CONTENTS_ROOTS " is damaged");
}

int contents_open_stored(struct contents **ret, struct store *store,
			 const char *run_id, struct err *err)
{
	struct contents *c = new_contents(store);
	int got = load_states(c, run_id, err);

	if (got == 0 && !c->stored.seq) {
		got = fail(err, ENOENT,
			   "no versions of the time during run %s are kept",
			   run_id);
	} else if (got == 0 && load_stored(c, err) < 0) {
		/* ENOENT would mean a run without a timeline. */
		err->num = EBADMSG;
		got = err_context(err, "the timeline of run %s", run_id);
	}
	if (got < 0)
		contents_close(&c);
	else
		*ret = c;
	return got;
}

void contents_close(struct contents **contents)
{
	struct contents *c = *contents;
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->roots.count; i++)
		free(c->roots.items[i].path);
	for (i = 0; i < c->states.count; i++) {
		lookup_free(&c->states.items[i].lookup);
		snapshot_free(&c->states.items[i].snapshot);
	}
	VEC_FREE(&c->states);
	lookup_free(&c->in_stored);
	tree_editor_free(&c->editor);
	VEC_FREE(&c->roots);
	VEC_FREE(&c->last);
	fd_close(&c->spool_fd);
	timeline_free(&c->timeline);
	torn_free(&c->torn);
	snapshot_free(&c->stored);
	free(c);
	*contents = NULL;
}

const struct timeline *contents_timeline(const struct contents *c)
{
	return &c->timeline;
}

const struct snapshot *contents_snapshot(const struct contents *c)
{
	return &c->stored;
}

const struct contents_root *contents_roots(const struct contents *c,
					   size_t *ret_count)
{
	*ret_count = c->roots.count;
	return c->roots.items;
}

const struct timeline_record *contents_record(const struct contents *c,
					      uint64_t number)
{
	/* A record begins with its number. */
	return sorted_find_number(number, c->timeline.items, c->timeline.count,
				  sizeof(*c->timeline.items));
}

/* --- where a content is --- */

bool contents_is_torn(const struct contents *c, const struct timeline_record *r)
{
	struct meta m;
	char name[CONTENTS_NAME];

	return torn_any(&c->torn) &&
	       (torn_has_copy(&c->torn, r->size, r->mtime) ||
		(contents_spooled(c, r->number, name) &&
		 meta_get(c->spool_fd, name, &m) == 0 &&
		 torn_has(&c->torn, &m)));
}

void contents_find_last(struct contents *c)
{
	AUTO(record_list) struct record_list l = {0};
	size_t i, next;

	if (c->has_last)
		return;
	c->has_last = true;
	l = record_list_make(&c->timeline);
	for (i = 0; i < l.count; i = next) {
		const struct timeline_record *r;

		next = record_list_next(&l, i);
		r = l.items[next - 1];
		if (r->kind == TIMELINE_ENTRY && S_ISREG(r->mode))
			*VEC_ADD(&c->last) =
				(struct contents_last){r->content, r};
	}
	VEC_SORT(&c->last, sorted_compare_numbers);
}

static bool is_of_record(const struct entry *e, const struct timeline_record *r)
{
	return S_ISREG(e->mode) && !(e->flags & ENTRY_INCOMPLETE) &&
	       e->size == r->size && timestamp_compare(e->mtime, r->mtime) == 0;
}

/* rest: the path of r in this directory of the layer. The run may have closed a
 * directory above it: then the content is opened when it is needed. */
static int take_below(struct contents *c, const struct timeline_record *r,
		      int dir, const char *rest, struct entry *ret,
		      struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	AUTO(entry) struct entry e = {0};
	const char *slash = strchr(rest, '/');
	struct meta m;
	int got;

	if (slash) {
		auto_free char *name =
			mem_strndup(rest, (size_t)(slash - rest));
		auto_close int fd =
			upper_open(dir, name, O_RDONLY | O_DIRECTORY,
				   ret ? 0500 : 0, &opened, err);

		if (fd < 0)
			return !ret && fd == -EACCES;
		return take_below(c, r, fd, slash + 1, ret, err);
	}
	if (meta_get(dir, rest, &m) < 0 || !S_ISREG(m.mode) ||
	    m.ino != r->ino || m.size != r->size ||
	    timestamp_compare(m.mtime, r->mtime) != 0 || torn_has(&c->torn, &m))
		return 0;
	if (!ret)
		return 1;
	got = result_take_entry(c->store, dir, rest, &e, err);
	/* Replaced or written meanwhile. */
	if (got == -ENOENT || got == -EBUSY)
		return 0;
	if (got == 0 && is_of_record(&e, r)) {
		*ret = TAKE(e);
		got = 1;
	}
	return got;
}

static int take_from_layer(struct contents *c, const struct timeline_record *r,
			   struct entry *ret, struct err *err)
{
	auto_free char *layer = session_root_dir(r->root, "upper");
	auto_close int upper = fd_open_dir(c->session->fd, layer);

	return upper < 0 || !*r->path
		       ? 0
		       : take_below(c, r, upper, r->path, ret, err);
}

/* Whether the record was the last one of its path at that time. */
static bool held_at(const struct contents *c, const struct timeline_record *r,
		    struct timestamp time)
{
	const struct timeline *t = &c->timeline;
	const struct timeline_record *next = r + 1;

	while (next < t->items + t->count &&
	       !(timeline_is_state(next) && record_list_is_path(next, r)))
		next++;
	return timestamp_compare(r->time, time) <= 0 &&
	       (next == t->items + t->count ||
		timestamp_compare(time, next->time) < 0);
}

int contents_from_states(struct contents *c, const struct timeline_record *r,
			 uint64_t seq, struct entry *ret, struct err *err)
{
	size_t i;

	if (contents_is_torn(c, r))
		return 0;
	if (!c->has_states && load_states(c, c->session->id, err) < 0)
		return -err->num;
	for (i = c->states.count; i-- > 0;) {
		struct contents_state *s = &c->states.items[i];
		AUTO(entry) struct entry e = {0};

		if ((seq && s->snapshot.seq != seq) ||
		    strcmp(s->snapshot.root_path,
			   c->roots.items[r->root].path) != 0)
			continue;
		s->lookup.store = c->store;
		s->lookup.root = &s->snapshot.root;
		if (lookup_find(&s->lookup, r->path, &e, err) < 0)
			return -err->num;
		/* Another content may have this size and time, too. */
		if (!is_of_record(&e, r) ||
		    (!seq && !held_at(c, r, s->snapshot.time)))
			continue;
		if (ret)
			*ret = TAKE(e);
		return 1;
	}
	return 0;
}

int contents_standing(struct contents *c, uint64_t number, struct entry *ret,
		      struct err *err)
{
	struct contents_last *end, *l;
	int got = 0;

	contents_find_last(c);
	end = c->last.items + c->last.count;
	l = sorted_find_number(number, c->last.items, c->last.count,
			       sizeof(*l));
	for (; l && l < end && l->content == number && got == 0; l++) {
		size_t root = l->record->root;

		if (root < c->roots.count && c->roots.items[root].result)
			got = contents_from_states(c, l->record,
						   c->roots.items[root].result,
						   ret, err);
		if (root < c->roots.count && c->session && got == 0)
			got = take_from_layer(c, l->record, ret, err);
	}
	return got;
}

int contents_stored(struct contents *c, uint64_t number, struct entry *ret,
		    struct err *err)
{
	char path[PATH_LEN];

	make_path(path, number);
	c->in_stored.store = c->store;
	c->in_stored.root = &c->stored.root;
	return lookup_find(&c->in_stored, path, ret, err);
}

int contents_refresh(struct contents *c, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};

	if (load_snapshot(c->store, c->session->fd, c->session->id, &s, err) <
	    0)
		return -err->num;
	lookup_free(&c->in_stored);
	snapshot_free(&c->stored);
	c->stored = TAKE(s);
	return 0;
}

bool contents_spooled(const struct contents *c, uint64_t number,
		      char ret_name[CONTENTS_NAME])
{
	(void)snprintf(ret_name, CONTENTS_NAME, "%" PRIu64, number);
	return c->spool_fd >= 0 && fd_exists(c->spool_fd, ret_name);
}

/* contents_entry() of size, bytes and attributes only. */
static int find_content(struct contents *c, const struct timeline_record *r,
			uint64_t number, struct entry *e, bool take,
			struct err *err)
{
	char name[CONTENTS_NAME];
	int got = 0;

	if (r->size || r->content != number)
		got = contents_stored(c, number, e, err);
	if (got == 0 && contents_spooled(c, number, name)) {
		got = !take || take_entry(c->store, c->spool_fd, name, NULL, e,
					  err) == 0;
		if (!got && contents_spooled(c, number, name))
			return -err->num;
	}
	if (got == 0)
		got = contents_standing(c, number, take ? e : NULL, err);
	/* An importer may have moved it to the store meanwhile. */
	if (got == 0 && c->spool_fd >= 0)
		got = contents_refresh(c, err) < 0
			      ? -err->num
			      : contents_stored(c, number, e, err);
	return got;
}

/* Waits while the version worker of a live run saves what a process is about
 * to overwrite: until then the file may have the new bytes. */
static int wait_for_worker(const struct contents *c, struct err *err)
{
	auto_close int fd =
		openat(c->session->fd, TIMELINE_RECORDS, O_RDONLY | O_CLOEXEC);
	int tries = WORKER_TICKS;

	while (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0) {
		if (tries-- == 0)
			return fail(err, EBUSY,
				    "the versions of run %s are being stored: "
				    "try again",
				    session_label(c->session));
		(void)poll(NULL, 0, TICK_MS);
	}
	return 0;
}

int contents_entry(struct contents *c, uint64_t number, struct entry *ret,
		   struct err *err)
{
	const struct timeline_record *r = contents_record(c, number);
	AUTO(entry) struct entry e = {0};
	int got;

	if (!r || r->kind != TIMELINE_ENTRY || !S_ISREG(r->mode) ||
	    contents_is_torn(c, r))
		return 0;
	got = !r->size && r->content == number;
	if (!got && c->session && c->session->live &&
	    wait_for_worker(c, err) < 0)
		return -err->num;
	if (!got)
		got = find_content(c, r, number, &e, ret, err);
	/* The version worker may be about to save a content that the run
	 * destroyed just before it was suspended. */
	while (got == 0 && c->session && c->session->live &&
	       c->waited < WORKER_TICKS) {
		c->waited++;
		(void)poll(NULL, 0, TICK_MS);
		got = find_content(c, r, number, &e, ret, err);
	}
	if (got <= 0 || !ret)
		return got;
	*ret = (struct entry){
		.name = mem_strdup(path_name(r->path)),
		.mode = r->mode,
		.uid = r->uid,
		.gid = r->gid,
		.mtime = r->mtime,
		.size = e.size,
		.content = e.content,
		.attrs = e.attrs,
	};
	return 1;
}

/* --- changes of the tree --- */

int contents_lock(int run_fd, bool wait, struct err *err)
{
	return lock_take(run_fd, TIMELINE_DIR "/lock", true, wait, err);
}

void contents_edit(struct contents *c)
{
	static char name[] = "";
	struct entry root = {.name = name, .mode = S_IFDIR | 0700};

	c->editor = tree_editor_new(c->store,
				    c->stored.seq ? &c->stored.root : &root);
	c->changed = false;
}

int contents_put(struct contents *c, uint64_t number, const struct entry *e,
		 struct err *err)
{
	const struct entry dir = {.mode = S_IFDIR | 0700};
	const struct entry file = {
		.mode = S_IFREG | 0600,
		.size = e->size,
		.content = e->content,
		.attrs = e->attrs,
	};
	char path[PATH_LEN];

	make_path(path, number);
	if (tree_editor_move_to(c->editor, path, err) < 0)
		return -err->num;
	c->changed = true;
	path[DIR_LEN] = '\0';
	if (tree_editor_put_dir(c->editor, CONTENTS_DIR, &dir, err) < 0 ||
	    tree_editor_put_dir(c->editor, path, &dir, err) < 0)
		return -err->num;
	path[DIR_LEN] = '/';
	return tree_editor_put(c->editor, path, &file, err);
}

int contents_remove(struct contents *c, uint64_t number, struct err *err)
{
	char path[PATH_LEN];

	make_path(path, number);
	return tree_editor_move_to(c->editor, path, err) < 0
		       ? -err->num
		       : tree_editor_remove(c->editor, path, err);
}

static int put_file(struct contents *c, const char *name,
		    const struct buf *bytes, struct err *err)
{
	struct entry e = {.mode = S_IFREG | 0600, .size = bytes->len};

	return content_put_bytes(c->store, bytes->data, bytes->len, &e.content,
				 err) < 0
		       ? -err->num
		       : tree_editor_put(c->editor, name, &e, err);
}

/* timeline_parse() has moved bytes. */
static int put_records(struct contents *c, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	for (i = 0; i < c->timeline.count; i++)
		timeline_encode(&bytes, &c->timeline.items[i]);
	return put_file(c, CONTENTS_RECORDS, &bytes, err);
}

static int put_roots(struct contents *c, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	enc_var(&bytes, c->roots.count);
	for (i = 0; i < c->roots.count; i++) {
		enc_text(&bytes, c->roots.items[i].path);
		enc_var(&bytes, c->roots.items[i].base);
		enc_var(&bytes, c->roots.items[i].result);
	}
	return put_file(c, CONTENTS_ROOTS, &bytes, err);
}

/* A number in timeline/stored: with the snapshot itself. */
static int put_stored(void *arg, const struct snapshot *s,
		      struct atomic_set *set, struct err *err)
{
	const struct contents *c = arg;
	AUTO(record) struct record r = {0};

	record_set_int(&r, SESSION_TIMELINE_KEY, (int64_t)s->seq);
	return record_put(c->session->fd,
			  SESSION_TIMELINE_DIR "/" SESSION_TIMELINE,
			  SESSION_TIMELINE_DIR, STORED_VERSION, &r, set, err);
}

int contents_commit(struct contents *c, bool records, const char *message,
		    struct err *err)
{
	const struct session *run = c->session;
	struct snapshot *s = &c->stored;
	int got = put_roots(c, err);

	if (got == 0 && records)
		got = put_records(c, err);
	if (tree_editor_end(&c->editor, got, &s->root, err) < 0)
		return -err->num;
	lookup_free(&c->in_stored);
	free(s->message);
	s->message = mem_strdup(message);
	if (s->seq)
		return catalog_replace(c->store, s, err);
	s->uid = geteuid();
	s->reason = mem_strdup(CATALOG_TIMELINE);
	s->run_id = mem_strdup(run->id);
	s->command = mem_strdup(run->command);
	s->root_path = mem_strdup(run->project);
	s->root_dev = run->roots[0].dev;
	return catalog_add_with(c->store, s, put_stored, c, err);
}
