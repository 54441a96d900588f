#include <fnmatch.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/history/pathglob.h"
#include "guard/history/versions.h"

struct find_command {
	const struct options *o;
	char *whole; /* of an absolute path, when there is a '/' in it */
	char *cwd; /* names are shown from */
};

static bool matches_find_pattern(void *arg, const char *path,
				 const struct entry *e)
{
	const struct find_command *f = arg;

	(void)e;
	if (f->whole)
		return pathglob_match(f->whole, path);
	return fnmatch(f->o->operands[0], path_name(path),
		       f->o->ignore_case ? FNM_CASEFOLD : 0) == 0;
}

static void add_version_end(json_t *object, const char *key, uint64_t seq,
			    struct timestamp time)
{
	json_t *end = json_object();

	jsonout_seq(end, seq);
	jsonout_time(end, "time", time);
	jsonout_set(object, key, end);
}

static void print_versions_json(const struct versions *v)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct version *item = &v->items[i];
		json_t *object = json_object();

		jsonout_text(object, "path", item->path);
		jsonout_text(object, "type", jsonout_type(item->entry.mode));
		jsonout_mode(object, item->entry.mode);
		jsonout_number(object, "size", item->entry.size);
		jsonout_time(object, "mtime", item->entry.mtime);
		add_version_end(object, "first", item->first, item->first_time);
		add_version_end(object, "last", item->last, item->last_time);
		jsonout_number(object, "snapshots", item->snapshots);
		jsonout_bool(object, "newest", item->newest);
		jsonout_add(array, object);
	}
	jsonstream_print_list("guard.find/1", "versions", array);
}

static void print_versions(const struct find_command *f,
			   const struct versions *v)
{
	AUTO(table) struct table t = {.width = TABLE_WHOLE, .right = "   r"};
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct version *item = &v->items[i];
		const struct entry *e = &item->entry;
		const char *what =
			e->flags & ENTRY_INCOMPLETE && !S_ISDIR(e->mode)
				? "incomplete"
			: S_ISREG(e->mode) ? text_size(e->size)
					   : jsonout_type_text(e->mode);
		const char *seqs =
			!item->last ? f->o->at
			: item->first == item->last
				? text_printf("%" PRIu64, item->last)
				: text_printf("%" PRIu64 "-%" PRIu64,
					      item->first, item->last);
		AUTO(buf) struct buf name = {0};

		output_path(&name, item->path, f->cwd);
		if (S_ISDIR(e->mode))
			buf_add_char(&name, '/');
		table_row(&t, seqs, text_time(item->first_time),
			  item->newest || f->o->at ? "still there"
						   : text_time(item->last_time),
			  what, buf_text(&name));
	}
	table_print(&t, "", stdout);
}

static int find_command(struct find_command *f, struct context *c,
			struct err *err)
{
	const char *arg = f->o->operands[0];
	AUTO(versions)
	struct versions v = {.want = matches_find_pattern,
			     .progress = progress_show,
			     .arg = f};
	auto_free char *from = NULL;
	int got;

	f->cwd = path_resolve(".", err);
	if (!f->cwd || context_store(c, STORE_READ, err) < 0)
		return -err->num;
	if (strchr(arg, '/'))
		f->whole =
			*arg == '/' ? mem_strdup(arg) : path_join(f->cwd, arg);
	from = f->whole ? pathglob_fixed(f->whole)
			: mem_strdup(f->o->all ? "/" : c->project);
	progress_start("find");
	got = versions_load(&v, c, from, f->o->at, err);
	progress_end();
	if (got < 0)
		return got;
	versions_sort(&v);
	if (f->o->json)
		print_versions_json(&v);
	else
		print_versions(f, &v);
	if (!v.count && !f->o->json)
		output_print("no snapshot of %s has %s%s",
			     f->o->all ? "any project" : text_quote(from),
			     text_quote(arg),
			     pathglob_has_wildcards(arg)
				     ? ""
				     : ": '*PART*' finds a part of a "
				       "name");
	return v.count && !v.damaged ? STATUS_OK : STATUS_REFUSED;
}

int cmd_find(const struct options *o, struct context *c, struct err *err)
{
	struct find_command f = {.o = o};
	int got;

	if (!o->count || !*o->operands[0])
		return options_usage_error(
			o, "expected one NAME, or one GLOB in quotes");
	got = find_command(&f, c, err);
	free(f.whole);
	free(f.cwd);
	return got;
}
