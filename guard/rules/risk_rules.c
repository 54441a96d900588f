/*
 * Rules as text: guard's own (guard/rules/NAME.rules, compiled in) and the
 * user's, in one format. A line is blank, a comment or
 *
 *	LEVEL ID [GLOB [adds=REGEX]] "TEXT"	begins a rule
 *	define NAME		begins lines for which $NAME stands as a REGEX;
 *or (guard's own) lines of files that have no rule
 *	off ID [GLOB]		lowers a rule (in the user's rules only)
 *
 * or says more of the rule above. Lines of the same word are alternatives, and
 * a REGEX, an extended one, is the rest of its line. A comment there would be
 * part of it, so that a # behind a blank is refused, but for samples:
 *
 *	files CLASS GLOB...	such files have the rule
 *	lines CLASS		judges the lines of files of that class
 *	code FILE		functions of that source find it (guard's own)
 *	at REGEX		lines at such a place: "jobs.test.steps.run"
 *	adds REGEX		the change adds a line that matches
 *	adds-not REGEX		the change adds a line that does not match
 *	removes [REGEX]		the change removes such a line
 *	changes [REGEX]		the change adds or removes such a line
 *	file-stays		a deletion of the file removes no such line
 *	any-case		the expressions ignore case
 *	or			begins another condition
 *	fires PATH [[OLD] ~> NEW]
 *	silent PATH [[OLD] ~> NEW]
 *			samples: a change for which the rule has a risk, and one
 *			for which it has none; \n and \xHH in texts
 */
#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/shipped.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

static const char *const classes[] = {
	[AS_NAME] = "any",
	[AS_ADDED] = "added",
	[AS_AGENT] = "agent",
	[AS_ATTRIBUTES] = "attributes",
	[AS_CARGO] = "cargo",
	[AS_CHECKS] = "checks",
	[AS_CI] = "ci",
	[AS_CMAKE] = "cmake",
	[AS_CODE] = "code",
	[AS_CONTAINER] = "container",
	[AS_DOCKER] = "docker",
	[AS_EDITOR] = "editor",
	[AS_ENV] = "env",
	[AS_GIT] = "git",
	[AS_GO] = "go",
	[AS_IGNORES] = "ignores",
	[AS_LOCK] = "lock",
	[AS_MAKE] = "make",
	[AS_MESON] = "meson",
	[AS_NPM] = "npm",
	[AS_PRECOMMIT] = "precommit",
	[AS_PROSE] = "prose",
	[AS_PYTHON] = "python",
	[AS_REPOSITORY] = "repository",
	[AS_SHAPE] = "shape",
	[AS_SHELL] = "shell",
	[AS_STATE] = "state",
	[AS_SUBMODULE] = "submodule",
	[AS_TOOL] = "tool",
	[AS_VENV] = "venv",
};

static const char *const shipped_paths[] = {
	[RULES_CODE] = RULES_SHIPPED_DIR "/code.rules",
	[RULES_LINES] = RULES_SHIPPED_DIR "/lines.rules",
	[RULES_NAMES] = RULES_SHIPPED_DIR "/names.rules",
};

static struct rule_list shipped[RULES_SHIPPED];
static struct rule_list users;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* --- one rule --- */

static void free_rule(struct rule *r)
{
	size_t i;

	for (i = 0; i < r->conditions.count; i++) {
		struct rule_condition *c = &r->conditions.items[i];

		if (c->compiled && c->at)
			regfree(&c->at_regex);
		if (c->compiled && c->text)
			regfree(&c->text_regex);
		free(c->at);
		free(c->text);
	}
	VEC_FREE(&r->conditions);
	VEC_FREE(&r->files);
	VEC_FREE(&r->samples);
}

static void rule_list_free(struct rule_list *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free_rule(&l->items[i]);
	free(l->bytes);
	free(l->items);
	*l = (struct rule_list){0};
}

static int compile(regex_t *regex, const char *text, bool any_case,
		   struct err *err)
{
	int flags = REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0);
	int got = text ? regcomp(regex, text, flags) : 0;
	char why[128];

	if (!got)
		return 0;
	(void)regerror(got, regex, why, sizeof(why));
	return fail(err, EINVAL, "%s: %s", text_quote(text), why);
}

int rule_condition_compile(struct rule_condition *c, struct err *err)
{
	if (c->compiled)
		return 0;
	if (compile(&c->at_regex, c->at, c->any_case, err) < 0 ||
	    compile(&c->text_regex, c->text, c->any_case, err) < 0)
		return -err->num;
	c->compiled = true;
	return 0;
}

/* --- levels --- */

/* The highest level of the rules with this id; RISK_NONE: none has it. */
static enum risk_level list_level(const struct rule_list *l, const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->items[i].rule.id, id) == 0 &&
		    l->items[i].rule.level > level)
			level = l->items[i].rule.level;
	return level;
}

