#include "overlay/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "overlay/pending_index.h"

#define EPOCH_2020 1577836800
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789" LETTERS
#define RANDOM_LEN 4
#define SECOND_LEN 6
/* Older ids: the seconds, "-", and a fraction of the second. */
#define FRACTION_LEN 2

static void put_base36(char *to, int len, uint64_t value)
{
	while (len--) {
		to[len] = DIGITS[value % 36];
		value /= 36;
	}
}

/* Writes a new id with its NUL. A time before 2020 counts as 2020. 0 or a
 * negative errno: no random number. */
static int session_id_make(struct timestamp now,
			   char ret[static SESSION_ID_LEN + 1], struct err *err)
{
	int64_t since = now.sec > EPOCH_2020 ? now.sec - EPOCH_2020 : 0;
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fail_errno(err, "random number of a run's id");
	put_base36(ret, RANDOM_LEN, random);
	/* A digit at the beginning would look like a date or a number. */
	ret[0] = LETTERS[random % 26];
	ret[RANDOM_LEN] = '-';
	put_base36(ret + RANDOM_LEN + 1, SECOND_LEN, (uint64_t)since);
	ret[SESSION_ID_LEN] = '\0';
	return 0;
}

static bool is_base36(const char *text, size_t len)
{
	return strspn(text, DIGITS) >= len;
}

static bool is_old_id(const char *text)
{
	return strlen(text) == SECOND_LEN + 1 + FRACTION_LEN &&
	       is_base36(text, SECOND_LEN) && text[SECOND_LEN] == '-' &&
	       is_base36(text + SECOND_LEN + 1, FRACTION_LEN);
}

bool session_id_ok(const char *text)
{
	return is_old_id(text) ||
	       (strlen(text) == SESSION_ID_LEN && is_base36(text, RANDOM_LEN) &&
		text[RANDOM_LEN] == '-' &&
		is_base36(text + RANDOM_LEN + 1, SECOND_LEN));
}

/* The second of the run's creation. The id must satisfy session_id_ok(). */
static int64_t session_id_time(const char *id)
{
	const char *from = is_old_id(id) ? id : id + RANDOM_LEN + 1;
	uint64_t value = 0;
	int i;

	for (i = 0; i < SECOND_LEN; i++)
		value = value * 36 +
			(uint64_t)(strchr(DIGITS, from[i]) - DIGITS);
	return EPOCH_2020 + (int64_t)value;
}

bool session_name_ok(const char *text)
{
	size_t len = strlen(text);

	return len && len <= SESSION_NAME_MAX &&
	       strchr(LETTERS CAPITALS, text[0]) &&
	       strspn(text, DIGITS CAPITALS "._-") == len &&
	       strcmp(text, "latest") != 0 && !session_id_ok(text);
}

/* The record's key; an older guard saves it unchanged. */
#define NAME "name"

const char *session_name(const struct session *s)
{
	return record_get(&s->more, NAME);
}

void session_set_name(struct session *s, const char *name)
{
	record_set(&s->more, NAME, name);
}

const char *session_label(const struct session *s)
{
	return session_name(s) ?: s->id;
}

/* ---- the record ---- */

#define RECORD_KIND "run"
#define RECORD_VERSION 2
#define RECORD_VERSION_ONE_ROOT 1

/* Directory beside the other runs, for those that are applied or discarded:
 * a list of the pending runs does not read it. */
#define CLOSED "closed"

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

/* Frees all roots and sets s->project to NULL. */
static void free_session_roots(struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		free(s->roots[i].path);
	free(s->roots);
	s->roots = NULL;
	s->root_count = 0;
	s->project = NULL;
}

/* Appends a root that has only its path. The pointer is valid until the next
 * call. */
static struct session_root *append_session_root(struct session *s,
						const char *path)
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

static void set_home(struct session *s, const char *home)
{
	free(s->home);
	s->home = mem_strdup(home ?: "");
	s->roots[s->root_count].path = s->home;
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
		root = append_session_root(s, value + at);
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
	if (s->roots[s->root_count].result)
		record_set_int(&r, "home-result",
			       (int64_t)s->roots[s->root_count].result);
	record_set_int(&r, "times", s->times);
	for (i = 1; i < s->root_count; i++) {
		const struct session_root *e = &s->roots[i];
		auto_free char *value =
			mem_printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s",
				   e->dev, e->ino, e->result, e->path);

		record_add(&r, "extra", value);
	}
	for (i = 0; i < s->more.count; i++)
		record_add(&r, s->more.items[i].key, s->more.items[i].value);
	if (record_save(s->fd, name, RECORD_KIND,
			s->root_count > 1 ? RECORD_VERSION
					  : RECORD_VERSION_ONE_ROOT,
			&r, how, err) < 0)
		return err_context(err, "record of run %s", s->id);
	return 0;
}

/* Writes the complete record and removes "going". how: its durability. */
static int session_store(const struct session *s, enum atomic_durability how,
			 struct err *err)
{
	int got = store_session_as(s, "record", how, err);

