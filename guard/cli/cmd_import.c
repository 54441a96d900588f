#include "base/path.h"
#include "guard/change/importer.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/commit_files_show.h"
#include "guard/cli/styled.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"
#include "restore/git/gitrun.h"

#define ID_SHOWN 10
#define NAME_WIDTH 24
#define MERGES_SHOWN 3

static void add_list_json(const struct gitimport_list *list, json_t *object)
{
	json_t *refs = json_array(), *notes = json_array();
	size_t i;

	jsonout_text(object, "prefix", list->prefix);
	jsonout_number(object, "commits", list->commits);
	jsonout_number(object, "objects", list->objects);
	jsonout_number(object, "bytes", list->bytes);
	for (i = 0; i < list->count; i++) {
		const struct gitimport_ref *r = &list->items[i];
		auto_free char *ref =
			mem_printf("%s/%s", list->prefix, r->name);
		json_t *one = json_object();

		jsonout_text(one, "name", r->name);
		jsonout_text(one, "ref", r->known ? NULL : ref);
		jsonout_text(one, "id", r->id.hex);
		jsonout_text(one, "type", r->type);
		jsonout_bool(one, "known", r->known);
		jsonout_text(one, "subject", r->subject);
		jsonout_add(refs, one);
	}
	for (i = 0; i < list->notes->count; i++)
		jsonout_add(notes, json_string(list->notes->items[i]));
	jsonout_set(object, "refs", refs);
	jsonout_set(object, "left_out", notes);
}

/* The project's repository, if it has one; else NULL. */
static struct gitimport *project_import(const struct importer *imp)
{
	return imp->items.count && !*imp->items.items->name
		       ? imp->items.items->im
		       : NULL;
}

static void print_import_json(const struct session *s,
			      const struct importer *imp,
			      const struct commit_files *files, bool imported)
{
	json_t *object = jsonout_document("guard.import/1");
	json_t *others = json_array();
	size_t i;

	jsonout_text(object, "run", s->id);
	jsonout_text(object, "project", s->project);
	jsonout_bool(object, "imported", imported);
	add_list_json(gitimport_listed(project_import(imp)), object);
	for (i = 0; i < imp->items.count; i++) {
		const struct importer_repository *r = &imp->items.items[i];
		json_t *one;

		if (!*r->name)
			continue;
		one = json_object();
		jsonout_text(one, "repository", r->git);
		jsonout_text(one, "path", r->name);
		add_list_json(gitimport_listed(r->im), one);
		jsonout_add(others, one);
	}
	jsonout_set(object, "others", others);
	commit_files_show_json(files, object);
	jsonstream_print(object);
}

static void print_import_summary(const struct session *s,
				 const struct importer *imp, const char *done)
{
	size_t i;

	for (i = 0; i < imp->items.count; i++) {
		const struct importer_repository *r = &imp->items.items[i];
		const struct gitimport_list *list = gitimport_listed(r->im);

		if (!list->fresh)
			continue;
		output_print("%s %s: %s, %s (%s, %s) %s %s/%s",
			     *r->name ? "repository" : "run",
			     *r->name ? text_quote(r->name) : session_label(s),
			     text_count(list->fresh, "ref"),
			     text_count(list->commits, "new commit"),
			     text_count(list->objects, "object"),
			     text_size(list->bytes), done, list->prefix,
			     r->missing ? " of the project" : "");
		if (list->lfs_files)
			output_hint("with %s of git-lfs (%s)",
				    text_count(list->lfs_files, "file"),
				    text_size(list->lfs_bytes));
	}
}

/* How the imported branches come into the user's own. */
static void hint_merges(const struct gitimport_list *list)
{
	size_t i, shown = 0;

	if (!list->fresh)
		return;
	for (i = 0; i < list->count && shown < MERGES_SHOWN; i++) {
		const struct gitimport_ref *r = &list->items[i];
		auto_free char *ref = path_join(list->prefix, r->name);

		if (r->known || strncmp(r->name, "heads/", 6) != 0)
			continue;
		output_hint("git merge %s", text_shell(ref));
		shown++;
	}
	if (!shown)
		output_hint("git for-each-ref %s", list->prefix);
}

/* The run's branch of that name; its commit is in the repository now. */
static int fast_forward_branch(struct context *c, const struct session *s,
			       struct gitimport *im, const struct options *o,
			       struct err *err)
{
	auto_free char *name = mem_printf("heads/%s", o->ff ?: "");
	const struct gitimport_list *list = gitimport_listed(im);
	size_t i = 0;
	int got;

	if (!o->ff || o->dry_run)
		return STATUS_OK;
	while (i < list->count && strcmp(list->items[i].name, name) != 0)
		i++;
	if (i == list->count)
		return fail(err, ENOENT,
			    "run %s created no commit on a branch %s",
			    session_label(s), text_quote(o->ff));
	got = gitimport_forward(im, o->ff, &list->items[i].id, err);
	if (got == -EEXIST)
		return fail(err, EEXIST,
			    "%s is checked out: git merge --ff-only %.*s moves "
			    "it with its files",
			    text_quote(o->ff), ID_SHOWN, list->items[i].id.hex);
	if (got < 0)
		return err_context(err, "the branch was not moved");
	if (got == 0)
		state_log(&c->state, "forward", "run", s->id, "project",
			  s->project, "branch", o->ff, NULL);
	output_print("%s is %sat the run's commit", text_quote(o->ff),
		     got ? "already " : "");
	return STATUS_OK;
}

