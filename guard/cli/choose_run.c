#include "guard/cli/choose_run.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "guard/change/recover.h"
#include "guard/cli/commands.h"
#include "overlay/layers.h"
#include "overlay/scan.h"

int choose_run_open(struct context *c, const struct options *o,
		    struct resolved_run *ret, struct err *err)
{
	struct err ignored;
	int got = resolve_run_open(c, o->count, o->operands, o->dashed, false,
				   ret, err);

	if (got != -ENOENT || !c->project ||
	    recover_project(c, c->project, &ignored) <= 0)
		return got;
	return resolve_run_open(c, o->count, o->operands, o->dashed, false, ret,
				err);
}

char *choose_run_text(const struct session *s)
{
	AUTO(buf) struct buf command = {0};

	output_truncated(&command, s->command);
	return mem_printf("run %s (%s)", session_label(s), buf_text(&command));
}

int choose_run_count(struct context *c, const struct session *s,
		     struct change_counts *ret, size_t *ret_home,
		     struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;

	*ret = (struct change_counts){0};
	*ret_home = 0;
	if (!run_state_pending(s->state))
		return 0;
	if (changes_load_own(c, s, &changes, err) < 0)
		return -err->num;
	changes_find_moves(&changes);
	changes_count_all(&changes, ret);
	*ret_home = changes_count_home(&changes);
	return 0;
}

/* The changes in the layer over a repository outside of the project. */
static size_t count_outside(const struct session *s)
{
	const char *git = record_get(&s->more, LAYERS_GIT);
	auto_close int upper = git ? fd_open_dir(s->fd, "git-upper") : -1;
	auto_close int lower = upper >= 0 ? fd_open_dir(AT_FDCWD, git) : -1;
	AUTO(change_list) struct change_list list = {0};
	struct err ignored;

	return lower >= 0 && scan_layer(upper, lower, NULL, &list, &ignored) ==
				       0
		       ? list.count
		       : 0;
}

char *choose_run_counted_changes(struct context *c, const struct session *s,
				 struct change_counts *ret_counts,
				 size_t *ret_home)
{
	struct buf b = {0};
	struct err err;
	size_t git;

	if (choose_run_count(c, s, ret_counts, ret_home, &err) < 0) {
		output_warn("%s", err.text);
		return mem_strdup("cannot be read");
	}
	if (!run_state_pending(s->state))
		return mem_strdup("");
	git = count_outside(s);
	if (ret_counts->total || (!*ret_home && !git))
		changes_summary(ret_counts, &b);
	if (git)
		buf_printf(&b, "%s%zu in .git", b.len ? ", " : "", git);
	if (*ret_home)
		buf_printf(&b, "%s%zu in home", b.len ? ", " : "", *ret_home);
	return buf_take_text(&b);
}

char *choose_run_changes(struct context *c, const struct session *s)
{
	struct change_counts counts;
	size_t home;

	return choose_run_counted_changes(c, s, &counts, &home);
}

/* The command line with the run in front of the operands; yes: and with -y. */
static char *named_command(char *const *operands, const char *run, bool yes)
{
	char *const *argv = operands - optind;
	struct buf b = {0};
	int dashes = strcmp(argv[optind - 1], "--") == 0, i;

	buf_add_text(&b, output_command());
	for (i = 0; i < optind - dashes; i++)
		buf_printf(&b, " %s", text_shell(argv[i]));
	buf_printf(&b, "%s %s", yes ? " -y" : "", text_shell(run));
	for (; argv[i]; i++)
		buf_printf(&b, " %s", text_shell(argv[i]));
	return buf_take_text(&b);
}

static void add_choice(struct context *c, const struct session *s,
		       char *const *operands, bool yes, struct table *t)
{
	auto_free char *command =
		named_command(operands, session_label(s), yes);
	auto_free char *changes = choose_run_changes(c, s);
	AUTO(buf) struct buf text = {0};

	output_truncated(&text, s->command);
	table_row(t, command, resolve_run_state_text(s),
		  text_age(s->ended.sec ? s->ended : s->began), changes,
		  buf_text(&text));
}

/* Lists the runs with the command that names each, the newest first. */
static int list_choices(struct context *c, const struct session_list *list,
			const char *what, char *const *operands, bool yes)
{
	AUTO(table) struct table t = {0};
	size_t i;

	for (i = list->count; i-- > 0;)
		add_choice(c, &list->items[i], operands, yes, &t);
	output_print("%zu runs are %s in %s: name one", list->count, what,
		     text_quote(list->items[0].project));
	table_print(&t, "  ", output_stderr());
	return STATUS_AMBIGUOUS;
}

int choose_run_check(struct context *c, const struct resolved_run *p, bool yes,
		     char *const *operands, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};

	if (p->named || (!yes && output_can_ask()))
		return 0;
	if (resolve_run_pending(c, &list, err) < 0)
		return -err->num;
	/* Without a terminal the commands need it. */
	return list.count < 2
		       ? 0
		       : list_choices(c, &list, "pending", operands, !yes);
}

int choose_run_live(struct context *c, const char *name, char *const *operands,
		    struct session *ret, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t kept = 0, i;

	if (name)
		return resolve_run_text(c, name, false, ret, err);
	if (resolve_run_pending(c, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		if (resolve_run_is_running(&list.items[i]))
			list.items[kept++] = list.items[i];
		else
			session_free(&list.items[i]);
	}
	list.count = kept;
	if (!kept)
		return fail(err, ENOENT, "no run in %s is running",
			    text_quote(c->project));
	return kept > 1
		       ? list_choices(c, &list, "running", operands, false)
		       : resolve_run_text(c, list.items[0].id, false, ret, err);
}
