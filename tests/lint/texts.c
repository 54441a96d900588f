/* Reads the texts that are compiled in, each with the reader of guard's own.
 * The first mistake of each is printed as FILE:LINE: MESSAGE. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/shipped.h"
#include "guard/agent/profile.h"
#include "guard/rules/risk.h"
#include "guard/sandbox/filter_calls.h"
#include "guard/sandbox/places.h"
#include "guard/sandbox/sandbox.h"

static int read_profile(const char *path, const char *text, struct err *err)
{
	AUTO(profile) struct profile p = {0};

	if (!profile_name_ok(path_name(path)))
		return fail(err, EINVAL, "'%s':1: no name of a profile", path);
	return profile_parse(&p, path, false, text, strlen(text), err);
}

static int read_text(const char *path, const char *text, struct err *err)
{
	if (path_below(path, PROFILE_SHIPPED_DIR))
		return read_profile(path, text, err);
	/* Read by sh, checked by tests/lint/run. */
	if (strcmp(path, "guard/cli/demo.sh") == 0)
		return 0;
	if (path_below(path, RULES_SHIPPED_DIR))
		return risk_rules_check(path, text, err);
	if (strcmp(path, "guard/sandbox/calls.list") == 0)
		return filter_calls_check(path, text, err);
	if (strcmp(path, PLACES_LIST) == 0)
		return places_check(path, text, err);
	if (strcmp(path, VARIABLES_LIST) == 0)
		return sandbox_environ_check(path, text, err);
	return fail(err, EINVAL, "'%s':1: nothing reads this text", path);
}

/* 'FILE':LINE: ... without the quotes, as compilers write it. */
static void print_mistake(const char *text)
{
	const char *end = strchr(text + 1, '\'');

	(void)fprintf(stderr, "%.*s%s\n", (int)(end - text - 1), text + 1,
		      end + 1);
}

int main(void)
{
	const struct shipped_text *t;
	struct err err;
	int failed = 0;

	for (t = shipped_texts; t->path; t++)
		if (read_text(t->path, t->text, &err) < 0) {
			print_mistake(err.text);
			failed = 1;
		}
	return failed;
}
