#include "restore/git/gittips.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitname.h"

void gittips_free(struct gittips *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->items[i].name);
	free(t->items);
	gitrefs_free_notes(&t->notes);
	*t = (struct gittips){0};
}

static int by_name(const void *a, const void *b)
{
	const struct gitref *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

/* What a ref is called below the prefix; NULL when it has none. To free. */
static char *name_below(const struct gitref *ref, struct gittips *t)
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
	gitrefs_note(&t->notes, ref->name,
		     "is no name that a ref may have: left out");
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
				gitrefs_note(&t->notes, t->items[i].name,
					     "is in the way of another ref: "
					     "left out");
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

	for (i = 0; i < now->count; i++) {
		const struct gitref *ref = &now->items[i], *was;
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
static const struct {
	const char *name, *text;
	const char *incomplete; /* what is missing for it */
} others[] = {
	{"modules", "(repositories of submodules) is left out", NULL},
	{"objects/info/alternates",
	 "is not followed: no object is taken from elsewhere",
	 "objects of elsewhere are not taken"},
	{"objects/info/http-alternates",
	 "is not followed: no object is taken from elsewhere",
	 "objects of elsewhere are not taken"},
	{"info/grafts", "is not obeyed: commits keep their own parents", NULL},
	{"shallow", "is not obeyed: commits keep their own parents",
	 "the run's repository is a shallow clone, whose history has an end; "
	 "`git fetch --unshallow` in it would complete it"},
	{"refs/replace", "is not obeyed: its refs are taken as any others",
	 NULL},
};

static int note_others(struct gitrefs *now, const struct entry *base,
		       const struct entry *git, struct gittips *t,
		       struct err *err)
{
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++) {
		AUTO(entry) struct entry old = {0}, e = {0};
		int got = tree_lookup(now->store, git, others[i].name, &e, err);

		if (got > 0 && base->mode)
			got = tree_lookup(now->store, base, others[i].name,
					  &old, err) < 0
				      ? -err->num
				      : 1;
		if (got < 0)
			return got;
		if (got && !t->incomplete)
			t->incomplete = others[i].incomplete;
		if (got && !(old.mode && entry_equal(&old, &e)))
			gitrefs_note(now->notes, others[i].name,
				     others[i].text);
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
	if (S_ISLNK(ret->mode))
		return fail(err, ENOTDIR,
			    "the .git that the run left is a link to %s: it is "
			    "not followed",
			    text_quote(ret->link));
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
	AUTO(gitrefs) struct gitrefs old = {.store = store};
	AUTO(gitrefs) struct gitrefs now = {.store = store, .notes = &t.notes};

	if (find_git(store, result, &git, err) < 0)
		return -err->num;
	if (base && tree_lookup(store, base, ".git", &old_git, err) < 0)
		return -err->num;
	if (old_git.mode && !S_ISDIR(old_git.mode))
		entry_free(&old_git);
	if (old_git.mode && gitrefs_read(&old, &old_git, err) < 0)
		return -err->num;
	/* Each may be there twice, packed and loose. Of millions of files not
	 * all are to be read to find that they are too many. */
	now.ref_max = 2 * (old.count + GITTIPS_MAX + 1);
	if (gitrefs_read(&now, &git, err) < 0 ||
	    note_others(&now, &old_git, &git, &t, err) < 0 ||
	    subtract(&old, &now, &t, err) < 0)
		return -err->num;
	*ret = t;
	t = (struct gittips){0};
	return 0;
}
