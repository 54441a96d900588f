/*
 * What a run changed in the home of its agent that the agent's next session
 * executes or obeys, for people: it is no part of a layer and is there
 * already.
 */
#ifndef GUARD_CLI_AGENT_SHOW_H
#define GUARD_CLI_AGENT_SHOW_H

#include <jansson.h>

#include "guard/agent/agent.h"

/* At the run's end, on stderr. */
void agent_show_end(const struct session *s);
/* Of a diff or review, on stdout. */
void agent_show_list(const struct session *s);
/* {"name": ..., "code": [{"kind": "M", "path": "~/..."}]} */
json_t *agent_show_json(const struct session *s);

#endif
