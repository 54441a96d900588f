#include "guard/review/run_trees.h"

#include <errno.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/delta.h"
#include "guard/change/applied_base.h"
#include "guard/change/late_base.h"
#include "restore/result.h"

int run_trees_load(struct context *c, struct resolved_run *p, const char *what,
		   struct run_trees *ret, struct err *err)
{
	struct session *s = &p->session;
	char **home = resolve_run_home_paths(p);
	struct changes_root *root;

	if (home) {
		auto_free char *shown = path_join("~", home[0]);

		return fail(
			err, ENOTSUP,
			"%s is in your home directory: %s of the project only",
			text_quote(shown), what);
	}
	if (resolve_run_has_extra_paths(p))
		return fail(
			err, ENOTSUP,
			"%s of the project only, not of a directory of --cow",
			what);
	if (late_base_ensure(c, s, false, err) < 0)
		return err_context(err,
				   "the files as they were before run %s were "
				   "not stored",
				   session_label(s));
	if (changes_load_trees(c, s, &ret->changes, err) < 0)
		return -err->num;
	root = changes_project(&ret->changes);
	if (resolve_run_check(p, &ret->changes, err) < 0)
		return -err->num;
	changes_torn_report(s, &ret->changes);
	if (!resolve_run_has_paths(p))
		changes_report_excluded(&ret->changes, what);
	if (catalog_load(c->store, applied_base_seq(s, 0), &ret->base, err) < 0)
		return -err->num;
	if (root->delta)
		entry_copy(&ret->result, &root->delta->now);
	else
		return result_make(c->store, &ret->base.root, root->upper_fd,
				   &root->list, NULL, &ret->result, err);
	return 0;
}

void run_trees_free(struct run_trees *s)
{
	entry_free(&s->result);
	snapshot_free(&s->base);
	changes_free(&s->changes);
}
