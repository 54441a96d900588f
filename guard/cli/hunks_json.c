#include "guard/cli/hunks_json.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/sorted.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/output.h"
#include "guard/cli/verdict_show.h"
#include "guard/review/decisions.h"
#include "guard/review/fold.h"
#include "guard/review/kinds.h"
#include "overlay/session_base.h"
#include "restore/git/gitblob.h"
#include "snapshot/tree/catalog.h"

/* The project's review with the decisions that are kept, if there are any. */
struct kept_review {
	struct snapshot base, result;
	struct review review;
	const struct review_item **items; /* the items with its entries */
};

struct hunks_writer {
	struct kept_review *kept;
	struct kinds kinds; /* only for ids */
	size_t entries, hunks;
	bool uncompared; /* some texts */
};

static void kept_review_free(struct kept_review *k)
{
	free(k->items);
	review_free(&k->review);
	snapshot_free(&k->base);
	snapshot_free(&k->result);
}

/* Without a stored result nothing is known about decisions: a review makes
 * one. */
static void load_kept(struct context *c, struct session *s, struct view *view,
		      struct kept_review *ret)
{
	const struct review_options options = {.view = view};
	AUTO(decisions) struct decisions *d = NULL;
	struct err ignored;
	size_t i, k;

	if (!fd_exists(s->fd, "review") ||
	    decisions_open(s->fd, false, &d, &ignored) < 0 ||
	    session_base(s, false, &ignored) <= 0 || !s->roots[0].result ||
	    context_store(c, STORE_READ, &ignored) < 0 ||
	    catalog_load(c->store, s->roots[0].base, &ret->base, &ignored) <
		    0 ||
	    catalog_load(c->store, s->roots[0].result, &ret->result, &ignored) <
		    0 ||
	    review_make(c->store, &ret->base.root, &ret->result.root, &options,
			&ret->review, &ignored) < 0)
		return;
	(void)decisions_replay(d, 0, &ret->review);
	ret->items =
		mem_zalloc((ret->review.entry_count + 1) * sizeof(*ret->items));
	for (i = 0; i < ret->review.count; i++)
		for (k = 0; k < ret->review.items[i].count; k++)
			ret->items[ret->review.items[i].list[k]] =
				&ret->review.items[i];
}

static json_t *line_of(const char *type)
{
	json_t *object = json_object();

	jsonout_text(object, "type", type);
	return object;
}

static json_t *line_at(const char *type, const struct view *v,
		       const struct change *c)
{
	json_t *object = line_of(type);

	jsonout_text(object, "path", c->path);
	jsonout_text(object, "root", v->prefix);
	return object;
}

/* The item that has the path; NULL: none. */
static const struct review_item *
kept_item(const struct hunks_writer *w, const struct view *v, const char *path)
{
	const struct review *r = &w->kept->review;
	const struct review_entry *found;

	if (v->home || *v->prefix)
		return NULL;
	found = FIND_BY_PATH(path, r->entries, r->entry_count, path);
	return found ? w->kept->items[found - r->entries] : NULL;
}

static const char *answer_name(enum review_answer answer)
{
	return answer == REVIEW_YES  ? "yes"
	       : answer == REVIEW_NO ? "no"
				     : "open";
}

/* "yes", "no", "open", "part" (its parts differ), or NULL: unknown. */
static const char *item_decision(const struct review_item *item)
{
	size_t i;

	if (!item)
		return NULL;
	for (i = 1; i < item->parts; i++)
		if (item->answers[i] != item->answers[0])
			return "part";
	return answer_name(item->answers[0]);
}

static const char *hunk_decision(const struct review_item *item,
				 const struct hunk *hunk)
{
	size_t i;

	if (!item)
		return NULL;
	for (i = 0; i < item->hunks.count; i++) {
		const struct hunk *each = &item->hunks.items[i];

		if (each->old_at == hunk->old_at &&
		    each->old_count == hunk->old_count)
			return answer_name(item->answers[item->rights + i]);
	}
	/* It was split, or the item was answered as one. */
	return item_decision(item);
}

static void print_hunk_line(struct hunks_writer *w, const struct view *v,
			    const struct change *c,
			    const struct review_item *item,
			    const struct hunk *h)
{
	json_t *object = line_at("hunk", v, c);
	char id[KINDS_ID_MAX + 1];
	AUTO(buf) struct buf text = {0};
	size_t i;

	for (i = 0; i < h->lines.count; i++)
		hunks_add_line(&text, &h->lines.items[i], "\n\\\n");
	kinds_id(&w->kinds, h, id);
	jsonout_number(object, "old_start", h->old_at + (h->old_count > 0));
	jsonout_number(object, "old_lines", h->old_count);
	jsonout_number(object, "new_start", h->new_at + (h->new_count > 0));
	jsonout_number(object, "new_lines", h->new_count);
	jsonout_text(object, "kind", c->kind == CHANGE_MODIFIED ? id : NULL);
	jsonout_text(object, "decision", hunk_decision(item, h));
	jsonout_bytes(object, "text", text.data ?: (void *)"", text.len);
	jsonstream_line(object);
	w->hunks++;
}

static void print_risk_lines(const struct view *v, const struct view_entry *e)
{
	size_t i;

	for (i = 0; i < e->risks.count; i++) {
		const struct risk *risk = &e->risks.items[i];
		auto_free char *text = risk_sentence(risk);
		json_t *object = line_at("risk", v, e->change);

		jsonout_text(object, "id", risk->id);
		jsonout_text(object, "level", risk_level_name(risk->level));
		jsonout_text(object, "text", text);
		jsonout_text(object, "line", risk->line);
		jsonout_number(object, "number", risk->number);
		jsonstream_line(object);
	}
}