	/* A leftover would be older than the record, and is not used. */
	if (got == 0)
		(void)unlinkat(s->fd, RESUMED, 0);
	return got;
}

/* Writes "going", not synced. s->times is higher than in the record. */
static int session_store_resumed(const struct session *s, struct err *err)
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
 * Moves the directory of a closed run into CLOSED, or that of a run that is
 * reopened out of it. The caller holds the run's lock.
 */
static int move_session(struct session *s, bool closed, struct err *err)
{
	auto_free char *to = path_join(closed ? CLOSED : "..", s->id);
	auto_close int from = -1, runs = -1;

	if (s->in_closed == closed)
		return 0;
	from = fd_open_dir_path(s->fd, "..");
	if (from < 0 ||
	    (closed && mkdirat(from, CLOSED, 0700) < 0 && errno != EEXIST) ||
	    renameat2(from, s->id, from, to, RENAME_NOREPLACE) < 0)
		return fail_errno(err, "move run %s", s->id);
	s->in_closed = closed;
	if (closed)
		return 0;
	/* A power cut must not leave a pending run among the closed ones. */
	runs = fd_open_dir(from, "..");
	if (runs < 0)
		return fail_errno(err, "open the directory of runs");
	return atomic_sync_dir(runs, err);
}

/* The kernel writes a file that is not synced after 30 seconds
 * (vm.dirty_expire_centisecs), and looks for them every 5 seconds. */
#define WRITEBACK_SECONDS 35

/*
 * A short run that is new, running or without a result has nothing that a power
 * cut could lose. The layer of a longer run is on disk by now, and so is its
 * record: a new record that is not synced could leave an empty file (XFS). A
 * continued run falls back to its previous record. "applied" needs no synced
 * directory: the project's workspace keeps a note of the action until after
 * this call.
 */
int session_set_state(struct session *s, enum run_state state, struct err *err)
{
	enum run_state before = s->state;
	bool on_disk = s->times > 1 ||
		       s->ended.sec - s->started.sec >= WRITEBACK_SECONDS;
	enum atomic_durability how =
		on_disk ? ATOMIC_DATA_SYNC : ATOMIC_NO_SYNC;
	struct err ignored;
	int got;

	if (run_state_pending(state) && move_session(s, false, err) < 0)
		return -err->num;
	s->state = state;
	if (state == RUN_APPLIED)
		how = ATOMIC_DATA_SYNC;
	else if (s->roots[0].result || state == RUN_APPLYING ||
		 state == RUN_DISCARDED)
		how = ATOMIC_DURABLE;
	/* The record from before the continuation stays: no sync is needed. */
	got = state == RUN_RUNNING && s->times > 1
		      ? session_store_resumed(s, err)
		      : session_store(s, how, err);
	if (got < 0)
		s->state = before;
	/* A closed run that stays there only costs lists of runs more. */
	else if (!run_state_pending(state))
		(void)move_session(s, true, &ignored);
	return got;
}

/* The state in the record; -1: none that this guard knows. */
static int get_run_state(const struct record *r)
{
	const char *text = record_get(r, "state") ?: "";
	int state = RUN_DISCARDED;

	while (state >= 0 && strcmp(text, state_names[state]) != 0)
		state--;
	return state;
}

