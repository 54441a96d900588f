#include <fnmatch.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "guard/change/changes.h"
#include "guard/cli/backup_age.h"
#include "guard/cli/commands.h"
#include "guard/cli/purge_everything.h"
#include "guard/history/versions.h"
#include "guard/state/backups.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"
#include "guard/retention/run_contents.h"
#include "overlay/scan.h"
#include "snapshot/maintain/purge.h"

/* So many other names of the same bytes are told. */
#define OTHERS_MAX 10

struct purge_command {
	const struct options *o;
	const char *arg; /* as it was typed */
	char *path; /* absolute */
	char *here;
	struct versions versions; /* versions to remove */
	struct versions
		others; /* versions of other paths with the same content */
	size_t layers; /* layers of runs that have the path */
	int during; /* versions of it during runs */
	struct backups backups; /* that may have it */
};

/* --- layers --- */

/* Removes the path from the layer, by way of the trash: the run sees the real
 * one then, also where its directory hides that. */
static int clear_path(const struct state *state, int upper, int lower,
		      const char *rest, struct err *err)
{
	struct timestamp now = timestamp_now();
	auto_free char *name = mem_printf("%" PRId64 "-purge-%u-%d", now.sec,
					  now.nsec, (int)getpid());

	if (upper_discard(upper, lower, rest, state->trash_fd, name, err) < 0)
		return -err->num;
	return dirtree_remove(state->trash_fd, name, err);
}

/* The content of a layer's directory. The layer itself stays: its root is a
 * directory of the run, not of the user. */
