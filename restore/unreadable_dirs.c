#include "restore/unreadable_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/record.h"
#include "base/text.h"
#include "base/vec.h"
#include "overlay/mount.h"

#define NOTE "opened"
#define NOTE_KIND "opened"
#define NOTE_VERSION 1

static bool lacks_bits(uint32_t mode, uint32_t want)
{
	return geteuid() != 0 && S_ISDIR(mode) && (mode & want) != want;
}

bool unreadable_dirs_match(uint32_t mode)
{
	return lacks_bits(mode, S_IRUSR | S_IXUSR);
}

/* Keeps the lines of another user of the record that is still active. */
static void remove_own_notes(const struct unreadable_dirs *s)
{
	AUTO(record) struct record r = {0};
	AUTO(record) struct record left = {0};
	struct err ignored;
	size_t i;

	if (!s->others) {
		(void)unlinkat(s->workspace_fd, NOTE, 0);
		return;
	}
	if (record_load(s->workspace_fd, NOTE, NOTE_KIND, NOTE_VERSION, &r,
			&ignored) < 0)
		return;
	for (i = 0; i < s->others && i < r.count; i++)
		record_add(&left, r.items[i].key, r.items[i].value);
	(void)record_save(s->workspace_fd, NOTE, NOTE_KIND, NOTE_VERSION, &left,
			  ATOMIC_NO_SYNC, &ignored);
}

void unreadable_dirs_free(struct unreadable_dirs *s)
{
	size_t i;

	for (i = s->count; i-- > 0;) {
		(void)fd_chmod(s->items[i].fd, s->items[i].mode);
		(void)close(s->items[i].fd);
	}
	if (s->count)
		remove_own_notes(s);
	free(s->items);
	*s = (struct unreadable_dirs)UNREADABLE_DIRS_NONE;
}

/* The kernel tells the directory's path: root_fd may be any directory. */
static void add_note_line(struct record *r, const struct unreadable_dir *f,
			  const struct meta *m)
{
	auto_free char *path = fd_path(f->fd);
	auto_free char *line = NULL;

	if (!path)
		return;
	line = mem_printf("%o %" PRIu64 " %s", f->mode, m->ino, path);
	record_add(r, "folder", line);
}

/* 1: found and added to r. A missing entry, or an entry of another kind, is
 * left to the caller; -EACCES: below an unreadable directory. */
static int find_unreadable_dir(struct unreadable_dirs *s, struct record *r,
			       int root_fd, const char *path, uint32_t want,
			       struct err *err)
{
	/* "." in a directory without x for its owner cannot be opened. */
	auto_close int fd = *path ? beneath_open(root_fd, path, O_PATH, 0, err)
				  : fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	struct meta m;

	if (fd < 0 && !*path)
		return fail_errno(err, "open the directory");
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "stat %s", text_quote(path));
	if (!lacks_bits(m.mode, want) || m.uid != geteuid())
		return 0;
	*VEC_ADD(s) = (struct unreadable_dir){path, TAKE_FD(fd), m.mode};
	add_note_line(r, &s->items[s->count - 1], &m);
	return 1;
}

static int widen_found_dirs(struct unreadable_dirs *s, size_t from,
			    const struct record *r, struct err *err)
{
	if (record_save(s->workspace_fd, NOTE, NOTE_KIND, NOTE_VERSION, r,
			ATOMIC_DURABLE, err) < 0)
		return -err->num;
	for (; from < s->count; from++) {
		const struct unreadable_dir *f = &s->items[from];

		if (fd_chmod(f->fd, f->mode | S_IRWXU) < 0)
			return fail_errno(err, "open directory %s",
					  text_quote(f->path));
	}
	return 0;
}

/* Loads the record: its lines belong to other users of it. */
static int load_notes(struct unreadable_dirs *s, struct record *r,
		      struct err *err)
{
	int got = record_load(s->workspace_fd, NOTE, NOTE_KIND, NOTE_VERSION, r,
			      err);

	if (got == -EBADMSG)
		got = record_set_aside(s->workspace_fd, NOTE, err);
	if (got < 0 && got != -ENOENT)
		return err_context(
			err, "restore the mode of unreadable directories");
	s->others = r->count;
	return 0;
}

