/* Kind, mode and name of a file, the target of a link, and what its bytes are.
 */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/rules/risk_private.h"

#define SHRUNK_LEAST 1024

enum shape_rule {
	SHAPE_ACL,
	SHAPE_ALIKE,
	SHAPE_ARCHIVE,
	SHAPE_BLANK,
	SHAPE_DIR_LINK,
	SHAPE_EMPTIED,
	SHAPE_EXECUTABLE,
	SHAPE_GIT,
	SHAPE_GIT_CASE,
	SHAPE_GIT_HEAD,
	SHAPE_GIT_LINK,
	SHAPE_HIDDEN,
	SHAPE_LINK_OUT,
	SHAPE_NODE,
	SHAPE_NOW_EXECUTABLE,
	SHAPE_OPTION,
	SHAPE_PROGRAM,
	SHAPE_SAME_TIME,
	SHAPE_SCRIPT,
	SHAPE_SETID,
	SHAPE_SHRUNK,
	SHAPE_TWIN,
	SHAPE_WRITABLE,
};

static const struct risk_rule table[] = {
	[SHAPE_ACL] = {"acl", RISK_HIGH, false,
		       "gives others access by an "
		       "ACL"},
	[SHAPE_ALIKE] = {"name-lookalike", RISK_HIGH, false,
			 "its name mixes Latin letters with others that look "
			 "alike"},
	[SHAPE_ARCHIVE] = {"archive", RISK_NOTE, false,
			   "is an archive: its content is not examined"},
	[SHAPE_BLANK] = {"name-blank", RISK_HIGH, false,
			 "its name ends in a blank"},
	[SHAPE_DIR_LINK] = {"directory-link", RISK_CRITICAL, false,
			    "was a directory and is a link now"},
	[SHAPE_EMPTIED] = {"emptied", RISK_HIGH, false, "is empty now"},
	[SHAPE_EXECUTABLE] = {"executable", RISK_NOTE, false, "is executable"},
	[SHAPE_GIT] = {"git-directory", RISK_CRITICAL, false,
		       "is a repository with its own configuration and hooks"},
	[SHAPE_GIT_CASE] = {"git-name", RISK_CRITICAL, false,
			    "is .git on file systems that ignore case"},
	[SHAPE_GIT_HEAD] = {"git-bare", RISK_CRITICAL, false,
			    "turns its directory into a repository, whose "
			    "configuration git uses"},
	[SHAPE_GIT_LINK] = {"git-link", RISK_CRITICAL, false,
			    "is a link: git reads its files from elsewhere"},
	[SHAPE_HIDDEN] = {"name-invisible", RISK_HIGH, false,
			  "its name has invisible characters"},
	[SHAPE_LINK_OUT] = {"link-out", RISK_HIGH, false,
			    "leads out of the project"},
	[SHAPE_NODE] = {"special-file", RISK_HIGH, false,
			"is not a file, directory or link"},
	[SHAPE_NOW_EXECUTABLE] = {"executable", RISK_NOTE, false,
				  "is executable now"},
	[SHAPE_OPTION] = {"name-option", RISK_HIGH, false,
			  "its name looks like an option where * expands to "
			  "it"},
	[SHAPE_PROGRAM] = {"program", RISK_NOTE, false, "is a program"},
	[SHAPE_SAME_TIME] = {"same-time", RISK_HIGH, false,
			     "has new content with the old size and mtime: "
			     "many tools treat it as unchanged"},
	[SHAPE_SCRIPT] = {"script", RISK_NOTE, false, "is a script"},
	[SHAPE_SETID] = {"set-id", RISK_CRITICAL, false,
			 "has set-id bits or capabilities"},
	[SHAPE_SHRUNK] = {"shrunk", RISK_NOTE, false,
			  "lost more than half of its bytes"},
	[SHAPE_TWIN] =
		{"name-twin", RISK_HIGH, false,
		 "has the name of another file, but for case or Unicode form"},
	[SHAPE_WRITABLE] = {"writable", RISK_NOTE, false,
			    "is writable for all users now"},
};

