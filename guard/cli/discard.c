#include "guard/cli/discard.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "guard/agent/agent.h"
#include "guard/agent/home_versions.h"
#include "guard/change/importer.h"
#include "guard/change/changes.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/change/recover.h"
#include "guard/retention/retire.h"
#include "guard/cli/listing.h"
#include "guard/change/partial_discard.h"
#include "restore/workspace.h"
#include "guard/cli/verdict_show.h"

/* A change back in the home of the run's agent. */
struct put_back {
	struct profile profile;
	struct home_versions home;
	struct home_undo undo;
};

static void put_back_free(struct put_back *b)
{
	home_undo_free(&b->undo);
	home_versions_free(&b->home);
	profile_free(&b->profile);
}

static int plan_put_back(struct context *c, struct session *s,
			 struct put_back *ret, struct err *err)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	const struct profile_item *item = NULL;
	char **paths = NULL;
	int got;

	if (agent_read(&c->state, name, &ret->profile, err) < 0)
		return -err->num;
	got = home_versions_open(&c->state, name, &ret->profile, &ret->home,
				 err);
	if (got < 0 && got != -ENOENT)
		return got;
	if (got == 0 && home_versions_judge_killed(c, &ret->home, &ret->profile,
						   "", s, err) < 0)
		return -err->num;
	while ((item = profile_next(&ret->profile, PROFILE_HOME, item))) {
		AUTO(home_versions) struct home_versions h = {0};

		if (home_versions_open_shared(&c->state, name, &ret->profile,
					      item, &h) &&
		    home_versions_judge_killed(c, &h, &ret->profile,
					       item->value, s, err) < 0)
			return -err->num;
	}
	paths = agent_code_paths(s);
	/* --share-login */
	if (paths && !record_get(&s->more, AGENT_BEFORE))
		got = fail(
			err, EPERM,
			"guard agents %s --undo takes the changes of the run "
			"there back",
			name);
	else if (got < 0)
		got = 0;
	else if (paths)
		got = home_undo_plan_paths(c, &ret->home, &ret->profile, s,
					   (const char *const *)paths,
					   &ret->undo, err);
	mem_list_free(&paths);
	return got;
}

/* Lists the settings that go back. A failure is a warning: the discard of the
 * project's changes does not wait for it. */
static void prepare_put_back(struct context *c, struct session *s,
			     const struct discard_choice *how,
			     struct put_back *ret)
{
	const char *name = record_get(&s->more, AGENT_NAME);
	AUTO(mem_list) char **lost = NULL;
	char **path;
	const struct plan *plan;
	struct err err;
	size_t i;

	if (how->keep_agent || !name)
		return;
	if (plan_put_back(c, s, ret, &err) < 0)
		output_warn("the home of %s stays as it is: %s", name,
			    err.text);
	lost = home_versions_lost_logins(&ret->home, &c->state);
	if (lost)
		output_warn("%s has no login any more: guard agents %s --undo "
			    "restores its home",
			    name, name);
	plan = ret->undo.change.root_count ? &ret->undo.change.roots[0].plan
					   : NULL;
	if (!plan)
		return;
	if (plan->steps.count)
		output_print("settings of %s for its next session are put "
			     "back, too (--keep-agent keeps them):",
			     name);
	for (i = 0; i < plan->steps.count; i++)
		output_hint("~/%s", text_shell(plan->steps.items[i].path));
	for (path = ret->undo.kept; path && *path; path++)
		output_warn("~/%s stays: a later run of %s changed it too "
			    "(guard agents %s --undo N)",
			    text_shell(*path), name, name);
}

/* The records of a discard. */
#define SPACE_LEAST ((uint64_t)256 << 10)

/* On a full disk a discard has to write its records before anything is freed:
 * then the stat cache goes, which the next snapshot makes again. */
static void make_space(struct context *c, const char *project)
{
	auto_close int workspace = -1;
	auto_free char *cache = NULL;
	struct statvfs fs;
	struct err ignored;

	if (fstatvfs(c->state.fd, &fs) < 0 ||
	    (uint64_t)fs.f_bavail * fs.f_frsize >= SPACE_LEAST)
		return;
	workspace = workspace_open(c->state.workspaces_fd, project, false,
				   &ignored);
	cache = workspace < 0 ? NULL : workspace_cache_path(workspace);
	if (cache)
		(void)unlink(cache);
}

