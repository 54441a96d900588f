#include "guard/change/partial_discard.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "guard/change/moved_dirs.h"
#include "guard/change/result_edit.h"
#include "guard/state/report.h"
#include "restore/workspace.h"
#include "overlay/scan.h"

/* A new name in the trash for a path; to free. number: of the path among those
 * that are discarded together, from 1. */
static char *trash_name(const struct session *s, unsigned int number)
{
	struct timestamp now = timestamp_now();

	return mem_printf("%lld-discard-part-%s-%u-%u", (long long)now.sec,
			  s->id, now.nsec, number);
}

char *partial_discard_path(const struct session *s,
			   const struct action_part *part)
{
	const char *root = s->home;
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		auto_free char *layer = session_root_dir(i, "upper");

		if (strcmp(layer, part->layer) == 0)
			root = s->roots[i].path;
	}
	/* "." is the complete root. */
	return strcmp(part->path, ".") == 0 || !*part->path
		       ? mem_strdup(root)
		       : path_join(root, part->path);
}

char *partial_discard_text(const struct session *s,
			   const struct action_part *part)
{
	auto_free char *prefix = NULL;
	size_t i;

	for (i = 1; i < s->root_count && !prefix; i++) {
		auto_free char *layer = session_root_dir(i, "upper");

		if (strcmp(layer, part->layer) == 0)
			prefix = changes_prefix(s->roots[i].path, s->home);
	}
	if (!prefix && strcmp(part->layer, "home-upper") == 0)
		prefix = mem_strdup("~/");
	/* "." is the complete project. */
	return mem_printf("%s%s", prefix ? prefix : "",
			  *part->path || prefix ? part->path : ".");
}

/* Restores the parts in reverse order. Returns the number of parts that the
 * trash has. */
static int restore_all_parts(const struct state *st, const struct session *s,
			     const struct action *a, bool dry_run,
			     struct err *err)
{
	AUTO(pathset) struct pathset discarded_along = {0};
	const char *layer = "";
	int count = 0;
	size_t i, k;

	/* An action may have thousands of parts; those of one layer are
	 * adjacent. */
	for (i = a->parts.count; i-- > 0;) {
		const struct action_part *part = &a->parts.items[i];
		auto_close int fd = -1;
		int got;

		if (strcmp(part->layer, layer) != 0) {
			auto_free const char **paths = mem_zalloc(
				(a->parts.count + 1) * sizeof(*paths));
			size_t n = 0;

			layer = part->layer;
			for (k = 0; k < a->parts.count; k++)
				if (strcmp(a->parts.items[k].layer, layer) == 0)
					paths[n++] = a->parts.items[k].path;
			pathset_free(&discarded_along);
			discarded_along = pathset_make(paths);
		}
		fd = fd_open_dir_path(s->fd, part->layer);
		got = fd < 0 ? fail_errno(err, "open the layer of run %s",
					  session_label(s))
			     : upper_restore(fd, part->path, &discarded_along,
					     st->trash_fd, part->kept, dry_run,
					     err);
		if (got < 0)
			return err_context(err, "restore %s in run %s",
					   text_quote(part->path),
					   session_label(s));
		count += got;
	}
	return count;
}

int partial_discard_check(const struct state *st, const struct session *s,
			  const struct action *a, struct err *err)
{
	return restore_all_parts(st, s, a, true, err);
}

/* Syncs the moves between layers and trash: some file systems do not keep the
 * order between them and the record that follows. */
static int sync_layers(const struct state *st, struct err *err)
{
	return syncfs(st->trash_fd) < 0 ? fail_errno(err, "sync the layers")
					: 0;
}

int partial_discard_finalize(struct context *c, int workspace_fd,
			     struct session *s, struct err *err)
{
	const struct state *st = &c->state;
	AUTO(session) struct session own = SESSION_NONE;
	AUTO(action) struct action a = {0};
	struct err ignored;
	int got = action_load_next(workspace_fd, &a, err);

