#include "guard/action_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"

#define VERSION 3
#define VERSION_FOLDERS 2
#define VERSION_ONE_FOLDER 1

void action_free_roots(struct action *a)
{
	size_t i;

	for (i = 0; i < a->other_count; i++) {
		free(a->others[i].path);
		mem_list_free(&a->others[i].only);
	}
	for (i = 0; i < a->part_count; i++) {
		free(a->parts[i].kept);
		free(a->parts[i].layer);
		free(a->parts[i].path);
	}
	free(a->others);
	free(a->parts);
	mem_list_free(&a->only);
	a->others = NULL;
	a->parts = NULL;
	a->other_count = a->other_capacity = 0;
	a->part_count = a->part_capacity = 0;
}

void action_free(struct action *a)
{
	action_free_roots(a);
	free(a->kind);
	free(a->run_id);
	free(a->undone_kind);
	*a = (struct action){0};
}

struct action_root *action_add_root(struct action *a, const char *path)
{
	struct action_root *root;

	GROW(a->others, a->other_count, a->other_capacity);
	root = &a->others[a->other_count++];
	*root = (struct action_root){.path = mem_strdup(path)};
	return root;
}

void action_add_part(struct action *a, const char *kept, const char *layer,
		     const char *path)
{
	GROW(a->parts, a->part_count, a->part_capacity);
	a->parts[a->part_count++] = (struct action_part){
		.kept = mem_strdup(kept),
		.layer = mem_strdup(layer),
		.path = mem_strdup(path),
	};
}

/* only = number of the root " " path; 0 is the action's own. */
static void add_only_paths(struct record *r, size_t number, char *const *only)
{
	for (; only && *only; only++) {
		auto_free char *value = mem_printf("%zu %s", number, *only);

		record_add(r, "only", value);
	}
}

/* other = before " " after " " path */
static void add_other_roots(struct record *r, const struct action *a)
{
	size_t i;

	add_only_paths(r, 0, a->only);
	for (i = 0; i < a->other_count; i++) {
		const struct action_root *o = &a->others[i];
		auto_free char *value =
			mem_printf("%" PRIu64 " %" PRIu64 " %s", o->before,
				   o->after, o->path);

		record_add(r, "other", value);
		add_only_paths(r, i + 1, o->only);
	}
}

/* first = number of the root " " before */
static void add_first_seq(struct record *r, size_t number, uint64_t first)
{
	auto_free char *value = mem_printf("%zu %" PRIu64, number, first);

	if (first)
		record_add(r, "first", value);
}

static void add_first_seqs(struct record *r, const struct action *a)
{
	size_t i;

	add_first_seq(r, 0, a->first);
	for (i = 0; i < a->other_count; i++)
		add_first_seq(r, i + 1, a->others[i].first);
}

/* part = kept " " layer " " path */
static void add_part_values(struct record *r, const struct action *a)
{
	size_t i;

	for (i = 0; i < a->part_count; i++) {
		const struct action_part *p = &a->parts[i];
		auto_free char *value =
			mem_printf("%s %s %s", p->kept, p->layer, p->path);

		record_add(r, "part", value);
	}
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
	struct action_root *root;
	uint64_t before, after;
	int at = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %n", &before, &after, &at) !=
		    2 ||
	    !at || value[at] != '/')
		return false;
	root = action_add_root(a, value + at);
	root->before = before;
	root->after = after;
	return true;
}

static bool parse_only_path(struct action *a, const char *value)
{
	char *path;
	unsigned long number = strtoul(value, &path, 10);

	if (*path++ != ' ' || number > a->other_count)
		return false;
	mem_list_add(number ? &a->others[number - 1].only : &a->only, path);
	return true;
}

static bool parse_first_seq(struct action *a, const char *value)
{
	uint64_t first;
	size_t number;

	if (sscanf(value, "%zu %" SCNu64, &number, &first) != 2 ||
	    number > a->other_count)
		return false;
	*(number ? &a->others[number - 1].first : &a->first) = first;
	return true;
}

/* Calls get() with each value of a key; a record may have a thousand. */
static bool parse_values(const struct record *r, const char *key,
			 struct action *a,
			 bool (*get)(struct action *a, const char *value))
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].key, key) == 0 &&
		    !get(a, r->items[i].value))
			return false;
	return true;
}

static int parse_root_values(const struct record *r, struct action *a,
			     struct err *err)
{
	if (!parse_values(r, "other", a, parse_other_root) ||
	    !parse_values(r, "only", a, parse_only_path) ||
	    !parse_values(r, "first", a, parse_first_seq) ||
	    !parse_values(r, "part", a, parse_part))
		return fail(err, EBADMSG, "the record of an action is damaged");
	return 0;
}

int action_record_save(int workspace_fd, const char *name,
		       const struct action *a, struct atomic_set *to,
		       struct err *err)
{
	AUTO(record) struct record r = {0};
	int version;

	record_set(&r, "kind", a->kind);
	record_set(&r, "run", a->run_id);
	record_set(&r, "undoes", a->undone_kind ? a->undone_kind : "");
	record_set_int(&r, "before", (int64_t)a->before);
	record_set_int(&r, "after", (int64_t)a->after);
	record_set_int(&r, "takes", (int64_t)a->undone_before);
	record_set_int(&r, "git", a->git);
	record_set_int(&r, "whole", a->complete);
	add_other_roots(&r, a);
	add_first_seqs(&r, a);
	add_part_values(&r, a);
	/* The lowest sufficient version, so that an older guard can undo the
	 * action. */
	version = a->part_count		      ? VERSION
		  : a->only || a->other_count ? VERSION_FOLDERS
					      : VERSION_ONE_FOLDER;
	return to ? record_put(workspace_fd, name, "action", version, &r, to,
			       err)
		  : record_save(workspace_fd, name, "action", version, &r,
				ATOMIC_DURABLE, err);
}

static char *record_text_copy(const struct record *r, const char *key)
{
	const char *value = record_get(r, key);

	return mem_strdup(value ? value : "");
}

int action_record_load(int workspace_fd, const char *name, struct action *ret,
		       struct err *err)
{
	AUTO(record) struct record r = {0};
	int got = record_load(workspace_fd, name, "action", VERSION, &r, err);

	if (got < 0)
		return got;
	*ret = (struct action){
		.kind = record_text_copy(&r, "kind"),
		.run_id = record_text_copy(&r, "run"),
		.undone_kind = record_text_copy(&r, "undoes"),
		.before = (uint64_t)record_get_int(&r, "before"),
		.after = (uint64_t)record_get_int(&r, "after"),
		.undone_before = (uint64_t)record_get_int(&r, "takes"),
		.git = record_get_int(&r, "git") != 0,
		.complete = record_get_int(&r, "whole") != 0,
	};
	got = parse_root_values(&r, ret, err);
	if (got < 0) {
		action_free(ret);
		return err_context(err, "%s", name);
	}
	return 0;
}
