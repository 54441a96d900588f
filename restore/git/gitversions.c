#include "restore/git/gitversions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "restore/git/gitclean.h"
#include "restore/git/gitimport_private.h"

/* A commit with trees in trees names more files than any disk has: git ends at
 * these. */
#define OUTPUT_MAX (16u << 20)
#define SECONDS 20
#define MEMORY_MAX (512u << 20)
#define FILE_MAX (256u << 20)
#define BYTES_MAX (64u << 20)
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

void gitversions_free(struct gitversions *v)
{
	size_t i;

	for (i = 0; i < v->count; i++)
		free(v->items[i].path);
	VEC_FREE(v);
	if (v->work) {
		v->git->repository_free(v->work);
		libgit_home(v->git, NULL);
		v->work = NULL;
	}
}

/* --- the list --- */

/* The commits that refs and reflogs of the run reach, or `head`, and no ref of
 * the user: what was only imported is no part of a branch yet. Refs of earlier
 * imports, which are in the run's repository, too, are not the run's. */
static void add_commit_range(const struct gitimport *im,
			     const struct gitid *head, struct buf *to)
{
	size_t i;

	if (head)
		buf_printf(to, "%s\n", head->hex);
	for (i = 0; i < im->objects.count; i++) {
		const struct gitimport_object *o = &im->objects.items[i];

		bool wanted = !head && (!o->pointed || o->own || o->apart) &&
			      (o->named || strcmp(o->type, "commit") == 0);

		if (*o->type && (o->own || wanted))
			buf_printf(to, "%s%s\n", o->own ? "^" : "", o->id.hex);
	}
}

struct gitids {
	struct gitid *items;
	size_t count, capacity;
};

struct commit_list {
	struct buf input; /* of diff-tree */
	size_t count;
};

/* "<id> <parent>...": only the first parent, so that all is listed that a merge
 * has brought or changed. */
static int add_commit(void *arg, const char *line, struct err *err)
{
	struct commit_list *l = arg;
	struct gitid id, parent = {0};

	if (!gittips_read_id(line, &id))
		return gitimport_fail_line(line, err);
	if (line[GITID_HEX])
		(void)gittips_read_id(line + GITID_HEX + 1, &parent);
	if (l->count++ < GITVERSIONS_COMMITS_MAX)
		buf_printf(&l->input, "%s %s\n", id.hex, parent.hex);
	return 0;
}

/* Refs to a tree or a file, which no commit has. */
static void add_other_refs(const struct gitimport *im, struct buf *input,
			   struct gitversions *v)
{
	size_t i;

	for (i = 0; i < im->list.count; i++) {
		const struct gitimport_ref *r = &im->list.items[i];

		if (r->known)
			continue;
		if (strcmp(r->type, "tree") == 0)
			buf_printf(input, EMPTY_TREE " %s\n", r->id.hex);
		else if (strcmp(r->type, "blob") == 0)
			*VEC_ADD(v) = (struct gitversion){
				.path = mem_printf("refs/%s", r->name),
				.commit = r->id,
				.id = r->id,
				.mode = GIT_FILEMODE_BLOB,
			};
	}
}

/* The next text of a list whose texts end in a NUL; NULL: the last one is cut.
 */
static char *next_text(char **at, const char *end)
{
	char *text = *at;
	char *stop = memchr(text, '\0', (size_t)(end - text));

	*at = stop ? stop + 1 : *at;
	return stop ? text : NULL;
}

/* Reads "<commit>", and ":<mode> <mode> <id> <id> <letter>" with a path behind
 * it. Returns the number of commits. */
