#include "guard/cli/conflict_prompt.h"

#include "base/auto.h"
#include "guard/cli/conflict_view.h"
#include "guard/cli/review_prompt.h"

static void print_place(const struct review_ui *u)
{
	const struct review_conflict *c = conflict_view_current(u);
	struct styled *to = styled_out();
	AUTO(buf) struct buf head = {0};
	size_t part, line;

	buf_add_text(&head, "\n" BOLD);
	styled_name(&head, "", c->path);
	buf_add_text(&head, PLAIN);
	if (review_conflict_part(c, u->conflict.place, &part, &line))
		buf_printf(&head, "  %s, from line %zu of yours on",
			   conflict_text(c->kind), line);
	styled_line(to, LINE_PLAIN, "%s", buf_text(&head));
	conflict_view_make(u, to);
}

bool conflict_prompt(struct review_ui *u, struct review_conflicts *list)
{
	const struct review_conflict *c = NULL;
	size_t place = 0;

	review_prompt_begin(u, UI_CONFLICT_LINE);
	u->conflict = (struct conflict_cursor){
		.list = list,
		.place = (size_t)-1,
	};
	u->all_decided = !conflict_view_find_open(u);
	while (!u->all_decided && !u->conflict.done) {
		bool again = c == conflict_view_current(u) &&
			     place == u->conflict.place;

		c = conflict_view_current(u);
		place = u->conflict.place;
		if (!again)
			print_place(u);
		if (!review_prompt_key(u, "(%zu/%zu) Which version", place + 1,
				       c->count))
			u->conflict.done = true;
	}
	return u->all_decided;
}
