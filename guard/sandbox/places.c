#include "guard/sandbox/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/auto.h"
#include "base/derived.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/settings.h"
#include "base/shipped.h"
#include "base/text.h"
#include "base/vec.h"

/* A line of places.list, which explains them. */
struct place_rule {
	enum {
		RULE_HOME, /* name: below the home directory */
		RULE_MACHINE, /* name: absolute */
		RULE_VARIABLE, /* name: of it */
		RULE_MOVE, /* name: of the variable; rest: below the home */
		RULE_SETTING, /* name: of its file; rest: its key */
		RULE_WORD,
		RULE_NAME, /* name: a pattern */
	} kind;
	unsigned int how, number; /* number: of its line */
	const char *name, *rest, *before;
};

static VEC(struct place_rule) rules;
/* The patterns of the `name` lines; NULL ends them. */
static VEC(const char *) login_names;

#define LOGIN_NAMES "NAME"

/* The rest behind the text, which then ends before it; "" if it has none. */
static char *split_at(char *at, const char *text)
{
	char *found = strstr(at, text);

	if (!found)
		return at + strlen(at);
	*found = '\0';
	return found + strlen(text);
}

/* False for characters that only a typing error puts there: a comment or a
 * blank behind the place would be part of its name. */
static bool is_clean(const char *line)
{
	size_t len = strlen(line);

	return !strpbrk(line, "\t\r") && !strstr(line, "  ") &&
	       !strstr(line, " #") && line[len - 1] != ' ' &&
	       line[len - 1] != '/';
}

static bool is_place(const char *path)
{
	return path_ok(path) && !strchr(path, ':');
}

/* For many names, all of those of the `name` lines, or one. */
static bool is_pattern(const char *path)
{
	return strchr(path, '*') || strcmp(path_name(path), LOGIN_NAMES) == 0;
}

static bool is_word(const char *name)
{
	return *name && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789_") == strlen(name);
}

/* False: no line of such a list. */
static bool parse_rule(char *line, struct place_rule *ret)
{
	static const struct {
		const char *name;
		unsigned int how;
	} verbs[] = {{"hide", PLACE_MASKED},
		     {"copy", PLACE_SETTINGS},
		     {"hide-copy", PLACE_MASKED | PLACE_SETTINGS},
		     {"prose", PLACE_PROSE},
		     {"agent", PLACE_AGENT},
		     {"move", 0},
		     {"name", 0},
		     {"word", 0}};
	bool clean = is_clean(line);
	char *at = split_at(line, " "), *rest;
	size_t i = 0;

	while (i < ARRAY_SIZE(verbs) && strcmp(verbs[i].name, line) != 0)
		i++;
	if (i == ARRAY_SIZE(verbs) || !*at || !clean)
		return false;
	*ret = (struct place_rule){
		.how = verbs[i].how, .name = at, .rest = "", .before = ""};
	if (strcmp(line, "word") == 0) {
		ret->kind = RULE_WORD;
		return is_word(at);
	}
	if (strcmp(line, "name") == 0) {
		ret->kind = RULE_NAME;
		return !strchr(at, '/');
	}
	if (*at == '$') {
		ret->kind = verbs[i].how ? RULE_VARIABLE : RULE_MOVE;
		ret->name = at + 1;
		if (ret->kind == RULE_MOVE)
			ret->rest = split_at(at, " ~/");
		return is_word(ret->name) && is_place(ret->rest) &&
		       !is_pattern(ret->rest);
	}
	if (!verbs[i].how)
		return false;
	if (*at == '/') {
		ret->kind = RULE_MACHINE;
		return is_place(at + 1) && !strchr(strchrnul(at, '*'), '/');
	}
	ret->name = at + 2;
	rest = split_at(at, ": ");
	ret->before = split_at(rest, " ");
	ret->rest = rest;
	ret->kind = *rest ? RULE_SETTING : RULE_HOME;
	return strncmp(at, "~/", 2) == 0 && is_place(ret->name) &&
	       !(*rest && is_pattern(ret->name));
}

/* The number of the first line that is no rule; 0: all are. text: kept. */
static unsigned int load_rules(char *text)
{
	unsigned int number = 1;
	struct place_rule rule;
	char *next;

	VEC_FREE(&rules);
	VEC_FREE(&login_names);
	for (; *text; text = next, number++) {
		next = split_at(text, "\n");
		if (!*text || *text == '#')
			continue;
		if (!parse_rule(text, &rule))
			return number;
		rule.number = number;
		*VEC_ADD(&rules) = rule;
		if (rule.kind == RULE_NAME)
			*VEC_ADD(&login_names) = rule.name;
	}
	*VEC_ADD(&login_names) = NULL;
	return 0;
}

