#include "base/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define DEPTH_MAX 32 /* levels of YAML; deeper keys count as values */

/* Bytes of a key, and of a place: each line has a copy. */
#define KEY_MAX 100
#define PLACE_MAX 400
#define PLACE_END 200

char *settings_place(const char *place, const char *key, size_t key_len)
{
	size_t len = strlen(place);
	const char *end = "";

	if (key_len > KEY_MAX)
		key_len = KEY_MAX;
	if (len > PLACE_MAX - KEY_MAX) {
		end = place + len - PLACE_END / 2;
		len = PLACE_END / 2;
	}
	return mem_printf("%.*s%s%s%.*s", (int)len, place, end,
			  *place && key_len ? "." : "", (int)key_len, key);
}

/* --- YAML --- */

struct yaml_scan {
	struct {
		size_t indent;
		char *path; /* with the keys above */
	} keys[DEPTH_MAX];
	size_t depth;
	bool block; /* in a block scalar of the last key */
};

static const char *yaml_path(const struct yaml_scan *y)
{
	return y->depth ? y->keys[y->depth - 1].path : "";
}

/* The length of the key at the beginning of the text, or 0. */
static size_t yaml_key_len(const char *text)
{
	size_t len;

	if (*text == '"' || *text == '\'') {
		const char *end = strchr(text + 1, *text);

		len = end ? (size_t)(end - text) + 1 : 0;
	} else {
		len = strcspn(text, ":#");
		while (text[len] && (text[len] == '#' ||
				     (text[len + 1] &&
				      !isspace((unsigned char)text[len + 1]))))
			len += 1 + strcspn(text + len + 1, ":#");
	}
	return text[len] == ':' ? len : 0;
}

static const char *scan_yaml_line(struct yaml_scan *y, const char *line)
{
	size_t indent = strspn(line, " "), len;
	const char *text = line + indent, *value;

	if (!*text || (*text == '#' && !y->block))
		return yaml_path(y);
	if (y->block && y->depth && indent > y->keys[y->depth - 1].indent)
		return yaml_path(y);
	y->block = false;
	while (text[0] == '-' && (text[1] == ' ' || text[1] == '\t')) {
		size_t skip = 1 + strspn(text + 1, " \t");

		indent += skip;
		text += skip;
	}
	while (y->depth && y->keys[y->depth - 1].indent >= indent)
		free(y->keys[--y->depth].path);
	len = yaml_key_len(text);
	if (len && y->depth < DEPTH_MAX) {
		bool quoted = *text == '"' || *text == '\'';
		char *path = settings_place(yaml_path(y), text + quoted,
					    len - 2 * quoted);

		y->keys[y->depth].indent = indent;
		y->keys[y->depth++].path = path;
		value = text + len + 1 + strspn(text + len + 1, " \t");
		y->block = *value == '|' || *value == '>';
	} else if (!len) {
		y->block = *text == '|' || *text == '>';
	}
	return yaml_path(y);
}

/* --- sections and keys --- */

struct ini_scan {
	enum settings_format format;
	char *section, *path;
	bool has_key;
	char until; /* TOML: '"' or '\'' of a text of several lines */
	int open; /* TOML: brackets of an array of several lines */
};

static void set_ini_path(struct ini_scan *s, const char *key, size_t len)
{
	free(s->path);
	s->path = settings_place(s->section, key, len);
}

/* Behind the section's name, which may have brackets between its quotes: git
 * takes a key on the same line. */
static const char *skip_section(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || *at != ']'); at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at + strspn(at, "]");
}

