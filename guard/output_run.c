#include <stdio.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/changes.h"
#include "guard/listing.h"
#include "guard/output.h"

void output_run_summary(const struct session *s,
			const struct change_list *project,
			const struct change_list *home)
{
	struct change_counts n = {0};
	AUTO(buf) struct buf sum = {0};
	size_t homes = home ? changes_count_home(home) : 0;

	if (output_is_quiet())
		return;
	if (project)
		changes_count(project, &n);
	if (!n.total && !homes) {
		output_say("run %s changed nothing", s->id);
		return;
	}
	changes_sum(&n, &sum);
	output_say("run %s: %s", s->id, buf_text(&sum));
	if (n.deleted) {
		output_say("deleted:");
		(void)listing_kind(project, CHANGE_DELETED, false, stderr);
	}
	if (homes)
		output_say("%s in your home folder",
			   text_count(homes, "change"));
	output_say("nothing of it has reached your files; next:");
	output_hint("guard diff %-12s see it", s->id);
	if (n.total) {
		output_hint("guard review %-10s go through it", s->id);
		output_hint("guard apply %-11s take it over", s->id);
	}
	output_hint("guard discard %-9s drop it", s->id);
}
