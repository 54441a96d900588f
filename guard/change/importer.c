#include "guard/change/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/change/late_base.h"
#include "overlay/layers.h"
#include "overlay/scan.h"
#include "restore/result.h"
#include "snapshot/tree/catalog.h"

/* The two trees that are compared. */
struct sides {
	struct snapshot base, result;
	struct entry made; /* of a run whose result was not stored */
	const struct entry *then; /* NULL: not known */
	const struct entry *now; /* NULL: nothing is new */
};

static void sides_free(struct sides *s)
{
	snapshot_free(&s->base);
	snapshot_free(&s->result);
	entry_free(&s->made);
}

static int load_sides(struct context *c, struct session *s, struct sides *ret,
		      struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;

	if (late_base_ensure(c, s, false, err) < 0)
		return err_context(err,
				   "the files from before run %s were not "
				   "stored, so its commits cannot be separated "
				   "from yours",
				   session_label(s));
	if (catalog_load(c->store, s->roots[0].base, &ret->base, err) < 0)
		return -err->num;
	ret->then = &ret->base.root;
	ret->now = s->roots[0].result ? &ret->result.root : &ret->made;
	if (s->roots[0].result)
		return catalog_load(c->store, s->roots[0].result, &ret->result,
				    err);
	/* A run that was cut off has a layer only. */
	return changes_load(s, NULL, &changes, err) < 0
		       ? -err->num
		       : result_make(
				 c->store, ret->then, changes.roots[0].upper_fd,
				 &changes.roots[0].list, NULL, &ret->made, err);
}

/* A repository outside of the project has a layer of its own, and no snapshot:
 * only that layer can contain new objects. */
static int load_linked(struct context *c, struct session *s, const char *git,
		       struct sides *ret, struct err *err)
{
	const struct entry empty = {.mode = S_IFDIR | 0700};
	AUTO(entry) struct entry files = {0};
	AUTO(change_list) struct change_list changes = {0};
	auto_close int upper = fd_open_dir(s->fd, "git-upper");
	auto_close int lower = -1;
	struct tree_editor *editor;
	int got;

	if (upper < 0)
		return fail_errno(err, "open the layer of run %s",
				  session_label(s));
	lower = fd_open_dir(AT_FDCWD, git);
	if (lower < 0)
		return fail_errno(err, "%s", text_quote(git));
	if (scan_layer(upper, lower, NULL, &changes, err) < 0)
		return -err->num;
	if (!changes.count)
		return 0;
	if (context_store(c, STORE_WRITE, err) < 0 ||
	    store_refresh(c->store, err) < 0 ||
	    result_make(c->store, &empty, upper, &changes, NULL, &files, err) <
		    0)
		return -err->num;
	/* A tree with the run's files of the repository as its .git. */
	editor = tree_editor_new(c->store, &empty);
	got = tree_editor_put(editor, ".git", &files, err);
	ret->now = &ret->made;
	return tree_editor_end(&editor, got, &ret->made, err);
}

static int open_changed(struct context *c, struct session *s, const char *git,
			const struct sides *sides, bool check,
			struct gitimport **ret, struct err *err)
{
	const struct gitimport_job job = {
		.store = c->store,
		.then = sides->then,
		.now = sides->now,
		.dirfd = s->fd,
		.to = git,
		.run_id = s->id,
		.check = check,
	};
	struct stat st;

	if (lstat(git, &st) < 0)
		return errno != ENOENT ? fail_errno(err, "%s", text_quote(git))
				       : fail(err, ENOENT,
					      "%s is not a git repository: "
					      "cannot import into it",
					      text_quote(s->project));
	if (!S_ISDIR(st.st_mode))
		return fail(err, ENOTDIR,
			    "%s is not a directory, and the repository that it "
			    "names had no layer in the run",
			    text_quote(git));
	return gitimport_open(&job, ret, err);
}

int importer_open(struct context *c, struct session *s, bool check,
		  struct gitimport **ret, struct err *err)
{
	AUTO(sides) struct sides sides = {0};
	AUTO(entry) struct entry old = {0}, now = {0};
	const char *linked = record_get(&s->more, LAYERS_GIT);
	auto_free char *own = path_join(s->project, ".git");
	int got;

	if (linked) {
		got = load_linked(c, s, linked, &sides, err) < 0 ? -err->num
								 : !sides.now;
	} else {
		/* 1: the run's .git is unchanged. */
		got = load_sides(c, s, &sides, err);
		if (got == 0)
			got = tree_lookup(c->store, sides.then, ".git", &old,
					  err);
		if (got >= 0)
			got = tree_lookup(c->store, sides.now, ".git", &now,
					  err);
		if (got >= 0)
			got = (S_ISDIR(old.mode) && S_ISDIR(now.mode) &&
			       oid_equal(&old.content, &now.content)) ||
			      (s->roots[0].late && !old.mode && !now.mode);
	}
	if (got < 0)
		return got;
	*ret = NULL;
	return got ? 0
		   : open_changed(c, s, linked ? linked : own, &sides, check,
				  ret, err);
}

int importer_write(struct context *c, struct session *s, struct gitimport *im,
		   struct err *err)
{
	const char *prefix = gitimport_listed(im)->prefix;

	if (gitimport_write(im, err) < 0)
		return -err->num;
	record_add(&s->more, "imported", prefix);
	state_log(&c->state, "import", "run", s->id, "project", s->project,
		  "refs", prefix, NULL);
	return session_save(s, err);
}

char *importer_left(struct context *c, struct session *s, struct err *err)
{
	AUTO(gitimport) struct gitimport *im = NULL;
	const struct gitimport_list *list;
	int got = importer_open(c, s, false, &im, err);

	if (got == -ENOENT || got == -ENOTDIR)
		return mem_strdup("");
	if (got < 0)
		return NULL;
	list = gitimport_listed(im);
	return mem_strdup(!list->fresh	  ? ""
			  : list->commits ? text_count(list->commits, "commit")
					  : text_count(list->fresh, "ref"));
}
