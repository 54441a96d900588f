/*
 * References: files that a critical or high file executes or reads, whatever
 * their own names. Searched are the repository's hooks and configuration, files
 * of such names in the root, the directories above it up to the repository's,
 * and the home directory; each as before the run, and as the run left it.
 *
 * A link stands for all files on its way. In settings, the places count that
 * lines.rules define as "runs" or "reads". In scripts, a command executes its
 * program and the operands of an interpreter. A name in a comment, or behind a
 * program that only reads, is no reference. Executed files are searched, too,
 * two files deep.
 *
 * All loops are bounded: a run may write what is read here. Each file has a
 * budget of its own. The user's versions are searched before the run's, the
 * home directory before the project, and critical files before others, so that
 * a run cannot use up the limits of all files. Names left out are counted.
 */
#include <ctype.h>
#include <dirent.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

#define REFS_MAX 4000
#define SOURCES_MAX 1000 /* of each level */
#define WALKED_MAX 20000 /* entries of the root */
#define WALKED_HOME 400 /* of a directory of start files, and */
#define DIRS_HOME 20
#define WALKED_LEVELS 16
#define LINKS_MAX 40 /* of the kernel */
#define DEPTH_MAX 2
/* Of one file. */
#define FILE_REFS_MAX 500
#define FILE_LOOKS_MAX 5000

/* Milliseconds. */
#define TIME_MAX 700

/* A file to search, or a directory that is searched. */
struct searched {
	char *path, *name; /* judged as this one; NULL: a directory */
	char *by;
	const struct risk_rule *rule;
	enum risk_as as;
	unsigned int depth;
	bool done[2]; /* before and after the run */
};

struct ref_search {
	const struct risk_tree *tree;
	struct risk_refs *found;
	char *top; /* the directory that has the .git; git's hooks run there */
	size_t looks, refs; /* of one file */
	size_t walked; /* entries that are left of a walk */
	int64_t start; /* risk_time() */
	VEC(struct searched) sources;
	size_t of_level[RISK_CRITICAL + 1];
};

static bool is_over(const struct ref_search *s)
{
	return risk_time() - s->start > TIME_MAX;
}

/* A file that is searched, and the state of its search. */
struct ref_source {
	struct ref_search *s;
	const char *path; /* absolute */
	const char *by; /* escaped */
	const char *named; /* the files are judged as this one, or NULL */
	const struct risk_rule *rule;
	unsigned int depth;
	struct names bases; /* directories that its names begin at */
	bool code; /* no shell */
	bool reads; /* all names count */
	bool named_dir; /* and directories, too */
	bool prose; /* names behind "@" */
	/* The command: its program was read, and what follows. */
	bool variable, value; /* the word: begins with one, stands behind "=" */
	bool program, reader, file, module, dir, enter, scripts, targets;
	bool compiles; /* -c checks the file */
	bool dirs; /* the value is that of PATH */
	bool loop; /* "for" */
	char *looped; /* the directory of its names */
};

void risk_refs_free(struct risk_refs *l)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		free(l->items[i].path);
		free(l->items[i].named);
		free(l->items[i].by);
	}
	free(l->left_by);
	l->left_by = NULL;
	l->left = 0;
	VEC_FREE(l);
}

/* A limit was reached. */
static void leave(struct ref_search *s, const char *by)
{
	if (!s->found->left++)
		s->found->left_by = mem_strdup(by);
}

/* --- paths --- */

/* Appends the parts of a path. False: it leads above the start. */
static bool add_parts(struct buf *to, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			const char *slash = strrchr(buf_text(to), '/');

			if (!to->len)
				return false;
			to->len = slash ? (size_t)(slash - buf_text(to)) : 0;
		} else if (len && !(len == 1 && *path == '.')) {
			if (to->len)
				buf_add_char(to, '/');
			buf_add(to, path, len);
		}
		path += len + (path[len] == '/');
	}
	return true;
}

char *risk_refs_follow(const char *path, const char *target)
{
	auto_free char *dir = path_parent(path);
	AUTO(buf) struct buf to = {0};

	buf_add_text(&to, dir);
	return *target != '/' && add_parts(&to, target) && to.len
		       ? buf_take_text(&to)
		       : NULL;
}

/* An absolute path without "." and "..", to free. */
static char *absolute_path(const char *dir, const char *path)
{
	AUTO(buf) struct buf to = {0};

	(void)add_parts(&to, *path == '/' ? "" : dir);
	(void)add_parts(&to, path);
	return mem_printf("/%s", buf_text(&to));
}

static uint32_t look(struct ref_search *s, const char *path, bool now,
		     struct buf *target)
{
	if (s->looks >= FILE_LOOKS_MAX)
		return 0;
	s->looks++;
	return s->tree->look(s->tree->arg, path, now, target);
}

