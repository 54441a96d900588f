#include "guard/cli/choose_run.h"
#include "guard/cli/agent_show.h"
#include "guard/change/changes.h"
#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/commit_files_show.h"
#include "guard/cli/diffshow.h"
#include "guard/cli/diffsnaps.h"
#include "guard/cli/html_report.h"
#include "guard/cli/hunks_json.h"
#include "guard/cli/kinds_show.h"
#include "guard/cli/listing.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/verdict_show.h"
#include "guard/change/live.h"
#include "guard/change/worktrees.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"
#include "restore/parse/parse.h"

/* With --exit-code: a critical change, or an only copy that is deleted. */
#define STATUS_SEVERE 3

/* [{"path", "counts", "entries"}] of the additional roots. */
static void write_extras_json(const struct session *s, const struct changes *c,
			      struct jsonstream *to)
{
	size_t i;

	jsonstream_open(to, "extra", '[');
	for (i = 1; i < s->root_count; i++) {
		const struct change_list *list = &c->roots[i].list;
		json_t *object = json_object();

		jsonout_text(object, "path", s->roots[i].path);
		jsonout_set(object, "counts", diffshow_counts(list));
		jsonstream_begin(to, object);
		diffshow_json(list, "entries", to);
		jsonstream_close(to, '}');
	}
	jsonstream_close(to, ']');
}

/* The home directory is the last one, and not among the session's roots. */
static const char *root_path(const struct session *s, size_t i)
{
	return i < s->root_count ? s->roots[i].path : s->home;
}

/* [{"root", "path", "from", "branch", "commits", "files"}] */
static void write_worktrees_json(const struct session *s,
				 const struct changes *c, struct jsonstream *to)
{
	size_t i, k;

	jsonstream_open(to, "worktrees", '[');
	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].worktrees.count; k++) {
			const struct worktree *w =
				&c->roots[i].worktrees.items[k];
			json_t *object = json_object();

			jsonout_text(object, "root", root_path(s, i));
			jsonout_text(object, "path", w->path);
			jsonout_text(object, "from", w->from);
			jsonout_text(object, "branch", w->branch);
			jsonout_number(object, "commits", w->commits);
			jsonout_number(object, "files", w->files);
			jsonstream_put(to, NULL, object);
		}
	jsonstream_close(to, ']');
}

/* Files that no text was printed of. */
static void judge_rest(struct judgement *j)
{
	size_t i, k;

	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->views[i].count; k++) {
			struct view_entry *e = &j->views[i].items[k];

			if (e->judged)
				continue;
			view_judge(&j->views[i], e);
			e->late = true;
		}
}

static void print_texts(const struct session *s, struct changes *c,
			struct judgement *j, const struct diff_options *o)
{
	struct styled *to = styled_out();
	size_t i;

	for (i = 0; i < j->count; i++) {
		fold_make(&j->views[i], o->full);
		risk_show_first(&j->views[i], RISK_HIGH, false, to);
	}
	agent_show_list(s, to);
	listing_print(c, j->views, to);
	for (i = 0; i < j->count; i++)
		diffshow_texts(&j->views[i], o, true, to);
	judge_rest(j);
	for (i = 0; i < j->count; i++)
		risk_show_first(&j->views[i], RISK_HIGH, true, to);
}

