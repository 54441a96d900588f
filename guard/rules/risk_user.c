/*
 * The user's own rules, a line each:
 *
 *	LEVEL ID GLOB [adds=REGEX] "TEXT"
 *	off ID [GLOB]
 *
 * They are read once and hold until the end of the process.
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

struct user_rule {
	struct risk_rule rule;
	char *id, *glob, *text;
	bool has_regex;
	regex_t adds;
};

struct switched_off {
	char *id, *glob; /* glob NULL: everywhere */
};

static struct {
	VEC(struct user_rule) rules;
	VEC(struct switched_off) off;
} user;

void risk_user_clear(void)
{
	size_t i;

	for (i = 0; i < user.rules.count; i++) {
		struct user_rule *r = &user.rules.items[i];

		if (r->has_regex)
			regfree(&r->adds);
		free(r->id);
		free(r->glob);
		free(r->text);
	}
	for (i = 0; i < user.off.count; i++) {
		free(user.off.items[i].id);
		free(user.off.items[i].glob);
	}
	VEC_FREE(&user.rules);
	VEC_FREE(&user.off);
}

enum risk_level risk_user_level(const char *id)
{
	enum risk_level level = RISK_NONE;
	size_t i;

	for (i = 0; i < user.rules.count; i++)
		if (strcmp(user.rules.items[i].id, id) == 0 &&
		    user.rules.items[i].rule.level > level)
			level = user.rules.items[i].rule.level;
	return level;
}

/* --- lines --- */

/* The next word; in quotes it may have blanks, and \" and \\. To free; NULL: no
 * word is left, or a quote has no end. */
static char *next_word(const char **at)
{
	AUTO(buf) struct buf b = {0};
	const char *p = *at + strspn(*at, " \t");
	bool quoted = false;

	if (!*p)
		return NULL;
	for (; *p && (quoted || (*p != ' ' && *p != '\t')); p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (quoted && *p == '\\' && (p[1] == '"' || p[1] == '\\'))
			buf_add_char(&b, *++p);
		else
			buf_add_char(&b, *p);
	}
	*at = p;
	return quoted ? NULL : buf_take_text(&b);
}

static bool is_id(const char *text)
{
	return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
				strlen(text);
}

static int parse_off(const char *at, struct err *err)
{
	auto_free char *id = next_word(&at);
	auto_free char *glob = next_word(&at);
	auto_free char *more = next_word(&at);
	enum risk_level level;

	if (!id || more)
		return fail(err, EINVAL, "expected: off ID [GLOB]");
	level = risk_id_level(id);
	if (level == RISK_NONE)
		return fail(err, EINVAL, "no such rule: %s", text_quote(id));
	if (level == RISK_CRITICAL)
		return fail(err, EINVAL,
			    "%s is critical and cannot be switched off",
			    text_quote(id));
	*VEC_ADD(&user.off) = (struct switched_off){TAKE(id), TAKE(glob)};
	return 0;
}

static int compile_adds(struct user_rule *rule, const char *regex,
			struct err *err)
{
	int got = regcomp(&rule->adds, regex, REG_EXTENDED | REG_NOSUB);
	char text[128];

	rule->has_regex = got == 0;
	if (!got)
		return 0;
	(void)regerror(got, &rule->adds, text, sizeof(text));
	return fail(err, EINVAL, "adds=%s: %s", text_quote(regex), text);
}

static int parse_rule(enum risk_level level, const char *at, struct err *err)
{
	auto_free char *id = next_word(&at);
	auto_free char *glob = next_word(&at);
	auto_free char *word = next_word(&at);
	auto_free char *adds = NULL, *more = NULL;
	struct user_rule *rule;

	if (word && strncmp(word, "adds=", 5) == 0) {
		adds = TAKE(word);
		word = next_word(&at);
	}
	more = next_word(&at);
	if (!id || !glob || !word || !*word || more || at[strspn(at, " \t")])
		return fail(err, EINVAL,
			    "expected: LEVEL ID GLOB [adds=REGEX] \"TEXT\"");
	if (!is_id(id))
		return fail(err, EINVAL, "%s is no id: use a-z, 0-9 and -",
			    text_quote(id));
	if (risk_id_level(id) > risk_user_level(id))
		return fail(err, EINVAL, "guard has a rule %s: use another id",
			    text_quote(id));
	rule = VEC_ADD(&user.rules);
	*rule = (struct user_rule){
		.id = TAKE(id), .glob = TAKE(glob), .text = TAKE(word)};
	rule->rule = (struct risk_rule){
		.id = rule->id, .level = level, .text = rule->text};
	return adds ? compile_adds(rule, adds + 5, err) : 0;
}

