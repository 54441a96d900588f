#include "overlay/session_base.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/lock.h"
#include "base/mem.h"
#include "overlay/session_private.h"

#define BASE "base"
#define WHOLE "base-whole"
#define BASE_KIND "base"
#define BASE_LOCK "base.lock"
#define VERSION 1
/* = index of the root " " session.times */
#define LATE "late"
/* = index of the root " " number of a snapshot */
#define ROOT "root"
#define LEFT "left"
/* = session.times " " number of the late base */
#define HOME "home-base"

static void add_root_number(struct record *r, const char *key, size_t index,
			    uint64_t seq)
{
	auto_free char *value = mem_printf("%zu %" PRIu64, index, seq);

	if (seq)
		record_add(r, key, value);
}

/* The number that the record has for the index; 0: none. */
static uint64_t get_root_number(const struct record *r, const char *key,
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

int session_lock_base(const struct session *s, struct err *err)
{
	int locked = lock_is_held(s->fd, BASE_LOCK, err);

	if (locked < 0)
		return locked;
	if (locked)
		return fail(err, EBUSY,
			    "the snapshot before run %s is still being taken: "
			    "try again when it has ended",
			    s->id);
	/* Waits, because processes that wait for the base hold the lock for a
	 * short time. */
	return lock_take_visible(s->fd, BASE_LOCK, true, err);
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
	for (i = 0; i < s->root_count; i++)
		add_root_number(&r, LATE, i, s->roots[i].late ? s->times : 0);
	record_set(&r, "error", error);
	if (record_save(s->fd, first ? temp : BASE, BASE_KIND, VERSION, &r,
			ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	return first ? publish_first(s->fd, temp, err) : 0;
}

bool session_base_pending(const struct session *s)
{
	struct err ignored;

	return lock_is_held(s->fd, BASE_LOCK, &ignored) == 1;
}

int session_put_applied(const struct session *s, struct atomic_set *to,
			struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t i;

	for (i = 0; i <= s->root_count; i++) {
		add_root_number(&r, ROOT, i, s->roots[i].applied);
		add_root_number(&r, LEFT, i, s->roots[i].left);
	}
	add_root_number(&r, HOME, s->times, s->roots[s->root_count].base);
	return to ? record_put(s->fd, SESSION_APPLIED, SESSION_APPLIED, VERSION,
			       &r, to, err)
		  : record_save(s->fd, SESSION_APPLIED, SESSION_APPLIED,
				VERSION, &r, ATOMIC_DURABLE, err);
}

bool session_has_applied(const struct session *s)
{
	bool any = false;
	size_t i;

	for (i = 0; i <= s->root_count; i++)
		any |= s->roots[i].applied || s->roots[i].left;
	return any;
}

static int load_applied(struct session *s, struct err *err)
{
	AUTO(record) struct record r = {0};
	struct session_root *home;
	size_t i;
	int got = record_load(s->fd, SESSION_APPLIED, SESSION_APPLIED, VERSION,
			      &r, err);

	/* A damaged record: applied changes are compared with the base, too. */
	if (got < 0 && got != -ENOENT && got != -EBADMSG)
		return err_context(err, "run %s", s->id);
	for (i = 0; i <= s->root_count; i++) {
		s->roots[i].applied = get_root_number(&r, ROOT, i);
		s->roots[i].left = get_root_number(&r, LEFT, i);
	}
	/* Always late: another start of the run may change further paths. */
	home = &s->roots[s->root_count];
	home->base = get_root_number(&r, HOME, s->times);
	home->late = home->base != 0;
	return 0;
}

static int load_base(struct session *s, const char *name, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *error, *number;
	size_t i;
	int got;

	got = record_load(s->fd, name, BASE_KIND, VERSION, &r, err);
	/* A damaged record: a snapshot of the changed paths replaces the
	 * base, as for a directory that was not stored. */
	if (got == -ENOENT || got == -EBADMSG)
		return 0;
	if (got < 0)
		return err_context(err, "run %s", s->id);
	error = record_get(&r, "error");
	if (error)
		return fail(err, ENODATA, "%s", error);
	for (i = 0; i < s->root_count; i++) {
		struct session_root *root = &s->roots[i];
		uint64_t times = get_root_number(&r, LATE, i);

		number = i ? record_get_nth(&r, "extra", i - 1)
			   : record_get(&r, "snapshot");
		root->base = number ? strtoull(number, NULL, 10) : 0;
		/* A late base does not hold the paths that a later start of
		 * the run changes. */
		root->late = times && times == s->times && !s->live;
		if (times && !root->late)
			root->base = 0;
	}
	return s->roots[0].base > INT_MAX ? INT_MAX : (int)s->roots[0].base;
}

/* The snapshot of the whole directory may go on beside a late base. */
static bool lacks_base(const struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (!s->roots[i].base)
			return true;
	return false;
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
		{SESSION_RECORD, "run", "result", 0},
		{SESSION_RECORD, "run", "home-result", 0},
		{SESSION_RECORD, "run", "extra", 2},
		{BASE, BASE_KIND, "snapshot", 0},
		{BASE, BASE_KIND, "extra", 0},
		{WHOLE, BASE_KIND, "snapshot", 0},
		{WHOLE, BASE_KIND, "extra", 0},
		{SESSION_APPLIED, SESSION_APPLIED, ROOT, 1},
		{SESSION_APPLIED, SESSION_APPLIED, LEFT, 1},
		{SESSION_APPLIED, SESSION_APPLIED, HOME, 1},
		{SESSION_TIMELINE_DIR "/" SESSION_TIMELINE,
		 SESSION_TIMELINE_DIR, SESSION_TIMELINE_KEY, 0},
	};
	size_t i, n;
	int skip;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		AUTO(record) struct record r = {0};
		int got = record_load(run_fd, all[i].file, all[i].kind,
				      SESSION_RECORD_VERSION, &r, err);
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
