#include "restore/git/gitimport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library_open.h"
#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "restore/git/gitcopy.h"
#include "restore/git/gitimport_private.h"

#define PREFIXES_MAX 1000
#define REFLOG_ID 12
#define PACKS_MAX 1000
#define OBJECTS_MAX 4000000
#define OBJECT_MAX (512u << 20)
#define SMALL_MAX (64u << 20) /* of a commit, tag or tree */
#define BYTES_MAX (64ull << 30)
#define SUBJECT_MAX 200
#define REFS "refs/guard/"

/*
 * Severities other than those of `git index-pack --strict`: odd modes and tags
 * without a tagger are refused, too; a NUL in a message and the modes that old
 * programs wrote with a leading zero are not.
 */
#define STRICT                                                                 \
	"--strict=badFilemode=error,missingTaggerEntry=error,"                 \
	"nulInCommit=ignore,zeroPaddedFilemode=ignore"

#define OBJECT_FORMAT "--batch-check=%(objectname) %(objecttype) %(objectsize)"

void gitimport_free(struct gitimport **at)
{
	struct gitimport *im = *at;
	struct err ignored;
	size_t i;

	if (!im)
		return;
	if (im->git)
		im->git->repository_free(im->to);
	for (i = 0; i < im->list.count; i++) {
		free(im->list.items[i].name);
		free(im->list.items[i].subject);
	}
	VEC_FREE(&im->list);
	free(im->list.prefix);
	VEC_FREE(&im->objects);
	for (i = 0; i < im->imported.count; i++)
		free(im->imported.items[i].name);
	VEC_FREE(&im->imported);
	gittips_free(&im->tips);
	gitlfs_free(&im->lfs);
	free(im->to_path);
	if (im->run.dirfd >= 0)
		(void)dirtree_remove(im->dirfd, im->copy, &ignored);
	fd_close(&im->run.dirfd);
	names_free(&im->run.readable);
	free(im->copy);
	free(TAKE(*at));
}

const struct gitimport_list *gitimport_listed(const struct gitimport *im)
{
	static const struct names no_notes;
	static const struct gitimport_list none = {.notes = &no_notes};

	return im ? &im->list : &none;
}

/* --- the user's repository --- */

/*
 * Extensions that change nothing about objects and refs are accepted in the
 * user's own repository, and any owner of the directory: the user named it.
 * Both settings apply to the whole process, so they are reset.
 */
static int open_user(struct gitimport *im, struct err *err)
{
	static const char *extensions[] = {"worktreeconfig", "partialclone",
					   "preciousobjects",
					   "relativeworktrees"};
	unsigned int flags =
		GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT;
	int got;

	if (libgit_load(&im->git, err) < 0)
		return -err->num;
	(void)im->git->libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	(void)im->git->libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	(void)im->git->libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions,
				    ARRAY_SIZE(extensions));
	library_open_forget();
	got = im->git->repository_open_ext(&im->to, im->to_path, flags, NULL);
	if (got < 0) {
		(void)libgit_failed("open your repository", err);
		err->num = ENOTSUP;
	}
	(void)im->git->libgit2_opts(GIT_OPT_SET_EXTENSIONS, NULL, (size_t)0);
	(void)im->git->libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
	return got < 0 ? -err->num : 0;
}

static int add_user_ref(void *arg, const char *name, const struct gitid *id,
			struct err *err)
{
	struct gitimport *im = arg;

	(void)err;
	if (id)
		*VEC_ADD(&im->objects) = (struct gitimport_object){
			.id = *id,
			.pointed = true,
			.own = !path_below(name, "refs/guard"),
		};
	if (id && path_below(name, "refs/guard"))
		*VEC_ADD(&im->imported) =
			(struct gittip){mem_strdup(name), *id};
	return 0;
}

/* Whether a ref of the user stands in the way of those that are listed. One of
 * an import that was killed is the same: the next import writes the others
 * beside it. */
static bool keeps_prefix(const struct gitimport *im, const char *prefix,
			 const struct gittip *ref)
{
	const struct gitimport_ref *r;

	if (!path_below(ref->name, prefix))
		return false;
	r = FIND_BY_PATH(path_rest(ref->name, prefix), im->list.items,
			 im->list.count, name);
	return !r || gittips_compare_ids(&r->id, &ref->id) != 0;
}

