#include "guard/change/commit_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/change/changes.h"
#include "guard/change/consent.h"
#include "restore/git/gitclean.h"
#include "restore/git/gitlfs.h"
#include "restore/git/gitversions.h"
#include "snapshot/store/content.h"

#define GITDIR "gitdir: "
#define LINE_MAX 4096
/* Bytes of files of the work tree that are read for their ids. */
#define BYTES_MAX (1ull << 30)

static void drop_last(struct commit_files *f)
{
	struct commit_file *file = &f->items[--f->count];

	free(file->path);
	free(file->shown);
	risks_free(&file->risks);
}

void commit_files_free(struct commit_files *f)
{
	while (f->count)
		drop_last(f);
	VEC_FREE(f);
}

/* A repository whose versions are compared. */
struct version_search {
	struct context *c;
	const struct session *s;
	const struct importer *imp;
	struct commit_files *found;
	struct gitversions versions;
	/* Absolute: the work tree, then those of `git worktree`. */
	struct names tops;
	uint64_t bytes;
	/* Of the work tree's root, for risks. */
	const struct changes_root *changes; /* of it, or NULL */
};

/* The root with a directory; *ret: its path in it. NULL: none has it. */
static const struct importer_root *
find_top_root(const struct version_search *s, const char *top, const char **ret)
{
	size_t i = session_root_of(s->s, top);

	if (i >= s->imp->roots.count)
		return NULL;
	*ret = path_rest(top, s->s->roots[i].path);
	return &s->imp->roots.items[i];
}

/* The entry of a path of the repository in one of its work trees. */
static int find_in_tree(const struct version_search *s, size_t top,
			const char *path, struct entry *ret, struct err *err)
{
	const char *below;
	const struct importer_root *root =
		find_top_root(s, s->tops.items[top], &below);
	auto_free char *inner = root ? path_join(below, path) : NULL;

	return inner ? tree_lookup(s->c->store, &root->want, inner, ret, err)
		     : 0;
}

/* The text of a small file in a tree, without its line feed, to free; NULL:
 * there is none. */
static char *read_small_line(struct store *store, const struct entry *tree,
			     const char *path)
{
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	if (tree_lookup(store, tree, path, &e, &ignored) <= 0 ||
	    !S_ISREG(e.mode) || e.size > LINE_MAX ||
	    content_append(store, &e.content, &text, &ignored) < 0)
		return NULL;
	return mem_strndup(buf_text(&text), strcspn(buf_text(&text), "\n"));
}

static int add_linked_tree(void *arg, const char *path, const struct entry *e,
			   struct err *err)
{
	struct version_search *s = arg;
	auto_free char *file = NULL, *top = NULL;

	(void)err;
	if (!*path || strchr(path, '/') || !S_ISDIR(e->mode))
		return 0;
	file = read_small_line(s->c->store, e, "gitdir");
	top = file && *file == '/' ? path_parent(file) : NULL;
	if (top)
		names_add(&s->tops, top);
	return 0;
}

static int find_trees(struct version_search *s,
		      const struct importer_repository *r, struct err *err)
{
	auto_free char *top = importer_work_tree(s->s, r);
	AUTO(entry) struct entry list = {0};

	names_add(&s->tops, top);
	if (tree_lookup(s->c->store, &r->now, "worktrees", &list, err) < 0 ||
	    (S_ISDIR(list.mode) &&
	     tree_each(s->c->store, &list, add_linked_tree, s, err) < 0))
		return -err->num;
	return 0;
}

/* Whether the submodule of a work tree is at that commit. */
static bool is_at_commit(const struct version_search *s, size_t top,
			 const char *path, const struct gitid *id)
{
	struct store *store = s->c->store;
	auto_free char *dot = path_join(path, ".git");
	auto_free char *line = NULL, *dir = NULL, *inner = NULL;
	AUTO(entry) struct entry git = {0};
	AUTO(githead) struct githead head = {0};
	const struct importer_root *root;
	const char *below;
	struct err ignored;

	root = find_top_root(s, s->tops.items[top], &below);
	if (!root)
		return false;
	inner = path_join(below, dot);
	line = read_small_line(store, &root->want, inner);
	dir = line && strncmp(line, GITDIR, strlen(GITDIR)) == 0
		      ? risk_refs_follow(inner, line + strlen(GITDIR))
		      : mem_strdup(inner);
	return dir &&
	       tree_lookup(store, &root->want, dir, &git, &ignored) > 0 &&
	       githead_read(store, &git, "", &head, &ignored) == 0 &&
	       gittips_compare_ids(&head.id, id) == 0;
}

/* A mode that the commit did not change is not its own: some file systems have
 * none. */
