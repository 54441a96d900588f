#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/copybytes.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/timeline/worker_private.h"
#include "overlay/whiteout.h"

/* A run waits for the copy of a file up to this size; of a larger one only
 * where the file system shares the blocks. */
#define WAIT_MAX ((uint64_t)16 << 20)
/* Files that stay open for writing are looked at that often, and copies of
 * them take this part of the time. */
#define OPEN_MIN_MS 100
#define OPEN_MAX_MS 2000
#define SAMPLE_SHARE 20
/* A path with so many versions in so long a time rests longer from then on. */
#define STORM_COUNT 20
#define STORM_MS 10000
#define STORM_REST_MS 30000
/* Beyond the limit of descriptors copies are made for so long each time. */
#define DROP_MS 25
#define DROP_EVERY_MS 100
#define PART ".part"

void worker_hold_move(struct worker *w, struct worker_file *f,
		      enum worker_state state)
{
	TAILQ_REMOVE(&w->lists[f->state], f, entry);
	f->state = state;
	TAILQ_INSERT_TAIL(&w->lists[state], f, entry);
}

static struct worker_storm *storm_of(struct worker *w, uint64_t path)
{
	return &w->storms[path % (sizeof(w->storms) / sizeof(*w->storms))];
}

static int64_t rest_of(struct worker *w, const struct worker_file *f)
{
	const struct worker_storm *s = storm_of(w, f->path);

	return s->path == f->path && s->rest_ms ? s->rest_ms
						: w->options->rest_ms;
}

/* A copy was made. */
static void count_storm(struct worker *w, const struct worker_file *f)
{
	struct worker_storm *s = storm_of(w, f->path);
	int64_t now = timestamp_monotonic_ms();
	int64_t span = STORM_MS + 4 * s->rest_ms;

	if (now > s->began + span) {
		/* Another path takes the place; the same one calms down. */
		*s = (struct worker_storm){
			.path = f->path,
			.began = now,
			.rest_ms = s->path == f->path && s->count > 1
					   ? s->rest_ms / 2
					   : 0};
	}
	if (s->path != f->path || ++s->count < STORM_COUNT)
		return;
	if (!s->rest_ms)
		worker_note(w, TIMELINE_THINNED, f,
			    "rewritten very often: only versions that stood "
			    "longer are kept");
	s->rest_ms = 2 * rest_of(w, f);
	if (s->rest_ms > STORM_REST_MS)
		s->rest_ms = STORM_REST_MS;
	s->began = now;
	s->count = 0;
}

void worker_hold_wait(struct worker *w, struct worker_file *f)
{
	struct timestamp now = timestamp_now();
	int64_t age = (now.sec - f->meta.ctime.sec) * 1000 +
		      ((int64_t)now.nsec - f->meta.ctime.nsec) / 1000000;

	/* The change is not older than the last tick, unless the clock was
	 * set. */
	age = age < 0 || !f->meta.ctime.sec ? 0
	      : age > WORKER_TICK_MS	    ? WORKER_TICK_MS
					    : age;
	f->changed = timestamp_monotonic_ms() - age;
	f->due = f->changed + rest_of(w, f);
	/* In its place: a loop over the list ends. */
	if (f->state != FILE_WAITING)
		worker_hold_move(w, f, FILE_WAITING);
}

void worker_hold_event(struct worker *w, struct worker_file *f)
{
	f->due = f->changed + rest_of(w, f);
}

/* --- copies --- */

enum keep_why { KEEP_BROKEN, KEEP_NAMELESS, KEEP_SAMPLE };

struct keep {
	struct worker *w;
	enum keep_why why;
	bool small;
	int64_t deadline;
};

static bool may_copy_on(void *arg)
{
	const struct keep *k = arg;

	if (k->why == KEEP_NAMELESS) {
		worker_breathe(k->w);
		return true;
	}
	(*k->w->options->heartbeat)++;
	return k->small && (k->why == KEEP_SAMPLE ||
			    timestamp_monotonic_ms() < k->deadline);
}

static bool is_as_recorded(const struct worker_file *f)
{
	struct meta m;

	return meta_get(f->fd, "", &m) == 0 && m.size == f->meta.size &&
	       timestamp_compare(m.mtime, f->meta.mtime) == 0;
}

static void copy_xattrs(int from, int to)
{
	AUTO(xattrs) struct xattrs x = {0};
	struct err ignored;

	if (xattrs_get(from, "", &x, &ignored) < 0)
		return;
	(void)xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX);
	if (x.count)
		(void)xattrs_set(to, &x, &ignored);
}

