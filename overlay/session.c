#include "overlay/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/session_id.h"
#include "overlay/session_record.h"

/* Key: the boot id at the first start, and boot_clock() at that time. */
#define CLOCK "clock"

#define BASE_KIND "base"
#define VERSION 1
#define LOCK "lock"
#define BASE_LOCK "base.lock"
#define LISTED_MAX 8
#define ID_TRIES 200

void session_free(struct session *s)
{
	if (s->fd > 0)
		(void)close(s->fd);
	if (s->lock_fd > 0)
		(void)close(s->lock_fd);
	free(s->home);
	free(s->command);
	session_free_roots(s);
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
		return fail_errno(err, "look at lock %s", text_quote(name));
	return whole.l_type != F_UNLCK;
}

static int make_session_dir(int fd, const char *name, mode_t mode,
			    struct err *err)
{
	mode_t mask = umask(0);
	int made = mkdirat(fd, name, mode);

	(void)umask(mask);
	return made < 0 ? fail_errno(err, "make folder %s", name) : 0;
}

static int make_session_dirs(int fd, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {
		{"upper", 0700},     {"work", 0700}, {"home-upper", 0700},
		{"home-work", 0700}, {"tmp", 01777}, {"var-tmp", 01777},
	};
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		if (make_session_dir(fd, dirs[i].name, dirs[i].mode, err) < 0)
			return -err->num;
	return 0;
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
	root = session_append_root(s, path);
	root->dev = meta.dev;
	root->ino = meta.ino;
	return 0;
}

/* mkdir(2) decides which process gets an id. After EEXIST the next try uses a
 * later time. */
