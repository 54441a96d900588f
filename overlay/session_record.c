#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "overlay/session_private.h"

/* Second record of a continued run, beside "record", while it runs. */
#define RESUMED "going"
#define ONE_ROOT_VERSION 1
#define ID "id"
#define STATE "state"
#define EXTRA "extra"
#define EXTRA_BORN "extra-born" /* in the same order; empty: unknown */

static const char *const state_names[] = {
	[RUN_NEW] = "new",
	[RUN_RUNNING] = "running",
	[RUN_ENDED] = "ended",
	[RUN_APPLYING] = "applying",
	[RUN_APPLIED] = "applied",
	[RUN_DISCARDED] = "discarded",
	[RUN_INTERRUPTED] = "interrupted",
};

/* The keys beside ID, STATE and EXTRA, in their order on disk. */
static const struct field {
	const char *key;
	enum { TEXT, TIME, INT, NUMBER, NUMBER_OR_NONE } kind;
	enum { OF_RUN, OF_PROJECT, OF_HOME } of;
	size_t offset; /* in struct session, or in that of the root */
} fields[] = {
	{"project", TEXT, OF_PROJECT, offsetof(struct session_root, path)},
	{"project-dev", NUMBER, OF_PROJECT, offsetof(struct session_root, dev)},
	{"project-ino", NUMBER, OF_PROJECT,
	 offsetof(struct session_root, dir.ino)},
	{"project-born", TIME, OF_PROJECT,
	 offsetof(struct session_root, dir.born)},
	{"home", TEXT, OF_RUN, offsetof(struct session, home)},
	{"command", TEXT, OF_RUN, offsetof(struct session, command)},
	{"began", TIME, OF_RUN, offsetof(struct session, began)},
	{"started", TIME, OF_RUN, offsetof(struct session, started)},
	{"ended", TIME, OF_RUN, offsetof(struct session, ended)},
	{"status", INT, OF_RUN, offsetof(struct session, status)},
	{"result", NUMBER, OF_PROJECT, offsetof(struct session_root, result)},
	{"home-result", NUMBER_OR_NONE, OF_HOME,
	 offsetof(struct session_root, result)},
	{"times", INT, OF_RUN, offsetof(struct session, times)},
};
#define FIELD_COUNT ARRAY_SIZE(fields)

const char *run_state_name(enum run_state state)
{
	return state_names[state];
}

bool run_state_pending(enum run_state state)
{
	return state != RUN_APPLIED && state != RUN_DISCARDED;
}

struct session_root *session_append_root(struct session *s, const char *path)
{
	struct session_root *root;

	/* One more for the home directory. */
	s->roots = mem_resize(s->roots, s->root_count + 2, sizeof(*s->roots));
	root = &s->roots[s->root_count++];
	*root = (struct session_root){.path = mem_strdup(path)};
	root[1] = (struct session_root){.path = s->home};
	s->project = s->roots[0].path;
	return root;
}

void session_free_record(struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		free(s->roots[i].path);
	free(TAKE(s->roots));
	free(TAKE(s->home));
	free(TAKE(s->command));
	record_free(&s->more);
	s->root_count = 0;
	s->project = NULL;
}

/* ---- fields ---- */

static void *field_of(const struct session *s, const struct field *f)
{
	const char *base = f->of == OF_RUN ? (const char *)s
			   : f->of == OF_PROJECT
				   ? (const char *)s->roots
				   : (const char *)(s->roots + s->root_count);

	return (void *)(uintptr_t)(base + f->offset);
}

/* To free; NULL for no time. */
static char *time_text(const struct timestamp *t)
{
	return t->sec || t->nsec
		       ? mem_printf("%" PRId64 ".%09u", t->sec, t->nsec)
		       : NULL;
}

static struct timestamp parse_time(const char *text)
{
	struct timestamp t;

