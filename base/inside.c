#include "base/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/text.h"

bool inside_run(void)
{
	return prctl((int)INSIDE_OPTION, 0, 0, 0, 0) < 0 &&
	       errno == INSIDE_ERRNO;
}

const char *inside_label(void)
{
	static char label[128];
	const char *run = getenv("GUARD_NAME") ?: getenv("GUARD_RUN");

	if (run)
		(void)snprintf(label, sizeof(label), " (%s)", text_quote(run));
	return label;
}
