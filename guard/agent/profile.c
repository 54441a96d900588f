#include "guard/agent/profile.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/shipped.h"
#include "base/text.h"
#include "base/vec.h"

#define LINES_MAX 2000
#define VALUE_MAX 3000
#define NAME_LEN_MAX 64

enum kind { KIND_PATH, KIND_ENV, KIND_SIZE, KIND_WORDS, KIND_NONE };

static const struct word {
	const char *name;
	enum kind kind;
	bool project; /* may stand in a project's file */
	bool wild; /* wildcards are meant */
} words[PROFILE_WORDS] = {
	[PROFILE_HOME] = {"home", KIND_PATH, false, false},
	[PROFILE_SEED] = {"seed", KIND_PATH, false, false},
	[PROFILE_KEYS] = {"keys", KIND_PATH, false, true},
	[PROFILE_WRITE] = {"write", KIND_PATH, false, false},
	[PROFILE_DATA] = {"data", KIND_PATH, false, true},
	[PROFILE_CODE] = {"code", KIND_PATH, false, true},
	[PROFILE_INITIAL] = {"initial", KIND_PATH, false, true},
	[PROFILE_LOGIN] = {"login", KIND_PATH, false, false},
	[PROFILE_KEY] = {"key", KIND_ENV, false, false},
	[PROFILE_HISTORY] = {"history", KIND_PATH, false, true},
	[PROFILE_CACHE] = {"cache", KIND_PATH, false, false},
	[PROFILE_RO] = {"ro", KIND_PATH, true, false},
	[PROFILE_HIDE] = {"hide", KIND_PATH, true, false},
	[PROFILE_ENV] = {"env", KIND_ENV, false, false},
	[PROFILE_NESTED] = {"nested", KIND_NONE, false, false},
	[PROFILE_TMP_SIZE] = {"tmp-size", KIND_SIZE, false, false},
	[PROFILE_NOISE] = {"noise", KIND_PATH, false, true},
	[PROFILE_ACP] = {"acp", KIND_WORDS, false, false},
};

void profile_free(struct profile *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		free(p->items[i].value);
		free(p->items[i].text);
		free(p->items[i].where);
	}
	free(p->items);
	*p = (struct profile){0};
}

const char *profile_word_name(enum profile_word word)
{
	return words[word].name;
}

bool profile_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len && len <= NAME_LEN_MAX && *name != '.' && *name != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

/* Into the form of struct profile_item. */
static int set_item_path(struct profile_item *item, const char *value,
			 struct err *err)
{
	const char *name = words[item->word].name, *at;
	AUTO(buf) struct buf rest = {0};
	size_t len;

	item->in_home = value[0] == '~' && (value[1] == '/' || !value[1]);
	if (!item->in_home && value[0] != '/' && !item->project &&
	    item->word != PROFILE_NOISE && item->word != PROFILE_NESTED)
		return fail(err, EINVAL,
			    "%s %s: a path must begin with / or ~/", name,
			    text_quote(value));
	/* Without "." and empty parts. */
	for (at = value + item->in_home; *at; at += *at == '/') {
		len = strcspn(at, "/");
		if (len == 2 && memcmp(at, "..", 2) == 0)
			return fail(err, EINVAL,
				    "%s %s: a path must not contain '..'", name,
				    text_quote(value));
		if (len && !(len == 1 && *at == '.')) {
			if (rest.len)
				buf_add_char(&rest, '/');
			buf_add(&rest, at, len);
		}
		at += len;
	}
	if (!rest.len)
		return fail(err, EINVAL, "%s %s: the path is too general", name,
			    text_quote(value));
	item->value = !item->in_home && value[0] == '/'
			      ? mem_printf("/%s", buf_text(&rest))
			      : buf_take_text(&rest);
	return 0;
}

static int set_item_value(struct profile_item *item, const char *value,
			  struct err *err)
{
	const struct word *word = &words[item->word];
	auto_free char *path = NULL;
	const char *text;
	size_t len;

	if (word->kind == KIND_NONE) {
		len = strcspn(value, "#");
		if (*value && (!value[len] || !strchr(value + len, '=')))
			return fail(err, EINVAL,
				    "%s %s: expected FILE#KEY=VALUE or nothing",
				    word->name, text_quote(value));
		if (*value)
			return set_item_path(item, value, err);
		item->value = mem_strdup("");
		return 0;
	}
	if (!*value)
		return fail(err, EINVAL, "%s: the value is missing",
			    word->name);
	if (word->kind == KIND_SIZE && !parse_size(value))
		return fail(err, EINVAL,
			    "%s must be a size like 500M or 2G, not %s",
			    word->name, text_quote(value));
	if (word->kind == KIND_ENV) {
		len = strcspn(value, "=");
		if (!len || (value[len] && item->word == PROFILE_KEY) ||
		    strspn(value,
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789_") < len ||
		    (*value >= '0' && *value <= '9'))
			return fail(err, EINVAL,
				    "%s %s: expected NAME%s, with letters, "
				    "digits and _ in NAME",
				    word->name, text_quote(value),
				    item->word == PROFILE_ENV ? " or NAME=VALUE"
							      : "");
	}
	if (word->kind == KIND_SIZE || word->kind == KIND_ENV ||
	    word->kind == KIND_WORDS) {
		item->value = mem_strdup(value);
		return 0;
	}
	/* The path ends at the first blank, the text is the rest. */
	if (item->word == PROFILE_WRITE || item->word == PROFILE_KEYS) {
		len = strcspn(value, " \t");
		path = mem_strndup(value, len);
		text = value + len + strspn(value + len, " \t");
		if (!*text)
			return fail(err, EINVAL, "%s %s: the %s is missing",
				    word->name, text_quote(path),
				    item->word == PROFILE_WRITE ? "text"
								: "file");
		if (item->word == PROFILE_KEYS &&
		    (!strchr(path, '#') || strncmp(text, "~/", 2) != 0))
			return fail(err, EINVAL,
				    "keys %s: expected FILE#KEY,... and a file "
				    "that begins with ~/",
				    text_quote(value));
		if (set_item_path(item, path, err) < 0)
			return -err->num;
		item->text = mem_strdup(item->word == PROFILE_KEYS ? text + 2
								   : text);
		return 0;
	}
	if (!word->wild && strpbrk(value, "*?["))
		return fail(err, EINVAL,
			    "%s %s: only data, code, initial, history and "
			    "noise may have wildcards",
			    word->name, text_quote(value));
	return set_item_path(item, value, err);
}

static int add_profile_line(struct profile *p, const char *file,
			    unsigned int number, bool project, const char *line,
			    struct err *err)
{
	struct profile_item item = {.project = project};
	size_t len = strcspn(line, " \t"), i;
	auto_free char *name = mem_strndup(line, len);
	struct buf where = {0};