static bool is_variable(const struct place_rule *r)
{
	return r->kind == RULE_MOVE || r->kind == RULE_VARIABLE;
}

/* The mistake of a rule among the others; NULL: none. */
static const char *why_useless(const struct place_rule *r)
{
	const struct place_rule *other;
	bool below = r->kind != RULE_MOVE || !*r->rest;

	for (other = rules.items; other < r; other++)
		if (strcmp(other->name, r->name) == 0 &&
		    (is_variable(r)
			     ? is_variable(other)
			     : other->kind == r->kind &&
				       strcmp(other->rest, r->rest) == 0 &&
				       strcmp(other->before, r->before) == 0))
			return "a line above has the same place";
	for (other = rules.items; other < rules.items + rules.count; other++)
		below |= other->kind == RULE_HOME &&
			 path_below(other->name, r->rest);
	return below ? NULL : "no line has a place below this path";
}

int places_check(const char *path, const char *text, struct err *err)
{
	auto_free char *copy = mem_strdup(text);
	unsigned int bad = load_rules(copy);
	const char *why = "expected hide, copy, hide-copy or prose and a "
			  "place, move or word; a comment stands on a line of "
			  "its own";
	size_t i;

	for (i = 0; i < rules.count && !bad; i++) {
		const char *useless = why_useless(&rules.items[i]);

		if (useless) {
			why = useless;
			bad = rules.items[i].number;
		}
	}
	VEC_FREE(&rules);
	return bad ? fail(err, EINVAL, "%s:%u: %s", text_quote(path), bad, why)
		   : 0;
}

struct search {
	const char *home, *project;
	const char *here; /* the current directory, or NULL */
	struct name_index *index;
	struct places *to;
};

/* ---- default places ---- */

/* True also if the lookup is denied: in a directory without search permission
 * for its owner, the run could add it. */
static bool may_exist(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR);
}

static void add_place(struct places *to, char *path, const char *entry,
		      bool moved, unsigned int how)
{
	*VEC_ADD(to) = (struct place){path, mem_strdup(entry), moved, how};
}

/* The names that a start found in directories: records, each followed by
 * its subject (the directory and the first pattern) and a list: the type and
 * the name of each entry, ended by a zero byte. */
struct name_index {
	struct buf previous, now; /* the previous start, this one */
	size_t at; /* in previous: starts read in the same order */
	size_t cost; /* names that this start read */
	size_t dirs; /* in which this pattern may still be looked for */
	char *path; /* the directory that was read last, or NULL */
	struct buf names; /* the entries of path, as in a list */
};

struct name_record {
	struct timespec mtime, ctime;
	dev_t dev;
	ino_t ino;
	size_t subject_len, list_len;
};

#define INDEX_MAX (16u << 20)
/* To write the index takes as long as to read about so many names. */
#define INDEX_COST 512
#define DIR_COST 16 /* a directory costs as much as so many names */
/* A pattern is looked for in so many directories; one for any directory of the
 * home, in fewer. */
#define PATTERN_DIRS_MAX 1024
#define HOME_DIRS_MAX 128
#define YOUNG_S 2 /* another change could leave no trace, see derived.h */

static void load_index(struct name_index *index, int state_fd, const char *name)
{
	struct buf *b = &index->previous;
	struct name_record r;
	size_t at = 0;

	if (derived_read(state_fd, name, INDEX_MAX, b) < 0)
		buf_clear(b);
	while (at < b->len && b->len - at >= sizeof(r)) {
		memcpy(&r, b->data + at, sizeof(r));
		if (r.subject_len > INDEX_MAX || r.list_len > INDEX_MAX)
			break;
		at += sizeof(r) + r.subject_len + r.list_len;
	}
	/* A damaged index counts as missing. */
	if (at != b->len)
		buf_clear(b);
}

/* The list of the directory if it is unchanged since; NULL: it is to be
 * read. */
static const char *find_kept_list(struct name_index *index, const char *subject,
				  const struct name_record *wanted,
				  size_t *ret_len)
{
	const struct buf *b = &index->previous;
	size_t start = index->at, at = start, len = strlen(subject);
	struct name_record r;

	do {
		const unsigned char *text;

		if (at == b->len) {
			at = 0;
			continue;
		}
		memcpy(&r, b->data + at, sizeof(r));
		text = b->data + at + sizeof(r);
		at += sizeof(r) + r.subject_len + r.list_len;
		if (r.subject_len != len || memcmp(text, subject, len) != 0)
			continue;
		index->at = at;
		*ret_len = r.list_len;
		return r.dev == wanted->dev && r.ino == wanted->ino &&
				       r.mtime.tv_sec == wanted->mtime.tv_sec &&
				       r.mtime.tv_nsec ==
					       wanted->mtime.tv_nsec &&
				       r.ctime.tv_sec == wanted->ctime.tv_sec &&
				       r.ctime.tv_nsec == wanted->ctime.tv_nsec
			       ? (const char *)text + len
			       : NULL;
	} while (b->len && at != start);
	return NULL;
}

