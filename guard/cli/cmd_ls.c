#include "guard/cli/commands.h"
#include "guard/history/locate.h"
#include "guard/history/runview.h"
#include "guard/cli/tree_list.h"
#include "snapshot/tree/catalog.h"

static int ls_snapshot(struct context *c, const char *when, const char *arg,
		       enum tree_list_form form, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	auto_free char *path = NULL;
	int got;

	if (context_store(c, STORE_READ, err) < 0 ||
	    locate_snapshot(c, when, arg, &s, &path, err) < 0)
		return -err->num;
	got = tree_lookup(c->store, &s.root, path, &e, err);
	if (got < 0)
		return got;
	if (!got)
		return locate_missing(&s, path, err);
	if (snapshot_purge_note(&s, path))
		output_print("%s of snapshot %llu was %s", text_quote(path),
			     (unsigned long long)s.seq,
			     snapshot_purge_note(&s, path));
	return tree_list(c->store, &e, form, err);
}

int cmd_ls(const struct options *o, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session) struct session s = SESSION_NONE;
	auto_free char *path = NULL;
	AUTO(tree) struct tree tree = {0};
	const char *when = o->operands[0], *arg = o->operands[1];
	int got;

	if (context_open(&c, true, err) < 0)
		return -err->num;
	got = runview_find(&c, when, &s, &path, err);
	if (got == 0) {
		got = ls_snapshot(&c, when, arg, o->listing, err);
	} else if (got > 0) {
		got = runview_list(&c, &s, *path || !arg ? path : arg, &tree,
				   err);
		if (got >= 0)
			tree_list_entries(&tree, o->listing);
	}
	if (got < 0)
		return got;
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}