static int copy_to_spool(struct keep *k, const struct worker_file *f,
			 struct err *err)
{
	char name[24], part[32];
	auto_close int to = -1;
	int got;

	(void)snprintf(name, sizeof(name), "%" PRIu64, f->content);
	(void)snprintf(part, sizeof(part), "%s" PART, name);
	to = openat(k->w->spool_fd, part,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (to < 0)
		return fail_errno(err, "create");
	got = copybytes(f->fd, to, (off_t)f->meta.size, may_copy_on, k, err);
	if (got == 0 && k->why == KEEP_SAMPLE && !is_as_recorded(f))
		got = fail(err, EAGAIN, "changed during the copy");
	if (got == 0)
		copy_xattrs(f->fd, to);
	/* The content's record comes first. */
	if (got == 0)
		got = timeline_flush(&k->w->out, err);
	if (got == 0 &&
	    renameat(k->w->spool_fd, part, k->w->spool_fd, name) < 0)
		got = fail_errno(err, "rename");
	if (got < 0)
		(void)unlinkat(k->w->spool_fd, part, 0);
	return got;
}

void worker_hold_count(struct worker *w)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	struct stat st;
	size_t i;

	w->spool_bytes = 0;
	w->spool_counted = timestamp_monotonic_ms();
	if (dirlist_read(w->spool_fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		if (path_ends(list.items[i].name, PART))
			(void)unlinkat(w->spool_fd, list.items[i].name, 0);
		else if (fstatat(w->spool_fd, list.items[i].name, &st,
				 AT_SYMLINK_NOFOLLOW) == 0)
			w->spool_bytes += (uint64_t)st.st_blocks * 512;
	}
}

/* Whether so many bytes more are within the limit. The importer takes files
 * out of the spool. */
static bool spool_has_room(struct worker *w, uint64_t bytes)
{
	if (w->spool_bytes + bytes > w->options->spool_max &&
	    timestamp_monotonic_ms() > w->spool_counted + 1000)
		worker_hold_count(w);
	return w->spool_bytes + bytes <= w->options->spool_max;
}

/* Saves the content. On failure the timeline says why. */
static void keep(struct worker *w, struct worker_file *f, enum keep_why why,
		 int64_t deadline)
{
	struct keep k = {.w = w, .why = why, .deadline = deadline};
	struct stat st;
	struct err err;
	const char *text = NULL;

	if (f->kept || w->disk_full)
		return;
	f->kept = true;
	if (fstat(f->fd, &st) < 0 || !is_as_recorded(f)) {
		text = "truncated by path";
	} else if (!spool_has_room(w, (uint64_t)st.st_blocks * 512)) {
		text = "the versions take too much space";
	} else {
		k.small = (uint64_t)st.st_blocks * 512 <= WAIT_MAX;
		if (copy_to_spool(&k, f, &err) == 0) {
			w->spool_bytes += (uint64_t)st.st_blocks * 512;
			count_storm(w, f);
			if (why == KEEP_SAMPLE)
				worker_note(w, TIMELINE_SAMPLED, f,
					    "open for writing");
			return;
		}
		if (why == KEEP_SAMPLE && err.num == EAGAIN) {
			f->kept = false;
			return;
		}
		text = err.num == EINTR ? "too large to be copied in time"
					: err.text;
	}
	worker_note(w, TIMELINE_GAP, f, text);
}

/* --- holds --- */

static void give_up(struct worker_file *f)
{
	if (!f->leased)
		return;
	(void)fcntl(f->fd, F_SETLEASE, F_UNLCK);
	f->leased = false;
}

static void close_file(struct worker *w, struct worker_file *f)
{
	if (f->fd < 0)
		return;
	give_up(f);
	w->by_fd.items[f->fd] = NULL;
	w->open_count--;
	fd_close(&f->fd);
}

void worker_hold_break(struct worker *w, struct worker_file *f,
		       int64_t deadline)
{
	if (!f->leased)
		return;
	keep(w, f, KEEP_BROKEN, deadline);
	give_up(f);
	if (f->state == FILE_HELD)
		worker_hold_wait(w, f);
}

void worker_hold_check_all(struct worker *w)
{
	size_t i;

	for (i = 0; i < w->by_fd.count; i++) {
		struct worker_file *f = w->by_fd.items[i];

		if (f && f->leased && fcntl(f->fd, F_GETLEASE) != F_RDLCK)
			worker_hold_break(w, f, timestamp_monotonic_ms() + 100);
	}
}

void worker_hold_end(struct worker *w, struct worker_file *f)
{
	if (f->fd >= 0 && f->rested)
		keep(w, f, KEEP_NAMELESS, 0);
	close_file(w, f);
}

/* The oldest hold makes room for a new one; then files that wait. False: the
 * copies have taken their share of the time. */
static bool make_room(struct worker *w, int64_t now)
{
	struct worker_file *f;

	if (w->open_count < w->open_max)
		return true;
	if (now % DROP_EVERY_MS > DROP_MS)
		return false;
	f = TAILQ_FIRST(&w->lists[FILE_HELD]);
	if (f) {
		keep(w, f, KEEP_NAMELESS, 0);
		close_file(w, f);
		worker_hold_move(w, f, FILE_IDLE);
	} else {
		TAILQ_FOREACH(f, &w->lists[FILE_WAITING], entry)
		close_file(w, f);
	}
	return true;
}

static int open_file(struct worker *w, struct worker_file *f)
{
	int fd = worker_mirror_open(w, LIST_FIRST(&f->names), 0);
	struct meta m;

	if (fd < 0)
		return fd;
	if (meta_get(fd, "", &m) < 0 || !S_ISREG(m.mode) || m.ino != f->ino) {
		(void)close(fd);
		return -ESTALE;
	}
	while (w->by_fd.count <= (size_t)fd)
		*VEC_ADD(&w->by_fd) = NULL;
	w->by_fd.items[fd] = f;
	f->fd = fd;
	w->open_count++;
	(void)fcntl(fd, F_SETSIG, WORKER_SIGNAL);
	return 0;
}

/* A file that cannot be held: its content is read where it stands still. */
static void sample(struct worker *w, struct worker_file *f, int64_t now)
{
	int64_t cost;

	if (f->kept || now < w->next_sample)
		return;
	keep(w, f, KEEP_SAMPLE, 0);
	f->rested = f->kept;
	cost = timestamp_monotonic_ms() - now;
	w->next_sample = now + SAMPLE_SHARE * cost;
}

static void try_to_hold(struct worker *w, struct worker_file *f, int64_t now)
{
	int got = f->fd < 0 ? open_file(w, f) : 0;
	bool leased;
	struct meta m;

	if (got == -EACCES) {
		f->rested = f->kept = true;
		worker_note(w, TIMELINE_GAP, f, "not readable");
		worker_hold_move(w, f, FILE_IDLE);
		return;
	}
	f->due = now + OPEN_MAX_MS;
	if (got < 0)
		return;
	leased = fcntl(f->fd, F_SETLEASE, F_RDLCK) == 0;
	got = leased ? 0 : -errno;
	if (meta_get(f->fd, "", &m) < 0)
		return;
	(void)worker_mirror_update(w, f, &m);
	if (!leased && f->changed + rest_of(w, f) > now)
		return; /* changed again */
	if (f->stale)
		worker_mirror_record(w, f);
	if (leased) {
		f->leased = f->rested = true;
		worker_hold_move(w, f, FILE_HELD);
		return;
	}
	sample(w, f, now);
	if (got == -EAGAIN) {
		f->due = now + (now - f->changed) / 2;
		if (f->due < now + OPEN_MIN_MS)
			f->due = now + OPEN_MIN_MS;
		if (f->due > now + OPEN_MAX_MS)
			f->due = now + OPEN_MAX_MS;
		return;
	}
	/* No leases here: fs.leases-enable, or another user's file. */
	if (f->kept) {
		close_file(w, f);
		worker_hold_move(w, f, FILE_IDLE);
	}
}

void worker_hold_record(struct worker *w)
{
	struct worker_file *f, *after;
	struct meta m;

	for (f = TAILQ_FIRST(&w->lists[FILE_WAITING]); f; f = after) {
		after = TAILQ_NEXT(f, entry);
		if (f->fd >= 0 && meta_get(f->fd, "", &m) == 0)
			(void)worker_mirror_update(w, f, &m);
		if (f->stale)
			worker_mirror_record(w, f);
	}
}

int64_t worker_hold_due(struct worker *w)
{
	int64_t next = INT64_MAX;
	struct worker_file *f, *before;

	/* The newest first: what stood long will often go on to stand. */
	for (f = TAILQ_LAST(&w->lists[FILE_WAITING], worker_files); f;
	     f = before) {
		int64_t now = timestamp_monotonic_ms();

		before = TAILQ_PREV(f, worker_files, entry);
		if (f->due <= now && !make_room(w, now))
			return now + DROP_MS;
		if (f->due <= now) {
			try_to_hold(w, f, now);
			worker_breathe(w);
		}
		if (f->state == FILE_WAITING && f->due < next)
			next = f->due;
	}
	return next;
}