static enum risk_level shipped_level(const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < RULES_SHIPPED && level == RISK_NONE; i++)
		level = list_level(rule_list_shipped((enum rule_text)i), id);
	return level;
}

enum risk_level risk_id_level(const char *id)
{
	enum risk_level level = shipped_level(id);

	return level != RISK_NONE ? level : list_level(&users, id);
}

/* --- lines --- */

struct rule_parser {
	struct rule_list *to;
	bool user; /* else guard's own */
	bool compile; /* at once */
	unsigned int number; /* line number, for messages */
};

/* The rule that takes lines, the last one; NULL: none was begun. */
static struct rule *open_rule(const struct rule_parser *p)
{
	return p->to->count ? &p->to->items[p->to->count - 1] : NULL;
}

/* The last condition of a rule, at first a new one. */
static struct rule_condition *open_condition(struct rule *r)
{
	if (!r->conditions.count)
		*VEC_ADD(&r->conditions) = (struct rule_condition){0};
	return &r->conditions.items[r->conditions.count - 1];
}

static bool is_defined_name(const char *text)
{
	return *text && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789_-") == strlen(text);
}

/* Adds an alternative; $NAME: the lines that define it. */
static int join_regex(const struct rule_parser *p, char **to, const char *regex,
		      struct err *err)
{
	bool defined = *regex != '$' || !is_defined_name(regex + 1);
	char *joined;
	size_t i;

	for (i = 0; *regex == '$' && i < p->to->count; i++) {
		const struct rule *r = &p->to->items[i];

		if (r->rule.level == RISK_NONE && r->conditions.count &&
		    r->conditions.items[0].text &&
		    strcmp(r->rule.id, regex + 1) == 0) {
			regex = r->conditions.items[0].text;
			defined = true;
		}
	}
	if (!defined)
		return fail(err, EINVAL, "%s: no lines above define it",
			    text_quote(regex));
	joined = mem_printf("%s%s%s", *to ? *to : "", *to ? "|" : "", regex);
	free(*to);
	*to = joined;
	return 0;
}

/* The next word, ended by a NUL; in quotes it may have blanks, and \" and \\\\.
 * NULL: no word is left, or a quote has no end. */
