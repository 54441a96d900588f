#include "restore/git/gitimport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitwalk.h"
#include "restore/git/libgit.h"

#define PREFIXES_MAX 1000
#define WINDOW (32u << 20)
#define MAPPED_MAX (512u << 20)
#define REFLOG_ID 12

struct gitimport {
	const struct libgit *git;
	char *to_path;
	git_repository *from, *to;
	git_odb *from_odb, *to_odb;
	struct gitwalk *walk;
	struct gitid *pointed; /* what the user's refs point at, sorted */
	size_t pointed_count, pointed_room;
	struct gitid *apart; /* the user has them, no ref reaches them */
	size_t apart_count, apart_room;
	struct gitimport_list list;
};

void gitimport_list_free(struct gitimport_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		free(list->refs[i].name);
		free(list->refs[i].subject);
	}
	free(list->refs);
	free(list->prefix);
	*list = (struct gitimport_list){0};
}

void gitimport_free(struct gitimport **at)
{
	struct gitimport *im = *at;

	if (!im)
		return;
	gitwalk_free(&im->walk);
	if (im->git) {
		im->git->odb_free(im->from_odb);
		im->git->odb_free(im->to_odb);
		im->git->repository_free(im->from);
		im->git->repository_free(im->to);
	}
	gitimport_list_free(&im->list);
	free(im->pointed);
	free(im->apart);
	free(im->to_path);
	free(TAKE(*at));
}

const struct gitimport_list *gitimport_listed(const struct gitimport *im)
{
	return &im->list;
}

static int git_fail(const struct gitimport *im, int num, const char *what,
		    struct err *err)
{
	const git_error *last = im->git->error_last();

	return fail(err, num, "%s: %s", what,
		    last && last->message ? text_quote(last->message)
					  : "unknown error");
}

static git_oid oid_of(const struct gitid *id)
{
	git_oid oid;

	memcpy(oid.id, id->raw, sizeof(oid.id));
	return oid;
}

static struct gitid id_of(const git_oid *oid)
{
	struct gitid id;

	memcpy(id.raw, oid->id, sizeof(id.raw));
	return id;
}

static int by_id(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct gitid));
}

static void sort_ids(struct gitid *ids, size_t count)
{
	if (count)
		qsort(ids, count, sizeof(*ids), by_id);
}

static bool has_id(const struct gitid *ids, size_t count,
		   const struct gitid *id)
{
	return count && bsearch(id, ids, count, sizeof(*id), by_id);
}

/*
 * Extensions that change nothing about objects and refs are let pass: they
 * are the user's own. Who owns the folder does not matter: he named it.
 */
static int set_up(const struct libgit *git, struct err *err)
{
	static const char *extensions[] = {"worktreeconfig", "partialclone",
					   "preciousobjects"};

	if (git->libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions,
			      sizeof(extensions) / sizeof(*extensions)) < 0 ||
	    git->libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0 ||
	    git->libgit2_opts(GIT_OPT_ENABLE_CACHING, 0) < 0 ||
	    git->libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) < 0 ||
	    git->libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1) < 0 ||
	    git->libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, (size_t)WINDOW) < 0 ||
	    git->libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT,
			      (size_t)MAPPED_MAX) < 0)
		return fail(err, EIO, "libgit2 does not take its settings");
	return 0;
}

static int open_both(struct gitimport *im, const char *from, struct err *err)
{
	unsigned int flags =
		GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT;

	if (im->git->repository_open_ext(&im->to, im->to_path, flags, NULL) < 0)
		return git_fail(im, ENOTSUP, "your repository", err);
	if (im->git->repository_open_ext(&im->from, from, flags, NULL) < 0 ||
	    im->git->repository_odb(&im->from_odb, im->from) < 0)
		return git_fail(im, EIO, "the copy of the run's repository",
				err);
	if (im->git->repository_odb(&im->to_odb, im->to) < 0)
		return git_fail(im, EIO, "your repository's objects", err);
	return 0;
}

/* A detached HEAD is among them; a broken ref of the user's is skipped. */
static int list_pointed(struct gitimport *im, struct err *err)
{
	const struct libgit *git = im->git;
	git_reference_iterator *it;
	git_reference *ref;
	int got;

	if (git->reference_iterator_new(&it, im->to) < 0)
		return git_fail(im, EIO, "your repository's refs", err);
	while ((got = git->reference_next(&ref, it)) == 0) {
		const git_oid *oid = git->reference_target(ref);

		if (oid) {
			GROW(im->pointed, im->pointed_count, im->pointed_room);
			im->pointed[im->pointed_count++] = id_of(oid);
		}
		git->reference_free(ref);
	}
	git->reference_iterator_free(it);
	if (got != GIT_ITEROVER)
		return git_fail(im, EIO, "your repository's refs", err);
	sort_ids(im->pointed, im->pointed_count);
	return 0;
}

