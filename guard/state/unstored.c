#include "guard/state/unstored.h"

#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "restore/workspace.h"

#define NAME "unstored"
#define VERSION 1

void unstored_save(int workspace_fd, const struct unstored *u)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	record_set_int(&r, "files", (int64_t)u->files);
	record_set_int(&r, "bytes", (int64_t)u->bytes);
	record_set_int(&r, "at-least", u->at_least);
	record_set_int(&r, "declined", u->declined);
	record_set_int(&r, "time", timestamp_now().sec);
	(void)record_save(workspace_fd, NAME, NAME, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

void unstored_forget(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NAME, 0);
}

bool unstored_load(int workspace_fd, struct unstored *ret)
{
	AUTO(record) struct record r = {0};
	auto_free char *cache = workspace_cache_path(workspace_fd);
	struct err ignored;

	if (record_load(workspace_fd, NAME, NAME, VERSION, &r, &ignored) < 0 ||
	    access(cache, F_OK) == 0)
		return false;
	*ret = (struct unstored){
		.files = (uint64_t)record_get_int(&r, "files"),
		.bytes = (uint64_t)record_get_int(&r, "bytes"),
		.at_least = record_get_int(&r, "at-least"),
		.declined = record_get_int(&r, "declined"),
		.time = record_get_int(&r, "time"),
	};
	return true;
}

char *unstored_text(const struct unstored *u)
{
	return mem_printf("%s%s in %s", u->at_least ? "more than " : "",
			  text_size(u->bytes), text_count(u->files, "file"));
}
