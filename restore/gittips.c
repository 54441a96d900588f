#include "restore/gittips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/gitname.h"
#include "snapshot/content.h"

#define FILE_MAX (64u << 20)
#define ENTRIES_MAX 2000000
#define NOTES_MAX 50

struct ref {
	char *name; /* whole; "stash@" and the id for an entry of the stash */
	struct gitid id;
	size_t order; /* later ones hide earlier ones; stash: its number */
};

/* One repository's refs and reflogs. */
struct refs {
	struct store *store;
	struct gittips *notes; /* NULL: nobody wants to know */
	const char *prefix; /* of the paths that are read just now */
	struct ref *items;
	size_t count, room;
	struct gitid *logged;
	size_t logged_count, logged_room;
	size_t seen;
};

static void refs_free(struct refs *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		free(r->items[i].name);
	free(r->items);
	free(r->logged);
}

void gittips_free(struct gittips *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->items[i].name);
	for (i = 0; i < t->note_count; i++)
		free(t->notes[i]);
	free(t->items);
	free(t->notes);
	*t = (struct gittips){0};
}

static void note(struct gittips *t, const char *name, const char *text)
{
	if (!t || t->note_count > NOTES_MAX)
		return;
	GROW(t->notes, t->note_count, t->note_room);
	t->notes[t->note_count] =
		t->note_count == NOTES_MAX
			? mem_strdup("and more of that kind")
			: mem_printf("%s %s", text_quote(name), text);
	t->note_count++;
}

static int too_many(struct refs *r, struct err *err)
{
	if (r->seen++ < ENTRIES_MAX)
		return 0;
	return fail(err, E2BIG,
		    "the run's repository has more than %d refs and reflog "
		    "entries",
		    ENTRIES_MAX);
}

static int add_ref(struct refs *r, const char *name, const struct gitid *id,
		   size_t order, struct err *err)
{
	if (too_many(r, err) < 0)
		return -err->num;
	GROW(r->items, r->count, r->room);
	r->items[r->count++] = (struct ref){mem_strdup(name), *id, order};
	return 0;
}

static int add_logged(struct refs *r, const struct gitid *id, struct err *err)
{
	static const struct gitid none;

	if (memcmp(id, &none, sizeof(none)) == 0)
		return 0;
	if (too_many(r, err) < 0)
		return -err->num;
	GROW(r->logged, r->logged_count, r->logged_room);
	r->logged[r->logged_count++] = *id;
	return 0;
}

static int add_bytes(void *arg, const void *data, size_t len, struct err *err)
{
	(void)err;
	buf_add(arg, data, len);
	return 0;
}

