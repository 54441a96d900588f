#include "restore/git/gitpatch.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "restore/git/gitclean.h"
#include "restore/git/libgit.h"
#include "restore/git/moves.h"
#include "restore/git/textdiff.h"
#include "restore/parse/parse.h"
#include "snapshot/tree/tree.h"

#define CONTEXT_LINES 3

/* --- names --- */

static char escape_letter(unsigned char c)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	if (c == '"' || c == '\\')
		return (char)c;
	return c >= 7 && c <= 13 ? letters[c - 7] : '\0';
}

static bool needs_quoting(unsigned char c)
{
	return c < ' ' || c >= 0x7f || c == '"' || c == '\\';
}

/* The name as git quotes it, after the prefix: a/x or "a/\303\266". Names that
 * git could not read otherwise are quoted, too. */
static void gitpatch_name(struct buf *to, const char *prefix, const char *path)
{
	const unsigned char *at;
	/* In the line with both names git looks for their middle at each blank,
	 * and fails at a blank before a slash. */
	bool quoted = strstr(path, " /") != NULL;

	for (at = (const unsigned char *)path; *at; at++)
		quoted = quoted || needs_quoting(*at);
	if (quoted)
		buf_add_char(to, '"');
	buf_add_text(to, prefix);
	for (at = (const unsigned char *)path; *at; at++) {
		if (!needs_quoting(*at))
			buf_add_char(to, (char)*at);
		else if (escape_letter(*at))
			buf_printf(to, "\\%c", escape_letter(*at));
		else
			buf_printf(to, "\\%03o", *at);
	}
	if (quoted)
		buf_add_char(to, '"');
}

/* --- one file --- */

struct patch_maker {
	struct store *store;
	struct moves moves;
	const struct libgit *git;
	git_repository *repo; /* or NULL */
	const struct gitpatch_sink *sink;
	struct pathset meant;
};

static bool by_program(const struct patch_maker *m, const char *path)
{
	return m->repo && gitclean_by_program(m->git, m->repo, path);
}

static void report_patch_loss(const struct patch_maker *m, const char *path,
			      enum gitpatch_loss loss)
{
	m->sink->lost(m->sink->arg, path, loss);
}

/* A file of the patch; a mode of 0: the side has none. */
struct patch_file {
	const char *old_path, *path;
	const struct entry *old, *now;
	unsigned int old_mode, mode;
	unsigned int percent; /* similarity of a move, else 0 */
};

static int read_patch_side(const struct patch_maker *m, const char *path,
			   const struct entry *e, struct buf *ret,
			   struct err *err)
{
	if (gitclean_read(m->store, e, ret, err) < 0)
		return -err->num;
	return m->repo && S_ISREG(e->mode)
		       ? gitclean_bytes(m->git, m->repo, path, ret, err)
		       : 0;
}

static void add_side(struct buf *to, const char *mark, const char *prefix,
		     unsigned int mode, const char *path)
{
	buf_add_text(to, mark);
	if (!mode) {
		buf_add_text(to, "/dev/null\n");
		return;
	}
	gitpatch_name(to, prefix, path);
	/* Marks the end of a name with a blank, where git would expect a
	 * time. */
	buf_add_text(to, strchr(path, ' ') ? "\t\n" : "\n");
}

static void add_id(const struct patch_maker *m, unsigned int mode,
		   const struct buf *bytes, struct buf *to)
{
	char hex[GIT_OID_HEXSZ + 1];
	git_oid id = {0};

	if (mode)
		(void)m->git->odb_hash(&id, bytes->data, bytes->len,
				       GIT_OBJECT_BLOB);
	buf_add_text(to, m->git->oid_tostr(hex, sizeof(hex), &id));
}

struct patch_text {
	const struct patch_file *f;
	struct buf *to;
	bool any; /* the names are printed */
};

static int add_patch_line(void *arg, const struct textdiff_line *line)
{
	struct patch_text *p = arg;

	if (!p->any) {
		add_side(p->to, "--- ", "a/", p->f->old_mode, p->f->old_path);
		add_side(p->to, "+++ ", "b/", p->f->mode, p->f->path);
	}
	p->any = true;
	if (strchr(" +-", line->kind))
		buf_add_char(p->to, line->kind);
	else if (line->kind == '\\')
		buf_add_char(p->to, '\n'); /* of the line before */
	buf_add(p->to, line->text, line->len);
	return 0;
}

/* git compares the result with the id in the header when it applies this. */
static int add_binary(const struct parse_text sides[2], struct buf *to,
		      struct err *err)
{
	AUTO(buf) struct buf body = {0};

