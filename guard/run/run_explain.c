#include "guard/run/run_explain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/agent/agent.h"
#include "guard/agent/redactions.h"
#include "guard/change/live.h"
#include "guard/state/private_paths.h"
#include "guard/run/run.h"
#include "overlay/mount.h"

struct explainer {
	struct run run;
	const char **layers; /* in the order of their mounts, NULL-terminated */
	struct grants cows;
	char **hide;
	struct redactions redactions;
	run_explain_each *each;
	void *arg;
};

/* The agent's place whose directory is the layer of the view, or NULL. */
static const struct agent_place *agent_place_of_view(const struct explainer *e,
						     const struct path_view *v)
{
	const struct agent_place *place =
		v->visibility == VISIBILITY_LAYER
			? agent_place_of(e->run.agent, v->place)
			: NULL;

	return place && strcmp(place->path, v->place) == 0 ? place : NULL;
}

/* The reason as a word for programs: a word of the table below, or the line of
 * a profile. */
static const char *rule_of_view(const struct explainer *e,
				const struct path_view *v)
{
	const struct agent_place *own = agent_place_of_view(e, v);
	const char *const *hide = e->run.options->hide;
	AUTO(mem_list)
	char **private_paths =
		private_paths_list(&e->run.context.state, e->run.project);
	const char *line = NULL;
	struct err ignored;

	if (own)
		return own->item->word == PROFILE_HOME ? "agent" : "cache";
	switch (v->visibility) {
	case VISIBILITY_LAYER:
		return grants_name(&e->cows, v->place)	       ? "--cow"
		       : strcmp(v->place, e->run.project) == 0 ? "project"
							       : "home";
	case VISIBILITY_READ_WRITE:
		return "--rw";
	case VISIBILITY_READ_ONLY:
		if (v->granted)
			line = agent_rule(e->run.agent, PROFILE_RO, v->place);
		return v->redacted   ? "secrets"
		       : !v->granted ? "machine"
				     : line ?: "--ro";
	case VISIBILITY_PRIVATE:
		return "private";
	case VISIBILITY_HIDDEN:
	default:
		break;
	}
	line = agent_rule(e->run.agent, PROFILE_HIDE, v->place);
	if (line || v->socket)
		return line ?: "socket";
	if (path_below(v->place, private_paths[0]) ||
	    strcmp(v->place, private_paths[1]) == 0)
		return "state";
	if (mem_list_has(private_paths, v->place))
		return "backup";
	for (; *hide; hide++) {
		auto_free char *hidden = path_resolve(*hide, &ignored);

		if (hidden && strcmp(hidden, v->place) == 0)
			return "--hide";
	}
	return "credentials";
}

#define PENDING ": changes there are pending until applied or discarded"

/* The text for people, to free. */
static char *describe_view(const struct explainer *e, const struct path_view *v,
			   const char *rule)
{
	/* Before and after the place; after NULL: without it. */
	static const struct {
		const char *rule, *before, *after;
	} texts[] = {
		{"agent", "a directory of guard's own for ",
		 ", kept between its runs"},
		{"cache", "a layer over the cache ",
		 " that is kept between runs"},
		{"--cow", "the layer over ", PENDING},
		{"project", "the layer over the project" PENDING, NULL},
		{"home", "the layer over the home directory" PENDING, NULL},
		{"--rw", "the real one, exposed by --rw ",
		 ": stored before and after the run"},
		{"secrets",
		 "a read-only copy without secrets; --ro exposes the original",
		 NULL},
		{"--ro", "read-only, exposed by --ro ", ""},
		{"machine", "read-only, like the rest of the machine", NULL},
		{"private", "",
		 " is the run's own and starts empty; --ro exposes the real "
		 "one, "
		 "and --rw a directory"},
		{"socket", "masked: a program listens on ",
		 "; --ro exposes it"},
		{"state", "masked: guard's own state (",
		 "), which no option exposes"},
		{"backup", "masked: a destination of backups (",
		 "), which no option exposes"},
		{"--hide", "masked with ", " (--hide); --ro exposes it"},
	};
	const bool cache = strcmp(rule, "cache") == 0;
	const char *place = strcmp(rule, "agent") == 0 ? e->run.agent->name
						       : text_quote(v->place);
	const struct place *entry;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(rule, texts[i].rule) == 0)
			return mem_printf("%s%s%s%s", texts[i].before,
					  texts[i].after ? place : "",
					  texts[i].after ?: "",
					  cache && !e->run.options->shared_cache
						  ? " of this project"
						  : "");
	if (strcmp(rule, "credentials") != 0)
		return mem_printf("%s, as %s says",
				  v->visibility == VISIBILITY_HIDDEN
					  ? "masked"
					  : "read-only",
				  rule);
	entry = places_of(&e->run.places, v->place);
	return mem_printf("masked with %s (credentials%s%s); --ro exposes it",
			  place, entry ? ": " : "", entry ? entry->entry : "");
}

