/* Kind, mode and name of a file, the target of a link, and what its bytes are.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

#define SHRUNK_LEAST 1024

static void add_shape(struct risks *r, const char *id)
{
	risk_add(r, risk_rule(id), RISK_NONE);
}

static void add_executable(struct risks *r, bool now)
{
	struct risk_rule rule = *risk_rule("executable");

	if (now)
		rule.text = "is executable now";
	risk_add(r, &rule, RISK_NONE);
}

/* --- bytecode --- */

/* A magic number, flags, then time and size of the source, or its hash. */
#define HEADER 16
#define FLAGS_AT 4

/* The same source (its mtime and size, or its hash) made other code. */
static bool has_other_code(const struct risk_file *f, const struct buf *now)
{
	AUTO(buf) struct buf old = {0};

	return S_ISREG(f->old_mode) && f->old_size <= RISK_READ_MAX &&
	       f->read(f->arg, false, &old) && old.len >= HEADER &&
	       memcmp(old.data, now->data, 4) == 0 &&
	       memcmp(old.data + 8, now->data + 8, HEADER - 8) == 0 &&
	       !buf_same(&old, now);
}

/*
 * A .pyc, which Python runs in place of a source. Only Python's own compiler
 * can prove that it was made from that source; reported are files that Python
 * never writes: a .pyc that Python never compares with a source, one without a
 * source, and other code for an unchanged source.
 */
void risk_judge_bytecode(const struct risk_file *f, struct risks *ret)
{
	AUTO(buf) struct buf now = {0};
	auto_free char *dir = path_parent(f->path);
	const char *rule = "bytecode";

	/* A new one among thousands that a tool installs is no other thing
	 * than they are. */
	if (!S_ISREG(f->now_mode) || !path_ends(f->path, ".pyc") ||
	    (!f->old_mode && risk_is_installed(f->path)))
		return;
	if (strcmp(path_name(dir), "__pycache__") != 0)
		rule = "bytecode-alone";
	else if (f->now_size > RISK_READ_MAX || !f->read(f->arg, true, &now))
		rule = "bytecode-unread";
	else if (now.len < HEADER)
		return;
	else if (now.data[FLAGS_AT] & 1 && !(now.data[FLAGS_AT] & 2))
		rule = "bytecode-unchecked";
	else if (has_other_code(f, &now))
		rule = "bytecode-other";
	add_shape(ret, rule);
}

/* --- kind, mode and name --- */

static bool link_leaves_project(const char *path, const char *target)
{
	long depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	if (*target == '/')
		return true;
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && memcmp(target, "..", 2) == 0)
			depth--;
		else if (len && !(len == 1 && *target == '.'))
			depth++;
		if (depth < 0)
			return true;
		target += len;
		target += *target == '/';
	}
	return false;
}

static void judge_link(const struct risk_file *f, struct risks *r)
{
	AUTO(buf) struct buf target = {0};
	auto_free char *dir = path_parent(f->path);
	/* A new environment of Python's: its programs are links to the
	 * machine's. */
	bool is_python = !f->old_mode && strcmp(path_name(dir), "bin") == 0 &&
			 strncmp(path_name(f->path), "python", 6) == 0 &&
			 (risk_in_generated(f->path) || risk_in_new_venv(f));

	if (!S_ISLNK(f->now_mode))
		return;
	if (S_ISDIR(f->old_mode))
		add_shape(r, "directory-link");
	else if (path_has_part(f->path, ".git"))
		add_shape(r, "git-link");
	if (f->read(f->arg, true, &target) &&
	    link_leaves_project(f->path, buf_text(&target)) && !is_python)
		risk_add_line(r, risk_rule("link-out"), RISK_NONE, 0, NULL,
			      buf_text(&target));
}