	if (parse_call(PARSE_BINARY, sides, 2, &body, err) < 0)
		return -err->num;
	buf_add(to, body.data, body.len);
	return 0;
}

/* 1; 0: both sides are equal for git. */
static int add_content(const struct patch_maker *m, const struct patch_file *f,
		       struct buf *to, struct err *err)
{
	AUTO(buf) struct buf a = {0}, b = {0};
	struct patch_text text = {.f = f, .to = to};
	int got;

	if (read_patch_side(m, f->old_path, f->old, &a, err) < 0 ||
	    read_patch_side(m, f->path, f->now, &b, err) < 0)
		return -err->num;
	if (f->old_mode && f->mode && buf_same(&a, &b))
		return 0;
	buf_add_text(to, "index ");
	add_id(m, f->old_mode, &a, to);
	buf_add_text(to, "..");
	add_id(m, f->mode, &b, to);
	if (f->old_mode == f->mode)
		buf_printf(to, " %06o", f->mode);
	buf_add_char(to, '\n');
	got = textdiff(a.data, a.len, b.data, b.len, CONTEXT_LINES,
		       add_patch_line, &text, NULL, NULL, err);
	if (got > 0)
		got = add_binary(
			(struct parse_text[]){
				{f->old_mode ? buf_text(&a) : NULL, a.len},
				{f->mode ? buf_text(&b) : NULL, b.len}},
			to, err);
	return got < 0 ? got : 1;
}

static void add_header(const struct patch_file *f, struct buf *to)
{
	buf_add_text(to, "diff --git ");
	gitpatch_name(to, "a/", f->old_path);
	buf_add_char(to, ' ');
	gitpatch_name(to, "b/", f->path);
	buf_add_char(to, '\n');
	if (!f->old_mode)
		buf_printf(to, "new file mode %06o\n", f->mode);
	else if (!f->mode)
		buf_printf(to, "deleted file mode %06o\n", f->old_mode);
	else if (f->old_mode != f->mode)
		buf_printf(to, "old mode %06o\nnew mode %06o\n", f->old_mode,
			   f->mode);
	if (!f->percent)
		return;
	buf_printf(to, "similarity index %u%%\nrename from ", f->percent);
	gitpatch_name(to, "", f->old_path);
	buf_add_text(to, "\nrename to ");
	gitpatch_name(to, "", f->path);
	buf_add_char(to, '\n');
}

/* from: the other end of a move, or NULL. */
static int print_patch_file(const struct patch_maker *m,
			    const struct moves_file *from, const char *path,
			    const struct entry *old, const struct entry *now,
			    struct err *err)
{
	const struct patch_file f = {
		.old_path = from ? from->path : path,
		.path = path,
		.old = old,
		.now = now,
		.old_mode = gitclean_mode(old),
		.mode = gitclean_mode(now),
		.percent = from ? from->percent : 0,
	};
	bool same = f.old_mode && f.mode && entry_same_content(old, now);
	AUTO(buf) struct buf to = {0};
	int got = 0;

	add_header(&f, &to);
	if (!same)
		got = add_content(m, &f, &to, err);
	if (got < 0)
		return got;
	if (!same && !got && !from)
		report_patch_loss(m, path, GITPATCH_SAME);
	if (!got && !from && f.old_mode == f.mode)
		return 0;
	return m->sink->add(m->sink->arg, to.data, to.len, err);
}

/* --- all files --- */

static const struct entry nothing;

/* Reports changes that git cannot store. */
static void report_meta_losses(const struct patch_maker *m, const char *path,
			       const struct entry *old, const struct entry *now)
{
	uint32_t plain = S_ISDIR(now->mode) ? 0755 : gitclean_mode(now) & 0777;
	uint32_t mode = now->mode & 07777;

	if (!now->mode || S_ISLNK(now->mode))
		return;
	if (mode != plain && mode != (old->mode & 07777))
		report_patch_loss(m, path, GITPATCH_MODE);
	if (old->mode && (old->uid != now->uid || old->gid != now->gid))
		report_patch_loss(m, path, GITPATCH_OWNER);
	if (!oid_equal(&old->attrs, &now->attrs))
		report_patch_loss(m, path, GITPATCH_ATTRS);
}

static int is_empty(const struct patch_maker *m, const struct entry *e,
		    bool *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};

	if (!S_ISDIR(e->mode))
		return 0;
	if (tree_load(m->store, &e->content, &t, err) < 0)
		return -err->num;
	*ret = t.count == 0;
	return 0;
}