/* The mode at the end of all links; *chain gets their paths and the end. */
static uint32_t resolve_links(struct ref_search *s, const char *path, bool now,
			      struct names *chain)
{
	AUTO(buf) struct buf at = {0};
	auto_free char *rest = mem_strdup(path), *end = NULL;
	uint32_t mode = 0;
	size_t links = 0;

	while (*rest) {
		AUTO(buf) struct buf target = {0};
		size_t len = strspn(rest, "/");
		char *part, *next;

		len += strcspn(rest + len, "/");
		part = mem_strndup(rest, len);
		next = mem_strdup(rest + len);
		if (!add_parts(&at, part))
			at.len = 0;
		free(part);
		part = mem_printf("/%s", buf_text(&at));
		mode = look(s, part, now, &target);
		if (S_ISLNK(mode)) {
			char *joined =
				mem_printf("%s%s", buf_text(&target), next);

			free(next);
			next = joined;
			names_add(chain, part);
			if (*joined == '/' || !add_parts(&at, ".."))
				at.len = 0;
		}
		free(part);
		free(rest);
		rest = next;
		if (!mode || (S_ISLNK(mode) && ++links > LINKS_MAX))
			return 0;
	}
	end = mem_printf("/%s", buf_text(&at));
	names_add(chain, end);
	return mode;
}

/* The mode at the end of all links, after the run, or else before it. */
static uint32_t look_end(struct ref_search *s, const char *path)
{
	AUTO(buf) struct buf ignored = {0};
	AUTO(names) struct names chain = {0};
	uint32_t mode = look(s, path, true, &ignored);
	bool now = mode != 0;

	if (!now)
		mode = look(s, path, false, &ignored);
	return S_ISLNK(mode) ? resolve_links(s, path, now, &chain) : mode;
}

/* For people: in the root, in the home directory, or elsewhere. */
static char *shown_path(const struct ref_search *s, const char *path)
{
	AUTO(buf) struct buf text = {0};
	const char *home = s->tree->home;

	if (path_below(path, s->tree->root)) {
		path = path_rest(path, s->tree->root);
	} else if (home && path_below(path, home)) {
		buf_add_text(&text, "~/");
		path = path_rest(path, home);
	}
	text_escape_name(&text, path);
	return buf_take_text(&text);
}

/* --- the list --- */

static bool is_ref(const struct risk_ref *r, const char *path, bool below,
		   const char *named, const struct risk_rule *rule)
{
	return r->rule == rule && r->below == below &&
	       strcmp(r->path, path) == 0 &&
	       (named && r->named ? strcmp(named, r->named) == 0
				  : named == r->named);
}

static void add_ref(const struct ref_source *src, const char *path, bool below,
		    const char *named)
{
	struct risk_refs *l = src->s->found;
	const char *root = src->s->tree->root, *rest;
	size_t i;

	if (!path_below(path, root) || strcmp(path, src->path) == 0)
		return;
	rest = path_rest(path, root);
	for (i = 0; i < l->count; i++)
		if (is_ref(&l->items[i], rest, below, named, src->rule))
			return;
	if (l->count >= REFS_MAX || src->s->refs++ >= FILE_REFS_MAX)
		leave(src->s, src->by);
	else if (*rest)
		*VEC_ADD(l) = (struct risk_ref){
			.path = mem_strdup(rest),
			.below = below,
			.named = mem_strdup(named),
			.rule = src->rule,
			.by = mem_strdup(src->by),
		};
}

static bool is_searched(const struct ref_search *s, const char *path,
			enum risk_level level)
{
	size_t i;

	for (i = 0; i < s->sources.count; i++)
		if (s->sources.items[i].rule->level >= level &&
		    strcmp(s->sources.items[i].path, path) == 0)
			return true;
	return false;
}

/* from: the file that executes this one, or NULL. */
static void add_file(struct ref_search *s, const char *path, const char *name,
		     const struct ref_source *from,
		     const struct risk_rule *rule, enum risk_as as)
{
	auto_free char *shown = NULL;

	if (!rule || rule->level < RISK_HIGH ||
	    is_searched(s, path, rule->level))
		return;
	shown = shown_path(s, path);
	if (s->of_level[rule->level]++ >= SOURCES_MAX)
		leave(s, shown);
	else
		*VEC_ADD(&s->sources) = (struct searched){
			.path = mem_strdup(path),
			.name = mem_strdup(name),
			.by = from ? mem_printf("%s, from %s", shown, from->by)
				   : mem_strdup(shown),
			.rule = rule,
			.as = as,
			.depth = from ? from->depth + 1 : 0,
		};
}

static void search_dir(struct ref_search *s, const char *path, const char *name,
		       size_t levels, size_t most);