	if (!text || sscanf(text, "%" SCNd64 ".%9u", &t.sec, &t.nsec) != 2 ||
	    t.nsec >= 1000000000)
		return (struct timestamp){0};
	return t;
}

static void put_field(const struct session *s, const struct field *f,
		      struct record *r)
{
	const void *from = field_of(s, f);
	auto_free char *text = NULL;

	switch (f->kind) {
	case TEXT:
		record_set(r, f->key, *(char *const *)from);
		break;
	case TIME:
		text = time_text(from);
		record_set(r, f->key, text);
		break;
	case INT:
		record_set_int(r, f->key, *(const int *)from);
		break;
	case NUMBER_OR_NONE:
		if (!*(const uint64_t *)from)
			break;
		/* fall through */
	case NUMBER:
		record_set_int(r, f->key, (int64_t) * (const uint64_t *)from);
		break;
	}
}

static void get_field(struct session *s, const struct field *f,
		      const struct record *r)
{
	void *to = field_of(s, f);
	const char *text = record_get(r, f->key);

	switch (f->kind) {
	case TEXT:
		free(*(char **)to);
		*(char **)to = mem_strdup(text ?: "");
		break;
	case TIME:
		*(struct timestamp *)to = parse_time(text);
		break;
	case INT:
		*(int *)to = (int)record_get_int(r, f->key);
		break;
	case NUMBER:
	case NUMBER_OR_NONE:
		*(uint64_t *)to = (uint64_t)record_get_int(r, f->key);
		break;
	}
}

static bool is_known_key(const char *key)
{
	size_t i;

	for (i = 0; i < FIELD_COUNT; i++)
		if (strcmp(fields[i].key, key) == 0)
			return true;
	return strcmp(key, ID) == 0 || strcmp(key, STATE) == 0 ||
	       strcmp(key, EXTRA) == 0 || strcmp(key, EXTRA_BORN) == 0;
}

static int get_extra_roots(const struct record *r, struct session *s)
{
	const char *value;
	size_t i;

	for (i = 0; (value = record_get_nth(r, EXTRA, i)); i++) {
		struct session_root e = {0}, *root;
		int at = 0;

		if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n",
			   &e.dev, &e.dir.ino, &e.result, &at) != 3 ||
		    !at || value[at] != '/')
			return -1;
		e.dir.born = parse_time(record_get_nth(r, EXTRA_BORN, i));
		root = session_append_root(s, value + at);
		e.path = root->path;
		*root = e;
	}
	return 0;
}

/* The state in the record; -1: none that this guard knows. */
static int get_run_state(const struct record *r)
{
	const char *text = record_get(r, STATE) ?: "";
	int state = RUN_DISCARDED;

	while (state >= 0 && strcmp(text, state_names[state]) != 0)
		state--;
	return state;
}

/* ---- save ---- */

static int store_session_as(const struct session *s, const char *name,
			    enum atomic_durability how, struct err *err)
{
	AUTO(record) struct record r = {0};
	enum run_state state =
		s->state == RUN_INTERRUPTED ? RUN_RUNNING : s->state;
	size_t i;

	record_add(&r, ID, s->id);
	record_add(&r, STATE, run_state_name(state));
	for (i = 0; i < FIELD_COUNT; i++)
		put_field(s, &fields[i], &r);
	for (i = 1; i < s->root_count; i++) {
		const struct session_root *e = &s->roots[i];
		auto_free char *value =
			mem_printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
				   e->dev, e->dir.ino, e->result, e->path);
		auto_free char *born = time_text(&e->dir.born);

		record_add(&r, EXTRA, value);
		if (s->roots[0].dir.born.sec)
			record_add(&r, EXTRA_BORN, born ?: "");
	}
	for (i = 0; i < s->more.count; i++)
		record_add(&r, s->more.items[i].key, s->more.items[i].value);
	if (record_save(s->fd, name, "run",
			s->root_count > 1 ? SESSION_RECORD_VERSION
					  : ONE_ROOT_VERSION,
			&r, how, err) < 0)
		return err_context(err, "record of run %s", s->id);
	return 0;
}

