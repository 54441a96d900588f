#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/copybytes.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/timeline/worker_private.h"
#include "overlay/whiteout.h"

/* A run waits for the copy of a file up to this size; of a larger one only
 * where the file system shares the blocks. */
#define WAIT_MAX ((uint64_t)16 << 20)
/* Contents up to this size are written to the spool after the run goes on, so
 * many in a tick. */
#define READ_MAX ((uint64_t)64 << 10)
#define READS 512
/* A path with so many versions in so long a time rests longer from then on. */
#define STORM_COUNT 20
#define STORM_MS 10000
#define STORM_REST_MS 30000
/* A process of the run waits for its turn no longer than that. */
#define BREAK_MS 400
/* A file that was opened for writing has no lease so long without a change. */
#define UNCHANGED_MS 1000
#define PART ".part"

/* --- records --- */

char *worker_hold_path(const struct worker_name *n)
{
	char *path = mem_strdup("");

	for (; n->parent; n = n->parent) {
		char *longer = path_join(n->name, path);

		free(path);
		path = longer;
	}
	return path;
}

void worker_hold_text(struct worker *w, enum timeline_kind kind, size_t root,
		      const char *path, uint64_t content, const char *text)
{
	struct timeline_record r = {.kind = kind,
				    .root = root,
				    .path = path,
				    .content = content,
				    .text = text};

	(void)timeline_add(&w->out, &r);
}

void worker_hold_note(struct worker *w, enum timeline_kind kind,
		      const struct worker_file *f, const char *text)
{
	const struct worker_name *n = LIST_FIRST(&f->names);
	auto_free char *path = n ? worker_hold_path(n) : NULL;

	worker_hold_text(w, kind, n ? n->root : 0, path, f->content, text);
}

void worker_hold_gap(struct worker *w, struct worker_dir *d, const char *text)
{
	auto_free char *path = d->gap ? NULL : worker_hold_path(d->name);

	if (path)
		worker_hold_text(w, TIMELINE_GAP, d->name->root, path, 0, text);
	d->gap = true;
}

void worker_hold_move(struct worker *w, struct worker_file *f,
		      enum worker_state state)
{
	TAILQ_REMOVE(&w->lists[f->state], f, entry);
	f->state = state;
	TAILQ_INSERT_TAIL(&w->lists[state], f, entry);
}

static struct worker_storm *storm_of(struct worker *w, uint64_t path)
{
	return &w->storms[path % ARRAY_SIZE(w->storms)];
}

int64_t worker_hold_rest(struct worker *w, const struct worker_file *f)
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
		worker_hold_note(
			w, TIMELINE_THINNED, f,
			"rewritten very often: only versions that stood "
			"longer are kept");
	s->rest_ms = 2 * worker_hold_rest(w, f);
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
	worker_hold_event(w, f);
	/* In its place: a loop over the list ends. */
	if (f->state != FILE_WAITING)
		worker_hold_move(w, f, FILE_WAITING);
}

void worker_hold_event(struct worker *w, struct worker_file *f)
{
	f->due = f->changed + worker_hold_rest(w, f);
}

/* --- copies --- */

struct keep {
	struct worker *w;
	enum worker_keep why;
	bool small;
};

static bool may_copy_on(void *arg)
{
	const struct keep *k = arg;

	if (k->why == KEEP_NAMELESS) {
		worker_hold_breathe(k->w);
		return true;
	}
	k->w->beats++;
	return k->small && (k->why == KEEP_SAMPLE ||
			    timestamp_monotonic_ms() < k->w->break_until);
}

static bool reads_as_recorded(const struct worker_file *f)
{
	struct meta m;

	return meta_get(f->fd, "", &m) == 0 && m.size == f->meta.size &&
	       timestamp_compare(m.mtime, f->meta.mtime) == 0;
}

static void get_xattrs(int fd, struct xattrs *ret)
{
	struct err ignored;

	if (xattrs_get(fd, "", ret, &ignored) == 0)
		(void)xattrs_remove_prefix(ret, LAYER_XATTR_PREFIX);
}

static void give_up(struct worker_file *f)
{
	if (!f->leased)
		return;
	(void)fcntl(f->fd, F_SETLEASE, F_UNLCK);
	f->leased = false;
}

