#include <unistd.h>

#include "base/parse.h"
#include "base/pathset.h"
#include "guard/change/recover.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/rewind.h"
#include "guard/timeline/contents.h"
#include "guard/timeline/moment.h"

/* Lines of the list of moments. */
#define CHOICES_MAX 20
/* Changes with such a pause before them begin a new line. */
#define PAUSE_S 2

struct rewind_verb {
	const struct options *o;
	struct rewind r;
	struct contents *contents;
	char ***lost; /* see rewind_limit() */
	char **lost_names, **unsure; /* for people */
	char *title;
};

static void rewind_verb_free(struct rewind_verb *v)
{
	size_t i;

	for (i = 0; v->lost && i < v->r.roots.count; i++)
		mem_list_free(&v->lost[i]);
	free(v->lost);
	free(v->title);
	mem_list_free(&v->lost_names);
	mem_list_free(&v->unsure);
	contents_close(&v->contents);
	rewind_free(&v->r);
}

/* --- a moment --- */

static int want_moment(struct rewind_verb *v, uint64_t record, struct err *err)
{
	struct rewind *r = &v->r;
	size_t i, k;

	v->lost = mem_zalloc((r->roots.count + 1) * sizeof(*v->lost));
	for (i = 0; i < r->roots.count; i++) {
		AUTO(moment_losses) struct moment_losses lost = {0};
		AUTO(entry) struct entry want = {0};
		AUTO(pathset) struct pathset named = {0};

		if (moment_state(r->c->store, v->contents, i, record, &want,
				 &lost, err) < 0)
			return -err->num;
		rewind_want(r, i, &want);
		named = pathset_make(
			(const char *const *)resolve_run_paths(r->p, i));
		named.all = !resolve_run_has_paths(r->p);
		for (k = 0; k < lost.count; k++) {
			const struct moment_loss *l = &lost.items[k];
			char ***names =
				l->content ? &v->lost_names : &v->unsure;
			auto_free char *shown =
				mem_printf("%s%s", r->changes.roots[i].prefix,
					   *l->path ? l->path : ".");

			if (l->content)
				mem_list_add(&v->lost[i], l->path);
			if (pathset_contains(&named, l->path) ||
			    pathset_has_below(&named, l->path))
				mem_list_add_once(names, shown);
		}
	}
	return 0;
}

static char *moment_title(struct timestamp time, const char *mark)
{
	return mark ? mem_printf("%s, %s", text_moment(time), mark)
		    : mem_strdup(text_moment(time));
}

/* --- the list of moments --- */

struct choices {
	/* Marks, and the records before a change that follows a pause; the
	 * newest first. */
	const struct timeline_record *items[CHOICES_MAX];
	size_t count, more;
};

/* Only the last one of the marks that rewinds set can be named. */
static void list_choices(const struct timeline *t, struct choices *ret)
{
	const struct timeline_record *rewound = NULL;
	size_t i;

	for (i = t->count; i-- > 0;) {
		const struct timeline_record *r = &t->items[i];
		bool pause = i + 1 < t->count && timeline_is_state(r + 1) &&
			     r[1].time.sec - r->time.sec >= PAUSE_S;

		if (timeline_is_heading(r) &&
		    strcmp(r->text, MOMENT_BEFORE_REWIND) == 0) {
			pause = !rewound;
			rewound = r;
		} else {
			pause |= timeline_is_heading(r);
		}
		if (pause && ret->count == CHOICES_MAX)
			ret->more++;
		else if (pause)
			ret->items[ret->count++] = r;
	}
}

static void print_choice(size_t number, const struct timeline_record *r)
{
	AUTO(buf) struct buf b = {0};

	text_escape_name(&b, timeline_is_heading(r) ? r->text : r[1].path);
	output_print("%3zu  %s  before%s: %s", number, text_moment(r->time),
		     timeline_is_heading(r) ? "" : " a change of",
		     buf_text(&b));
}

static int print_json_choices(const struct choices *c)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct timeline_record *r = c->items[i];
		json_t *object = json_object();

		jsonout_moment(object, r->time);
		jsonout_text(object, "mark",
			     timeline_is_heading(r) ? r->text : NULL);
		jsonout_text(object, "path",
			     timeline_is_heading(r) ? NULL : r[1].path);
		jsonout_add(list, object);
	}
	jsonstream_print_list("guard.rewind-moments/1", "moments", list);
	return 1;
}

/* Lets the user choose one on a terminal. 1: the list was printed. */
static int choose_moment(struct rewind_verb *v, struct err *err)
{
	const struct session *s = &v->r.p->session;
	struct choices choices = {0};
	const struct timeline_record *chosen;
	auto_free char *line = NULL;
	unsigned long number;
	size_t i;

	list_choices(contents_timeline(v->contents), &choices);
	if (v->o->json)
		return print_json_choices(&choices);
	for (i = 0; i < choices.count; i++)
		print_choice(i + 1, choices.items[i]);
	if (choices.more)
		output_print("and %zu more: guard log %s lists all",
			     choices.more, session_label(s));
	if (choices.count && !v->o->yes)
		line = output_ask_line("guard: rewind to which of these? ");
	if (!line)
		return fail(err, EINVAL,
			    "nothing rewound: guard rewind %s --to WHEN names "
			    "a time such as 14:03:12 or -5m, or a mark",
			    session_label(s));
	if (parse_number(line, choices.count, &number) < 0 || !number)
		return fail(err, ECANCELED,
			    "nothing rewound: %s is no number of this list",
			    text_quote(line));
	chosen = choices.items[number - 1];
	v->title =
		moment_title(chosen->time,
			     timeline_is_heading(chosen) ? chosen->text : NULL);
	return want_moment(v, chosen->number, err);
}

static int want_text(struct rewind_verb *v, const char *to, struct err *err)
{
	const struct session *s = &v->r.p->session;
	AUTO(moment) struct moment m = {0};

	if (contents_open(&v->contents, v->r.c->store, s, err) < 0)
		return -err->num;
	if (moment_find(contents_timeline(v->contents), session_label(s),
			s->live, to ?: "end", &m, err) < 0)
		return -err->num;
	if (!to)
		return choose_moment(v, err);
	v->title = moment_title(m.time, m.mark);
	return want_moment(v, m.record, err);
}

/* --- the verb --- */

int cmd_rewind(const struct options *o, struct context *c, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(rewind_verb)
	struct rewind_verb v = {.o = o, .r = {.c = c, .p = &p}};
	int got;

	if (choose_run_open(c, o, &p, err) < 0)
		return -err->num;
	output_run_commands(&c->state, p.session.project);
	got = o->dry_run ? 0
			 : choose_run_check(c, &p, o->yes, o->operands, err);
	if (got)
		return got;
	got = recover_project(c, p.session.project, err);
	if ((got < 0 && got != -ENOENT) || rewind_load(&v.r, err) < 0)
		return -err->num;
	got = want_text(&v, o->to, err);
	if (got)
		return got < 0 ? got : STATUS_OK;
	return rewind_ask(&v.r,
			  &(struct rewind_choice){
				  .dry = o->dry_run,
				  .yes = o->yes,
				  .json = o->json,
				  .title = v.title,
				  .lost = v.lost,
				  .lost_names = v.lost_names,
				  .unsure = v.unsure,
			  },
			  err);
}