int session_store(const struct session *s, enum atomic_durability how,
		  struct err *err)
{
	int got = store_session_as(s, SESSION_RECORD, how, err);

	/* A leftover would be older than the record, and is not used. */
	if (got == 0)
		(void)unlinkat(s->fd, RESUMED, 0);
	return got;
}

int session_store_resumed(const struct session *s, struct err *err)
{
	return store_session_as(s, RESUMED, ATOMIC_NO_SYNC, err);
}

int session_forget_resumed(const struct session *s, struct err *err)
{
	if (unlinkat(s->fd, RESUMED, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "record of run %s", s->id);
	return 0;
}

int session_save(const struct session *s, struct err *err)
{
	return session_store(s, ATOMIC_DURABLE, err);
}

/* ---- load ---- */

static int load_newer(const struct session *s, struct record *ret,
		      bool *ret_torn, struct err *err)
{
	AUTO(record) struct record resumed = {0};
	/* RESUMED is read first: a process that replaces the record with a
	 * newer one removes RESUMED afterwards. */
	int found = record_load(s->fd, RESUMED, "run", SESSION_RECORD_VERSION,
				&resumed, err);

	if (found == -EPROTO ||
	    record_load(s->fd, SESSION_RECORD, "run", SESSION_RECORD_VERSION,
			ret, err) < 0)
		return err_context(err, "run %s", s->id);
	*ret_torn = found == -EBADMSG;
	if (found == 0 &&
	    record_get_int(&resumed, "times") > record_get_int(ret, "times")) {
		struct record before = *ret;

		*ret = resumed;
		resumed = before;
	}
	return 0;
}

/* Fills in what records of older versions of guard lack. */
static void upgrade_session(struct session *s, const struct record *r)
{
	if (!record_get(r, "status"))
		s->status = -1;
	if (!s->began.sec && s->times)
		s->began = s->times == 1
				   ? s->started
				   : (struct timestamp){
					     .sec = session_id_time(s->id),
				     };
}

static int load_session_record(struct session *s, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *id, *project;
	bool torn = false;
	size_t i;
	int state;

	if (load_newer(s, &r, &torn, err) < 0)
		return -err->num;
	id = record_get(&r, ID);
	project = record_get(&r, "project");
	state = get_run_state(&r);
	session_free_record(s);
	if (!id || strcmp(id, s->id) != 0 || !project || *project != '/' ||
	    state < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	s->state = (enum run_state)state;
	(void)session_append_root(s, project);
	if (get_extra_roots(&r, s) < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	for (i = 0; i < FIELD_COUNT; i++)
		get_field(s, &fields[i], &r);
	s->project = s->roots[0].path;
	s->roots[s->root_count].path = s->home;
	upgrade_session(s, &r);
	for (i = 0; i < r.count; i++)
		if (!is_known_key(r.items[i].key))
			record_add(&s->more, r.items[i].key, r.items[i].value);
	/* A power cut damaged the RESUMED record: the run was continued, and
	 * its current state is unknown. */
	if (torn && s->state == RUN_ENDED) {
		s->state = RUN_RUNNING;
		for (i = 0; i <= s->root_count; i++)
			s->roots[i].result = 0;
	}
	return 0;
}

int session_load(struct session *s, struct err *err)
{
	int got = load_session_record(s, err);
	auto_free char *path = got == -EBADMSG ? fd_path(s->fd) : NULL;

	if (got == -EBADMSG)
		return fail(err, EBADMSG,
			    "run %s: its record is damaged, by a power cut or "
			    "a failing disk; its changes are in the directory "
			    "upper of %s, guard repair moves it to guard's "
			    "trash",
			    s->id, text_quote(path ?: s->id));
	return got;
}