static void add_end(const struct ref_source *src, const char *end,
		    uint32_t mode)
{
	enum risk_as as = AS_NAME;
	const struct risk_rule *rule =
		src->named ? risk_name_rule(src->named, &as) : src->rule;

	if (S_ISREG(mode) && (src->named || src->depth < DEPTH_MAX))
		add_file(src->s, end, src->named ?: end,
			 src->named ? NULL : src, rule, as);
	if (!S_ISDIR(mode) || !src->named ||
	    is_searched(src->s, end, src->rule->level))
		return;
	*VEC_ADD(&src->s->sources) =
		(struct searched){.path = mem_strdup(end), .rule = src->rule};
	search_dir(src->s, end, src->named, 2, 100);
}

/* Adds all files on the way to the path's end, and searches what is there. */
static void add_chain(const struct ref_source *src, const char *path)
{
	int now;

	for (now = 0; now < 2; now++) {
		AUTO(names) struct names chain = {0};
		uint32_t mode = resolve_links(src->s, path, now, &chain);
		size_t i;

		for (i = 0; i < chain.count; i++)
			add_ref(src, chain.items[i],
				i + 1 == chain.count && S_ISDIR(mode),
				src->named);
		if (chain.count)
			add_end(src, chain.items[chain.count - 1], mode);
	}
}

/* --- the words of a command --- */

/* The name of the files in a directory that PATH gets. */
static const char path_dir[] = "@bin";

static void begin_command(struct ref_source *src)
{
	if (src->named == path_dir)
		src->named = NULL;
	src->program = src->reader = src->file = src->module = false;
	src->dir = src->enter = src->scripts = src->dirs = src->loop = false;
	src->targets = src->compiles = false;
}

/* Whether the path is a file that the command executes, or is to read. role: it
 * is the program itself. */
static bool try_path(struct ref_source *src, const char *path, bool role)
{
	uint32_t mode = look_end(src->s, path);
	bool executed = src->file ||
			(mode & 0111 && (!src->program || src->value)) ||
			(role && (!src->code || risk_is_defined("code", path)));

	if (S_ISDIR(mode) && (src->enter || src->value))
		names_add(&src->bases, path);
	if (S_ISDIR(mode) ? !src->dir && !src->named_dir
			  : !S_ISREG(mode) || (!src->reads &&
					       (!executed ||
						risk_is_defined("data", path))))
		return false;
	add_chain(src, path);
	return true;
}

static bool try_word(struct ref_source *src, const char *word, bool role)
{
	/* What an interpreter, or a manager of settings, adds to a name. */
	static const char *const ends[] = {
		".js",		".mjs",	       ".cjs",	       ".ts",
		".py",		".sh",	       ".rb",	       "/index.js",
		"/.envrc",	"/action.yml", "/action.yaml", "/__main__.py",
		"/__init__.py", "/main.go"};
	const char *home = src->s->tree->home;
	bool any = false;
	size_t i, k;

	if (strncmp(word, "~/", 2) == 0) {
		auto_free char *path =
			absolute_path(home ? home : "", word + 2);

		return home && try_path(src, path, role);
	}
	any = *word == '/' && try_path(src, word, role);
	/* Settings may begin at the project with a slash. */
	for (i = 0; !(*word == '/' && any) && i < src->bases.count && i < 8;
	     i++) {
		auto_free char *path = absolute_path(src->bases.items[i],
						     word + (*word == '/'));

		any |= try_path(src, path, role);
		for (k = 0; !any && (role || src->file || src->reads) &&
			    k < sizeof(ends) / sizeof(*ends);
		     k++) {
			auto_free char *longer =
				mem_printf("%s%s", path, ends[k]);

			any |= try_path(src, longer, role);
		}
	}
	return any;
}

/* "tools.check" behind -m, or imported. */
static void take_module(struct ref_source *src, const char *word)
{
	auto_free char *path = mem_strdup(word + strspn(word, "."));
	char *dot;

	while ((dot = strchr(path, '.')))
		*dot = '/';
	if (*path)
		(void)try_word(src, path, true);
	src->module = src->file = false;
}

/* Whether the program of a command, or what stands in front of one, was read.
 */
static void take_program(struct ref_source *src, const char *word)
{
	const char *name = path_name(word);

	if (src->program && !src->reader)
		src->file |= risk_is_defined("interpreters", name);
	src->scripts |= !src->program && risk_is_defined("runners", name);
	if (!src->program && strcmp(name, "run") == 0)
		src->file = true;
	if (src->program || risk_is_defined("wrappers", name))
		return;
	src->program = true;
	src->reader = risk_is_defined("readers", name);
	src->file = risk_is_defined("interpreters", name);
	src->dir = risk_is_defined("directories", name);
	if (risk_is_defined("paths", name)) {
		src->dir = true;
		src->named = path_dir;
	}
	src->enter = strcmp(name, "cd") == 0;
	src->targets = strcmp(name, "make") == 0;
	src->compiles = risk_is_defined("compilers", name);
	src->loop = strcmp(name, "for") == 0;
	src->module =
		src->code && src->rule->level == RISK_CRITICAL &&
		(strcmp(name, "import") == 0 || strcmp(name, "from") == 0);
}