static int load_newer(const struct session *s, struct record *ret,
		      bool *ret_torn, struct err *err)
{
	AUTO(record) struct record resumed = {0};
	/* RESUMED is read first: a process that replaces the record with a
	 * newer one removes RESUMED afterwards. */
	int found = record_load(s->fd, RESUMED, RECORD_KIND, RECORD_VERSION,
				&resumed, err);

	if (found == -EPROTO || record_load(s->fd, "record", RECORD_KIND,
					    RECORD_VERSION, ret, err) < 0)
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

static int load_session_record(struct session *s, struct err *err)
{
	static const char *const known_keys[] = {
		"id",	       "state",	 "project",	"project-dev",
		"project-ino", "home",	 "command",	"started",
		"ended",       "status", "result",	"times",
		"began",       "extra",	 "home-result", NULL,
	};
	AUTO(record) struct record r = {0};
	const char *id, *project, *status;
	struct session_root *root;
	bool torn = false;
	size_t i;
	int state;

	if (load_newer(s, &r, &torn, err) < 0)
		return -err->num;
	id = record_get(&r, "id");
	project = record_get(&r, "project");
	status = record_get(&r, "status");
	state = get_run_state(&r);
	if (!id || strcmp(id, s->id) != 0 || !project || *project != '/' ||
	    state < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	s->state = (enum run_state)state;
	free_session_roots(s);
	root = append_session_root(s, project);
	root->dev = (uint64_t)record_get_int(&r, "project-dev");
	root->ino = (uint64_t)record_get_int(&r, "project-ino");
	root->result = (uint64_t)record_get_int(&r, "result");
	if (get_extra_roots(&r, s) < 0)
		return fail(err, EBADMSG, "the record of run %s is damaged",
			    s->id);
	free(s->command);
	record_free(&s->more);
	set_home(s, record_get(&r, "home"));
	s->roots[s->root_count].result =
		(uint64_t)record_get_int(&r, "home-result");
	s->command = mem_strdup(record_get(&r, "command") ?: "");
	s->started = get_record_time(&r, "started");
	s->ended = get_record_time(&r, "ended");
	s->status = status ? (int)record_get_int(&r, "status") : -1;
	s->times = (uint32_t)record_get_int(&r, "times");
	s->began = get_record_time(&r, "began");
	/* Records of older versions of guard have no "began". */
	if (!s->began.sec && s->times)
		s->began = s->times == 1
				   ? s->started
				   : (struct timestamp){
					     .sec = session_id_time(s->id),
				     };
	for (i = 0; i < r.count; i++)
		if (!mem_list_has(known_keys, r.items[i].key))
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

/* Replaces all fields of s that the record holds. s->fd and s->id are set.
 * -EBADMSG: the record is damaged; -EPROTO: a newer guard wrote it. */
static int session_load(struct session *s, struct err *err)
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

/* ---- the session ---- */

/* Key: the boot id at the first start, and clock_ahead() at that time. */
#define CLOCK "clock"

#define BASE "base"
#define WHOLE "base-whole"
#define BASE_KIND "base"
#define BASE_VERSION 1
/* = index of the root " " session.times */
#define LATE "late"
#define APPLIED SESSION_APPLIED
#define APPLIED_VERSION 1
/* = index of the root " " number of a snapshot */
#define ROOT "root"
#define LEFT "left"
/* = session.times " " number of the late base */
#define HOME "home-base"
#define LOCK "lock"
#define BASE_LOCK "base.lock"
#define LISTED_MAX 8
#define ID_TRIES 24

/* Not by close(2) alone: a process that was forked a moment ago and has not run
 * yet still has the descriptor, and with it the lock. */
void session_unlock(struct session *s)
{
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (s->lock_fd <= 0)
		return;
	(void)fcntl(s->lock_fd, F_OFD_SETLK, &whole);
	(void)flock(s->lock_fd, LOCK_UN);
	fd_close(&s->lock_fd);
}

void session_free(struct session *s)
{
	if (s->fd > 0)
		(void)close(s->fd);
	session_unlock(s);
	free(s->home);
	free(s->command);
	free_session_roots(s);
	record_free(&s->more);
	*s = (struct session){.fd = -1, .lock_fd = -1};
}

void session_list_free(struct session_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		session_free(&list->items[i]);
	free(list->items);
	*list = (struct session_list){0};
}

/*
 * A session lock consists of two locks of one descriptor. flock(2) decides
 * which process has the session. A query uses the write lock (F_OFD_SETLK),
 * which F_OFD_GETLK tests without taking it. A query by flock(2) would take the
 * lock for a short time, and another process's real attempt would fail.
 */
static int take_session_lock(int dirfd, const char *name, bool wait,
			     struct err *err)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = lock_take(dirfd, name, true, wait, err);

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLK, &whole) < 0)
		return fail_errno(err, "lock %s", text_quote(name));
	return TAKE_FD(fd);
}

static int is_session_locked(int dirfd, const char *name, struct err *err)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	auto_close int fd = RETRY_ENOENT(
		openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fcntl(fd, F_OFD_GETLK, &whole) < 0)
		return fail_errno(err, "stat lock %s", text_quote(name));
	return whole.l_type != F_UNLCK;
}

static int make_session_dir(int fd, const char *name, mode_t mode,
			    struct err *err)
{
	mode_t mask = umask(0);
	int made = mkdirat(fd, name, mode);

	(void)umask(mask);
	return made < 0 ? fail_errno(err, "create directory %s", name) : 0;
}

char *session_root_dir(size_t index, const char *what)
{
	return index ? mem_printf("%s-%zu", what, index) : mem_strdup(what);
}

int session_add_root(struct session *s, const char *path, int dir_fd,
		     struct err *err)
{
	auto_free char *upper = session_root_dir(s->root_count, "upper");
	auto_free char *work = session_root_dir(s->root_count, "work");
	struct session_root *root;
	struct meta meta;

	if (meta_get(dir_fd, "", &meta) < 0)
		return fail_errno(err, "%s", text_quote(path));
	if (make_session_dir(s->fd, upper, 0700, err) < 0 ||
	    make_session_dir(s->fd, work, 0700, err) < 0)
		return err_context(err, "run %s", s->id);
	root = append_session_root(s, path);
	root->dev = meta.dev;
	root->ino = meta.ino;
	return 0;
}

