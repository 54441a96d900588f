#include "guard/run/run_import.h"

#include <sys/wait.h>

#include "base/fd.h"
#include "base/timestamp.h"
#include "guard/state/report.h"
#include "overlay/session_base.h"

#define SPOOL_BYTES (64 << 20)
#define EVERY_MS 60000
#define LOOK_MS 5000

void run_import_begin(struct run_import *m, const struct session *s)
{
	int64_t now = timestamp_monotonic_ms();

	*m = (struct run_import){
		.session = s,
		.look = now + LOOK_MS,
		.due = now + EVERY_MS,
	};
}

void run_import_tick(struct run_import *m)
{
	int64_t now = timestamp_monotonic_ms();

	if (!m->session || now < m->look ||
	    (m->pid > 0 && waitpid(m->pid, NULL, WNOHANG) == 0))
		return;
	m->pid = 0;
	m->look = now + LOOK_MS;
	if (!import_is_due(m->session->fd, now < m->due ? SPOOL_BYTES : 0))
		return;
	m->due = now + EVERY_MS;
	m->pid = import_start(m->session, false);
}

void run_import_rest(const struct session *s, bool wait)
{
	struct err err;

	if (!import_is_due(s->fd, 0) &&
	    !fd_exists(s->fd, SESSION_TIMELINE_DIR "/" SESSION_TIMELINE))
		return;
	if (!wait)
		(void)import_start(s, true);
	else if (import_now(s, true, true, &err) < 0)
		report_error(&err);
}