/* Whether git can store both sides; reports the loss if not. */
static bool fits_patch(const struct patch_maker *m, const char *path,
		       const struct entry *old, const struct entry *now)
{
	const struct entry *sides[] = {old, now};
	size_t i;

	for (i = 0; i < 2; i++) {
		const struct entry *e = sides[i];

		if (!e->mode || S_ISDIR(e->mode))
			continue;
		if (e->flags & ENTRY_INCOMPLETE)
			report_patch_loss(m, path, GITPATCH_INCOMPLETE);
		else if (!gitclean_mode(e))
			report_patch_loss(m, path, GITPATCH_KIND);
		else if (e->size > GITPATCH_MAX)
			report_patch_loss(m, path, GITPATCH_LARGE);
		else if (S_ISREG(e->mode) && by_program(m, path))
			report_patch_loss(m, path, GITPATCH_FILTER);
		else
			continue;
		return false;
	}
	return true;
}

/* A skipped file is neither end of a move. */
static bool may_be_patch_move(void *arg, const char *path,
			      const struct entry *e)
{
	const struct patch_maker *m = arg;

	return pathset_contains(&m->meant, path) &&
	       !path_has_part(path, ".git") &&
	       (S_ISDIR(e->mode) || gitclean_mode(e)) &&
	       e->size <= GITPATCH_MAX && !(e->flags & ENTRY_INCOMPLETE) &&
	       !by_program(m, path);
}

static int print_change(const struct patch_maker *m, const char *path,
			const struct entry *old, const struct entry *now,
			struct err *err)
{
	const struct moves_file *move = moves_at(&m->moves, now->mode, path);
	int got;

	/* A move is printed at its destination. */
	if (move && !S_ISDIR(move->mode))
		return now->mode
			       ? print_patch_file(m, move->other, path,
						  move->other->entry, now, err)
			       : 0;
	if (!gitclean_mode(old) && !gitclean_mode(now))
		return 0;
	if (!gitclean_mode(old))
		old = &nothing;
	if (!gitclean_mode(now))
		now = &nothing;
	/* Another kind of entry: a deletion and an addition. */
	if (old->mode && now->mode &&
	    (old->mode & S_IFMT) != (now->mode & S_IFMT)) {
		got = print_patch_file(m, NULL, path, old, &nothing, err);
		if (got < 0)
			return got;
		old = &nothing;
	}
	return print_patch_file(m, NULL, path, old, now, err);
}

static int add_patch_change(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	const struct patch_maker *m = arg;
	const struct entry *old = a ? a : &nothing, *now = b ? b : &nothing;
	bool was = false, is = false;
	int got;

	if (!pathset_contains(&m->meant, path))
		return 0;
	if (path_has_part(path, ".git")) {
		if (strcmp(path_name(path), ".git") == 0)
			report_patch_loss(m, path, GITPATCH_GIT);
		return 0;
	}
	if (*path &&
	    (is_empty(m, old, &was, err) < 0 || is_empty(m, now, &is, err) < 0))
		return -err->num;
	/* git removes a directory that becomes empty, and keeps an empty
	 * directory. */
	if ((is && !was) || (was && !now->mode))
		report_patch_loss(m, path, GITPATCH_EMPTY_DIR);
	if (*path && S_ISDIR(now->mode))
		report_meta_losses(m, path, old, now);
	if (!fits_patch(m, path, old, now))
		return 0;
	if (!S_ISDIR(now->mode))
		report_meta_losses(m, path, old, now);
	got = print_change(m, path, old, now, err);
	return got < 0 ? err_context(err, "%s", text_quote(path)) : 0;
}

int gitpatch_make(struct store *store, const struct entry *old,
		  const struct entry *now, const struct gitpatch_job *job,
		  const struct gitpatch_sink *sink, struct err *err)
{
	struct patch_maker m = {.store = store, .sink = sink};
	int got;

	if (libgit_load(&m.git, err) < 0)
		return -err->num;
	m.meant = pathset_make(job->paths);
	libgit_home(m.git, job->home);
	/* A repository that cannot be opened counts as none. */
	if (job->repository)
		(void)m.git->repository_open_ext(&m.repo, job->repository,
						 GIT_REPOSITORY_OPEN_NO_SEARCH,
						 NULL);
	if (m.repo)
		(void)gitclean_begin(m.git, m.repo);
	got = moves_of_trees(store, old, now, may_be_patch_move, &m, &m.moves,
			     err);
	if (got == 0)
		got = tree_diff(store, old, now, add_patch_change, &m, err);
	moves_free(&m.moves);
	m.git->repository_free(m.repo);
	libgit_home(m.git, NULL);
	pathset_free(&m.meant);
	return got;
}