static int clear_layer(const struct state *state, int session_fd,
		       const char *layer_name, const char *root,
		       const char *rest, bool dry, struct err *err)
{
	auto_close int upper = fd_open_dir(session_fd, layer_name);
	auto_close int dir = -1, lower = -1;
	AUTO(dirlist) struct dirlist list = {0};
	const char *name;
	struct stat st;
	size_t i;
	int got;

	if (upper < 0)
		return errno == ENOENT ? 0 : fail_errno(err, "%s", layer_name);
	if (*rest) {
		dir = beneath_parent(upper, rest, &name, err);
		if (dir == -ENOENT || dir == -ENOTDIR)
			return 0;
		if (dir < 0)
			return dir;
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		lower = fd_open_dir(AT_FDCWD, root);
		if (dry)
			return 1;
		if (lower < 0)
			got = dirtree_remove(dir, name, err);
		else
			got = clear_path(state, upper, lower, rest, err);
		return got < 0 ? got : 1;
	}
	if (dirlist_read(upper, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count && !dry; i++)
		if (dirtree_remove(upper, list.items[i].name, err) < 0)
			return -err->num;
	return list.count > 0;
}

/* 1: the run had it. */
static int clear_run(const struct state *state, const struct session *s,
		     const char *path, bool dry, struct err *err)
{
	bool any = false;
	size_t i;

	/* The last one is the home directory. */
	for (i = 0; i <= s->root_count; i++) {
		auto_free char *layer = i < s->root_count
						? session_root_dir(i, "upper")
						: mem_strdup("home-upper");
		const char *root =
			i < s->root_count ? s->roots[i].path : s->home;
		int got = 0;

		if (*root && path_below(root, path))
			got = clear_layer(state, s->fd, layer, root, "", dry,
					  err);
		else if (*root && path_below(path, root))
			got = clear_layer(state, s->fd, layer, root,
					  path_rest(path, root), dry, err);
		if (got < 0)
			return err_context(err, "run %s", session_label(s));
		any |= got > 0;
	}
	return any;
}

/* Nothing is done while a run that has it can still write there. */
static int clear_runs(struct context *c, struct purge_command *p, bool dry,
		      struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	size_t i;

	p->layers = 0;
	if (session_list(c->state.runs_fd, false, &runs, err) < 0)
		return -err->num;
	for (i = 0; i < runs.count; i++) {
		AUTO(session)
		struct session s = SESSION_NONE;
		int got = session_open(c->state.runs_fd, runs.items[i].id, !dry,
				       &s, err);

		if (got == -ENOENT)
			continue;
		if (got == 0)
			got = clear_run(&c->state, &s, p->path, true, err);
		if (got > 0 && s.live)
			return fail(err, EBUSY,
				    "run %s has it in its layer and is still "
				    "running: wait for its end, or end it",
				    session_label(&s));
		if (got > 0 && !dry)
			got = changes_edit_layer(&s, err) < 0
				      ? -err->num
				      : clear_run(&c->state, &s, p->path, false,
						  err);
		if (got < 0)
			return got;
		p->layers += (size_t)got;
	}
	return 0;
}

/* --- matching versions --- */

static bool has_purged_bytes(void *arg, const char *path, const struct entry *e)
{
	const struct purge_command *p = arg;
	size_t i;

	if (!S_ISREG(e->mode) || e->content.type == OBJECT_NONE ||
	    path_below(path, p->path))
		return false;
	for (i = 0; i < p->versions.count; i++)
		if (oid_equal(&p->versions.items[i].entry.content, &e->content))
			return true;
	return false;
}

static size_t count_purged_files(const struct versions *v)
{
	size_t i, n = 0;

	for (i = 0; i < v->count; i++)
		n += !S_ISDIR(v->items[i].entry.mode);
	return n;
}

/* ", 3 versions during runs, and the layers of 2 runs", or a part of it. */
static char *layers_text(const struct purge_command *p)
{
	AUTO(buf) struct buf text = {0};

	if (p->during)
		buf_printf(&text, ", %s during runs",
			   text_count((uint64_t)p->during, "version"));
	if (p->layers)
		buf_printf(&text, ", and the layers of %s",
			   text_count(p->layers, "run"));
	return buf_take_text(&text);
}

/* --- doing it --- */

static bool is_confirmed(const struct purge_command *p)
{
	auto_free char *line = NULL;

	if (p->o->confirm) {
		if (strcmp(p->o->confirm, p->arg) == 0 ||
		    strcmp(p->o->confirm, p->path) == 0)
			return true;
		output_print("nothing changed: --confirm names %s, not %s",
			     text_quote(p->o->confirm), text_quote(p->arg));
		return false;
	}
	line = output_ask_line(
		"guard: this cannot be undone, and both trashes are emptied.\n"
		"guard: type purge to continue: ");
	if (line && strcmp(line, "purge") == 0)
		return true;
	output_print(line ? "nothing changed"
			  : "nothing changed: no terminal to ask on; use "
			    "--confirm PATH with the same path");
	return false;
}

static void print_purge_json(const struct purge_command *p,
			     const struct purge_result *done)
{
	json_t *object = jsonout_document("guard.purge/1");
	json_t *others = json_array();
	size_t i;

	jsonout_text(object, "path", p->path);
	jsonout_bool(object, "done", done != NULL);
	jsonout_number(object, "versions", count_purged_files(&p->versions));
	jsonout_number(object, "during_runs", (uint64_t)p->during);
	jsonout_number(object, "layers", p->layers);
	for (i = 0; i < p->others.count; i++) {
		json_t *other = json_object();

		jsonout_text(other, "path", p->others.items[i].path);
		jsonout_number(other, "last", p->others.items[i].last);
		jsonout_add(others, other);
	}
	jsonout_set(object, "same_bytes", others);
	jsonout_set(object, "backups", backup_age_paths(&p->backups));
	if (done) {
		jsonout_number(object, "snapshots", done->snapshots);
		jsonout_number(object, "packs", done->packs);
	}
	jsonstream_print(object);
}

static int execute_purge(struct context *c, struct purge_command *p,
			 struct err *err)
{
	struct prune_options o = {
		.now = timestamp_now(),
		.busy = progress_wait,
		.progress = progress_show,
	};
	struct purge_result result;
	auto_free char *layers = NULL;
	int got;

	/* Logged before: a purge that is cut short is known of, too. */
	state_log(&c->state, "purge", "path", p->path, NULL);
	store_free(&c->store);
	if (clear_runs(c, p, false, err) < 0 ||
	    session_empty_trash(c->state.trash_fd, -1, err) < 0 ||
	    context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	got = run_contents_purge(&c->state, c->store, p->path, false, err);
	if (got < 0)
		return got;
	p->during = got;
	progress_start("purge");
	got = purge_path(c->store, p->path, &o, &result, err);
	progress_end();
	if (got < 0)
		return got;
	if (p->o->json)
		print_purge_json(p, &result);
	layers = layers_text(p);
	output_print(
		"%s is purged from %s%s; %s cleared, both trashes are empty",
		text_quote(p->path), text_count(result.snapshots, "snapshot"),
		layers, text_count(result.packs, "pack"));
	return STATUS_OK;
}

/* The only part of the state that snapshots hold. */
static bool is_in_agent_home(const struct state *state, const char *path)
{
	return fnmatch("agents/*/home/*", path_rest(path, state->path), 0) == 0;
}

static int purge_versions(struct purge_command *p, struct context *c,
			  struct err *err)
{
	auto_free char *layers = NULL;
	const struct versions *others = &p->others;
	size_t i;

	p->here = path_resolve(".", err);
	p->path = p->here ? resolve_run_path(p->arg, err) : NULL;
	if (!p->path)
		return -err->num;
	if (path_below(c->state.path, p->path) ||
	    (path_below(p->path, c->state.path) &&
	     !is_in_agent_home(&c->state, p->path)))
		return fail(err, EPERM, "%s overlaps guard's own state",
			    text_quote(p->arg));
	if (recover_project(c, c->project, err) < 0 ||
	    backups_load(&c->state, &p->backups, err) < 0 ||
	    context_store(c, STORE_READ, err) < 0 ||
	    versions_load(&p->versions, c, p->path, NULL, err) < 0)
		return -err->num;
	versions_sort(&p->versions);
	p->others.want = has_purged_bytes;
	p->others.arg = p;
	if (versions_load(&p->others, c, "/", NULL, err) < 0)
		return -err->num;
	versions_sort(&p->others);
	if (clear_runs(c, p, true, err) < 0)
		return -err->num;
	p->during = run_contents_purge(&c->state, c->store, p->path, true, err);
	if (p->during < 0)
		return p->during;
	if (!p->versions.count && !p->layers && !p->during)
		return fail(err, ENOENT,
			    "no snapshot and no layer has %s: `guard find` "
			    "searches for names",
			    text_quote(p->path));
	layers = layers_text(p);
	output_print("%s: %s in snapshots%s", text_quote(p->path),
		     text_count(count_purged_files(&p->versions), "version"),
		     layers);
	for (i = 0; i < others->count && i < OTHERS_MAX; i++) {
		AUTO(buf) struct buf name = {0};

		output_path(&name, others->items[i].path, p->here);
		output_warn("the same bytes are also stored as %s, up to "
			    "snapshot %" PRIu64 ": purge that too",
			    buf_text(&name), others->items[i].last);
	}
	if (others->count > OTHERS_MAX)
		output_warn("and under %zu more names",
			    others->count - OTHERS_MAX);
	if (access(p->path, F_OK) == 0)
		output_warn("%s still exists: the next snapshot or run stores "
			    "it again",
			    text_quote(p->arg));
	for (i = 0; i < p->backups.count; i++)
		output_warn("backups made before now in %s may have it: guard "
			    "backup --prune %s deletes old backups",
			    text_quote(p->backups.items[i].path),
			    text_shell(p->backups.items[i].path));
	if (!p->o->dry_run)
		return is_confirmed(p) ? execute_purge(c, p, err)
				       : STATUS_REFUSED;
	if (p->o->json)
		print_purge_json(p, NULL);
	return STATUS_OK;
}

int cmd_purge(const struct options *o, struct context *c, struct err *err)
{
	struct purge_command p = {.o = o, .arg = o->operands[0]};
	int got;

	if (o->everything)
		return purge_everything(c, o, err);
	if (!p.arg)
		return options_usage_error(o, "expected one PATH, or "
					      "--everything without PATH");
	got = purge_versions(&p, c, err);
	versions_free(&p.versions);
	versions_free(&p.others);
	backups_free(&p.backups);
	free(p.path);
	free(p.here);
	return got;
}
