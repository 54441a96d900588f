/* The record of a transaction's other roots; see journal.h. */
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/record.h"
#include "restore/journal.h"

#define JOINED "joined"
#define JOINED_VERSION 1

int journal_join_write(int workspace_fd, const char *first, struct err *err)
{
	AUTO(record) struct record r = {0};

	record_set(&r, "first", first);
	return record_save(workspace_fd, JOINED, JOINED, JOINED_VERSION, &r,
			   ATOMIC_DURABLE, err);
}

char *journal_join_first(int workspace_fd)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	if (record_load(workspace_fd, JOINED, JOINED, JOINED_VERSION, &r,
			&ignored) < 0)
		return NULL;
	return mem_strdup(record_get(&r, "first"));
}

void journal_join_drop(int workspace_fd)
{
	(void)unlinkat(workspace_fd, JOINED, 0);
}
