#include "overlay/session_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "overlay/session_id.h"

#define KIND "run"
#define VERSION 2
#define VERSION_ONE_ROOT 1

/* Second record of a continued run, beside "record", while it runs. */
#define RESUMED "going"

static const char *const state_names[] = {
	[RUN_NEW] = "new",
	[RUN_RUNNING] = "running",
	[RUN_ENDED] = "ended",
	[RUN_APPLYING] = "applying",
	[RUN_APPLIED] = "applied",
	[RUN_DISCARDED] = "discarded",
	[RUN_INTERRUPTED] = "interrupted",
};

const char *run_state_name(enum run_state state)
{
	return state_names[state];
}

bool run_state_pending(enum run_state state)
{
	return state != RUN_APPLIED && state != RUN_DISCARDED;
}

void session_free_roots(struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		free(s->roots[i].path);
	free(s->roots);
	s->roots = NULL;
	s->root_count = 0;
	s->project = NULL;
}

struct session_root *session_append_root(struct session *s, const char *path)
{
	s->roots = mem_resize(s->roots, s->root_count + 1, sizeof(*s->roots));
	s->roots[s->root_count] = (struct session_root){
		.path = mem_strdup(path),
	};
	s->project = s->roots[0].path;
	return &s->roots[s->root_count++];
}

static void put_extra_roots(struct record *r, const struct session *s)
{
	size_t i;

	for (i = 1; i < s->root_count; i++) {
		const struct session_root *e = &s->roots[i];
		auto_free char *value =
			mem_printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
				   e->dev, e->ino, e->result, e->path);

		record_add(r, "extra", value);
	}
}

static int get_extra_roots(const struct record *r, struct session *s)
{
	const char *value;
	size_t i;

	for (i = 0; (value = record_get_nth(r, "extra", i)); i++) {
		struct session_root e = {0}, *root;
		int at = 0;

		if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %n",
			   &e.dev, &e.ino, &e.result, &at) != 3 ||
		    !at || value[at] != '/')
			return -1;
		root = session_append_root(s, value + at);
		e.path = root->path;
		*root = e;
	}
	return 0;
}

static void set_record_time(struct record *r, const char *key,
			    struct timestamp m)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%" PRId64 ".%09u", m.sec, m.nsec);
	record_set(r, key, m.sec || m.nsec ? text : NULL);
}

static struct timestamp get_record_time(const struct record *r, const char *key)
{
	const char *text = record_get(r, key);
	struct timestamp m = {0};

	if (text && sscanf(text, "%" SCNd64 ".%9u", &m.sec, &m.nsec) == 2 &&
	    m.nsec < 1000000000)
		return m;
	return (struct timestamp){0};
}

static int store_session_as(const struct session *s, const char *name,
			    enum atomic_durability how, struct err *err)
{
	AUTO(record) struct record r = {0};
	enum run_state state =
		s->state == RUN_INTERRUPTED ? RUN_RUNNING : s->state;
	size_t i;

	record_set(&r, "id", s->id);
	record_set(&r, "state", run_state_name(state));
	record_set(&r, "project", s->project);
	record_set_int(&r, "project-dev", (int64_t)s->roots[0].dev);
	record_set_int(&r, "project-ino", (int64_t)s->roots[0].ino);
	record_set(&r, "home", s->home);
	record_set(&r, "command", s->command);
	set_record_time(&r, "began", s->began);
	set_record_time(&r, "started", s->started);
	set_record_time(&r, "ended", s->ended);
	record_set_int(&r, "status", s->status);
	record_set_int(&r, "result", (int64_t)s->roots[0].result);
	record_set_int(&r, "times", s->times);
	put_extra_roots(&r, s);
	for (i = 0; i < s->more.count; i++)
		record_add(&r, s->more.items[i].key, s->more.items[i].value);
	if (record_save(s->fd, name, KIND,
			s->root_count > 1 ? VERSION : VERSION_ONE_ROOT, &r, how,
			err) < 0)
		return err_context(err, "record of run %s", s->id);
	return 0;
}

