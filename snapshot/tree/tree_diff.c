#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/tree/tree.h"

/* A directory that is being compared, with its two sides. Levels are a stack
 * on the heap instead of recursion: trees come from disk and may have any
 * depth. */
struct level {
	struct tree_cursor a, b;
	size_t path_len; /* path of the directory itself */
};

struct differ {
	struct store *store;
	int (*each)(void *arg, const char *path, const struct entry *a,
		    const struct entry *b, struct err *err);
	void *arg;
	struct level *levels;
	size_t count, capacity;
	struct buf path;
};

static void differ_free(struct differ *d)
{
	while (d->count) {
		d->count--;
		tree_cursor_free(&d->levels[d->count].a);
		tree_cursor_free(&d->levels[d->count].b);
	}
	free(d->levels);
	buf_free(&d->path);
}

static bool is_dir_entry(const struct entry *e)
{
	return e && S_ISDIR(e->mode);
}

static int open_diff_level(struct differ *d, const struct entry *a,
			   const struct entry *b, struct level *l,
			   struct err *err)
{
	if (is_dir_entry(a) && is_dir_entry(b))
		return tree_cursor_open_pair(d->store, &a->content, &b->content,
					     &l->a, &l->b, err);
	if (is_dir_entry(a))
		return tree_cursor_open(d->store, &a->content, &l->a, err);
	return tree_cursor_open(d->store, &b->content, &l->b, err);
}

/* Pushes the directory at d->path as the top level. */
static int enter_differing_dirs(struct differ *d, const struct entry *a,
				const struct entry *b, struct err *err)
{
	struct level *top;

	if (is_dir_entry(a) && is_dir_entry(b) &&
	    oid_equal(&a->content, &b->content))
		return 0;
	GROW(d->levels, d->count, d->capacity);
	top = &d->levels[d->count++];
	*top = (struct level){.path_len = d->path.len};
	if (open_diff_level(d, a, b, top, err) < 0)
		return err_context(err, "%s", text_quote(buf_text(&d->path)));
	return 0;
}

static int report_and_enter(struct differ *d, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	int got;

	if (a && b && entry_equal(a, b))
		return 0;
	got = d->each(d->arg, buf_text(&d->path), a, b, err);
	if (got < 0)
		return got;
	return is_dir_entry(a) || is_dir_entry(b)
		       ? enter_differing_dirs(d, a, b, err)
		       : 0;
}

/* Processes the next name of the top level, from one side or both. */
static int diff_next_entry(struct differ *d, struct err *err)
{
	struct level *top = &d->levels[d->count - 1];
	const struct entry *a = NULL, *b = NULL;
	int order;

	d->path.len = top->path_len;
	tree_cursor_skip_same(&top->a, &top->b);
	if (tree_cursor_get(&top->a, &a, err) < 0 ||
	    tree_cursor_get(&top->b, &b, err) < 0)
		return err_context(err, "%s", text_quote(buf_text(&d->path)));
	if (!a && !b) {
		tree_cursor_free(&top->a);
		tree_cursor_free(&top->b);
		d->count--;
		return 0;
	}
	order = !a ? 1 : !b ? -1 : strcmp(a->name, b->name);
	if (order <= 0)
		top->a.next++;
	else
		a = NULL;
	if (order >= 0)
		top->b.next++;
	else
		b = NULL;
	if (d->path.len)
		buf_add_char(&d->path, '/');
	buf_add_text(&d->path, a ? a->name : b->name);
	return report_and_enter(d, a, b, err);
}

int tree_diff(struct store *s, const struct entry *a, const struct entry *b,
	      int (*each)(void *arg, const char *path, const struct entry *a,
			  const struct entry *b, struct err *err),
	      void *arg, struct err *err)
{
	AUTO(differ)
	struct differ d = {.store = s, .each = each, .arg = arg};
	int got;

	a = a && a->mode ? a : NULL;
	b = b && b->mode ? b : NULL;
	if (!a && !b)
		return 0;
	got = report_and_enter(&d, a, b, err);
	while (got >= 0 && d.count)
		got = diff_next_entry(&d, err);
	return got < 0 ? got : 0;
}

struct one_side {
	int (*each)(void *arg, const char *path, const struct entry *e,
		    struct err *err);
	void *arg;
};

static int each_one_side(void *arg, const char *path, const struct entry *a,
			 const struct entry *b, struct err *err)
{
	const struct one_side *one = arg;

	(void)b;
	return one->each(one->arg, path, a, err);
}

int tree_each(struct store *s, const struct entry *root,
	      int (*each)(void *arg, const char *path, const struct entry *e,
			  struct err *err),
	      void *arg, struct err *err)
{
	struct one_side one = {.each = each, .arg = arg};

	return tree_diff(s, root, NULL, each_one_side, &one, err);
}
