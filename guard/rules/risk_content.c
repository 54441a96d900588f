/*
 * Lines that a change adds to a file that is executed later, or to settings.
 * The conditions of a rule match them by their place and their text; only added
 * lines count, and for a few rules removed ones. A file whose change has no
 * such line is a note.
 */
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/rules/risk_private.h"

/* A condition of a rule, for the lines of a file. */
struct line_rule {
	const struct risk_rule *rule;
	struct rule_condition *condition;
};

struct line_rules {
	struct line_rule *items;
	size_t count, capacity;
};

static void add_conditions(const struct rule *r, struct line_rules *to)
{
	size_t i;

	for (i = 0; i < r->conditions.count; i++)
		*VEC_ADD(to) =
			(struct line_rule){&r->rule, &r->conditions.items[i]};
}

static void add_class(const struct rule_list *l, enum risk_as as,
		      struct line_rules *to)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (l->items[i].lines == as &&
		    l->items[i].rule.level != RISK_NONE)
			add_conditions(&l->items[i], to);
}

bool risk_condition_holds(struct rule_condition *c, bool removed,
			  const struct risk_line *line)
{
	struct err ignored;

	if (c->on != ON_BOTH && (c->on == ON_REMOVED) != removed)
		return false;
	/* All expressions of guard's own can be compiled (tests/lint/texts.c).
	 */
	if (rule_condition_compile(c, &ignored) < 0)
		abort();
	if (c->at && regexec(&c->at_regex, line->path, 0, NULL, 0) != 0)
		return false;
	return !c->text || strlen(line->text) > RISK_LINE_MAX ||
	       (regexec(&c->text_regex, line->text, 0, NULL, 0) == 0) !=
		       (c->on == ON_OTHER);
}

bool risk_is_defined(const char *list, const char *word)
{
	const struct rule_list *l = rule_list_shipped(RULES_LINES);
	const struct risk_line line = {.path = "", .text = word};
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->items[i].rule.id, list) == 0)
			return strlen(word) <= RISK_LINE_MAX &&
			       risk_condition_holds(
				       &l->items[i].conditions.items[0], false,
				       &line);
	return false;
}

/* How many lines of a side match. A line counts once for an id. */
static size_t match_side(const struct line_rules *rules, bool removed,
			 const struct risk_lines *lines, struct risks *ret)
{
	size_t matches = 0, i, k;

	for (i = 0; i < lines->count; i++) {
		const struct risk_line *line = &lines->items[i];
		const char *done = NULL;

		if (i % RISK_LINES_OF_TIME == 0 && risk_is_late())
			break;

		for (k = 0; line->added && k < rules->count; k++) {
			const struct risk_rule *rule = rules->items[k].rule;

			struct rule_condition *c = rules->items[k].condition;

			if ((done && strcmp(done, rule->id) == 0) ||
			    (lines->deleted && c->file_stays) ||
			    !risk_condition_holds(c, removed, line))
				continue;
			done = rule->id;
			risk_add_line(ret, rule, RISK_NONE,
				      removed ? 0 : line->number,
				      removed ? lines->deleted ? "deleted"
							       : "removed"
				      : lines->keyed ? line->path
						     : NULL,
				      line->text);
			matches++;
		}
	}
	return matches;
}

static size_t match_class(enum risk_as as, const struct risk_lines *old,
			  const struct risk_lines *now, struct risks *ret)
{
	struct line_rules rules = {0};
	size_t matches;

	add_class(rule_list_shipped(RULES_LINES), as, &rules);
	add_class(rule_list_users(), as, &rules);
	matches = match_side(&rules, false, now, ret) +
		  match_side(&rules, true, old, ret);
	VEC_FREE(&rules);
	return matches;
}

/* --- words of the old file --- */

static void add_word(struct names *to, const char *text, size_t len)
{
	*VEC_ADD(to) = mem_strndup(text, len);
}

/* words: sorted. */
static bool has_word(const struct names *words, const char *text, size_t len)
{
	auto_free char *word = mem_strndup(text, len);

	return words->count &&
	       bsearch(&word, words->items, words->count, sizeof(*words->items),
		       sorted_compare_texts);
}

/* --- actions of CI --- */

