#include "guard/cli/purge_everything.h"

#include <unistd.h>

#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/record.h"
#include "guard/change/recover.h"
#include "guard/cli/backup_age.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"

/* Names in the state's directory. The store is last: it has the versions of
 * the user's files. */
static const char *const names[] = {
	"runs",		"workspaces",	"trash",	 "agents",
	"caches",	"opened",	"reserve-files", "reserve",
	"pins",		"pins.lock",	"names.lock",	 "oplog",
	"last-prune",	"last-retired", "last-warned",	 "clock",
	"pending-runs", "config",	"store",	 "derived",
	"backups",	"last-backup",	"recover.lock",	 "last-hint",
};

static int refuse_live_runs(const struct context *c, struct err *err)
{
	AUTO(session_list) struct session_list live = {0};

	if (session_list(c->state.runs_fd, true, &live, err) < 0)
		return -err->num;
	if (live.unread.num) {
		*err = live.unread;
		return -err->num;
	}
	return live.count ? fail(err, EBUSY,
				 "run %s is still running: wait for its end, "
				 "or end it",
				 session_label(&live.items[0]))
			  : 0;
}

/* Pending runs of all projects: on stderr, or their ids in the list. */
static int list_pending(struct context *c, json_t *ids, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(table) struct table t = {0};
	size_t i, count = 0;

	if (session_list(c->state.runs_fd, false, &list, err) < 0)
		return -err->num;
	for (i = list.count; i-- > 0;) {
		const struct session *s = &list.items[i];
		auto_free char *changes = NULL;
		AUTO(buf) struct buf command = {0}, project = {0};

		if (!run_state_pending(s->state))
			continue;
		count++;
		if (ids) {
			json_array_append_new(ids, json_string(s->id));
			continue;
		}
		changes = choose_run_changes(c, s);
		output_truncated(&command, s->command ?: "");
		text_escape_name(&project, s->project);
		table_row(&t, session_label(s), changes, buf_text(&command),
			  buf_text(&project));
	}
	if (list.unread.num)
		output_warn("%s", list.unread.text);
	if (count && !ids) {
		output_warn("%s not applied:", text_count(count, "run"));
		table_print(&t, "  ", output_stderr());
	}
	return 0;
}

static bool is_confirmed(const char *confirm, const char *path)
{
	auto_free char *line = NULL;

	if (confirm) {
		if (strcmp(confirm, path) == 0)
			return true;
		output_print("nothing changed: --confirm names %s, not %s",
			     text_quote(confirm), text_quote(path));
		return false;
	}
	line = output_ask_line(
		"guard: this cannot be undone: every version of your files, "
		"every layer and\n"
		"guard: the homes of agents are removed.\n"
		"guard: type everything to continue: ");
	if (line && strcmp(line, "everything") == 0)
		return true;
	if (line)
		output_print("nothing changed");
	else
		output_print("nothing changed: no terminal to ask on; use "
			     "--confirm %s",
			     text_quote(path));
	return false;
}

/* The journals name files of the user that are staged or displaced. */
static int end_actions(struct context *c, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(c->state.workspaces_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		AUTO(record) struct record r = {0};
		auto_close int fd =
			fd_open_dir(c->state.workspaces_fd, list.items[i].name);
		const char *path = NULL;
		struct err ignored;

		if (fd >= 0 && record_load(fd, "record", "workspace", 1, &r,
					   &ignored) == 0)
			path = record_get(&r, "path");
		if (path && recover_project(c, path, err) < 0)
			return err_context(err, "%s", text_quote(path));
		if (!path && fd >= 0 && fd_exists(fd, "journal"))
			return fail(err, EBADMSG,
				    "workspace %s has the journal of an "
				    "interrupted action, but no readable "
				    "record: run guard status in the directory "
				    "of that action first",
				    list.items[i].name);
	}
	store_free(&c->store);
	return 0;
}

static int remove_state(const struct context *c, struct err *err)
{
	auto_close int lock = -1;
	size_t i;

	/* Background processes that store something hold this lock. */
	if (fd_exists(c->state.fd, "store/lock")) {
		lock = lock_take(c->state.fd, "store/lock", true, true, err);
		if (lock < 0)
			return lock;
	}
	if (refuse_live_runs(c, err) < 0)
		return -err->num;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (dirtree_remove(c->state.fd, names[i], err) < 0)
			return err_context(err, "%s", c->state.path);
	if (rmdir(c->state.path) < 0 && errno == ENOTEMPTY)
		output_warn("%s has entries that are not guard's: they stay",
			    text_quote(c->state.path));
	return 0;
}

int purge_everything(struct context *c, const struct options *o,
		     struct err *err)
{
	json_auto_t *ids = o->json ? json_array() : NULL;
	AUTO(backups) struct backups backups = {0};
	json_t *object;
	size_t i;

	if (backups_load(&c->state, &backups, err) < 0 ||
	    refuse_live_runs(c, err) < 0 || list_pending(c, ids, err) < 0)
		return -err->num;
	if (!o->dry_run && !is_confirmed(o->confirm, c->state.path))
		return STATUS_REFUSED;
	if (!o->dry_run &&
	    (end_actions(c, err) < 0 || remove_state(c, err) < 0))
		return -err->num;
	if (ids) {
		object = jsonout_document("guard.purge/1");
		jsonout_text(object, "path", c->state.path);
		jsonout_bool(object, "done", !o->dry_run);
		jsonout_set(object, "pending", TAKE(ids));
		jsonout_set(object, "backups", backup_age_paths(&backups));
		jsonstream_print(object);
	}
	output_print(o->dry_run ? "all of guard's state would be removed: %s"
				: "all of guard's state is removed: %s",
		     text_quote(c->state.path));
	for (i = 0; i < backups.count; i++)
		output_warn("the backups in %s stay: its passphrase and its "
			    "recovery sheet open them",
			    text_quote(backups.items[i].path));
	return STATUS_OK;
}
