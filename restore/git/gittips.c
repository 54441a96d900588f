#include "restore/git/gittips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

#define FILE_MAX (64u << 20)
#define ENTRIES_MAX 2000000
#define NOTES_MAX 50
/* A ref is a file with this name: longer names cannot be created. */
#define REF_MAX 1024
#define REF_PART_MAX 250

struct gitref {
	char *name; /* complete; "stash@" and the id for an entry of the stash
		     */
	struct gitid id;
	size_t order; /* a later ref hides an earlier one; stash: its line */
};

/* The refs and reflogs of one repository. */
struct gitrefs {
	struct store *store;
	struct names *notes; /* skipped parts with the reason; NULL: none */
	const char *prefix; /* current prefix of the read paths */
	VEC(struct gitref) refs; /* sorted by name */
	char *branch; /* HEAD's; NULL: HEAD is detached, or not read */
	size_t stash_lines;
	VEC(struct gitid) logged; /* sorted; may hold duplicates */
	size_t ref_max; /* 0: no limit of its own */
	size_t seen;
};

static void gitrefs_free(struct gitrefs *r)
{
	size_t i;

	for (i = 0; i < r->refs.count; i++)
		free(r->refs.items[i].name);
	VEC_FREE(&r->refs);
	VEC_FREE(&r->logged);
	free(r->branch);
}

void gittips_free(struct gittips *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->items[i].name);
	VEC_FREE(t);
	names_free(&t->notes);
}

static size_t hex_len(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool gittips_read_id(const char *text, struct gitid *ret)
{
	if (hex_len(text) < GITID_HEX)
		return false;
	memcpy(ret->hex, text, GITID_HEX);
	ret->hex[GITID_HEX] = '\0';
	return true;
}

int gittips_compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

static void add_note(struct names *notes, const char *name, const char *text)
{
	if (!notes || notes->count > NOTES_MAX)
		return;
	if (notes->count == NOTES_MAX)
		names_add(notes, "and more of this kind");
	else
		*VEC_ADD(notes) = mem_printf("%s %s", text_quote(name), text);
}

static bool part_ok(const char *part, size_t len)
{
	size_t i;

	if (!len || len > REF_PART_MAX || part[0] == '.' ||
	    part[len - 1] == '.')
		return false;
	if (len >= 5 && memcmp(part + len - 5, ".lock", 5) == 0)
		return false;
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)part[i];

		if (c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c))
			return false;
		if (i && ((c == '.' && part[i - 1] == '.') ||
			  (c == '{' && part[i - 1] == '@')))
			return false;
	}
	return true;
}

bool gittips_ref_ok(const char *name)
{
	if (strncmp(name, "refs/", 5) != 0 || strlen(name) > REF_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(name, "/");

		if (!part_ok(name, len))
			return false;
		if (!name[len])
			return true;
		name += len + 1;
	}
}

/* --- refs and reflogs --- */

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
	if (r->ref_max && r->refs.count >= r->ref_max)
		return fail(err, E2BIG,
			    "the run's repository has more than %zu refs: too "
			    "many to import",
			    r->ref_max);
	*VEC_ADD(&r->refs) = (struct gitref){mem_strdup(name), *id, order};
	return 0;
}

static int add_logged_id(struct gitrefs *r, const struct gitid *id,
			 struct err *err)
{
	if (strspn(id->hex, "0") == GITID_HEX)
		return 0;
	if (too_many(r, err) < 0)
		return -err->num;
	*VEC_ADD(&r->logged) = *id;
	return 0;
}

/* 1: read; 0: not readable, which is noted. */
static int read_ref_file(struct gitrefs *r, const char *path,
			 const struct entry *e, struct buf *to, struct err *err)
{
	if (S_ISDIR(e->mode))
		return 0;
	if (!S_ISREG(e->mode)) {
		add_note(r->notes, path, "is not a file: skipped");
		return 0;
	}
	if (e->flags & ENTRY_INCOMPLETE) {
		add_note(r->notes, path,
			 "could not be read completely: skipped");
		return 0;
	}
	if (e->size > FILE_MAX)
		return fail(err, EFBIG,
			    "the run's %s has %s: too large to import",
			    text_quote(path), text_size(e->size));
	if (e->content.type != OBJECT_NONE &&
	    content_append(r->store, &e->content, to, err) < 0)
		return -err->num;
	(void)buf_text(to);
	return 1;
}