int session_store(const struct session *s, enum atomic_durability how,
		  struct err *err)
{
	int got = store_session_as(s, "record", how, err);

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

/*
 * Durability of a state. A run that is new, running or without a result has
 * nothing that a power cut could lose. A continued run falls back to its
 * previous record. "applied" needs no synced directory: the project's workspace
 * keeps a note of the action until after this call.
 */
static enum atomic_durability state_durability(const struct session *s)
{
	if (s->state == RUN_APPLIED)
		return ATOMIC_DATA_SYNC;
	if (s->roots[0].result || s->state == RUN_APPLYING ||
	    s->state == RUN_DISCARDED)
		return ATOMIC_DURABLE;
	return s->times > 1 ? ATOMIC_DATA_SYNC : ATOMIC_NO_SYNC;
}

int session_set_state(struct session *s, enum run_state state, struct err *err)
{
	enum run_state before = s->state;
	int got;

	s->state = state;
	/* The record from before the continuation stays: no sync is needed. */
	got = state == RUN_RUNNING && s->times > 1
		      ? session_store_resumed(s, err)
		      : session_store(s, state_durability(s), err);
	if (got == 0)
		return 0;
	s->state = before;
	return -err->num;
}

static bool is_session_key(const char *key)
{
	static const char *const keys[] = {
		"id",	  "state",   "project", "project-dev", "project-ino",
		"home",	  "command", "started", "ended",       "status",
		"result", "times",   "began",	"extra",
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static int get_run_state(const struct record *r, enum run_state *ret)
{
	const char *text = record_get(r, "state");
	enum run_state state;

	for (state = RUN_NEW; text && state <= RUN_DISCARDED; state++) {
		if (strcmp(text, state_names[state]) == 0) {
			*ret = state;
			return 0;
		}
	}
	return -1;
}

static int load_newer(const struct session *s, struct record *ret,
		      bool *ret_torn, struct err *err)
{
	AUTO(record) struct record resumed = {0};
	/* RESUMED is read first: a process that replaces the record with a
	 * newer one removes RESUMED afterwards. */
	int found = record_load(s->fd, RESUMED, KIND, VERSION, &resumed, err);

	if (found == -EPROTO ||
	    record_load(s->fd, "record", KIND, VERSION, ret, err) < 0)
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

/* Resets the end of a run whose RESUMED record a power cut damaged: the run was
 * continued, and its current state is unknown. */
static void forget_end(struct session *s)
{
	size_t i;

	s->state = RUN_RUNNING;
	for (i = 0; i < s->root_count; i++)
		s->roots[i].result = 0;
}

int session_load(struct session *s, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *id, *project, *status;
	struct session_root *root;
	bool torn = false;
	size_t i;

	if (load_newer(s, &r, &torn, err) < 0)
		return -err->num;
	id = record_get(&r, "id");
	project = record_get(&r, "project");
	status = record_get(&r, "status");
	if (!id || strcmp(id, s->id) != 0 || !project || *project != '/' ||
	    get_run_state(&r, &s->state) < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	session_free_roots(s);
	root = session_append_root(s, project);
	root->dev = (uint64_t)record_get_int(&r, "project-dev");
	root->ino = (uint64_t)record_get_int(&r, "project-ino");
	root->result = (uint64_t)record_get_int(&r, "result");
	if (get_extra_roots(&r, s) < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	free(s->home);
	free(s->command);
	record_free(&s->more);
	s->home = mem_strdup(record_get(&r, "home") ?: "");
	s->command = mem_strdup(record_get(&r, "command") ?: "");
	s->started = get_record_time(&r, "started");
	s->ended = get_record_time(&r, "ended");
	s->status = status ? (int)record_get_int(&r, "status") : -1;
	s->times = (uint32_t)record_get_int(&r, "times");
	s->began = get_record_time(&r, "began");
	/* Records of older versions of guard have no "began". */
	if (!s->began.sec && s->times)
		s->began = s->times == 1 ? s->started : session_id_time(s->id);
	for (i = 0; i < r.count; i++)
		if (!is_session_key(r.items[i].key))
			record_add(&s->more, r.items[i].key, r.items[i].value);
	if (torn && s->state == RUN_ENDED)
		forget_end(s);
	return 0;
}