static void search_line(struct ref_source *src, const char *line);

/* Searches the commands of a script of package.json, or of a makefile's target.
 */
static void search_target(struct ref_source *src, const char *path, bool now,
			  const char *name)
{
	const struct risk_tree *tree = src->s->tree;
	const bool make = src->targets;
	auto_free char *place = mem_printf("scripts.%s", name);
	AUTO(risk_lines) struct risk_lines lines = {0};
	AUTO(buf) struct buf bytes = {0};
	const size_t len = strlen(name);
	bool in = false, joined = false;
	struct err ignored;
	size_t i;

	if (!tree->read(tree->arg, path, now, &bytes) ||
	    risk_lines_parse(make ? SETTINGS_MAKE : SETTINGS_JSON, &bytes,
			     &lines, &ignored) <= 0)
		return;
	for (i = 0; i < lines.count; i++) {
		const struct risk_line *line = &lines.items[i];
		const char *text = line->text;

		if (!make) {
			in = strcmp(line->path, place) == 0;
		} else if (*text && !*line->path) {
			in = strncmp(text, name, len) == 0 &&
			     text[len + strspn(text + len, " \t")] == ':';
			continue;
		}
		if (!in)
			continue;
		if (!joined)
			begin_command(src);
		search_line(src, text + strspn(text, "@+-"));
		joined = path_ends(text, "\\");
	}
}

/* npm runs a script by its name, make a target. */
static void take_target(struct ref_source *src, const char *name)
{
	static const char *const files[] = {"package.json", "Makefile",
					    "makefile", "GNUmakefile"};
	const size_t bases = src->bases.count;
	const bool make = src->targets;
	size_t i, k;

	src->depth++;
	for (i = 0; src->depth <= DEPTH_MAX && i < 2 * bases; i++)
		for (k = make; k < (make ? ARRAY_SIZE(files) : 1); k++) {
			auto_free char *path =
				path_join(src->bases.items[i / 2], files[k]);

			src->targets = make;
			search_target(src, path, i % 2, name);
		}
	src->depth--;
	begin_command(src);
	take_program(src, make ? "make" : name);
}

/* A file that a program loads, "./x". A program of a routine command loads the
 * project itself. */
static bool is_import(const struct ref_source *src, const char *word)
{
	return src->rule->level == RISK_CRITICAL && *word == '.';
}

/* All files of the directory are executed. */
static void try_dir(struct ref_source *src, const char *word)
{
	bool was = src->dir;

	src->dir = src->rule->level == RISK_CRITICAL;
	(void)try_word(src, word, false);
	src->dir = was;
}

static void take_word(struct ref_source *src, const char *word)
{
	bool first = !src->program && !src->value && !src->dirs;
	bool path = strchr(word, '/');
	const char *star = strchr(word, '*');

	if (src->module && *word != '-') {
		take_module(src, word);
		return;
	}
	if (src->scripts && strncmp(word, "run", 3) != 0 && *word != '-' &&
	    !strpbrk(word, "/.")) {
		take_target(src, word);
		return;
	}
	if (src->targets && *word && !src->value) {
		if (src->enter)
			(void)try_word(src, word, false);
		else if (*word != '-')
			take_target(src, word);
		src->enter = strcmp(word, "-C") == 0;
		return;
	}
	if (src->looped && !*word && (first || src->file))
		try_dir(src, src->looped);
	src->module |= src->file && strcmp(word, "-m") == 0;
	src->file &= !risk_is_defined("checks", word);
	src->file |= strcmp(word, "-f") == 0 || (first && !*word);
	if (src->file && strcmp(word, "-c") == 0) {
		if (src->compiles)
			src->file = false;
		else
			begin_command(src);
	}
	/* A variable may be any program. */
	src->program |= first && !*word;
	if (!*word || *word == '-' || (src->reader && !src->reads) ||
	    (src->prose && *word++ != '@'))
		return;
	if (path && src->s->looks >= FILE_LOOKS_MAX) {
		leave(src->s, src->by);
		return;
	}
	if (src->variable && *word == '/')
		word++;
	if (star && path && src->loop) {
		free(src->looped);
		src->looped = mem_strndup(word, (size_t)(star - word));
	} else if (star) {
		auto_free char *dir = mem_strndup(word, (size_t)(star - word));

		if (path && src->file)
			try_dir(src, dir);
	} else if ((path || src->file || src->reads || src->dir || src->enter ||
		    src->value) &&
		   try_word(src, word,
			    src->code ? is_import(src, word) : first && path)) {
		src->file = false;
	}
	if (!src->value && !src->dirs)
		take_program(src, word);
}

