#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "guard/agent/agent.h"
#include "guard/agent/home_versions.h"
#include "guard/cli/commands.h"
#include "guard/cli/plan_print.h"
#include "guard/state/usage.h"
#include "overlay/session_list.h"

static int list_agents(struct context *c, bool json)
{
	const struct state *state = &c->state;
	AUTO(table) struct table table = {0};
	json_auto_t *list = json_array();
	auto_free char *config = agent_config_dir(state);
	char **names = agent_names(state, true), **name;
	struct err ignored;

	for (name = names; name && *name; name++) {
		auto_free char *path = mem_printf("%s/%s", config ?: "", *name);
		bool own = config && access(path, F_OK) == 0;
		const char *from =
			profile_shipped(*name)
				? own ? "guard's and your own" : "guard's"
			: own ? "your own"
			      : "none";
		json_t *one = json_object();
		struct usage usage = {0};
		struct stat st;
		auto_close int fd =
			agent_open_state(state, *name, false, &ignored);
		bool home = fd >= 0 && fstatat(fd, "home", &st, 0) == 0;

		if (home)
			usage_add(fd, "home", &usage);
		jsonout_text(one, "name", *name);
		jsonout_text(one, "profile", from);
		jsonout_bool(one, "home", home);
		jsonout_number(one, "bytes", usage.bytes);
		jsonout_add(list, one);
		table_row(&table, *name, from,
			  home ? text_size(usage.bytes) : "no home yet");
	}
	if (json)
		jsonstream_print_list("guard.agents/1", "agents", TAKE(list));
	else
		table_print(&table, "", stdout);
	mem_list_free(&names);
	return STATUS_OK;
}

static int no_profile(const char *name, struct err *err)
{
	return fail(err, ENOENT, "no such profile: %s; guard agents lists all",
		    text_quote(name));
}

/* The lines that hold, each with its place. */
static int show_profile(struct context *c, const char *name, struct err *err)
{
	const struct state *state = &c->state;
	AUTO(profile) struct profile p = {0};
	struct err ignored;
	auto_close int fd = -1;
	size_t i;
	int got;

	got = agent_read(state, name, &p, err);
	if (got <= 0)
		return got < 0 ? got : no_profile(name, err);
	for (i = 0; i < p.count; i++) {
		const struct profile_item *item = &p.items[i];
		AUTO(buf) struct buf line = {0};

		buf_printf(&line, "%s%s%s", profile_word_name(item->word),
			   *item->value ? " " : "", item->in_home ? "~/" : "");
		text_escape_name(&line, item->value);
		if (item->text) {
			buf_add_char(&line, ' ');
			text_escape_name(&line, item->text);
		}
		(void)printf("%-44s # %s\n", buf_text(&line), item->where);
	}
	fd = agent_open_state(state, name, false, &ignored);
	if (fd >= 0)
		(void)printf("# its home: %s/agents/%s/home\n", state->path,
			     name);
	return STATUS_OK;
}

static int move_home_to_trash(struct context *c, const char *name,
			      struct err *err)
{
	const struct state *state = &c->state;
	auto_close int homes = agent_open_state(state, NULL, false, err);
	int n, got = -1;

	for (n = 1; homes >= 0 && n < 100; n++) {
		const char *to =
			text_printf("%lld-agent-%d", (long long)time(NULL), n);

		got = renameat2(homes, name, state->trash_fd, to,
				RENAME_NOREPLACE);
		if (got == 0 || errno != EEXIST)
			break;
	}
	return got < 0 ? fail_errno(err, "move it to the trash") : 0;
}

