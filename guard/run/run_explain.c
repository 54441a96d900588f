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
#include "guard/agent/redact.h"
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

/* The text for people, to free; *ret_rule: the word for programs. */
static char *describe_view(const struct explainer *e, const struct path_view *v,
			   const char **ret_rule)
{
	const struct run_options *o = e->run.options;
	const struct agent_place *own = agent_place_of_view(e, v);
	const char *place = text_quote(v->place);
	const char *const *hide = o->hide;
	const char *cow = NULL;
	const struct place *entry = NULL;
	struct err ignored;
	size_t i;

	/* The line of a profile that decides, or NULL. */
	*ret_rule = v->visibility == VISIBILITY_HIDDEN
			    ? agent_rule(e->run.agent, PROFILE_HIDE, v->place)
		    : v->visibility == VISIBILITY_READ_ONLY && v->granted
			    ? agent_rule(e->run.agent, PROFILE_RO, v->place)
			    : NULL;
	if (own && own->item->word == PROFILE_HOME) {
		*ret_rule = "agent";
		return mem_printf("a directory of guard's own for %s, kept "
				  "between its runs",
				  e->run.agent->name);
	}
	if (own) {
		*ret_rule = "cache";
		return mem_printf("a layer over the cache %s that is kept "
				  "between runs%s",
				  place,
				  o->shared_cache ? "" : " of this project");
	}
	if (*ret_rule)
		return mem_printf("%s, as %s says",
				  v->visibility == VISIBILITY_HIDDEN
					  ? "masked"
					  : "read-only",
				  *ret_rule);
	switch (v->visibility) {
	case VISIBILITY_LAYER:
		for (i = 0; i < e->cows.count; i++)
			if (strcmp(v->place, e->cows.items[i].real) == 0)
				cow = place;
		*ret_rule = cow					    ? "--cow"
			    : strcmp(v->place, e->run.project) == 0 ? "project"
								    : "home";
		return mem_printf("the layer over %s: changes there are "
				  "pending until applied or discarded",
				  cow		      ? place
				  : **ret_rule == 'h' ? "the home directory"
						      : "the project");
	case VISIBILITY_READ_WRITE:
		*ret_rule = "--rw";
		return mem_printf("the real one, exposed by --rw %s: stored "
				  "before and after the run",
				  place);
	case VISIBILITY_READ_ONLY:
		if (v->redacted) {
			*ret_rule = "secrets";
			return mem_strdup("a read-only copy without secrets; "
					  "--ro exposes the original");
		}
		*ret_rule = v->granted ? "--ro" : "machine";
		return v->granted ? mem_printf("read-only, exposed by --ro %s",
					       place)
				  : mem_strdup("read-only, like the rest of "
					       "the machine");
	case VISIBILITY_PRIVATE:
		*ret_rule = "private";
		return mem_printf("%s is the run's own and starts empty; --ro "
				  "or --rw exposes the real one",
				  place);
	case VISIBILITY_HIDDEN:
	default:
		break;
	}
	if (v->socket) {
		*ret_rule = "socket";
		return mem_printf(
			"masked: a program listens on %s; --ro exposes it",
			place);
	}
	if (path_below(v->place, e->run.context.state.path)) {
		*ret_rule = "state";
		return mem_printf("masked: guard's own state (%s), which no "
				  "option exposes",
				  place);
	}
	*ret_rule = "credentials";
	for (; *hide; hide++) {
		auto_free char *hidden = path_resolve(*hide, &ignored);

		if (hidden && strcmp(hidden, v->place) == 0)
			*ret_rule = "--hide";
	}
	if (strcmp(*ret_rule, "credentials") == 0)
		entry = places_of(&e->run.places, v->place);
	return mem_printf("masked with %s (%s%s%s); --ro exposes it", place,
			  *ret_rule, entry ? ": " : "",
			  entry ? entry->entry : "");
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

static int explain_path(struct explainer *e, const char *path, struct err *err)
{
	const struct run_options *o = e->run.options;
	const struct sandbox_policy policy = {
		.home = e->run.context.state.home,
		.hide = (const char *const *)e->hide,
		.redactions = &e->redactions,
		.never_granted = e->run.context.state.path,
		.grants = &e->run.agent->grants,
		.net = o->net,
		.strict = o->strict,
		.layers = e->layers,
	};
	const struct agent_place *place;
	AUTO(path_view) struct path_view v = {0};
	auto_free char *text = NULL;
	const char *rule;

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
	text = describe_view(e, &v, &rule);
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
		if (e->redactions.items[i].any)
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