/* "owner/name@ref" behind "uses:", or NULL. */
static const char *action_of(const struct risk_line *line)
{
	const char *text = line->text;

	while (*text == '-' || *text == ' ' || *text == '\t')
		text++;
	if (strncmp(text, "uses:", 5) != 0)
		return NULL;
	text += 5;
	return text + strspn(text, " \t\"'");
}

static bool is_pinned(const char *action)
{
	const char *at = strchr(action, '@');

	return at && strspn(at + 1, "0123456789abcdef") >= 40;
}

/* "owner/", and "owner/name@" of actions that have a hash, sorted. */
static void list_actions(const struct risk_lines *old, struct names *owners,
			 struct names *pinned)
{
	size_t i;

	for (i = 0; i < old->count; i++) {
		const char *action = action_of(&old->items[i]);

		if (!action)
			continue;
		add_word(owners, action, strcspn(action, "/") + 1);
		if (is_pinned(action))
			add_word(pinned, action, strcspn(action, "@") + 1);
	}
	VEC_SORT(owners, sorted_compare_texts);
	VEC_SORT(pinned, sorted_compare_texts);
}

static size_t judge_actions(const struct risk_lines *old,
			    const struct risk_lines *now, struct risks *ret)
{
	AUTO(names) struct names owners = {0};
	AUTO(names) struct names pinned = {0};
	size_t matches = 0, i;

	list_actions(old, &owners, &pinned);
	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];
		const char *action = action_of(line);
		const char *rule = NULL;

		if (!line->added || !action || strncmp(action, "./", 2) == 0)
			continue;
		if (strncmp(action, "actions/", 8) != 0 &&
		    !has_word(&owners, action, strcspn(action, "/") + 1))
			rule = "ci-action";
		else if (!is_pinned(action) &&
			 has_word(&pinned, action, strcspn(action, "@") + 1))
			rule = "ci-tag";
		if (rule)
			risk_add_line(ret, risk_rule(rule), RISK_NONE,
				      line->number, NULL, line->text);
		matches += rule != NULL;
	}
	return matches;
}

/* --- hosts of lock files --- */

/* The host of the first URL of a line; its length, or 0. */
static size_t host_of(const char *text, const char **ret_host)
{
	const char *at = strstr(text, "://");

	if (!at)
		return 0;
	*ret_host = at + 3;
	return strcspn(at + 3, "/ \t\"':");
}

static bool is_registry(const char *host, size_t len)
{
	auto_free char *name = mem_strndup(host, len);

	return risk_is_defined("registries", name);
}

static size_t judge_hosts(const struct risk_lines *old,
			  const struct risk_lines *now, struct risks *ret)
{
	AUTO(names) struct names had = {0};
	const char *host;
	size_t matches = 0, len, i;

	for (i = 0; i < old->count; i++) {
		len = host_of(old->items[i].text, &host);
		if (len)
			add_word(&had, host, len);
	}
	VEC_SORT(&had, sorted_compare_texts);
	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];

		/* Addresses of donations are not loaded. */
		if (!line->added || strstr(line->path, "funding"))
			continue;
		len = host_of(line->text, &host);
		if (!len || is_registry(host, len) || has_word(&had, host, len))
			continue;
		risk_add_line(ret, risk_rule("lock-host"), RISK_NONE,
			      line->number, now->keyed ? line->path : NULL,
			      line->text);
		matches++;
	}
	return matches;
}

/* --- any file --- */

/* Lines behind this text are comments; NULL: the format has none. */
static const char *comment_of(const char *name, enum settings_format format)
{
	if (format == SETTINGS_JSON || format == SETTINGS_PROSE ||
	    risk_is_defined("without-comments", name))
		return NULL;
	return risk_is_defined("slash-comments", name) ? "//" : "#";
}