/* An earlier import of the same run keeps its names. */
static int find_prefix(struct gitimport *im, const char *run_id,
		       struct err *err)
{
	unsigned int n;
	size_t i;

	for (n = 1; n < PREFIXES_MAX; n++) {
		auto_free char *prefix =
			n == 1 ? mem_printf("refs/guard/%s", run_id)
			       : mem_printf("refs/guard/%s.%u", run_id, n);

		for (i = 0; i < im->imported.count; i++)
			if (keeps_prefix(im, prefix, &im->imported.items[i]))
				break;
		if (i == im->imported.count) {
			im->list.prefix = TAKE(prefix);
			return 0;
		}
	}
	return fail(err, EEXIST,
		    "run %s was imported too many times: delete old refs below "
		    "refs/guard",
		    run_id);
}

/* --- the objects that are named --- */

static struct gitimport_object *find_object(struct gitimport *im,
					    const struct gitid *id)
{
	/* The id is the first member. */
	return im->objects.count
		       ? bsearch(id, im->objects.items, im->objects.count,
				 sizeof(*im->objects.items),
				 gittips_compare_ids)
		       : NULL;
}

static int load_objects(struct gitimport *im, const struct gittips *tips,
			struct err *err)
{
	struct gitimport_object *items;
	size_t i, kept = 0;

	VEC_FREE(&im->objects);
	if (libgit_each_ref(im->git, im->to, add_user_ref, im, err) < 0)
		return -err->num;
	for (i = 0; i < tips->count; i++)
		*VEC_ADD(&im->objects) = (struct gitimport_object){
			.id = tips->items[i].id,
			.named = tips->items[i].name != NULL,
			.apart = !tips->items[i].name ||
				 !path_below(tips->items[i].name, "guard"),
		};
	VEC_SORT(&im->objects, gittips_compare_ids);
	items = im->objects.items;
	for (i = 0; i < im->objects.count; i++) {
		struct gitimport_object *last = kept ? &items[kept - 1] : NULL;

		if (last && gittips_compare_ids(last, &items[i]) == 0) {
			last->pointed |= items[i].pointed;
			last->own |= items[i].own;
			last->named |= items[i].named;
			last->apart |= items[i].apart;
		} else {
			items[kept++] = items[i];
		}
	}
	im->objects.count = kept;
	return 0;
}

int gitimport_fail_line(const char *line, struct err *err)
{
	return fail(err, EBADMSG, "git gave an unexpected answer: %s",
		    text_quote(line));
}

/* "<id> <type> <size>", or "<id> missing": of the type 0. */
static int parse_object(const char *line, struct gitimport_object *ret,
			struct err *err)
{
	int count = -1;

	*ret = (struct gitimport_object){0};
	if (strlen(line) > GITID_HEX && gittips_read_id(line, &ret->id))
		count = sscanf(line + GITID_HEX, " %7s %" SCNu64, ret->type,
			       &ret->size);
	if (count == 1 && strcmp(ret->type, "missing") == 0)
		*ret->type = '\0';
	else if (count != 2)
		return gitimport_fail_line(line, err);
	return 0;
}

static int record_type(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;
	struct gitimport_object got, *o;

	if (parse_object(line, &got, err) < 0)
		return -err->num;
	o = find_object(im, &got.id);
	if (o)
		memcpy(o->type, got.type, sizeof(o->type));
	return 0;
}

static int find_types(struct gitimport *im, enum gitrun_objects where,
		      struct err *err)
{
	static char *const arguments[] = {"cat-file", "--buffer", OBJECT_FORMAT,
					  NULL};
	AUTO(buf) struct buf input = {0};
	size_t i;

	for (i = 0; i < im->objects.count; i++)
		buf_printf(&input, "%s\n", im->objects.items[i].id.hex);
	return gitrun_lines(&im->run, where, arguments, &input, record_type, im,
			    err);
}

static int check_named_objects(const struct gitimport *im, struct err *err)
{
	size_t i;

	for (i = 0; i < im->objects.count; i++)
		if (im->objects.items[i].named && !*im->objects.items[i].type)
			return fail(err, ENODATA,
				    "object %.12s is referenced, but missing "
				    "from both repositories",
				    im->objects.items[i].id.hex);
	return 0;
}

