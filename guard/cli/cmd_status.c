#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/cli/backup_age.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/styled.h"
#include "guard/cli/verdict_show.h"
#include "guard/run/run.h"
#include "guard/review/overlaps.h"
#include "guard/retention/retire.h"
#include "guard/state/storing.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"

/* Files in one line. */
#define NAMES_SHOWN 5

struct status_options {
	struct context *context;
	const struct options *o;
	char *unfinished; /* or NULL */
	size_t elsewhere; /* pending runs that are not shown */
	const char *glob; /* runs with such a name only; NULL: all */
	const char *name; /* glob is a single run's name or id */
	struct backups backups;
};

/* On stderr, or as JSON into the list. */
static void print_overlap(const struct session *a, const struct session *b,
			  const struct overlap *overlap, json_t *to)
{
	const size_t most = ARRAY_SIZE(overlap->paths);
	AUTO(buf) struct buf names = {0};
	json_t *object;
	size_t i;
	bool same;

	if (to) {
		object = json_pack("{s:[s, s]}", "runs", a->id, b->id);
		jsonout_number(object, "count", overlap->count);
		jsonout_text(object, "first", overlap->paths[0]);
		jsonout_add(to, object);
		return;
	}
	for (i = 0; i < overlap->count && i < most; i++)
		buf_printf(&names, "%s%s", i ? ", " : "",
			   text_quote(overlap->paths[i]));
	if (overlap->count > most)
		buf_printf(&names, " and %zu more", overlap->count - most);
	same = strcmp(session_label(a), session_label(b)) == 0;
	output_hint("%s and %s both changed %s",
		    same ? a->id : session_label(a),
		    same ? b->id : session_label(b), buf_text(&names));
}

/* Runs that have changed the same paths, on stderr or into the list. Layers are
 * read only where another run of the project is pending. */
static void print_overlaps(const struct session_list *list,
			   const struct status_options *o, json_t *to)
{
	auto_free struct changes *layers =
		mem_zalloc((list->count + 1) * sizeof(*layers));
	const struct session *runs = list->items;
	struct overlap overlap;
	struct err ignored;
	size_t i, k;

	for (i = 0; i < list->count; i++) {
		for (k = 0; k < list->count; k++)
			if (k != i && run_state_pending(runs[i].state) &&
			    run_state_pending(runs[k].state) &&
			    strcmp(runs[i].project, runs[k].project) == 0)
				break;
		if (k < list->count)
			(void)changes_load_own(o->context, &runs[i], &layers[i],
					       &ignored);
	}
	for (i = 0; i < list->count; i++)
		for (k = 0; k < i; k++) {
			if (!layers[i].root_count || !layers[k].root_count ||
			    strcmp(runs[i].project, runs[k].project) != 0)
				continue;
			overlaps_find(&layers[k].roots[0].list,
				      &layers[i].roots[0].list, &overlap);
			if (overlap.count)
				print_overlap(&runs[k], &runs[i], &overlap, to);
		}
	for (i = 0; i < list->count; i++)
		changes_free(&layers[i]);
}

static int load_verdict(const struct session *s,
			const struct change_counts *counts, size_t home,
			struct verdict *ret)
{
	const struct verdict_key key = {
		.result = s->state == RUN_ENDED ? s->roots[0].result : 0,
		.changes = counts->total + home,
	};

	return verdict_load(s->fd, key, ret);
}

/* null: not judged since the last change. */
static json_t *cached_verdict_json(const struct session *s,
				   const struct change_counts *counts,
				   size_t home)
{
	AUTO(verdict) struct verdict v = {0};

	return load_verdict(s, counts, home, &v) ? verdict_show_json(&v)
						 : json_null();
}

static void print_status_json(const struct session_list *list,
			      const struct status_options *o)
{
	json_t *all = json_array(), *overlaps = json_array();
	json_t *document = jsonout_document("guard.status/1");
	size_t i;

	for (i = list->count; i-- > 0;) {
		const struct session *s = &list->items[i];
		struct change_counts counts;
		struct err err;
		json_t *run = jsonout_run(s);
		size_t home;

		if (choose_run_count(o->context, s, &counts, &home, &err) ==
		    0) {
			jsonout_set(run, "counts", jsonout_counts(&counts));
			jsonout_number(run, "home", home);
			jsonout_set(run, "verdict",
				    cached_verdict_json(s, &counts, home));
		} else {
			jsonout_text(run, "error", err.text);
		}
		jsonout_add(all, run);
	}
	jsonout_set(document, "runs", all);
	jsonout_text(document, "unfinished", o->unfinished);
	print_overlaps(list, o, overlaps);
	jsonout_set(document, "overlaps", overlaps);
	jsonout_set(document, "backups", backup_age_json(&o->backups));
	jsonstream_print(document);
}