/* Behind a variable: $NAME, ${...}, $(...) in front of a slash. NULL: it is a
 * command of its own. */
static const char *skip_variable(const char *at)
{
	const char *end = at + 1;
	char open = *end, close = open == '(' ? ')' : '}';
	int depth = 0;

	if (open != '(' && open != '{') {
		while (isalnum((unsigned char)*end) || *end == '_')
			end++;
		return end + (end == at + 1 && *end && strchr("@*#?$!-", *end));
	}
	/* Only short ones: each begins a search for its end. */
	for (; *end && end - at < 200; end++) {
		depth += (*end == open) - (*end == close);
		if (!depth)
			break;
	}
	end += *end != '\0';
	if (open == '(' && end[strspn(end, "\"'")] != '/')
		return NULL;
	return end;
}

/* One word; returns its end. */
static const char *read_word(struct ref_source *src, const char *at)
{
	AUTO(buf) struct buf word = {0};

	src->variable = false;

	while (*at && !strchr(" \t,[]<>=;|&()`{}!", *at) &&
	       !(src->dirs && *at == ':')) {
		const char *end = *at == '$' ? skip_variable(at) : NULL;

		/* The home directory, as units of systemd have it. */
		if (!word.len && strncmp(at, "%h/", 3) == 0)
			end = at + 2;
		if (*at == '$' && !end) {
			begin_command(src);
			return at + 2;
		}
		if (end && (*at == '%' || strncmp(at, "$HOME/", 6) == 0 ||
			    strncmp(at, "${HOME}/", 8) == 0))
			buf_add_char(&word, '~');
		else if (end)
			src->variable |= !word.len;
		else if (*at == '\\' && at[1])
			buf_add_char(&word, *++at);
		else if ((*at == '"' || *at == '\'') && at[1] != '/' &&
			 (word.len || src->variable))
			break;
		else if (*at != '"' && *at != '\'')
			buf_add_char(&word, *at);
		at = end ? end : at + 1;
	}
	/* The name in front of "=" or ":" is none of a file. */
	if (word.len && buf_text(&word)[word.len - 1] == ':')
		begin_command(src);
	else if (*at != '=')
		take_word(src, buf_text(&word));
	src->value = *at == '=';
	if (src->value && !src->named &&
	    risk_is_defined("paths", buf_text(&word))) {
		src->value = false;
		src->dirs = src->dir = true;
		src->named = path_dir;
	}
	return at;
}

static void search_line(struct ref_source *src, const char *line)
{
	const char *at = line;

	src->value = src->variable = false;
	if (strncmp(at, "//", 2) == 0)
		return;
	while (*at) {
		if (*at == '#' && (at == line || strchr(" \t;(", at[-1])))
			return;
		if (strncmp(at, "[ -", 3) == 0 || strncmp(at, "[[ ", 3) == 0 ||
		    strncmp(at, "[ ! ", 4) == 0)
			src->program = src->reader = true;
		if (strchr(";|&()`{}!", *at) || (src->dirs && *at == ' ')) {
			begin_command(src);
			at++;
		} else if (strchr(" \t,[]<>=\"':", *at)) {
			src->value &= *at != ' ';
			at++;
		} else {
			at = read_word(src, at);
		}
	}
}

/* --- files --- */

/* The value of a line of settings. */
static const char *line_value(enum settings_format format, const char *text)
{
	size_t len;

	if (format == SETTINGS_GIT || format == SETTINGS_TOML ||
	    format == SETTINGS_INI) {
		text += strcspn(text, "=");
		return text + (*text == '=');
	}
	if (format != SETTINGS_YAML)
		return text;
	while (*text == '-' && (text[1] == ' ' || text[1] == '\t'))
		text += 1 + strspn(text + 1, " \t");
	len = strcspn(text, ": \t");
	return text[len] == ':' && (!text[len + 1] || text[len + 1] == ' ')
		       ? text + len + 1
		       : text;
}

/* Whether a value goes on with the command of the last one: an array of JSON,
 * or the arguments beside a command. */
static bool continues_command(const struct risk_lines *lines, const char *last,
			      const char *path)
{
	size_t parent = strlen(path) - strlen("args");

	return (lines->keyed && strcmp(last, path) == 0) ||
	       (path_ends(path, "args") && strncmp(last, path, parent) == 0 &&
		!strchr(last + parent, '.'));
}

/* A value of git's configuration without its quotes. */
static char *git_value(const char *line)
{
	const char *at = strchr(line, '=');
	AUTO(buf) struct buf value = {0};

	at = at ? at + 1 : "";
	for (at += strspn(at, " \t"); *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			continue;
		buf_add_char(&value, *at);
	}
	return buf_take_text(&value);
}