static bool read_names(struct name_index *index, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	struct stat st;

	free(index->path);
	index->path = mem_strdup(path);
	buf_clear(&index->names);
	index->cost += DIR_COST;
	while (dir && (e = readdir(dir))) {
		unsigned char type = e->d_type;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* Some file systems report no types. */
		if (type == DT_UNKNOWN && fstatat(dirfd(dir), e->d_name, &st,
						  AT_SYMLINK_NOFOLLOW) == 0)
			type = IFTODT(st.st_mode);
		buf_add_char(&index->names, (char)type);
		buf_add(&index->names, e->d_name, strlen(e->d_name) + 1);
		index->cost++;
	}
	return dir && closedir(dir) == 0;
}

static bool matches_any(const char *name, const char *const *patterns,
			int flags)
{
	for (; *patterns && **patterns == '!'; patterns++)
		if (fnmatch(*patterns + 1, name, flags) == 0)
			return false;
	/* fnmatch(3) is slow, and few names begin with a period. */
	for (; *patterns; patterns++)
		if (!((flags & FNM_PERIOD) &&
		      (*name == '.') != (**patterns == '.')) &&
		    fnmatch(*patterns, name, flags) == 0)
			return true;
	return false;
}

static void add_matches(const struct buf *names, const char *const *patterns,
			int flags, bool dirs, struct buf *to)
{
	const char *at = (const char *)names->data, *end = at + names->len;
	size_t len;

	for (; at < end; at += len) {
		len = strlen(at + 1) + 2;
		if ((dirs && *at == DT_DIR) ||
		    matches_any(at + 1, patterns, flags))
			buf_add(to, at, len);
	}
}

/* The entries of a directory that match a pattern, and its directories if
 * dirs, sorted. False: it cannot be read. */
static bool list_matches(const struct search *s, const char *path,
			 const char *const *patterns, int flags, bool dirs,
			 struct dirlist *ret)
{
	struct name_index *index = s->index;
	auto_free char *subject = path_join(path, *patterns);
	AUTO(buf) struct buf text = {0};
	struct name_record r;
	const char *list, *at;
	struct stat st;
	size_t i;

	if (stat(path, &st) < 0)
		return false;
	r = (struct name_record){.mtime = st.st_mtim,
				 .ctime = st.st_ctim,
				 .dev = st.st_dev,
				 .ino = st.st_ino,
				 .subject_len = strlen(subject)};
	list = find_kept_list(index, subject, &r, &r.list_len);
	if (!list) {
		if ((!index->path || strcmp(index->path, path) != 0) &&
		    !read_names(index, path)) {
			free(index->path);
			index->path = NULL;
			return false;
		}
		add_matches(&index->names, patterns, flags, dirs, &text);
		list = buf_text(&text);
		r.list_len = text.len;
		if (time(NULL) - st.st_ctim.tv_sec < YOUNG_S)
			r.ino = 0;
	}
	for (at = list; at < list + r.list_len; at += strlen(at + 1) + 2) {
		dirlist_add(ret, at + 1, strlen(at + 1));
		ret->items[ret->count - 1].type = (unsigned char)*at;
	}
	dirlist_sort(ret);
	buf_add(&index->now, &r, sizeof(r));
	buf_add(&index->now, subject, r.subject_len);
	/* Sorted: the next start finds them in order. */
	for (i = 0; i < ret->count; i++) {
		const struct dirlist_item *item = &ret->items[i];

		buf_add_char(&index->now, (char)item->type);
		buf_add(&index->now, item->name, strlen(item->name) + 1);
	}
	return true;
}

static bool is_known(const struct places *to, const char *path)
{
	size_t i;

	for (i = 0; i < to->count; i++)
		if (strcmp(to->items[i].path, path) == 0 ||
		    (to->items[i].how == PLACE_MASKED &&
		     path_below(path, to->items[i].path)))
			return true;
	return false;
}

/* Whether the directory is the project or a link into it. --home makes the home
 * directory the project: its programs have logins. */