static void add_status_row(struct table *t, const struct session *s,
			   const struct status_options *o)
{
	struct change_counts counts;
	size_t home;
	auto_free char *changes =
		choose_run_counted_changes(o->context, s, &counts, &home);
	AUTO(verdict) struct verdict verdict = {0};
	AUTO(buf) struct buf look = {0};
	const char *test = record_get(&s->more, RUN_TEST);
	const char *tested = test ? text_printf("%s, test: exit %ld", changes,
						strtol(test, NULL, 10))
				  : changes;
	AUTO(buf) struct buf command = {0}, project = {0};
	/* The run may have continued since it ended. */
	bool going = !s->ended.sec || s->started.sec > s->ended.sec;
	struct timestamp when = going ? s->started : s->ended;
	const char *status =
		s->status >= 0 ? text_printf("exit %d", s->status) : "";

	output_truncated(&command, s->command ?: "");
	if (o->o->all)
		text_escape_name(&project, s->project);
	if (load_verdict(s, &counts, home, &verdict) && verdict.count)
		buf_printf(&look, "%s %s",
			   verdict_sign(verdict.items[0].level) + 1,
			   verdict.items[0].brief);
	/* Without the projects the command is the last column. */
	table_add(t,
		  (const char *const[]){s->id, session_name(s) ?: "",
					resolve_run_state_text(s),
					when.sec ? text_age(when) : "", status,
					tested, buf_text(&look),
					buf_text(&command), buf_text(&project)},
		  o->o->all ? 9 : 8);
}

/* The files that the run and the user have changed: the run sees its own
 * version. */
static void print_unseen_edits(struct context *c, struct session *s)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(buf) struct buf names = {0};
	size_t count = 0, i, k;
	struct err ignored;

	if (changes_load(s, &c->state, &changes, &ignored) < 0 ||
	    changes_edited_mark(c, s, &changes, &ignored) < 0)
		return;
	for (i = 0; i < s->root_count; i++) {
		const struct changes_root *root = &changes.roots[i];

		for (k = 0; k < root->list.count; k++) {
			const struct change *change = &root->list.items[k];

			if (!(change->flags & CHANGES_EDITED) ||
			    S_ISDIR(change->now.mode) || ++count > NAMES_SHOWN)
				continue;
			buf_printf(&names, "%s%s%s", count > 1 ? ", " : "",
				   root->prefix, text_quote(change->path));
		}
	}
	if (count > NAMES_SHOWN)
		buf_printf(&names, " and %zu more", count - NAMES_SHOWN);
	if (count)
		output_hint("it does not see your edits of %s: it has changed "
			    "the same %s",
			    buf_text(&names), count == 1 ? "file" : "files");
}

static void print_table(struct session_list *list,
			const struct status_options *o)
{
	AUTO(table) struct table t = {0};
	size_t i;

	for (i = list->count; i-- > 0;)
		add_status_row(&t, &list->items[i], o);
	table_print(&t, "", stdout);
	if (list->count == 0 && o->o->all)
		output_print("no runs");
	else if (list->count == 0 && o->elsewhere)
		output_print("no run in %s is pending; `guard status --all` "
			     "lists %s of other projects",
			     text_quote(o->context->project),
			     text_count(o->elsewhere, "run"));
	else if (list->count == 0)
		output_print("no run in %s is pending",
			     text_quote(o->context->project));
	for (i = 0; i < list->count; i++) {
		AUTO(changes) struct changes changes = CHANGES_NONE;
		struct session *s = &list->items[i];
		struct err ignored;

		if (resolve_run_is_running(s)) {
			output_hint("%s is still running", session_label(s));
			print_unseen_edits(o->context, s);
		} else if (s->state == RUN_INTERRUPTED) {
			output_hint(
				"%s was interrupted: guard or the machine "
				"stopped before it ended; its changes are kept",
				session_label(s));
			if (changes_load(s, &o->context->state, &changes,
					 &ignored) == 0)
				changes_torn_report(s, &changes);
		}
	}
	print_overlaps(list, o, NULL);
}

/* For scripts: --porcelain, or with -q the ids alone. */
static void print_lines(const struct session_list *list,
			const struct status_options *o)
{
	size_t i;

	for (i = list->count; i-- > 0;) {
		if (o->o->porcelain) {
			const struct session *s = &list->items[i];
			AUTO(buf) struct buf b = {0};
			struct change_counts n;
			struct err err;
			size_t home;

			if (choose_run_count(o->context, s, &n, &home, &err) <
			    0)
				output_warn("%s", err.text);
			buf_printf(&b, "%s\t%s\t%d\t%zu\t%zu\t%zu\t%zu\t",
				   s->id, resolve_run_state_text(s), s->status,
				   n.deleted, n.modified + n.type + n.meta,
				   n.added, n.git);
			text_escape_name(&b, s->project);
			buf_add_char(&b, '\t');
			text_escape_name(&b, s->command ?: "");
			buf_printf(&b, "\t%s", session_name(s) ?: "");
			(void)printf("%s\n", buf_text(&b));
		} else
			(void)printf("%s\n", list->items[i].id);
	}
}

