#include "guard/cli/collapse_risks.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/review_show.h"

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

bool collapse_risks_any(const struct collapse_risks *collapsed)
{
	size_t i;

	for (i = 0; i < collapsed->count; i++)
		if (collapsed->items[i].more)
			return true;
	return false;
}

void collapse_risks_print(const struct collapse_risks *collapsed,
			  const char *indent)
{
	size_t i;

	for (i = 0; i < collapsed->count; i++) {
		const char *kind =
			collapsed->items[i].shown ? "more file" : "file";

		if (collapsed->items[i].more)
			review_show_risk(
				&collapsed->items[i].risk, indent,
				text_count(collapsed->items[i].more, kind));
	}
}