static void print_diff(const struct session *s, struct changes *c,
		       struct judgement *j, const struct verdict *verdict,
		       const struct commit_files *files,
		       const struct diff_options *o)
{
	enum diff_form form = o->form;
	size_t i;

	if (form == FORM_JSON) {
		json_t *object = jsonout_document("guard.diff/1"), *counts;
		struct jsonstream to = {0};
		size_t k;

		(void)json_object_update_new(object, jsonout_run(s));
		counts = diffshow_counts(&changes_project(c)->list);
		jsonout_number(counts, "home", changes_home(c)->list.count);
		jsonout_set(object, "counts", counts);
		jsonout_set(object, "verdict", verdict_show_json(verdict));
		jsonstream_begin(&to, object);
		diffshow_json(&changes_project(c)->list, "entries", &to);
		write_extras_json(s, c, &to);
		diffshow_json(&changes_home(c)->list, "home", &to);
		jsonstream_open(&to, "risks", '[');
		for (k = 0; k < c->root_count; k++)
			diffshow_risks_json(&j->views[k], root_path(s, k), &to);
		commit_files_show_risks(files, &to);
		jsonstream_close(&to, ']');
		jsonstream_open(&to, "moves", '[');
		for (k = 0; k < c->root_count; k++)
			diffshow_moves(&c->roots[k], root_path(s, k), &to);
		jsonstream_close(&to, ']');
		write_worktrees_json(s, c, &to);
		jsonstream_put(&to, "agent", agent_show_json(s));
		jsonstream_close(&to, '}');
		return;
	}
	if (form <= FORM_STAT) {
		AUTO(buf) struct buf b = {0};
		struct change_counts n;

		changes_count_all(c, &n);
		diffshow_head(s, &b);
		changes_summary(&n, &b);
		styled_line(styled_out(), LINE_PLAIN, "%s", buf_text(&b));
		risk_show_verdict(verdict, styled_out());
		commit_files_show_count(files, session_label(s), styled_out());
	}
	if (form != FORM_TEXT) {
		for (i = 0; i < c->root_count; i++) {
			if (form == FORM_STAT)
				listing_worktrees(&c->roots[i], false,
						  styled_out());
			diffshow_lines(&c->roots[i],
				       j->count ? &j->views[i] : NULL, o);
		}
		return;
	}
	print_texts(s, c, j, o);
}

/* The verdict that was printed before all files were read is repeated if it has
 * changed. */
static void print_final_verdict(struct judgement *j, struct verdict *verdict)
{
	AUTO(verdict) struct verdict first = *verdict;

	judge_rest(j);
	verdict_make(j, true, verdict);
	if (verdict_equal(&first, verdict) || output_has_failed())
		return;
	styled_line(styled_out(), LINE_TITLE, "Verdict, with all files read");
	risk_show_verdict(verdict, styled_out());
}

static int print_kinds(const struct session *s, const struct changes *c,
		       struct err *err)
{
	AUTO(buf) struct buf head = {0};

	diffshow_head(s, &head);
	return kinds_show_changes(c, buf_text(&head), styled_out(), err);
}

/* The bytes that are read before the first line of output. The names alone
 * have no verdict, and are marked when they are printed. */
static uint64_t bytes_to_read(const struct diff_options *o)
{
	if (o->exit_code || o->form >= FORM_JSON)
		return JUDGEMENT_ALL;
	return o->form == FORM_NAME_STATUS ? 0 : JUDGEMENT_FIRST;
}

/* Whether a change is critical, or deletes an only copy. */
static bool is_severe(const struct judgement *j)
{
	size_t i, k;

	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->views[i].count; k++)
			if (view_level(&j->views[i].items[k]) == RISK_CRITICAL)
				return true;
	return false;
}

/* The paths of a root with a risk or loss of this level, with both ends of
 * moves. */
static char **list_risky(const struct view *v, enum risk_level least)
{
	char **paths = NULL;
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct change *c = v->items[i].change;
		const struct change_move *m = changes_move(v->list, c);

		if (view_level(&v->items[i]) < least)
			continue;
		mem_list_add(&paths, c->path);
		if (m)
			mem_list_add(&paths, c->kind == CHANGE_DELETED
						     ? m->to
						     : m->from);
	}
	return paths;
}

static void keep_risky(const struct session *s, struct changes *c,
		       enum risk_level least)
{
	const char *const none[] = {NULL};
	AUTO(judgement) struct judgement j = {0};
	size_t hidden = 0, i;

	(void)judgement_make(s, c, JUDGEMENT_ALL, &j);
	for (i = 0; i < j.count; i++) {
		AUTO(mem_list) char **paths = list_risky(&j.views[i], least);

		hidden += c->roots[i].list.count;
		changes_filter(&c->roots[i].list,
			       paths ? (const char *const *)paths : none);
		hidden -= c->roots[i].list.count;
	}
	if (hidden)
		output_print("%s without such a risk: not shown",
			     text_count(hidden, "change"));
}

