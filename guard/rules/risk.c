#include "guard/rules/risk.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

#define SHOWN 100 /* bytes of a value */
#define SHRUNK_LEAST 1024

void risks_free(struct risks *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		free(r->items[i].text);
	free(r->items);
	*r = (struct risks){0};
}

enum risk_level risks_worst(const struct risks *r)
{
	return r->count ? r->items[0].level : RISK_NONE;
}

/* In order: the worst first, among equals the first said; takes the text. */
static void add_risk(struct risks *r, enum risk_level level, bool runs,
		     char *text)
{
	size_t at = r->count;

	(void)VEC_ADD(r);
	while (at && r->items[at - 1].level < level)
		at--;
	memmove(r->items + at + 1, r->items + at,
		(r->count - 1 - at) * sizeof(*r->items));
	r->items[at] = (struct risk){level, runs, text};
}

static void add_plain_risk(struct risks *r, enum risk_level level,
			   const char *text)
{
	add_risk(r, level, false, mem_strdup(text));
}

/* "label: value", the value escaped and cut. */
static void add_risk_value(struct risks *r, enum risk_level level,
			   const char *label, const char *value)
{
	struct buf b = {0};
	size_t len = strcspn(value, "\n");

	text_escape(&b, label, strlen(label), false);
	buf_add_text(&b, ": ");
	while (len > SHOWN ||
	       (len && ((unsigned char)value[len] & 0xc0) == 0x80))
		len = len > SHOWN ? SHOWN : len - 1;
	text_escape(&b, value, len, false);
	if (value[len])
		buf_add_text(&b, "...");
	add_risk(r, level, false, buf_take_text(&b));
}

/* --- bytes of names, texts and compiled files --- */

/* ---- lookalike letters ---- */

/* As UTF-8, two bytes each. */
static const char alike[] =
	/* Cyrillic */
	"\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455"
	"\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e"
	"\u0420\u0421\u0422\u0425\u0405\u0406\u0408\u04bb\u04cf"
	/* Greek */
	"\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
	"\u039d\u039f\u03a1\u03a4\u03a5\u03a7";

static bool is_lookalike(const unsigned char *at, size_t len)
{
	const char *p;

	/* U+FF21 to U+FF3A, U+FF41 to U+FF5A: letters of full width */
	if (len >= 3 && at[0] == 0xef)
		return (at[1] == 0xbc && at[2] >= 0xa1 && at[2] <= 0xba) ||
		       (at[1] == 0xbd && at[2] >= 0x81 && at[2] <= 0x9a);
	for (p = alike; len >= 2 && *p; p += 2)
		if (memcmp(at, p, 2) == 0)
			return true;
	return false;
}

/*
 * How many words have Latin letters and such of Cyrillic, Greek or full width
 * that look like Latin ones. 0 where the bytes have a NUL.
 */
static size_t count_lookalikes(const void *data, size_t len)
{
	const unsigned char *at = data, *end = at + len;
	bool latin = false, other = false;
	size_t n = 0;

	if (!len || memchr(data, '\0', len))
		return 0;
	for (;; at++) {
		bool word =
			at < end && (*at >= 0x80 || isalnum(*at) || *at == '_');

		if (!word) {
			n += latin && other;
			latin = other = false;
			if (at >= end)
				return n;
		} else if (*at < 0x80) {
			latin |= isalpha(*at) != 0;
		} else if (*at >= 0xc0) {
			other |= is_lookalike(at, (size_t)(end - at));
		}
	}
}

/* ---- texts that look binary ---- */

static bool has_nul(const struct buf *b)
{
	return b->len && memchr(b->data, '\0', b->len);
}

static bool path_has_suffix(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len > n && strcmp(path + len - n, suffix) == 0;
}

/* A text that a NUL makes binary for every comparison, while its interpreter
 * still reads it: it was no binary before, or has the name of a script. */