static size_t parse_changes(struct gitversions *v, char *at, const char *end)
{
	struct gitid commit = {0};
	size_t seen = 0;
	char *text, *path;

	while ((text = next_text(&at, end))) {
		struct gitversion made = {.order = v->count};
		unsigned int old, now;
		char *line = strchr(text, '\n');

		/* Two trees have a line in front. */
		if (line && *text != ':') {
			*line = '\0';
			(void)gittips_read_id(text + GITID_HEX + 1, &commit);
			text = line + 1;
		}
		if (*text != ':') {
			seen += gittips_read_id(text, &commit);
			continue;
		}
		path = next_text(&at, end);
		if (!path || sscanf(text, ":%o %o %*40s %40[0-9a-f]", &old,
				    &now, made.id.hex) != 3)
			break;
		if (!now)
			continue;
		made.path = mem_strdup(path);
		made.commit = commit;
		made.mode = now;
		made.had_mode = old == now;
		*VEC_ADD(v) = made;
	}
	return seen;
}

static int compare_versions(const void *a, const void *b)
{
	const struct gitversion *x = a, *y = b;
	int got = strcmp(x->path, y->path);

	return got ? got : (x->order > y->order) - (x->order < y->order);
}

/* false: git ended at a limit or an object, and *to has a part. */
static bool run_bounded(struct gitimport *im, char *const *arguments,
			const struct buf *input, uint64_t max, struct buf *to)
{
	struct gitrun *g = &im->run;
	unsigned int seconds = g->seconds;
	struct err ignored;
	bool complete;

	if (g->used + SECONDS < seconds)
		g->seconds = g->used + SECONDS;
	g->output_max = max;
	g->data_max = MEMORY_MAX;
	complete = gitrun(g, im->where, arguments, input, GITRUN_OUTPUT,
			  &ignored) == 0;
	g->seconds = seconds;
	g->output_max = g->data_max = 0;
	return fd_slurp_at(g->dirfd, GITRUN_OUTPUT, max, to, &ignored) == 0 &&
	       complete;
}

static int add_id(void *arg, const char *line, struct err *err)
{
	struct gitids *ids = arg;

	return gittips_read_id(line, VEC_ADD(ids))
		       ? 0
		       : gitimport_fail_line(line, err);
}

static int mark_head(struct gitversions *v, const struct gitid *head,
		     struct err *err)
{
	static char *const commits[] = {"rev-list", "--stdin", NULL};
	struct gitimport *im = v->im;
	AUTO(buf) struct buf range = {0};
	struct gitids ids = {0};
	size_t i;
	int got;

	add_commit_range(im, head, &range);
	got = gitrun_lines(&im->run, im->where, commits, &range, add_id, &ids,
			   err);
	VEC_SORT(&ids, gittips_compare_ids);
	for (i = 0; i < v->count; i++)
		v->items[i].in_head =
			ids.count &&
			bsearch(&v->items[i].commit, ids.items, ids.count,
				sizeof(*ids.items), gittips_compare_ids);
	VEC_FREE(&ids);
	return got;
}

int gitversions_list(struct gitimport *im, const char *work_tree,
		     const char *home, const struct gitid *head,
		     struct gitversions *ret, struct err *err)
{
	static char *const commits[] = {"rev-list", "--parents", "--stdin",
					NULL};
	static char *const changes[] = {
		"diff-tree", "--stdin", "--root",      "--always",     "-r",
		"-z",	     "--raw",	"--no-abbrev", "--no-renames", NULL};
	AUTO(gitversions) struct gitversions v = {.im = im};
	AUTO(buf) struct buf range = {0}, found = {0};
	struct commit_list list = {0};
	struct err ignored;
	bool complete;
	int got = 0;

	if (!im || im->run.dirfd < 0) {
		*ret = TAKE(v);
		return 0;
	}
	add_commit_range(im, NULL, &range);
	if (range.len)
		got = gitrun_lines(&im->run, im->where, commits, &range,
				   add_commit, &list, err);
	add_other_refs(im, &list.input, &v);
	complete = got == 0 &&
		   run_bounded(im, changes, &list.input, OUTPUT_MAX, &found);
	buf_free(&list.input);
	if (got < 0)
		return got;
	v.unread = list.count - parse_changes(&v, (char *)found.data,
					      (char *)found.data + found.len);
	/* The last one of a cut list may be a part. */
	if (!complete && v.unread < list.count)
		v.unread++;
	if (*head->hex && mark_head(&v, head, err) < 0)
		return -err->num;
	VEC_SORT(&v, compare_versions);
	v.git = im->git;
	libgit_home(v.git, home);
	if (libgit_open(v.git, work_tree, GIT_REPOSITORY_OPEN_NO_SEARCH,
			&v.work, &ignored) > 0) {
		auto_free char *modes =
			libgit_setting(v.git, v.work, "", "core.filemode");

		v.no_modes = modes && strcasecmp(modes, "false") == 0;
		(void)gitclean_begin(v.git, v.work);
	} else {
		libgit_home(v.git, NULL);
	}
	*ret = TAKE(v);
	return 0;
}