static bool has_git_mode(const struct version_search *s,
			 const struct gitversion *v, const struct entry *e)
{
	uint32_t mode = gitclean_mode(e);

	return mode == v->mode ||
	       ((v->had_mode || s->versions.no_modes) && mode &&
		mode != GIT_FILEMODE_LINK && v->mode != GIT_FILEMODE_LINK);
}

/* Marks the versions of one path that this work tree has. A linked one stands
 * for its own branch, and lists have a single line for it: what is critical is
 * named all the same. */
static int compare_with_tree(struct version_search *s, size_t top, size_t first,
			     size_t last, struct err *err)
{
	const char *path = s->versions.items[first].path;
	AUTO(entry) struct entry e = {0};
	struct gitid ids[2];
	size_t i;
	int got;

	if (find_in_tree(s, top, path, &e, err) < 0)
		return -err->num;
	for (i = first; i < last; i++)
		if (s->versions.items[i].mode == COMMIT_FILES_SUBMODULE &&
		    is_at_commit(s, top, path, &s->versions.items[i].id))
			s->versions.items[i].known = true;
	if (!gitclean_mode(&e))
		return 0;
	got = e.size > BYTES_MAX - s->bytes
		      ? -EFBIG
		      : gitversions_ids(&s->versions, s->c->store, path, &e,
					ids, err);
	for (i = first; got && i < last; i++)
		s->versions.items[i].unknown = true;
	if (got < 0)
		return got == -EFBIG ? 0 : got;
	s->bytes += e.size;
	for (i = first; i < last; i++) {
		struct gitversion *v = &s->versions.items[i];

		if (has_git_mode(s, v, &e) &&
		    (gittips_compare_ids(&v->id, &ids[0]) == 0 ||
		     gittips_compare_ids(&v->id, &ids[1]) == 0))
			*(top ? &v->elsewhere : &v->known) = true;
	}
	return 0;
}

/* Sets `wanted` of each version that no work tree has, the newest of equal ones
 * alone. */
static int compare_versions_with_trees(struct version_search *s,
				       struct err *err)
{
	struct gitversion *v = s->versions.items;
	size_t first, last, i, k;

	for (first = 0; first < s->versions.count; first = last) {
		for (last = first; last < s->versions.count &&
				   strcmp(v[last].path, v[first].path) == 0;
		     last++) {
			v[last].wanted = true;
			/* Most files have few versions. */
			for (k = last; k > first && last - k < 64; k--)
				if (v[k - 1].mode == v[last].mode &&
				    gittips_compare_ids(&v[k - 1].id,
							&v[last].id) == 0) {
					v[k - 1].in_head |= v[last].in_head;
					v[last].wanted = false;
				}
		}
		for (i = 0; i < s->tops.count; i++)
			if (compare_with_tree(s, i, first, last, err) < 0)
				return -err->num;
		for (i = first; i < last; i++)
			v[i].wanted &= !v[i].known;
	}
	return 0;
}

/* --- risks --- */

struct judged_version {
	const struct version_search *s;
	const struct entry *had;
	const struct buf *bytes;
};

static bool read_version_side(void *arg, bool now, struct buf *to)
{
	const struct judged_version *j = arg;
	struct err ignored;

	if (!now)
		return gitclean_read(j->s->c->store, j->had, to, &ignored) == 0;
	if (j->bytes)
		buf_add(to, j->bytes->data, j->bytes->len);
	return j->bytes != NULL;
}

static bool version_exists(void *arg, const char *path)
{
	const struct judged_version *j = arg;
	const char *below;
	const struct importer_root *root =
		find_top_root(j->s, j->s->tops.items[0], &below);
	AUTO(entry) struct entry e = {0};
	struct err ignored;

	return root &&
	       tree_lookup(j->s->c->store, &root->want, path, &e, &ignored) > 0;
}

/* bytes: of a file; NULL: too large, or a submodule's commit. */
static int judge_version(void *arg, size_t index, const struct buf *bytes,
			 struct err *err)
{
	struct version_search *s = arg;
	const struct gitversion *v = &s->versions.items[index];
	const char *below = "", *top = s->tops.items[0];
	AUTO(entry) struct entry had = {0};
	struct judged_version j = {s, &had, bytes};
	auto_free char *inner = NULL;
	struct risk_file f = {
		.now_mode = v->mode,
		.now_size = bytes ? bytes->len : RISK_READ_MAX + 1ull,
		.above = s->changes ? s->changes->above : NULL,
		.refs = s->changes ? changes_refs(s->changes) : NULL,
		.read = read_version_side,
		.exists = version_exists,
		.arg = &j,
	};
	struct commit_file *file;

