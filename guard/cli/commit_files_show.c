#include "guard/cli/commit_files_show.h"

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"
#include "guard/cli/risk_show.h"

#define SHOWN_MAX 20
#define ID_SHOWN 10

void commit_files_show(const struct commit_files *f, struct styled *to)
{
	size_t i;

	for (i = 0; i < f->count && i < SHOWN_MAX; i++) {
		const struct commit_file *file = &f->items[i];

		styled_line(to, LINE_ROW, "only in commit %.*s  %s%s", ID_SHOWN,
			    file->commit.hex, text_quote(file->shown),
			    file->mode == COMMIT_FILES_SUBMODULE ? "  submodule"
								 : "");
		if (risks_worst(&file->risks) >= RISK_HIGH)
			risk_show_line(file->risks.items, "    ", NULL, to);
	}
	if (i < f->count)
		styled_line(to, LINE_ROW,
			    "only in commits: %zu more, which --json lists",
			    f->count - i);
	if (f->unread)
		output_warn("%s not read: files that only they have are "
			    "unknown",
			    text_count(f->unread, "commit"));
}

void commit_files_show_json(const struct commit_files *f, json_t *object)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < f->count; i++) {
		const struct commit_file *file = &f->items[i];
		const struct risk *risk =
			file->risks.count ? file->risks.items : NULL;
		auto_free char *text = risk ? risk_sentence(risk) : NULL;
		auto_free char *mode = mem_printf("%06o", file->mode);
		json_t *one = json_object();

		jsonout_text(one, "path", file->path);
		jsonout_text(one, "commit", file->commit.hex);
		jsonout_text(one, "mode", mode);
		jsonout_text(one, "level",
			     risk ? risk_level_name(risk->level) : NULL);
		jsonout_text(one, "id", risk ? risk->id : NULL);
		jsonout_text(one, "text", text);
		jsonout_add(list, one);
	}
	jsonout_set(object, "only_in_commits", list);
	jsonout_number(object, "commits_not_examined", f->unread);
}
