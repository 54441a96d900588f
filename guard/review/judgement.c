#include "guard/review/judgement.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/parallel_for.h"
#include "base/path.h"

/* Fewer changes are judged before a thread has started. */
#define THREADS_MIN 200

void judgement_free(struct judgement *j)
{
	size_t i;

	for (i = 0; i < j->count; i++) {
		view_free(&j->views[i]);
		losses_free(&j->losses[i]);
	}
	free(j->views);
	free(j->losses);
	*j = (struct judgement){0};
}

/* An entry that is gone, or a file that a directory has replaced. */
static bool is_deleted_file(const struct change *c)
{
	return !c->now.mode ||
	       (c->old.mode && S_ISDIR(c->now.mode) && !S_ISDIR(c->old.mode));
}

/* The time for a file, beside its bytes, and for a name that is judged without
 * a file; the unit is the time for one byte. */
#define COST_OF_FILE 4096u
#define COST_OF_NAME 400u

/* Of a new file that a tool has made, the name is judged alone. */
static uint64_t reading_cost(const struct change *c)
{
	if (!c->old.mode && risk_in_generated(c->path))
		return COST_OF_NAME;
	return COST_OF_FILE + (c->old.size < RISK_READ_MAX ? c->old.size : 0) +
	       (c->now.size < RISK_READ_MAX ? c->now.size : 0);
}

/* true: all entries, or all suspects, are judged. */
static bool read_entries(struct judgement *j, bool suspects, uint64_t *bytes)
{
	size_t *root = suspects ? &j->next_suspect_root : &j->next_root;
	size_t *next = suspects ? &j->next_suspect : &j->next_entry;

	for (; *root < j->count; ++*root, *next = 0) {
		struct view *v = &j->views[*root];

		for (; *next < v->count; ++*next) {
			struct view_entry *e = &v->items[*next];
			uint64_t cost = reading_cost(e->change);

			if (e->judged || (suspects && !view_is_suspect(v, e)))
				continue;
			if (*bytes != JUDGEMENT_ALL && cost > *bytes)
				return false;
			*bytes -= *bytes == JUDGEMENT_ALL ? 0 : cost;
			view_judge(v, e);
		}
	}
	return true;
}

bool judgement_read(struct judgement *j, uint64_t bytes)
{
	return read_entries(j, true, &bytes) && read_entries(j, false, &bytes);
}

/* Losses are read in one thread, risks in the other: no field of a view belongs
 * to both. Risks belong to the caller's thread, which may start the parsing
 * worker: the kernel ends it together with the thread that started it. */
struct judging {
	const struct session *session;
	struct judgement *judgement;
	uint64_t bytes;
	bool complete;
};

static void judge_losses(const struct judging *w, size_t index)
{
	const struct session *s = w->session;
	struct view *v = &w->judgement->views[index];

	if (v->home) {
		loss_judge_home(v);
	} else if (index < s->root_count) {
		loss_judge(v, s->roots[index].path,
			   &w->judgement->losses[index]);
		loss_drop_edited_refs(v, &w->judgement->losses[index]);
	}
}

static int judge_half(void *arg, size_t half, struct err *err)
{
	struct judging *w = arg;
	struct judgement *j = w->judgement;
	size_t i;

	(void)err;
	if (!half) {
		w->complete = judgement_read(j, w->bytes);
		return 0;
	}
	for (i = 0; i < j->count; i++)
		judge_losses(w, i);
	return 0;
}

/* Both ends must be among the changes that are judged. */
static void mark_moved_across(const struct changes *changes,
			      struct judgement *j)
{
	size_t i;

	for (i = 0; i < changes->across.count; i++) {
		const struct changes_across *m = &changes->across.items[i];
		struct view_entry *from =
			view_find(&j->views[m->from_root], m->from);

		if (from && m->equal && view_find(&j->views[m->to_root], m->to))
			from->moved_across = true;
	}
}

bool judgement_make(const struct session *s, const struct changes *changes,
		    uint64_t bytes, struct judgement *ret)
{
	struct judging w = {s, ret, .bytes = bytes};
	size_t count = changes->root_count, total = 0, i, k;
	struct err ignored;

	risk_renew_time();
	*ret = (struct judgement){
		.views = mem_zalloc((count + 1) * sizeof(*ret->views)),
		.losses = mem_zalloc((count + 1) * sizeof(*ret->losses)),
		.count = count,
	};
	for (i = 0; i < ret->count; i++) {
		struct view *v = &ret->views[i];

		view_of_changes(&changes->roots[i], v);
		total += v->count;
		/* A deletion is judged by its name, and few by the bytes. */
		for (k = 0; k < v->count; k++)
			if (is_deleted_file(v->items[k].change))
				view_judge(v, &v->items[k]);
	}
	mark_moved_across(changes, ret);
	(void)parallel_for(2, !bytes || total < THREADS_MIN, judge_half, &w,
			   &ignored);
	return w.complete;
}

/* The entries come in the order of their paths. */
static void list_copies(const struct view *v, const char *root,
			struct consent *to)
{
	const char *dir = NULL; /* deleted with all entries below it */
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct view_entry *e = &v->items[i];
		const struct change *c = e->change;
		bool risk = S_ISREG(c->old.mode) && is_deleted_file(c) &&
			    risks_worst(&e->risks) == RISK_CRITICAL;
		struct consent_copy *copy;

		if (dir && !path_below(c->path, dir))
			dir = NULL;
		if (!dir && S_ISDIR(c->old.mode) && !c->now.mode)
			dir = c->path;
		if (e->loss != LOSS_NO_COPY && !risk)
			continue;
		copy = VEC_ADD(&to->copies);
		*copy = (struct consent_copy){0};
		copy->path = path_join(root, c->path);
		copy->dir = dir ? path_join(root, dir) : NULL;
		if (risk && e->loss != LOSS_NO_COPY) {
			copy->rule = e->risks.items[0].id;
			copy->text = risk_sentence(&e->risks.items[0]);
		}
		copy->deleted = !c->now.mode;
		copy->in_git = e->in_git;
		copy->partly = e->partly;
	}
}

static int compare_copies(const void *a, const void *b)
{
	const struct consent_copy *x = a, *y = b;

	return path_compare(x->path, y->path);
}

void judgement_list_copies(const struct judgement *j, const struct session *s,
			   struct consent *to)
{
	size_t kept = 0, i;

	for (i = 0; i < j->count && i < s->root_count; i++)
		list_copies(&j->views[i], s->roots[i].path, to);
	VEC_SORT(&to->copies, compare_copies);
	for (i = 0; i < to->copies.count; i++) {
		struct consent_copy *copy = &to->copies.items[i];

		if (kept &&
		    strcmp(to->copies.items[kept - 1].path, copy->path) == 0)
			consent_free_copy(copy);
		else
			to->copies.items[kept++] = *copy;
	}
	to->copies.count = kept;
}