/* Follows the brackets and long texts of a TOML value to its end. */
static void scan_toml_value(struct ini_scan *s, const char *at)
{
	for (; *at; at++) {
		if (s->until) {
			if (at[0] == s->until && at[1] == s->until &&
			    at[2] == s->until) {
				s->until = 0;
				at += 2;
			}
		} else if ((*at == '"' || *at == '\'') && at[1] == *at &&
			   at[2] == *at) {
			s->until = *at;
			at += 2;
		} else if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);

			if (!end)
				return;
			at = end;
		} else if (*at == '#') {
			return;
		} else {
			s->open += (*at == '[' || *at == '{') -
				   (*at == ']' || *at == '}');
		}
	}
}

static const char *scan_ini_line(struct ini_scan *s, const char *line)
{
	const char *text = line + strspn(line, " \t");
	const char *end = NULL;
	size_t len;

	if (!*text || (!s->until && (*text == '#' || *text == ';')))
		return s->path;
	if (s->until || s->open > 0) {
		scan_toml_value(s, text);
		return s->path;
	}
	if (s->format == SETTINGS_INI && text != line && s->has_key)
		return s->path;
	if (*text == '[') {
		const char *name = text + strspn(text, "[");

		end = skip_section(text);
		len = (size_t)(end - name);
		while (len && name[len - 1] == ']')
			len--;
		free(s->section);
		s->section = text_trim(name, len);
		s->has_key = false;
		text = end + strspn(end, " \t");
		set_ini_path(s, "", 0);
		if (s->format != SETTINGS_GIT || !*text)
			return s->path;
	}
	len = strcspn(text, s->format == SETTINGS_INI ? "=:" : "=");
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	set_ini_path(s, text, len);
	s->has_key = true;
	if (s->format == SETTINGS_TOML) {
		text += strcspn(text, "=");
		scan_toml_value(s, *text ? text + 1 : text);
	}
	return s->path;
}

/* --- make, Markdown --- */

struct plain_scan {
	enum settings_format format;
	bool joined; /* the last line ends in a backslash */
	bool fenced; /* between ``` and ``` */
	const char *path;
};

static const char *scan_plain_line(struct plain_scan *s, const char *line)
{
	const char *text = line + strspn(line, " \t"), *colon;
	size_t len = strlen(line);
	bool joined = s->joined;

	if (s->format == SETTINGS_PROSE) {
		if (strncmp(text, "```", 3) == 0 ||
		    strncmp(text, "~~~", 3) == 0)
			s->fenced = !s->fenced;
		return s->fenced ? "code" : "";
	}
	if (s->format != SETTINGS_MAKE)
		return "";
	s->joined = len && line[len - 1] == '\\';
	if (joined)
		return s->path;
	colon = strchr(line, ':');
	if (*line == '\t' || (colon && strchr(colon, ';')))
		s->path = "recipe";
	else
		s->path = "";
	return s->path;
}

/* --- all formats --- */

static void trim_line(char *line)
{
	size_t len = strlen(line);

	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
}

void settings_each_line(enum settings_format format, char *text,
			settings_visit *each, void *arg)
{
	struct yaml_scan yaml = {0};
	struct ini_scan ini = {format, mem_strdup(""), mem_strdup(""),
			       .has_key = false};
	struct plain_scan plain = {.format = format, .path = ""};
	char *at = text, *end;
	size_t number = 0;

	if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	for (; *at; at = end) {
		const char *place;

		number++;
		/* YAML ends a line at a lone CR, too. */
		end = at + strcspn(at, "\r\n");
		if (end[0] == '\r' && end[1] == '\n')
			*end++ = '\0';
		if (*end)
			*end++ = '\0';
		trim_line(at);
		switch (format) {
		case SETTINGS_YAML:
			place = scan_yaml_line(&yaml, at);
			break;
		case SETTINGS_TOML:
		case SETTINGS_INI:
		case SETTINGS_GIT:
			place = scan_ini_line(&ini, at);
			break;
		default:
			place = scan_plain_line(&plain, at);
		}
		each(arg, place, at + strspn(at, " \t"), number);
	}
	while (yaml.depth)
		free(yaml.keys[--yaml.depth].path);
	free(ini.section);
	free(ini.path);
}