/*
 * Those commits of the tips that the user has and none of his refs reaches
 * (an import that was cut off, a branch that he deleted), with all that they
 * alone reach.
 */
static int list_apart(struct gitimport *im, const struct gittips *tips,
		      struct err *err)
{
	const struct libgit *git = im->git;
	git_revwalk *walk;
	size_t i, pushed = 0;
	git_oid oid;
	int got = 0;

	if (git->revwalk_new(&walk, im->to) < 0)
		return git_fail(im, EIO, "your repository's history", err);
	for (i = 0; i < tips->count; i++) {
		const struct gitid *id = &tips->items[i].id;

		oid = oid_of(id);
		if (gitwalk_has(git, im->to_odb, id) == GITTYPE_COMMIT)
			pushed += git->revwalk_push(walk, &oid) == 0;
	}
	for (i = 0; pushed && i < im->pointed_count; i++) {
		oid = oid_of(&im->pointed[i]);
		/* a ref on no commit, or a broken one of the user's */
		(void)git->revwalk_hide(walk, &oid);
	}
	while (pushed && (got = git->revwalk_next(&oid, walk)) == 0) {
		GROW(im->apart, im->apart_count, im->apart_room);
		im->apart[im->apart_count++] = id_of(&oid);
	}
	git->revwalk_free(walk);
	if (pushed && got != GIT_ITEROVER)
		return git_fail(im, EIO, "your repository's history", err);
	sort_ids(im->apart, im->apart_count);
	for (i = 0; i < im->apart_count; i++)
		if (gitwalk_reach(im->walk, &im->apart[i], err) == -EIO)
			return -err->num;
	return 0;
}

static bool is_known(const struct gitimport *im, const struct gitid *id,
		     enum gittype has)
{
	if (has == GITTYPE_COMMIT)
		return !has_id(im->apart, im->apart_count, id);
	return has && has_id(im->pointed, im->pointed_count, id);
}

static int walk_tips(struct gitimport *im, const struct gittips *tips,
		     struct err *err)
{
	size_t i;

	for (i = 0; i < tips->count; i++) {
		const struct gittip *t = &tips->items[i];

		/* Reflogs may name what is long gone. */
		if (t->name || gitwalk_has(im->git, im->to_odb, &t->id) ||
		    gitwalk_has(im->git, im->from_odb, &t->id))
			gitwalk_add(im->walk, &t->id);
	}
	return gitwalk_go(im->walk, err);
}

static char *subject_of(struct gitimport *im, const struct gitid *id,
			enum gittype type)
{
	const struct libgit *git = im->git;
	git_odb_object *object = NULL;
	AUTO(buf) struct buf text = {0};
	git_oid oid = oid_of(id);

	if ((type != GITTYPE_COMMIT && type != GITTYPE_TAG) ||
	    (git->odb_read(&object, im->from_odb, &oid) < 0 &&
	     git->odb_read(&object, im->to_odb, &oid) < 0))
		return mem_strdup("");
	gitparse_subject(git->odb_object_data(object),
			 git->odb_object_size(object), &text);
	git->odb_object_free(object);
	return buf_take_text(&text);
}

static void add_ref(struct gitimport *im, char *name, const struct gitid *id,
		    enum gittype type, bool known)
{
	struct gitimport_list *list = &im->list;

	GROW(list->refs, list->count, list->room);
	list->refs[list->count++] = (struct gitimport_ref){
		name, *id, type, known, subject_of(im, id, type)};
}

