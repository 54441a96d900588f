#include "guard/action.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/record.h"

#define NEXT "next-action"
#define LAST "last-action"
#define PRIOR "prior-action"
#define VERSION 1

void action_free(struct action *a)
{
	free(a->kind);
	free(a->run_id);
	free(a->undoes);
	*a = (struct action){0};
}

static int save(int workspace_fd, const char *name, const struct action *a,
		struct err *err)
{
	AUTO(record) struct record r = {0};

	record_set(&r, "kind", a->kind);
	record_set(&r, "run", a->run_id);
	record_set(&r, "undoes", a->undoes ? a->undoes : "");
	record_set_int(&r, "before", (int64_t)a->before);
	record_set_int(&r, "after", (int64_t)a->after);
	record_set_int(&r, "git", a->git);
	record_set_int(&r, "whole", a->whole);
	return record_save(workspace_fd, name, "action", VERSION, &r, true,
			   err);
}

static char *text_of(const struct record *r, const char *key)
{
	const char *value = record_get(r, key);

	return mem_strdup(value ? value : "");
}

static int load(int workspace_fd, const char *name, struct action *ret,
		struct err *err)
{
	AUTO(record) struct record r = {0};
	int got = record_load(workspace_fd, name, "action", VERSION, &r, err);

	if (got < 0)
		return got;
	*ret = (struct action){
		.kind = text_of(&r, "kind"),
		.run_id = text_of(&r, "run"),
		.undoes = text_of(&r, "undoes"),
		.before = (uint64_t)record_get_int(&r, "before"),
		.after = (uint64_t)record_get_int(&r, "after"),
		.git = record_get_int(&r, "git") != 0,
		.whole = record_get_int(&r, "whole") != 0,
	};
	return 0;
}

int action_save_next(int workspace_fd, const struct action *a, struct err *err)
{
	return save(workspace_fd, NEXT, a, err);
}

int action_save_last(int workspace_fd, const struct action *a, struct err *err)
{
	int got = save(workspace_fd, LAST, a, err);

	if (got < 0)
		return got;
	action_drop_next(workspace_fd);
	(void)unlinkat(workspace_fd, PRIOR, 0);
	return 0;
}

void action_drop_next(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NEXT, 0);
}

int action_load_next(int workspace_fd, struct action *ret, struct err *err)
{
	return load(workspace_fd, NEXT, ret, err);
}

int action_load_last(int workspace_fd, struct action *ret, struct err *err)
{
	return load(workspace_fd, LAST, ret, err);
}

int action_load_prior(int workspace_fd, struct action *ret, struct err *err)
{
	return load(workspace_fd, PRIOR, ret, err);
}

int action_push_discard(int workspace_fd, const struct action *a,
			struct err *err)
{
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);

	if (got < 0 && got != -ENOENT)
		return got;
	if (got == 0 && strcmp(last.kind, "discard") != 0 &&
	    renameat(workspace_fd, LAST, workspace_fd, PRIOR) < 0)
		return fail_errno(err, "keep the last action");
	return save(workspace_fd, LAST, a, err);
}

int action_pop_discard(int workspace_fd, struct err *err)
{
	if (renameat(workspace_fd, PRIOR, workspace_fd, LAST) == 0)
		return 0;
	if (errno == ENOENT && unlinkat(workspace_fd, LAST, 0) == 0)
		return 0;
	return fail_errno(err, "forget the last action");
}
