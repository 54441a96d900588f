#include "guard/cli/collapse_risks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

bool collapse_risks_show(struct fold_repeats *l, const char *path,
			 const struct risk *risk)
{
	if (!risk_in_generated(path))
		return risk->level >= RISK_HIGH;
	if (risk->level < RISK_HIGH && !risk->runs)
		return false;
	return (l->count == REPEATS_MAX && !fold_repeat_find(l, risk)) ||
	       fold_repeat_add(l, risk);
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

void collapse_risks_print(const struct fold_repeats *l, const char *indent)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		const struct fold_repeat *r = &l->items[i];
		struct risk reason = *r->risk;

		/* Without the line of one of them. */
		reason.line = NULL;
		reason.number = reason.more = 0;
		reason.character = 0;
		if (r->more)
			collapse_risks_line(
				&reason, indent,
				text_count(r->more,
					   r->shown ? "more file" : "file"));
	}
}