static bool is_in_project(const struct search *s, const char *path, bool link)
{
	struct err ignored;
	auto_free char *real = NULL;

	if (!s->project || (s->home && path_below(s->home, s->project)) ||
	    (!link && strcmp(path_name(path), path_name(s->project)) != 0))
		return false;
	real = path_resolve(path, &ignored);
	return real && path_below(real, s->project);
}

/* Adds what matches the pattern, a path below dir, sorted. A directory that
 * the pattern does not name is no program's if it is the project: its files
 * are the run's. */
static void add_below(const struct search *s, const char *dir,
		      const char *pattern, const char *entry, bool moved,
		      unsigned int how)
{
	const size_t len = strcspn(pattern, "/");
	const char *rest = pattern + len + (pattern[len] == '/');
	auto_free char *part = mem_strndup(pattern, len);
	const char *const one[] = {part, NULL};
	const bool names = strcmp(part, LOGIN_NAMES) == 0;
	AUTO(dirlist) struct dirlist found = {0};
	size_t i;

	if (!is_pattern(part)) {
		auto_free char *path = path_join(dir, part);

		if (*rest)
			add_below(s, path, rest, entry, moved, how);
		else if (may_exist(AT_FDCWD, path) && !is_known(s->to, path))
			add_place(s->to, TAKE(path), entry, moved, how);
		return;
	}
	if (!s->index->dirs)
		return;
	s->index->dirs--;
	(void)list_matches(s, dir,
			   names ? (const char *const *)login_names.items : one,
			   names ? FNM_EXTMATCH : FNM_PERIOD, false, &found);
	for (i = 0; i < found.count; i++) {
		auto_free char *path = path_join(dir, found.items[i].name);
		const unsigned char type = found.items[i].type;

		if (!*rest && !is_known(s->to, path))
			add_place(s->to, TAKE(path), entry, moved, how);
		else if (*rest && (type == DT_DIR || type == DT_LNK) &&
			 !is_in_project(s, path, type == DT_LNK))
			add_below(s, path, rest, entry, moved, how);
	}
}

static void add_pattern(const struct search *s, const char *dir,
			const char *pattern, const char *entry, bool moved,
			unsigned int how)
{
	s->index->dirs = !moved && strncmp(pattern, "*/", 2) == 0
				 ? HOME_DIRS_MAX
				 : PATTERN_DIRS_MAX;
	add_below(s, dir, pattern, entry, moved, how);
}

/* ---- moved places ---- */

/* The path as the user writes it. */
static char *shorten_path(const struct search *s, const char *path)
{
	if (s->here && s->here[1] && path_below(path, s->here) &&
	    strcmp(path, s->here) != 0)
		return mem_strdup(path_rest(path, s->here));
	if (s->home && strcmp(path, s->home) == 0)
		return mem_strdup("~");
	return s->home && path_below(path, s->home)
		       ? mem_printf("~/%s", path_rest(path, s->home))
		       : mem_strdup(path);
}

/* The reason why a mask over real would leave nothing to run; NULL: none. */
static const char *why_visible(const struct search *s, const char *real,
			       bool dir)
{
	static const char *const system[] = {
		"/",	 "/bin",   "/boot",  "/dev",	 "/etc",     "/home",
		"/lib",	 "/lib32", "/lib64", "/media",	 "/mnt",     "/opt",
		"/proc", "/root",  "/run",   "/sbin",	 "/srv",     "/sys",
		"/tmp",	 "/usr",   "/var",   "/var/lib", "/var/tmp", NULL,
	};

	if (s->project && path_below(s->project, real))
		return "it contains the project";
	if (s->home && path_below(s->home, real))
		return "it contains your home directory";
	if (mem_list_has(system, real) || (dir && path_below(real, "/usr")))
		return "it is a system directory";
	return NULL;
}

/* Adds the file or directory at path, which the variable or file `entry`
 * names. */
static void add_moved(const struct search *s, const char *path,
		      const char *entry, bool only_file, unsigned int how)
{
	struct err ignored;
	struct stat st;
	const char *why;
	auto_free char *real = NULL, *shown = NULL;
	bool known = stat(path, &st) == 0;

	/* Without permission to look, it may be a file or a directory. */
	if (known ? !S_ISREG(st.st_mode) && (only_file || !S_ISDIR(st.st_mode))
		  : errno == ENOENT || errno == ENOTDIR)
		return;
	real = path_resolve(path, &ignored);
	/* Packages hold no secrets of the user. */
	if (only_file && real && path_below(real, "/usr"))
		return;
	if (!real || path_below(real, "/proc") || path_below(real, "/sys") ||
	    path_below(real, "/dev") || is_known(s->to, path))
		return;
	shown = shorten_path(s, path);
	why = why_visible(s, real, known && S_ISDIR(st.st_mode));
	if (why) {
		*VEC_ADD(&s->to->notes) =
			mem_printf("%s names %s: not hidden, %s", entry,
				   text_quote(shown), why);
		return;
	}
	if (s->project && path_below(real, s->project) && how == PLACE_MASKED)
		*VEC_ADD(&s->to->notes) =
			mem_printf("%s is hidden (%s); --ro %s grants it",
				   text_quote(shown), entry, shown);
	add_place(s->to, mem_strdup(path), entry, true, how);
}

