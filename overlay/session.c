#include "overlay/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "overlay/session_base.h"
#include "overlay/session_private.h"

/* The record's key of the name; an older guard saves it unchanged. */
#define NAME "name"
/* Key: the boot id at the first start, and clock_ahead() at that time. */
#define CLOCK "clock"
/* Directory beside the other runs, for those that are applied or discarded:
 * a list of the pending runs does not read it. */
#define CLOSED "closed"
#define LISTED_MAX 8
#define ID_TRIES 24
/* The kernel writes a file that is not synced after 30 seconds
 * (vm.dirty_expire_centisecs), and looks for them every 5 seconds. */
#define WRITEBACK_SECONDS 35

int session_move(struct session *s, bool closed, struct err *err)
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

	if (run_state_pending(state) && session_move(s, false, err) < 0)
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
		(void)session_move(s, true, &ignored);
	return got;
}

void session_free(struct session *s)
{
	if (s->fd > 0)
		(void)close(s->fd);
	lock_release(&s->lock_fd);
	session_free_record(s);
	*s = SESSION_NONE;
}

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

static int make_session_dir(int fd, const char *name, mode_t mode,
			    struct err *err)
{
	mode_t mask = umask(0);
	int made = mkdirat(fd, name, mode);

	(void)umask(mask);
	return made < 0 ? fail_errno(err, "create directory %s", name) : 0;
}

size_t session_root_of(const struct session *s, const char *path)
{
	size_t best = s->root_count, i;

	for (i = 0; i < s->root_count; i++)
		if (path_below(path, s->roots[i].path) &&
		    (best == s->root_count ||
		     strlen(s->roots[i].path) > strlen(s->roots[best].path)))
			best = i;
	return best;
}

bool session_has_root(const struct session *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (strcmp(s->roots[i].path, path) == 0)
			return true;
	return false;
}

char *session_root_dir(size_t index, const char *what)
{
	return index ? mem_printf("%s-%zu", what, index) : mem_strdup(what);
}

bool session_root_replaced(const struct session_root *root)
{
	struct dir_identity now;
	struct meta meta;

	if (meta_get(AT_FDCWD, root->path, &meta) < 0 || !S_ISDIR(meta.mode))
		return false;
	now = meta_identity(&meta);
	return meta_identity_other(&now, &root->dir);
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
	root = session_append_root(s, path);
	root->dev = meta.dev;
	root->dir = meta_identity(&meta);
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

int session_list_ids(int runs_fd, bool closed, struct dirlist *ret,
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

	if (session_list_ids(runs_fd, false, &runs, err) < 0)
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
	AUTO(session) struct session s = SESSION_NONE;
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
	s.lock_fd = lock_take_visible(s.fd, SESSION_LOCK, false, err);
	if (s.lock_fd < 0)
		return err_context(err, "run %s", s.id);
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		if (make_session_dir(s.fd, dirs[i].name, dirs[i].mode, err) < 0)
			return err_context(err, "run %s", s.id);
	s.state = RUN_NEW;
	s.status = -1;
	root = session_append_root(&s, project);
	root->dev = meta.dev;
	root->dir = meta_identity(&meta);
	s.home = mem_strdup(home ?: "");
	s.roots[1].path = s.home;
	s.command = mem_strdup(command ?: "");
	if (session_store(&s, ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	*ret = s;
	s = SESSION_NONE;
	return 0;
}

char *session_holders(const struct session *s)
{
	return lock_holders_at(s->fd, SESSION_LOCK);
}

static int load_locked(int runs_fd, struct session *s, struct err *err)
{
	auto_close int again = -1;
	struct stat now, ours;

	s->lock_fd = lock_take_visible(s->fd, SESSION_LOCK, false, err);
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
		locked = lock_is_held(s->fd, SESSION_LOCK, err);
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

int session_open_id(int runs_fd, const char *id, bool lock, struct session *ret,
		    struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
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
	s = SESSION_NONE;
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

	if (session_list_ids(runs_fd, closed, &list, err) < 0)
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
			  ? session_open_id(runs_fd, id, lock, ret, err)
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
	return session_open_id(runs_fd, whole, lock, ret, err);
}

int session_open_damaged(int runs_fd, const char *id, struct session *s,
			 struct err *err)
{
	struct err why;

	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	s->fd = RETRY_ENOENT(open_session_dir(runs_fd, s->id, &s->in_closed));
	if (s->fd < 0)
		return fail_errno(err, "run %s", s->id);
	s->lock_fd = lock_take_visible(s->fd, SESSION_LOCK, false, err);
	if (s->lock_fd < 0)
		return err_context(err, "run %s", s->id);
	return session_load(s, &why) == -EBADMSG;
}

/* Seconds by which the wall clock is ahead of the time since boot. A value
 * smaller than before means that the clock was set back. */
static int64_t clock_ahead(void)
{
	return timestamp_now().sec - timestamp_boot_ns() / TIMESTAMP_NS;
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

bool session_is_stored(const struct session *s)
{
	const char *stored = record_get(&s->more, SESSION_STORED);
	bool any = false;
	size_t i;

	if ((s->state != RUN_ENDED && s->state != RUN_APPLYING &&
	     s->state != RUN_APPLIED) ||
	    s->live || !stored || strcmp(stored, "1") != 0)
		return false;
	for (i = 0; i <= s->root_count; i++) {
		if (s->roots[i].result && !s->roots[i].base)
			return false;
		any |= s->roots[i].result != 0;
	}
	return any;
}
