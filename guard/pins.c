#include "guard/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/walk.h"
#include "guard/action.h"
#include "overlay/session.h"

/* Runs that an action names: undo needs their base again. */
struct named {
	char **items;
	size_t count, room;
};

static void named_free(struct named *n)
{
	size_t i;

	for (i = 0; i < n->count; i++)
		free(n->items[i]);
	free(n->items);
}

void pins_free(struct pins *p)
{
	free(p->items);
	*p = (struct pins){0};
}

static void add(struct pins *p, uint64_t seq)
{
	if (!seq)
		return;
	GROW(p->items, p->count, p->room);
	p->items[p->count++] = seq;
}

static int add_action(int fd,
		      int (*load)(int fd, struct action *ret, struct err *err),
		      struct pins *to, struct named *named, struct err *err)
{
	AUTO(action) struct action a = {0};
	int got = load(fd, &a, err);
	size_t i;

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	add(to, a.before);
	add(to, a.after);
	for (i = 0; i < a.other_count; i++) {
		add(to, a.others[i].before);
		add(to, a.others[i].after);
	}
	if (a.run_id && *a.run_id) {
		GROW(named->items, named->count, named->room);
		named->items[named->count++] = TAKE(a.run_id);
	}
	return 0;
}

static int open_folder(int dirfd, const char *name)
{
	return openat(dirfd, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int add_workspaces(int workspaces_fd, struct pins *to,
			  struct named *named, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspaces_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_close int fd =
			open_folder(workspaces_fd, list.items[i].name);

		if (fd < 0 && (errno == ENOTDIR || errno == ENOENT))
			continue;
		if (fd < 0)
			return fail_errno(err, "open workspace %s",
					  text_quote(list.items[i].name));
		if (add_action(fd, action_load_next, to, named, err) < 0 ||
		    add_action(fd, action_load_last, to, named, err) < 0 ||
		    add_action(fd, action_load_prior, to, named, err) < 0)
			return err_context(err, "workspace %s",
					   text_quote(list.items[i].name));
	}
	return 0;
}

static bool is_named(const struct named *named, const char *id)
{
	size_t i;

	for (i = 0; i < named->count; i++) {
		if (strcmp(named->items[i], id) == 0)
			return true;
	}
	return false;
}

/* Whether the run in that folder is over and done with. */
static bool is_settled(const struct session_list *runs,
		       const struct named *named, const char *id)
{
	size_t i;

	for (i = 0; i < runs->count; i++) {
		if (strcmp(runs->items[i].id, id) == 0)
			return !run_state_pending(runs->items[i].state) &&
			       !is_named(named, id);
	}
	return false;
}

/* The base of every run's folder in there; of settled ones not (NULL: all). */
static int add_bases(int dirfd, const struct session_list *runs,
		     const struct named *named, struct pins *to,
		     struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dirfd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		struct session s = {.fd = open_folder(dirfd, name)};
		auto_close int fd = s.fd;
		int got;

		if (fd < 0 || (runs && is_settled(runs, named, name)))
			continue;
		/* -ENODATA: it was never taken. */
		got = session_base(&s, false, err);
		if (got < 0 && got != -ENODATA)
			return err_context(err, "%s", text_quote(name));
		add(to, s.base);
	}
	return 0;
}

int pins_load(const struct state *state, struct pins *ret, struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	AUTO(named) struct named named = {0};
	AUTO(pins) struct pins pins = {0};
	size_t i;

	if (add_workspaces(state->workspaces_fd, &pins, &named, err) < 0 ||
	    session_list(state->runs_fd, NULL, &runs, err) < 0)
		return -err->num;
	for (i = 0; i < runs.count; i++) {
		if (!is_settled(&runs, &named, runs.items[i].id))
			add(&pins, runs.items[i].result);
	}
	if (add_bases(state->runs_fd, &runs, &named, &pins, err) < 0 ||
	    add_bases(state->trash_fd, NULL, &named, &pins, err) < 0)
		return -err->num;
	*ret = pins;
	pins = (struct pins){0};
	return 0;
}