static bool hides_text(const char *path, const struct buf *old,
		       const struct buf *now)
{
	static const char *const suffixes[] = {
		".sh",	".bash", ".js",	  ".mjs", ".cjs",    ".ts",   ".jsx",
		".tsx", ".py",	 ".rb",	  ".pl",  ".pm",     ".php",  ".lua",
		".c",	".h",	 ".cc",	  ".cpp", ".hpp",    ".rs",   ".go",
		".mk",	".json", ".yaml", ".yml", ".toml",   ".html", ".css",
		".md",	".sql",	 ".java", ".kt",  ".gradle",
	};
	size_t i;

	if (!has_nul(now) || has_nul(old))
		return false;
	for (i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (path_has_suffix(path, suffixes[i]))
			return true;
	return (now->len > 2 && memcmp(now->data, "#!", 2) == 0) ||
	       (old->len && now->len > old->len / 2 &&
		memcmp(old->data, now->data,
		       old->len < 64 ? old->len / 2 : 32) == 0);
}

/* ---- bytecode ---- */

/* A magic number, flags, then time and size of the source, or its hash. */
#define HEADER 16
#define FLAGS_AT 4

/*
 * A .pyc, which Python runs in place of a source. Only Python's own compiler
 * can prove that it was made from that source; reported are files that Python
 * never writes: a .pyc that Python never compares with a source, one without a
 * source, and other code for an unchanged source.
 */
static void judge_bytecode(const struct risk_file *f, struct risks *r)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	auto_free char *dir = path_parent(f->path);
	enum risk_level level = RISK_HIGH;
	const char *text;

	/* A new one among thousands that a tool installs is no other thing
	 * than they are. */
	if (!S_ISREG(f->now_mode) || !path_has_suffix(f->path, ".pyc") ||
	    (!f->old_mode && risk_is_installed(f->path)))
		return;
	if (strcmp(path_name(dir), "__pycache__") != 0) {
		text = "as a Python module without a source file";
	} else if (f->now_size > RISK_READ_MAX ||
		   !f->read(f->arg, true, &now)) {
		text = "in place of a source file, and cannot be read";
	} else if (now.len < HEADER) {
		return;
	} else if (now.data[FLAGS_AT] & 1 && !(now.data[FLAGS_AT] & 2)) {
		text = "in place of a source file: Python does not compare "
		       "them";
	} else if (S_ISREG(f->old_mode) && f->old_size <= RISK_READ_MAX &&
		   f->read(f->arg, false, &old) && old.len >= HEADER &&
		   memcmp(old.data, now.data, 4) == 0 &&
		   memcmp(old.data + 8, now.data + 8, HEADER - 8) == 0 &&
		   (old.len != now.len ||
		    memcmp(old.data, now.data, now.len) != 0)) {
		text = "in place of a source file, and its code changed while "
		       "that did not";
	} else {
		text = "in place of its source file, with which it is not "
		       "compared here";
		level = RISK_NOTE;
	}
	add_risk(r, level, true, mem_strdup(text));
}

/* --- package.json --- */

static json_t *member(json_t *object, const char *key)
{
	return json_is_object(object) ? json_object_get(object, key) : NULL;
}

/* Scripts of a package.json, and packages from elsewhere than a registry,
 * which the old one did not have. Texts end with NUL. */
