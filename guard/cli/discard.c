#include "guard/cli/discard.h"

#include "guard/change/importer.h"
#include "guard/change/changes.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/change/recover.h"
#include "guard/retention/retire.h"
#include "guard/cli/listing.h"
#include "guard/change/partial_discard.h"
#include "guard/change/resolve_run.h"

#define TRASH_SECONDS (7 * 24 * 3600)

static int discard_all(struct context *c, struct resolved_run *p, bool yes,
		       struct err *err)
{
	struct session *s = &p->session;
	struct err ignored;
	auto_free char *left = importer_left(c, s);
	auto_free char *run = choose_run_text(s);

	if (*left)
		output_print("run %s has %s that you have not imported (guard "
			     "import %s)",
			     session_label(s), left, session_label(s));
	if (!output_confirm(yes, "guard: discard all changes of %s?", run))
		return STATUS_REFUSED;
	if (retire_discard(c, s, err) < 0)
		return -err->num;
	output_print("run %s discarded; guard keeps it for 7 days",
		     session_label(s));
	output_hint("guard undo restores it");
	(void)session_empty_trash(c->state.trash_fd, TRASH_SECONDS, &ignored);
	return STATUS_OK;
}

static int discard_parts(struct context *c, struct resolved_run *p,
			 const struct changes *found, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;

	if (partial_discard(c, p, found, err) < 0)
		return -err->num;
	output_print("discarded from run %s; guard keeps it for 7 days",
		     session_label(&p->session));
	output_hint("guard undo restores it");
	if (changes_load_own(c, &p->session, &changes, err) < 0)
		return -err->num;
	if (changes_total(&changes) || changes_count_home(&changes))
		return STATUS_OK;
	if (retire_discard(c, &p->session, err) < 0)
		return -err->num;
	output_print("run %s has no changes left: it is discarded too",
		     session_label(&p->session));
	return STATUS_OK;
}

static size_t count_group_changes(const struct changes_root *groups,
				  size_t count)
{
	size_t n = 0, i;

	for (i = 0; i < count; i++)
		n += groups[i].list.count;
	return n;
}

static int discard_paths(struct context *c, struct resolved_run *p, bool dry,
			 bool yes, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	auto_free char *run = choose_run_text(&p->session);
	struct changes_root *groups;
	size_t count, all, i;
	char *const *path;

	if (changes_load_own(c, &p->session, &changes, err) < 0 ||
	    resolve_run_check(p, &changes, err) < 0)
		return -err->num;
	groups = changes.roots;
	count = changes.root_count;
	for (i = 0; i < count; i++)
		for (path = resolve_run_paths(p, i); path && *path; path++)
			if (!changes_has(&groups[i].list, *path))
				return fail(err, ENOENT,
					    "the run has no change at %s%s",
					    groups[i].prefix,
					    text_quote(*path));
	resolve_run_add_moves(p, &changes, "discarded");
	changes_find_moves(&changes);
	all = count_group_changes(groups, count);
	resolve_run_filter(p, &changes);
	listing_print(&changes, stdout);
	if (dry)
		return STATUS_OK;
	/* All of it: then the run goes, and comes back, as a whole. */
	if (count_group_changes(groups, count) == all)
		return discard_all(c, p, yes, err);
	if (!output_confirm(yes, "guard: discard these changes of %s?", run))
		return STATUS_REFUSED;
	return discard_parts(c, p, &changes, err);
}

int discard_run(struct context *c, struct resolved_run *p, bool dry, bool yes,
		struct err *err)
{
	auto_free char *run = choose_run_text(&p->session);

	if (resolve_run_has_paths(p))
		return discard_paths(c, p, dry, yes, err);
	if (!dry)
		return discard_all(c, p, yes, err);
	output_print("%s would be discarded", run);
	return STATUS_OK;
}

static int discard_one(struct context *c, const char *id, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	int got = resolve_run_text(c, id, false, &p.session, err);

	if (got < 0)
		return got;
	got = recover_project(c, p.session.project, err);
	if ((got < 0 && got != -ENOENT) || resolve_run_lock(c, &p, err) < 0)
		return -err->num;
	return discard_all(c, &p, true, err);
}

int discard_every_run(struct context *c, bool dry, bool yes, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t runs = 0, i;

	if (resolve_run_pending(c, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];
		auto_free char *run = choose_run_text(s);
		auto_free char *changes = choose_run_changes(c, s);

		if (resolve_run_is_running(s))
			output_print("%s is still running: guard stop %s ends "
				     "it",
				     run, session_label(s));
		else
			output_print("%s: %s", run, changes);
		runs += !resolve_run_is_running(s);
	}
	if (!runs)
		return fail(err, ENOENT, "no run in %s can be discarded",
			    text_quote(c->project));
	if (dry)
		return STATUS_OK;
	if (!output_confirm(yes, "guard: discard all changes of %s?",
			    text_count(runs, "run")))
		return STATUS_REFUSED;
	for (i = 0; i < list.count; i++)
		if (!resolve_run_is_running(&list.items[i]) &&
		    discard_one(c, list.items[i].id, err) < 0)
			return -err->num;
	return STATUS_OK;
}