static void print_ref(const char *repository, const struct gitimport_ref *r)
{
	AUTO(buf) struct buf line = {0};
	size_t width;

	buf_printf(&line, "  %-5s  %.*s  ", r->known ? "known" : "new",
		   ID_SHOWN, r->id.hex);
	width = line.len + NAME_WIDTH;
	if (*repository) {
		text_escape_name(&line, repository);
		buf_add_text(&line, ": ");
	}
	text_escape_name(&line, r->name);
	while (line.len < width)
		buf_add_char(&line, ' ');
	if (strcmp(r->type, "commit") != 0)
		buf_printf(&line, "  (%s)", r->type);
	buf_add_text(&line, "  ");
	text_escape_name(&line, r->subject);
	styled_line(styled_out(), LINE_ROW, "%s%s" PLAIN, r->known ? FAINT : "",
		    buf_text(&line));
}

static void print_refs(const struct importer *imp)
{
	size_t i, k;

	for (i = 0; i < imp->masked.count; i++)
		output_warn("the commits change %s, which was not your file in "
			    "the run (masked, without secrets, or guard's "
			    "copy): a merge would replace it",
			    text_quote(imp->masked.items[i]));
	for (k = 0; k < imp->items.count; k++) {
		const struct importer_repository *r = &imp->items.items[k];
		const struct gitimport_list *list = gitimport_listed(r->im);

		for (i = 0; i < list->count; i++)
			print_ref(r->name, &list->items[i]);
		for (i = 0; i < list->notes->count; i++)
			output_warn("%s", list->notes->items[i]);
	}
}

/* Shows, asks and imports. *ret_done: the refs are in the repository. */
static int import_listed(struct context *c, struct session *s,
			 struct importer *imp, const struct options *o,
			 bool *ret_done, struct err *err)
{
	auto_free char *run = choose_run_text(s);

	if (!imp->fresh) {
		output_print("run %s has no commits that %s lacks",
			     session_label(s), text_quote(s->project));
		return STATUS_OK;
	}
	if (o->dry_run) {
		print_import_summary(s, imp, "would go to");
		return STATUS_OK;
	}
	if (!o->yes)
		print_import_summary(s, imp, "can go to");
	if (!output_confirm(o->yes,
			    "guard: import the commits of %s into %s below "
			    "refs/guard/%s/?",
			    run, text_quote(s->project), s->id))
		return STATUS_REFUSED;
	if (importer_write(c, s, imp, err) < 0)
		return -err->num;
	*ret_done = true;
	print_import_summary(s, imp, "imported to");
	if (!o->ff && !imp->masked.count)
		hint_merges(gitimport_listed(project_import(imp)));
	return STATUS_OK;
}

/* STATUS_REFUSED: the user does not want such a large copy. */
static int open_commits(struct context *c, struct session *s,
			const struct options *o, struct importer *imp,
			struct err *err)
{
	int got;

	c->copies_large = o->yes;
	do
		got = importer_open(c, s, true, imp, err);
	while (got == -EFBIG && commit_files_show_large(c, err));
	return got == -EFBIG ? STATUS_REFUSED : got;
}

int cmd_import(const struct options *o, struct context *c, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(importer) struct importer imp = {0};
	AUTO(commit_files) struct commit_files files = {0};
	bool done = false;
	int got;

	if (!gitrun_program())
		return fail(err, ENOENT,
			    "import needs git: run apt install git (the run is "
			    "kept)");
	if (context_open(c, true, err) < 0 ||
	    choose_run_open(c, o, &p, err) < 0)
		return -err->num;
	got = o->dry_run ? 0
			 : choose_run_check(c, &p, o->yes, o->operands, err);
	if (got)
		return got;
	if (resolve_run_has_paths(&p))
		return fail(err, EINVAL,
			    "import takes all refs of a run: give no paths");
	if (p.session.state == RUN_DISCARDED)
		return fail(err, ENOENT, "run %s was discarded",
			    session_label(&p.session));
	if (recover_project(c, p.session.project, err) < 0 ||
	    resolve_run_lock(c, &p, err) < 0)
		return -err->num;
	got = open_commits(c, &p.session, o, &imp, err);
	if (got > 0)
		return got;
	if (got < 0 || commit_files_find(c, &p.session, &imp, &files, err) < 0)
		return err_context(err, "nothing imported from run %s",
				   p.session.id);
	if (!o->json && !(output_is_quiet() && o->yes)) {
		print_refs(&imp);
		commit_files_show(&files, styled_out());
	}
	got = import_listed(c, &p.session, &imp, o, &done, err);
	if (got >= 0 && o->json)
		print_import_json(&p.session, &imp, &files, done);
	return got == STATUS_OK
		       ? fast_forward_branch(c, &p.session,
					     project_import(&imp), o, err)
		       : got;
}
