#include "guard/cli/rewind.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "guard/cli/diffshow.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/listing.h"
#include "guard/cli/run_parse.h"
#include "guard/cli/styled.h"
#include "guard/state/exit_status.h"
#include "guard/state/reserve.h"

/* Lists the files that change although a process of the run has them open for
 * writing, or mapped. Later writes of the process go to a file without a name.
 */
static char **find_open_files(const struct rewind *r)
{
	char **list = NULL;
	size_t i, k;

	for (i = 0; r->freezer && i < r->roots.count; i++) {
		const struct rewind_root *root = &r->roots.items[i];
		const struct differences *d = &root->differences;

		for (k = 0; k < d->count; k++) {
			const struct difference *at = &d->items[k];
			struct err ignored;
			auto_close int fd = -1;
			auto_free char *shown = NULL;

			if (!S_ISREG(at->a.mode) ||
			    entry_same_content(&at->a, &at->b))
				continue;
			fd = beneath_open(root->upper_fd, at->path,
					  O_RDONLY | O_NONBLOCK, 0, &ignored);
			if (fd < 0 || fd_find_writers(fd) != FD_WRITERS_SOME)
				continue;
			shown = mem_printf("%s%s", r->changes.roots[i].prefix,
					   at->path);
			mem_list_add(&list, shown);
		}
	}
	return list;
}

static void warn_each(char *const *paths, const char *what)
{
	for (; paths && *paths; paths++)
		output_warn("%s %s", text_quote(*paths), what);
}

static void print_json(const struct rewind *r, const struct rewind_choice *how,
		       char *const *open, bool done)
{
	struct jsonstream to = {0};
	json_t *object = jsonout_document("guard.rewind/1");
	size_t i;

	jsonout_text(object, "run", r->p->session.id);
	jsonout_text(object, "to", how->title);
	jsonout_bool(object, "rewound", done);
	jsonout_number(object, "before", r->before);
	jsonout_texts(object, "lost", how->lost_names);
	jsonout_texts(object, "unsure", how->unsure);
	jsonout_texts(object, "open", open);
	jsonout_texts(object, "left", r->left);
	jsonstream_begin(&to, object);
	jsonstream_open(&to, "roots", '[');
	for (i = 0; i < r->roots.count; i++) {
		object = json_object();
		jsonout_text(object, "root", r->p->session.roots[i].path);
		jsonstream_begin(&to, object);
		diffshow_json(&r->changes.roots[i].list, "entries", &to);
		jsonstream_close(&to, '}');
	}
	jsonstream_close(&to, ']');
	jsonstream_close(&to, '}');
}

struct ended_run {
	struct rewind *rewind;
	bool quiet;
};

static void write_ended(void *arg, const struct session *s)
{
	const struct ended_run *e = arg;

	output_quiet(e->quiet);
	if (s)
		rewind_write(e->rewind, s);
	else
		rewind_uncover(e->rewind);
}

/* Writes into the run, which is suspended, or in place of a command of an ended
 * one. */
static int write_run(struct rewind *r, struct err *err)
{
	static char name[] = ACTION_REWIND;
	static char *const argv[] = {name, NULL};
	static const char *const none[] = {NULL};
	struct session *s = &r->p->session;
	sigset_t signals;
	struct ended_run ended = {r, output_is_quiet()};
	bool live = r->freezer;
	int status = 0;

	if (live || !rewind_has_work(r)) {
		context_block_signals(&signals);
		rewind_write(r, s);
		freezer_end(&r->freezer);
		(void)context_restore_signals(&signals);
	} else {
		resolve_run_unlock(r->p);
		/* No command continues: the start needs no words. */
		output_quiet(true);
		status = run_exec(s, &(struct run_exec){
					     .argv = argv,
					     .env = none,
					     .instead = write_ended,
					     .instead_arg = &ended,
				     });
		output_quiet(ended.quiet);
	}
	if (r->state == REWIND_DONE)
		return status;
	if (r->state == REWIND_NONE)
		return fail(err, ECANCELED,
			    "run %s was not rewound: its layers could not be "
			    "mounted",
			    session_label(s));
	*err = r->why;
	return r->state == REWIND_FAILED
		       ? -err->num
		       : err_context(err,
				     "run %s is rewound in part; the same "
				     "guard rewind completes it, guard undo "
				     "takes it back",
				     session_label(s));
}