/* The absolute path that a variable or a setting means, without a slash at its
 * end; NULL: none. dir: for relative paths. */
static char *full_path(const struct search *s, const char *text, size_t len,
		       const char *dir)
{
	while (len > 1 && text[len - 1] == '/')
		len--;
	if (!len || !dir)
		return NULL;
	if (len >= 2 && text[0] == '~' && text[1] == '/' && s->home)
		return mem_printf("%s/%.*s", s->home, (int)len - 2, text + 2);
	return *text == '/' ? mem_strndup(text, len)
			    : mem_printf("%s/%.*s", dir, (int)len, text);
}

/* Adds the value and, of a list, each part: "a:b", "FILE:/tmp/x". */
static void add_files(const struct search *s, const char *entry,
		      const char *value, const char *dir, bool only_file,
		      unsigned int how)
{
	auto_free char *list = mem_strdup(value);
	auto_free char *whole = full_path(s, value, strlen(value), dir);
	char *save = NULL, *part;

	if (whole)
		add_moved(s, whole, entry, only_file, how);
	if (!strchr(value, ':'))
		return;
	for (part = strtok_r(list, ":", &save); part;
	     part = strtok_r(NULL, ":", &save)) {
		auto_free char *path = full_path(s, part, strlen(part), dir);

		/* Other lists have patterns or commands: HISTIGNORE. */
		if (path && (!only_file || *part == '/'))
			add_moved(s, path, entry, only_file, how);
	}
}

/* Looks below the value of a variable for the places below its default. */
static void add_base(const struct search *s, const struct place_rule *base,
		     const char *value)
{
	auto_free char *dir = full_path(s, value, strlen(value), s->here);
	size_t i;

	if (!dir)
		return;
	if (!*base->rest) {
		if (!path_below(dir, "/run"))
			add_moved(s, dir, base->name, false, PLACE_MASKED);
		return;
	}
	for (i = 0; i < rules.count; i++) {
		const struct place_rule *r = &rules.items[i];
		auto_free char *path = NULL;
		const char *rest;

		if (r->kind != RULE_HOME || !path_below(r->name, base->rest))
			continue;
		rest = path_rest(r->name, base->rest);
		path = path_join(dir, rest);
		if (is_pattern(rest))
			add_pattern(s, dir, rest, base->name, true, r->how);
		else
			add_moved(s, path, base->name, false, r->how);
	}
}

static bool names_secret(const char *variable)
{
	size_t i;

	/* A program that asks for a password. */
	if (strstr(variable, "ASKPASS"))
		return false;
	for (i = 0; i < rules.count; i++)
		if (rules.items[i].kind == RULE_WORD &&
		    strstr(variable, rules.items[i].name))
			return true;
	return false;
}

static void add_variable(const struct search *s, const char *variable)
{
	auto_free char *name = mem_strdup(variable);
	const char *value = split_at(name, "=");
	size_t i;

	if (!*value)
		return;
	for (i = 0; i < rules.count; i++) {
		const struct place_rule *r = &rules.items[i];

		if ((r->kind != RULE_MOVE && r->kind != RULE_VARIABLE) ||
		    strcmp(r->name, name) != 0)
			continue;
		if (r->kind == RULE_MOVE)
			add_base(s, r, value);
		else
			add_files(s, name, value, s->here, false, r->how);
		return;
	}
	/* A word that is a secret itself may be the name of a file in the
	 * current directory. */
	if (names_secret(name) && strpbrk(value, "/."))
		add_files(s, name, value, s->here, true, PLACE_MASKED);
}

/* ---- files that settings name ---- */

/* A setting that is looked for in a file. */
struct setting_search {
	const struct search *s;
	const struct place_rule *rule;
	const char *entry, *dir;
};