/* --- the work tree --- */

static int compute_id(const struct gitversions *v, const struct buf *bytes,
		      struct gitid *ret, struct err *err)
{
	git_oid oid;

	if (v->git->odb_hash(&oid, bytes->data ? (const void *)bytes->data : "",
			     bytes->len, GIT_OBJECT_BLOB) < 0)
		return libgit_failed("compute an id", err);
	(void)v->git->oid_tostr(ret->hex, sizeof(ret->hex), &oid);
	return 0;
}

int gitversions_ids(const struct gitversions *v, struct store *store,
		    const char *path, const struct entry *e,
		    struct gitid ret[2], struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;

	if (S_ISREG(e->mode) && e->size > FILE_MAX)
		return fail(err, EFBIG, "%s is too large", path);
	if (gitclean_read(store, e, &bytes, err) < 0 ||
	    compute_id(v, &bytes, &ret[0], err) < 0)
		return -err->num;
	ret[1] = ret[0];
	if (!v->work || !S_ISREG(e->mode))
		return 0;
	if (gitclean_by_program(v->git, v->work, path))
		return 1;
	return gitclean_bytes(v->git, v->work, path, &bytes, &ignored) == 0
		       ? compute_id(v, &bytes, &ret[1], err)
		       : 0;
}

/* --- bytes --- */

#define BLOB " blob "

/* The next "<id> blob <size>", line feed, bytes, line feed. sscanf() would read
 * all that follows. */
static bool next_bytes(const struct buf *all, size_t *at, struct buf *ret)
{
	const char *text = (const char *)all->data + *at;
	size_t left = all->len - *at, size, len;
	char *end;

	if (left < GITID_HEX + strlen(BLOB) ||
	    strncmp(text + GITID_HEX, BLOB, strlen(BLOB)) != 0)
		return false;
	size = strtoull(text + GITID_HEX + strlen(BLOB), &end, 10);
	len = (size_t)(end - text) + 2;
	if (len > left || size > left - len)
		return false;
	buf_add(ret, end + 1, size);
	*at += len + size;
	return true;
}

static bool is_file_wanted(const struct gitversion *g)
{
	return g->wanted && g->mode != GIT_FILEMODE_COMMIT;
}

int gitversions_read(const struct gitversions *v, uint64_t max,
		     int (*each)(void *arg, size_t index,
				 const struct buf *bytes, struct err *err),
		     void *arg, struct err *err)
{
	static char *const contents[] = {"cat-file", "--buffer", "--batch",
					 NULL};
	AUTO(buf) struct buf input = {0}, all = {0};
	size_t at = 0, i;
	int got = 0;

	for (i = 0; i < v->count; i++)
		if (is_file_wanted(&v->items[i]))
			buf_printf(&input, "%s\n", v->items[i].id.hex);
	if (input.len)
		(void)run_bounded(v->im, contents, &input, BYTES_MAX, &all);
	/* The bytes have a NUL behind them, for strtoull(). */
	(void)buf_text(&all);
	for (i = 0; got >= 0 && i < v->count; i++) {
		AUTO(buf) struct buf bytes = {0};

		if (is_file_wanted(&v->items[i]))
			got = each(arg, i,
				   next_bytes(&all, &at, &bytes) &&
						   bytes.len <= max
					   ? &bytes
					   : NULL,
				   err);
	}
	return got < 0 ? got : 0;
}
