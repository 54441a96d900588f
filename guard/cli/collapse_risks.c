#include "guard/cli/collapse_risks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

#define SHOWN_MAX 3

void collapse_risks_free(struct collapse_risks *collapsed)
{
	size_t i;

	for (i = 0; i < collapsed->count; i++)
		free(collapsed->items[i].risk.text);
	collapsed->count = 0;
}

bool collapse_risks_show(struct collapse_risks *collapsed, const char *path,
			 const struct risk *risk)
{
	size_t i = 0;

	if (!risk_in_generated(path))
		return risk->level >= RISK_HIGH;
	if (risk->level < RISK_HIGH && !risk->runs)
		return false;
	while (i < collapsed->count &&
	       strcmp(collapsed->items[i].risk.text, risk->text) != 0)
		i++;
	if (i == REPEATS_MAX)
		return true;
	if (i == collapsed->count) {
		collapsed->items[i].risk = *risk;
		collapsed->items[i].risk.text = mem_strdup(risk->text);
		collapsed->items[i].risk.line = NULL;
		collapsed->items[i].risk.number = 0;
		collapsed->items[i].risk.more = 0;
		collapsed->items[i].shown = collapsed->items[i].more = 0;
		collapsed->count++;
	}
	if (risk->level >= RISK_HIGH && collapsed->items[i].shown < SHOWN_MAX) {
		collapsed->items[i].shown++;
		return true;
	}
	collapsed->items[i].more++;
	return false;
}

void collapse_risks_line(const struct risk *risk, const char *indent,
			 const char *path)
{
	static const char *const signs[] = {
		[RISK_NOTE] = " i",
		[RISK_HIGH] = " !",
		[RISK_CRITICAL] = "!!",
	};
	AUTO(buf) struct buf name = {0};
	auto_free char *sentence = risk_sentence(risk);

	if (path) {
		text_escape_name(&name, path);
		buf_add_text(&name, ": ");
	}
	(void)printf("%s%s%s%s %s%s\n", indent,
		     output_style(risk->level == RISK_CRITICAL ? STYLE_DELETED
				  : risk->level == RISK_HIGH   ? STYLE_CHANGED
							       : STYLE_FAINT),
		     signs[risk->level], output_style(STYLE_NONE),
		     path ? buf_text(&name) : "", sentence);
}

void collapse_risks_print(const struct collapse_risks *collapsed,
			  const char *indent)
{
	size_t i;

	for (i = 0; i < collapsed->count; i++) {
		const char *kind =
			collapsed->items[i].shown ? "more file" : "file";

		if (collapsed->items[i].more)
			collapse_risks_line(
				&collapsed->items[i].risk, indent,
				text_count(collapsed->items[i].more, kind));
	}
}
