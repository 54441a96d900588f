/*
 * Names of files that a tool executes, or that name commands to execute. A
 * pattern with a slash matches at any depth, too: a directory of a project can
 * be opened and built by itself. "X/" is everything below a directory X, and
 * "/X" a name at the top only.
 */
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/rules/risk_private.h"

/* Longest pattern with a wildcard. */
#define PATTERN_MAX 256

/* A pattern of a rule. A name has the first rule that matches: the critical
 * ones come first in the text. */
struct rule_pattern {
	const char *text; /* len bytes of the rule's */
	size_t len, row;
	/* Bytes without a wildcard: the first ones, or those behind a star. */
	size_t plain;
	struct rule_pattern *next; /* with the same byte, in that order */
};

static VEC(struct rule_pattern) all;

/* The rules with patterns, a row for each class of files. */
static VEC(struct name_row {
	const struct risk_rule *rule;
	enum risk_as as;
}) rows;

/* The patterns by a byte of the paths that they match: most paths have another
 * one. */
struct pattern_index {
	struct rule_pattern *by_byte[UCHAR_MAX + 1];
};

/* A pattern with a slash matches from every part of a path on, others match the
 * name. The byte is the first one of the part, or '*'; last: the last byte of
 * the name, for names that may begin with any. */
static struct pattern_index parts, names, last;
static struct rule_pattern *tops; /* without their slash */
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

static void put_first(struct rule_pattern **first, struct rule_pattern *p)
{
	p->next = *first;
	*first = p;
}

static void add_patterns(const struct rule *r, const struct rule_files *files)
{
	const char *at = files->globs;

	*VEC_ADD(&rows) = (struct name_row){&r->rule, files->as};
	while (*at) {
		size_t len = files->one ? strlen(at) : strcspn(at, " \t");

		*VEC_ADD(&all) = (struct rule_pattern){
			.text = at, .len = len, .row = rows.count - 1};
		at += len;
		at += strspn(at, " \t");
	}
}

static size_t plain_bytes(const struct rule_pattern *p)
{
	const size_t from = *p->text == '*';
	size_t n = from;

	while (n < p->len && !strchr("*?[\\", p->text[n]))
		n++;
	return n - from;
}

static void index_rule_patterns(void)
{
	const struct rule_list *l = rule_list_shipped(RULES_NAMES);
	size_t i, k;

	for (i = 0; i < l->count; i++)
		for (k = 0; k < l->items[i].files.count; k++)
			add_patterns(&l->items[i], &l->items[i].files.items[k]);
	/* Each is put in front of its list. */
	for (i = all.count; i--;) {
		struct rule_pattern *p = &all.items[i];

		unsigned char byte = (unsigned char)*p->text;
		unsigned char end = (unsigned char)p->text[p->len - 1];

		if (byte == '/') {
			p->text++;
			p->len--;
			put_first(&tops, p);
		} else if (memchr(p->text, '/', p->len)) {
			put_first(&parts.by_byte[byte], p);
		} else if (byte == '*' && !strchr("*?]", end)) {
			put_first(&last.by_byte[end], p);
		} else {
			put_first(&names.by_byte[byte], p);
		}
		p->plain = plain_bytes(p);
	}
}

static bool glob_matches(const char *rule_pattern, size_t len, const char *path)
{
	char glob[PATTERN_MAX];

	/* Most patterns end here. */
	if (len && *rule_pattern != *path && !strchr("*[?\\", *rule_pattern))
		return false;
	if (!memchr(rule_pattern, '*', len) && !memchr(rule_pattern, '[', len))
		return strncmp(rule_pattern, path, len) == 0 && !path[len];
	if (len >= sizeof(glob))
		return false;
	memcpy(glob, rule_pattern, len);
	glob[len] = '\0';
	return fnmatch(glob, path, FNM_PATHNAME) == 0;
}

/* path: begins at one of its parts. */
static bool match_pattern_at(const char *rule_pattern, size_t len,
			     const char *path)
{
	char head[PATTERN_MAX];
	size_t at = 0, i;

	if (rule_pattern[len - 1] != '/')
		return glob_matches(rule_pattern, len, path);
	/* The path has to go on behind as many parts as the pattern has. */
	for (i = 0; i < len; i++) {
		if (rule_pattern[i] != '/')
			continue;
		at += strcspn(path + at, "/");
		if (!path[at])
			return false;
		at += i + 1 < len;
	}
	if (!at || at >= sizeof(head))
		return false;
	memcpy(head, path, at);
	head[at] = '\0';
	return glob_matches(rule_pattern, len - 1, head);
}

/* Most patterns are not that of a path: the bytes without a wildcard tell. */
static bool may_match(const struct rule_pattern *p, const char *at, size_t have)
{
	const size_t n = p->plain;

	if (*p->text != '*')
		return strncmp(at, p->text, n) == 0;
	/* The last byte of a pattern that ends with a slash is none of a name.
	 */
	if (n + 1 == p->len && p->text[n] != '/')
		return have >= n && memcmp(at + have - n, p->text + 1, n) == 0;
	return memmem(at, have, p->text + 1, n) != NULL;
}

/* The first row, up to `best`, with a pattern of the list that matches the path
 * from here on, of `have` bytes. */
