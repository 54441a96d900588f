#include "restore/git/gitcopies.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "restore/git/gitclean.h"

/* The first line of a pointer that stands for a file in Git LFS. */
#define LFS_HEAD "version https://git-lfs.github.com/spec/"
#define LFS_ID "\noid sha256:"
#define LFS_POINTER_MAX 1024
#define LFS_HEX 64

struct gitcopies {
	const struct libgit *git;
	git_repository *repo;
	git_odb *odb;
	git_index *index; /* or NULL */
	git_tree *head; /* or NULL: no commit yet */
	char *prefix; /* in front of the paths; "" or with its slash */
	struct timestamp index_time;
	char *lfs; /* its directory of objects; NULL: LFS is not in use */
};

void gitcopies_free(struct gitcopies **pg)
{
	struct gitcopies *g = *pg;

	if (!g)
		return;
	g->git->tree_free(g->head);
	g->git->index_free(g->index);
	g->git->odb_free(g->odb);
	g->git->repository_free(g->repo);
	free(g->prefix);
	free(g->lfs);
	free(g);
	*pg = NULL;
}

static void open_head(struct gitcopies *g)
{
	git_commit *commit = NULL;
	git_oid id;

	if (g->git->reference_name_to_id(&id, g->repo, "HEAD") == 0 &&
	    g->git->commit_lookup(&commit, g->repo, &id) == 0)
		(void)g->git->commit_tree(&g->head, commit);
	g->git->commit_free(commit);
}

static void open_index(struct gitcopies *g, const char *dir)
{
	auto_free char *file = mem_printf("%sindex", dir);
	struct stat st;

	if (stat(file, &st) < 0 ||
	    g->git->repository_index(&g->index, g->repo) < 0)
		return;
	g->index_time = (struct timestamp){st.st_mtim.tv_sec,
					   (uint32_t)st.st_mtim.tv_nsec};
}

int gitcopies_open(const char *path, bool below, struct gitcopies **ret,
		   struct err *err)
{
	AUTO(gitcopies) struct gitcopies *g = mem_zalloc(sizeof(*g));
	auto_free char *lfs = NULL, *inside = NULL;
	const char *work, *dir;
	int got;

	if (libgit_load(&g->git, err) < 0) {
		free(TAKE(g));
		return -err->num;
	}
	got = libgit_open(g->git, path,
			  below ? GIT_REPOSITORY_OPEN_NO_SEARCH : 0, &g->repo,
			  err);
	if (got <= 0)
		return got;
	work = g->git->repository_workdir(g->repo); /* ends with a slash */
	if (!work)
		return 0;
	if (g->git->repository_odb(&g->odb, g->repo) < 0)
		return libgit_failed("open the repository", err);
	inside = mem_printf("%s%s", path, path_ends(path, "/") ? "" : "/");
	if (strncmp(inside, work, strlen(work)) != 0)
		return 0;
	g->prefix = mem_strdup(inside + strlen(work));
	dir = g->git->repository_path(g->repo);
	open_index(g, dir);
	open_head(g);
	if (libgit_refused(err) < 0)
		return -err->num;
	lfs = mem_printf("%slfs/objects", dir);
	if (access(lfs, F_OK) == 0)
		g->lfs = TAKE(lfs);
	*ret = TAKE(g);
	return 1;
}

static const git_index_entry *find_staged(const struct gitcopies *g,
					  const char *path)
{
	auto_free char *name = mem_printf("%s%s", g->prefix, path);

	return g->index ? g->git->index_get_bypath(g->index, name, 0) : NULL;
}

static bool find_in_head(const struct gitcopies *g, const char *path,
			 git_oid *ret)
{
	auto_free char *name = mem_printf("%s%s", g->prefix, path);

	return libgit_find(g->git, g->head, name, ret) != 0;
}

/* Whether the blob is a pointer to an object that LFS does not have here. */
static bool lacks_lfs_object(const struct gitcopies *g, const git_oid *id)
{
	AUTO(buf) struct buf blob = {0};
	auto_free char *object = NULL;
	git_object_t type;
	const char *at;
	size_t size;

	if (!g->lfs || g->git->odb_read_header(&size, &type, g->odb, id) < 0 ||
	    size > LFS_POINTER_MAX ||
	    libgit_read_blob(g->git, g->repo, id, &blob) < 0 ||
	    strncmp(buf_text(&blob), LFS_HEAD, strlen(LFS_HEAD)) != 0)
		return false;
	at = strstr(buf_text(&blob), LFS_ID);
	if (!at || strspn(at + strlen(LFS_ID), "0123456789abcdef") < LFS_HEX)
		return true;
	at += strlen(LFS_ID);
	object = mem_printf("%s/%.2s/%.2s/%.*s", g->lfs, at, at + 2, LFS_HEX,
			    at);
	return access(object, F_OK) < 0;
}

