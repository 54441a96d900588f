#include "guard/cli/verdict_show.h"

#include "base/auto.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"

struct verdict_key verdict_show_key(const struct session *s,
				    const struct changes *c)
{
	return (struct verdict_key){
		.result = s->state == RUN_ENDED ? s->roots[0].result : 0,
		.changes = changes_total(c) + changes_count_home(c),
	};
}

void judged_run_free(struct judged_run *r)
{
	verdict_free(&r->verdict);
	judgement_free(&r->judgement);
	changes_free(&r->changes);
}

int judged_run_make(struct context *c, const struct resolved_run *p,
		    struct judged_run *ret, struct err *err)
{
	const struct session *s = &p->session;
	struct verdict_key key;
	struct err ignored;
	bool complete;

	*ret = (struct judged_run){0};
	if (changes_load_own(c, s, &ret->changes, err) < 0)
		return -err->num;
	key = verdict_show_key(s, &ret->changes);
	changes_find_moves(&ret->changes);
	resolve_run_filter(p, &ret->changes);
	judgement_make(c, s, &ret->changes, &ret->judgement);
	if (!resolve_run_has_paths(p) &&
	    verdict_load(s->fd, key, &ret->verdict) > 0 &&
	    ret->verdict.complete) {
		(void)judgement_read(&ret->judgement, JUDGEMENT_FIRST);
		return 0;
	}
	verdict_free(&ret->verdict);
	complete = judgement_read(&ret->judgement, JUDGEMENT_ALL);
	verdict_make(&ret->judgement, complete, &ret->verdict);
	if (!resolve_run_has_paths(p))
		(void)verdict_save(s->fd, key, &ret->verdict, &ignored);
	return 0;
}

void verdict_show(const struct verdict *v, FILE *to)
{
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct verdict_line *line = &v->items[i];
		enum output_style style =
			line->level == RISK_CRITICAL ? STYLE_DELETED
			: line->level == RISK_HIGH   ? STYLE_CHANGED
						     : STYLE_FAINT;

		/* Only stdout has colors. */
		(void)fprintf(to, "%s%s%s %s%s\n",
			      to == stdout ? output_style(style) : "",
			      verdict_sign(line->level),
			      to == stdout ? output_style(STYLE_NONE) : "",
			      line->text, v->complete || i ? "" : "  (so far)");
	}
}

json_t *verdict_show_json(const struct verdict *v)
{
	static const char *const levels[] = {
		[RISK_NONE] = "none",
		[RISK_NOTE] = "note",
		[RISK_HIGH] = "high",
		[RISK_CRITICAL] = "critical",
	};
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < v->count; i++) {
		json_t *line = json_object();

		jsonout_text(line, "id", v->items[i].id);
		jsonout_text(line, "level", levels[v->items[i].level]);
		jsonout_number(line, "count", v->items[i].count);
		jsonout_text(line, "text", v->items[i].text);
		jsonout_add(list, line);
	}
	return list;
}