/* 1: read; 0: it is nothing that can be read, which is noted. */
static int read_file(struct refs *r, const char *path, const struct entry *e,
		     struct buf *to, struct err *err)
{
	if (S_ISDIR(e->mode))
		return 0;
	if (!S_ISREG(e->mode)) {
		note(r->notes, path, "is no file: left out");
		return 0;
	}
	if (e->flags & ENTRY_INCOMPLETE) {
		note(r->notes, path, "could not be read whole: left out");
		return 0;
	}
	if (e->size > FILE_MAX)
		return fail(err, EFBIG, "the run's %s has %s: too much",
			    text_quote(path), text_size(e->size));
	if (e->content.type != OBJECT_NONE &&
	    content_each(r->store, &e->content, add_bytes, to, err) < 0)
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

/* A loose ref, or a HEAD. */
static int read_ref(struct refs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_file(r, path, e, &text, err);
	struct gitid id;
	size_t len;

	if (got <= 0 || strncmp(buf_text(&text), "ref:", 4) == 0)
		return got < 0 ? got : 0;
	len = hex_len(buf_text(&text));
	if (len == 64)
		return not_sha1(err);
	if (len == GITID_HEX && gitparse_id(buf_text(&text), &id))
		return add_ref(r, path, &id, r->count, err);
	note(r->notes, path, "holds no id: left out");
	return 0;
}

static int read_packed_line(struct refs *r, const char *line, struct err *err)
{
	size_t len = hex_len(line);
	struct gitid id;

	if (line[0] == '#' || line[0] == '^' || !line[0])
		return 0;
	if (len == 64)
		return not_sha1(err);
	if (len == GITID_HEX && line[len] == ' ' && gitparse_id(line, &id))
		return add_ref(r, line + len + 1, &id, r->count, err);
	note(r->notes, line, "is no line of packed-refs: left out");
	return 0;
}

static int read_packed(struct refs *r, const struct entry *e, struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_file(r, "packed-refs", e, &text, err);
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

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* "old new name <address> time zone TAB what"; of the stash each is an entry,
 * the last one is stash@{0}. */
static int read_log(struct refs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	bool stash = strcmp(path, "logs/refs/stash") == 0;
	AUTO(buf) struct buf text = {0};
	int got = read_file(r, path, e, &text, err);
	const char *at = got > 0 ? buf_text(&text) : "", *stop;
	size_t left = count_lines(at);
	struct gitid old, now;

	for (; got > 0 && (stop = strchr(at, '\n')); at = stop + 1) {
		left--;
		if (hex_len(at) != GITID_HEX || at[GITID_HEX] != ' ' ||
		    hex_len(at + GITID_HEX + 1) != GITID_HEX ||
		    !gitparse_id(at, &old) ||
		    !gitparse_id(at + GITID_HEX + 1, &now))
			continue;
		if (stash) {
			char name[GITID_HEX + 8] = "stash@";

			gitparse_hex(&now, name + 6);
			if (add_ref(r, name, &now, left, err) < 0)
				return -err->num;
		} else if (add_logged(r, &old, err) < 0 ||
			   add_logged(r, &now, err) < 0) {
			return -err->num;
		}
	}
	return got < 0 ? got : 0;
}

static int each_ref(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	struct refs *r = arg;
	auto_free char *name = path_join(r->prefix, path);

	return too_many(r, err) < 0 ? -err->num : read_ref(r, name, e, err);
}

static int each_log(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	struct refs *r = arg;
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
		return each_ref(arg, path, e, err);
	return path_below(rest, "logs") ? each_log(arg, path, e, err) : 0;
}

static int each_in(struct refs *r, const struct entry *git, const char *name,
		   int (*each)(void *arg, const char *path,
			       const struct entry *e, struct err *err),
		   struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(r->store, git, name, &e, err);

	if (got <= 0)
		return got;
	if (!S_ISDIR(e.mode)) {
		note(r->notes, name, "is no folder: left out");
		return 0;
	}
	r->prefix = name;
	return tree_each(r->store, &e, each, r, err);
}

static int read_one(struct refs *r, const struct entry *git, const char *name,
		    struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(r->store, git, name, &e, err);

	if (got <= 0)
		return got;
	return strcmp(name, "HEAD") == 0 ? read_ref(r, name, &e, err)
					 : read_packed(r, &e, err);
}

static int by_name(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_name_and_order(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;
	int got = strcmp(x->name, y->name);

	return got ? got : (x->order > y->order) - (x->order < y->order);
}

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

/* Sorts; of several of one name the last stays, of the stash the newest. */
static void settle(struct refs *r)
{
	size_t i, kept = 0;

	if (r->count)
		qsort(r->items, r->count, sizeof(*r->items), by_name_and_order);
	for (i = 0; i < r->count; i++) {
		bool stash = strncmp(r->items[i].name, "stash@", 6) == 0;

		if (kept && by_name(&r->items[kept - 1], &r->items[i]) == 0) {
			if (!stash)
				r->items[kept - 1].id = r->items[i].id;
			free(r->items[i].name);
			continue;
		}
		r->items[kept++] = r->items[i];
	}
	r->count = kept;
	if (r->logged_count)
		qsort(r->logged, r->logged_count, sizeof(*r->logged), by_id);
}

static int read_refs(struct refs *r, const struct entry *git, struct err *err)
{
	if (read_one(r, git, "packed-refs", err) < 0 ||
	    each_in(r, git, "refs", each_ref, err) < 0 ||
	    read_one(r, git, "HEAD", err) < 0 ||
	    each_in(r, git, "logs", each_log, err) < 0 ||
	    each_in(r, git, "worktrees", each_worktree, err) < 0)
		return -err->num;
	settle(r);
	return 0;
}

/* What a ref is called below the prefix; NULL when it has none. To free. */
static char *name_below(const struct ref *ref, struct gittips *t)
{
	auto_free char *name = NULL, *whole = NULL;

	if (strncmp(ref->name, "stash@", 6) == 0)
		return mem_printf("stash/%zu", ref->order);
	if (strcmp(ref->name, "refs/stash") == 0)
		return mem_strdup("stash/0");
	if (strcmp(ref->name, "HEAD") == 0 ||
	    path_below(ref->name, "worktrees"))
		name = mem_strdup(ref->name);
	else if (strncmp(ref->name, "refs/", 5) == 0)
		name = mem_strdup(ref->name + 5);
	whole = name ? mem_printf("refs/%s", name) : NULL;
	if (whole && gitname_ref_ok(whole))
		return TAKE(name);
	note(t, ref->name, "is no name that a ref may have: left out");
	return NULL;
}

static int add_tip(struct gittips *t, char *name, const struct gitid *id,
		   struct err *err)
{
	size_t max = name ? GITTIPS_MAX : GITTIPS_MAX + GITTIPS_LOG_MAX;

	GROW(t->items, t->count, t->room);
	t->items[t->count++] = (struct gittip){name, *id};
	if (t->count <= max)
		return 0;
	return fail(err, E2BIG,
		    "the run made more than %d new %s: that is not imported",
		    name ? GITTIPS_MAX : GITTIPS_LOG_MAX,
		    name ? "refs" : "reflog entries");
}

static int by_tip_name(const void *a, const void *b)
{
	const struct gittip *x = a, *y = b;

	return path_compare(x->name, y->name);
}

/* refs/stash and its newest entry are one; a ref below another (which git
 * never makes) cannot be made either. */
static void drop_twins(struct gittips *t)
{
	size_t i, kept = 0;

	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items), by_tip_name);
	for (i = 0; i < t->count; i++) {
		struct gittip *last = kept ? &t->items[kept - 1] : NULL;

		if (last && path_below(t->items[i].name, last->name)) {
			if (memcmp(&last->id, &t->items[i].id,
				   sizeof(last->id)) != 0)
				note(t, t->items[i].name,
				     "is in the way of another ref: left out");
			free(t->items[i].name);
			continue;
		}
		t->items[kept++] = t->items[i];
	}
	t->count = kept;
}

static int subtract(const struct refs *base, const struct refs *now,
		    struct gittips *t, struct err *err)
{
	size_t i;

