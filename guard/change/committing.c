#include "guard/change/committing.h"

#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/state/report.h"

/* Paths that the plan leaves out are as before. */
static int leave_excepted(struct apply_plan *a, struct entry *want,
			  struct err *err)
{
	const struct changeset_root *root = &a->change.roots[0];
	const struct names *paths = &root->plan.excepted;
	struct store *store = a->c->store;
	struct tree_editor *editor = tree_editor_new(store, want);
	size_t i;
	int got = 0;

	for (i = 0; got >= 0 && i < paths->count; i++) {
		const char *path = paths->items[i];
		AUTO(entry) struct entry e = {0};

		got = tree_lookup(store, &root->base.root, path, &e, err);
		if (got >= 0)
			got = e.mode ? tree_editor_put(editor, path, &e, err)
				     : tree_editor_remove(editor, path, err);
	}
	return tree_editor_end(&editor, got, want, err);
}

int committing_make(struct apply_plan *a, const struct committing_options *o,
		    bool dry, const struct entry *want, struct gitcommit **ret,
		    struct err *err)
{
	const struct session *s = &a->p->session;
	size_t len = o->message ? strlen(o->message) : 0;
	AUTO(buf) struct buf message = {0};
	AUTO(entry) struct entry taken = {0};
	struct gitcommit_job job = {
		.repository = s->project,
		.branch = o->branch,
		.home = a->c->state.home,
		.paths = (const char *const *)resolve_run_paths(a->p, 0),
		.dry = dry,
	};
	size_t i;

	if (len) {
		buf_printf(&message, "%s%s", o->message,
			   o->message[len - 1] == '\n' ? "" : "\n");
	} else {
		buf_printf(&message, "Apply run %s\n\n$ ", session_label(s));
		text_escape_name(&message, s->command ? s->command : "");
		buf_add_char(&message, '\n');
	}
	job.message = buf_text(&message);
	entry_copy(&taken, want);
	if (leave_excepted(a, &taken, err) < 0 ||
	    gitcommit_make(a->c->store, &a->change.roots[0].base.root, &taken,
			   &job, ret, err) < 0)
		return err_context(err,
				   o->branch ? "nothing committed"
					     : "nothing applied or committed");
	for (i = 0; i < (*ret)->notes.count; i++)
		report_note("not in the commit: %s", (*ret)->notes.items[i]);
	if (!resolve_run_has_paths(a->p))
		changes_report_excluded(&a->changes, "commits are");
	return 0;
}

int committing_point(const struct apply_plan *a, struct gitcommit *c,
		     bool applied, struct err *err)
{
	size_t i = c->notes.count;

	if (gitcommit_point(c, err) < 0)
		return applied ? err_context(err, "applied, but not committed")
			       : -err->num;
	for (; i < c->notes.count; i++)
		report_warning("%s", c->notes.items[i]);
	state_log(&a->c->state, "commit", "run", a->p->session.id, "project",
		  a->p->session.project, "branch", c->branch, "commit", c->id,
		  NULL);
	report_note("committed to %s: %.10s, %s; not signed, no hook was run",
		    c->branch, c->id, text_count(c->count, "file"));
	if (applied)
		report_hint("git reset --soft HEAD~1 undoes only the commit, "
			    "guard undo only the files");
	else
		report_hint(
			"run %s stays pending (guard discard %s discards it)",
			session_label(&a->p->session),
			session_label(&a->p->session));
	return 0;
}