/* A mount below the home is no part of its layer. */
static bool is_mount_in_home(const struct explainer *e,
			     const struct path_view *v)
{
	const char *home = e->run.context.state.home;
	auto_close int fd =
		home ? open(home, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	char **mounts = NULL, *const * at;
	struct err ignored;
	bool found = false;

	if (v->visibility != VISIBILITY_LAYER || fd < 0 ||
	    strcmp(v->place, home) != 0)
		return false;
	(void)mount_list_below(fd, home, &mounts, &ignored);
	for (at = mounts; at && *at && !found; at++)
		found = path_below(v->real, *at);
	mem_list_free(&mounts);
	return found;
}

/* Adds the effects of an entry's owner on the layer (overlay/pre_copy_up.h). */
static void add_owner_text(const struct path_view *v, char **text)
{
	auto_free char *before = *text;
	struct meta m;

	*text = NULL;
	if (geteuid() == 0 || v->visibility != VISIBILITY_LAYER ||
	    meta_get(AT_FDCWD, v->real, &m) < 0)
		*text = TAKE(before);
	else if (m.uid != geteuid() &&
		 faccessat(AT_FDCWD, v->real, W_OK, AT_EACCESS) < 0)
		*text = mem_printf(
			"%s; it belongs to user %u: a run cannot "
			"write or move it, only delete or replace it",
			before, m.uid);
	else if (m.gid != getegid() && !group_member(m.gid))
		*text = mem_printf("%s; it has group %u, which you are not in: "
				   "what a run writes gets your group %u",
				   before, m.gid, getegid());
	else
		*text = TAKE(before);
}

/* A run that has the path as a disk in its mount table. */
struct busy_disk {
	const char *path;
	char **text;
};

static void add_busy_text(void *arg, const struct session *s, const char *point,
			  bool mounted)
{
	struct busy_disk *b = arg;
	auto_free char *before = *b->text;

	(void)mounted;
	*b->text = strcmp(point, b->path) == 0
			   ? mem_printf("%s; run %s keeps this disk busy until "
					"its end",
					before, session_label(s))
			   : TAKE(before);
}

static int explain_path(struct explainer *e, const char *path, struct err *err)
{
	struct sandbox_policy policy = run_policy(&e->run);
	const struct agent_place *place;
	AUTO(path_view) struct path_view v = {0};
	auto_free char *text = NULL;
	const char *rule;

	policy.hide = (const char *const *)e->hide;
	policy.redactions = &e->redactions;
	policy.layers = e->layers;
	if (sandbox_explain(&policy, path, &v, err) < 0)
		return -err->num;
	place = agent_place_of_view(e, &v);
	if (place && place->item->word == PROFILE_HOME) {
		const struct agent *a = e->run.agent;
		auto_free char *full_path = mem_printf(
			"%s/agents/%s/home/%s/%s", e->run.context.state.path,
			a->name, place->item->value,
			path_rest(v.real, place->path));

		v.exists = strcmp(v.real, place->path) == 0 ||
			   access(full_path, F_OK) == 0;
	}
	if (is_mount_in_home(e, &v))
		v.visibility = VISIBILITY_READ_ONLY;
	rule = rule_of_view(e, &v);
	text = describe_view(e, &v, rule);
	add_owner_text(&v, &text);
	live_each_disk(e->run.context.state.runs_fd, add_busy_text,
		       &(struct busy_disk){v.real, &text});
	e->each(e->arg, path, &v, text, rule);
	return 0;
}

/* Masked paths and copies without secrets, sorted. */
static int explain_hidden(struct explainer *e, struct err *err)
{
	AUTO(names) struct names all = {0};
	char **path;
	size_t i;

	for (path = e->hide; path && *path; path++)
		names_add(&all, *path);
	for (i = 0; i < e->redactions.count; i++)
		if (e->redactions.items[i].any || e->redactions.items[i].closed)
			names_add(&all, e->redactions.items[i].path);
	VEC_SORT(&all, sorted_compare_paths);
	for (i = 0; i < all.count; i++)
		if ((!i || strcmp(all.items[i - 1], all.items[i]) != 0) &&
		    explain_path(e, all.items[i], err) < 0)
			return -err->num;
	return 0;
}

static int explain_paths(struct explainer *e, char *const *paths,
			 struct err *err)
{
	const char *home = e->run.context.state.home;
	struct run *run = &e->run;
	const struct agent *a;
	size_t count = 0, first, i;

	run->project = run_find_project(run, err);
	if (!run->project || run_load_agent(run, err) < 0 ||
	    run_check_grants(run, err) < 0)
		return -err->num;
	if (run_find_cows(run, NULL, &e->cows, err) < 0)
		return -err->num;
	a = e->run.agent;
	e->layers = mem_zalloc((e->cows.count + a->places.count + 3) *
			       sizeof(*e->layers));
	if (home && !e->run.options->strict &&
	    !path_below(home, e->run.project))
		e->layers[count++] = home;
	for (i = 0; i < e->cows.count; i++)
		e->layers[count++] = e->cows.items[i].real;
	e->layers[count++] = e->run.project;
	first = count;
	for (i = 0; i < a->places.count; i++)
		if (!a->shared ||
		    a->places.items[i].item->word == PROFILE_CACHE)
			e->layers[count++] = a->places.items[i].path;
	if (count > first)
		qsort(e->layers + first, count - first, sizeof(*e->layers),
		      sorted_compare_paths);
	e->hide = run_hidden_paths(run);
	run_find_redactions(run, &e->redactions);
	for (; paths && *paths; paths++)
		if (explain_path(e, *paths, err) < 0)
			return -err->num;
	return paths ? 0 : explain_hidden(e, err);
}

int run_explain(const struct run_options *options, char *const *paths,
		run_explain_each *each, void *arg, struct err *err)
{
	struct explainer e = {
		.run = {.options = options, .context = CONTEXT_NONE},
		.each = each,
		.arg = arg,
	};
	int got = context_open(&e.run.context, false, err);

	if (got == 0)
		got = explain_paths(&e, paths, err);
	mem_list_free(&e.hide);
	redactions_free(&e.redactions);
	grants_free(&e.cows);
	free(e.layers);
	agent_free(&e.run.agent);
	places_free(&e.run.places);
	context_free(&e.run.context);
	free(e.run.project);
	return got;
}