	for (i = 0; i < now->count; i++) {
		const struct ref *ref = &now->items[i], *was;
		char *name;

		was = base->count ? bsearch(ref, base->items, base->count,
					    sizeof(*ref), by_name)
				  : NULL;
		if (was && by_id(&was->id, &ref->id) == 0)
			continue;
		name = name_below(ref, t);
		if (name && add_tip(t, name, &ref->id, err) < 0)
			return -err->num;
	}
	drop_twins(t);
	for (i = 0; i < now->logged_count; i++) {
		const struct gitid *id = &now->logged[i];

		if ((i && by_id(id, id - 1) == 0) ||
		    (base->logged_count &&
		     bsearch(id, base->logged, base->logged_count, sizeof(*id),
			     by_id)))
			continue;
		if (add_tip(t, NULL, id, err) < 0)
			return -err->num;
	}
	return 0;
}

/* What else of the run's repository is not looked at. */
static int note_others(struct refs *now, const struct entry *base,
		       const struct entry *git, struct err *err)
{
	static const char *const names[] = {"modules",
					    "objects/info/alternates"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		AUTO(entry) struct entry old = {0}, e = {0};
		int got = tree_lookup(now->store, git, names[i], &e, err);

		if (got > 0 && base->mode)
			got = tree_lookup(now->store, base, names[i], &old,
					  err) < 0
				      ? -err->num
				      : 1;
		if (got < 0)
			return got;
		if (got && !(old.mode && entry_equal(&old, &e)))
			note(now->notes, names[i],
			     i ? "is not followed: no object is taken from "
				 "elsewhere"
			       : "(repositories of submodules) is left out");
	}
	return 0;
}

static int find_git(struct store *store, const struct entry *root,
		    struct entry *ret, struct err *err)
{
	int got = tree_lookup(store, root, ".git", ret, err);

	if (got < 0)
		return got;
	if (!got)
		return fail(err, ENOENT, "the run left no .git folder");
	if (S_ISDIR(ret->mode))
		return 0;
	return fail(err, ENOTDIR,
		    "the .git here is a file (a linked worktree or a "
		    "submodule): commits of such runs cannot be imported yet");
}

int gittips_read(struct store *store, const struct entry *base,
		 const struct entry *result, struct gittips *ret,
		 struct err *err)
{
	AUTO(entry) struct entry old_git = {0}, git = {0};
	AUTO(gittips) struct gittips t = {0};
	AUTO(refs) struct refs old = {.store = store};
	AUTO(refs) struct refs now = {.store = store, .notes = &t};

	if (find_git(store, result, &git, err) < 0)
		return -err->num;
	if (base && tree_lookup(store, base, ".git", &old_git, err) < 0)
		return -err->num;
	if (old_git.mode && !S_ISDIR(old_git.mode))
		entry_free(&old_git);
	if ((old_git.mode && read_refs(&old, &old_git, err) < 0) ||
	    read_refs(&now, &git, err) < 0 ||
	    note_others(&now, &old_git, &git, err) < 0 ||
	    subtract(&old, &now, &t, err) < 0)
		return -err->num;
	*ret = t;
	t = (struct gittips){0};
	return 0;
}