/* 1: an id and no further digit; 0: none. */
static int read_exact_id(const char *text, struct gitid *ret, struct err *err)
{
	size_t len = hex_len(text);

	if (len == 64)
		return fail(err, ENOTSUP,
			    "the run's repository uses SHA-256: guard imports "
			    "from and into SHA-1 repositories only");
	return len == GITID_HEX && gittips_read_id(text, ret);
}

/* Reads a loose ref, or a HEAD. */
static int read_ref(struct gitrefs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_ref_file(r, path, e, &text, err);
	const char *at = buf_text(&text);
	struct gitid id;

	if (got <= 0)
		return got;
	if (strncmp(at, "ref:", 4) == 0) {
		at += 4 + strspn(at + 4, " \t");
		if (strcmp(path_name(path), "HEAD") == 0 && !r->branch)
			r->branch = mem_strndup(at, strcspn(at, "\n"));
		return 0;
	}
	got = read_exact_id(at, &id, err);
	if (got == 0)
		add_note(r->notes, path, "has no object id: skipped");
	return got > 0 ? add_found_ref(r, path, &id, r->refs.count, err) : got;
}

static int read_packed(struct gitrefs *r, const char *path,
		       const struct entry *e, struct err *err)
{
	AUTO(buf) struct buf text = {0};
	int got = read_ref_file(r, path, e, &text, err);
	char *rest = got > 0 ? (char *)text.data : NULL, *line;
	struct gitid id;

	while (got >= 0 && (line = strsep(&rest, "\n"))) {
		if (line[0] == '#' || line[0] == '^' || !line[0])
			continue;
		got = read_exact_id(line, &id, err);
		if (got > 0 && strncmp(line + GITID_HEX, " refs/", 6) == 0)
			got = add_found_ref(r, line + GITID_HEX + 1, &id,
					    r->refs.count, err);
		else if (got >= 0)
			add_note(r->notes, line,
				 "is not a line of packed-refs: skipped");
	}
	return got < 0 ? got : 0;
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
	size_t line = 0;
	struct gitid old, now;
	struct err ignored;

	for (; (stop = strchr(at, '\n')); at = stop + 1, line++) {
		if (read_exact_id(at, &old, &ignored) <= 0 ||
		    at[GITID_HEX] != ' ' ||
		    read_exact_id(at + GITID_HEX + 1, &now, &ignored) <= 0)
			continue;
		if (stash) {
			auto_free char *name = mem_printf("stash@%s", now.hex);

			if (add_found_ref(r, name, &now, line, err) < 0)
				return -err->num;
		} else if (add_logged_id(r, &old, err) < 0 ||
			   add_logged_id(r, &now, err) < 0) {
			return -err->num;
		}
	}
	if (stash)
		r->stash_lines = line;
	return got < 0 ? got : 0;
}

/* Reads refs/..., logs/..., and worktrees/NAME/ with HEAD, refs/... and
 * logs/... */
static int read_entry(void *arg, const char *path, const struct entry *e,
		      struct err *err)
{
	struct gitrefs *r = arg;
	auto_free char *name = path_join(r->prefix, path);
	const char *rest = name;
	bool log;

	if (path_below(name, "worktrees")) {
		rest = strchr(path, '/');
		if (!rest)
			return 0;
		rest++;
	}
	log = path_below(rest, "logs");
	if (!log && strcmp(rest, "HEAD") != 0 && !path_below(rest, "refs"))
		return 0;
	if (too_many(r, err) < 0)
		return -err->num;
	return log ? read_log(r, name, e, err) : read_ref(r, name, e, err);
}