/* Records and opens all reachable directories together; those below them
 * follow. */
static int open_dirs(int root_fd, char *const *paths, uint32_t want,
		     int workspace_fd, struct unreadable_dirs *ret,
		     struct err *err)
{
	AUTO(unreadable_dirs)
	struct unreadable_dirs s = {.workspace_fd = workspace_fd};
	AUTO(record) struct record r = {0};
	int got;

	if (load_notes(&s, &r, err) < 0)
		return -err->num;
	while (paths && *paths) {
		size_t had = s.count;

		for (; *paths; paths++) {
			got = find_unreadable_dir(&s, &r, root_fd, *paths, want,
						  err);
			if (got < 0)
				break;
		}
		if (got < 0 && (got != -EACCES || s.count == had))
			return got;
		if (s.count > had && widen_found_dirs(&s, had, &r, err) < 0)
			return -err->num;
	}
	*ret = s;
	s = (struct unreadable_dirs)UNREADABLE_DIRS_NONE;
	return 0;
}

int unreadable_dirs_open(int root_fd, char *const *paths, int workspace_fd,
			 struct unreadable_dirs *ret, struct err *err)
{
	return open_dirs(root_fd, paths, S_IRUSR | S_IXUSR, workspace_fd, ret,
			 err);
}

int unreadable_dirs_open_to_write(int dir_fd, int workspace_fd,
				  struct unreadable_dirs *ret, struct err *err)
{
	static char self[] = "";
	char *const paths[] = {self, NULL};

	return open_dirs(dir_fd, paths, S_IRWXU, workspace_fd, ret, err);
}

bool unreadable_dirs_noted(int workspace_fd)
{
	return fd_exists(workspace_fd, NOTE);
}

static int restore_line_mode(const char *line, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = -1;
	uint64_t ino;
	uint32_t mode;
	struct meta m;
	int at = 0;

	if (root < 0)
		return fail_errno(err, "open /");
	if (sscanf(line, "%o %" SCNu64 " %n", &mode, &ino, &at) != 2 ||
	    line[at] != '/')
		return 0;
	fd = mount_open_dir(root, line + at, false, err);
	if (err_is_exhaustion(-fd))
		return fd;
	if (fd >= 0 && meta_get(fd, "", &m) == 0 && m.ino == ino &&
	    m.uid == geteuid() && m.mode == (mode | S_IRWXU))
		(void)fd_chmod(fd, mode);
	return 0;
}

int unreadable_dirs_recover(int workspace_fd, struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t count;
	int got = record_load(workspace_fd, NOTE, NOTE_KIND, NOTE_VERSION, &r,
			      err);

	/* Without the record, directories keep the permissions that were added
	 * for their owner. */
	if (got == -EBADMSG)
		got = record_set_aside(workspace_fd, NOTE, err);
	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return err_context(
			err, "restore the mode of unreadable directories");
	/* Children first: below an unreadable directory nothing is
	 * reachable. */
	for (count = r.count; count; count--)
		if (strcmp(r.items[count - 1].key, "folder") == 0 &&
		    restore_line_mode(r.items[count - 1].value, err) < 0)
			return -err->num;
	return unlinkat(workspace_fd, NOTE, 0) < 0
		       ? fail_errno(err,
				    "remove the list of unreadable directories")
		       : 0;
}

uint32_t unreadable_dirs_mode(const struct unreadable_dirs *s, const char *path,
			      uint32_t mode)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strcmp(s->items[i].path, path) == 0)
			return s->items[i].mode;
	return mode;
}

int unreadable_dirs_correct(const struct unreadable_dirs *s,
			    struct store *store, struct entry *root,
			    struct err *err)
{
	struct tree_editor *ed = tree_editor_new(store, root);
	size_t i;
	int got = 0;

	for (i = 0; i < s->count && got >= 0; i++) {
		AUTO(entry) struct entry e = {0};

		got = tree_editor_get(ed, s->items[i].path, &e, err);
		e.mode = s->items[i].mode;
		if (got > 0)
			got = tree_editor_put_dir(ed, s->items[i].path, &e,
						  err);
	}
	return tree_editor_end(&ed, got, root, err);
}