static int refuse_live_runs(struct context *c, const char *name,
			    struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t i;

	if (session_list(c->state.runs_fd, true, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct session *s = &list.items[i];
		const char *used = record_get(&s->more, AGENT_NAME);

		if (s->live && used && strcmp(used, name) == 0)
			return fail(err, EBUSY,
				    "the home of %s is in use by run %s: wait "
				    "for its end",
				    name, s->id);
	}
	return 0;
}

static int execute_home_undo(struct context *c, const struct home_versions *h,
			     struct home_undo *u, bool yes, struct err *err)
{
	const struct snapshot *want = &u->change.roots[0].want;
	char **login;

	for (login = u->kept; h->prefix && login && *login; login++)
		output_warn("%s stays: it was changed since",
			    text_shell(*login));
	if (!changeset_has_steps(&u->change) && !u->lost_logins) {
		output_print("nothing to do: %sthe home of %s is as before run "
			     "%s, %s",
			     u->kept ? "the rest of " : "", h->name,
			     want->run_id, text_age(want->time));
		return STATUS_OK;
	}
	if (plan_print(c->store, &u->change.roots[0].plan, NULL, err) < 0)
		return -err->num;
	for (login = u->lost_logins; login && *login; login++)
		output_print("the login comes back: ~/%s",
			     text_shell(path_rest(*login, h->path)));
	if (!output_confirm(yes,
			    "guard: restore the home of %s from before run %s, "
			    "%s?",
			    h->name, want->run_id, text_age(want->time)))
		return STATUS_REFUSED;
	if (home_undo_execute(u, h, err) < 0)
		return err_context(err, "home of %s", h->name);
	output_print("%sthe home of %s is as before run %s",
		     u->kept ? "the rest of " : "", h->name, want->run_id);
	return STATUS_OK;
}

static int fail_no_home(const struct context *c, const char *name,
			struct err *err)
{
	AUTO(profile) struct profile profile = {0};
	int got = agent_read(&c->state, name, &profile, err);

	if (got <= 0)
		return got < 0 ? got : no_profile(name, err);
	return fail(err, ENOENT,
		    "%s has no home directory yet: guard run --agent %s "
		    "creates it",
		    name, name);
}

/* The real directories that the agent's last run could write to:
 * --share-login. *ret_any: there are such. */
static int undo_shared(struct context *c, const char *name,
		       const struct profile *profile, uint64_t own_last,
		       unsigned long runs, bool yes, bool *ret_any,
		       struct err *err)
{
	const struct profile_item *item = NULL;
	int got = 0;

	while (got == STATUS_OK &&
	       (item = profile_next(profile, PROFILE_HOME, item))) {
		AUTO(home_versions) struct home_versions h = {0};
		AUTO(home_undo) struct home_undo undo = {0};

		if (!home_versions_open_shared(&c->state, name, profile, item,
					       &h) ||
		    home_versions_last(c, &h) <= own_last)
			continue;
		*ret_any = true;
		got = refuse_live_runs(c, name, err);
		if (got == 0)
			got = home_undo_plan_shared(c, &h, runs, &undo, err);
		if (got < 0)
			return err_context(err, "%s", text_quote(h.path));
		got = execute_home_undo(c, &h, &undo, yes, err);
	}
	return got;
}

static int undo_agent_home(struct context *c, const char *name,
			   unsigned long runs, bool yes, struct err *err)
{
	AUTO(profile) struct profile profile = {0};
	AUTO(home_versions) struct home_versions h = {0};
	AUTO(home_undo) struct home_undo undo = {0};
	bool any = false;
	int got, opened;

	if (agent_read(&c->state, name, &profile, err) < 0)
		return -err->num;
	opened = home_versions_open(&c->state, name, &profile, &h, err);
	if (opened < 0 && opened != -ENOENT)
		return opened;
	got = undo_shared(c, name, &profile,
			  opened < 0 ? 0 : home_versions_last(c, &h), runs, yes,
			  &any, err);
	if (any)
		return got;
	if (opened < 0)
		return fail_no_home(c, name, err);
	if (refuse_live_runs(c, name, err) < 0)
		return -err->num;
	if (home_undo_plan_runs(c, &h, runs, &undo, err) < 0)
		return err_context(err, "home of %s", name);
	return execute_home_undo(c, &h, &undo, yes, err);
}

static int reset_agent_home(struct context *c, const char *name, bool yes,
			    struct err *err)
{
	auto_close int fd = -1;
	int got;

	fd = agent_open_state(&c->state, name, false, err);
	if (fd == -ENOENT)
		return fail_no_home(c, name, err);
	if (fd < 0 || refuse_live_runs(c, name, err) < 0)
		return -err->num;
	got = yes ? 1
		  : output_ask("Move the home of %s, with its login, sessions "
			       "and settings, to the trash?",
			       name);
	if (got < 0)
		return fail(err, EPERM,
			    "no terminal to ask on: use --yes to move the home "
			    "of %s to the trash",
			    name);
	if (!got)
		return STATUS_REFUSED;
	if (move_home_to_trash(c, name, err) < 0)
		return err_context(err, "home of %s", name);
	state_log(&c->state, "reset", "agent", name, NULL);
	output_print("the home of %s is in guard's trash; its next run starts "
		     "with your settings: log in again",
		     name);
	return STATUS_OK;
}

int cmd_agents(const struct options *o, struct context *c, struct err *err)
{
	const char *name = o->reset ?: o->operands[0];
	unsigned long runs = 1;

	if (o->undo && !o->count)
		return options_usage_error(
			o, "expected: guard agents NAME --undo [N]");
	if (o->undo && o->count == 2 &&
	    (parse_number(o->operands[1], 10000, &runs) < 0 || !runs))
		return options_usage_error(
			o, "--undo takes a number of runs, not %s",
			text_quote(o->operands[1]));
	if (!o->undo && o->count > 1)
		return options_usage_error(o, "expected one NAME");
	if (name && !profile_name_ok(name))
		return no_profile(name, err);
	if (o->reset)
		return reset_agent_home(c, name, o->yes, err);
	if (o->undo)
		return undo_agent_home(c, name, runs, o->yes, err);
	return name ? show_profile(c, name, err) : list_agents(c, o->json);
}