static int read_dir(struct gitrefs *r, const char *path, const struct entry *e,
		    struct err *err)
{
	if (!S_ISDIR(e->mode)) {
		add_note(r->notes, path, "is not a directory: skipped");
		return 0;
	}
	r->prefix = path;
	return tree_each(r->store, e, read_entry, r, err);
}

/* Reads a part of the .git directory, if it exists. */
static int read_part(struct gitrefs *r, const struct entry *git,
		     const char *name,
		     int (*read)(struct gitrefs *r, const char *path,
				 const struct entry *e, struct err *err),
		     struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(r->store, git, name, &e, err);

	return got > 0 ? read(r, name, &e, err) : got;
}

static int by_name_and_order(const void *a, const void *b)
{
	const struct gitref *x = a, *y = b;
	int got = strcmp(x->name, y->name);

	return got ? got : (x->order > y->order) - (x->order < y->order);
}

/* git would look for refs and objects elsewhere, so the files here are not
 * those of the repository. */
static int check_form(const struct gitrefs *r, const struct entry *git,
		      struct err *err)
{
	static const char *const forms[][2] = {
		{"commondir", "puts refs and objects elsewhere"},
		{"reftable", "holds its refs; guard reads only refs in files"},
	};
	int got = 0;
	size_t i;

	for (i = 0; got == 0 && i < ARRAY_SIZE(forms); i++) {
		AUTO(entry) struct entry e = {0};

		got = tree_lookup(r->store, git, forms[i][0], &e, err);
		if (got > 0)
			got = fail(err, ENOTSUP,
				   "the run's .git/%s %s: import does not "
				   "support this",
				   forms[i][0], forms[i][1]);
	}
	return got;
}

/* Reads the .git directory `git`; r->store and r->notes are set. */
static int gitrefs_read(struct gitrefs *r, const struct entry *git,
			struct err *err)
{
	struct gitref *items;
	size_t i, kept = 0;

	if (check_form(r, git, err) < 0 ||
	    read_part(r, git, "packed-refs", read_packed, err) < 0 ||
	    read_part(r, git, "refs", read_dir, err) < 0 ||
	    read_part(r, git, "HEAD", read_ref, err) < 0 ||
	    read_part(r, git, "logs", read_dir, err) < 0 ||
	    read_part(r, git, "worktrees", read_dir, err) < 0)
		return -err->num;
	VEC_SORT(&r->refs, by_name_and_order);
	VEC_SORT(&r->logged, gittips_compare_ids);
	/* Of several refs with one name the last one stays: of several stash
	 * entries with one commit (stash@<id>) the newest. */
	for (items = r->refs.items, i = 0; i < r->refs.count; i++) {
		if (kept && strcmp(items[kept - 1].name, items[i].name) == 0)
			free(items[--kept].name);
		items[kept++] = items[i];
	}
	r->refs.count = kept;
	return 0;
}

/* --- new refs --- */

/* The name of a ref below the prefix; NULL when it has none. To free. */
static char *name_below(const struct gitrefs *now, const struct gitref *ref,
			struct gittips *t)
{
	const char *name =
		path_below(ref->name, "refs") ? ref->name + 5 : ref->name;
	auto_free char *whole = mem_printf("refs/%s", name);

	if (strncmp(ref->name, "stash@", 6) == 0)
		return mem_printf("stash/%zu",
				  now->stash_lines - 1 - ref->order);
	if (strcmp(ref->name, "refs/stash") == 0)
		return mem_strdup("stash/0");
	if (gittips_ref_ok(whole))
		return mem_strdup(name);
	add_note(&t->notes, ref->name, "is not a valid ref name: skipped");
	return NULL;
}

static int add_tip(struct gittips *t, char *name, const struct gitid *id,
		   struct err *err)
{
	size_t max = name ? GITTIPS_MAX : GITTIPS_MAX + GITTIPS_LOG_MAX;