static void add_shape(struct risks *r, enum shape_rule rule)
{
	risk_add(r, &table[rule], RISK_NONE);
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
	static const struct risk_rule alone = {
		"bytecode-alone", RISK_HIGH, true,
		"as a Python module without a source file"};
	static const struct risk_rule unread = {
		"bytecode-unread", RISK_HIGH, true,
		"in place of a source file, and cannot be read"};
	static const struct risk_rule unchecked = {
		"bytecode-unchecked", RISK_HIGH, true,
		"in place of a source file: Python does not compare them"};
	static const struct risk_rule other = {
		"bytecode-other", RISK_HIGH, true,
		"in place of a source file, and its code changed while that "
		"did not"};
	static const struct risk_rule usual = {
		"bytecode", RISK_NOTE, true,
		"in place of its source file, with which it is not compared "
		"here"};
	AUTO(buf) struct buf now = {0};
	auto_free char *dir = path_parent(f->path);
	const struct risk_rule *rule = &usual;

	/* A new one among thousands that a tool installs is no other thing
	 * than they are. */
	if (!S_ISREG(f->now_mode) || !path_has_suffix(f->path, ".pyc") ||
	    (!f->old_mode && risk_is_installed(f->path)))
		return;
	if (strcmp(path_name(dir), "__pycache__") != 0)
		rule = &alone;
	else if (f->now_size > RISK_READ_MAX || !f->read(f->arg, true, &now))
		rule = &unread;
	else if (now.len < HEADER)
		return;
	else if (now.data[FLAGS_AT] & 1 && !(now.data[FLAGS_AT] & 2))
		rule = &unchecked;
	else if (has_other_code(f, &now))
		rule = &other;
	risk_add(ret, rule, RISK_NONE);
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
	bool is_python = !f->old_mode && risk_in_generated(f->path) &&
			 strcmp(path_name(dir), "bin") == 0 &&
			 strncmp(path_name(f->path), "python", 6) == 0;

	if (!S_ISLNK(f->now_mode))
		return;
	if (S_ISDIR(f->old_mode))
		add_shape(r, SHAPE_DIR_LINK);
	else if (path_has_part(f->path, ".git"))
		add_shape(r, SHAPE_GIT_LINK);
	if (f->read(f->arg, true, &target) &&
	    link_leaves_project(f->path, buf_text(&target)) && !is_python)
		risk_add_line(r, &table[SHAPE_LINK_OUT], RISK_NONE, 0, NULL,
			      buf_text(&target));
}

/* The shape of a name by itself, or -1. */
static int find_name_shape(const char *path)
{
	const char *name = path_name(path);
	size_t len = strlen(name);

	if (risk_hides_text(name) || strpbrk(name, "\t\n\v\f\r"))
		return SHAPE_HIDDEN;
	if (*name == '-')
		return SHAPE_OPTION;
	if (len && name[len - 1] == ' ')
		return SHAPE_BLANK;
	if (risk_count_lookalikes(name, len))
		return SHAPE_ALIKE;
	if (strcmp(name, ".git") == 0)
		return SHAPE_GIT;
	if (strcasecmp(name, ".git") == 0)
		return SHAPE_GIT_CASE;
	if (strcmp(name, "HEAD") == 0 && !path_has_part(path, ".git"))
		return SHAPE_GIT_HEAD;
	return -1;
}

bool risk_by_shape(const char *path)
{
	return find_name_shape(path) >= 0;
}

static void judge_name(const struct risk_file *f, struct risks *r)
{
	int shape = find_name_shape(f->path);

	if (f->old_mode)
		return;
	if (f->twin)
		risk_add_line(r, &table[SHAPE_TWIN], RISK_NONE, 0, NULL,
			      f->twin);
	if (shape >= 0)
		add_shape(r, shape);
}

static void judge_mode(const struct risk_file *f, struct risks *r)
{
	uint32_t was = f->old_mode, now = f->now_mode;

	if (!S_ISREG(now) || risk_in_generated(f->path))
		return;
	if ((now & 0111) && !(was & 0111))
		add_shape(r, was ? SHAPE_NOW_EXECUTABLE : SHAPE_EXECUTABLE);
	if ((now & 0002) && !(was & 0002))
		add_shape(r, SHAPE_WRITABLE);
	if (S_ISREG(was) && f->old_size && !f->now_size)
		add_shape(r, SHAPE_EMPTIED);
	else if (S_ISREG(was) && f->old_size > SHRUNK_LEAST &&
		 f->now_size < f->old_size / 2)
		add_shape(r, SHAPE_SHRUNK);
}

void risk_judge_entry(const struct risk_file *f, struct risks *ret)
{
	uint32_t now = f->now_mode;

	if (f->special)
		add_shape(ret, SHAPE_SETID);
	if (f->acl && f->old_mode)
		add_shape(ret, SHAPE_ACL);
	if (S_ISFIFO(now) || S_ISSOCK(now) || S_ISCHR(now) || S_ISBLK(now))
		add_shape(ret, SHAPE_NODE);
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
		add_shape(ret, SHAPE_SAME_TIME);
	if (begins_with(now, "\177ELF", 4))
		add_shape(ret, SHAPE_PROGRAM);
	else if (begins_with(now, "#!", 2) && !begins_with(old, "#!", 2))
		add_shape(ret, SHAPE_SCRIPT);
	else if (is_archive(now) && !is_archive(old))
		add_shape(ret, SHAPE_ARCHIVE);
}

enum risk_level risk_shape_level(const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].id, id) == 0 && table[i].level > level)
			level = table[i].level;
	return level;
}
