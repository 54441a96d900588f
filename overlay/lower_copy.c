#include "overlay/lower_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/pre_copy_up.h"

#define LOWER "lower"
#define TRIES 5
/* Limit of nested directories: all of them are open at the same time. */
#define DEPTH_MAX 400

struct lower_copy {
	struct meta state; /* guard's own state, which is not copied */
	uint64_t skipped_count;
	char *first_skipped; /* first skipped entry, with the reason */
	struct err failed; /* num: 0, or why the copy cannot be made */
};

static void lower_copy_free(struct lower_copy *f)
{
	free(f->first_skipped);
}

static void copy_lower_children(struct lower_copy *f, int from, int to,
				unsigned int depth);

static void note_uncopied(struct lower_copy *f, const char *name,
			  const char *why)
{
	if (!f->skipped_count++)
		f->first_skipped = mem_printf("%s: %s", text_quote(name), why);
}

/* As note_uncopied(). A lack of descriptors or memory ends the copy: without
 * the entry, the run would see a project that never was. */
static void note_fault(struct lower_copy *f, const char *name,
		       const struct err *why)
{
	if (!err_is_exhaustion(why->num))
		note_uncopied(f, name, why->text);
	else if (!f->failed.num)
		(void)fail(&f->failed, why->num, "%s: %s", text_quote(name),
			   why->text);
}

/* Copies a file. A file that changes during each of TRIES attempts is
 * skipped. */
static void copy_lower_file(struct lower_copy *f, int from, int to,
			    const char *name, const struct meta *m)
{
	struct meta now = *m;
	struct err err;
	int tries, got = -EAGAIN;

	for (tries = 0; got == -EAGAIN && tries < TRIES; tries++) {
		got = pre_copy_up_file(to, from, name, &now, &err);
		if (got == -EAGAIN && meta_get(from, name, &now) < 0)
			return; /* removed during the copy */
	}
	if (got < 0)
		note_fault(f, name, &err);
}

static void copy_lower_dir(struct lower_copy *f, int from, int to,
			   const char *name, const struct meta *m,
			   unsigned int depth)
{
	struct err err;
	auto_close int in =
		beneath_open(from, name, O_RDONLY | O_DIRECTORY, 0, &err);
	auto_close int out = -1;

	if (in >= 0 && mkdirat(to, name, 0700) < 0)
		(void)fail_errno(&err, "create the copy");
	else if (in >= 0 && (out = fd_open_dir(to, name)) < 0)
		(void)fail_errno(&err, "open the copy");
	else if (in >= 0 && depth > DEPTH_MAX)
		(void)fail(&err, ELOOP, "nested too deeply");
	else if (in >= 0) {
		copy_lower_children(f, in, out, depth + 1);
		if (pre_copy_up_meta(in, out, m, &err) == 0)
			return;
	}
	note_fault(f, name, &err);
}

static void copy_lower_entry(struct lower_copy *f, int from, int to,
			     const char *name, unsigned int depth)
{
	struct err err;
	struct meta m;

	if (meta_get(from, name, &m) < 0) {
		/* Else it was removed during the copy. */
		if (err_is_exhaustion(errno)) {
			(void)fail_errno(&err, "stat");
			note_fault(f, name, &err);
		}
		return;
	}
	if (m.dev == f->state.dev && m.ino == f->state.ino)
		return;
	if (S_ISDIR(m.mode))
		copy_lower_dir(f, from, to, name, &m, depth);
	else if (S_ISLNK(m.mode) &&
		 pre_copy_up_link(to, from, name, &m, &err) < 0)
		note_fault(f, name, &err);
	else if (S_ISREG(m.mode))
		copy_lower_file(f, from, to, name, &m);
	else if (!S_ISLNK(m.mode) &&
		 (!S_ISFIFO(m.mode) || mkfifoat(to, name, m.mode & 0777) < 0))
		note_uncopied(f, name, "not a file, directory or link");
}

static void copy_lower_children(struct lower_copy *f, int from, int to,
				unsigned int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err err;
	size_t i;

	if (dirlist_read(from, &list, &err) < 0)
		note_fault(f, "a directory", &err);
	for (i = 0; i < list.count && !f->failed.num; i++)
		copy_lower_entry(f, from, to, list.items[i].name, depth);
}

int lower_copy_make(const struct session *s, int project_fd, struct buf *notes,
		    struct err *err)
{
	AUTO(lower_copy) struct lower_copy f = {0};
	auto_close int lower = -1;
	struct meta m;

	/* The state directory is runs/<id>/../.. . */
	if (meta_get(s->fd, "../..", &f.state) < 0 ||
	    meta_get(project_fd, "", &m) < 0 || mkdirat(s->fd, LOWER, 0700) < 0)
		return fail_errno(err, "copy the project");
	lower = fd_open_dir(s->fd, LOWER);
	if (lower < 0)
		return fail_errno(err, "copy the project");
	copy_lower_children(&f, project_fd, lower, 0);
	if (f.failed.num) {
		*err = f.failed;
		return err_context(err, "copy the project");
	}
	if (pre_copy_up_meta(project_fd, lower, &m, err) < 0)
		return err_context(err, "copy the project");
	if (f.skipped_count)
		buf_printf(notes, "--frozen skipped %s, the first: %s\n",
			   text_count(f.skipped_count, "entry"),
			   f.first_skipped);
	return 0;
}

int lower_copy_open(const struct session *s, struct err *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = RETRY_ENOENT(openat(s->fd, LOWER, flags));

	if (fd < 0 && errno == ENOENT)
		fd = RETRY_ENOENT(open(s->project, flags));
	return fd < 0 ? fail_errno(err, "open %s", text_quote(s->project)) : fd;
}

char *lower_copy_path(const struct session *s, const char *session_path)
{
	if (!fd_exists(s->fd, LOWER))
		return NULL;
	return path_join(session_path, LOWER);
}
