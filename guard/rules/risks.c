/* The list of a file's risks. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

#define SHOWN 100 /* bytes of a line */
#define LINES_MAX 3 /* shown lines of a rule in a file; more are counted */

void risks_free(struct risks *r)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		free(r->items[i].text);
		free(r->items[i].line);
	}
	free(r->items);
	*r = (struct risks){0};
}

void risks_copy(struct risks *to, const struct risks *from)
{
	size_t i;

	for (i = 0; i < from->count; i++) {
		struct risk *r = VEC_ADD(to);

		*r = from->items[i];
		r->text = mem_strdup(r->text);
		r->line = mem_strdup(r->line);
	}
}

enum risk_level risks_worst(const struct risks *r)
{
	return r->count ? r->items[0].level : RISK_NONE;
}

const char *risk_level_name(enum risk_level level)
{
	static const char *const names[] = {
		[RISK_NONE] = "none",
		[RISK_NOTE] = "note",
		[RISK_HIGH] = "high",
		[RISK_CRITICAL] = "critical",
	};

	return names[level];
}

/* In order: the worst first, among equals the first said. */
static struct risk *insert_risk(struct risks *r, const struct risk_rule *rule,
				enum risk_level level)
{
	size_t at = r->count;

	if (level == RISK_NONE)
		level = rule->level;
	(void)VEC_ADD(r);
	while (at && r->items[at - 1].level < level)
		at--;
	memmove(r->items + at + 1, r->items + at,
		(r->count - 1 - at) * sizeof(*r->items));
	r->items[at] = (struct risk){
		.level = level,
		.id = rule->id,
		.text = mem_strdup(rule->text),
	};
	return &r->items[at];
}

void risk_add(struct risks *r, const struct risk_rule *rule,
	      enum risk_level level)
{
	(void)insert_risk(r, rule, level);
}

struct risk *risk_add_line(struct risks *r, const struct risk_rule *rule,
			   enum risk_level level, size_t number,
			   const char *key, const char *line)
{
	size_t len = strcspn(line, "\n"), same = 0, i;
	struct buf b = {0};
	struct risk *risk;

	for (i = 0; i < r->count; i++) {
		if (strcmp(r->items[i].id, rule->id) != 0)
			continue;
		if (++same == LINES_MAX) {
			r->items[i].more++;
			return NULL;
		}
	}
	if (key) {
		text_escape(&b, key, strnlen(key, SHOWN), false);
		buf_add_text(&b, ": ");
	}
	while (len > SHOWN ||
	       (len && ((unsigned char)line[len] & 0xc0) == 0x80))
		len = len > SHOWN ? SHOWN : len - 1;
	text_escape(&b, line, len, false);
	if (line[len])
		buf_add_text(&b, "...");
	risk = insert_risk(r, rule, level);
	risk->line = buf_take_text(&b);
	risk->number = number;
	return risk;
}

char *risk_sentence(const struct risk *risk)
{
	AUTO(buf) struct buf b = {0};

	buf_add_text(&b, risk->text);
	if (risk->character)
		buf_printf(&b, " (U+%04X, line %zu)", risk->character,
			   risk->number);
	else if (risk->number)
		buf_printf(&b, " (line %zu)", risk->number);
	if (risk->line)
		buf_printf(&b, ": %s", risk->line);
	if (risk->more)
		buf_printf(&b, " (and %s)",
			   text_count(risk->more, "more line"));
	return buf_take_text(&b);
}