struct diff_result {
	bool compared; /* all texts were */
	bool severe; /* known with --exit-code */
};

static int judge_and_print(struct context *context, struct resolved_run *p,
			   struct changes *c, const struct diff_options *o,
			   struct diff_result *ret, struct err *err)
{
	const struct session *s = &p->session;
	AUTO(judgement) struct judgement j = {0};
	AUTO(verdict) struct verdict verdict = {0};
	AUTO(commit_files) struct commit_files files = {0};
	bool verdicts = o->form == FORM_TEXT || o->form == FORM_STAT ||
			o->form >= FORM_JSON;
	bool complete = true;
	struct err ignored;
	size_t i;

	if (verdicts && !resolve_run_has_paths(p))
		commit_files_show_load(context, &p->session, c, &files);
	if (o->risk)
		keep_risky(s, c, o->risk);
	if (o->full)
		worktrees_show(c);
	for (i = 0; i < c->root_count; i++) {
		worktrees_count(&c->roots[i]);
		diffshow_sort(&c->roots[i].list);
	}
	if (verdicts || o->exit_code || o->form == FORM_NAME_STATUS) {
		complete = judgement_make(s, c, bytes_to_read(o), &j);
		ret->severe = is_severe(&j);
	}
	if (verdicts)
		verdict_make(&j, complete, &verdict);
	if (o->form == FORM_KINDS)
		return print_kinds(s, c, err);
	if (o->form == FORM_HTML &&
	    html_report_write(o->html, s, c, &j, &verdict, err) < 0)
		return -err->num;
	if (o->form == FORM_HUNKS)
		ret->compared = hunks_json_print(context, p, c, &j, &verdict);
	else if (o->form != FORM_HTML)
		print_diff(s, c, &j, &verdict, &files, o);
	if (verdicts && !complete)
		print_final_verdict(&j, &verdict);
	if (verdicts && !o->risk && !resolve_run_has_paths(p))
		(void)verdict_save(s->fd, verdict_show_key(s, c), &verdict,
				   &ignored);
	return 0;
}

static int diff_two_runs(struct context *c, struct session *a,
			 struct session *b, char **operands, int count,
			 const struct diff_options *o, struct err *err)
{
	AUTO(mem_list) char **paths = NULL;
	int i, got = recover_project(c, a->project, err);

	if (got > 0)
		got = resolve_run_reload(c, a, err) < 0
			      ? -err->num
			      : resolve_run_reload(c, b, err);
	if (got < 0 && got != -EBUSY)
		return got;
	for (i = 0; i < count; i++) {
		auto_free char *path = resolve_run_path(operands[i], err);

		if (!path)
			return -err->num;
		if (!path_below(path, a->project))
			return fail(err, EXDEV, "%s is not in project %s",
				    text_quote(operands[i]),
				    text_quote(a->project));
		mem_list_add(&paths, path_rest(path, a->project));
	}
	diffshow_start(o);
	return diffsnaps_runs(c, a, b, paths, count, o, err);
}

static bool has_modified(const struct changes *c)
{
	struct change_counts n;

	changes_count_all(c, &n);
	return n.modified > 0;
}