/*
 * Writes the input of rev-list and pack-objects: the wanted objects, and those
 * of the user's refs, with all that these reach, as unwanted. lost: of the
 * wanted ones only those that no ref of the run's reaches. Returns how many are
 * wanted.
 */
static size_t add_revisions(const struct gitimport *im, bool lost,
			    struct buf *to)
{
	size_t i, count = 0;

	for (i = 0; i < im->objects.count; i++) {
		const struct gitimport_object *o = &im->objects.items[i];
		/* Reflogs may name objects of any type, and deleted ones. */
		bool wanted = lost ? o->fresh && !o->named
				   : *o->type && !o->pointed &&
					      (o->named ||
					       strcmp(o->type, "commit") == 0);

		if (!wanted &&
		    !(*o->type && (o->pointed || (lost && o->named))))
			continue;
		buf_printf(to, "%s%s\n", wanted ? "" : "^", o->id.hex);
		count += wanted;
	}
	return count;
}

/* --- the pack --- */

/* The run's own indexes are not used: they may not match their packs. */
static int index_packs(struct gitimport *im, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = openat(im->run.dirfd, "run/pack",
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	if (dir < 0)
		return fail_errno(err, "list the run's packs");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	if (list.count > PACKS_MAX)
		return fail(err, E2BIG,
			    "the run's repository has more than %d new packs: "
			    "run git gc in it",
			    PACKS_MAX);
	for (i = 0; i < list.count; i++) {
		auto_free char *path =
			path_join("run/pack", list.items[i].name);
		char *const arguments[] = {"index-pack", path, NULL};

		if (gitrun(&im->run, GITRUN_RUN, arguments, NULL, GITRUN_OUTPUT,
			   err) < 0)
			return -err->num;
	}
	return 0;
}

static int read_pack_name(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;

	return gittips_read_id(line, &im->pack)
		       ? 0
		       : gitimport_fail_line(line, err);
}

static int check_size(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;
	struct gitimport_list *list = &im->list;
	struct gitimport_object o;

	if (parse_object(line, &o, err) < 0)
		return -err->num;
	if (o.size > OBJECT_MAX ||
	    (strcmp(o.type, "blob") != 0 && o.size > SMALL_MAX))
		return fail(err, E2BIG,
			    "object %.12s has %s: too large to import", line,
			    text_size(o.size));
	list->objects++;
	list->bytes += o.size;
	if (list->objects > OBJECTS_MAX)
		return fail(err, E2BIG,
			    "the run created more than %d objects: too many to "
			    "import",
			    OBJECTS_MAX);
	if (list->bytes > BYTES_MAX)
		return fail(err, E2BIG,
			    "the run's commits hold more than %s: too large to "
			    "import",
			    text_size(BYTES_MAX));
	return 0;
}

/* --- the list --- */

/* "<id>": a commit that no ref of the user reaches. */
static int mark_fresh(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;
	struct gitimport_object *o;
	struct gitid id;

	if (!gittips_read_id(line, &id))
		return gitimport_fail_line(line, err);
	im->list.commits++;
	o = find_object(im, &id);
	if (o)
		o->fresh = true;
	return 0;
}

/* "<id> <child>...": a commit that no ref of the run reaches either. */
static int mark_lost(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;
	struct gitimport_object *o;
	struct gitid id;

	if (!gittips_read_id(line, &id))
		return gitimport_fail_line(line, err);
	o = line[GITID_HEX] ? NULL : find_object(im, &id);
	if (o)
		o->lost = true;
	return 0;
}

/* rev-list fails on a missing object, so each wanted one is in the pack under
 * the id that git computed, or in the user's repository. */
static int find_commits(struct gitimport *im, enum gitrun_objects where,
			bool lost, struct err *err)
{
	char *const arguments[] = {"rev-list", "--stdin",
				   lost ? "--children" : NULL, NULL};
	AUTO(buf) struct buf input = {0};

	return add_revisions(im, lost, &input)
		       ? gitrun_lines(&im->run, where, arguments, &input,
				      lost ? mark_lost : mark_fresh, im, err)
		       : 0;
}

static int note_commit(void *arg, const char *line, struct err *err)
{
	(void)line;
	(void)err;
	*(bool *)arg = true;
	return 0;
}

int gitimport_touches(struct gitimport *im, const char *path, struct err *err)
{
	static char *const arguments[] = {"rev-list", "--max-count=1",
					  "--stdin", NULL};
	AUTO(buf) struct buf input = {0};
	bool touched = false;
	size_t i;

	for (i = 0; i < im->objects.count; i++) {
		const struct gitimport_object *o = &im->objects.items[i];

		if (*o->type && (o->pointed || o->named))
			buf_printf(&input, "%s%s\n", o->pointed ? "^" : "",
				   o->id.hex);
	}
	if (!im->list.fresh)
		return 0;
	buf_printf(&input, "--\n:(literal)%s\n", path);
	return gitrun_lines(&im->run, GITRUN_RESULT, arguments, &input,
			    note_commit, &touched, err) < 0
		       ? -err->num
		       : touched;
}

/* "<id> <type> <ref> <subject>" */
static int add_ref(void *arg, const char *line, struct err *err)
{
	struct gitimport *im = arg;
	struct gitimport_list *list = &im->list;
	struct gitimport_ref r = {0};
	const char *name, *subject;
	const struct gitimport_object *o = NULL;
	int used = 0;

	if (gittips_read_id(line, &r.id) &&
	    sscanf(line + GITID_HEX, " %7s " REFS "%n", r.type, &used) == 1 &&
	    used)
		o = find_object(im, &r.id);
	if (!o)
		return gitimport_fail_line(line, err);
	name = line + GITID_HEX + used;
	subject = name + strcspn(name, " ");
	r.name = mem_strndup(name, (size_t)(subject - name));
	r.subject = mem_strndup(subject + (*subject != '\0'),
				strnlen(subject, SUBJECT_MAX));
	r.known = strcmp(r.type, "commit") == 0 ? !o->fresh : o->pointed;
	*VEC_ADD(list) = r;
	return 0;
}

static int list_refs(struct gitimport *im, enum gitrun_objects where,
		     const struct gittips *tips, struct err *err)
{
	static char *const arguments[] = {
		"for-each-ref",
		"--format=%(objectname) %(objecttype) %(refname) "
		"%(contents:subject)",
		NULL};
	AUTO(buf) struct buf text = {0};
	size_t i;

	/* git lists the refs of guard's repository. */
	for (i = 0; i < tips->count; i++)
		if (tips->items[i].name)
			buf_printf(&text, "%s " REFS "%s\n",
				   tips->items[i].id.hex, tips->items[i].name);
	for (i = 0; i < im->objects.count; i++) {
		const struct gitimport_object *o = &im->objects.items[i];

		if (o->lost)
			buf_printf(&text, "%s " REFS "reflog/%.*s\n", o->id.hex,
				   REFLOG_ID, o->id.hex);
	}
	if (atomic_write(im->run.dirfd, "packed-refs", text.data, text.len,
			 0600, ATOMIC_NO_SYNC, err) < 0 ||
	    gitrun_lines(&im->run, where, arguments, NULL, add_ref, im, err) <
		    0)
		return -err->num;
	SORT_BY_PATH(im->list.items, im->list.count, name);
	return 0;
}

/* Copies the run's objects that were not in base, and lists. */
static int open_copy(const struct gitimport_job *job, const struct entry *base,
		     const struct gittips *tips, struct gitimport **ret,
		     struct err *err)
{
	static char *const pack[] = {"pack-objects", "--revs",
				     "--stdout",     "--delta-base-offset",
				     "-q",	     NULL};
	static char *const check[] = {"index-pack", STRICT,
				      GITIMPORT_PACK ".pack", NULL};
	static char *const sizes[] = {"cat-file",    "--batch-all-objects",
				      "--unordered", "--buffer",
				      OBJECT_FORMAT, NULL};
	AUTO(gitimport) struct gitimport *im = mem_zalloc(sizeof(*im));
	enum gitrun_objects where = job->check ? GITRUN_RESULT : GITRUN_ALL;
	AUTO(buf) struct buf revisions = {0};
	uint64_t bytes;

	im->dirfd = job->dirfd;
	im->run.dirfd = -1;
	im->where = where;
	im->to_path = mem_strdup(job->to);
	im->copy = mem_strdup(job->copy);
	if (dirtree_remove(job->dirfd, job->copy, err) < 0)
		return -err->num;
	im->run.dirfd =
		gitcopy_make(job->store, base, job->now, job->to, job->dirfd,
			     job->copy, job->most, &bytes, err);
	if (im->run.dirfd < 0)
		return -err->num;
	im->run.seconds = gitrun_seconds(bytes);
	gitcopy_add_objects(job->to, &im->run.readable);
	if (open_user(im, err) < 0 || index_packs(im, err) < 0 ||
	    load_objects(im, tips, err) < 0 ||
	    find_types(im, GITRUN_ALL, err) < 0 ||
	    check_named_objects(im, err) < 0)
		return -err->num;
	if (add_revisions(im, false, &revisions) && job->check &&
	    (gitrun(&im->run, GITRUN_ALL, pack, &revisions,
		    GITIMPORT_PACK ".pack", err) < 0 ||
	     gitrun_lines(&im->run, GITRUN_RESULT, check, NULL, read_pack_name,
			  im, err) < 0 ||
	     gitrun_lines(&im->run, GITRUN_CHECKED, sizes, NULL, check_size, im,
			  err) < 0))
		return -err->num;
	if (find_commits(im, where, false, err) < 0 ||
	    find_commits(im, where, true, err) < 0 ||
	    list_refs(im, where, tips, err) < 0 ||
	    find_prefix(im, job->run_id, err) < 0)
		return -err->num;
	*ret = TAKE(im);
	return 0;
}

static int find_lfs(const struct gitimport_job *job, struct gitimport *im,
		    struct err *err)
{
	if (gitlfs_find(job->store, job->now, job->to, &im->lfs, err) < 0)
		return -err->num;
	im->list.lfs_files = im->lfs.files.count;
	im->list.lfs_bytes = im->lfs.bytes;
	if (im->lfs.refused)
		*VEC_ADD(&im->tips.notes) = mem_printf(
			"%s of git-lfs with other bytes than the name says: "
			"skipped",
			text_count(im->lfs.refused, "file"));
	return 0;
}

int gitimport_open(const struct gitimport_job *job, struct gitimport **ret,
		   struct err *err)
{
	AUTO(gittips) struct gittips tips = {0};
	AUTO(gitimport) struct gitimport *im = NULL;
	size_t i;
	int got;

	if (gittips_read(job->store, job->then, job->now, &tips, err) < 0)
		return -err->num;
	if ((tips.count || job->check) &&
	    (!job->local || gittips_has_local(&tips))) {
		/* Object files that were there before the run are left out at
		 * first: the user's repository has them, unless it was cleaned
		 * up since. Only git can tell which object is missing. */
		got = open_copy(job, job->then, &tips, &im, err);
		if ((got == -ENODATA || got == -EBADMSG) && job->then)
			got = open_copy(job, NULL, &tips, &im, err);
		if ((got == -ENODATA || got == -EBADMSG) && tips.incomplete)
			return err_context(err, "%s", tips.incomplete);
		if (got < 0)
			return got;
	} else {
		im = mem_zalloc(sizeof(*im));
		im->run.dirfd = -1;
	}
	im->tips = TAKE(tips);
	im->list.notes = &im->tips.notes;
	for (i = 0; i < im->list.count; i++)
		im->list.fresh += !im->list.items[i].known;
	if (job->check && im->list.fresh && find_lfs(job, im, err) < 0)
		return -err->num;
	*ret = TAKE(im);
	return 0;
}

/* Since the check a git gc of the user's may have deleted objects on which
 * those of the pack are built. */
int gitimport_check_complete(struct gitimport *im, struct err *err)
{
	static char *const arguments[] = {"rev-list", "--objects", "--quiet",
					  "--stdin", NULL};
	AUTO(buf) struct buf revisions = {0};

	if (load_objects(im, &im->tips, err) < 0 ||
	    find_types(im, GITRUN_RESULT, err) < 0)
		return -err->num;
	if (check_named_objects(im, err) == 0 &&
	    (!add_revisions(im, false, &revisions) ||
	     gitrun(&im->run, GITRUN_RESULT, arguments, &revisions,
		    GITRUN_OUTPUT, err) == 0))
		return 0;
	err->num = EBUSY;
	return err_context(err, "your repository has lost objects during the "
				"import: import again");
}
