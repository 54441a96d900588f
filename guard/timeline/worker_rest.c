#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/timeline/worker_private.h"

/* Files that stay open for writing are looked at that often, and copies of
 * them take this part of the time. */
#define OPEN_MIN_MS 100
#define OPEN_MAX_MS 2000
#define SAMPLE_SHARE 20
/* Events wait no longer than that. */
#define PASS_MS 50

static void drop(struct worker *w, void *arg)
{
	struct worker_file *f = arg;

	if (f->state == FILE_HELD) {
		worker_hold_keep(w, f, KEEP_NAMELESS);
		worker_hold_move(w, f, FILE_IDLE);
	}
	worker_hold_close(f);
}

/* The table for one more file. Beyond the last one the oldest hold makes room
 * for a new one; then files that wait. */
static struct worker_table *make_room(struct worker *w)
{
	struct worker_table *t = worker_table_with_room(w);
	struct worker_file *f = TAILQ_FIRST(&w->lists[FILE_HELD]);

	if (t)
		return t;
	if (f)
		worker_table_call(w, f->table, drop, f);
	else
		TAILQ_FOREACH(f, &w->lists[FILE_WAITING], entry)
	worker_table_call(w, f->table, drop, f);
	return worker_table_with_room(w);
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
	while (w->table->by_fd.count <= (size_t)fd)
		*VEC_ADD(&w->table->by_fd) = NULL;
	w->table->by_fd.items[fd] = f;
	f->fd = fd;
	f->table = w->table;
	f->table->open_count++;
	return 0;
}

/* A file that cannot be held: its content is read where it stands still. */
static void sample(struct worker *w, struct worker_file *f, int64_t now)
{
	int64_t cost;

	if (f->kept || now < w->next_sample)
		return;
	worker_hold_keep(w, f, KEEP_SAMPLE);
	f->rested = f->kept;
	cost = timestamp_monotonic_ms() - now;
	w->next_sample = now + SAMPLE_SHARE * cost;
}

static void try_to_hold(struct worker *w, void *arg)
{
	struct worker_file *f = arg;
	int64_t now = timestamp_monotonic_ms();
	int got = f->fd < 0 ? open_file(w, f) : 0;
	bool leased;
	struct meta m;

	if (got == -EACCES) {
		f->rested = f->kept = true;
		worker_hold_note(w, TIMELINE_GAP, f, "not readable");
		worker_hold_move(w, f, FILE_IDLE);
		return;
	}
	f->due = now + OPEN_MAX_MS;
	if (got < 0)
		return;
	/* The end of a lease resets the signal. It goes to the process: the
	 * kernel would send it to the thread, which is none. */
	leased = fcntl(f->fd, F_SETSIG,
		       WORKER_SIGNAL + (int)(f->table - w->tables)) == 0 &&
		 fcntl(f->fd, F_SETOWN, getpid()) == 0 &&
		 fcntl(f->fd, F_SETLEASE, F_RDLCK) == 0;
	got = leased ? 0 : -errno;
	if (meta_get(f->fd, "", &m) < 0)
		return;
	(void)worker_mirror_update(w, f, &m);
	if (!leased && f->changed + worker_hold_rest(w, f) > now)
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
		worker_hold_close(f);
		worker_hold_move(w, f, FILE_IDLE);
	}
}

static void record(struct worker *w, void *arg)
{
	struct worker_file *f = arg;
	struct meta m;

	if (f->fd >= 0 && meta_get(f->fd, "", &m) == 0)
		(void)worker_mirror_update(w, f, &m);
	if (f->stale)
		worker_mirror_record(w, f);
}

void worker_rest_record(struct worker *w)
{
	struct worker_file *f, *after;
	int i;

	for (i = FILE_WAITING; i <= FILE_HELD; i++)
		for (f = TAILQ_FIRST(&w->lists[i]); f; f = after) {
			after = TAILQ_NEXT(f, entry);
			/* overlayfs may change a file with hard links by a name
			 * that is gone: without an event. */
			if (i == FILE_WAITING || f->meta.nlink > 1)
				worker_table_call(w, f->table, record, f);
		}
}

/* Stops where another table has to go on. */
static void hold_due(struct worker *w, void *arg)
{
	int64_t *next = arg, began = timestamp_monotonic_ms();
	struct worker_file *f, *before;

	*next = INT64_MAX;
	/* The newest first: what stood long will often go on to stand. */
	for (f = TAILQ_LAST(&w->lists[FILE_WAITING], worker_files); f;
	     f = before) {
		int64_t now = timestamp_monotonic_ms();

		before = TAILQ_PREV(f, worker_files, entry);
		if (f->due <= now) {
			if (!f->table && make_room(w) != w->table) {
				*next = 0;
				return;
			}
			if (now > began + PASS_MS) {
				*next = now;
				return;
			}
			worker_table_call(w, f->table, try_to_hold, f);
			worker_hold_breathe(w);
		}
		if (f->state == FILE_WAITING && f->due < *next)
			*next = f->due;
	}
}

int64_t worker_rest_due(struct worker *w)
{
	int64_t next;

	do
		worker_table_call(w, worker_table_with_room(w), hold_due,
				  &next);
	while (!next);
	return next;
}
