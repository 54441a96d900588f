#include "base/parse.h"
#include "guard/cli/commands.h"
#include "guard/retention/autoprune.h"
#include "guard/retention/settings.h"
#include "guard/change/recover.h"
#include "guard/sandbox/encryption.h"
#include "guard/state/moved_project.h"
#include "guard/state/private_paths.h"
#include "guard/state/report.h"
#include "restore/transaction.h"
#include "snapshot/tree/changed_paths.h"
#include "snapshot/walk/take.h"

struct snapshot_command {
	const struct options *o;
	const char *message;
	bool limited; /* the store, once, by the settings */
	uint64_t files; /* of the previous snapshot, 0: unknown */
};

static json_t *json_snapshot(const struct snapshot *s)
{
	json_t *object = jsonout_document("guard.snapshot/1");
	json_t *notes = json_array();
	size_t i;

	jsonout_number(object, "snapshot", s->seq);
	jsonout_text(object, "root", s->root_path);
	jsonout_number(object, "files", s->files);
	jsonout_number(object, "folders", s->dirs);
	jsonout_number(object, "bytes", s->bytes);
	jsonout_texts(object, "tags", s->tags);
	jsonout_texts(object, "excludes", s->excludes);
	for (i = 0; i < s->note_count; i++) {
		json_t *note = json_object();

		jsonout_text(note, "path", s->notes[i].path);
		jsonout_text(note, "reason", s->notes[i].text);
		jsonout_add(notes, note);
	}
	jsonout_set(object, "incomplete", notes);
	return object;
}

static void show_snapshot_progress(void *arg, uint64_t files, uint64_t bytes)
{
	struct snapshot_command *t = arg;

	(void)bytes;
	progress_show(NULL, "file", files, t->files > files ? t->files : 0);
}

static int snapshot_directory(struct context *c, const char *dir,
			      struct snapshot_command *t, struct snapshot *ret,
			      struct err *err)
{
	struct project p = PROJECT_NONE;
	AUTO(mem_list) char **skip = private_paths_list(&c->state, NULL);
	AUTO(settings) struct settings settings = {0};
	AUTO(snapshot) struct snapshot last = {0};
	auto_free char *other_cache = NULL, *note = NULL;
	struct err ignored;
	int got;

	if (recover_project(c, dir, err) < 0)
		return -err->num;
	if (!t->limited) {
		if (settings_load(&c->state, &settings, err) < 0 ||
		    context_store(c, STORE_WRITE, err) < 0)
			return -err->num;
		settings_limit(&settings, c->store);
		t->limited = true;
	}
	if (context_project(c, dir, false, &p, err) < 0)
		return -err->num;
	/* The number of files in the last snapshot, to estimate the remaining
	 * time. */
	if (changed_paths_find_newest(c->store, dir, &last, &ignored) == 0 &&
	    last.seq)
		t->files = last.files;
	else
		note = encryption_note(p.path, c->state.path);
	if (note)
		report_note("%s", note);
	/* A snapshot with excludes has a stat cache of its own: it would drop
	 * the excluded files from the project's. */
	other_cache = mem_printf("%s-excluding", p.cache_path);
	progress_start("snapshot");
	got = take_snapshot(
		c->store,
		&(struct take_options){
			.root_path = p.path,
			.root_fd = p.fd,
			.cache_path =
				t->o->exclude ? other_cache : p.cache_path,
			.reason = "manual",
			.message = t->message,
			.tags = (const char *const *)t->o->tag,
			.excludes = (const char *const *)t->o->exclude,
			.skip = (const char *const *)skip,
			.progress = show_snapshot_progress,
			.progress_arg = t,
		},
		ret, err);
	progress_end();
	project_close(&p);
	return got;
}

