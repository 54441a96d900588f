#include <unistd.h>

#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"
#include "guard/cli/commands.h"
#include "guard/state/backups.h"
#include "guard/state/moved_project.h"
#include "guard/state/private_paths.h"
#include "overlay/session_list.h"
#include "restore/workspace.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/maintain/verify.h"

struct repair_command {
	uint64_t faults, paths;
	bool yes;
	json_t *lost; /* NULL: text */
};

static int count_fault(void *arg, const struct verify_fault *f, struct err *err)
{
	struct repair_command *r = arg;

	(void)err;
	if (f->kind == VERIFY_PATH)
		r->paths++;
	else
		r->faults++;
	return 0;
}

static void report_repair_warning(void *arg, const char *text)
{
	(void)arg;
	output_warn("%s", text);
}

static int print_lost_path(void *arg, uint64_t seq, const char *path,
			   const char *why, struct err *err)
{
	const struct repair_command *r = arg;
	AUTO(buf) struct buf b = {0};

	(void)err;
	if (r->lost) {
		json_t *object = json_object();

		jsonout_number(object, "snapshot", seq);
		jsonout_text(object, "path", path);
		jsonout_text(object, "why", why);
		jsonout_add(r->lost, object);
		return 0;
	}
	buf_printf(&b, "lost     snapshot %llu: ", (unsigned long long)seq);
	text_escape_name(&b, *path ? path : ".");
	buf_printf(&b, ": %s", why);
	(void)puts(buf_text(&b));
	return 0;
}

/* Returns 1 for a damaged store, 0 for an intact one. */
static int verify_before_repair(struct context *c, struct repair_command *r,
				struct err *err)
{
	struct verify_options o = {
		.read_data = true,
		.fault = count_fault,
		.progress = progress_show_bytes,
		.arg = r,
	};
	struct verify_result result;
	int got = context_store(c, STORE_READ, err);

	/* The store cannot be opened: repair_store() finds out whether it can
	 * be repaired. */
	if (got == -EBADMSG) {
		output_warn("%s", err->text);
		r->faults++;
		return 1;
	}
	if (got < 0)
		return got;
	progress_start("repair");
	got = verify_store(c->store, &o, &result, err);
	progress_end();
	store_free(&c->store);
	return got;
}

/* A stat cache says of files that they are stored: no longer to be trusted. */
static int drop_caches(const struct state *state, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(state->workspaces_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_close int fd =
			fd_open_dir(state->workspaces_fd, list.items[i].name);
		auto_free char *cache = workspace_cache_path(fd);
		auto_free char *other = mem_printf("%s-excluding", cache);

		if (fd >= 0 && ((unlink(cache) < 0 && errno != ENOENT) ||
				(unlink(other) < 0 && errno != ENOENT)))
			return fail_errno(err, "remove the stat cache of %s",
					  text_quote(list.items[i].name));
	}
	return 0;
}

/* Runs whose record is damaged go to the trash: no verb can use them. */
static int trash_damaged_runs(struct context *c, bool yes, struct err *err)
{
	AUTO(names) struct names ids = {0};
	size_t i;

	if (session_list_damaged(c->state.runs_fd, &ids, err) < 0)
		return -err->num;
	for (i = 0; i < ids.count; i++) {
		const char *id = ids.items[i];
		auto_free char *trash =
			mem_printf("%s/trash/*-damaged-%s", c->state.path, id);

		if (!output_confirm(yes,
				    "guard: the record of run %s is damaged: "
				    "move the run to guard's trash?",
				    id))
			continue;
		if (session_trash_damaged(c->state.runs_fd, c->state.trash_fd,
					  id, err) < 0)
			return -err->num;
		output_print("run %s is in guard's trash for 7 days: its "
			     "changes are in the directory upper of %s",
			     id, text_quote(trash));
	}
	return 0;
}

/* Only the path leads to a workspace: its name is a hash of the path. */
static int warn_of_workspaces(const struct state *state, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(state->workspaces_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		AUTO(record) struct record r = {0};
		auto_close int fd =
			fd_open_dir(state->workspaces_fd, list.items[i].name);
		struct err why;

		if (fd >= 0 && record_load(fd, "record", "workspace", 1, &r,
					   &why) == -EBADMSG)
			output_warn("%s/workspaces/%s/record is damaged: the "
				    "next command of guard in the project "
				    "that it belongs to makes it again",
				    state->path, list.items[i].name);
	}
	return 0;
}

/* done NULL: nothing was done, since the store is intact or the answer was no.
 */