static char *next_rule_word(char **at)
{
	char *from = *at + strspn(*at, " \t"), *to = from, *word = from;
	bool quoted = false;

	if (!*from)
		return NULL;
	for (; *from && (quoted || (*from != ' ' && *from != '\t')); from++) {
		if (*from == '"') {
			quoted = !quoted;
			continue;
		}
		if (quoted && *from == '\\' &&
		    (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*at = from + (*from != '\0');
	*to = '\0';
	return quoted ? NULL : word;
}

static int parse_class(const char *name, enum risk_as *ret, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i] && strcmp(classes[i], name) == 0) {
			*ret = (enum risk_as)i;
			return 0;
		}
	return fail(err, EINVAL, "no such class of files: %s",
		    text_quote(name));
}

static int add_files(struct rule *r, char *value, struct err *err)
{
	struct rule_files files = {0};
	const char *class = next_rule_word(&value);

	files.globs = value + strspn(value, " \t");
	if (!class || !*files.globs)
		return fail(err, EINVAL, "expected: files CLASS GLOB...");
	if (parse_class(class, &files.as, err) < 0)
		return -err->num;
	*VEC_ADD(&r->files) = files;
	return 0;
}

enum word_kind {
	WORD_AT,
	WORD_CASE,
	WORD_CODE,
	WORD_FILES,
	WORD_LINES,
	WORD_OR,
	WORD_SAMPLE,
	WORD_STAYS,
	WORD_TEXT,
};

static const struct rule_word {
	const char *name;
	enum word_kind kind;
	bool value; /* has to have one */
	enum rule_on on;
} words[] = {
	{"files", WORD_FILES, true},
	{"lines", WORD_LINES, true},
	{"code", WORD_CODE, true},
	{"at", WORD_AT, true},
	{"adds", WORD_TEXT, true, ON_ADDED},
	{"adds-not", WORD_TEXT, true, ON_OTHER},
	{"removes", WORD_TEXT, false, ON_REMOVED},
	{"changes", WORD_TEXT, false, ON_BOTH},
	{"any-case", WORD_CASE, false},
	{"file-stays", WORD_STAYS, false},
	{"or", WORD_OR, false},
	{"fires", WORD_SAMPLE, true},
	{"silent", WORD_SAMPLE, true},
};

static int add_to_condition(const struct rule_parser *p,
			    const struct rule_word *word, const char *value,
			    struct err *err)
{
	struct rule_condition *c = open_condition(open_rule(p));

	if (word->kind == WORD_CASE) {
		c->any_case = true;
	} else if (word->kind == WORD_STAYS) {
		c->file_stays = true;
	} else if (word->kind == WORD_AT) {
		return join_regex(p, &c->at, value, err);
	} else if (c->text && c->on != word->on) {
		return fail(err, EINVAL, "%s: it belongs below another 'or'",
			    word->name);
	} else {
		c->on = word->on;
		if (*value)
			return join_regex(p, &c->text, value, err);
	}
	return 0;
}

static int add_word(const struct rule_parser *p, const struct rule_word *word,
		    char *value, struct err *err)
{
	struct rule *r = open_rule(p);

	if (word->value && !*value)
		return fail(err, EINVAL, "%s: the value is missing",
			    word->name);
	if (word->kind != WORD_SAMPLE &&
	    (*value == '#' || strstr(value, " #") || strstr(value, "\t#")))
		return fail(err, EINVAL,
			    "%s: a comment stands on a line of its own; for "
			    "the character, write [#]",
			    word->name);
	switch (word->kind) {
	case WORD_FILES:
		return add_files(r, value, err);
	case WORD_LINES:
		return parse_class(value, &r->lines, err);
	case WORD_CODE:
		r->code = !p->user;
		return 0;
	case WORD_SAMPLE:
		*VEC_ADD(&r->samples) =
			(struct rule_sample){.fires = *word->name == 'f',
					     .text = value,
					     .number = p->number};
		return 0;
	case WORD_OR:
		*VEC_ADD(&r->conditions) = (struct rule_condition){0};
		return 0;
	default:
		return add_to_condition(p, word, value, err);
	}
}

static bool is_id(const char *text)
{
	return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
				strlen(text);
}

static struct rule *new_rule(const struct rule_parser *p, const char *id,
			     enum risk_level level, const char *text)
{
	struct rule *r = VEC_ADD(p->to);

	*r = (struct rule){.rule = {id, level, text}, .number = p->number};
	return r;
}

static int begin_rule(const struct rule_parser *p, enum risk_level level,
		      char *at, struct err *err)
{
	char *id = next_rule_word(&at), *text = next_rule_word(&at);
	char *next = next_rule_word(&at), *glob = NULL, *adds = NULL;
	struct rule *r;

	if (next) {
		glob = text;
		text = next;
		if (strncmp(text, "adds=", 5) == 0) {
			adds = text + 5;
			text = next_rule_word(&at);
		}
	}
	if (!id || !text || !*text || at[strspn(at, " \t")])
		return fail(err, EINVAL,
			    "expected: LEVEL ID GLOB [adds=REGEX] \"TEXT\"");
	if (!is_id(id))
		return fail(err, EINVAL, "%s is no id: use a-z, 0-9 and -",
			    text_quote(id));
	if (p->user && shipped_level(id) != RISK_NONE)
		return fail(err, EINVAL, "guard has a rule %s: use another id",
			    text_quote(id));
	r = new_rule(p, id, level, text);
	if (glob)
		*VEC_ADD(&r->files) = (struct rule_files){AS_NAME, glob, true};
	return adds ? join_regex(p, &open_condition(r)->text, adds, err) : 0;
}

static int add_off(const struct rule_parser *p, char *at, struct err *err)
{
	const char *id = next_rule_word(&at), *glob = next_rule_word(&at);
	enum risk_level level = id ? risk_id_level(id) : RISK_NONE;
	struct rule *r;

	if (!id || next_rule_word(&at) || (glob && *glob == '#'))
		return fail(err, EINVAL, "expected: off ID [GLOB]");
	if (level == RISK_NONE)
		return fail(err, EINVAL, "no such rule: %s", text_quote(id));
	if (level == RISK_CRITICAL)
		return fail(err, EINVAL,
			    "%s is critical and cannot be switched off",
			    text_quote(id));
	r = new_rule(p, id, RISK_NONE, NULL);
	r->off = true;
	if (glob)
		*VEC_ADD(&r->files) = (struct rule_files){AS_NAME, glob, true};
	return 0;
}

static int check_conditions(const struct rule_parser *p, const struct rule *r,
			    struct err *err)
{
	size_t i;

	for (i = 0; i < r->conditions.count; i++) {
		struct rule_condition *c = &r->conditions.items[i];

		if (!c->at && !c->text && c->on <= ON_OTHER)
			return fail(err, EINVAL, "%s: a condition is empty",
				    r->rule.id);
		if (p->compile && rule_condition_compile(c, err) < 0)
			return -err->num;
	}
	return 0;
}

static bool has_sample(const struct rule *r, bool fires)
{
	size_t i;

	for (i = 0; i < r->samples.count; i++)
		if (r->samples.items[i].fires == fires)
			return true;
	return false;
}

/* Whether the last rule is complete: the next one begins. */
static int check_rule(struct rule_parser *p, struct err *err)
{
	const struct rule *r = open_rule(p);
	unsigned int number = p->number;

	if (!r || r->off)
		return 0;
	p->number = r->number;
	if (r->rule.level == RISK_NONE && !r->conditions.count &&
	    (p->user || !r->files.count))
		return fail(err, EINVAL, "define %s: expected lines of adds",
			    r->rule.id);
	if (r->rule.level != RISK_NONE && !r->code && !r->files.count &&
	    !(r->lines && r->conditions.count))
		return fail(err, EINVAL,
			    "%s: expected a GLOB, or lines of "
			    "files, or of lines and adds or at",
			    r->rule.id);
	if (r->rule.level != RISK_NONE && !r->code && !p->user &&
	    !(has_sample(r, true) && has_sample(r, false)))
		return fail(err, EINVAL,
			    "%s: expected samples, one that fires "
			    "and one that is silent",
			    r->rule.id);
	if (check_conditions(p, r, err) < 0)
		return -err->num;
	p->number = number;
	return 0;
}

static int parse_line(struct rule_parser *p, char *line, struct err *err)
{
	static const char *const levels[] = {[RISK_NONE] = "define",
					     [RISK_NOTE] = "note",
					     [RISK_HIGH] = "high",
					     [RISK_CRITICAL] = "critical"};
	char *value = line + strcspn(line, " \t");
	size_t i, level = 0;
	bool off;

	if (!*line || *line == '#')
		return 0;
	if (*value)
		*value++ = '\0';
	value += strspn(value, " \t");
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].name, line) == 0 && open_rule(p) &&
		    !open_rule(p)->off)
			return add_word(p, &words[i], value, err);
	while (level < ARRAY_SIZE(levels) && strcmp(levels[level], line) != 0)
		level++;
	off = strcmp(line, "off") == 0 && p->user;
	/* Before the rule above is judged, which lacks a misspelt line. */
	if (level == ARRAY_SIZE(levels) && !off)
		return fail(err, EINVAL,
			    "%s: no line of the rule above, and a rule begins "
			    "with note, high, critical or off",
			    text_quote(line));
	if (check_rule(p, err) < 0)
		return -err->num;
	if (off)
		return add_off(p, value, err);
	if (level != RISK_NONE)
		return begin_rule(p, (enum risk_level)level, value, err);
	if (!is_defined_name(value))
		return fail(err, EINVAL, "expected: define NAME");
	(void)new_rule(p, value, RISK_NONE, NULL);
	return 0;
}

