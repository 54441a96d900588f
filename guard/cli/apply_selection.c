#include "guard/cli/apply_selection.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/review/review_kinds.h"
#include "restore/git/textdiff.h"

#define LINE_MAX_NUMBER 1000000000UL

void apply_selection_free_root(struct selected_root *root)
{
	review_free(&root->review);
	entry_free(&root->picked);
}

void apply_selection_free(struct apply_selection *s)
{
	size_t i;

	apply_selection_restore(s);
	for (i = 0; i < s->lines.count; i++) {
		free(s->lines.items[i].name);
		free(s->lines.items[i].path);
	}
	VEC_FREE(&s->lines);
	for (i = 0; i < s->root_count; i++)
		apply_selection_free_root(&s->roots[i]);
	free(s->roots);
	*s = (struct apply_selection){0};
}

bool apply_selection_any(const struct apply_selection *s)
{
	return s->kinds || s->lines.count;
}

/* --- operands --- */

/* "10" or "10-20". */
static bool parse_range(const char *text, size_t *ret_first, size_t *ret_last)
{
	size_t len = strcspn(text, "-");
	auto_free char *from = mem_strndup(text, len);
	unsigned long first, last;

	if (parse_number(from, LINE_MAX_NUMBER, &first) < 0 || !first)
		return false;
	last = first;
	if (text[len] &&
	    (parse_number(text + len + 1, LINE_MAX_NUMBER, &last) < 0 ||
	     last < first))
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

void apply_selection_parse(struct apply_selection *s, int count, char **argv)
{
	struct stat st;
	int i;

	for (i = 0; i < count; i++) {
		const char *colon = strrchr(argv[i], ':');
		struct selected_lines lines = {0};

		if (!colon || colon == argv[i] || lstat(argv[i], &st) == 0 ||
		    !parse_range(colon + 1, &lines.first, &lines.last))
			continue;
		lines.slot = &argv[i];
		lines.operand = argv[i];
		lines.name = mem_strndup(argv[i], (size_t)(colon - argv[i]));
		*VEC_ADD(&s->lines) = lines;
		argv[i] = lines.name;
	}
}

void apply_selection_restore(struct apply_selection *s)
{
	size_t i;

	for (i = 0; i < s->lines.count; i++)
		*s->lines.items[i].slot = s->lines.items[i].operand;
}

/* --- lines --- */

/* Whether the hunk adds one of the lines, or removes lines in front of, between
 * or behind them. */
static bool hunk_touches(const struct hunk *h, const struct selected_lines *l)
{
	size_t line = h->new_at, i;

	for (i = 0; i < h->lines.count; i++) {
		char kind = h->lines.items[i].kind;

		line += kind != '-';
		if (kind == '+' && line >= l->first && line <= l->last)
			return true;
		if (kind == '-' && line + 1 >= l->first && line <= l->last)
			return true;
	}
	return false;
}

/* The smallest parts that unchanged lines divide. */
static void split_completely(struct review *r, size_t item)
{
	size_t part = r->items[item].parts;

	while (part-- > 0) {
		const struct hunk *hunk = review_hunk(&r->items[item], part);

		if (hunk && hunks_can_split(hunk))
			review_split(r, item, part);
	}
}

static int select_lines(struct review *r, size_t number,
			struct selected_lines *l, struct err *err)
{
	struct review_item *item = &r->items[number];
	const struct review_entry *e = review_entry(r, item);
	size_t taken = 0, i;

	if (textdiff_available(err) < 0)
		return err_context(err, "%s", text_quote(l->operand));
	if (review_is_group(item) || !review_old(r, item)->mode ||
	    !e->now.mode || review_open(r, item, err) < 0 || !item->hunks.count)
		return fail(err, EINVAL,
			    "%s: only a modified text can be applied by lines",
			    text_quote(l->operand));
	if (!l->found)
		split_completely(r, number);
	for (i = 0; i < item->parts; i++) {
		const struct hunk *hunk = review_hunk(item, i);

		if (!hunk || !hunk_touches(hunk, l))
			continue;
		review_answer_part(r, item, i, REVIEW_YES);
		taken++;
	}
	l->found = true;
	if (!taken)
		return fail(err, ENOENT,
			    "%s: the run did not change these lines; guard "
			    "diff shows the lines of the new file",
			    text_quote(l->operand));
	output_print("%s: %zu of %s", text_quote(l->operand), taken,
		     text_count(item->hunks.count, "hunk"));
	return 0;
}

/* The lines of an item; an item without any is taken completely. */
static int select_item(struct apply_selection *s, const struct session *session,
		       size_t root, size_t number, struct err *err)
{
	struct review *r = &s->roots[root].review;
	struct review_item *item = &r->items[number];
	bool by_lines = false;
	size_t i, k;

	for (i = 0; i < s->lines.count; i++) {
		struct selected_lines *l = &s->lines.items[i];
		const char *path = session->roots[root].path;

		if (session_root_of(session, l->path) != root ||
		    strcmp(path_rest(l->path, path), item->path) != 0)
			continue;
		/* The first of several ranges has divided the hunks. */
		for (k = 0; k < i && by_lines; k++)
			l->found |=
				strcmp(s->lines.items[k].path, l->path) == 0;
		by_lines = true;
		if (select_lines(r, number, l, err) < 0)
			return -err->num;
	}
	for (i = 0; !by_lines && i < item->parts; i++)
		review_answer_part(r, item, i, REVIEW_YES);
	return 0;
}

/* Lines are of the new file. */
static int fail_lines(const struct apply_selection *s,
		      const struct selected_lines *l, struct err *err)
{
	size_t root, i;

	for (root = 0; root < s->root_count; root++)
		for (i = 0; i < s->roots[root].review.count; i++) {
			const struct review *r = &s->roots[root].review;
			const struct review_item *item = &r->items[i];
			const char *from =
				item->move ? review_moved_from(r, item, 0)->path
					   : NULL;
			size_t at = from ? strlen(l->path) - strlen(from) : 0;

			if (from && strlen(l->path) > strlen(from) &&
			    l->path[at - 1] == '/' &&
			    strcmp(l->path + at, from) == 0)
				return fail(err, ENOENT,
					    "%s: the run moved the file to "
					    "%s: name the lines of that one",
					    text_quote(l->operand),
					    text_quote(item->path));
		}
	return fail(err, ENOENT,
		    "%s: only a modified text can be applied by lines",
		    text_quote(l->operand));
}

static int select_all_lines(struct apply_selection *s,
			    const struct session *session, struct err *err)
{
	size_t root, i;

	for (root = 0; root < s->root_count; root++)
		for (i = 0; i < s->roots[root].review.count; i++)
			if (select_item(s, session, root, i, err) < 0)
				return -err->num;
	for (i = 0; i < s->lines.count; i++)
		if (!s->lines.items[i].found)
			return fail_lines(s, &s->lines.items[i], err);
	return 0;
}

/* --- kinds --- */

static int select_kinds(struct apply_selection *s, struct err *err)
{
	auto_free struct review **reviews =
		mem_alloc((s->root_count + 1) * sizeof(struct review *));
	AUTO(review_kinds) struct review_kinds k = {0};
	size_t i;

	for (i = 0; i < s->root_count; i++)
		reviews[i] = &s->roots[i].review;
	review_kinds_make(reviews, s->root_count, &k);
	for (i = 0; s->kinds[i]; i++) {
		bool ambiguous;
		const struct kind *kind =
			kinds_find(&k.kinds, s->kinds[i], &ambiguous);

		if (!kind)
			return fail(err, ENOENT,
				    ambiguous ? "several kinds begin with %s: "
						"give more digits"
					      : "no kind %s: guard diff "
						"--kinds lists them",
				    text_quote(s->kinds[i]));
		review_kinds_answer(&k, NULL, kind, REVIEW_YES);
		output_print("kind %.*s: %s", k.kinds.id_len, kind->id,
			     text_count(kind->places.count, "hunk"));
	}
	return 0;
}

/* --- trees --- */

int apply_selection_review_root(struct apply_plan *a, size_t index,
				struct review_options with, struct review *ret,
				struct err *err)
{
	struct changeset_root *root = &a->change.roots[index];
	char *const *paths = resolve_run_paths(a->p, index);

	if (!paths && resolve_run_has_paths(a->p))
		return 0;
	with.paths = (const char *const *)paths;
	with.changes = &a->changes.roots[index];
	with.here = &root->now.root;
	return review_make(a->c->store, &root->base.root, &root->want.root,
			   &with, ret, err);
}

int apply_selection_pick_root(struct selected_root *root,
			      struct changeset_root *to, struct err *err)
{
	entry_free(&root->picked);
	root->complete = false;
	if (!root->review.store)
		entry_copy(&root->picked, &to->base.root);
	else if (review_make_accepted(&root->review, &root->picked,
				      &root->complete, &root->git, err) < 0)
		return -err->num;
	to->picked = &root->picked;
	to->git_picked = root->git;
	return 0;
}

int apply_selection_pick(struct apply_selection *s, struct apply_plan *a,
			 struct err *err)
{
	const struct session *session = &a->p->session;
	size_t i;

	for (i = 0; i < s->lines.count; i++) {
		struct selected_lines *l = &s->lines.items[i];

		l->path = resolve_run_path(l->name, err);
		if (!l->path)
			return -err->num;
	}
	s->root_count = session->root_count;
	s->roots = mem_zalloc(s->root_count * sizeof(*s->roots));
	for (i = 0; i < s->root_count; i++)
		if (apply_selection_review_root(a, i,
						(struct review_options){0},
						&s->roots[i].review, err) < 0)
			return -err->num;
	if ((s->kinds ? select_kinds(s, err)
		      : select_all_lines(s, session, err)) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++)
		if (apply_selection_pick_root(&s->roots[i], &a->change.roots[i],
					      err) < 0)
			return -err->num;
	return 0;
}
