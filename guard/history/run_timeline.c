#include "guard/history/run_timeline.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/live.h"
#include "guard/change/resolve_run.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"

void run_timeline_free(struct run_timeline *r)
{
	contents_close(&r->contents);
	if (r->session)
		session_free(r->session);
	free(r->session);
	free(r->id);
	free(r->label);
	*r = (struct run_timeline){0};
}

/* The versions of a discarded run are in the trash until they are imported, and
 * stay there when the import fails. */
static int open_trashed(struct context *c, struct run_timeline *r)
{
	struct session *s = r->session = mem_alloc(sizeof(*s));
	struct err ignored;

	*s = SESSION_NONE;
	if (session_open_trashed(c->state.trash_fd, r->id, s, &ignored) < 0)
		return -ENOENT;
	return fd_exists(s->fd, TIMELINE_DIR)
		       ? contents_open(&r->contents, c->store, s, &ignored)
		       : -ENOENT;
}

int run_timeline_open(struct context *c, const char *run,
		      struct run_timeline *ret, struct err *err)
{
	AUTO(run_timeline) struct run_timeline r = {0};
	struct session *s = r.session = mem_alloc(sizeof(*s));
	struct err ignored;
	int got;

	*s = SESSION_NONE;
	/* Some verbs work outside of a project. */
	if (!c->project)
		c->project =
			state_project(&c->state, NULL, PROJECT_FIND, &ignored);
	if (!session_name_ok(run) && !session_id_ok(run) &&
	    strcmp(run, "latest") != 0)
		return 0;
	if (context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	got = resolve_run_text(c, run, false, s, err);
	r.id = mem_strdup(got == 0 ? s->id : run);
	r.label = mem_strdup(got == 0 ? session_label(s) : run);
	if (got == 0) {
		/* Without a base the changed paths are known. */
		(void)session_base(s, true, &ignored);
		r.live = resolve_run_is_running(s);
		got = contents_open(&r.contents, c->store, s, err);
	} else if (got == -ENOENT && session_id_ok(run)) {
		free(TAKE(r.session));
		got = contents_open_stored(&r.contents, c->store, run, err);
		if (got == -ENOENT || got == -EBADMSG)
			got = open_trashed(c, &r) == 0 ? 0 : got;
	}
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	*ret = TAKE(r);
	return 1;
}

size_t run_timeline_name_len(const char *text)
{
	size_t len = strcspn(text, "@:/");

	return text[len] == '@' ? len : 0;
}

size_t run_timeline_len(struct context *c, const char *text)
{
	AUTO(run_timeline) struct run_timeline r = {0};
	size_t len = run_timeline_name_len(text);
	auto_free char *run = mem_strndup(text, len);
	struct err ignored;

	return len && run_timeline_open(c, run, &r, &ignored) > 0
		       ? len + 1 +
				 moment_len(contents_timeline(r.contents),
					    r.live, text + len + 1)
		       : 0;
}

int run_timeline_find(struct context *c, const char *text,
		      struct run_timeline *ret, struct moment *ret_moment,
		      struct err *err)
{
	AUTO(run_timeline) struct run_timeline r = {0};
	size_t len = run_timeline_name_len(text);
	auto_free char *run = mem_strndup(text, len);
	const char *when = text + len + 1;
	int got;

	got = len ? run_timeline_open(c, run, &r, err) : 0;
	if (got <= 0)
		return got;
	got = moment_find(contents_timeline(r.contents), r.label, r.live, when,
			  ret_moment, err);
	if (got < 0)
		return got;
	*ret = TAKE(r);
	return 1;
}

/* --- a state as a snapshot --- */

char *run_timeline_moment(const struct run_timeline *r, struct timestamp time)
{
	return mem_printf("%s@%s", r->label, text_moment(time));
}

int run_timeline_root(const struct run_timeline *r, const char *path,
		      struct err *err)
{
	size_t count, i, best = 0;
	const struct contents_root *roots = contents_roots(r->contents, &count);

