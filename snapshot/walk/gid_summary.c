#include "snapshot/walk/gid_summary.h"

static bool has_gid(const struct gid_summary *g, uint32_t gid)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		if (g->gids[i] == gid)
			return true;
	return false;
}

void gid_summary_add(struct gid_summary *g, uint32_t gid)
{
	if (has_gid(g, gid))
		return;
	if (g->count == GID_SUMMARY_MAX)
		g->more = true;
	else
		g->gids[g->count++] = gid;
}