static void search_lines(struct ref_source *src, const struct rule *rule,
			 enum settings_format format,
			 const struct risk_lines *lines)
{
	auto_free char *named = NULL;
	const char *last = "";
	bool joined = false;
	size_t i, k;

	src->reads = strcmp(rule->rule.id, "reads") == 0;
	src->enter = false;
	named = rule->files.count ? mem_strdup(rule->files.items[0].globs)
				  : NULL;
	/* "X/" is a directory. */
	src->named_dir = named && path_ends(named, "/");
	if (src->named_dir)
		named[strlen(named) - 1] = '\0';
	src->named = named;
	src->prose = format == SETTINGS_PROSE;
	for (i = 0; i < lines->count; i++) {
		const struct risk_line *line = &lines->items[i];
		const char *text = line_value(format, line->text);
		size_t len = strlen(text);
		bool holds = !rule->conditions.count;

		if (i % RISK_LINES_OF_TIME == 0 && is_over(src->s)) {
			leave(src->s, src->by);
			break;
		}
		for (k = 0; k < rule->conditions.count; k++)
			holds |= risk_condition_holds(
				&rule->conditions.items[k], false, line);
		if (!holds || len > RISK_LINE_MAX)
			continue;
		if (!joined && !continues_command(lines, last, line->path))
			begin_command(src);
		src->file |= path_ends(line->path, "args");
		last = line->path;
		src->enter |= strcmp(rule->rule.id, "enters") == 0;
		if (src->reads && format == SETTINGS_GIT) {
			auto_free char *value = git_value(line->text);

			src->value = src->variable = false;
			take_word(src, value);
			/* husky executes the files beside its own. */
			if (src->named_dir && path_ends(value, ".husky/_")) {
				value[strlen(value) - 2] = '\0';
				take_word(src, value);
			}
		} else {
			search_line(src, text);
		}
		joined = len && text[len - 1] == '\\';
	}
	src->reads = src->named_dir = src->prose = false;
	src->named = NULL;
}

/* A program in another language than that of a shell. */
static bool is_code(const char *name, const struct buf *bytes)
{
	const char *text = bytes->len ? (const char *)bytes->data : "";
	const char *end = memchr(text, '\n', bytes->len);
	auto_free char *line =
		mem_strndup(text, end ? (size_t)(end - text) : bytes->len);

	return risk_is_defined("code", path_name(name)) ||
	       risk_is_defined("code", line);
}

/* name: what the file is judged as. */
static void search_bytes(struct ref_source *src, const char *name,
			 enum risk_as as, const struct buf *bytes)
{
	const struct rule_list *l = rule_list_shipped(RULES_LINES);
	AUTO(risk_lines) struct risk_lines lines = {0};
	enum settings_format format;
	static const struct rule all = {.rule = {.id = "runs"}};
	bool any = false;
	struct err ignored;
	size_t i;

	if (as == AS_AGENT)
		as = risk_agent_as(name, bytes);
	format = risk_format_of(name, as);
	src->code = format == SETTINGS_PLAIN && is_code(name, bytes);
	for (i = 0; i < l->count && !any; i++)
		any = l->items[i].lines == as && as != AS_NAME &&
		      l->items[i].rule.level == RISK_NONE;
	if ((!any && src->rule->level != RISK_CRITICAL &&
	     strcmp(src->rule->id, "hook-manager") != 0 && !src->depth) ||
	    (as == AS_EDITOR && path_ends(name, "tasks.json") &&
	     !buf_has(bytes, "folderOpen")) ||
	    risk_lines_parse(format, bytes, &lines, &ignored) <= 0)
		return;
	for (i = 0; i < l->count && any; i++)
		if (l->items[i].lines == as &&
		    l->items[i].rule.level == RISK_NONE)
			search_lines(src, &l->items[i], format, &lines);
	if (!any)
		search_lines(src, &all, format, &lines);
}

static void search_file(struct ref_search *s, const struct searched *f,
			bool now)
{
	auto_free char *dir = path_parent(f->path);
	const char *git = strstr(f->path, "/.git/");
	auto_free char *work =
		git ? mem_strndup(f->path, (size_t)(git - f->path)) : NULL;
	struct ref_source src = {.s = s,
				 .path = f->path,
				 .by = f->by,
				 .rule = f->rule,
				 .depth = f->depth};
	AUTO(buf) struct buf bytes = {0};

	s->looks = s->refs = 0;
	if (is_over(s)) {
		leave(s, f->by);
		return;
	}
	if (!s->tree->read(s->tree->arg, f->path, now, &bytes) ||
	    risk_has_nul(&bytes))
		return;
	names_add(&src.bases, dir);
	/* A package's scripts run in its directory, and the hooks of a nested
	 * repository in its work tree. */
	if (work && strcmp(work, s->tree->root) != 0 &&
	    path_below(work, s->tree->root)) {
		names_add(&src.bases, work);
	} else if (f->as != AS_NPM) {
		names_add(&src.bases, s->tree->root);
		if (s->top && strcmp(s->top, s->tree->root) != 0)
			names_add(&src.bases, s->top);
	}
	search_bytes(&src, f->name, f->as, &bytes);
	names_free(&src.bases);
	free(src.looped);
}