/* The rule for the shape of a name by itself, or NULL. */
static const char *find_name_shape(const char *path)
{
	const char *name = path_name(path);
	size_t len = strlen(name);

	if (risk_hides_text(name) || strpbrk(name, "\t\n\v\f\r"))
		return "name-invisible";
	if (*name == '-')
		return "name-option";
	if (len && name[len - 1] == ' ')
		return "name-blank";
	if (text_has_lookalikes(name, len))
		return "name-lookalike";
	if (strcmp(name, ".git") == 0)
		return "git-directory";
	if (strcasecmp(name, ".git") == 0)
		return "git-name";
	if (strcmp(name, "HEAD") == 0 && !path_has_part(path, ".git"))
		return "git-bare";
	return NULL;
}

bool risk_by_shape(const char *path)
{
	return find_name_shape(path) != NULL || risk_typed_name(path, true);
}

static void judge_name(const struct risk_file *f, struct risks *r)
{
	const char *shape = find_name_shape(f->path);
	/* A file names the repository. */
	bool names =
		S_ISREG(f->now_mode) && strcmp(path_name(f->path), ".git") == 0;

	if (f->old_mode && !names)
		return;
	if (f->twin)
		risk_add_line(r, risk_rule("name-twin"), RISK_NONE, 0, NULL,
			      f->twin);
	if (shape)
		add_shape(r, shape);
}

static void judge_mode(const struct risk_file *f, struct risks *r)
{
	uint32_t was = f->old_mode, now = f->now_mode;

	if (!S_ISREG(now) || risk_in_generated(f->path))
		return;
	if ((now & 0111) && !(was & 0111))
		add_executable(r, was != 0);
	if ((now & 0002) && !(was & 0002))
		add_shape(r, "writable");
	if (S_ISREG(was) && f->old_size && !f->now_size)
		add_shape(r, "emptied");
	else if (S_ISREG(was) && f->old_size > SHRUNK_LEAST &&
		 f->now_size < f->old_size / 2)
		add_shape(r, "shrunk");
}

void risk_judge_entry(const struct risk_file *f, struct risks *ret)
{
	uint32_t now = f->now_mode;

	if (f->special)
		add_shape(ret, "set-id");
	if (f->torn)
		add_shape(ret, "torn");
	if (f->acl && f->old_mode)
		add_shape(ret, "acl");
	if (S_ISFIFO(now) || S_ISSOCK(now) || S_ISCHR(now) || S_ISBLK(now))
		add_shape(ret, "special-file");
	judge_link(f, ret);
	judge_name(f, ret);
	judge_mode(f, ret);
}

/* --- bytes --- */

static bool begins_with(const struct buf *b, const char *magic, size_t len)
{
	return b->len > len && memcmp(b->data, magic, len) == 0;
}

static bool is_archive(const struct buf *b)
{
	return begins_with(b, "PK\3\4", 4) || begins_with(b, "\x1f\x8b", 2) ||
	       begins_with(b, "BZh", 3) ||
	       begins_with(b,
			   "\xfd"
			   "7zXZ",
			   5) ||
	       begins_with(b, "(\xb5/\xfd", 4) ||
	       begins_with(b, "7z\xbc\xaf", 4) || begins_with(b, "Rar!", 4) ||
	       begins_with(b, "!<arch>", 7) ||
	       (b->len > 262 && memcmp(b->data + 257, "ustar", 5) == 0);
}

void risk_judge_bytes(const struct risk_file *f, const struct buf *old,
		      const struct buf *now, struct risks *ret)
{
	/* Other bytes, and nothing else that rsync, make or a backup would
	 * see. */
	if (S_ISREG(f->old_mode) && f->old_size == f->now_size &&
	    f->same_time && old->len == now->len && now->len &&
	    !buf_same(old, now))
		add_shape(ret, "same-time");
	if (begins_with(now, "\177ELF", 4))
		add_shape(ret, "program");
	else if (begins_with(now, "#!", 2) && !begins_with(old, "#!", 2))
		add_shape(ret, "script");
	else if (is_archive(now) && !is_archive(old))
		add_shape(ret, "archive");
}