enum settings_format risk_format_of(const char *path, enum risk_as as)
{
	static const struct {
		const char *glob;
		enum settings_format format;
	} formats[] = {
		{"*.yml", SETTINGS_YAML},
		{"*.yaml", SETTINGS_YAML},
		{"*.toml", SETTINGS_TOML},
		{"*.json", SETTINGS_JSON},
		{"*.jsonc", SETTINGS_JSON},
		{"*.lock", SETTINGS_PLAIN},
		{"*.cfg", SETTINGS_INI},
		{"*.ini", SETTINGS_INI},
		{"Pipfile", SETTINGS_TOML},
		{"*.code-workspace", SETTINGS_JSON},
		{"pip.conf", SETTINGS_INI},
		{".flake8", SETTINGS_INI},
		{".coveragerc", SETTINGS_INI},
		{"*pylintrc", SETTINGS_INI},
		{".clang*", SETTINGS_YAML},
		{"*.webmanifest", SETTINGS_JSON},
	};
	const char *name = path_name(path);
	size_t i;

	if (as == AS_GIT || as == AS_SUBMODULE)
		return SETTINGS_GIT;
	if (as == AS_MAKE)
		return SETTINGS_MAKE;
	if (as == AS_PROSE)
		return SETTINGS_PROSE;
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		if (fnmatch(formats[i].glob, name, 0) == 0)
			return formats[i].format;
	return SETTINGS_PLAIN;
}

enum risk_as risk_agent_as(const char *path, const struct buf *now)
{
	const char *name = path_name(path);

	if (now->len > 1 && memcmp(now->data, "#!", 2) == 0)
		return AS_NAME;
	if (risk_is_defined("agent-prose-names", name))
		return AS_PROSE;
	return risk_is_defined("agent-settings-names", name) ? AS_AGENT
							     : AS_NAME;
}

static size_t add_any_line(const struct risk_rule *rule,
			   const struct risk_lines *now, struct risks *ret)
{
	size_t matches = 0, i;

	for (i = 0; i < now->count; i++) {
		const struct risk_line *line = &now->items[i];

		if (!line->added)
			continue;
		risk_add_line(ret, rule, RISK_NONE, line->number,
			      now->keyed ? line->path : NULL, line->text);
		matches++;
	}
	return matches;
}

static size_t judge_lines(const struct risk_rule *rule, enum risk_as as,
			  const char *comment, struct risk_lines *old,
			  struct risk_lines *now, struct risks *ret)
{
	size_t matches;

	if (as == AS_VENV || as == AS_REPOSITORY) {
		risk_lines_compare_bytes(now, old);
		risk_lines_compare_bytes(old, now);
	} else {
		risk_lines_compare(now, old, comment);
		risk_lines_compare(old, now, comment);
	}
	matches = match_class(as, old, now, ret);
	if (as == AS_ADDED)
		matches += add_any_line(rule, now, ret);
	if (as == AS_CI)
		matches += judge_actions(old, now, ret);
	if (as == AS_LOCK)
		matches += judge_hosts(old, now, ret);
	return matches;
}

/* got: as from risk_lines_parse(). */
static void add_unparsed(int got, const struct err *err, enum risk_level level,
			 struct risks *ret)
{
	auto_free char *text =
		got < 0 ? mem_printf("cannot be read (%s): its settings are "
				     "unknown",
				     err->text)
			: mem_strdup("is not valid JSON, or has a key twice: "
				     "its settings are unknown");
	struct risk_rule rule = *risk_rule("not-parsed");

	rule.text = text;
	risk_add(ret, &rule, level);
}

/* Without an old side that can be parsed, all lines are new. */
static void parse_old(enum settings_format format, const struct buf *old,
		      struct risk_lines *before, struct risks *ret)
{
	struct err err;
	int got = risk_has_nul(old)
			  ? 0
			  : risk_lines_parse(format, old, before, &err);

	if (got < 0)
		add_unparsed(got, &err, RISK_NOTE, ret);
	if (got <= 0)
		risk_lines_free(before);
}

/* More than blanks around lines, or the form of JSON. */
static bool has_other_lines(const struct risk_lines *a,
			    const struct risk_lines *b)
{
	size_t i = 0;

	while (i < a->count && i < b->count &&
	       strcmp(a->items[i].path, b->items[i].path) == 0 &&
	       strcmp(a->items[i].text, b->items[i].text) == 0)
		i++;
	return i < a->count || i < b->count;
}

