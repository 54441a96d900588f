#include "guard/agent/redactions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/derived.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/agent/redact.h"
#include "guard/state/state.h"

/* To read a smaller file costs less than to find its copy. */
#define COPIED_LEAST (64 << 10)
/* Entries of a directory: each file is read at each start. */
#define DIR_ENTRIES_MAX 500

/* Reads the file; false: its secrets cannot be removed. */
static bool read_settings_file(int fd, struct buf *ret)
{
	struct err ignored;

	if (fd_slurp(fd, PLACES_FILE_MAX, ret, &ignored) == 0 &&
	    !(ret->len && memchr(ret->data, '\0', ret->len)))
		return true;
	buf_clear(ret);
	return false;
}

/* True if the redaction of this version of the file is known. An empty copy
 * stands for a file without secrets. */
static bool find_copy(const struct state *state, const char *name,
		      struct redaction *r)
{
	auto_close int fd = derived_open(state->fd, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	r->any = st.st_size > 0;
	r->copy = r->any ? path_join(state->path, name) : NULL;
	return true;
}

static void redact_file(const struct state *state, const struct place *place,
			int fd, const struct stat *st, struct redaction *r)
{
	auto_free char *subject = mem_printf("%u %s", place->how, place->path);
	auto_free char *name =
		st->st_size >= COPIED_LEAST ? derived_name(subject, st) : NULL;
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	if (name && find_copy(state, name, r))
		return;
	r->closed = !read_settings_file(fd, &text);
	if (r->closed)
		return;
	r->any = place->how & PLACE_AGENT
			 ? redact_settings(place->path, text.data, text.len,
					   &r->text, NULL)
		 : place->how & PLACE_PROSE
			 ? redact_prose(text.data, text.len, &r->text)
			 : redact_text(text.data, text.len, &r->text);
	/* The copy of a masked file without secrets would be taken for one of a
	 * file with secrets; an empty one for that of a file without. */
	if (!name || (r->any ? !r->text.len : place->how & PLACE_MASKED) ||
	    derived_save(state->fd, name, st, r->text.data,
			 r->any ? r->text.len : 0, &ignored) < 0)
		return;
	if (r->any)
		r->copy = path_join(state->path, name);
	buf_free(&r->text);
}

static bool add_settings_path(void *arg, const char *path,
			      const struct dirlist_item *item)
{
	struct names *paths = arg;

	names_add(paths, path);
	return item->type == DT_DIR && paths->count < DIR_ENTRIES_MAX;
}

/* The settings in a directory of an agent, also those that links lead to.
 * False: they are too many. */
static bool add_directory(struct redactions *redactions,
			  const struct state *state, const char *path)
{
	AUTO(names) struct names paths = {0};
	struct stat st;
	size_t i;

	dirtree_levels(path, DIR_ENTRIES_MAX, DIR_ENTRIES_MAX, NULL,
		       add_settings_path, &paths);
	if (paths.count >= DIR_ENTRIES_MAX)
		return false;
	for (i = 0; i < paths.count; i++) {
		const struct place place = {.path = paths.items[i],
					    .how = PLACE_AGENT};

		if (stat(place.path, &st) == 0 && S_ISREG(st.st_mode))
			redactions_add(redactions, state, &place);
	}
	return true;
}

void redactions_add(struct redactions *redactions, const struct state *state,
		    const struct place *place)
{
	auto_close int fd =
		open(place->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct redaction r = {0};
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		redact_file(state, place, fd, &st, &r);
	else if (!(place->how & PLACE_AGENT) || fd < 0 ||
		 !S_ISDIR(st.st_mode) ||
		 !add_directory(redactions, state, place->path))
		r.closed = true;
	else
		return;
	if (place->how & PLACE_MASKED ? r.closed : !r.closed && !r.any) {
		buf_free(&r.text);
		return;
	}
	r.path = mem_strdup(place->path);
	*VEC_ADD(redactions) = r;
}

void redactions_free(struct redactions *redactions)
{
	size_t i;

	for (i = 0; i < redactions->count; i++) {
		free(redactions->items[i].path);
		free(redactions->items[i].copy);
		buf_free(&redactions->items[i].text);
	}
	free(redactions->items);
	*redactions = (struct redactions){0};
}