static void print_repair_json(const struct repair_command *r,
			      const struct repair_result *done)
{
	static const struct repair_result nothing;
	const struct repair_result *n = done ?: &nothing;
	json_t *object = jsonout_document("guard.repair/1");

	jsonout_bool(object, "whole", !done && !r->faults && !r->paths);
	jsonout_bool(object, "done", done != NULL);
	jsonout_number(object, "faults", r->faults);
	jsonout_number(object, "packs", n->packs);
	jsonout_number(object, "objects", n->objects);
	jsonout_number(object, "again", n->again);
	jsonout_number(object, "secrets", n->secrets);
	jsonout_number(object, "snapshots", n->snapshots);
	jsonout_number(object, "roots", n->roots);
	(void)json_object_set(object, "lost", r->lost);
	jsonstream_print(object);
}

/* Names the backups, which a later one no longer has all of. */
static void hint_backups(const struct state *state)
{
	AUTO(backups) struct backups known = {0};
	struct err ignored;
	size_t i;

	(void)backups_load(state, &known, &ignored);
	for (i = 0; i < known.count; i++)
		output_hint("the newest backup may have what is lost: guard "
			    "restore --from %s PATH, before the next one drops "
			    "the snapshots that were removed",
			    text_shell(known.items[i].path));
}

static int check_and_repair(struct repair_command *r, struct context *c,
			    struct err *err)
{
	struct repair_result result = {0};
	AUTO(mem_list) char **skip = private_paths_list(&c->state, NULL);
	struct repair_options o = {
		.now = timestamp_now(),
		.skip = (const char *const *)skip,
		.warn = report_repair_warning,
		.lost = print_lost_path,
		.busy = progress_wait,
		.arg = r,
	};
	int got;

	if (warn_of_workspaces(&c->state, err) < 0 ||
	    trash_damaged_runs(c, r->yes, err) < 0)
		return -err->num;
	got = verify_before_repair(c, r, err);
	if (got < 0)
		return got;
	if (got == 0) {
		output_print("the store is intact: nothing to repair");
		if (r->lost)
			print_repair_json(r, NULL);
		return STATUS_OK;
	}
	output_print("the store is damaged: %s, %s of snapshots suffer",
		     text_count(r->faults, "fault"),
		     text_count(r->paths, "path"));
	if (!output_confirm(r->yes,
			    "guard: repair the store? Damaged packs and files "
			    "go to the trash, and directories with lost "
			    "entries are stored again.")) {
		if (r->lost)
			print_repair_json(r, NULL);
		return STATUS_REFUSED;
	}
	if (drop_caches(&c->state, err) < 0 ||
	    repair_store(c->state.store_path, &o, &result, err) < 0)
		return -err->num;
	state_log(&c->state, "repair", NULL);
	if (r->lost)
		print_repair_json(r, &result);
	else {
		if (result.formats)
			output_print("the store's FORMAT was rewritten");
		if (result.packs)
			output_print("%s replaced: %s saved from them",
				     text_count(result.packs, "damaged pack"),
				     text_count(result.objects, "object"));
		if (result.again)
			output_print("%s stored again since the damage: that "
				     "copy is used",
				     text_count(result.again, "object"));
		if (result.secrets)
			output_print("the secret's damaged copy was rewritten");
		if (result.snapshots)
			output_print("%s moved to the trash: the file itself "
				     "is damaged",
				     text_count(result.snapshots, "snapshot"));
		if (result.roots)
			output_print(
				"%s stored again, to recover unchanged files",
				text_count(result.roots, "directory"));
		if (result.lost)
			output_print("permanently lost: %s of snapshots, "
				     "listed above",
				     text_count(result.lost, "path"));
		else
			output_print("nothing else is lost");
		if (result.lost || result.snapshots)
			hint_backups(&c->state);
	}
	return result.lost || result.snapshots ? STATUS_REFUSED : STATUS_OK;
}

/* The project around the current directory takes over another one's records. */
static int take_over(struct context *c, const char *from, struct err *err)
{
	auto_free char *path = path_resolve_parent(from, err);
	auto_free char *project = NULL, *text = NULL;

	if (!path)
		return -err->num;
	project = state_project(&c->state, NULL, PROJECT_FIND, err);
	if (!project ||
	    moved_project_take(&c->state, path, project, &text, err) < 0)
		return -err->num;
	output_print("taken over: %s", text);
	return STATUS_OK;
}

int cmd_repair(const struct options *o, struct context *c, struct err *err)
{
	struct repair_command r = {
		.yes = o->yes,
		.lost = o->json ? json_array() : NULL,
	};
	int got = o->moved_from ? take_over(c, o->moved_from, err)
				: check_and_repair(&r, c, err);

	json_decref(r.lost);
	return got;
}