void risk_judge_content(const char *path, const struct risk_rule *rule,
			enum risk_as as, const struct buf *old,
			const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	enum settings_format format;
	struct err err;
	int got;

	if (as == AS_AGENT)
		as = risk_agent_as(path, now);
	if (as == AS_NAME || risk_has_nul(now)) {
		risk_add(ret, rule, buf_same(old, now) ? RISK_NOTE : RISK_NONE);
		return;
	}
	format = risk_format_of(path, as);
	/* Scripts and the like beside the settings. */
	if ((as == AS_EDITOR || as == AS_CONTAINER) && format == SETTINGS_PLAIN)
		as = AS_ADDED;
	got = risk_lines_parse(format, now, &after, &err);
	if (got <= 0) {
		risk_add(ret, rule, RISK_NONE);
		add_unparsed(got, &err, RISK_NOTE, ret);
		return;
	}
	parse_old(format, old, &before, ret);
	if (judge_lines(rule, as, comment_of(path_name(path), format), &before,
			&after, ret) ||
	    as == AS_STATE || as == AS_VENV || as == AS_REPOSITORY)
		return;
	/* Instructions are followed, whatever they say. */
	risk_add(ret, rule,
		 risk_is_for_agents(as) && has_other_lines(&before, &after)
			 ? RISK_HIGH
			 : RISK_NOTE);
}

bool risk_is_for_agents(enum risk_as as)
{
	return as == AS_AGENT || as == AS_PROSE;
}

void risk_judge_deletion(const char *path, const struct risk_rule *rule,
			 enum risk_as as, const struct buf *old,
			 struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	const bool instructs = risk_is_for_agents(as) && old->len;

	if (as == AS_AGENT)
		as = risk_agent_as(path, old);
	parse_old(risk_format_of(path, as), old, &before, ret);
	before.deleted = true;
	if ((as == AS_NAME ||
	     !judge_lines(NULL, as, NULL, &before, &after, ret)) &&
	    instructs)
		risk_add_line(ret, rule, RISK_HIGH, 0, "deleted",
			      (const char *)old->data);
}

void risk_judge_shape(const char *path, const struct buf *old,
		      const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	static const struct risk_rule none = {0};
	enum risk_as as = AS_SHAPE;
	enum settings_format format = SETTINGS_JSON;
	struct err err;
	int got;

	if ((path_ends(path, ".yml") || path_ends(path, ".yaml")) &&
	    buf_has(now, "jobs:") && buf_has(now, "runs-on:")) {
		as = AS_CI;
		format = SETTINGS_YAML;
	} else if (!path_ends(path, ".json") ||
		   !(buf_has(now, "erver") || buf_has(now, "\"hooks\"") ||
		     buf_has(now, "\"permissions\"") ||
		     buf_has(now, "\"tasks\""))) {
		return;
	}
	if (risk_has_nul(now))
		return;
	got = risk_lines_parse(format, now, &after, &err);
	if (got <= 0) {
		/* Settings of a known kind, maybe made for that. */
		if (got < 0)
			add_unparsed(got, &err, RISK_HIGH, ret);
		return;
	}
	parse_old(format, old, &before, ret);
	(void)judge_lines(&none, as, format == SETTINGS_YAML ? "#" : NULL,
			  &before, &after, ret);
}

void risk_judge_user_rule(const char *path, const struct rule *rule,
			  enum risk_as as, const struct buf *old,
			  const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	enum settings_format format = SETTINGS_PLAIN;
	struct line_rules rules = {0};
	struct err ignored;
	size_t i;

	if (!rule->conditions.count) {
		if (now)
			risk_judge_content(path, &rule->rule, as, old, now,
					   ret);
		return;
	}
	add_conditions(rule, &rules);
	for (i = 0; i < rules.count; i++)
		if (rules.items[i].condition->at)
			format = risk_format_of(path, as);
	if (!now || (!risk_has_nul(now) &&
		     risk_lines_parse(format, now, &after, &ignored) > 0)) {
		if (risk_has_nul(old) ||
		    risk_lines_parse(format, old, &before, &ignored) <= 0)
			risk_lines_free(&before);
		before.deleted = !now;
		risk_lines_compare_bytes(&after, &before);
		risk_lines_compare_bytes(&before, &after);
		(void)match_side(&rules, false, &after, ret);
		(void)match_side(&rules, true, &before, ret);
	}
	VEC_FREE(&rules);
}