static void print_list(struct rewind *r, const struct rewind_choice *how)
{
	AUTO(buf) struct buf line = {0};
	struct change_counts counts;

	changes_find_moves(&r->changes);
	changes_count_all(&r->changes, &counts);
	text_escape_name(&line, session_label(&r->p->session));
	buf_printf(&line, " back to ");
	text_escape_name(&line, how->title);
	buf_add_text(&line, ": ");
	changes_summary(&counts, &line);
	styled_line(styled_out(), LINE_PLAIN, "run %s", buf_text(&line));
	listing_print_plain(&r->changes, styled_out());
}

static int execute(struct rewind *r, struct err *err)
{
	auto_free char *title =
		r->undone ? undo_title(r->undone)
			  : mem_printf("run %s", session_label(&r->p->session));

	reserve_release(r->c->state.fd);
	if (write_run(r, err) < 0)
		return -err->num;
	warn_each(r->left, "stays as it is: it cannot be made or removed");
	output_print("%s is %s%s", title,
		     !r->undone		 ? "rewound"
		     : r->undone->undone ? "redone"
					 : "undone",
		     r->before ? text_printf("; the state before is snapshot "
					     "%" PRIu64,
					     r->before)
			       : "");
	if (!r->undone)
		output_hint("guard undo takes it back");
	return 0;
}

int rewind_ask(struct rewind *r, const struct rewind_choice *how,
	       struct err *err)
{
	const struct session *s = &r->p->session;
	AUTO(mem_list) char **open = NULL;
	bool any, done = false;

	if (rewind_changes(r, how->lost, err) < 0)
		return -err->num;
	open = find_open_files(r);
	any = rewind_has_work(r);
	if (any && !how->json && !(output_is_quiet() && how->yes))
		print_list(r, how);
	warn_each(how->lost_names,
		  "stays as it is: its content of this time was not kept");
	warn_each(how->unsure, "may differ: not every change was recorded");
	warn_each(open, "is open for writing in the run: what is written there "
			"from now on will be lost");
	if (!any)
		output_print("nothing to do: run %s is as it was then",
			     session_label(s));
	/* An undo without effect is done: the next one goes further back. */
	if ((any || r->undone) && !how->dry) {
		if (any && !output_confirm(how->yes, "guard: rewind run %s?",
					   session_label(s)))
			return STATUS_REFUSED;
		if (execute(r, err) < 0)
			return -err->num;
		done = true;
	}
	if (how->json)
		print_json(r, how, open, done);
	return how->lost_names || r->left ? STATUS_REFUSED : STATUS_OK;
}

/* --- undo --- */

/* The roots that the action has changed, as they were before it. */
static int want_before(struct rewind *r, const struct action *a,
		       struct err *err)
{
	struct resolved_run *p = r->p;
	size_t i, k;
	char *const *path;

	for (k = 0; k < a->roots.count; k++) {
		const struct action_root *root = &a->roots.items[k];
		AUTO(snapshot) struct snapshot before = {0};

		if (!root->before)
			continue;
		if (catalog_load(r->c->store, root->before, &before, err) < 0)
			return err_context(err, "the state before the rewind");
		for (i = 0; i < r->roots.count; i++)
			if (strcmp(before.root_path,
				   p->session.roots[i].path) == 0)
				break;
		if (i == r->roots.count)
			continue;
		rewind_want(r, i, &before.root);
		if (root->only && !p->paths) {
			p->path_lists = r->changes.root_count;
			p->paths =
				mem_zalloc(p->path_lists * sizeof(*p->paths));
		}
		for (path = root->only; path && *path; path++)
			mem_list_add(&p->paths[i], *path);
	}
	return 0;
}

int rewind_undo(struct undo *u, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	AUTO(rewind)
	struct rewind r = {
		.c = u->c,
		.p = &p,
		.undone = &u->last,
	};
	auto_free char *title = undo_title(&u->last);
	auto_free char *text =
		mem_printf("the time before %s %s",
			   u->redo ? "the undo of" : "the", title);
	int got;

	got = resolve_run_text(u->c, u->last.run_id, false, &p.session, err);
	if (got == -ENOENT)
		return fail(err, ENOENT,
			    "run %s no longer exists: its rewind cannot be "
			    "undone",
			    u->last.run_name ?: u->last.run_id);
	if (got < 0 || rewind_load(&r, err) < 0 ||
	    want_before(&r, &u->last, err) < 0)
		return -err->num;
	return rewind_ask(&r,
			  &(struct rewind_choice){
				  .dry = u->dry,
				  .yes = u->yes,
				  .title = text,
			  },
			  err);
}