	if (find_in_tree(s, 0, v->path, &had, err) < 0)
		return -err->num;
	/* git-lfs keeps the file, and commits its hash. */
	if (bytes && gitlfs_names(s->c->store, bytes, &had))
		return 0;
	file = VEC_ADD(s->found);
	(void)find_top_root(s, top, &below);
	inner = path_join(below, v->path);
	file->path = path_join(top, v->path);
	file->shown =
		mem_printf("%s%s", s->changes ? s->changes->prefix : "", inner);
	file->commit = v->commit;
	file->mode = v->mode;
	file->unknown = v->unknown;
	file->order = v->order;
	if (v->mode == COMMIT_FILES_SUBMODULE) {
		*VEC_ADD(&file->risks) = (struct risk){
			.level = RISK_HIGH,
			.id = "git-submodule",
			.text = mem_strdup("is a commit of a submodule that "
					   "the work tree does not have"),
		};
		return 0;
	}
	f.path = inner;
	if (!S_ISDIR(had.mode)) {
		f.old_mode = had.mode;
		f.old_size = had.size;
	}
	risk_judge(&f, &file->risks);
	file->in_worktree = v->elsewhere && !v->in_head;
	if (file->in_worktree && risks_worst(&file->risks) < RISK_HIGH)
		drop_last(s->found);
	return 0;
}

static int judge_versions(struct version_search *s, struct err *err)
{
	const struct gitversions *v = &s->versions;
	size_t i;

	for (i = 0; i < v->count; i++)
		if (v->items[i].wanted &&
		    v->items[i].mode == COMMIT_FILES_SUBMODULE &&
		    judge_version(s, i, NULL, err) < 0)
			return -err->num;
	return gitversions_read(v, RISK_READ_MAX, judge_version, s, err);
}

static int search_repository(struct version_search *s,
			     const struct importer_repository *r,
			     struct err *err)
{
	AUTO(githead) struct githead head = {0};
	const struct importer_root *root;
	const char *top, *below;
	struct err ignored;

	if (find_trees(s, r, err) < 0)
		return -err->num;
	if (s->tops.count > 1)
		(void)githead_read(s->c->store, &r->now, r->own, &head,
				   &ignored);
	top = s->tops.items[0];
	if (gitversions_list(r->im, top, s->c->state.home, &head.id,
			     &s->versions, err) < 0)
		return -err->num;
	s->found->unread += s->versions.unread;
	root = find_top_root(s, top, &below);
	if (root && s->versions.count) {
		s->changes = &s->imp->changes.roots[root - s->imp->roots.items];
	}
	return compare_versions_with_trees(s, err) < 0 ? -err->num
						       : judge_versions(s, err);
}

static int compare_by_path(const void *a, const void *b)
{
	const struct commit_file *x = a, *y = b;
	enum risk_level p = risks_worst(&x->risks), q = risks_worst(&y->risks);
	int got = path_compare(x->path, y->path);

	if (!got)
		got = (p < q) - (p > q);
	return got ? got : (x->order > y->order) - (x->order < y->order);
}

static int compare_by_level(const void *a, const void *b)
{
	const struct commit_file *x = a, *y = b;

	return x->worst == y->worst
		       ? compare_by_path(a, b)
		       : (x->worst < y->worst) - (x->worst > y->worst);
}

static void sort_files(struct commit_files *f)
{
	struct commit_file *first = f->items;
	size_t i;

	VEC_SORT(f, compare_by_path);
	for (i = 0; i < f->count; i++) {
		struct commit_file *file = &f->items[i];

		if (strcmp(first->path, file->path) != 0)
			first = file;
		file->worst = risks_worst(&first->risks);
		first->versions += risks_worst(&file->risks) == file->worst;
	}
	VEC_SORT(f, compare_by_level);
}

int commit_files_find(struct context *c, const struct session *s,
		      const struct importer *imp, struct commit_files *ret,
		      struct err *err)
{
	AUTO(commit_files) struct commit_files found = {0};
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < imp->items.count; i++) {
		struct version_search search = {
			.c = c, .s = s, .imp = imp, .found = &found};

		if (imp->items.items[i].im)
			got = search_repository(&search, &imp->items.items[i],
						err);
		gitversions_free(&search.versions);
		names_free(&search.tops);
	}
	if (got < 0)
		return got;
	sort_files(&found);
	*ret = TAKE(found);
	return 0;
}

/* --- for people --- */

char *commit_files_place(const struct commit_file *f)
{
	auto_free char *where =
		f->versions > 1
			? mem_printf("commits (%zu versions, newest in %.10s)",
				     f->versions, f->commit.hex)
			: mem_printf("commit %.10s", f->commit.hex);

	return mem_printf(f->unknown ? "in %s (not compared with the work tree)"
				     : "only in %s",
			  where);
}

char *commit_files_sentence(const struct commit_file *f,
			    const struct risk *risk)
{
	auto_free char *text = risk ? risk_sentence(risk) : NULL;
	auto_free char *place = commit_files_place(f);

	return mem_printf("is %s%s%s", place, text ? " and " : "",
			  text ? text : "");
}