	if (got < 0)
		return got;
	/* The action is complete: only next-action was left. */
	if (action_is_recorded(workspace_fd, &a)) {
		action_drop_next(workspace_fd);
		return 0;
	}
	if (!s) {
		got = session_open(st->runs_fd, a.run_id, true, &own, err);
		/* The parts were removed with the run. */
		if (got == -ENOENT)
			action_drop_next(workspace_fd);
		if (got < 0)
			return got == -ENOENT ? 0 : got;
		s = &own;
	}
	got = result_edit_begin(s, err);
	if (got >= 0)
		got = restore_all_parts(st, s, &a, false, err);
	if (got >= 0)
		got = sync_layers(st, err);
	if (got >= 0 && a.undone)
		got = action_record(workspace_fd, &a, NULL, err);
	/* Parts that cannot be restored count as discarded, and undo can
	 * restore them later. */
	else if (got == -EEXIST && !a.undone &&
		 action_record(workspace_fd, &a, NULL, &ignored) < 0) {
		*err = ignored;
		got = -err->num;
	}
	if (got == 0 || got == -EEXIST)
		action_drop_next(workspace_fd);
	if (got == 0 && result_edit_end(c, s, &a, &ignored) < 0)
		report_warning("%s", ignored.text);
	return got;
}

/* --- the discard --- */

static int revert_parts(struct context *c, const struct changes *changes,
			const struct action *a, struct err *err)
{
	const struct changes_root *groups = changes->roots;
	size_t group = 0, i;

	for (i = 0; i < a->parts.count; i++) {
		const struct action_part *part = &a->parts.items[i];
		auto_free char *layer = changes_layer_name(changes, group);

		/* The parts are in the order of the groups. */
		while (strcmp(layer, part->layer) != 0) {
			free(layer);
			layer = changes_layer_name(changes, ++group);
		}
		if (upper_discard(groups[group].upper_fd,
				  groups[group].lower_fd, part->path,
				  c->state.trash_fd, part->kept, err) < 0)
			return err_context(err, "discard %s",
					   text_quote(part->path));
	}
	return 0;
}

/* All paths or none: after an error the discarded ones are restored. */
static int execute_discard(struct context *c, struct session *s,
			   const struct changes *changes, struct action *a,
			   struct err *err)
{
	auto_close int fd =
		workspace_open(c->state.workspaces_fd, s->project, true, err);
	auto_close int lock = fd < 0 ? -1 : action_lock(fd, err);
	struct err second;

	if (fd < 0 || lock < 0 || action_announce(fd, a, NULL, err) < 0)
		return -err->num;
	if (revert_parts(c, changes, a, err) == 0 &&
	    sync_layers(&c->state, err) == 0 &&
	    action_record(fd, a, NULL, err) == 0) {
		action_drop_next(fd);
		return 0;
	}
	if (partial_discard_finalize(c, fd, s, &second) < 0)
		report_error(&second);
	return -err->num;
}

int partial_discard(struct context *c, struct resolved_run *p,
		    const struct changes *changes, struct err *err)
{
	struct session *s = &p->session;
	AUTO(action)
	struct action a = {
		.kind = mem_strdup(ACTION_PARTS),
		.run_id = mem_strdup(s->id),
		.run_name = mem_strdup(session_name(s)),
	};
	struct err late;
	size_t i, k;

	for (i = 0; i < changes->root_count; i++) {
		auto_free char *layer = changes_layer_name(changes, i);
		/* A path inside another one is discarded with it. */
		char **named = resolve_run_paths(p, i);
		AUTO(pathset)
		struct pathset paths = pathset_make((const char *const *)named);

		for (k = 0; k < paths.count; k++) {
			auto_free char *name =
				trash_name(s, (unsigned int)a.parts.count + 1);

			action_add_part(&a, name, layer, paths.items[k]);
		}
	}
	if ((moved_dirs_any(s) && (context_store(c, STORE_WRITE, err) < 0 ||
				   moved_dirs_restore(s, c->store, err) < 0)) ||
	    result_edit_begin(s, err) < 0 ||
	    execute_discard(c, s, changes, &a, err) < 0)
		return -err->num;
	if (result_edit_end(c, s, &a, &late) < 0)
		report_warning("%s", late.text);
	for (i = 0; i < a.parts.count; i++) {
		auto_free char *path =
			partial_discard_text(s, &a.parts.items[i]);

		state_log(&c->state, "discard", "run", s->id, "project",
			  s->project, "path", path, "kept",
			  a.parts.items[i].kept, NULL);
	}
	return 0;
}