static void judge_package(const char *old, const char *now, struct risks *r)
{
	static const char *const keys[] = {
		"dependencies",	    "devDependencies", "optionalDependencies",
		"peerDependencies", "resolutions",     "overrides",
	};
	json_t *before = json_loads(old, 0, NULL);
	json_t *after = json_loads(now, 0, NULL);
	json_t *had = member(before, "scripts"), *value;
	const char *name;
	size_t i;

	json_object_foreach(member(after, "scripts"), name, value)
	{
		const char *text = json_string_value(value);
		auto_free char *label = mem_printf("script %s", name);

		if (text && !json_equal(value, member(had, name)))
			add_risk_value(r, RISK_HIGH, label, text);
	}
	/* From a version range to an address, a repository or a directory. */
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		had = member(before, keys[i]);
		json_object_foreach(member(after, keys[i]), name, value)
		{
			const char *text = json_string_value(value);
			auto_free char *label = mem_printf("package %s", name);

			if (text && strpbrk(text, ":/") &&
			    strncmp(text, "workspace:", 10) != 0 &&
			    !json_equal(value, member(had, name)))
				add_risk_value(r, RISK_HIGH, label, text);
		}
	}
	if (!after)
		add_risk(r, RISK_HIGH, false,
			 mem_strdup(
				 "is not valid JSON: its scripts are unknown"));
	json_decref(before);
	json_decref(after);
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
		add_plain_risk(r, RISK_CRITICAL,
			       "was a directory and is a link now");
	else if (path_has_part(f->path, ".git"))
		add_plain_risk(r, RISK_CRITICAL,
			       "is a link: git reads its files from elsewhere");
	if (f->read(f->arg, true, &target) &&
	    link_leaves_project(f->path, buf_text(&target)) && !is_python)
		add_risk_value(r, RISK_HIGH, "leads out of the project",
			       buf_text(&target));
}

static void judge_name(const struct risk_file *f, struct risks *r)
{
	const char *name = path_name(f->path), *text = NULL;
	enum risk_level level = RISK_HIGH;
	size_t len = strlen(name);
	AUTO(buf) struct buf shown = {0};

	if (f->old_mode)
		return;
	text_escape(&shown, name, len, false);
	if (strcmp(buf_text(&shown), name) != 0) {
		text = "its name has invisible characters";
	} else if (*name == '-') {
		text = "its name looks like an option where * expands to it";
	} else if (len && name[len - 1] == ' ') {
		text = "its name ends in a blank";
	} else if (count_lookalikes(name, len)) {
		text = "its name mixes Latin letters with others that look "
		       "alike";
	} else if (strcasecmp(name, ".git") == 0) {
		level = RISK_CRITICAL;
		text = strcmp(name, ".git") == 0
			       ? "is a repository with its own configuration "
				 "and hooks"
			       : "is .git on file systems that ignore case";
	} else if (strcmp(name, "HEAD") == 0 &&
		   !path_has_part(f->path, ".git")) {
		level = RISK_CRITICAL;
		text = "turns its directory into a repository, whose "
		       "configuration git uses";
	}
	if (text)
		add_plain_risk(r, level, text);
}

/* --- content --- */

/* Keys of git's configuration whose values are commands or lead to some. */
static bool runs_command(const char *key)
{
	static const char *const parts[] = {
		"fsmonitor",	 "sshcommand", "hookspath",  "pager",
		"editor",	 "askpass",    "gitproxy",   "worktree",
		"command",	 "textconv",   "external",   "driver",
		"clean",	 "smudge",     "process",    "helper",
		"program",	 "alias",      "uploadpack", "receivepack",
		"vcs",		 "proxy",      "insteadof",  "include",
		"templatedir",	 "hook",       "cmd",	     "difffilter",
		"pushinsteadof", "update",     "url",	     "sslverify",
		"directory",	 "allow",
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcasestr(key, parts[i]))
			return true;
	return false;
}

