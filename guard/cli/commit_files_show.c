#include "guard/cli/commit_files_show.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"
#include "guard/cli/risk_show.h"
#include "overlay/layers.h"
#include "restore/git/gitrun.h"

#define SHOWN_MAX 20

static bool has_objects(const struct session *s, const struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].list.count; k++) {
			const struct change *one = &c->roots[i].list.items[k];

			if (one->flags & CHANGE_GIT &&
			    path_has_part(one->path, "objects"))
				return true;
		}
	return record_get(&s->more, LAYERS_GIT) != NULL;
}

void commit_files_show_load(struct context *c, struct session *s,
			    const struct changes *changes,
			    struct commit_files *ret)
{
	AUTO(session) struct session locked = SESSION_NONE;
	AUTO(importer) struct importer imp = {0};
	struct err ignored;

	if (s->live || !has_objects(s, changes) || !gitrun_program())
		return;
	if (s->lock_fd < 0) {
		if (session_open(c->state.runs_fd, s->id, true, &locked,
				 &ignored) < 0)
			return;
		s = &locked;
	}
	if (importer_open(c, s, false, &imp, &ignored) == 0)
		(void)commit_files_find(c, s, &imp, ret, &ignored);
}

static void show_unread(const struct commit_files *f)
{
	if (f->unread)
		output_warn("%s not read: files that only they have are "
			    "unknown",
			    text_count(f->unread, "commit"));
}

void commit_files_show_count(const struct commit_files *f, const char *run,
			     struct styled *to)
{
	size_t paths = 0, critical = 0, i;

	for (i = 0; i < f->count; i++) {
		const struct commit_file *file = &f->items[i];

		bool worst = file->versions && file->worst == RISK_CRITICAL;

		critical += worst;
		paths += worst || (file->versions && !file->unknown);
	}
	if (paths)
		styled_line(to, LINE_PLAIN,
			    "%s only in commits, %zu critical: guard import "
			    "-n %s lists %s",
			    text_count(paths, "file"), critical, run,
			    paths == 1 ? "it" : "them");
	show_unread(f);
}

static json_t *risk_json(const struct commit_file *f, const struct risk *r)
{
	auto_free char *text = commit_files_sentence(f, r);
	json_t *object = json_object();

	jsonout_text(object, "path", f->shown);
	jsonout_text(object, "commit", f->commit.hex);
	jsonout_text(object, "mode", text_printf("%06o", f->mode));
	jsonout_text(object, "level", r ? risk_level_name(r->level) : NULL);
	jsonout_text(object, "id", r ? r->id : NULL);
	jsonout_text(object, "text", text);
	return object;
}

void commit_files_show_risks(const struct commit_files *f,
			     struct jsonstream *to)
{
	size_t i, k;

	for (i = 0; i < f->count; i++)
		for (k = 0; k < f->items[i].risks.count; k++)
			jsonstream_put(to, NULL,
				       risk_json(&f->items[i],
						 &f->items[i].risks.items[k]));
}

void commit_files_show(const struct commit_files *f, struct styled *to)
{
	size_t paths = 0, i;

	for (i = 0; i < f->count; i++) {
		const struct commit_file *file = &f->items[i];
		auto_free char *place = NULL;

		if (!file->versions || paths++ >= SHOWN_MAX)
			continue;
		place = commit_files_place(file);
		styled_line(to, LINE_ROW, "%s  %s%s", place,
			    text_quote(file->shown),
			    file->mode == COMMIT_FILES_SUBMODULE ? "  submodule"
								 : "");
		if (file->worst >= RISK_HIGH)
			risk_show_line(file->risks.items, "    ", file->shown,
				       to);
	}
	if (paths > SHOWN_MAX)
		styled_line(to, LINE_ROW,
			    "only in commits: %zu more, which --json lists",
			    paths - SHOWN_MAX);
	show_unread(f);
}

void commit_files_show_json(const struct commit_files *f, json_t *object)
{
	json_t *list = json_array();
	size_t i;

	/* The worst risk comes first. */
	for (i = 0; i < f->count; i++)
		jsonout_add(list, risk_json(&f->items[i],
					    f->items[i].risks.count
						    ? f->items[i].risks.items
						    : NULL));
	jsonout_set(object, "only_in_commits", list);
	jsonout_number(object, "commits_not_examined", f->unread);
}

bool commit_files_show_large(struct context *c, const struct err *err)
{
	output_warn("%s", err->text);
	c->copies_large = output_confirm(false, "guard: copy them?");
	return c->copies_large;
}