/* Opens runs/<id> or runs/closed/<id>; O_PATH. -1 with errno. */
static int open_session_dir(int runs_fd, const char *id, bool *ret_in_closed)
{
	auto_free char *closed = path_join(CLOSED, id);
	int fd = fd_open_dir_path(runs_fd, id);

	*ret_in_closed = fd < 0 && errno == ENOENT;
	if (*ret_in_closed)
		fd = fd_open_dir_path(runs_fd, closed);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	/* An undo may have moved it between the two calls. */
	*ret_in_closed = false;
	return fd_open_dir_path(runs_fd, id);
}

int session_exists(int runs_fd, const char *id, struct err *err)
{
	bool in_closed;
	auto_close int fd = open_session_dir(runs_fd, id, &in_closed);

	if (fd >= 0)
		return 1;
	return errno == ENOENT ? 0 : fail_errno(err, "run %s", id);
}

int session_open_closed_dir(int runs_fd)
{
	return fd_open_dir(runs_fd, CLOSED);
}

static int add_session_ids(int dir_fd, struct dirlist *to, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dir_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++)
		if (session_id_ok(list.items[i].name))
			dirlist_add(to, list.items[i].name,
				    strlen(list.items[i].name));
	return 0;
}

/* Lists the ids of runs, those of closed ones when asked to; an id can be there
 * twice. */
static int list_session_ids(int runs_fd, bool closed, struct dirlist *ret,
			    struct err *err)
{
	auto_close int runs = fd_open_dir(runs_fd, ".");
	auto_close int dir = closed ? session_open_closed_dir(runs_fd) : -1;
	int got;

	if (runs < 0 || (closed && dir < 0 && errno != ENOENT))
		return fail_errno(err, "open the directory of runs");
	got = add_session_ids(runs, ret, err);
	/* A run that is reopened meanwhile is in one of both lists of runs/. */
	if (got == 0 && dir >= 0)
		got = add_session_ids(dir, ret, err) < 0 ||
				      add_session_ids(runs, ret, err) < 0
			      ? -err->num
			      : 0;
	dirlist_sort(ret);
	return got;
}

/* Whether the first len characters of the id are those of another run. */
static bool is_prefix_used(const struct dirlist *runs, const char *id,
			   size_t len)
{
	size_t i;

	for (i = 0; i < runs->count; i++)
		if (strncmp(runs->items[i].name, id, len) == 0)
			return true;
	return false;
}

/* Ids that differ from those of pending runs in their first two characters are
 * preferred, then in three: people type only the beginning. mkdir(2) decides
 * which process gets an id. */
