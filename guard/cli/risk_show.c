#include "guard/cli/risk_show.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/review/fold.h"

static const char *style_of(enum risk_level level)
{
	return level == RISK_CRITICAL ? DELETED
	       : level == RISK_HIGH   ? CHANGED
				      : FAINT;
}

bool risk_show_wants(struct fold_repeats *l, const char *path,
		     const struct risk *risk)
{
	if (!risk_in_generated(path))
		return risk->level >= RISK_HIGH;
	if (risk->level < RISK_HIGH && strncmp(risk->text, "runs ", 5) != 0)
		return false;
	return (l->count == REPEATS_MAX && !fold_repeat_find(l, risk)) ||
	       fold_repeat_add(l, risk);
}

void risk_show_line(const struct risk *risk, const char *indent,
		    const char *path, struct styled *to)
{
	static const char *const signs[] = {
		[RISK_NOTE] = " i",
		[RISK_HIGH] = " !",
		[RISK_CRITICAL] = "!!",
	};
	AUTO(buf) struct buf name = {0};
	auto_free char *sentence = risk_sentence(risk);

	if (path) {
		styled_name(&name, "", path);
		buf_add_text(&name, ": ");
	}
	styled_line(to, LINE_NOTE, "%s%s%s" PLAIN " %s%s", indent,
		    style_of(risk->level), signs[risk->level], buf_text(&name),
		    sentence);
}

void risk_show_repeats(const struct fold_repeats *l, const char *indent,
		       struct styled *to)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		const struct fold_repeat *r = &l->items[i];
		struct risk reason = *r->risk;

		/* Without the line of one of them. */
		reason.line = NULL;
		reason.number = reason.more = 0;
		reason.character = 0;
		if (r->more)
			risk_show_line(&reason, indent,
				       text_count(r->more, r->shown
								   ? "more file"
								   : "file"),
				       to);
	}
}

/* --- to look at first --- */

/* The list, begun at its first line. */
struct first_look {
	const struct view *view;
	enum risk_level least;
	bool late;
	bool begun;
	struct fold_repeats repeats;
	struct styled *to;
};

static void begin_first_look(struct first_look *l)
{
	AUTO(buf) struct buf where = {0};

	styled_name(&where, "", l->view->where);
	if (!l->begun)
		styled_line(l->to, LINE_TITLE, "%s%s",
			    l->late ? "Look at these, too"
				    : "Look at these first",
			    buf_text(&where));
	l->begun = true;
}

/* A reason has one line for a file, with its first place in it. False: that
 * line came before. */
static bool is_first_place(const struct risks *r, size_t at, size_t *ret_more)
{
	size_t more = 0, i;

	for (i = 0; i < r->count; i++) {
		if (i == at || strcmp(r->items[i].text, r->items[at].text) != 0)
			continue;
		if (i < at)
			return false;
		more += 1 + r->items[i].more;
	}
	*ret_more = more;
	return true;
}

static void look_at(struct first_look *l, const struct view_entry *e)
{
	static const struct risk lost[] = {
		{.level = RISK_CRITICAL,
		 .id = "no-copy",
		 .text = (char *)"has no other copy"},
		{.level = RISK_CRITICAL,
		 .id = "work-lost",
		 .text = (char *)"loses work that was never committed"},
		{.level = RISK_CRITICAL,
		 .id = "no-copy",
		 .text = (char *)"is overwritten in part, and has no other "
				 "copy"},
	};
	const struct change *c = e->change;
	bool overwritten = view_is_lost(e) && (c->now.mode || e->partly);
	size_t k, more = 0, lines = 0;

	for (k = 0; k < e->risks.count + overwritten; k++) {
		const struct risk *r =
			k < e->risks.count
				? &e->risks.items[k]
				: &lost[e->partly ? 2 : e->loss == LOSS_WORK];
		struct risk shown = *r;

		if (r->level < l->least ||
		    (k < e->risks.count &&
		     !is_first_place(&e->risks, k, &more)) ||
		    (l->least == RISK_HIGH && r->level < RISK_CRITICAL &&
		     !fold_repeat_add(&l->repeats, r)))
			continue;
		begin_first_look(l);
		if (!lines++) {
			AUTO(buf) struct buf name = {0};

			/* The new path of a move decides. */
			styled_name(&name, l->view->prefix, c->path);
			styled_line(l->to, LINE_LOSS, "  %c  %s",
				    c->kind != CHANGE_DELETED &&
						    changes_is_moved(
							    l->view->list, c)
					    ? 'R'
					    : changes_letter(c->kind),
				    buf_text(&name));
		}
		shown.more += k < e->risks.count ? more : 0;
		risk_show_line(&shown, "     ", NULL, l->to);
	}
}

static void show_repeats(struct first_look *l, const struct fold_repeats *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (r->items[i].more)
			begin_first_look(l);
	risk_show_repeats(r, "  ", l->to);
}

void risk_show_first(const struct view *v, enum risk_level least, bool late,
		     struct styled *to)
{
	struct first_look l = {
		.view = v, .least = least, .late = late, .to = to};
	bool all = late || least < RISK_HIGH;
	size_t i;

	for (i = 0; i < v->count && !to->full; i++)
		if ((all || !fold_hides(v, i)) && v->items[i].late == late)
			look_at(&l, &v->items[i]);
	show_repeats(&l, &l.repeats);
	if (!all)
		show_repeats(&l, &v->folds.repeats);
	VEC_FREE(&l.repeats);
}

/* The length of a text up to the last comma that fits in a line, or else up to
 * the first one. */
static size_t fit_names(const char *text)
{
	size_t len = text_fit(text, VERDICT_COLUMNS);
	const char *comma;

	while (text[len] && len && strncmp(text + len - 1, ", ", 2) != 0)
		len--;
	comma = len ? NULL : strstr(text + 1, ", ");
	return comma ? (size_t)(comma - text) + 1 : len ?: strlen(text);
}

void risk_show_verdict(const struct verdict *v, struct styled *to)
{
	size_t i;

	for (i = 0; i < v->count; i++) {
		const char *text = v->items[i].text;
		size_t len = fit_names(text);

		styled_line(to, LINE_PLAIN, "%s%s" PLAIN " %.*s%s",
			    style_of(v->items[i].level),
			    verdict_sign(v->items[i].level), (int)len, text,
			    v->complete || i ? "" : "  (so far)");
		for (text += len; *text; text += len) {
			len = fit_names(text);
			styled_line(to, LINE_PLAIN, "   %.*s", (int)len, text);
		}
	}
}