/* The bytes of one side; false: no regular file, too large or unreadable. */
static bool read_entry_side(const struct view *v, const struct change *c,
			    bool now, struct buf *to)
{
	const struct change_side *side = now ? &c->now : &c->old;
	struct err ignored;

	return S_ISREG(side->mode) && side->size <= CHANGES_READ_MAX &&
	       changes_read(v->root, c->path, side->mode, now, to, &ignored) >=
		       0;
}

static void put_blob(json_t *object, const char *key, bool read,
		     const struct buf *bytes)
{
	char id[GITBLOB_ID_LEN + 1];
	struct err ignored;

	jsonout_text(object, key,
		     read && gitblob_id(bytes, id, &ignored) == 0 ? id : NULL);
}

static const char *loss_name(enum loss loss)
{
	static const char *const names[] = {
		[LOSS_NONE] = NULL,
		[LOSS_COPIED] = "copied",
		[LOSS_IN_GIT] = "in-git",
		[LOSS_IN_HISTORY] = "in-history",
		[LOSS_GENERATED] = "generated",
		[LOSS_UNKNOWN] = "unknown",
		[LOSS_HOME] = "home-deleted",
		[LOSS_WORK] = "work-lost",
		[LOSS_NO_COPY] = "no-copy",
	};

	return names[loss];
}

static void print_entry_lines(struct hunks_writer *w, const struct view *v,
			      const struct view_entry *e,
			      const struct fold *fold)
{
	const struct change *c = e->change;
	const struct review_item *item = kept_item(w, v, c->path);
	AUTO(buf) struct buf old = {0}, now = {0};
	AUTO(hunks) struct hunks hunks = {0};
	bool has_old = read_entry_side(v, c, false, &old);
	bool has_now = read_entry_side(v, c, true, &now);
	json_t *object = line_of("entry");
	struct err err;
	size_t i;
	int got;

	(void)json_object_update_new(object, jsonout_change(v->list, c));
	jsonout_text(object, "root", v->prefix);
	jsonout_bool(object, "home", v->home);
	jsonout_text(object, "loss", loss_name(e->loss));
	jsonout_text(object, "fold", fold ? fold->dir : NULL);
	put_blob(object, "old_blob", has_old, &old);
	put_blob(object, "new_blob", has_now, &now);
	jsonout_text(object, "decision", item_decision(item));
	jsonstream_line(object);
	w->entries++;
	print_risk_lines(v, e);
	if (!has_now || (c->old.mode && !has_old))
		return;
	got = hunks_make(&old, &now, &hunks, &err);
	w->uncompared |= got < 0;
	if (got < 0) {
		object = line_at("uncompared", v, c);
		jsonout_text(object, "text", err.text);
		jsonstream_line(object);
	}
	for (i = 0; got == 0 && i < hunks.count; i++)
		print_hunk_line(w, v, c, item, &hunks.items[i]);
}

static void print_git_lines(const struct changes *c, const struct judgement *j,
			    size_t root)
{
	AUTO(changes_git) struct changes_git git = {0};
	size_t i;

	for (i = 0; i < j->losses[root].refs.count; i++) {
		json_t *object = line_of("git");

		jsonout_text(object, "lost",
			     j->losses[root].refs.items[i].text);
		jsonstream_line(object);
	}
	if (c->roots[root].home)
		return;
	changes_git_make(&c->roots[root], &git);
	for (i = 0; i < git.count; i++) {
		json_t *object = line_of("git");

		jsonout_text(object, "text", git.items[i].text);
		jsonout_bool(object, "deleted", git.items[i].deleted);
		jsonout_bool(object, "runs", git.items[i].runs);
		jsonstream_line(object);
	}
}

static void print_run_line(const struct session *s,
			   const struct verdict *verdict)
{
	json_t *object = line_of("run");

	jsonout_text(object, "schema", "guard.hunks/1");
	(void)json_object_update_new(object, jsonout_run(s));
	jsonstream_line(object);
	object = line_of("verdict");
	jsonout_bool(object, "complete", verdict->complete);
	jsonout_set(object, "lines", verdict_show_json(verdict));
	jsonstream_line(object);
}

bool hunks_json_print(struct context *c, struct resolved_run *p,
		      const struct changes *changes, const struct judgement *j,
		      const struct verdict *verdict)
{
	AUTO(kept_review) struct kept_review kept = {0};
	struct hunks_writer w = {.kept = &kept};
	json_t *object;
	size_t i, k;

	load_kept(c, &p->session, &j->views[0], &kept);
	print_run_line(&p->session, verdict);
	for (i = 0; i < changes->root_count; i++)
		print_git_lines(changes, j, i);
	for (i = 0; i < j->count; i++) {
		fold_make(&j->views[i], false);
		for (k = 0; k < j->views[i].count && !output_has_failed(); k++)
			print_entry_lines(&w, &j->views[i],
					  &j->views[i].items[k],
					  fold_of(&j->views[i], k));
	}
	object = line_of("end");
	jsonout_number(object, "entries", w.entries);
	jsonout_number(object, "hunks", w.hunks);
	jsonstream_line(object);
	kinds_free(&w.kinds);
	return !w.uncompared;
}