static int discard_all(struct context *c, struct resolved_run *p,
		       const struct discard_choice *how, struct err *err)
{
	struct session *s = &p->session;
	AUTO(put_back) struct put_back back = {0};
	struct err ignored;
	auto_free char *left = importer_left(c, s, err);
	auto_free char *run = choose_run_text(s);

	if (!left)
		output_warn("run %s may have commits that you have not "
			    "imported: %s",
			    session_label(s), err->text);
	else if (*left)
		output_print("run %s has %s that you have not imported (guard "
			     "import %s)",
			     session_label(s), left, session_label(s));
	/* The store for the commits: closed, its space is free again. */
	if (!left)
		store_free(&c->store);
	prepare_put_back(c, s, how, &back);
	if (!output_confirm(how->yes, "guard: discard all changes of %s?", run))
		return STATUS_REFUSED;
	if (changeset_has_steps(&back.undo.change) &&
	    home_undo_execute(&back.undo, &back.home, err) < 0)
		return err_context(err, "home of %s (--keep-agent skips it)",
				   back.home.name);
	make_space(c, s->project);
	if (retire_discard(c, s, err) < 0)
		return -err->num;
	output_print("run %s discarded; guard keeps it for 7 days",
		     session_label(s));
	output_hint("guard undo restores it");
	(void)retire_trash(&c->state, &ignored);
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
	if (changes_total(&changes) || changes_count_home(&changes)) {
		verdict_show_renew(c, p->session.id);
		return STATUS_OK;
	}
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

/* A path to type: "~/'a b'", and "~" or "." for the directory itself. */
static char *path_below_prefix(const char *prefix, const char *path)
{
	if (*path)
		return mem_printf("%s%s", prefix,
				  *prefix ? text_shell(path)
					  : text_quote(path));
	return *prefix ? mem_strndup(prefix, strlen(prefix) - 1)
		       : mem_strdup(".");
}

static int discard_paths(struct context *c, struct resolved_run *p,
			 const struct discard_choice *how, struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	auto_free char *run = choose_run_text(&p->session);
	const char *label = session_label(&p->session);
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
			/* "": perhaps in a directory that was named. */
			if ((**path || !i || i == p->session.root_count) &&
			    !changes_has(&groups[i].list, *path)) {
				auto_free char *shown = path_below_prefix(
					groups[i].prefix, *path);

				return fail(err, ENOENT,
					    "run %s has no change at %s: "
					    "`guard diff %s` lists its changes",
					    label, shown, label);
			}
	resolve_run_add_moves(p, &changes, "discarded");
	changes_find_moves(&changes);
	all = count_group_changes(groups, count);
	resolve_run_filter(p, &changes);
	listing_print_plain(&changes, styled_out());
	if (how->dry)
		return STATUS_OK;
	/* All of it: then the run goes, and comes back, as a whole. */
	if (count_group_changes(groups, count) == all)
		return discard_all(c, p, how, err);
	if (!output_confirm(how->yes, "guard: discard these changes of %s?",
			    run))
		return STATUS_REFUSED;
	return discard_parts(c, p, &changes, err);
}

int discard_run(struct context *c, struct resolved_run *p,
		const struct discard_choice *how, struct err *err)
{
	auto_free char *run = choose_run_text(&p->session);

	if (resolve_run_has_paths(p))
		return discard_paths(c, p, how, err);
	if (!how->dry)
		return discard_all(c, p, how, err);
	output_print("%s would be discarded", run);
	return STATUS_OK;
}

static int discard_one(struct context *c, const char *id, bool keep_agent,
		       struct err *err)
{
	const struct discard_choice how = {.yes = true,
					   .keep_agent = keep_agent};
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	int got = resolve_run_text(c, id, false, &p.session, err);

	if (got < 0)
		return got;
	got = recover_project(c, p.session.project, err);
	if ((got < 0 && got != -ENOENT) || resolve_run_lock(c, &p, err) < 0)
		return -err->num;
	return discard_all(c, &p, &how, err);
}

int discard_every_run(struct context *c, const struct discard_choice *how,
		      struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t runs = 0, kept = 0, i;

	if (resolve_run_pending(c, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++)
		if (how->glob &&
		    !resolve_run_matches(&list.items[i], how->glob))
			session_free(&list.items[i]);
		else
			list.items[kept++] = list.items[i];
	list.count = kept;
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
		return fail(err, ENOENT,
			    "no run in %s can be discarded%s%s: `guard status` "
			    "lists the pending ones",
			    text_quote(c->project),
			    how->glob ? " and matches " : "",
			    how->glob ? text_quote(how->glob) : "");
	if (how->dry)
		return STATUS_OK;
	if (!output_confirm(how->yes, "guard: discard all changes of %s?",
			    text_count(runs, "run")))
		return STATUS_REFUSED;
	for (i = 0; i < list.count; i++)
		if (!resolve_run_is_running(&list.items[i]) &&
		    discard_one(c, list.items[i].id, how->keep_agent, err) < 0)
			return -err->num;
	return STATUS_OK;
}