/* `key = value` or `key value` */
static void follow_line(void *arg, const char *place, const char *line,
			size_t number)
{
	const struct setting_search *f = arg;
	const struct place_rule *r = f->rule;
	auto_free char *value = NULL, *path = NULL;
	const char *at = line + strlen(r->rest);

	(void)place;
	(void)number;
	if (strncasecmp(line, r->rest, strlen(r->rest)) != 0 || !*at ||
	    !strchr(" \t=", *at))
		return;
	at += strspn(at, " \t=\"");
	if (strncmp(at, r->before, strlen(r->before)) != 0)
		return;
	at += strlen(r->before);
	at += strspn(at, *r->before ? " \t=\"'" : "\"");
	value = mem_strndup(at, strcspn(at, "\"'"));
	path = full_path(f->s, value, strlen(value), f->dir);
	if (path)
		add_moved(f->s, path, f->entry, true, r->how);
}

/* The text of a regular file, to free; NULL: it cannot be read. */
static char *read_file(const char *path)
{
	AUTO(buf) struct buf text = {0};
	auto_close int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct err ignored;
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			       fd_slurp(fd, PLACES_FILE_MAX, &text, &ignored) ==
				       0
		       ? buf_take_text(&text)
		       : NULL;
}

static void follow_setting(const struct search *s, const struct place_rule *r)
{
	auto_free char *file = path_join(s->home, r->name);
	auto_free char *entry = mem_printf("~/%s", r->name);
	auto_free char *dir = path_parent(file);
	struct setting_search search = {s, r, entry, dir};
	auto_free char *lines = read_file(file);

	if (lines)
		settings_each_line(SETTINGS_PLAIN, lines, follow_line, &search);
}

/* ---- files that start files read ---- */

#define WORDS_MAX 1000
#define VALUES_DEPTH 8
#define NAME_CHARS                                                             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* A start file of a shell: `source FILE`, `. FILE`, and `. "$f"` in a loop
 * `for f in FILE...`. */
struct start_file {
	const struct search *s;
	const char *entry;
	struct names values; /* its "NAME=WORD", one for each word of a loop */
};

static void add_sourced(const struct start_file *f, const char *word, int depth)
{
	const bool braces = strncmp(word, "${", 2) == 0;
	const char *name = word + braces + (*word == '$');
	const size_t len = strspn(name, NAME_CHARS);
	wordexp_t found = {0};
	glob_t braced = {0};
	bool any = false;
	size_t i;

	for (i = 0; name > word && i < f->values.count; i++) {
		const char *value = f->values.items[i];
		auto_free char *joined = NULL;

		if (strncmp(value, name, len) != 0 || value[len] != '=' ||
		    (braces && name[len] != '}') || depth == VALUES_DEPTH)
			continue;
		any = true;
		joined = mem_printf("%s%s", value + len + 1,
				    name + len + braces);
		add_sourced(f, joined, depth + 1);
	}
	/* {a,b} is an error of wordexp(3). */
	if (!any && wordexp(word, &found, WRDE_NOCMD) == 0) {
		for (i = 0; i < found.we_wordc; i++)
			add_files(f->s, f->entry, found.we_wordv[i], f->s->home,
				  true, PLACE_PROSE);
		wordfree(&found);
	} else if (!any) {
		(void)glob(word, GLOB_BRACE | GLOB_TILDE, NULL, &braced);
		for (i = 0; i < braced.gl_pathc; i++)
			add_files(f->s, f->entry, braced.gl_pathv[i],
				  f->s->home, true, PLACE_PROSE);
		globfree(&braced);
	}
}

/* Skips a word of a shell and appends it without its quotes, as wordexp(3)
 * takes it. */
static const char *read_word(const char *at, struct buf *to)
{
	char quote = '\0';

	for (; *at && (quote || !strchr(" \t\n;&|()<>", *at)); at++) {
		if (quote ? *at == quote : *at == '"' || *at == '\'') {
			quote = quote ? '\0' : *at;
			continue;
		}
		if (quote && *at == ' ')
			buf_add_char(to, '\\');
		buf_add_char(to, *at);
	}
	return at;
}

static void follow_start_file(struct start_file *f, const char *at)
{
	auto_free char *loop = NULL;
	bool sourced = false, named = false;

	for (; *at && f->values.count < WORDS_MAX; at += *at != '\0') {
		AUTO(buf) struct buf text = {0};
		const char *word;

		if (*at == '#')
			at = strchrnul(at, '\n');
		at = read_word(at, &text);
		word = buf_text(&text);
		if (!*word)
			continue;
		if (sourced)
			add_sourced(f, word, 0);
		if (named || strcmp(word, "do") == 0) {
			free(loop);
			loop = named ? mem_strdup(word) : NULL;
		} else if (loop || strchr(word, '=')) {
			auto_free char *value = mem_printf(
				"%s%s%s", loop ?: "", loop ? "=" : "", word);

			names_add(&f->values, value);
		}
		named = strcmp(word, "for") == 0;
		sourced = !sourced &&
			  (strcmp(word, "source") == 0 ||
			   strcmp(word, "\\.") == 0 || strcmp(word, ".") == 0);
	}
}