/* An action that was interrupted in the middle is only shown: the user decides
 * whether it continues or is rolled back. An action that has not touched the
 * files is ended. */
static int check_unfinished(struct context *c, struct status_options *o,
			    struct err *err)
{
	bool back;
	int got;

	o->unfinished = recover_unfinished(c, c->project, &back);
	if (o->unfinished) {
		output_warn(back ? "%s was interrupted during its rollback: "
				   "guard apply --abort completes it (any "
				   "other verb does so first)"
				 : "%s was interrupted: guard apply --continue "
				   "finishes it, guard apply --abort rolls it "
				   "back (any other verb finishes it first)",
			    o->unfinished);
		return 0;
	}
	got = recover_project(c, c->project, err);
	if (got == -EBUSY)
		output_print("%s", err->text);
	return got == -EBUSY ? 0 : got;
}

/* The snapshot beside a run that goes on now. */
static void print_storing(const struct context *c)
{
	auto_free char *text = NULL;
	struct storing storing;

	if (storing_find(c->state.workspaces_fd, c->project, &storing)) {
		text = storing_text(&storing);
		output_hint("storing %s in the background: %s (guard stop "
			    "--snapshot ends it)",
			    text_quote(c->project), text);
	}
	free(storing.run_id);
}

/* The destination with the newest backup, and those that lack one or failed. */
static void print_backup_ages(const struct backups *known)
{
	const struct backup *newest = known->items;
	size_t i;

	for (i = 0; i < known->count; i++)
		if (known->items[i].time > newest->time)
			newest = &known->items[i];
	for (i = 0; i < known->count; i++) {
		const struct backup *b = &known->items[i];

		if (b == newest || b->failure || b->unsent || !b->time)
			styled_line(styled_out(), LINE_PLAIN,
				    "%snewest backup: %s" PLAIN,
				    backup_age_is_late(b) ? CHANGED : FAINT,
				    backup_age_text(b));
	}
}

static int status(struct context *c, struct status_options *o, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t shown = 0, i, k;

	if (context_open(c, true, err) < 0 || check_unfinished(c, o, err) < 0)
		return -err->num;
	o->context = c;
	if (backup_age_load(&c->state, &o->backups, err) < 0)
		output_warn("%s", err->text);
	retire_runs(c, true);
	if ((o->o->all ? session_list(c->state.runs_fd, false, &list, err)
		       : session_list_pending(c->state.runs_fd, c->project,
					      &list, err)) < 0)
		return -err->num;
	if (list.unread.num)
		output_warn("%s", list.unread.text);
	for (i = 0; i < list.count; i++) {
		struct session *s = &list.items[i];
		bool pending = run_state_pending(s->state), show = o->o->all;

		/* Runs of a directory above, too: without git, every start
		 * directory of a run is a project. */
		for (k = 0; pending && !show && k < s->root_count; k++)
			show = path_below(c->project, s->roots[k].path);
		show = show && (!o->glob || resolve_run_matches(s, o->glob));
		if (show) {
			list.items[shown++] = *s;
			continue;
		}
		o->elsewhere += pending;
		session_free(s);
	}
	list.count = shown;
	o->elsewhere += list.elsewhere;
	if (o->name && !shown)
		return fail(err, ENOENT,
			    "no such directory and no such run: %s (`guard "
			    "status --all` lists the runs)",
			    text_quote(o->name));
	if (o->o->json)
		print_status_json(&list, o);
	else if (o->o->porcelain || o->o->ids)
		print_lines(&list, o);
	else
		print_table(&list, o);
	if (!o->o->json && !o->o->porcelain && !o->o->ids) {
		print_storing(c);
		print_backup_ages(&o->backups);
	}
	return STATUS_OK;
}

int cmd_status(const struct options *o, struct context *c, struct err *err)
{
	struct status_options s = {.o = o};
	const char *operand = o->operands[0];
	int got;

	if (o->disk)
		return cmd_du(o, c, err);
	if (operand && resolve_run_is_glob(operand)) {
		s.glob = operand;
	} else if (operand && chdir(operand) < 0) {
		(void)fail_errno(err, "%s", text_quote(operand));
		if (err->num != ENOENT ||
		    !(session_name_ok(operand) || session_id_ok(operand)))
			return -err->num;
		s.glob = s.name = operand;
	}
	got = status(c, &s, err);
	free(s.unfinished);
	backups_free(&s.backups);
	return got;
}