/* Prints it, or adds it to the array. */
static int snapshot_and_print(struct context *c, const char *dir,
			      struct snapshot_command *t, json_t *array,
			      struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};

	if (snapshot_directory(c, dir, t, &s, err) < 0)
		return -err->num;
	if (t->o->json)
		jsonout_add(array, json_snapshot(&s));
	else {
		size_t excluded = 0, i;

		(void)printf("%llu\n", (unsigned long long)s.seq);
		output_print("snapshot %llu of %s: %s in %s, %s",
			     (unsigned long long)s.seq, text_quote(s.root_path),
			     text_count(s.files, "file"),
			     text_count(s.dirs, "directory"),
			     text_size(s.bytes));
		for (i = 0; i < s.note_count; i++) {
			if (snapshot_is_exclusion(&s.notes[i]))
				excluded++;
			else
				output_warn("incomplete: %s: %s",
					    text_quote(s.notes[i].path),
					    s.notes[i].text);
		}
		if (s.excludes) {
			AUTO(buf) struct buf globs = {0};

			output_list(&globs, s.excludes);
			output_print("%s excluded: %s",
				     text_count(excluded, "path"),
				     buf_text(&globs));
		}
	}
	return 0;
}

/* The same directory by another name, or twice, is one directory. */
static bool is_repeated_dir(char *const *dirs, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(dirs[i], dirs[count]) == 0)
			return true;
	return false;
}

/* All of them are looked at before the first is stored. */
static int snapshot_directories(struct context *c, char **paths, size_t count,
				struct snapshot_command *t, json_t *array,
				struct err *err)
{
	AUTO(names) struct names dirs = {0};
	size_t i, k;

	for (i = 0; i < count; i++) {
		auto_free char *dir = state_directory(&c->state, paths[i], err);

		if (!dir)
			return *paths[i] && access(paths[i], F_OK) < 0 &&
					       (err->num == ENOENT ||
						err->num == ENOTDIR)
				       ? fail(err, err->num,
					      "%s is not a directory: a "
					      "message is given with -m",
					      text_quote(paths[i]))
				       : -err->num;
		names_add(&dirs, dir);
	}
	for (i = 0; i < count; i++) {
		AUTO(buf) struct buf others = {0};
		struct snapshot_command one = *t;

		if (is_repeated_dir(dirs.items, i))
			continue;
		/* The message of each snapshot lists the other directories,
		 * unless the user gave a message (-m). */
		for (k = 0; k < count; k++) {
			if (k == i || is_repeated_dir(dirs.items, k))
				continue;
			buf_add_text(&others, others.len ? ", " : "with ");
			buf_add_text(&others, dirs.items[k]);
		}
		if (!*t->message)
			one.message = buf_text(&others);
		if (snapshot_and_print(c, dirs.items[i], &one, array, err) < 0)
			return -err->num;
		t->limited = true;
	}
	return 0;
}

static int snapshot_command(char **paths, size_t count,
			    struct snapshot_command *t, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	json_auto_t *array = json_array();
	int got;

	c.wait_for_lock = true;
	if ((!count && state_check_project(NULL, PROJECT_STORE, err) < 0) ||
	    context_open(&c, false, err) < 0)
		return -err->num;
	if (count) {
		got = snapshot_directories(&c, paths, count, t, array, err);
	} else {
		auto_free char *project =
			state_project(&c.state, NULL, PROJECT_STORE, err);

		if (project)
			moved_project_find(&c.state, project);
		got = project ? snapshot_and_print(&c, project, t, array, err)
			      : -err->num;
	}
	if (t->o->json && json_array_size(array) == 1 && count <= 1)
		jsonstream_print(json_incref(json_array_get(array, 0)));
	else if (t->o->json && (got == 0 || json_array_size(array)))
		jsonstream_print_list("guard.snapshots/1", "snapshots",
				      TAKE(array));
	return got;
}

int cmd_snapshot(const struct options *o, struct context *c, struct err *err)
{
	struct snapshot_command t = {
		.o = o,
		.message = o->message ?: "",
	};
	char *const *text;
	int got;

	(void)c;
	for (text = o->tag; text && *text; text++)
		if (!parse_is_word(*text))
			return options_usage_error(
				o,
				"--tag: invalid tag %s: write one word without "
				"a comma",
				text_quote(*text));
	for (text = o->exclude; text && *text; text++)
		if (!**text || strcmp(*text, "/") == 0)
			return options_usage_error(
				o, "--exclude needs a name or a glob");
	got = snapshot_command(o->operands, (size_t)o->count, &t, err);
	if (got == STATUS_OK) {
		cmd_backup_start();
		autoprune_start();
	}
	return got;
}