static void follow_start_files(const struct search *s)
{
	const size_t count = s->to->count;
	size_t i;

	for (i = 0; i < count; i++) {
		const char *path = s->to->items[i].path;
		auto_free char *entry = shorten_path(s, path);
		struct start_file f = {s, entry};
		auto_free char *text = s->to->items[i].how == PLACE_PROSE
					       ? read_file(path)
					       : NULL;

		if (text)
			follow_start_file(&f, text);
		names_free(&f.values);
	}
}

/* ---- histories ---- */

#define HISTORY_LEVELS 4
#define HISTORY_DIRS_MAX 256

static const char *const history_patterns[] = {
	"*history",	    "*history.txt",   "*history.log", "*history.db*",
	"*history.sqlite*", "*history.json*", NULL,
};

struct history_search {
	const struct search *s;
	const char *top;
};

static void list_histories(void *arg, const char *path, struct dirlist *ret)
{
	const struct history_search *h = arg;

	(void)list_matches(h->s, path, history_patterns, FNM_CASEFOLD, true,
			   ret);
}

/* Sources of programs (history.js) are no histories; guard's own state is
 * masked as a whole. */
static bool add_history(void *arg, const char *path,
			const struct dirlist_item *item)
{
	const struct history_search *h = arg;
	const char *const *pattern = history_patterns;
	struct places *to = h->s->to;

	if (strcmp(path_rest(path, h->top), "guard") == 0)
		return false;
	if (item->type != DT_REG)
		return true;
	while (*pattern && fnmatch(*pattern, item->name, FNM_CASEFOLD) != 0)
		pattern++;
	if (*pattern && !is_known(to, path))
		add_place(to, mem_strdup(path), "histories", true,
			  PLACE_MASKED);
	return true;
}

/* Programs keep their histories near the top. */
static void find_histories(const struct search *s, const char *top)
{
	struct history_search search = {s, top};

	dirtree_levels(top, HISTORY_LEVELS, HISTORY_DIRS_MAX, list_histories,
		       add_history, &search);
}

/* ---- all places ---- */

/* Directories of a home with many places: their names are read once. */
struct home_dirs {
	struct home_dir {
		char *path;
		bool readable;
		struct dirlist names;
	} * items;
	size_t count, capacity;
};

static const struct home_dir *
read_home_dir(const struct search *s, struct home_dirs *dirs, const char *path)
{
	/* Also with a period: the first one tells it from a pattern's list. */
	static const char *const any[] = {"", "*", NULL};
	struct home_dir *d = dirs->items;

	for (; d < dirs->items + dirs->count; d++)
		if (strcmp(d->path, path) == 0)
			return d;
	d = VEC_ADD(dirs);
	*d = (struct home_dir){.path = mem_strdup(path)};
	d->readable = list_matches(s, path, any, 0, false, &d->names);
	return d;
}

static bool may_exist_below(const struct search *s, struct home_dirs *dirs,
			    const char *home, const char *name)
{
	auto_free char *above = mem_strdup(home);

	while (*name) {
		const size_t len = strcspn(name, "/");
		auto_free char *part = mem_strndup(name, len);
		const struct home_dir *d = read_home_dir(s, dirs, above);
		char *below;

		if (d->readable && !dirlist_find(&d->names, part))
			return false;
		below = path_join(above, d->readable ? part : name);
		free(above);
		above = below;
		if (!d->readable)
			return may_exist(AT_FDCWD, above);
		name += len + (name[len] == '/');
	}
	return true;
}

/* Names before patterns: a pattern adds no file that has a place. */
static void add_home(const struct search *s, const char *home, bool patterns)
{
	struct home_dirs dirs = {0};
	size_t i;

	for (i = 0; i < rules.count; i++) {
		const struct place_rule *r = &rules.items[i];
		auto_free char *entry = NULL;

		if (r->kind != RULE_HOME || is_pattern(r->name) != patterns ||
		    (!patterns && !may_exist_below(s, &dirs, home, r->name)))
			continue;
		entry = s->home == home ? mem_printf("~/%s", r->name)
					: path_join(home, r->name);
		if (patterns)
			add_pattern(s, home, r->name, entry, false, r->how);
		else
			add_place(s->to, path_join(home, r->name), entry, false,
				  r->how);
	}
	for (i = 0; i < dirs.count; i++) {
		free(dirs.items[i].path);
		dirlist_free(&dirs.items[i].names);
	}
	VEC_FREE(&dirs);
	if (!patterns)
		add_home(s, home, true);
}