/* The value of one setting in the other text, as it is written there. */
static bool has_line(const char *text, const char *line, size_t len)
{
	while (*text) {
		size_t n;

		text += strspn(text, " \t");
		n = strcspn(text, "\n");
		if (n == len && memcmp(text, line, len) == 0)
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

/* Behind the section's name, which may have brackets between its quotes: keys
 * may stand on the same line. */
static const char *skip_section(const char *at)
{
	bool quoted = false;

	for (; *at && *at != '\n' && (quoted || *at != ']'); at++) {
		if (*at == '\\' && at[1] && at[1] != '\n')
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at + (*at == ']');
}

static void judge_config(const char *old, const char *now, struct risks *r)
{
	auto_free char *section = mem_strdup("");

	if (strncmp(now, "\xef\xbb\xbf", 3) == 0)
		now += 3;
	while (*now) {
		auto_free char *key = NULL, *value = NULL;
		size_t len, name, at;

		now += strspn(now, " \t\r");
		if (*now == '[') {
			const char *end = skip_section(now);

			free(section);
			section = mem_strndup(now + 1, (size_t)(end - now) - 1);
			section[strcspn(section, "]\n")] = '\0';
			now = end;
			continue;
		}
		len = strcspn(now, "\n");
		name = strcspn(now, " \t=\r\n");
		key = mem_printf("%s.%.*s", section, (int)name, now);
		if (len && *now != '#' && *now != ';' && runs_command(key) &&
		    !has_line(old, now, len)) {
			at = name + strspn(now + name, " \t=");
			value = mem_strndup(now + at, len - at);
			if (len > at && now[len - 1] == '\r')
				value[len - at - 1] = '\0';
			add_risk_value(r, RISK_CRITICAL, key, value);
		}
		now += len + (now[len] == '\n');
	}
}

/* Signs that turn a line round or hide: <U+202E> where it is escaped. */
static size_t count_hidden(const struct buf *text)
{
	AUTO(buf) struct buf shown = {0};
	const char *at;
	size_t n = 0;

	if (has_nul(text))
		return 0;
	text_escape(&shown, text->data, text->len, true);
	for (at = buf_text(&shown); (at = strstr(at, "<U+")); at++)
		n++;
	return n;
}

static bool looks_like_key(const struct buf *text)
{
	static const char *const marks[] = {
		"-----BEGIN RSA PRIVATE KEY",
		"-----BEGIN OPENSSH PRIVATE KEY",
		"-----BEGIN PRIVATE KEY",
		"-----BEGIN EC PRIVATE KEY",
		"ghp_",
		"github_pat_",
		"sk-ant-",
		"xoxb-",
		"AKIA",
		"glpat-",
	};
	size_t i;

	for (i = 0; text->len && i < sizeof(marks) / sizeof(*marks); i++) {
		const char *at = memmem(text->data, text->len, marks[i],
					strlen(marks[i]));

		/* A key has at least 12 more characters; the blank and the
		 * newline are those of PEM files. */
		if (at && strspn(at + strlen(marks[i]),
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
				 "rstuvwxyz0123456789-_ \n") >= 12)
			return true;
	}
	return false;
}

static bool has_base_name(const char *path, const char *name)
{
	return strcmp(path_name(path), name) == 0;
}

static void judge_bytes(const struct risk_file *f, struct risks *r)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	bool had = S_ISREG(f->old_mode) && f->old_size <= RISK_READ_MAX;

	if (S_ISREG(f->now_mode) && f->now_size > RISK_READ_MAX &&
	    has_base_name(f->path, "package.json"))
		add_plain_risk(r, RISK_HIGH,
			       "is too large: its scripts are unknown");
	if (!S_ISREG(f->now_mode) || f->now_size > RISK_READ_MAX ||
	    !f->read(f->arg, true, &now))
		return;
	if (had && !f->read(f->arg, false, &old))
		buf_clear(&old);
	/* NUL-terminated both, for those who read text. */
	(void)buf_text(&old);
	(void)buf_text(&now);
	if (has_base_name(f->path, "package.json"))
		judge_package(buf_text(&old), buf_text(&now), r);
	if ((has_base_name(f->path, "config") &&
	     path_has_part(f->path, ".git")) ||
	    has_base_name(f->path, "config.worktree") ||
	    has_base_name(f->path, ".gitmodules"))
		judge_config(buf_text(&old), buf_text(&now), r);
	if (count_hidden(&now) > count_hidden(&old))
		add_plain_risk(
			r, RISK_HIGH,
			"has invisible or direction-changing characters");
	else if (count_lookalikes(now.data, now.len) >
		 count_lookalikes(old.data, old.len))
		add_plain_risk(r, RISK_HIGH,
			       "has words that mix Latin letters with others "
			       "that look alike");
	if (looks_like_key(&now) && !looks_like_key(&old))
		add_plain_risk(r, RISK_NOTE, "has text that looks like a key");
	if (hides_text(f->path, &old, &now))
		add_plain_risk(r, RISK_HIGH,
			       "has a NUL byte, so its text is not shown");
	/* Other bytes, and nothing else that rsync, make or a backup would
	 * see. */
	if (S_ISREG(f->old_mode) && f->old_size == f->now_size &&
	    f->same_time && old.len == now.len && now.len &&
	    memcmp(old.data, now.data, now.len) != 0)
		add_plain_risk(r, RISK_HIGH,
			       "has new content with the old size and mtime: "
			       "many tools treat it as unchanged");
	if (now.len > 4 && memcmp(now.data, "\177ELF", 4) == 0)
		add_plain_risk(r, RISK_NOTE, "is a program");
}

/* ---- generated directories ---- */

/* The content changed, or cannot be compared. */
static bool has_other_bytes(const struct risk_file *f)
{
	AUTO(buf) struct buf old = {0}, now = {0};

	if (f->old_size != f->now_size || f->now_size > RISK_READ_MAX ||
	    !f->read(f->arg, false, &old) || !f->read(f->arg, true, &now))
		return true;
	return old.len != now.len || memcmp(old.data, now.data, now.len) != 0;
}

void risk_judge(const struct risk_file *file, struct risks *ret)
{
	auto_free char *in_git = risk_repository_path(file);
	struct risk_file alias = *file;
	const struct risk_file *f = &alias;
	uint32_t was = f->old_mode, now = f->now_mode;
	bool was_file = was && !S_ISDIR(was);
	enum risk_level level;
	const char *when;

	if (in_git)
		alias.path = in_git;
	if (!now) {
		if (has_base_name(f->path, ".git"))
			add_plain_risk(
				ret, RISK_CRITICAL,
				"is a repository with its complete history");
		return;
	}
	if (f->special)
		add_plain_risk(ret, RISK_CRITICAL,
			       "has set-id bits or capabilities");
	if (f->acl && was)
		add_plain_risk(ret, RISK_HIGH, "gives others access by an ACL");
	if (S_ISFIFO(now) || S_ISSOCK(now) || S_ISCHR(now) || S_ISBLK(now))
		add_plain_risk(ret, RISK_HIGH,
			       "is not a file, directory or link");
	judge_link(f, ret);
	judge_name(f, ret);
	judge_bytecode(f, ret);
	when = S_ISDIR(now) ? NULL : risk_by_name(f->path, &level);
	/* Names mean little in a generated directory, where thousands are new.
	 * But such a directory is rarely read, git does not show it, and tools
	 * execute it: changes of earlier files are reported, and files that no
	 * tool makes. */
	if (risk_in_generated(f->path)) {
		if (when && level > RISK_NOTE &&
		    (was_file ? has_other_bytes(f) : risk_always_runs(f->path)))
			add_risk(ret, level, true, mem_strdup(when));
		else if (was_file && !S_ISDIR(now) &&
			 risk_is_installed(f->path) && has_other_bytes(f))
			add_plain_risk(
				ret, RISK_HIGH,
				"was installed before the run and has changed");
		return;
	}
	if (S_ISREG(now)) {
		if ((now & 0111) && !(was & 0111))
			add_plain_risk(ret, RISK_NOTE,
				       was ? "is executable now"
					   : "is executable");
		if ((now & 0002) && !(was & 0002))
			add_plain_risk(ret, RISK_NOTE,
				       "is writable for all users now");
		if (S_ISREG(was) && f->old_size && !f->now_size)
			add_plain_risk(ret, RISK_HIGH, "is empty now");
		else if (S_ISREG(was) && f->old_size > SHRUNK_LEAST &&
			 f->now_size < f->old_size / 2)
			add_plain_risk(ret, RISK_NOTE,
				       "lost more than half of its bytes");
	}
	if (S_ISDIR(now))
		return;
	if (when && !path_has_suffix(f->path, ".sample"))
		add_risk(ret, level, level > RISK_NOTE, mem_strdup(when));
	judge_bytes(f, ret);
}
