/* The lines of one action in the log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/change/action_private.h"

void action_add_part(struct action *a, const char *kept, const char *layer,
		     const char *path)
{
	*VEC_ADD(&a->parts) = (struct action_part){
		.kept = mem_strdup(kept),
		.layer = mem_strdup(layer),
		.path = mem_strdup(path),
	};
}

static bool parse_part(struct action *a, const char *value)
{
	const char *layer = strchr(value, ' ');
	const char *path = layer ? strchr(layer + 1, ' ') : NULL;
	auto_free char *kept_name = NULL, *layer_name = NULL;

	if (!path || !path_ok(path + 1))
		return false;
	kept_name = mem_strndup(value, (size_t)(layer - value));
	layer_name = mem_strndup(layer + 1, (size_t)(path - layer - 1));
	if (!path_name_ok(kept_name, strlen(kept_name)) ||
	    !path_name_ok(layer_name, strlen(layer_name)))
		return false;
	action_add_part(a, kept_name, layer_name, path + 1);
	return true;
}

static bool parse_other_root(struct action *a, const char *value)
{
	uint64_t before, after;
	int at = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %n", &before, &after, &at) !=
		    2 ||
	    !at || value[at] != '/')
		return false;
	*VEC_ADD(&a->roots) = (struct action_root){
		.path = mem_strdup(value + at),
		.before = before,
		.after = after,
	};
	return true;
}

static bool parse_only_path(struct action *a, const char *value)
{
	char *path;
	unsigned long number = strtoul(value, &path, 10);

	if (*path++ != ' ' || number >= a->roots.count)
		return false;
	mem_list_add(&a->roots.items[number].only, path);
	return true;
}

static bool parse_base(struct action *a, const char *value)
{
	struct action_base base = {.left = strchr(value, 'l') != NULL};

	if (sscanf(value, "%zu %" SCNu64 " %" SCNu64, &base.root, &base.from,
		   &base.to) != 3)
		return false;
	*VEC_ADD(&a->bases) = base;
	return true;
}

static bool parse_first_seq(struct action *a, const char *value)
{
	uint64_t first;
	size_t number;

	if (sscanf(value, "%zu %" SCNu64, &number, &first) != 2 ||
	    number >= a->roots.count)
		return false;
	a->roots.items[number].first = first;
	return true;
}

static bool parse_text(char **to, const char *value)
{
	free(*to);
	*to = mem_strdup(value);
	return true;
}

static bool parse_seq(uint64_t *to, const char *value)
{
	*to = strtoull(value, NULL, 10);
	return true;
}

/* Unknown keys are those of a newer guard, which need no new version. */
bool action_fields_parse(struct action *a, const char *key, const char *value)
{
	struct action_root *project = &a->roots.items[0];
	bool is_set = strcmp(value, "0") != 0;

	if (strcmp(key, "kind") == 0)
		return parse_text(&a->kind, value);
	if (strcmp(key, "of") == 0)
		return parse_text(&a->origin, value);
	if (strcmp(key, "run") == 0)
		return parse_text(&a->run_id, value);
	if (strcmp(key, "run-name") == 0)
		return parse_text(&a->run_name, value);
	if (strcmp(key, "time") == 0)
		a->time = strtoll(value, NULL, 10);
	if (strcmp(key, "before") == 0)
		return parse_seq(&project->before, value);
	if (strcmp(key, "after") == 0)
		return parse_seq(&project->after, value);
	if (strcmp(key, "takes") == 0)
		return parse_seq(&a->undone_before, value);
	if (strcmp(key, "git") == 0)
		a->git = is_set;
	if (strcmp(key, "whole") == 0)
		a->complete = is_set;
	if (strcmp(key, "other") == 0)
		return parse_other_root(a, value);
	if (strcmp(key, "only") == 0)
		return parse_only_path(a, value);
	if (strcmp(key, "first") == 0)
		return parse_first_seq(a, value);
	if (strcmp(key, "part") == 0)
		return parse_part(a, value);
	if (strcmp(key, "base") == 0)
		return parse_base(a, value);
	return true;
}

/* Takes the value. */
static void add_value(struct record *r, const char *key, char *value)
{
	record_add(r, key, value);
	free(value);
}

static void add_seq(struct record *r, const char *key, uint64_t seq)
{
	add_value(r, key, mem_printf("%" PRIu64, seq));
}

void action_fields_add(struct record *r, const struct action *a)
{
	const struct action_root none = {0}, *root;
	const struct action_root *project =
		a->roots.count ? a->roots.items : &none;
	char *const *only;
	size_t i;

	add_value(r, ACTION_KEY,
		  mem_printf("%" PRIu64 "%s", a->number,
			     a->undone ? " undone" : ""));
	add_value(r, "time", mem_printf("%" PRId64, a->time));
	record_add(r, "kind", a->kind);
	record_add(r, "run", a->run_id);
	if (a->origin)
		record_add(r, "of", a->origin);
	if (a->run_name)
		record_add(r, "run-name", a->run_name);
	add_seq(r, "before", project->before);
	add_seq(r, "after", project->after);
	if (a->git)
		record_add(r, "git", "1");
	if (a->complete)
		record_add(r, "whole", "1");
	/* Each root after the project: other = before " " after " " path. Each
	 * partial root: only = number of the root " " path. */
	for (i = 0; i < a->roots.count; i++) {
		root = &a->roots.items[i];
		if (i)
			add_value(r, "other",
				  mem_printf("%" PRIu64 " %" PRIu64 " %s",
					     root->before, root->after,
					     root->path));
		for (only = root->only; only && *only; only++)
			add_value(r, "only", mem_printf("%zu %s", i, *only));
		/* first = number of the root " " before. */
		if (root->first)
			add_value(r, "first",
				  mem_printf("%zu %" PRIu64, i, root->first));
	}
	/* part = kept " " layer " " path */
	for (i = 0; i < a->parts.count; i++)
		add_value(r, "part",
			  mem_printf("%s %s %s", a->parts.items[i].kept,
				     a->parts.items[i].layer,
				     a->parts.items[i].path));
	/* base = root " " from " " to [" left"] */
	for (i = 0; i < a->bases.count; i++)
		add_value(r, "base",
			  mem_printf("%zu %" PRIu64 " %" PRIu64 "%s",
				     a->bases.items[i].root,
				     a->bases.items[i].from,
				     a->bases.items[i].to,
				     a->bases.items[i].left ? " left" : ""));
}