/* Also what the files add. phases: 2 are the files as before the run. */
static void search_files(struct ref_search *s, int phases)
{
	int phase = 0;

	while (phase < phases) {
		const size_t count = s->sources.count;
		const bool now = phase / 2;
		size_t i;

		for (i = 0; i < s->sources.count; i++) {
			struct searched f = s->sources.items[i];

			if (!f.name || f.done[now] ||
			    (f.rule->level == RISK_CRITICAL) == phase % 2)
				continue;
			s->sources.items[i].done[now] = true;
			search_file(s, &f, now);
		}
		phase = s->sources.count > count ? 0 : phase + 1;
	}
}

/* A file or link of this name. */
static void search_entry(struct ref_search *s, const char *path,
			 const char *name, uint32_t mode)
{
	enum risk_as as = AS_NAME;
	const struct risk_rule *rule = risk_name_rule(name, &as);
	struct ref_source src = {.s = s, .path = path, .named = name};
	auto_free char *by = NULL;

	if (!rule && S_ISLNK(mode))
		rule = risk_link_rule(name);
	if (!rule || rule->level < RISK_HIGH ||
	    risk_is_defined("records", name))
		return;
	if (!S_ISLNK(mode)) {
		add_file(s, path, name, NULL, rule, as);
		return;
	}
	s->looks = s->refs = 0;
	src.by = by = shown_path(s, path);
	src.rule = rule;
	add_chain(&src, path);
}

/* --- directories --- */

struct ref_walk {
	struct ref_search *s;
	const char *path, *name;
	bool hidden; /* only such directories */
};

static void search_git(struct ref_search *s, const char *dir);

/* Most files of a project: no such name is searched outside of hidden
 * directories, and the rules need not be asked. */
static bool is_plain_code(const char *name)
{
	static const char *const ends[] = {".c",  ".h",	 ".cc", ".cpp",
					   ".py", ".js", ".ts", ".tsx",
					   ".go", ".rs", ".sh", NULL};
	const char *end = strrchr(name, '.');

	return end && *name != '.' && !strstr(name, "/.") &&
	       mem_list_has(ends, end);
}

static bool walk_entry(void *arg, const char *path,
		       const struct dirlist_item *item)
{
	const struct ref_walk *w = arg;
	auto_free char *name = path_join(w->name, path_rest(path, w->path));

	if (!w->s->walked)
		return false;
	w->s->walked--;
	if (strcmp(item->name, ".git") == 0) {
		auto_free char *dir = path_parent(path);

		search_git(w->s, dir);
		return false;
	}
	if (item->type == DT_LNK ||
	    (item->type == DT_REG && !is_plain_code(name)))
		search_entry(w->s, path, name, DTTOIF(item->type));
	return !risk_is_generated(item->name) && (!w->hidden || *name == '.') &&
	       strcmp(path, w->s->tree->root) != 0;
}

static void search_dir(struct ref_search *s, const char *path, const char *name,
		       size_t levels, size_t most)
{
	struct ref_walk w = {s, path, name, false};
	const size_t walked = s->walked;

	s->walked = WALKED_MAX;
	dirtree_levels(path, levels, most, NULL, walk_entry, &w);
	s->walked = walked;
}

/* The first line of a file of git, behind the text; NULL: it has none. */
static char *read_git_line(struct ref_search *s, const char *path,
			   const char *before)
{
	AUTO(buf) struct buf text = {0};
	const char *line;

	if (!s->tree->read(s->tree->arg, path, false, &text))
		return NULL;
	line = buf_text(&text);
	if (strncmp(line, before, strlen(before)) != 0)
		return NULL;
	line += strlen(before);
	return mem_strndup(line, strcspn(line, "\n"));
}

/* The repository of a work tree. */
static void search_git(struct ref_search *s, const char *dir)
{
	static const char *const names[] = {"config", "config.worktree"};
	auto_free char *entry = path_join(dir, ".git");
	auto_free char *target = read_git_line(s, entry, "gitdir: ");
	auto_free char *git =
		target ? absolute_path(dir, target) : mem_strdup(entry);
	auto_free char *at = path_join(git, "commondir");
	auto_free char *common = read_git_line(s, at, "");
	auto_free char *main_dir =
		common ? absolute_path(git, common) : mem_strdup(git);
	auto_free char *hooks = path_join(main_dir, "hooks");
	size_t i;

	for (i = 0; i < 2; i++) {
		auto_free char *path = path_join(i ? git : main_dir, names[i]);
		auto_free char *name = path_join(".git", names[i]);

		search_entry(s, path, name, S_IFREG);
	}
	if (S_ISLNK(look(s, hooks, false, &(struct buf){0})))
		search_entry(s, hooks, ".git/hooks", S_IFLNK);
	else
		search_dir(s, hooks, ".git/hooks", 2, 100);
}

