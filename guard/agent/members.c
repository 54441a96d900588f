#include "guard/agent/members.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

/* More members within members are compared as one. */
#define DEPTH_MAX 8

/* The names of a member and of the objects that it is in. */
struct member_path {
	const char *parts[DEPTH_MAX];
	size_t count;
};

/* ---- patterns ---- */

static bool part_matches(const char *part, const char *name,
			 const char *project)
{
	if (strcmp(part, "<project>") == 0)
		return *name == '/' && path_below(name, project);
	return fnmatch(part, name, 0) == 0;
}

/* Whether the pattern matches the member; *deeper is set when it matches only
 * something within. now: the member's value, NULL for none. */
static bool pattern_matches(const char *pattern, const char *project,
			    const struct member_path *path, const json_t *now,
			    bool *deeper)
{
	size_t len = strcspn(pattern, "="), i;
	const char *value = pattern[len] ? pattern + len + 1 : NULL;
	auto_free char *names = mem_strndup(pattern, len);
	const char *at = names;
	char *text;
	bool same;

	for (i = 0; i < path->count; i++) {
		size_t part_len = strcspn(at, ".");
		auto_free char *part = mem_strndup(at, part_len);

		if (!part_matches(part, path->parts[i], project))
			return false;
		at += part_len;
		if (!*at++)
			break;
	}
	if (i == path->count) {
		*deeper = true;
		return false;
	}
	if (!value)
		return true;
	text = i + 1 == path->count && now
		       ? json_dumps(now, JSON_COMPACT | JSON_ENCODE_ANY)
		       : NULL;
	same = text && strcmp(text, value) == 0;
	free(text);
	return same;
}

static bool is_data(const struct members *m, const struct member_path *path,
		    const json_t *now, bool *ret_deeper)
{
	const char *at = m->data;

	*ret_deeper = !path->count;
	while (*at) {
		size_t len = strcspn(at, ",");
		auto_free char *pattern = mem_strndup(at, len);

		if (path->count &&
		    pattern_matches(pattern, m->project, path, now, ret_deeper))
			return true;
		at += len + (at[len] == ',');
	}
	return false;
}

/* ---- JSON ---- */

/* Comments and commas at the end of a list, which agents accept. */
static void blank_extensions(struct buf *text)
{
	char *at = (char *)text->data, *end = at + text->len, *next;
	char *comma = NULL; /* only blanks follow it */

	for (; at < end; at = next) {
		next = at + 1;
		if (*at == '/' && next < end && strchr("/*", *next)) {
			const bool line = *next == '/';
			size_t left = (size_t)(end - next);

			next = line ? memchr(next, '\n', left)
				    : memmem(next + 1, left - 1, "*/", 2);
			next = next ? next + (line ? 0 : 2) : end;
			memset(at, ' ', (size_t)(next - at));
			continue;
		}
		if (strchr("}]", *at) && comma)
			*comma = ' ';
		if (!strchr(" \t\r\n", *at))
			comma = *at == ',' ? at : NULL;
		if (*at != '"')
			continue;
		while (next < end && *next != '"')
			next += 1 + (*next == '\\');
		next = next < end ? next + 1 : end;
	}
}

json_t *members_load(struct buf *text)
{
	blank_extensions(text);
	return json_loadb((const char *)text->data, text->len,
			  JSON_REJECT_DUPLICATES, NULL);
}

/* ---- plain values ---- */

/* Extended regular expressions, compiled at their first use. */
struct name_pattern {
	const char *text;
	bool compiled;
	regex_t regex;
};

