#include "guard/change/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "guard/change/resolve_run.h"

#define INIT "init" /* = number " " start */

void live_record_init(struct session *s, pid_t init)
{
	auto_free char *value =
		mem_printf("%d %" PRIu64, init, freezer_start_time(init));

	record_set(&s->more, INIT, value);
}

int live_suspend(const struct session *s, struct freezer **ret, struct err *err)
{
	const char *value = record_get(&s->more, INIT);
	uint64_t start;
	int init, got;

	*ret = NULL;
	if (!resolve_run_is_running(s))
		return 0;
	if (!value || sscanf(value, "%d %" SCNu64, &init, &start) != 2)
		return fail(err, ENODATA,
			    "run %s was started by an older guard that cannot "
			    "freeze it: wait for its end",
			    session_label(s));
	got = freezer_begin(init, start, ret, err);
	return got == -ESRCH ? 0 : got;
}
