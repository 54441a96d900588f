#include "guard/review/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/review/review_show.h"

#define SHOWN_MOST 3

void repeats_free(struct repeats *said)
{
	size_t i;

	for (i = 0; i < said->count; i++)
		free(said->items[i].risk.text);
	said->count = 0;
}

bool repeats_show(struct repeats *said, const char *path,
		  const struct risk *risk)
{
	size_t i = 0;

	if (!risk_in_generated(path))
		return risk->level >= RISK_HIGH;
	if (risk->level < RISK_HIGH && !risk->runs)
		return false;
	while (i < said->count &&
	       strcmp(said->items[i].risk.text, risk->text) != 0)
		i++;
	if (i == REPEATS_MAX)
		return true;
	if (i == said->count) {
		said->items[i].risk = *risk;
		said->items[i].risk.text = mem_strdup(risk->text);
		said->items[i].shown = said->items[i].more = 0;
		said->count++;
	}
	if (risk->level >= RISK_HIGH && said->items[i].shown < SHOWN_MOST) {
		said->items[i].shown++;
		return true;
	}
	said->items[i].more++;
	return false;
}

bool repeats_any(const struct repeats *said)
{
	size_t i;

	for (i = 0; i < said->count; i++)
		if (said->items[i].more)
			return true;
	return false;
}

void repeats_print(const struct repeats *said, const char *indent)
{
	size_t i;

	for (i = 0; i < said->count; i++) {
		const char *kind = said->items[i].shown ? "more file" : "file";

		if (said->items[i].more)
			review_show_risk(&said->items[i].risk, indent,
					 text_count(said->items[i].more, kind));
	}
}