	best = count;
	for (i = 0; i < count; i++)
		if (path_below(path, roots[i].path) &&
		    (best == count ||
		     path_below(roots[i].path, roots[best].path)))
			best = i;
	if (best < count || (count && path_below(roots[0].path, path)))
		return best < count ? (int)best : 0;
	return fail(err, EXDEV,
		    "%s is not in the project or a --cow directory of run %s",
		    text_quote(path), r->label);
}

/* The nearest times before and after, at which the path had a content that is
 * kept. */
static void list_nearest(const struct run_timeline *r, size_t root,
			 const char *path, uint64_t record, struct buf *to)
{
	const struct timeline *t = contents_timeline(r->contents);
	const struct timeline_record *before = NULL, *after = NULL;
	size_t i;

	for (i = 0; i < t->count && !after; i++) {
		const struct timeline_record *at = &t->items[i];
		AUTO(entry) struct entry e = {0};
		struct err ignored;

		if (at->root != root || at->kind != TIMELINE_ENTRY ||
		    strcmp(at->path, path) != 0 ||
		    contents_entry(r->contents, at->content, &e, &ignored) <= 0)
			continue;
		if (at->number <= record)
			before = at;
		else
			after = at;
	}
	if (before || after)
		buf_printf(to, "; nearest: %s%s%s",
			   before ? text_moment(before->time) : "",
			   before && after ? ", " : "",
			   after ? text_moment(after->time) : "");
}

static int fail_lost(const struct run_timeline *r, size_t root,
		     const struct moment *m, const struct moment_loss *lost,
		     struct err *err)
{
	AUTO(buf) struct buf nearest = {0};

	list_nearest(r, root, lost->path, m->record, &nearest);
	return fail(
		err, ENODATA, "no version of %s at %s (%s)%s",
		text_quote(lost->path), text_moment(m->time),
		moment_loss_reason(contents_timeline(r->contents), root, lost),
		buf_text(&nearest));
}

/* The notes of a state, and one warning. */
static int add_losses(const struct run_timeline *r, size_t root,
		      const struct moment *m, const char *path,
		      const struct moment_losses *lost, struct snapshot *to,
		      struct err *err)
{
	const struct moment_loss *first = NULL;
	const char *why;
	size_t count = 0, i;

	for (i = 0; i < lost->count; i++) {
		const struct moment_loss *l = &lost->items[i];

		if (l->content && strcmp(l->path, path) == 0)
			return fail_lost(r, root, m, l, err);
		if (!path_below(l->path, path) && !path_below(path, l->path))
			continue;
		count += l->content != 0;
		first = first ?: l;
		if (l->content)
			snapshot_add_note(to, NOTE_INCOMPLETE, l->path,
					  "not held");
	}
	if (!first)
		return 0;
	why = moment_loss_reason(contents_timeline(r->contents), root, first);
	if (count)
		report_warning("%zu of %s %s not held (%s); guard log %s lists "
			       "the gaps",
			       count, text_count(lost->files, "file"),
			       count == 1 ? "is" : "are", why, r->label);
	else
		report_warning("%s may have had other files then (%s); guard "
			       "log %s lists the gaps",
			       text_quote(*first->path ? first->path : "."),
			       why, r->label);
	return 0;
}

int run_timeline_snapshot(struct context *c, struct run_timeline *r,
			  const struct moment *m, const char *path,
			  struct snapshot *ret, struct err *err)
{
	AUTO(moment_losses) struct moment_losses lost = {0};
	AUTO(snapshot) struct snapshot s = {0}, base = {0};
	int root = run_timeline_root(r, path, err), got;
	const struct contents_root *of;
	struct freezer *freezer = NULL;
	struct err unexpected;
	size_t count;

	if (root < 0)
		return root;
	of = &contents_roots(r->contents, &count)[root];
	if (r->live && live_suspend(r->session, &freezer, &unexpected) < 0)
		report_warning("%s: the run continues while its layer is read",
			       unexpected.text);
	got = moment_state(c->store, r->contents, (size_t)root, m->record,
			   &s.root, &lost, err);
	freezer_end(&freezer);
	if (got < 0)
		return got;
	s.time = m->time;
	s.uid = geteuid();
	s.reason = mem_strdup("during-run");
	s.run_id = mem_strdup(r->id);
	s.command = mem_strdup("");
	s.message = m->mark ? mem_printf("%s@%s", r->label, m->mark)
			    : run_timeline_moment(r, m->time);
	s.root_path = mem_strdup(of->path);
	/* The size of the base decides how the real one is compared. */
	if (catalog_load(c->store, of->base, &base, &unexpected) == 0) {
		s.root_dev = base.root_dev;
		s.files = base.files;
		s.dirs = base.dirs;
		s.bytes = base.bytes;
	}
	if (add_losses(r, (size_t)root, m,
		       path_below(path, of->path) ? path_rest(path, of->path)
						  : "",
		       &lost, &s, err) < 0)
		return -err->num;
	*ret = TAKE(s);
	return 0;
}