static int parse_line(const char *line, struct err *err)
{
	const char *at = line;
	auto_free char *word = next_word(&at);

	if (!word || *word == '#')
		return 0;
	if (strcmp(word, "off") == 0)
		return parse_off(at, err);
	if (strcmp(word, "note") == 0)
		return parse_rule(RISK_NOTE, at, err);
	if (strcmp(word, "high") == 0)
		return parse_rule(RISK_HIGH, at, err);
	if (strcmp(word, "critical") == 0)
		return parse_rule(RISK_CRITICAL, at, err);
	return fail(err, EINVAL,
		    "%s: a line begins with note, high, critical or off",
		    text_quote(word));
}

int risk_user_parse(const char *text, const char *file, struct err *err)
{
	unsigned int number = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_free char *line = text_trim(text, len);

		number++;
		if (parse_line(line, err) < 0)
			return err_context(err, "%s, line %u", text_quote(file),
					   number);
		text += len + (text[len] == '\n');
	}
	return 0;
}

/* --- files --- */

static void match_added(const struct user_rule *rule,
			const struct risk_lines *now, struct risks *ret)
{
	size_t i;

	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];

		if (line->added &&
		    (strlen(line->text) > RISK_LINE_MAX ||
		     regexec(&rule->adds, line->text, 0, NULL, 0) == 0))
			risk_add_line(ret, &rule->rule, RISK_NONE, line->number,
				      NULL, line->text);
	}
}

/* False: the content is unknown. */
static bool read_added_lines(const struct risk_file *f, struct risk_lines *now)
{
	AUTO(buf) struct buf old_bytes = {0}, now_bytes = {0};
	AUTO(risk_lines) struct risk_lines old = {0};

	if (f->now_size > RISK_READ_MAX || f->old_size > RISK_READ_MAX ||
	    !S_ISREG(f->now_mode) || !f->read(f->arg, true, &now_bytes) ||
	    (S_ISREG(f->old_mode) && !f->read(f->arg, false, &old_bytes)))
		return false;
	if (risk_has_nul(&now_bytes))
		return true;
	risk_lines_split(FORMAT_PLAIN, &now_bytes, now);
	if (!risk_has_nul(&old_bytes))
		risk_lines_split(FORMAT_PLAIN, &old_bytes, &old);
	risk_lines_compare_bytes(now, &old);
	return true;
}

static int compare_levels(const void *a, const void *b)
{
	const struct risk *x = a, *y = b;

	return (x->level < y->level) - (x->level > y->level);
}

static void lower_switched_off(const char *path, struct risks *r)
{
	bool any = false;
	size_t i, k;

	for (i = 0; i < user.off.count; i++)
		for (k = 0; k < r->count; k++) {
			struct switched_off *off = &user.off.items[i];
			struct risk *risk = &r->items[k];

			if (risk->level != RISK_HIGH ||
			    strcmp(risk->id, off->id) != 0 ||
			    (off->glob &&
			     !risk_pattern_matches(off->glob, path)))
				continue;
			risk->level = RISK_NOTE;
			any = true;
		}
	if (any)
		VEC_SORT(r, compare_levels);
}

void risk_user_judge(const struct risk_file *f, bool complete,
		     struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines lines = {0};
	bool tried = false, known = false;
	size_t i;

	for (i = 0; i < user.rules.count && f->now_mode; i++) {
		const struct user_rule *rule = &user.rules.items[i];

		if ((!complete && rule->rule.level != RISK_CRITICAL) ||
		    S_ISDIR(f->now_mode) ||
		    !risk_pattern_matches(rule->glob, f->path))
			continue;
		if (!tried)
			known = read_added_lines(f, &lines);
		tried = true;
		if (rule->has_regex && known)
			match_added(rule, &lines, ret);
		else
			risk_add(ret, &rule->rule, RISK_NONE);
	}
	lower_switched_off(f->path, ret);
}