static int diff(struct context *c, const struct options *given,
		const struct diff_options *o, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(session) struct session a = SESSION_NONE;
	AUTO(session) struct session b = SESSION_NONE;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	char **argv = given->operands;
	int words = words_before_dashes(given->count, given->dashed);
	int points, got;
	struct freezer *freezer = NULL;
	struct diff_result result = {.compared = true};
	struct err unexpected;

	got = diffsnaps_open_runs(c, words, argv, &a, &b, err);
	points = got ? 0 : diffsnaps_points(c, words, argv, err);
	if (got >= 0 && points >= 0 && got + points &&
	    (o->risk || o->form == FORM_KINDS || o->form >= FORM_HTML))
		return fail(err, EINVAL,
			    "--risk, --kinds, --html and --json=hunks show the "
			    "changes of one run: name a run, or none for the "
			    "latest");
	if (got)
		return diff_two_runs(c, &a, &b, argv + 2, given->count - 2, o,
				     err);
	if (points < 0)
		return points;
	if (points)
		return diffsnaps(c, argv, points, given->count, o, err);
	if (choose_run_open(c, given, &p, err) < 0)
		return -err->num;
	got = recover_project(c, p.session.project, err);
	if (got > 0)
		got = resolve_run_reload(c, &p.session, err);
	if (got == -EBUSY)
		output_print("%s", err->text);
	else if (got < 0)
		return got;
	if (live_suspend(&p.session, &freezer, &unexpected) < 0)
		output_warn("%s: the run continues while its layer is read",
			    unexpected.text);
	got = changes_load_trees(c, &p.session, &changes, err);
	freezer_end(&freezer);
	if (got < 0)
		return -err->num;
	if (resolve_run_check(&p, &changes, err) < 0)
		return -err->num;
	/* The worker loads its libraries while risks are judged. */
	if ((o->form <= FORM_STAT || o->form >= FORM_HTML) &&
	    has_modified(&changes))
		parse_prepare(true);
	/* A diff is shown in any case. */
	if (changes_total(&changes) &&
	    changes_edited_mark(c, &p.session, &changes, &unexpected) < 0)
		output_warn("cannot mark files that changed here since the run "
			    "started: %s",
			    unexpected.text);
	if (!o->no_renames)
		changes_find_moves(&changes);
	resolve_run_filter(&p, &changes);
	changes_torn_report(&p.session, &changes);
	diffshow_start(o);
	if (resolve_run_is_running(&p.session) && o->form <= FORM_STAT)
		(void)printf("still running: these are its changes so far\n");
	if (judge_and_print(c, &p, &changes, o, &result, err) < 0)
		return -err->num;
	if (!result.compared || !diffshow_has_compared())
		return STATUS_REFUSED;
	if (!o->exit_code ||
	    !(changes_total(&changes) + changes_home(&changes)->list.count))
		return STATUS_OK;
	return result.severe ? STATUS_SEVERE : STATUS_REFUSED;
}

/* -z goes with lists only: for other forms it has no meaning. */
static enum diff_form form_of(const struct options *o)
{
	static const enum diff_form forms[] = {
		[OPTION_FORM_KINDS] = FORM_KINDS,
		[OPTION_FORM_HTML] = FORM_HTML,
		[OPTION_FORM_STAT] = FORM_STAT,
		[OPTION_FORM_NAME_STATUS] = FORM_NAME_STATUS,
		[OPTION_FORM_NAME_ONLY] = FORM_NAME_ONLY,
		[OPTION_FORM_JSON] = FORM_JSON,
	};
	enum diff_form form = forms[o->form];

	if (o->raw && (form == FORM_TEXT || form == FORM_NAME_STATUS ||
		       form == FORM_NAME_ONLY))
		return FORM_RAW;
	return form == FORM_JSON && o->json_form == OPTION_JSON_FORM_HUNKS
		       ? FORM_HUNKS
		       : form;
}

int cmd_diff(const struct options *o, struct context *c, struct err *err)
{
	static const enum diff_layout layouts[] = {
		[OPTION_LAYOUT_WORDS] = LAYOUT_WORDS,
		[OPTION_LAYOUT_COLUMNS] = LAYOUT_COLUMNS,
		[OPTION_LAYOUT_TOOL] = LAYOUT_TOOL,
	};
	struct diff_options d = {
		.form = form_of(o),
		.only_names = o->form == OPTION_FORM_NAME_ONLY,
		/* The terminal is the tool's. */
		.no_pager = o->no_pager || options_given(o, "tool"),
		.exit_code = o->exit_code,
		.no_renames = o->no_renames,
		.full = o->full,
		.risk = (enum risk_level)o->risk,
		.html = o->html,
		.context = (unsigned int)o->unified,
		.layout = layouts[o->layout],
		.tool = o->tool,
	};

	if (d.layout == LAYOUT_WORDS && o->word_diff == OPTION_WORD_DIFF_COLOR)
		d.layout = LAYOUT_COLOR_WORDS;
	/* As in git, color turns colors on. */
	if (o->word_diff == OPTION_WORD_DIFF_COLOR && !o->color)
		output_color(OUTPUT_ALWAYS);
	return diff(c, o, &d, err);
}