	for (i = 0; i < PROFILE_WORDS; i++)
		if (strcmp(words[i].name, name) == 0)
			break;
	if (i == PROFILE_WORDS)
		return fail(
			err, EINVAL, "no such word in a profile: %s; %s",
			text_quote(name),
			project ? "a project's file may use ro and hide"
				: "use home, seed, keys, write, data, code, "
				  "initial, login, key, history, cache, ro, "
				  "hide, env, nested, tmp-size, noise or acp");
	if (project && !words[i].project)
		return fail(err, EINVAL,
			    "'%s' would allow more, and a project's file may "
			    "only restrict, with ro and hide; your own "
			    "profiles are in ~/.config/guard/agents",
			    name);
	item.word = (enum profile_word)i;
	/* With the comment in it, a path would name nothing. */
	if (item.word != PROFILE_WRITE &&
	    (strstr(line, " #") || strstr(line, "\t#")))
		return fail(err, EINVAL,
			    "%s: a comment stands on a line of its own, above "
			    "this one",
			    text_quote(line));
	line += len;
	line += strspn(line, " \t");
	if (set_item_value(&item, line, err) < 0)
		return -err->num;
	/* A home and a cache are directories below the home directory. */
	if (!item.in_home &&
	    (item.word == PROFILE_HOME || item.word == PROFILE_SEED ||
	     item.word == PROFILE_KEYS || item.word == PROFILE_WRITE ||
	     item.word == PROFILE_DATA || item.word == PROFILE_CODE ||
	     item.word == PROFILE_INITIAL || item.word == PROFILE_LOGIN ||
	     item.word == PROFILE_HISTORY || item.word == PROFILE_CACHE)) {
		(void)fail(err, EINVAL, "%s %s: it must begin with ~/", name,
			   text_quote(item.value));
		free(item.value);
		free(item.text);
		return -err->num;
	}
	text_escape(&where, file, strlen(file), false);
	buf_printf(&where, ":%u", number);
	item.where = buf_take_text(&where);
	*VEC_ADD(p) = item;
	return 0;
}

int profile_parse(struct profile *p, const char *file, bool project,
		  const void *text, size_t len, struct err *err)
{
	const char *at = text, *end = at + len;
	const char *shown = text_quote(file);
	unsigned int number = 0;

	if (len > PROFILE_BYTES_MAX)
		return fail(err, EINVAL,
			    "%s: larger than %u bytes, too large for a profile",
			    shown, PROFILE_BYTES_MAX);
	while (at < end) {
		size_t n = text_line_len(at, end);
		auto_free char *line = text_trim(at, n);
		bool nul = memchr(at, '\0', n);

		at += n + (at + n < end);
		if (++number > LINES_MAX || n > VALUE_MAX)
			return fail(err, EINVAL,
				    "%s:%u: the line or the file is too long",
				    shown, number);
		if (nul)
			return fail(err, EINVAL,
				    "%s:%u: the line contains a NUL byte",
				    shown, number);
		if (!*line || *line == '#')
			continue;
		if (add_profile_line(p, file, number, project, line, err) < 0)
			return err_context(err, "%s:%u", shown, number);
	}
	return 0;
}

const struct profile_item *profile_next(const struct profile *p,
					enum profile_word word,
					const struct profile_item *after)
{
	const struct profile_item *item = after ? after + 1 : p->items;

	for (; item && item < p->items + p->count; item++)
		if (item->word == word)
			return item;
	return NULL;
}

bool profile_match(const struct profile *p, enum profile_word word,
		   const char *path)
{
	const struct profile_item *item = NULL;

	while ((item = profile_next(p, word, item)))
		if (item->in_home && !strchr(item->value, '#') &&
		    fnmatch(item->value, path,
			    FNM_PATHNAME | FNM_LEADING_DIR) == 0)
			return true;
	return false;
}

char *profile_path(const struct profile_item *item, const char *home,
		   const char *project)
{
	if (item->in_home)
		return home ? path_join(home, item->value) : NULL;
	if (item->value[0] == '/')
		return mem_strdup(item->value);
	return project ? path_join(project, item->value) : NULL;
}

const char *profile_shipped(const char *name)
{
	auto_free char *path = path_join(PROFILE_SHIPPED_DIR, name);

	return shipped_text(path);
}

const char *profile_shipped_name(size_t n)
{
	return shipped_name(PROFILE_SHIPPED_DIR, n);
}