static int make_session_id(int runs_fd, char *id, struct err *err)
{
	AUTO(dirlist) struct dirlist runs = {0};
	int tries;

	if (list_session_ids(runs_fd, false, &runs, err) < 0)
		return -err->num;
	for (tries = 0; tries < ID_TRIES; tries++) {
		size_t differ = 2 + (size_t)tries * 3 / ID_TRIES;

		if (session_id_make(timestamp_now(), id, err) < 0)
			return -err->num;
		if (is_prefix_used(&runs, id, differ) ||
		    session_exists(runs_fd, id, err) != 0)
			continue;
		if (mkdirat(runs_fd, id, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return fail_errno(err, "create the directory of a run");
	}
	return fail(err, EEXIST, "no free name for a run");
}

int session_create(int runs_fd, const char *project, int project_fd,
		   const char *home, const char *command, struct session *ret,
		   struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {
		{"upper", 0700},     {"work", 0700}, {"home-upper", 0700},
		{"home-work", 0700}, {"tmp", 01777}, {"var-tmp", 01777},
	};
	AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
	struct session_root *root;
	struct meta meta;
	size_t i;

	if (meta_get(project_fd, "", &meta) < 0)
		return fail_errno(err, "%s", text_quote(project));
	if (make_session_id(runs_fd, s.id, err) < 0)
		return -err->num;
	s.fd = fd_open_dir_path(runs_fd, s.id);
	if (s.fd < 0)
		return fail_errno(err, "run %s", s.id);
	s.lock_fd = take_session_lock(s.fd, LOCK, false, err);
	if (s.lock_fd < 0)
		return err_context(err, "run %s", s.id);
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (make_session_dir(s.fd, dirs[i].name, dirs[i].mode, err) < 0)
			return err_context(err, "run %s", s.id);
	s.state = RUN_NEW;
	s.status = -1;
	root = append_session_root(&s, project);
	root->dev = meta.dev;
	root->ino = meta.ino;
	set_home(&s, home);
	s.command = mem_strdup(command ?: "");
	if (session_store(&s, ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	*ret = s;
	s = (struct session){.fd = -1, .lock_fd = -1};
	return 0;
}

char *session_holders(const struct session *s)
{
	return lock_holders_at(s->fd, LOCK);
}

static int load_locked(int runs_fd, struct session *s, struct err *err)
{
	auto_close int again = -1;
	struct stat now, ours;

	s->lock_fd = take_session_lock(s->fd, LOCK, false, err);
	if (s->lock_fd == -EWOULDBLOCK) {
		auto_free char *holder = session_holders(s);

		return fail(err, EBUSY, "run %s is in use by %s", s->id,
			    holder);
	}
	if (s->lock_fd < 0)
		return -err->num;
	/* Another process may have moved the run to the trash, or closed or
	 * reopened it, before this one got the lock. */
	again = RETRY_ENOENT(open_session_dir(runs_fd, s->id, &s->in_closed));
	if (again < 0 && errno == ENOENT)
		return fail(err, ENOENT, "run %s was removed", s->id);
	if (again < 0 || fstat(s->fd, &ours) < 0 || fstat(again, &now) < 0)
		return fail_errno(err, "run %s", s->id);
	if (now.st_dev != ours.st_dev || now.st_ino != ours.st_ino)
		return fail(err, ENOENT, "run %s was removed", s->id);
	if (session_load(s, err) < 0)
		return -err->num;
	if (s->state == RUN_RUNNING)
		s->state = RUN_INTERRUPTED;
	return 0;
}

/*
 * Loads the record of a session without its lock. State "running" without a
 * lock means an interrupted run, or a run that ended between the two reads. A
 * process saves the new state before it releases the lock, so a second read of
 * the record tells them apart.
 */
static int load_unlocked(struct session *s, struct err *err)
{
	int attempts, locked = 0;

	for (attempts = 0; attempts < 2; attempts++) {
		if (session_load(s, err) < 0)
			return -err->num;
		locked = is_session_locked(s->fd, LOCK, err);
		if (locked < 0)
			return locked;
		if (locked || s->state != RUN_RUNNING)
			break;
	}
	s->live = locked;
	if (!locked && s->state == RUN_RUNNING)
		s->state = RUN_INTERRUPTED;
	return 0;
}

static int open_session_id(int runs_fd, const char *id, bool lock,
			   struct session *ret, struct err *err)
{
	AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
	struct stat st;
	int got;

	(void)snprintf(s.id, sizeof(s.id), "%s", id);
	s.fd = RETRY_ENOENT(open_session_dir(runs_fd, s.id, &s.in_closed));
	if (s.fd < 0 && errno == ENOENT)
		return fail(err, ENOENT, "no such run: %s", s.id);
	if (s.fd < 0 || fstat(s.fd, &st) < 0)
		return fail_errno(err, "run %s", s.id);
	if (st.st_uid != geteuid())
		return fail(err, EPERM, "run %s belongs to another user", s.id);
	got = lock ? load_locked(runs_fd, &s, err) : load_unlocked(&s, err);
	if (got < 0)
		return got;
	/* Errors are ignored here: callers that need the base call
	 * session_base(). */
	(void)session_base(&s, false, &(struct err){0});
	*ret = s;
	s = (struct session){.fd = -1, .lock_fd = -1};
	return 0;
}

/* Finds the id that begins so. Returns the number of such ids; ret_found lists
 * some of them, ret_id is the last one. */
static int find_id(int runs_fd, const char *start, bool closed,
		   char ret_id[static SESSION_ID_LEN + 1],
		   struct buf *ret_found, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;
	int count = 0;

	if (list_session_ids(runs_fd, closed, &list, err) < 0)
		return -err->num;
	for (i = 0; *start && i < list.count; i++) {
		const char *name = list.items[i].name;

		if (strncmp(name, start, strlen(start)) != 0 ||
		    (count && strcmp(ret_id, name) == 0))
			continue;
		if (count++ < LISTED_MAX)
			buf_printf(ret_found, "%s%s",
				   ret_found->len ? ", " : "", name);
		(void)snprintf(ret_id, SESSION_ID_LEN + 1, "%s", name);
	}
	return count;
}

int session_open(int runs_fd, const char *id, bool lock, struct session *ret,
		 struct err *err)
{
	AUTO(buf) struct buf found = {0};
	char whole[SESSION_ID_LEN + 1];
	int got = session_id_ok(id)
			  ? open_session_id(runs_fd, id, lock, ret, err)
			  : -ENOENT;

	if (got != -ENOENT)
		return got;
	got = find_id(runs_fd, id, false, whole, &found, err);
	if (got == 0)
		got = find_id(runs_fd, id, true, whole, &found, err);
	if (got < 0)
		return got;
	if (got == 0)
		return fail(
			err, ENOENT,
			"no such run: %s; `guard status --all` lists all runs",
			text_quote(id));
	if (got > 1)
		return fail(err, EEXIST,
			    "run %s is ambiguous: it could be %s%s",
			    text_quote(id), buf_text(&found),
			    got > LISTED_MAX ? ", ..." : "");
	return open_session_id(runs_fd, whole, lock, ret, err);
}

static int compare_age(const void *left, const void *right)
{
	const struct session *a = left, *b = right;
	int order = timestamp_compare(a->began, b->began);

	return order ? order : strcmp(a->id, b->id);
}

/* Moves a closed run that an earlier version of guard, or a process that was
 * killed, left among the pending ones. */
static void tidy_closed(int runs_fd, const char *id)
{
	AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
	struct err ignored;

	if (open_session_id(runs_fd, id, true, &s, &ignored) == 0 &&
	    !run_state_pending(s.state))
		(void)move_session(&s, true, &ignored);
}

static void note_unread(struct session_list *list, const char *id,
			const struct err *why)
{
	if (why->num == ENOENT)
		return;
	if (!list->unread.num || err_is_exhaustion(why->num))
		list->unread = *why;
	if (session_id_time(id) > list->unread_time)
		list->unread_time = session_id_time(id);
}

/* pending: a closed session is moved to its place instead. Returns whether the
 * session was read. */
static bool add_listed(int runs_fd, const char *id, bool pending,
		       struct session_list *list)
{
	AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
	struct err why;

	if (open_session_id(runs_fd, id, false, &s, &why) < 0) {
		note_unread(list, id, &why);
		return false;
	}
	if (pending && !run_state_pending(s.state)) {
		tidy_closed(runs_fd, id);
		return true;
	}
	*VEC_ADD(list) = s;
	s = (struct session){.fd = -1, .lock_fd = -1};
	return true;
}

int session_open_damaged(int runs_fd, const char *id, struct session *s,
			 struct err *err)
{
	struct err why;

	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	s->fd = RETRY_ENOENT(open_session_dir(runs_fd, s->id, &s->in_closed));
	if (s->fd < 0)
		return fail_errno(err, "run %s", s->id);
	s->lock_fd = take_session_lock(s->fd, LOCK, false, err);
	if (s->lock_fd < 0)
		return err_context(err, "run %s", s->id);
	return session_load(s, &why) == -EBADMSG;
}

int session_list_damaged(int runs_fd, struct names *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist ids = {0};
	size_t i;

	if (list_session_ids(runs_fd, true, &ids, err) < 0)
		return -err->num;
	for (i = 0; i < ids.count; i++) {
		const char *id = ids.items[i].name;
		AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
		struct err why;

		if ((!i || strcmp(id, ids.items[i - 1].name) != 0) &&
		    open_session_id(runs_fd, id, false, &s, &why) == -EBADMSG)
			names_add(ret, id);
	}
	return 0;
}

int session_list(int runs_fd, bool live, struct session_list *ret,
		 struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(dirlist) struct dirlist names = {0};
	size_t i;

	/* A closed session is never live, but for the moment in which another
	 * process changes its state. */
	if (list_session_ids(runs_fd, !live, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *id = names.items[i].name;
		auto_free char *lock = path_join(id, LOCK);
		struct err ignored;

		/* A quick test before the record is read: most runs are not
		 * live. */
		if ((!i || strcmp(id, names.items[i - 1].name) != 0) &&
		    !(live && is_session_locked(runs_fd, lock, &ignored) == 0))
			(void)add_listed(runs_fd, id, false, &list);
	}
	if (err_is_exhaustion(list.unread.num)) {
		*err = list.unread;
		return -err->num;
	}
	VEC_SORT(&list, compare_age);
	*ret = list;
	list = (struct session_list){0};
	return 0;
}

/* The lines of the index for the runs in runs/: of the old one, or from the
 * runs that it does not have. */
static int make_pending_index(int runs_fd, const struct record *old,
			      struct timestamp seen, struct record *ret,
			      struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	AUTO(session_list) struct session_list fresh = {0};
	bool complete = true;
	size_t at = 0, i, k;

	if (list_session_ids(runs_fd, false, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *id = names.items[i].name;
		const struct session *s;
		size_t before = ret->count, count = fresh.count;

		while (at < old->count && strcmp(old->items[at].key, id) < 0)
			at++;
		for (; at < old->count && strcmp(old->items[at].key, id) == 0;
		     at++)
			record_add(ret, id, old->items[at].value);
		if (ret->count > before)
			continue;
		/* One without a record, or new, gets roots yet. */
		if (!add_listed(runs_fd, id, true, &fresh)) {
			record_add(ret, id, "/");
			complete = false;
		} else if (fresh.count == count) {
			/* A closed run: the next list moves it if this one
			 * could not. */
			complete = false;
		} else {
			s = &fresh.items[count];
			complete = complete && s->state != RUN_NEW;
			for (k = 0; k < s->root_count; k++)
				record_add(ret, id, s->roots[k].path);
		}
	}
	if (complete)
		pending_index_save(runs_fd, ret, seen);
	return 0;
}

int session_list_pending(int runs_fd, const char *here,
			 struct session_list *ret, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(record) struct record old = {0}, made = {0};
	const struct record *index = &old;
	struct timestamp seen;
	size_t i, next;

	if (!pending_index_load(runs_fd, &old, &seen)) {
		if (make_pending_index(runs_fd, &old, seen, &made, err) < 0)
			return -err->num;
		index = &made;
	}
	for (i = 0; i < index->count; i = next) {
		const char *id = index->items[i].key;
		bool wanted = !here;

		for (next = i; next < index->count &&
			       strcmp(index->items[next].key, id) == 0;
		     next++)
			wanted = wanted ||
				 path_below(here, index->items[next].value);
		if (wanted)
			(void)add_listed(runs_fd, id, true, &list);
		else
			list.elsewhere++;
	}
	if (err_is_exhaustion(list.unread.num)) {
		*err = list.unread;
		return -err->num;
	}
	VEC_SORT(&list, compare_age);
	*ret = list;
	list = (struct session_list){0};
	return 0;
}

int session_lock_base(const struct session *s, struct err *err)
{
	int locked = is_session_locked(s->fd, BASE_LOCK, err);

	if (locked < 0)
		return locked;
	if (locked)
		return fail(err, EBUSY,
			    "the snapshot before run %s is still being taken: "
			    "try again when it has ended",
			    s->id);
	/* Waits, because processes that wait for the base hold the lock for a
	 * short time. */
	return take_session_lock(s->fd, BASE_LOCK, true, err);
}

/* Gives the record its name, or the second name, if that is taken. */
static int publish_first(int run_fd, const char *temp, struct err *err)
{
	int got = linkat(run_fd, temp, run_fd, BASE, 0) < 0 ? -errno : 0;

	if (got != -EEXIST || renameat(run_fd, temp, run_fd, WHOLE) < 0)
		(void)unlinkat(run_fd, temp, 0);
	errno = -got;
	return got < 0 ? fail_errno(err, "write the base of the run") : 0;
}

int session_write_base(const struct session *s, uint64_t seq, const char *error,
		       bool first, struct err *err)
{
	AUTO(record) struct record r = {0};
	auto_free char *temp = mem_printf(BASE "-%d", (int)getpid());
	size_t i;

	record_set_int(&r, "snapshot", (int64_t)seq);
	for (i = 1; i < s->root_count; i++) {
		auto_free char *number =
			mem_printf("%" PRIu64, s->roots[i].base);

		record_add(&r, "extra", number);
	}
	for (i = 0; i < s->root_count; i++) {
		auto_free char *late = mem_printf("%zu %" PRIu32, i, s->times);

		if (s->roots[i].late)
			record_add(&r, LATE, late);
	}
	record_set(&r, "error", error);
	if (record_save(s->fd, first ? temp : BASE, BASE_KIND, BASE_VERSION, &r,
			ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	return first ? publish_first(s->fd, temp, err) : 0;
}

bool session_base_pending(const struct session *s)
{
	struct err ignored;

	return is_session_locked(s->fd, BASE_LOCK, &ignored) == 1;
}

/* A late base does not hold the paths that a later start of the run changes. */
static void load_late(struct session *s, const struct record *r)
{
	const char *value;
	uint32_t times;
	size_t index, i;

	for (i = 0; (value = record_get_nth(r, LATE, i)); i++) {
		if (sscanf(value, "%zu %" SCNu32, &index, &times) != 2 ||
		    index >= s->root_count)
			continue;
		s->roots[index].late = times == s->times && !s->live;
		if (!s->roots[index].late)
			s->roots[index].base = 0;
	}
}

static void add_number(struct record *r, const char *key, size_t index,
		       uint64_t seq)
{
	auto_free char *value = mem_printf("%zu %" PRIu64, index, seq);

	if (seq)
		record_add(r, key, value);
}

int session_put_applied(const struct session *s, struct atomic_set *to,
			struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t i;

	for (i = 0; i <= s->root_count; i++) {
		add_number(&r, ROOT, i, s->roots[i].applied);
		add_number(&r, LEFT, i, s->roots[i].left);
	}
	add_number(&r, HOME, s->times, s->roots[s->root_count].base);
	return to ? record_put(s->fd, APPLIED, APPLIED, APPLIED_VERSION, &r, to,
			       err)
		  : record_save(s->fd, APPLIED, APPLIED, APPLIED_VERSION, &r,
				ATOMIC_DURABLE, err);
}

bool session_has_applied(const struct session *s)
{
	bool any = false;
	size_t i;

	for (i = 0; i <= s->root_count; i++)
		any |= s->roots[i].applied || s->roots[i].left;
	return any;
}

/* The number that the record has for the index; 0: none. */
static uint64_t get_number(const struct record *r, const char *key,
			   size_t index)
{
	const char *value;
	uint64_t seq, found = 0;
	size_t at, i;

	for (i = 0; (value = record_get_nth(r, key, i)); i++)
		if (sscanf(value, "%zu %" SCNu64, &at, &seq) == 2 &&
		    at == index)
			found = seq;
	return found;
}

static int load_applied(struct session *s, struct err *err)
{
	AUTO(record) struct record r = {0};
	struct session_root *home;
	size_t i;
	int got =
		record_load(s->fd, APPLIED, APPLIED, APPLIED_VERSION, &r, err);

	/* A damaged record: applied changes are compared with the base, too. */
	if (got < 0 && got != -ENOENT && got != -EBADMSG)
		return err_context(err, "run %s", s->id);
	for (i = 0; i <= s->root_count; i++) {
		s->roots[i].applied = get_number(&r, ROOT, i);
		s->roots[i].left = get_number(&r, LEFT, i);
	}
	/* Always late: another start of the run may change further paths. */
	home = &s->roots[s->root_count];
	home->base = get_number(&r, HOME, s->times);
	home->late = home->base != 0;
	return 0;
}

static int load_base(struct session *s, const char *name, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *error, *number;
	uint64_t seq;
	size_t i;
	int got;

	got = record_load(s->fd, name, BASE_KIND, BASE_VERSION, &r, err);
	/* A damaged record: a snapshot of the changed paths replaces the
	 * base, as for a directory that was not stored. */
	if (got == -ENOENT || got == -EBADMSG)
		return 0;
	if (got < 0)
		return err_context(err, "run %s", s->id);
	error = record_get(&r, "error");
	if (error)
		return fail(err, ENODATA, "%s", error);
	seq = (uint64_t)record_get_int(&r, "snapshot");
	for (i = 0; i < s->root_count; i++) {
		number = i ? record_get_nth(&r, "extra", i - 1) : NULL;
		s->roots[i].base = !i	    ? seq
				   : number ? strtoull(number, NULL, 10)
					    : 0;
		s->roots[i].late = false;
	}
	load_late(s, &r);
	seq = s->root_count ? s->roots[0].base : seq;
	return seq > INT_MAX ? INT_MAX : (int)seq;
}

/* The snapshot of the whole directory may go on beside a late base. */
static bool lacks_base(const struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (!s->roots[i].base)
			return true;
	return !s->root_count;
}

int session_base(struct session *s, bool wait, struct err *err)
{
	auto_close int lock = -1;
	struct err ignored;

	/* Shared, and held until this function returns, so that all waiting
	 * processes continue together. */
	if (wait && (load_base(s, BASE, &ignored) <= 0 || lacks_base(s))) {
		lock = lock_take(s->fd, BASE_LOCK, false, true, err);
		if (lock < 0)
			return lock;
	}
	return load_applied(s, err) < 0 ? -err->num : load_base(s, BASE, err);
}

int session_base_whole(struct session *s, struct err *err)
{
	auto_close int lock = lock_take(s->fd, BASE_LOCK, false, true, err);
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		s->roots[i].base = 0;
		s->roots[i].late = false;
	}
	return lock < 0 ? lock : load_base(s, WHOLE, err);
}

int session_each_snapshot(int run_fd, void (*each)(void *arg, uint64_t seq),
			  void *arg, struct err *err)
{
	static const struct {
		const char *file, *kind, *key;
		int blanks; /* before the number */
	} all[] = {
		{"record", RECORD_KIND, "result", 0},
		{"record", RECORD_KIND, "home-result", 0},
		{"record", RECORD_KIND, "extra", 2},
		{BASE, BASE_KIND, "snapshot", 0},
		{BASE, BASE_KIND, "extra", 0},
		{WHOLE, BASE_KIND, "snapshot", 0},
		{WHOLE, BASE_KIND, "extra", 0},
		{APPLIED, APPLIED, ROOT, 1},
		{APPLIED, APPLIED, LEFT, 1},
		{APPLIED, APPLIED, HOME, 1},
	};
	size_t i, n;
	int skip;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		AUTO(record) struct record r = {0};
		int got = record_load(run_fd, all[i].file, all[i].kind,
				      RECORD_VERSION, &r, err);
		const char *value;

		if (got < 0 && got != -ENOENT && got != -EBADMSG)
			return got;
		for (n = 0; (value = record_get_nth(&r, all[i].key, n)); n++) {
			for (skip = all[i].blanks; skip; skip--)
				value += strcspn(value, " ") + (*value != 0);
			each(arg, strtoull(value, NULL, 10));
		}
	}
	return 0;
}

/* Seconds by which the wall clock is ahead of the time since boot. A value
 * smaller than before means that the clock was set back. */
static int64_t clock_ahead(void)
{
	struct timespec now = {0}, up = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	return now.tv_sec - up.tv_sec;
}

void session_note_clock(struct session *s)
{
	auto_free char *text =
		mem_printf("%s %" PRId64, boot_id(), clock_ahead());

	record_set(&s->more, CLOCK, text);
}

struct timestamp session_began(const struct session *s)
{
	const char *text = record_get(&s->more, CLOCK);
	size_t len = strlen(boot_id());
	struct timestamp began = s->began;
	int64_t back;

	if (text && len && strncmp(text, boot_id(), len) == 0) {
		back = strtoll(text + len, NULL, 10) - clock_ahead();
		/* Each number is rounded, and may be off by one second. */
		began.sec -= back > 1 ? back + 1 : 0;
	} else if (timestamp_compare(timestamp_now(), began) < 0) {
		began = (struct timestamp){.sec = 1};
	}
	return began;
}