/* What only a reflog names counts where nothing else leads to it. */
static void add_logged(struct gitimport *im, const struct gittips *tips,
		       const struct gitid *named, size_t named_count)
{
	size_t i;

	for (i = 0; i < tips->count; i++) {
		const struct gitid *id = &tips->items[i].id;
		enum gittype type = gitwalk_type(im->walk, id);
		enum gittype has = gitwalk_has(im->git, im->to_odb, id);
		char hex[GITID_HEX + 1];

		if (tips->items[i].name || !type ||
		    gitwalk_is_reached(im->walk, id) ||
		    has_id(named, named_count, id) || is_known(im, id, has))
			continue;
		gitparse_hex(id, hex);
		add_ref(im, mem_printf("reflog/%.*s", REFLOG_ID, hex), id, type,
			false);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct gitimport_ref *x = a, *y = b;

	return path_compare(x->name, y->name);
}

static void make_list(struct gitimport *im, const struct gittips *tips)
{
	const struct gitwalk_sum *sum = gitwalk_sum(im->walk);
	auto_free struct gitid *named = NULL;
	size_t count = 0, room = 0, i;

	for (i = 0; i < tips->count; i++) {
		const struct gittip *t = &tips->items[i];
		enum gittype has = gitwalk_has(im->git, im->to_odb, &t->id);

		if (!t->name)
			continue;
		add_ref(im, mem_strdup(t->name), &t->id,
			gitwalk_type(im->walk, &t->id),
			is_known(im, &t->id, has));
		GROW(named, count, room);
		named[count++] = t->id;
	}
	sort_ids(named, count);
	add_logged(im, tips, named, count);
	if (im->list.count)
		qsort(im->list.refs, im->list.count, sizeof(*im->list.refs),
		      by_name);
	im->list.commits = sum->commits;
	im->list.objects = sum->objects;
	im->list.bytes = sum->bytes;
}

/* An earlier import of the same run keeps its names. */
static int find_prefix(struct gitimport *im, const char *run_id,
		       struct err *err)
{
	unsigned int n;

	for (n = 1; n < PREFIXES_MAX; n++) {
		auto_free char *prefix =
			n == 1 ? mem_printf("refs/guard/%s", run_id)
			       : mem_printf("refs/guard/%s.%u", run_id, n);
		auto_free char *glob = mem_printf("%s/*", prefix);
		git_reference_iterator *it;
		const char *name;
		int got;

		if (im->git->reference_iterator_glob_new(&it, im->to, glob) < 0)
			return git_fail(im, EIO, "your repository's refs", err);
		got = im->git->reference_next_name(&name, it);
		im->git->reference_iterator_free(it);
		if (got == GIT_ITEROVER) {
			im->list.prefix = TAKE(prefix);
			return 0;
		}
	}
	return fail(err, EEXIST, "run %s was imported too often", run_id);
}

int gitimport_open(const char *from, const char *to, const char *run_id,
		   const struct gittips *tips, struct gitimport **ret,
		   struct err *err)
{
	AUTO(gitimport) struct gitimport *im = mem_zalloc(sizeof(*im));

	im->to_path = mem_strdup(to);
	if (libgit_load(&im->git, err) < 0 || set_up(im->git, err) < 0 ||
	    open_both(im, from, err) < 0)
		return -err->num;
	im->walk = gitwalk_new(im->git, im->from_odb, im->to_odb);
	if (list_pointed(im, err) < 0 || list_apart(im, tips, err) < 0 ||
	    walk_tips(im, tips, err) < 0)
		return -err->num;
	make_list(im, tips);
	if (find_prefix(im, run_id, err) < 0)
		return -err->num;
	*ret = TAKE(im);
	return 0;
}

/* One pack: it is there whole or not at all, and one sync is enough. */
static int write_pack(struct gitimport *im, struct err *err)
{
	const struct libgit *git = im->git;
	auto_free char *folder = path_join(im->to_path, "objects/pack");
	git_packbuilder *pack;
	size_t count, i;
	const struct gitid *ids = gitwalk_wanted(im->walk, &count);
	auto_close int fd = -1;
	int got;

	if (!count)
		return 0;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "your repository's objects/pack");
	if (git->packbuilder_new(&pack, im->from) < 0)
		return git_fail(im, EIO, "make a pack", err);
	for (i = 0, got = 0; i < count && got == 0; i++) {
		git_oid oid = oid_of(&ids[i]);

		got = git->packbuilder_insert(pack, &oid, NULL);
	}
	if (got == 0)
		got = git->packbuilder_write(pack, folder, 0444, NULL, NULL);
	if (got < 0)
		(void)git_fail(im, EIO, "write a pack", err);
	git->packbuilder_free(pack);
	if (got < 0)
		return -err->num;
	if (git->odb_refresh(im->to_odb) < 0)
		return git_fail(im, EIO, "read the pack", err);
	return atomic_sync_dir(fd, err);
}

static int create_ref(struct gitimport *im, const struct gitimport_ref *r,
		      struct err *err)
{
	auto_free char *name = mem_printf("%s/%s", im->list.prefix, r->name);
	git_oid oid = oid_of(&r->id);
	git_reference *made;
	int got;

	if (!gitwalk_has(im->git, im->to_odb, &r->id))
		return fail(err, EIO, "the object of %s is not there",
			    text_quote(name));
	got = im->git->reference_create(&made, im->to, name, &oid, 0, NULL);
	if (got < 0)
		return git_fail(im, got == GIT_EEXISTS ? EEXIST : EIO,
				text_quote(name), err);
	im->git->reference_free(made);
	return 0;
}

int gitimport_write(struct gitimport *im, struct err *err)
{
	size_t i;

	if (write_pack(im, err) < 0)
		return -err->num;
	for (i = 0; i < im->list.count; i++)
		if (!im->list.refs[i].known &&
		    create_ref(im, &im->list.refs[i], err) < 0)
			return -err->num;
	return 0;
}