static int make_session_id(int runs_fd, char *id, struct err *err)
{
	struct timespec tick = {.tv_nsec = 1000000};
	int tries;

	for (tries = 0; tries < ID_TRIES; tries++) {
		session_id_make(timestamp_now(), id);
		if (mkdirat(runs_fd, id, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return fail_errno(err, "make the folder of a run");
		(void)nanosleep(&tick, NULL);
	}
	return fail(err, EEXIST, "no free name for a run");
}

int session_create(int runs_fd, const char *project, int project_fd,
		   const char *home, const char *command, struct session *ret,
		   struct err *err)
{
	AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
	struct session_root *root;
	struct meta meta;

	if (meta_get(project_fd, "", &meta) < 0)
		return fail_errno(err, "%s", text_quote(project));
	if (make_session_id(runs_fd, s.id, err) < 0)
		return -err->num;
	s.fd = fd_open_dir_path(runs_fd, s.id);
	if (s.fd < 0)
		return fail_errno(err, "run %s", s.id);
	s.lock_fd = take_session_lock(s.fd, LOCK, false, err);
	if (s.lock_fd < 0 || make_session_dirs(s.fd, err) < 0)
		return err_context(err, "run %s", s.id);
	s.state = RUN_NEW;
	s.status = -1;
	root = session_append_root(&s, project);
	root->dev = meta.dev;
	root->ino = meta.ino;
	s.home = mem_strdup(home ?: "");
	s.command = mem_strdup(command ?: "");
	if (session_store(&s, ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	*ret = s;
	s = (struct session){.fd = -1, .lock_fd = -1};
	return 0;
}

/* Finds the id that begins with text. -EEXIST: several, listed in the error
 * text. */
static int find_session_id(int runs_fd, const char *text, char *ret,
			   struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf found = {0};
	auto_close int dir =
		openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t count = 0, i;

	if (dir < 0)
		return fail_errno(err, "open the folder of runs");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; *text && i < list.count; i++) {
		const char *name = list.items[i].name;

		if (!session_id_ok(name) ||
		    strncmp(name, text, strlen(text)) != 0)
			continue;
		if (count++ < LISTED_MAX)
			buf_printf(&found, "%s%s", found.len ? ", " : "", name);
		memcpy(ret, name, SESSION_ID_LEN + 1);
	}
	if (count == 0)
		return fail(err, ENOENT,
			    "there is no run %s: `guard status --all` shows "
			    "those there are",
			    text_quote(text));
	if (count > 1)
		return fail(err, EEXIST, "run %s could be %s%s",
			    text_quote(text), buf_text(&found),
			    count > LISTED_MAX ? ", ..." : "");
	return 0;
}

static int open_session_dir(int runs_fd, struct session *s, struct err *err)
{
	struct stat st;

	s->fd = RETRY_ENOENT(fd_open_dir_path(runs_fd, s->id));
	if (s->fd < 0 && errno == ENOENT)
		return fail(err, ENOENT, "there is no run %s", s->id);
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return fail_errno(err, "run %s", s->id);
	if (st.st_uid != geteuid())
		return fail(err, EPERM, "run %s belongs to another user",
			    s->id);
	return 0;
}

/* Another process may have moved the run to the trash before this one got the
 * lock. */
static int check_session_exists(int runs_fd, const struct session *s,
				struct err *err)
{
	struct stat now, ours;

	if (fstat(s->fd, &ours) < 0)
		return fail_errno(err, "run %s", s->id);
	if (RETRY_ENOENT(fstatat(runs_fd, s->id, &now, AT_SYMLINK_NOFOLLOW)) ==
	    0) {
		if (now.st_dev == ours.st_dev && now.st_ino == ours.st_ino)
			return 0;
	} else if (errno != ENOENT) {
		return fail_errno(err, "run %s", s->id);
	}
	return fail(err, ENOENT, "there is no run %s any more", s->id);
}

static int load_locked(int runs_fd, struct session *s, struct err *err)
{
	s->lock_fd = take_session_lock(s->fd, LOCK, false, err);
	if (s->lock_fd == -EWOULDBLOCK)
		return fail(err, EBUSY, "run %s is in use by another guard",
			    s->id);
	if (s->lock_fd < 0 || check_session_exists(runs_fd, s, err) < 0 ||
	    session_load(s, err) < 0)
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
	int got;

	memcpy(s.id, id, SESSION_ID_LEN + 1);
	if (open_session_dir(runs_fd, &s, err) < 0)
		return -err->num;
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

int session_open(int runs_fd, const char *id, bool lock, struct session *ret,
		 struct err *err)
{
	char whole[SESSION_ID_LEN + 1];

	if (find_session_id(runs_fd, id, whole, err) < 0)
		return -err->num;
	return open_session_id(runs_fd, whole, lock, ret, err);
}

/* A quick test before the record is read: most runs are not live. */
static bool is_session_unlocked(int runs_fd, const char *id)
{
	auto_free char *lock = path_join(id, LOCK);
	struct err ignored;

	return is_session_locked(runs_fd, lock, &ignored) == 0;
}

int session_list(int runs_fd, bool live, struct session_list *ret,
		 struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(dirlist) struct dirlist names = {0};
	auto_close int dir =
		openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	if (dir < 0)
		return fail_errno(err, "open the folder of runs");
	if (dirlist_read(dir, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		AUTO(session) struct session s = {.fd = -1, .lock_fd = -1};
		struct err inner_err;

		if (!session_id_ok(names.items[i].name) ||
		    (live && is_session_unlocked(runs_fd, names.items[i].name)))
			continue;
		if (open_session_id(runs_fd, names.items[i].name, false, &s,
				    &inner_err) < 0) {
			if (inner_err.num != ENOENT && !list.unread.num)
				list.unread = inner_err;
			continue;
		}
		GROW(list.items, list.count, list.capacity);
		list.items[list.count++] = s;
		s = (struct session){.fd = -1, .lock_fd = -1};
	}
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
			    "the snapshot before run %s is being taken", s->id);
	/* Waits, because processes that wait for the base hold the lock for a
	 * short time. */
	return take_session_lock(s->fd, BASE_LOCK, true, err);
}

int session_write_base(const struct session *s, uint64_t seq, const char *error,
		       struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t i;

	record_set_int(&r, "snapshot", (int64_t)seq);
	for (i = 1; i < s->root_count; i++) {
		auto_free char *number =
			mem_printf("%" PRIu64, s->roots[i].base);

		record_add(&r, "extra", number);
	}
	record_set(&r, "error", error);
	return record_save(s->fd, "base", BASE_KIND, VERSION, &r,
			   ATOMIC_NO_SYNC, err);
}

int session_base(struct session *s, bool wait, struct err *err)
{
	AUTO(record) struct record r = {0};
	auto_close int lock = -1;
	const char *error, *number;
	uint64_t seq;
	size_t i;
	int got;

	/* Shared, and held until this function returns, so that all waiting
	 * processes continue together. */
	if (wait) {
		lock = lock_take(s->fd, BASE_LOCK, false, true, err);
		if (lock < 0)
			return lock;
	}
	got = record_load(s->fd, "base", BASE_KIND, VERSION, &r, err);
	if (got == -ENOENT)
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
	}
	return seq > INT_MAX ? INT_MAX : (int)seq;
}

void session_note_clock(struct session *s)
{
	auto_free char *text =
		mem_printf("%s %" PRId64, boot_id(), boot_clock());

	record_set(&s->more, CLOCK, text);
}

struct timestamp session_began(const struct session *s)
{
	const char *text = record_get(&s->more, CLOCK);
	size_t len = strlen(boot_id());
	struct timestamp began = s->began;
	int64_t back;

	if (text && len && strncmp(text, boot_id(), len) == 0) {
		back = strtoll(text + len, NULL, 10) - boot_clock();
		/* Each number is rounded, and may be off by one second. */
		began.sec -= back > 1 ? back + 1 : 0;
	} else if (timestamp_compare(timestamp_now(), began) < 0) {
		began = (struct timestamp){.sec = 1};
	}
	return began;
}
