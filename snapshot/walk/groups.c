#include "snapshot/walk/groups.h"

static bool has(const struct groups *g, uint32_t gid)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		if (g->gids[i] == gid)
			return true;
	return false;
}

void groups_add(struct groups *g, uint32_t gid)
{
	if (has(g, gid))
		return;
	if (g->count == GROUPS_MAX)
		g->more = true;
	else
		g->gids[g->count++] = gid;
}
