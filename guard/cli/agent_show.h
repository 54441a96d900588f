/*
 * Changes of a run in the home of its agent that the next session of the agent
 * executes or obeys, for people. They are in no layer: the home has them
 * already.
 */
#ifndef GUARD_CLI_AGENT_SHOW_H
#define GUARD_CLI_AGENT_SHOW_H

#include <jansson.h>

#include "guard/agent/agent.h"
#include "guard/cli/styled.h"

/* At the run's end, on stderr. */
void agent_show_end(const struct session *s);
/* Part of a diff or review. */
void agent_show_list(const struct session *s, struct styled *to);
/* {"name": ..., "code": [{"kind": "M", "path": "~/..."}], "unknown": [...],
 * "commands": [...]} */
json_t *agent_show_json(const struct session *s);

#endif