static bool name_matches(struct name_pattern *p, const char *name)
{
	if (!p->compiled && regcomp(&p->regex, p->text,
				    REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
		abort();
	p->compiled = true;
	return regexec(&p->regex, name, 0, NULL, 0) == 0;
}

bool members_name_acts(const char *name)
{
	static struct name_pattern acting = {
		"agents|command|config|extension|hook|instruct|market|mcp|"
		"memor|package|permission|plugin|polic|prompt|provider|rule|"
		"script|server|setting|skill|style|tool|trust|workflow"};

	return name_matches(&acting, name);
}

/* Also names of switches, tasks, and values that choose programs or addresses.
 */
static bool is_acting_key(const char *key)
{
	static struct name_pattern switches = {
		"accept|agent|allow|approv|auto|bin$|binar|bypass|channel|cmd|"
		"confirm|content$|cron|danger|deny|disable|enable|endpoint|env|"
		"exclu|exec|goal|helper|host|includ|key|mode$|program|proxy|"
		"^run|safe|sandbox|sched|secur|share|shell|skip|system|task|"
		"text$|token|uri|url|yolo|^on[A-Z]"};

	return members_name_acts(key) || name_matches(&switches, key);
}

/* settings: a number, a time or a hash; else words without a character that a
 * shell or a reader of addresses would obey. */
static bool is_plain_text(const char *text, bool settings, const char *project)
{
	const char *at = text;

	if (settings)
		return !text[strspn(text, "0123456789abcdefABCDEF:.-+TZ")];
	if (strcmp(text, project) == 0)
		return true;
	while (isalnum((unsigned char)*at) || !isascii(*at) ||
	       (*at && strchr("._:@+- ,#'?!=%*\"\t", *at)))
		at++;
	return !*at && *text != '-';
}

bool members_line_is_plain(const char *line, const char *project)
{
	size_t start = strspn(line, " \t-\"'"), len;
	auto_free char *key = NULL;

	len = strcspn(line + start, ":= \t\"'");
	key = mem_strndup(line + start, len);
	return !(line[start + len] && is_acting_key(key)) &&
	       is_plain_text(line, false, project);
}

static bool is_plain_key(const struct members *m, const char *key)
{
	return is_plain_text(key, false, m->project) && !strchr(key, ' ');
}

/* acts: it is in a member whose name acts. */
static bool is_plain(const struct members *m, bool acts, json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	json_array_foreach(value, i,
			   member) if (!is_plain(m, acts, member)) return false;
	json_object_foreach(value, key,
			    member) if (!is_plain_key(m, key) ||
					!is_plain(m, acts || is_acting_key(key),
						  member)) return false;
	if (json_is_string(value))
		return !acts && is_plain_text(json_string_value(value),
					      *m->data, m->project);
	return !acts || !value || json_is_array(value) ||
	       json_is_object(value) || (json_is_number(value) && !*m->data);
}

static bool is_empty(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_object(value) && !json_object_size(value)) ||
	       (json_is_array(value) && !json_array_size(value));
}

struct member_diff {
	const struct members *members;
	members_visit *each; /* NULL: the members are put back */
	void *arg;
	json_t *target; /* where they are put back */
	bool any; /* some were */
};

/* Sets the member of the target that still has the value `now` to the value
 * before; an empty value is absent. */
static void put_member_back(struct member_diff *d,
			    const struct member_path *path, json_t *before,
			    const json_t *now)
{
	const char *name = path->parts[path->count - 1];
	json_t *at = d->target, *present;
	size_t i;

	for (i = 0; i + 1 < path->count; i++) {
		json_t *next = json_object_get(at, path->parts[i]);

		if (!next && !is_empty(before)) {
			next = json_object();
			(void)json_object_set_new(at, path->parts[i], next);
		}
		if (!json_is_object(next))
			return;
		at = next;
	}
	present = json_object_get(at, name);
	if (!(is_empty(present) && is_empty(now)) && !json_equal(present, now))
		return;
	if (is_empty(before))
		(void)json_object_del(at, name);
	else
		(void)json_object_set(at, name, before);
	d->any = true;
}

static void report_member(struct member_diff *d, const struct member_path *path,
			  json_t *before, json_t *now)
{
	const struct members *m = d->members;
	AUTO(buf) struct buf name = {0};
	bool plain = true, acts = false;
	size_t i;

	if (!d->each) {
		if (path->count)
			put_member_back(d, path, before, now);
		return;
	}
	for (i = 0; i < path->count; i++) {
		buf_printf(&name, "%s%s", i ? "." : "", path->parts[i]);
		plain &= is_plain_key(m, path->parts[i]);
		acts |= strcmp(path->parts[i], m->project) != 0 &&
			is_acting_key(path->parts[i]);
	}
	plain &= is_plain(m, acts, before) && is_plain(m, acts, now);
	d->each(d->arg,
		(plain ? "amd" : "AMD")[is_empty(before) ? 0
					: is_empty(now)	 ? 2
							 : 1],
		buf_text(&name));
}

static void compare_values(struct member_diff *d,
			   const struct member_path *path, json_t *before,
			   json_t *now)
{
	struct member_path below = *path;
	bool deeper;
	const char *key;
	json_t *value;

	if ((is_empty(before) && is_empty(now)) || json_equal(before, now) ||
	    is_data(d->members, path, now, &deeper))
		return;
	if (!deeper || path->count == DEPTH_MAX ||
	    (!is_empty(before) && !json_is_object(before)) ||
	    (!is_empty(now) && !json_is_object(now))) {
		report_member(d, path, before, now);
		return;
	}
	below.count++;
	json_object_foreach(now, key, value)
	{
		below.parts[path->count] = key;
		compare_values(d, &below, json_object_get(before, key), value);
	}
	json_object_foreach(before, key, value)
	{
		below.parts[path->count] = key;
		if (!json_object_get(now, key))
			compare_values(d, &below, value, NULL);
	}
}

static bool compare_json(struct member_diff *d, struct buf *before,
			 struct buf *now)
{
	static const struct member_path top;
	json_t *old = before ? members_load(before) : NULL;
	json_t *new = now ? members_load(now) : NULL;
	bool ok = (!before || old) && (!now || new);

	if (ok)
		compare_values(d, &top, old, new);
	json_decref(old);
	json_decref(new);
	return ok;
}

/* ---- TOML ---- */

/* Adds the parts of a key or a table's name, "a.'b c'.d", to the path; they
 * point into text, which is changed. False: in a form that is no data. */
static bool split_key(char *text, struct member_path *path)
{
	for (;;) {
		char quote = *text, *end;

		if (path->count == DEPTH_MAX)
			return false;
		if (quote == '"' || quote == '\'') {
			end = strchr(++text, quote);
			if (!end || memchr(text, '\\', (size_t)(end - text)))
				return false;
			*end++ = '\0';
		} else {
			end = text + strcspn(text, ". \t\"'[]");
		}
		path->parts[path->count++] = text;
		if (!*end)
			return *text;
		if (*end != '.')
			return false;
		*end = '\0';
		text = end + 1;
	}
}

/* A number, a boolean or a text in one line without escapes: what begins in
 * this line ends in it. */
static bool is_simple_value(const char *value)
{
	size_t len = strlen(value);

	if (*value == '"')
		return len >= 2 && strcspn(value + 1, "\"\\") == len - 2 &&
		       value[len - 1] == '"';
	return len && strspn(value, "abcdefghijklmnopqrstuvwxyz"
				    "0123456789.+-_") == len;
}

static bool is_data_line(const struct members *m,
			 const struct member_path *table, const char *line)
{
	size_t len = strcspn(line, "=");
	auto_free char *key = text_trim(line, len);
	auto_free char *value = line[len] ? mem_strdup(line + len + 1) : NULL;
	struct member_path path = *table;
	bool deeper;

	return value && is_simple_value(value + strspn(value, " \t")) &&
	       split_key(key, &path) && is_data(m, &path, NULL, &deeper);
}

/* Appends the lines that are no data, and each table's head before the first
 * of its lines. */
static void copy_settings(const struct members *m, const struct buf *text,
			  struct buf *to)
{
	const char *at = (const char *)text->data, *end = at + text->len;
	auto_free char *head = NULL, *table_text = NULL;
	struct member_path table = {0};
	bool known = true; /* the table's name is understood */

	while (at < end) {
		size_t len = text_line_len(at, end);
		auto_free char *line = text_trim(at, len);
		size_t n = strlen(line);

		at += len + 1;
		if (!n)
			continue;
		if (*line == '[') {
			free(head);
			free(table_text);
			head = TAKE(line);
			table_text = mem_strndup(head + 1, n > 2 ? n - 2 : 0);
			table.count = 0;
			known = head[n - 1] == ']' &&
				split_key(table_text, &table);
			continue;
		}
		if (known && is_data_line(m, &table, line))
			continue;
		if (head)
			buf_printf(to, "%s\n", head);
		free(TAKE(head));
		buf_printf(to, "%s\n", line);
	}
	if (head && !known)
		buf_printf(to, "%s\n", head);
}

static bool compare_toml(const struct member_diff *d, const struct buf *before,
			 const struct buf *now)
{
	AUTO(buf) struct buf old = {0}, new = {0};

	if (before)
		copy_settings(d->members, before, &old);
	if (now)
		copy_settings(d->members, now, &new);
	if (!buf_same(&old, &new))
		d->each(d->arg, !old.len ? 'A' : !new.len ? 'D' : 'M', "");
	return true;
}

/* ---- files ---- */

bool members_compare(const struct members *m, struct buf *before,
		     struct buf *now, members_visit *each, void *arg)
{
	struct member_diff d = {.members = m, .each = each, .arg = arg};

	if (path_ends(m->file, ".json") || path_ends(m->file, ".jsonc"))
		return compare_json(&d, before, now);
	return path_ends(m->file, ".toml") && compare_toml(&d, before, now);
}

bool members_undo(const struct members *m, struct buf *before,
		  struct buf *after, struct buf *now, struct buf *ret)
{
	struct member_diff d = {.members = m, .target = members_load(now)};
	char *text = NULL;

	if (json_is_object(d.target) && compare_json(&d, before, after) &&
	    d.any)
		text = json_dumps(d.target, JSON_INDENT(2));
	if (text)
		buf_add_text(ret, text);
	free(text);
	json_decref(d.target);
	return text != NULL;
}

struct text_visit {
	const struct members *members;
	void (*each)(void *arg, const char *text);
	void *arg;
};

static void visit_texts(const struct text_visit *v,
			const struct member_path *path, json_t *value)
{
	struct member_path below = *path;
	const char *key;
	json_t *member;
	bool ignored;
	size_t i;

	if (is_data(v->members, path, value, &ignored))
		return;
	if (json_is_string(value))
		v->each(v->arg, json_string_value(value));
	json_array_foreach(value, i, member) visit_texts(v, path, member);
	below.count += path->count < DEPTH_MAX;
	json_object_foreach(value, key, member)
	{
		if (path->count < DEPTH_MAX)
			below.parts[path->count] = key;
		visit_texts(v, &below, member);
	}
}

void members_texts(const struct members *m, struct buf *file,
		   void (*each)(void *arg, const char *text), void *arg)
{
	static const struct member_path top;
	const struct text_visit v = {m, each, arg};
	AUTO(buf) struct buf copy = {0};
	json_t *value = NULL;

	buf_add(&copy, file->data, file->len);
	if (path_ends(m->file, ".json") || path_ends(m->file, ".jsonc"))
		value = members_load(&copy);
	if (value)
		visit_texts(&v, &top, value);
	else
		each(arg, buf_text(file));
	json_decref(value);
}

/* ---- single members ---- */

json_t *members_find(json_t *root, const char *key, const char *project,
		     bool make, char **ret_name)
{
	json_t *at = root;

	for (;;) {
		size_t len = strcspn(key, ".");
		auto_free char *part = len == 1 && *key == '*'
					       ? mem_strdup(project)
					       : mem_strndup(key, len);
		json_t *next;

		if (!key[len]) {
			*ret_name = TAKE(part);
			return at;
		}
		next = json_object_get(at, part);
		if (!next && make) {
			next = json_object();
			if (json_object_set_new(at, part, next) < 0)
				return NULL;
		}
		if (!json_is_object(next))
			return NULL;
		at = next;
		key += len + 1;
	}
}

static bool set_absent_member(json_t *root, const char *key,
			      const char *project, json_t *value)
{
	auto_free char *name = NULL;
	json_t *in = members_find(root, key, project, true, &name);
	json_t *list, *item;
	size_t i;

	if (!in || !path_ends(name, "[]"))
		return in && !json_object_get(in, name) &&
		       json_object_set(in, name, value) == 0;
	name[strlen(name) - 2] = '\0';
	list = json_object_get(in, name);
	if (!list)
		return json_object_set_new(in, name, json_pack("[O]", value)) ==
		       0;
	json_array_foreach(list, i,
			   item) if (json_equal(item, value)) return false;
	return json_array_append(list, value) == 0;
}

/* A text that has the name in another form, or the table, is left as it is. */
static bool add_toml_member(struct buf *text, const char *key, json_t *value)
{
	const char *dot = strrchr(key, '.'), *name = dot ? dot + 1 : key;
	auto_free char *table = mem_strndup(key, dot ? (size_t)(dot - key) : 0);
	auto_free char *head = mem_printf("\n[%s]\n", table);
	auto_free char *old = mem_printf("\n%s\n", buf_text(text));
	const char *at = strstr(old, head);
	char *dumped = json_dumps(value, JSON_ENCODE_ANY);
	size_t place = !dot ? 1
		       : at ? (size_t)(at - old) + strlen(head)
			    : strlen(old);
	bool lacks = !strstr(old, at ? head : dot ? table : name);

	/* Only a table's own lines count. */
	if (at) {
		const char *end = strstr(old + place - 1, "\n[");
		const char *found = strstr(old + place - 1, name);

		lacks = !found || (end && found > end);
	}
	if (lacks) {
		buf_clear(text);
		buf_printf(text, "%.*s%s%s = %s\n%s", (int)place - 1, old + 1,
			   dot && !at ? head + 1 : "", name, dumped,
			   old + place);
	}
	free(dumped);
	return lacks;
}

bool members_add(const char *file, const struct buf *text, const char *wanted,
		 const char *project, struct buf *ret)
{
	bool toml = path_ends(file, ".toml"), any = false;
	json_t *root = text && !toml ? json_loadb((const char *)text->data,
						  text->len, 0, NULL)
				     : json_object();
	json_t *list = json_loads(wanted, 0, NULL), *pair;
	char *dumped = NULL;
	size_t i;

	if (toml && text)
		buf_add(ret, text->data, text->len);
	json_array_foreach(list, i, pair)
	{
		const char *key = json_string_value(json_array_get(pair, 0));
		json_t *value = json_array_get(pair, 1);

		if (json_is_object(root) && key)
			any |= toml ? add_toml_member(ret, key, value)
				    : set_absent_member(root, key, project,
							value);
	}
	if (any && !toml)
		dumped = json_dumps(root, JSON_INDENT(2));
	if (dumped)
		buf_add_text(ret, dumped);
	free(dumped);
	json_decref(list);
	json_decref(root);
	if (!any)
		buf_clear(ret);
	return any && ret->len;
}

bool members_value_is(const struct buf *text, const char *key,
		      const char *value)
{
	json_t *root = json_loadb((const char *)text->data, text->len, 0, NULL);
	auto_free char *name = NULL;
	json_t *in = json_is_object(root)
			     ? members_find(root, key, "", false, &name)
			     : NULL;
	char *found = in ? json_dumps(json_object_get(in, name),
				      JSON_COMPACT | JSON_ENCODE_ANY)
			 : NULL;
	bool same = found && strcmp(found, value) == 0;

	free(found);
	json_decref(root);
	return same;
}
