/*
 * Merge of an entry that both sides changed.
 *
 * Mode, owner, each xattr and the bytes are merged separately: the side that
 * changed one of them wins. Where both changed the same one differently, only
 * text can be merged.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "restore/git/textmerge.h"
#include "restore/plan/plan_private.h"
#include "snapshot/store/content.h"

static int append_merge_text(void *arg, const void *data, size_t len,
			     struct err *err)
{
	struct buf *b = arg;

	if (len > TEXTMERGE_MAX - b->len)
		return fail(err, EFBIG, "too large to merge");
	buf_add(b, data, len);
	return 0;
}

/* 1: text; 0: not text, or too large. */
static int read_merge_text(struct planner *pl, const struct entry *e,
			   struct buf *ret, struct err *err)
{
	if (e->size > TEXTMERGE_MAX)
		return 0;
	if (content_each(pl->store, &e->content, append_merge_text, ret, err) <
	    0)
		return -err->num;
	return textmerge_is_text(ret);
}

/* 1: the bytes are those of *to. */
static int put_merged(struct planner *pl, const struct buf *merged,
		      struct entry *to, struct err *err)
{
	to->size = merged->len;
	if (content_put_bytes(pl->store, merged->data, merged->len,
			      &to->content, err) < 0)
		return -err->num;
	/* The merged bytes are new, so build tools must see a new mtime. */
	to->mtime = timestamp_now();
	return 1;
}

/* 1: merged; 0: impossible. *how tells whether conflict markers were added. */
static int merge_bytes(struct planner *pl, const struct row *row,
		       struct entry *to, enum step_how *how, struct err *err)
{
	bool marked = planner_resolve(pl, row->path) == RESOLVE_MARKERS;
	AUTO(buf) struct buf base = {0}, ours = {0}, theirs = {0}, merged = {0};
	struct textmerge_sides sides = {
		.base = row->base->mode ? &base : NULL,
		.ours = &ours,
		.theirs = &theirs,
		.our_label = pl->options->our_label,
		.their_label = pl->options->their_label,
	};
	int got = 1;

	if (row->base->mode)
		got = read_merge_text(pl, row->base, &base, err);
	if (got == 1)
		got = read_merge_text(pl, &row->now, &ours, err);
	if (got == 1)
		got = read_merge_text(pl, row->want, &theirs, err);
	if (got != 1)
		return got;
	got = textmerge(&sides, &merged, err);
	if (got == -EPROTO)
		return err_context(err, "cannot be merged (use --ours or "
					"--theirs)");
	if (got < 0 || (got == 0 && !marked))
		return got;
	*how = got ? STEP_MERGED : STEP_MARKED;
	return put_merged(pl, &merged, to, err);
}

int plan_merge_file(struct planner *pl, const struct row *row, struct err *err)
{
	const struct entry *base = row->base, *want = row->want,
			   *now = &row->now;
	struct entry to = row->now; /* borrowed strings */
	enum step_how how = STEP_MERGED;
	const struct plan_choice *choice = planner_choice(pl, row->path);
	const struct buf *text = choice ? choice->text : NULL;
	enum plan_resolve resolve = planner_resolve(pl, row->path);
	size_t before = pl->plan->steps.count;
	int got = 1;

	/* Hard links are excluded: merged one by one they would become separate
	 * files, or change another path. */
	if (resolve == RESOLVE_NOT || !S_ISREG(want->mode) ||
	    !S_ISREG(now->mode) || want->link_group || now->link_group)
		return 0;
	if (base->mode ? !S_ISREG(base->mode)
		       : (resolve != RESOLVE_MARKERS && !text) ||
				 !entry_same_meta(want, now))
		return 0;
	if (base->mode)
		got = plan_meta_merge(pl, row, &to, err);
	if (got != 1)
		return got;
	if (text) {
		how = choice->marked ? STEP_MARKED : STEP_MERGED;
		got = put_merged(pl, text, &to, err);
	} else if (base->mode && entry_same_content(now, base) &&
		   !entry_same_content(want, base)) {
		to.content = want->content;
		to.size = want->size;
		to.mtime = want->mtime;
	} else if (!entry_same_content(want, now) &&
		   !(base->mode && entry_same_content(want, base))) {
		got = merge_bytes(pl, row, &to, &how, err);
	}
	if (got != 1)
		return got;
	if (entry_same_state(now, &to)) {
		pl->plan->already++;
		if (how != STEP_MARKED)
			names_add(&pl->plan->settled, row->path);
		return 1;
	}
	if (step_change(pl,
			entry_same_content(now, &to) ? STEP_META : STEP_REPLACE,
			row, &to, err) < 0)
		return -err->num;
	planner_set_how(pl, before, how);
	return 1;
}

int plan_merge_dir(struct planner *pl, const struct row *row, struct err *err)
{
	struct entry to = row->now;
	size_t before = pl->plan->steps.count;
	int got;

	if (planner_resolve(pl, row->path) == RESOLVE_NOT ||
	    !S_ISDIR(row->base->mode))
		return 0;
	got = plan_meta_merge(pl, row, &to, err);
	if (got != 1)
		return got;
	if (entry_same_state(&row->now, &to)) {
		pl->plan->already++;
		names_add(&pl->plan->settled, row->path);
		return 1;
	}
	if (step_change(pl, STEP_META, row, &to, err) < 0)
		return -err->num;
	planner_set_how(pl, before, STEP_MERGED);
	return 1;
}