/* The file of a content in the spool, until it is complete. */
static int open_part(struct worker *w, uint64_t content, struct err *err)
{
	auto_free char *part = mem_printf("%" PRIu64 PART, content);
	int fd = openat(w->spool_fd, part,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? fail_errno(err, "create") : fd;
}

static int finish_part(struct worker *w, uint64_t content, int fd,
		       const struct xattrs *x, int got, struct err *err)
{
	auto_free char *name = mem_printf("%" PRIu64, content);
	auto_free char *part = mem_printf("%s" PART, name);
	struct err ignored;

	if (got == 0 && x->count)
		(void)xattrs_set(fd, x, &ignored);
	/* The content's record comes first. */
	if (got == 0)
		got = timeline_flush(&w->out, err);
	if (got == 0 && renameat(w->spool_fd, part, w->spool_fd, name) < 0)
		got = fail_errno(err, "rename");
	if (got < 0)
		(void)unlinkat(w->spool_fd, part, 0);
	return got;
}

static int copy_to_spool(struct keep *k, struct worker_file *f, struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	auto_close int to = open_part(k->w, f->content, err);
	int got;

	if (to < 0)
		return to;
	got = copybytes(f->fd, to, (off_t)f->meta.size, may_copy_on, k, err);
	if (got == 0 && k->why == KEEP_SAMPLE && !reads_as_recorded(f))
		got = fail(err, EAGAIN, "changed during the copy");
	get_xattrs(f->fd, &x);
	if (k->why == KEEP_BROKEN)
		give_up(f);
	return finish_part(k->w, f->content, to, &x, got, err);
}

/* A process of the run waits: a small content is read, and written to the
 * spool in the next tick. Creating a file takes longer than all the rest. */
static bool read_broken(struct worker *w, struct worker_file *f)
{
	size_t len = f->meta.size;
	struct worker_read *r;

	if (len > READ_MAX || w->reads.count >= READS)
		return false;
	r = VEC_ADD(&w->reads);
	r->content = f->content;
	if (fd_pread(f->fd, buf_reserve(&r->bytes, len + 1), len, 0) !=
	    (ssize_t)len) {
		buf_free(&r->bytes);
		w->reads.count--;
		return false;
	}
	r->bytes.len = len;
	get_xattrs(f->fd, &r->xattrs);
	give_up(f);
	return true;
}

/* From before the end of a lease until the content is in the spool: a reader
 * waits, which would take the file's new bytes for it. */
static void set_lock(const struct worker *w, int operation)
{
	while (flock(w->out.fd, operation) < 0 && errno == EINTR)
		;
}

void worker_hold_write(struct worker *w)
{
	size_t i;

	/* More may come meanwhile. */
	for (i = 0; i < w->reads.count; i++) {
		struct worker_read r = w->reads.items[i];
		struct err err;
		auto_close int to = open_part(w, r.content, &err);
		int got = to;

		if (got >= 0 && fd_write(to, r.bytes.data, r.bytes.len) < 0)
			got = fail_errno(&err, "write");
		if (got >= 0)
			got = finish_part(w, r.content, to, &r.xattrs, 0, &err);
		if (got < 0)
			worker_hold_text(w, TIMELINE_GAP, 0, "", r.content,
					 err.text);
		buf_free(&r.bytes);
		xattrs_free(&r.xattrs);
		worker_hold_breathe(w);
	}
	if (w->reads.count)
		set_lock(w, LOCK_UN);
	w->reads.count = 0;
}

void worker_hold_count(struct worker *w, uint64_t most)
{
	AUTO(dirlist) struct dirlist list = {0};
	VEC(uint64_t) contents = {0};
	struct err ignored;
	struct stat st;
	size_t i;

	w->spool_bytes = 0;
	(void)dirlist_read(w->spool_fd, &list, &ignored);
	for (i = 0; i < list.count; i++) {
		if (path_ends(list.items[i].name, PART)) {
			(void)unlinkat(w->spool_fd, list.items[i].name, 0);
		} else if (fstatat(w->spool_fd, list.items[i].name, &st,
				   AT_SYMLINK_NOFOLLOW) == 0) {
			w->spool_bytes += (uint64_t)st.st_blocks * 512;
			*VEC_ADD(&contents) =
				strtoull(list.items[i].name, NULL, 10);
		}
	}
	VEC_SORT(&contents, sorted_compare_numbers);
	for (i = 0; i < contents.count && w->spool_bytes > most; i++) {
		auto_free char *name =
			mem_printf("%" PRIu64, contents.items[i]);

		if (fstatat(w->spool_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    unlinkat(w->spool_fd, name, 0) < 0)
			continue;
		w->spool_bytes -= (uint64_t)st.st_blocks * 512;
		worker_hold_text(w, TIMELINE_THINNED, 0, "", contents.items[i],
				 "the versions take too much space");
	}
	VEC_FREE(&contents);
}

/* Whether so many bytes more are within the limit. The importer takes files
 * out of the spool; else the oldest go, a quarter of the limit at once. */
static bool spool_has_room(struct worker *w, uint64_t bytes)
{
	uint64_t max = w->options->spool_max;

	if (w->spool_bytes + bytes > max && bytes <= max / 4)
		worker_hold_count(w, max / 4 * 3 - bytes);
	return w->spool_bytes + bytes <= max;
}

static void keep(struct worker *w, struct worker_file *f, enum worker_keep why)
{
	struct keep k = {.w = w, .why = why};
	struct stat st;
	struct err err;
	const char *text = NULL;

	if (f->kept || w->disk_full)
		return;
	f->kept = true;
	if (fstat(f->fd, &st) < 0 || !reads_as_recorded(f)) {
		text = "truncated by path";
	} else if (!spool_has_room(w, (uint64_t)st.st_blocks * 512)) {
		text = "the versions take too much space";
	} else {
		k.small = (uint64_t)st.st_blocks * 512 <= WAIT_MAX;
		if ((why == KEEP_BROKEN && read_broken(w, f)) ||
		    copy_to_spool(&k, f, &err) == 0) {
			w->spool_bytes += (uint64_t)st.st_blocks * 512;
			/* Not for a lack of descriptors. */
			if (why != KEEP_NAMELESS || LIST_EMPTY(&f->names))
				count_storm(w, f);
			if (why == KEEP_SAMPLE)
				worker_hold_note(w, TIMELINE_SAMPLED, f,
						 "read without a lease");
			return;
		}
		if (why == KEEP_SAMPLE && err.num == EAGAIN) {
			f->kept = false;
			return;
		}
		text = err.num == EINTR ? "too large to be copied in time"
					: err.text;
	}
	worker_hold_note(w, TIMELINE_GAP, f, text);
}

/* Saves the content. On failure the timeline says why. */
void worker_hold_keep(struct worker *w, struct worker_file *f,
		      enum worker_keep why)
{
	if (why == KEEP_BROKEN && !w->reads.count)
		set_lock(w, LOCK_EX);
	keep(w, f, why);
	if (why == KEEP_BROKEN && !w->reads.count)
		set_lock(w, LOCK_UN);
}

/* --- holds --- */

void worker_hold_close(struct worker_file *f)
{
	if (f->fd < 0)
		return;
	give_up(f);
	f->table->by_fd.items[f->fd] = NULL;
	TAKE(f->table)->open_count--;
	fd_close(&f->fd);
}

static void break_hold(struct worker *w, void *arg)
{
	struct worker_file *f = arg;

	if (!f->leased)
		return;
	worker_hold_keep(w, f, KEEP_BROKEN);
	give_up(f);
	w->broken = true;
	if (f->state != FILE_HELD)
		return;
	worker_hold_wait(w, f);
	/* Until it changes there is nothing to keep, and a call of the run that
	 * does not wait, for which guard has ended the lease, is still to
	 * come: a new lease would make it fail. */
	f->changed += UNCHANGED_MS;
	worker_hold_event(w, f);
}

static void check_holds(struct worker *w, void *arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < w->table->by_fd.count; i++) {
		struct worker_file *f = w->table->by_fd.items[i];

		if (!f || !f->leased || fcntl(f->fd, F_GETLEASE) == F_RDLCK)
			continue;
		w->break_until = timestamp_monotonic_ms() + 100;
		break_hold(w, f);
	}
}

void worker_hold_missed(struct worker *w, const struct worker_file *f,
			int64_t lost)
{
	auto_free char *name = mem_printf("%" PRIu64, f->content);

	if (S_ISREG(f->meta.mode) && f->content && !f->rested &&
	    lost - f->changed > worker_hold_rest(w, f) + 2 * WORKER_TICK_MS &&
	    /* An earlier worker may have kept it. */
	    !fd_exists(w->spool_fd, name))
		worker_hold_note(w, TIMELINE_GAP, f, "not held in time");
}

void worker_hold_end(struct worker *w, struct worker_file *f, int64_t lost)
{
	if (f->fd >= 0 && f->rested)
		worker_hold_keep(w, f, KEEP_NAMELESS);
	worker_hold_missed(w, f, lost);
	worker_hold_close(f);
}

void worker_hold_breathe(struct worker *w)
{
	static struct signalfd_siginfo infos[1024];
	struct worker_table *t;
	ssize_t len;
	size_t i;

	w->beats++;
	len = read(w->signal_fd, infos, sizeof(infos));
	if (len <= 0)
		return;
	w->break_until = timestamp_monotonic_ms() + BREAK_MS;
	for (i = 0; i < (size_t)len / sizeof(*infos); i++) {
		size_t fd = (size_t)infos[i].ssi_fd;
		size_t of = infos[i].ssi_signo - (size_t)WORKER_SIGNAL;

		for (t = w->tables; t < w->tables + w->table_count; t++)
			if (infos[i].ssi_signo == SIGIO)
				worker_table_call(w, t, check_holds, NULL);
			else if (t == w->tables + of && fd < t->by_fd.count &&
				 t->by_fd.items[fd])
				worker_table_call(w, t, break_hold,
						  t->by_fd.items[fd]);
	}
}