static size_t find_best_rule(const struct rule_pattern *p, const char *at,
			     size_t have, size_t best)
{
	for (; p && p->row < best; p = p->next)
		if (may_match(p, at, have) &&
		    match_pattern_at(p->text, p->len, at))
			return p->row;
	return best;
}

static size_t find_best_rule_at(const struct pattern_index *index,
				const char *at, size_t have, size_t best)
{
	best = find_best_rule(index->by_byte[(unsigned char)*at], at, have,
			      best);
	return find_best_rule(index->by_byte['*'], at, have, best);
}

bool risk_pattern_matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);
	bool deep = strchr(pattern, '/') != NULL;
	const char *at = path;

	if (*pattern == '/')
		return !strchr(path, '/') && len > 1 &&
		       match_pattern_at(pattern + 1, len - 1, path);
	for (;;) {
		if (len && (deep || !strchr(at, '/')) &&
		    match_pattern_at(pattern, len, at))
			return true;
		at += strcspn(at, "/");
		if (!*at)
			return false;
		at++;
	}
}

const struct risk_rule *risk_name_rule(const char *path, enum risk_as *ret_as)
{
	const char *name = path_name(path), *at = path;
	size_t len = strlen(path), name_len = len - (size_t)(name - path), best;

	(void)pthread_once(&indexed, index_rule_patterns);
	best = rows.count;
	if (name == path)
		best = find_best_rule(tops, path, len, best);
	best = find_best_rule_at(&names, name, name_len, best);
	if (name_len)
		best = find_best_rule(
			last.by_byte[(unsigned char)name[name_len - 1]], name,
			name_len, best);
	for (;;) {
		best = find_best_rule_at(&parts, at, len - (size_t)(at - path),
					 best);
		at += strcspn(at, "/");
		if (!*at)
			break;
		at++;
	}
	if (best == rows.count || !rows.items[best].rule->level)
		return NULL;
	*ret_as = rows.items[best].as;
	return rows.items[best].rule;
}

/* Whether the path is that of a directory on the way to the pattern's files.
 * Only hidden ones count there: a link named "go" is no $HOME/go/bin, and one
 * of any hidden name no directory of rules. */
static bool leads_to_pattern(const char *pattern, size_t len, const char *path)
{
	size_t i;

	for (i = 1; i < len; i++)
		if (pattern[i] == '/' &&
		    ((*pattern == '.' && pattern[1] != '*') || i + 1 == len) &&
		    glob_matches(pattern, i, path))
			return true;
	return false;
}

const struct risk_rule *risk_link_rule(const char *path)
{
	size_t i;

	(void)pthread_once(&indexed, index_rule_patterns);
	for (i = 0; i < all.count; i++) {
		const struct rule_pattern *p = &all.items[i];
		const char *part = rows.items[p->row].rule->level ? path : NULL;

		while (part && !leads_to_pattern(p->text, p->len, part)) {
			part = strchr(part, '/');
			part += part != NULL;
		}
		if (part)
			return rows.items[p->row].rule;
	}
	return NULL;
}

static int compare_patterns(const void *a, const void *b)
{
	const struct rule_pattern *x = *(const struct rule_pattern *const *)a;
	const struct rule_pattern *y = *(const struct rule_pattern *const *)b;

	return mem_compare(x->text, x->len, y->text, y->len);
}

void risk_each_critical_name(bool (*each)(void *arg, const char *path,
					  bool directory),
			     void *arg)
{
	VEC(const struct rule_pattern *) sorted = {0};
	size_t i, k, missing = 0; /* bytes of a name that is no directory */

	(void)pthread_once(&indexed, index_rule_patterns);
	for (i = 0; i < all.count; i++)
		if (rows.items[all.items[i].row].rule->level == RISK_CRITICAL)
			*VEC_ADD(&sorted) = &all.items[i];
	VEC_SORT(&sorted, compare_patterns);
	for (i = 0; i < sorted.count; i++) {
		const struct rule_pattern *p = sorted.items[i];
		const char *at = p->text;
		size_t same = 0; /* bytes of the pattern before */

		while (i && same < p->len &&
		       at[same] == sorted.items[i - 1]->text[same])
			same++;
		if (missing && same > missing)
			continue;
		missing = 0;
		for (k = 1; k <= p->len && !missing && at[k - 1] != '*'; k++) {
			auto_free char *name = NULL;

			if ((k < p->len ? at[k] != '/' : at[k - 1] == '/') ||
			    (k < same && k + 1 < p->len))
				continue;
			name = mem_strndup(at, k);
			if (!each(arg, name, k + 1 == p->len))
				missing = k;
		}
	}
	VEC_FREE(&sorted);
}

char *risk_above(const char *root)
{
	const char *above = path_name(root);
	const struct risk_rule *leads, *in;
	auto_free char *inner = NULL;
	enum risk_as as;

	/* /etc: patterns begin with it. */
	if (above <= root + 1)
		return mem_strdup(above);
	for (above--; above[-1] != '/'; above--)
		continue;
	inner = path_join(above, "*");
	leads = risk_link_rule(above);
	in = risk_name_rule(inner, &as);
	if ((leads && leads->level == RISK_CRITICAL) ||
	    (in && in->level == RISK_CRITICAL))
		return mem_strdup(above);
	return NULL;
}

enum risk_level risk_by_name(const char *path)
{
	enum risk_as as;
	const struct risk_rule *rule = risk_name_rule(path, &as);

	return rule ? rule->level : RISK_NONE;
}