	*VEC_ADD(t) = (struct gittip){name, *id};
	if (t->count <= max)
		return 0;
	return fail(err, E2BIG,
		    "the run created more than %d new %s: too many to import",
		    name ? GITTIPS_MAX : GITTIPS_LOG_MAX,
		    name ? "refs" : "reflog entries");
}

/* refs/stash and its newest entry are one; a ref below another (which git
 * never makes) cannot be made either. */
static void drop_twins(struct gittips *t)
{
	size_t i, kept = 0;

	SORT_BY_PATH(t->items, t->count, name);
	for (i = 0; i < t->count; i++) {
		struct gittip *last = kept ? &t->items[kept - 1] : NULL;

		if (last && path_below(t->items[i].name, last->name)) {
			if (gittips_compare_ids(&last->id, &t->items[i].id) !=
			    0)
				add_note(&t->notes, t->items[i].name,
					 "conflicts with another ref: skipped");
			free(t->items[i].name);
			continue;
		}
		t->items[kept++] = t->items[i];
	}
	t->count = kept;
}

static int subtract(const struct gitrefs *base, const struct gitrefs *now,
		    struct gittips *t, struct err *err)
{
	size_t i;

	for (i = 0; i < now->refs.count; i++) {
		const struct gitref *ref = &now->refs.items[i], *was;
		char *name;

		was = FIND_BY_TEXT(ref->name, base->refs.items,
				   base->refs.count, name);
		if (was && gittips_compare_ids(&was->id, &ref->id) == 0)
			continue;
		name = name_below(now, ref, t);
		if (name && add_tip(t, name, &ref->id, err) < 0)
			return -err->num;
	}
	drop_twins(t);
	for (i = 0; i < now->logged.count; i++) {
		const struct gitid *id = &now->logged.items[i];

		if ((i && gittips_compare_ids(id, id - 1) == 0) ||
		    (base->logged.count &&
		     bsearch(id, base->logged.items, base->logged.count,
			     sizeof(*id), gittips_compare_ids)))
			continue;
		if (add_tip(t, NULL, id, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Other parts of the run's repository, which are not read. */
static const struct {
	const char *name, *text;
	const char *incomplete; /* the reason for missing objects */
} others[] = {
	{"objects/info/alternates",
	 "is not followed: objects from elsewhere are not imported",
	 "objects from elsewhere are not imported"},
	{"objects/info/http-alternates",
	 "is not followed: objects from elsewhere are not imported",
	 "objects from elsewhere are not imported"},
	{"info/grafts", "is ignored: commits keep their own parents", NULL},
	{"shallow", "is ignored: commits keep their own parents",
	 "the run's repository is a shallow clone; `git fetch --unshallow` in "
	 "it would complete its history"},
	{"refs/replace", "is ignored: its refs are imported like others", NULL},
};

static int note_others(struct gitrefs *now, const struct entry *base,
		       const struct entry *git, struct gittips *t,
		       struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(entry) struct entry old = {0}, e = {0};

		if (tree_lookup(now->store, git, others[i].name, &e, err) < 0 ||
		    (S_ISDIR(base->mode) &&
		     tree_lookup(now->store, base, others[i].name, &old, err) <
			     0))
			return -err->num;
		if (e.mode && !t->incomplete)
			t->incomplete = others[i].incomplete;
		if (e.mode && !(old.mode && entry_equal(&old, &e)))
			add_note(now->notes, others[i].name, others[i].text);
	}
	return 0;
}

int gittips_read(struct store *store, const struct entry *base,
		 const struct entry *git, struct gittips *ret, struct err *err)
{
	static const struct entry none;
	AUTO(gittips) struct gittips t = {0};
	AUTO(gitrefs) struct gitrefs old = {.store = store};
	AUTO(gitrefs) struct gitrefs now = {.store = store, .notes = &t.notes};

	if (!base || !S_ISDIR(base->mode))
		base = &none;
	else if (gitrefs_read(&old, base, err) < 0)
		return -err->num;
	/* Each may be there twice, packed and loose. Of millions of files not
	 * all are to be read to find that they are too many. */
	now.ref_max = 2 * (old.refs.count + GITTIPS_MAX + 1);
	if (gitrefs_read(&now, git, err) < 0 ||
	    note_others(&now, base, git, &t, err) < 0 ||
	    subtract(&old, &now, &t, err) < 0)
		return -err->num;
	*ret = TAKE(t);
	return 0;
}

bool gittips_has_local(const struct gittips *t)
{
	size_t i, k;

	for (i = 0; i < t->count; i++) {
		const struct gittip *tip = &t->items[i];

		if (!tip->name || (!path_below(tip->name, "heads") &&
				   strcmp(tip->name, "HEAD") != 0))
			continue;
		for (k = 0; k < t->count; k++)
			if (t->items[k].name &&
			    path_below(t->items[k].name, "remotes") &&
			    gittips_compare_ids(&t->items[k].id, &tip->id) == 0)
				break;
		if (k == t->count)
			return true;
	}
	return false;
}

/* --- HEAD --- */

void githead_free(struct githead *h)
{
	free(h->branch);
	*h = (struct githead){0};
}

/* Reads a loose ref that must be a branch. */
static int read_branch(struct gitrefs *r, const char *path,
		       const struct entry *e, struct err *err)
{
	size_t packed = r->refs.count;

	if (read_ref(r, path, e, err) < 0)
		return -err->num;
	return S_ISDIR(e->mode) || r->refs.count > packed
		       ? 0
		       : fail(err, ENOTSUP, "%s is not a plain branch",
			      text_quote(path));
}

/* A loose ref hides the packed one of the same name. */
static int find_ref(struct gitrefs *r, const struct entry *git,
		    const char *name, struct gitid *ret, struct err *err)
{
	size_t i;

	if (read_part(r, git, "packed-refs", read_packed, err) < 0 ||
	    read_part(r, git, name, read_branch, err) < 0)
		return -err->num;
	for (i = 0; i < r->refs.count; i++)
		if (strcmp(r->refs.items[i].name, name) == 0)
			*ret = r->refs.items[i].id;
	return 0;
}

int githead_find(struct store *store, const struct entry *git, const char *name,
		 struct gitid *ret, struct err *err)
{
	AUTO(gitrefs) struct gitrefs r = {.store = store};
	struct gitid id = {0};

	if (check_form(&r, git, err) < 0 ||
	    find_ref(&r, git, name, &id, err) < 0)
		return -err->num;
	*ret = id;
	return 0;
}

int githead_check_new(struct store *store, const struct entry *git,
		      const char *name, struct err *err)
{
	AUTO(gitrefs) struct gitrefs r = {.store = store};
	size_t i;

	if (check_form(&r, git, err) < 0 ||
	    read_part(&r, git, "packed-refs", read_packed, err) < 0 ||
	    read_part(&r, git, "refs", read_dir, err) < 0)
		return -err->num;
	for (i = 0; i < r.refs.count; i++)
		if (path_below(r.refs.items[i].name, name) ||
		    path_below(name, r.refs.items[i].name))
			return fail(err, EEXIST, "%s exists",
				    text_quote(r.refs.items[i].name));
	return 0;
}

int githead_read(struct store *store, const struct entry *git, const char *own,
		 struct githead *ret, struct err *err)
{
	auto_free char *path = path_join(own, "HEAD");
	AUTO(gitrefs) struct gitrefs r = {.store = store};
	struct gitid id = {0};

	if (check_form(&r, git, err) < 0 ||
	    read_part(&r, git, path, read_ref, err) < 0)
		return -err->num;
	if (r.refs.count)
		id = r.refs.items[0].id;
	if (r.branch &&
	    (!path_below(r.branch, "refs/heads") || !gittips_ref_ok(r.branch)))
		return fail(err, ENOTSUP, "HEAD names no branch: %s",
			    text_quote(r.branch));
	if (r.branch && find_ref(&r, git, r.branch, &id, err) < 0)
		return -err->num;
	*ret = (struct githead){TAKE(r.branch), id};
	return 0;
}
