#include "guard/review/run_trees.h"

#include <errno.h>

#include "base/text.h"
#include "restore/result.h"

int run_trees_load(struct context *c, struct resolved_run *p, const char *what,
		   struct run_trees *ret, struct err *err)
{
	struct session *s = &p->session;
	int seq;

	if (p->home_paths)
		return fail(err, ENOTSUP,
			    "%s lies in your home folder: %s of the project",
			    text_quote(p->home_paths[0]), what);
	if (p->extra_paths)
		return fail(err, ENOTSUP,
			    "%s of the project, not of a folder of --cow",
			    what);
	if (changes_load(s, NULL, &ret->changes, err) < 0 ||
	    changes_check(&ret->changes.project, ret->changes.upper_fd,
			  ret->changes.lower_fd, p->paths, err) < 0 ||
	    context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	if (!resolve_run_has_paths(p))
		changes_report_excluded(&ret->changes, what, false);
	seq = session_base(s, true, err);
	if (seq < 0)
		return seq;
	if (seq == 0)
		return fail(err, ENODATA,
			    "the files as they were before run %s were not "
			    "stored",
			    s->id);
	if (store_refresh(c->store, err) < 0 ||
	    catalog_load(c->store, s->base, &ret->base, err) < 0)
		return -err->num;
	return result_make(c->store, &ret->base.root, ret->changes.upper_fd,
			   &ret->changes.project, NULL, &ret->result, err);
}

void run_trees_free(struct run_trees *s)
{
	entry_free(&s->result);
	snapshot_free(&s->base);
	changes_free(&s->changes);
}