/* The list keeps a copy of the text, in which its words end in a NUL. */
static int parse_rules(struct rule_parser *p, const char *file,
		       const char *text, struct err *err)
{
	char *at = mem_strdup(text);
	int got = 0;

	p->to->bytes = at;
	while (*at && !got) {
		char *line = at + strspn(at, " \t");
		char *end = line + strcspn(line, "\n");

		at = end + (*end != '\0');
		while (end > line && strchr(" \t\r", end[-1]))
			end--;
		*end = '\0';
		p->number++;
		got = parse_line(p, line, err);
	}
	if (!got)
		got = check_rule(p, err);
	return got < 0 ? err_context(err, "%s:%u", text_quote(file), p->number)
		       : 0;
}

/* --- lists --- */

const struct rule_list *rule_list_shipped(enum rule_text which)
{
	struct rule_parser p = {.to = &shipped[which]};
	const char *path = shipped_paths[which];
	struct err ignored;

	(void)pthread_mutex_lock(&loading);
	/* A mistake stops guard's build (tests/lint/texts.c). */
	if (!p.to->count &&
	    parse_rules(&p, path, shipped_text(path), &ignored) < 0)
		abort();
	(void)pthread_mutex_unlock(&loading);
	return p.to;
}

const struct rule_list *rule_list_users(void)
{
	return &users;
}

int risk_rules_check(const char *path, const char *text, struct err *err)
{
	struct rule_list list = {0};
	struct rule_parser p = {.to = &list, .compile = true};
	int got = parse_rules(&p, path, text, err);

	rule_list_free(&list);
	return got;
}

int risk_user_parse(const char *text, const char *file, struct err *err)
{
	struct rule_parser p = {.to = &users, .user = true, .compile = true};

	rule_list_free(&users);
	return parse_rules(&p, file, text, err);
}

void risk_user_clear(void)
{
	rule_list_free(&users);
}

const struct risk_rule *risk_rule(const char *id)
{
	const struct rule_list *l = rule_list_shipped(RULES_CODE);
	size_t i = 0;

	while (strcmp(l->items[i].rule.id, id) != 0)
		if (++i == l->count)
			abort();
	return &l->items[i].rule;
}