bool gitcopies_is_staged(const struct gitcopies *g, const char *path,
			 const struct change_side *file)
{
	const git_index_entry *e = find_staged(g, path);
	struct timestamp when;

	if (!e || !S_ISREG(file->mode) || !S_ISREG(e->mode) ||
	    e->file_size != (uint32_t)file->size ||
	    e->mtime.seconds != (int32_t)file->mtime.sec ||
	    (e->mtime.nanoseconds && e->mtime.nanoseconds != file->mtime.nsec))
		return false;
	/* gitformat-index(5): a file of the index's own timestamp may have
	 * changed after git had read it. */
	when = file->mtime;
	if (!e->mtime.nanoseconds)
		when.nsec = 0;
	return timestamp_compare(when, g->index_time) < 0 &&
	       !lacks_lfs_object(g, &e->id);
}

bool gitcopies_is_tracked(const struct gitcopies *g, const char *path)
{
	git_oid id;

	return find_staged(g, path) || find_in_head(g, path, &id);
}

static enum gitcopy find_object(const struct gitcopies *g, const char *path,
				const git_oid *id)
{
	const git_index_entry *e = find_staged(g, path);
	git_oid head;

	if ((e && memcmp(&e->id, id, sizeof(*id)) == 0) ||
	    (find_in_head(g, path, &head) &&
	     memcmp(&head, id, sizeof(*id)) == 0))
		return GITCOPY_CURRENT;
	return g->git->odb_exists(g->odb, id) ? GITCOPY_HISTORY : GITCOPY_NONE;
}

static enum gitcopy find_bytes(const struct gitcopies *g, const char *path,
			       const struct buf *bytes)
{
	git_oid id;

	if (g->git->odb_hash(&id, bytes->len ? (const void *)bytes->data : "",
			     bytes->len, GIT_OBJECT_BLOB) < 0)
		return GITCOPY_NONE;
	return find_object(g, path, &id);
}

enum gitcopy gitcopies_find(const struct gitcopies *g, const char *path,
			    const struct buf *bytes)
{
	enum gitcopy found = find_bytes(g, path, bytes);
	AUTO(buf) struct buf lines = {0};

	if (found != GITCOPY_NONE || !bytes->len ||
	    !memmem(bytes->data, bytes->len, "\r\n", 2))
		return found;
	/* core.autocrlf and the attribute eol store LF. */
	buf_add(&lines, bytes->data, bytes->len);
	gitclean_drop_returns(&lines);
	return find_bytes(g, path, &lines);
}

enum gitcopy gitcopies_find_file(const struct gitcopies *g, const char *path,
				 int fd)
{
	struct fd_proc_path file = fd_proc_path(fd);
	git_oid id;

	if (g->git->odb_hashfile(&id, file.text, GIT_OBJECT_BLOB) < 0)
		return GITCOPY_NONE;
	return find_object(g, path, &id);
}

int gitcopies_head(const struct gitcopies *g, const char *path, struct buf *to)
{
	git_oid id;

	return find_in_head(g, path, &id) &&
	       libgit_read_blob(g->git, g->repo, &id, to) == 0;
}

bool gitcopies_is_ignored(const struct gitcopies *g, const char *path)
{
	auto_free char *name = mem_printf("%s%s", g->prefix, path);
	int ignored = 0;

	return g->git->ignore_path_is_ignored(&ignored, g->repo, name) == 0 &&
	       ignored;
}

/* --- refs --- */

int gitcopies_each_ref(const struct gitcopies *g, gitid_each_ref *each,
		       void *arg, struct err *err)
{
	return libgit_each_ref(g->git, g->repo, each, arg, err);
}

bool gitcopies_has(const struct gitcopies *g, const struct gitid *id)
{
	git_oid oid;

	return g->git->oid_fromstr(&oid, id->hex) == 0 &&
	       g->git->odb_exists(g->odb, &oid);
}

size_t gitcopies_count_commits(const struct gitcopies *g,
			       const struct gitid *old,
			       const struct gitid *others, size_t count)
{
	git_revwalk *walk = NULL;
	git_oid id;
	size_t n = 0, i;

	if (g->git->revwalk_new(&walk, g->repo) < 0)
		return 0;
	if (g->git->oid_fromstr(&id, old->hex) < 0 ||
	    g->git->revwalk_push(walk, &id) < 0) {
		g->git->revwalk_free(walk);
		return 0;
	}
	for (i = 0; i < count; i++)
		if (g->git->oid_fromstr(&id, others[i].hex) == 0)
			(void)g->git->revwalk_hide(walk, &id);
	while (n < GITCOPIES_COMMITS_MAX &&
	       g->git->revwalk_next(&id, walk) == 0)
		n++;
	g->git->revwalk_free(walk);
	return n;
}