/* Sets the directory of the repository that the root lies in; searches the
 * directories between both. */
static void search_above(struct ref_search *s)
{
	auto_free char *dir = mem_strdup(s->tree->root);
	AUTO(names) struct names between = {0};
	size_t i;

	for (i = 0; *dir && i < WALKED_LEVELS; i++) {
		auto_free char *git = path_join(dir, ".git");
		AUTO(buf) struct buf ignored = {0};
		char *up;

		if (i)
			names_add(&between, dir);
		if (look(s, git, false, &ignored)) {
			s->top = TAKE(dir);
			break;
		}
		up = path_parent(dir);
		free(dir);
		dir = up;
	}
	for (i = 0; s->top && i < between.count; i++) {
		struct ref_walk w = {s, between.items[i], "", true};

		s->walked = WALKED_MAX;
		dirtree_levels(w.path, 3, 100, NULL, walk_entry, &w);
	}
}

static bool search_home_name(void *arg, const char *path, bool directory)
{
	struct ref_search *s = arg;
	auto_free char *full_path = path_join(s->tree->home, path);
	AUTO(buf) struct buf ignored = {0};
	uint32_t mode = s->tree->look(s->tree->arg, full_path, false, &ignored);
	struct ref_walk w = {s, full_path, path, false};

	if (mode && !S_ISDIR(mode))
		search_entry(s, full_path, path, mode);
	s->walked = WALKED_HOME;
	if (S_ISDIR(mode) && directory)
		dirtree_levels(full_path, 3, DIRS_HOME, NULL, walk_entry, &w);
	return S_ISDIR(mode);
}

static int compare_refs(const void *a, const void *b)
{
	const struct risk_ref *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void risk_refs_find(const struct risk_tree *tree, char *const *changed,
		    bool is_home, struct risk_refs *ret)
{
	struct ref_search s = {
		.tree = tree, .found = ret, .start = risk_time()};
	size_t i;

	if (tree->home && *tree->home) {
		auto_free char *git =
			path_join(tree->home, ".config/git/config");

		risk_each_critical_name(search_home_name, &s);
		search_entry(&s, git, ".gitconfig", S_IFREG);
	}
	if (!is_home) {
		search_above(&s);
		search_dir(&s, tree->root, "", WALKED_LEVELS, WALKED_MAX);
	}
	/* Before what the run adds. */
	search_files(&s, 2);
	for (i = 0; changed[i]; i++) {
		auto_free char *path = path_join(tree->root, changed[i]);
		AUTO(buf) struct buf ignored = {0};

		search_entry(&s, path, changed[i],
			     tree->look(tree->arg, path, true, &ignored));
	}
	search_files(&s, 4);
	for (i = 0; i < s.sources.count; i++) {
		free(s.sources.items[i].path);
		free(s.sources.items[i].name);
		free(s.sources.items[i].by);
	}
	VEC_FREE(&s.sources);
	free(s.top);
	VEC_SORT(ret, compare_refs);
}

/* --- changed paths --- */

const struct risk_rule *risk_refs_rule(const struct risk_refs *refs,
				       const char *path, enum risk_as *ret_as,
				       const struct risk_ref **ret)
{
	const struct risk_rule *best = NULL;
	auto_free char *dir = refs && refs->count ? mem_strdup(path) : NULL;
	size_t len = dir ? strlen(path) : 0, i;

	for (; len; len--) {
		if (path[len] && path[len] != '/')
			continue;
		dir[len] = '\0';
		for (i = INDEX_BY_TEXT(dir, refs->items, refs->count, path);
		     i < refs->count && strcmp(refs->items[i].path, dir) == 0;
		     i++) {
			const struct risk_ref *r = &refs->items[i];
			const struct risk_rule *rule = r->rule;
			enum risk_as as = AS_NAME;

			if (path[len] && !r->below)
				continue;
			if (r->named && (path[len] || !r->below)) {
				auto_free char *name = path_join(
					r->named, path + len + !!path[len]);

				rule = risk_name_rule(name, &as);
				if (!rule && !path[len])
					rule = r->rule;
			}
			if (!rule || (best && rule->level <= best->level))
				continue;
			best = rule;
			*ret_as = as;
			*ret = r;
		}
	}
	return best;
}

enum risk_level risk_refs_level(const struct risk_refs *refs, const char *path)
{
	const struct risk_ref *ignored;
	enum risk_as as;
	const struct risk_rule *rule =
		risk_refs_rule(refs, path, &as, &ignored);

	return rule ? rule->level : RISK_NONE;
}