static void add_machine(const struct search *s)
{
	size_t i;

	for (i = 0; i < rules.count; i++) {
		const struct place_rule *r = &rules.items[i];

		if (r->kind != RULE_MACHINE)
			continue;
		if (strchr(r->name, '*'))
			add_pattern(s, "/", r->name + 1, r->name, false,
				    r->how);
		else if (may_exist(AT_FDCWD, r->name))
			add_place(s->to, mem_strdup(r->name), r->name, false,
				  r->how);
	}
}

static void add_histories(const struct search *s, char *const *variables)
{
	static const char *const tops[][2] = {
		{"XDG_DATA_HOME=", ".local/share"},
		{"XDG_STATE_HOME=", ".local/state"},
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tops); i++) {
		size_t len = strlen(tops[i][0]);
		auto_free char *usual = path_join(s->home, tops[i][1]);
		char *const *v = variables;

		find_histories(s, usual);
		while (*v && strncmp(*v, tops[i][0], len) != 0)
			v++;
		if (*v && (*v)[len] == '/' && strcmp(*v + len, usual) != 0 &&
		    !why_visible(s, *v + len, true))
			find_histories(s, *v + len);
	}
}

static void load_shipped_rules(void)
{
	static char *text; /* the names of the rules */

	if (rules.count)
		return;
	/* A mistake stops guard's build (tests/lint/texts.c). */
	free(text);
	text = mem_strdup(shipped_text(PLACES_LIST));
	if (load_rules(text) != 0)
		abort();
}

void places_add(const char *path, unsigned int how)
{
	size_t i;

	load_shipped_rules();
	for (i = 0; i < rules.count; i++)
		if (rules.items[i].kind == RULE_HOME &&
		    strcmp(rules.items[i].name, path) == 0)
			return;
	*VEC_ADD(&rules) = (struct place_rule){.kind = RULE_HOME,
					       .how = how,
					       .name = mem_strdup(path),
					       .rest = "",
					       .before = ""};
}

void places_find(char *const *variables, const char *home, const char *project,
		 int state_fd, struct places *ret)
{
	auto_free char *here = getcwd(NULL, 0);
	struct name_index index = {0};
	const struct search s = {home, project, here, &index, ret};
	const struct stat any = {0}; /* the records have stamps of their own */
	auto_free char *kept = derived_name("names", &any);
	struct err ignored;
	const struct passwd *user = getpwuid(geteuid());
	char *const *variable;
	size_t i;

	if (state_fd >= 0)
		load_index(&index, state_fd, kept);
	load_shipped_rules();
	if (home)
		add_home(&s, home, false);
	/* $HOME may name another user's home directory; the user's own is
	 * masked as well. */
	if (user && user->pw_dir[0] == '/' && user->pw_dir[1] &&
	    (!home || strcmp(home, user->pw_dir) != 0))
		add_home(&s, user->pw_dir, false);
	/* A directory that the user cannot search is closed to the run, too. */
	if ((!home || strcmp(home, "/root") != 0) && geteuid() != 0 &&
	    faccessat(AT_FDCWD, "/root", X_OK, AT_EACCESS) == 0)
		add_home(&s, "/root", false);
	add_machine(&s);
	for (variable = variables; *variable; variable++)
		add_variable(&s, *variable);
	for (i = 0; home && i < rules.count; i++)
		if (rules.items[i].kind == RULE_SETTING)
			follow_setting(&s, &rules.items[i]);
	if (home) {
		add_histories(&s, variables);
		follow_start_files(&s);
	}
	if (state_fd >= 0 && index.cost > INDEX_COST)
		(void)derived_save(state_fd, kept, &any, index.now.data,
				   index.now.len, &ignored);
	buf_free(&index.previous);
	buf_free(&index.now);
	buf_free(&index.names);
	free(index.path);
}

void places_free(struct places *places)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		free(places->items[i].path);
		free(places->items[i].entry);
	}
	names_free(&places->notes);
	VEC_FREE(places);
}

const struct place *places_of(const struct places *places, const char *real)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		struct err ignored;
		auto_free char *path =
			path_resolve(places->items[i].path, &ignored);

		if (path && strcmp(path, real) == 0)
			return &places->items[i];
	}
	return NULL;
}
