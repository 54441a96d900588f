#include "restore/git/gitrefs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/store/content.h"

#define FILE_MAX (64u << 20)
#define ENTRIES_MAX 2000000
#define NOTES_MAX 50

void gitrefs_free(struct gitrefs *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		free(r->items[i].name);
	free(r->items);
	free(r->logged);
}

void gitrefs_free_notes(struct gitnotes *n)
{
	size_t i;

	for (i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
	*n = (struct gitnotes){0};
}

void gitrefs_note(struct gitnotes *n, const char *name, const char *text)
{
	if (!n || n->count > NOTES_MAX)
		return;
	GROW(n->items, n->count, n->capacity);
	n->items[n->count] =
		n->count == NOTES_MAX
			? mem_strdup("and more of that kind")
			: mem_printf("%s %s", text_quote(name), text);
	n->count++;
}

static int too_many(struct gitrefs *r, struct err *err)
{
	if (r->seen++ < ENTRIES_MAX)
		return 0;
	return fail(err, E2BIG,
		    "the run's repository has more than %d refs and reflog "
		    "entries",
		    ENTRIES_MAX);
}

static int add_found_ref(struct gitrefs *r, const char *name,
			 const struct gitid *id, size_t order, struct err *err)
{
	if (too_many(r, err) < 0)
		return -err->num;
	if (r->ref_max && r->count >= r->ref_max)
		return fail(err, E2BIG,
			    "the run's repository has more than %zu refs: that "
			    "is not imported",
			    r->ref_max);
	GROW(r->items, r->count, r->capacity);
	r->items[r->count++] = (struct gitref){mem_strdup(name), *id, order};
	return 0;
}

static int add_logged_id(struct gitrefs *r, const struct gitid *id,
			 struct err *err)
{
	static const struct gitid none;

	if (memcmp(id, &none, sizeof(none)) == 0)
		return 0;
	if (too_many(r, err) < 0)
		return -err->num;
	GROW(r->logged, r->logged_count, r->logged_capacity);
	r->logged[r->logged_count++] = *id;
	return 0;
}

/* 1: read; 0: not readable, which is noted. */
static int read_ref_file(struct gitrefs *r, const char *path,
			 const struct entry *e, struct buf *to, struct err *err)
{
	if (S_ISDIR(e->mode))
		return 0;
	if (!S_ISREG(e->mode)) {
		gitrefs_note(r->notes, path, "is no file: left out");
		return 0;
	}
	if (e->flags & ENTRY_INCOMPLETE) {
		gitrefs_note(r->notes, path,
			     "could not be read whole: left out");
		return 0;
	}
	if (e->size > FILE_MAX)
		return fail(err, EFBIG, "the run's %s has %s: too much",
			    text_quote(path), text_size(e->size));
	if (e->content.type != OBJECT_NONE &&
	    content_append(r->store, &e->content, to, err) < 0)
		return -err->num;
	(void)buf_text(to);
	return 1;
}

static size_t hex_len(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

static int not_sha1(struct err *err)
{
	return fail(err, ENOTSUP,
		    "the run's repository uses SHA-256: guard imports from and "
		    "into SHA-1 repositories only");
}

/* Reads a loose ref, or a HEAD. */
static int read_ref(struct gitrefs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_ref_file(r, path, e, &text, err);
	struct gitid id;
	size_t len;

	if (got <= 0 || strncmp(buf_text(&text), "ref:", 4) == 0)
		return got < 0 ? got : 0;
	len = hex_len(buf_text(&text));
	if (len == 64)
		return not_sha1(err);
	if (len == GITID_HEX && gitid_read(buf_text(&text), &id))
		return add_found_ref(r, path, &id, r->count, err);
	gitrefs_note(r->notes, path, "holds no id: left out");
	return 0;
}

static int read_packed_line(struct gitrefs *r, const char *line,
			    struct err *err)
{
	size_t len = hex_len(line);
	struct gitid id;

	if (line[0] == '#' || line[0] == '^' || !line[0])
		return 0;
	if (len == 64)
		return not_sha1(err);
	if (len == GITID_HEX && strncmp(line + len, " refs/", 6) == 0 &&
	    gitid_read(line, &id))
		return add_found_ref(r, line + len + 1, &id, r->count, err);
	gitrefs_note(r->notes, line, "is no line of packed-refs: left out");
	return 0;
}

static int read_packed(struct gitrefs *r, const struct entry *e,
		       struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_ref_file(r, "packed-refs", e, &text, err);
	char *line, *stop;

	if (got <= 0 || !text.len)
		return got < 0 ? got : 0;
	for (line = (char *)text.data; *line; line = stop + 1) {
		stop = strchrnul(line, '\n');
		if (!*stop)
			return read_packed_line(r, line, err);
		*stop = '\0';
		if (read_packed_line(r, line, err) < 0)
			return -err->num;
	}
	return 0;
}

static size_t count_log_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* Reads a reflog: "old new name <address> time zone TAB text". Each line of the
 * stash's log is an entry of the stash; the last one is stash@{0}. */
static int read_log(struct gitrefs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	bool stash = strcmp(path, "logs/refs/stash") == 0;
	AUTO(buf) struct buf text = {0};
	int got = read_ref_file(r, path, e, &text, err);
	const char *at = got > 0 ? buf_text(&text) : "", *stop;
	size_t left = count_log_lines(at);
	struct gitid old, now;

	for (; got > 0 && (stop = strchr(at, '\n')); at = stop + 1) {
		left--;
		if (hex_len(at) != GITID_HEX || at[GITID_HEX] != ' ' ||
		    hex_len(at + GITID_HEX + 1) != GITID_HEX ||
		    !gitid_read(at, &old) ||
		    !gitid_read(at + GITID_HEX + 1, &now))
			continue;
		if (stash) {
			char name[GITID_HEX + 8] = "stash@";

			gitid_hex(&now, name + 6);
			if (add_found_ref(r, name, &now, left, err) < 0)
				return -err->num;
		} else if (add_logged_id(r, &old, err) < 0 ||
			   add_logged_id(r, &now, err) < 0) {
			return -err->num;
		}
	}
	return got < 0 ? got : 0;
}

static int read_tree_ref(void *arg, const char *path, const struct entry *e,
			 struct err *err)
{
	struct gitrefs *r = arg;
	auto_free char *name = path_join(r->prefix, path);

	return too_many(r, err) < 0 ? -err->num : read_ref(r, name, e, err);
}

static int each_log(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	struct gitrefs *r = arg;
	auto_free char *name = path_join(r->prefix, path);

	return too_many(r, err) < 0 ? -err->num : read_log(r, name, e, err);
}

/* <name>/HEAD, <name>/refs/..., <name>/logs/... */
static int each_worktree(void *arg, const char *path, const struct entry *e,
			 struct err *err)
{
	const char *rest = strchr(path, '/');

	if (!rest)
		return 0;
	rest++;
	if (strcmp(rest, "HEAD") == 0 || path_below(rest, "refs"))
		return read_tree_ref(arg, path, e, err);
	return path_below(rest, "logs") ? each_log(arg, path, e, err) : 0;
}

static int each_in(struct gitrefs *r, const struct entry *git, const char *name,
		   int (*each)(void *arg, const char *path,
			       const struct entry *e, struct err *err),
		   struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(r->store, git, name, &e, err);

	if (got <= 0)
		return got;
	if (!S_ISDIR(e.mode)) {
		gitrefs_note(r->notes, name, "is no folder: left out");
		return 0;
	}
	r->prefix = name;
	return tree_each(r->store, &e, each, r, err);
}

static int read_one(struct gitrefs *r, const struct entry *git,
		    const char *name, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(r->store, git, name, &e, err);

	if (got <= 0)
		return got;
	return strcmp(name, "HEAD") == 0 ? read_ref(r, name, &e, err)
					 : read_packed(r, &e, err);
}

static int compare_ref_names(const void *a, const void *b)
{
	const struct gitref *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_name_and_order(const void *a, const void *b)
{
	const struct gitref *x = a, *y = b;
	int got = strcmp(x->name, y->name);

	return got ? got : (x->order > y->order) - (x->order < y->order);
}

static int compare_gitids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

/* Sorts the refs. Among refs of one name the last one stays, of the stash the
 * newest. */
static void sort_found_refs(struct gitrefs *r)
{
	size_t i, kept = 0;

	if (r->count)
		qsort(r->items, r->count, sizeof(*r->items), by_name_and_order);
	for (i = 0; i < r->count; i++) {
		bool stash = strncmp(r->items[i].name, "stash@", 6) == 0;

		if (kept &&
		    compare_ref_names(&r->items[kept - 1], &r->items[i]) == 0) {
			if (!stash)
				r->items[kept - 1].id = r->items[i].id;
			free(r->items[i].name);
			continue;
		}
		r->items[kept++] = r->items[i];
	}
	r->count = kept;
	if (r->logged_count)
		qsort(r->logged, r->logged_count, sizeof(*r->logged),
		      compare_gitids);
}

/* git would look for refs and objects elsewhere, so the files here are not the
 * result of the run. */
static int check_form(const struct gitrefs *r, const struct entry *git,
		      struct err *err)
{
	static const char *const names[] = {"commondir", "reftable"};
	static const char *const texts[] = {
		"says that refs and objects lie elsewhere",
		"holds its refs; guard reads those that are files",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		AUTO(entry) struct entry e = {0};
		int got = tree_lookup(r->store, git, names[i], &e, err);

		if (got)
			return got < 0 ? got
				       : fail(err, ENOTSUP,
					      "the run's .git/%s %s: that is "
					      "not imported",
					      names[i], texts[i]);
	}
	return 0;
}

int gitrefs_read(struct gitrefs *r, const struct entry *git, struct err *err)
{
	if (check_form(r, git, err) < 0 ||
	    read_one(r, git, "packed-refs", err) < 0 ||
	    each_in(r, git, "refs", read_tree_ref, err) < 0 ||
	    read_one(r, git, "HEAD", err) < 0 ||
	    each_in(r, git, "logs", each_log, err) < 0 ||
	    each_in(r, git, "worktrees", each_worktree, err) < 0)
		return -err->num;
	sort_found_refs(r);
	return 0;
}
