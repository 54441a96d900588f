#include "guard/agent/home_versions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/agent/agent.h"
#include "guard/agent/settings.h"
#include "guard/change/recover.h"
#include "guard/state/report.h"
#include "restore/workspace.h"
#include "snapshot/store/content.h"
#include "snapshot/walk/take.h"

#define LOGINS_DIR "logins"
/* A settings file whose members go back. */
#define SETTINGS_MAX (32u << 20)
#define LOGIN_BYTES_MAX (1u << 20)
/* "{}\n" holds no login. */
#define LOGIN_BYTES_MIN 4

void home_versions_free(struct home_versions *h)
{
	free(h->path);
	free(h->prefix);
	mem_list_free(&h->logins);
	*h = (struct home_versions){0};
}

int home_versions_open(const struct state *state, const char *name,
		       const struct profile *profile, struct home_versions *ret,
		       struct err *err)
{
	AUTO(home_versions)
	struct home_versions h = {
		.name = name,
		.path = mem_printf("%s/agents/%s/home", state->path, name),
	};
	const struct profile_item *item = NULL;

	if (access(h.path, F_OK) < 0)
		return fail(err, ENOENT, "%s has no home directory yet", name);
	while ((item = profile_next(profile, PROFILE_LOGIN, item))) {
		auto_free char *path = path_join(h.path, item->value);

		mem_list_add(&h.logins, path);
	}
	*ret = TAKE(h);
	return 0;
}

bool home_versions_open_shared(const struct state *state, const char *name,
			       const struct profile *profile,
			       const struct profile_item *home,
			       struct home_versions *ret)
{
	auto_free char *path =
		state->home ? path_join(state->home, home->value) : NULL;
	const struct profile_item *item = NULL;
	struct err ignored;

	*ret = (struct home_versions){.name = name};
	if (path && access(path, F_OK) == 0)
		ret->path = path_resolve(path, &ignored);
	if (!ret->path)
		return false;
	ret->prefix = mem_printf("~/%s/", home->value);
	while ((item = profile_next(profile, PROFILE_LOGIN, item)))
		if (path_below(item->value, home->value)) {
			auto_free char *login = path_join(
				ret->path, path_rest(item->value, home->value));

			mem_list_add(&ret->logins, login);
		}
	return true;
}

/* ---- snapshots ---- */

int home_versions_store_dir(const struct state *state, const struct session *s,
			    struct store *store, const char *path,
			    const char *const *skip, const char *reason,
			    uint64_t *ret_seq, struct err *err)
{
	auto_free char *cache = NULL;
	auto_close int workspace =
		workspace_open(state->workspaces_fd, path, true, err);
	AUTO(snapshot) struct snapshot taken = {0};
	struct take_options options = {
		.root_path = path,
		.root_fd = -1,
		.reason = reason,
		.run_id = s->id,
		.command = s->command,
		.skip = skip,
	};

	if (workspace >= 0)
		options.cache_path = cache = workspace_cache_path(workspace);
	if (workspace < 0 || take_snapshot(store, &options, &taken, err) < 0)
		return err_context(err, "store %s, which the run may write to",
				   text_quote(path));
	*ret_seq = taken.seq;
	return 0;
}

/* The stored states of a home, oldest first. */
struct home_history {
	struct snapshot *items;
	size_t count, capacity;
};

static void home_history_free(struct home_history *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		snapshot_free(&l->items[i]);
	VEC_FREE(l);
}

static int load_home_history(struct store *store, const char *path,
			     struct home_history *ret, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count, i;

	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		struct snapshot s = {0};
		struct err ignored;

		if (catalog_load(store, seqs[i], &s, &ignored) == 0 &&
		    strcmp(s.root_path, path) == 0)
			*VEC_ADD(ret) = s;
		else
			snapshot_free(&s);
	}
	return 0;
}

static bool is_state_before(const struct snapshot *s)
{
	return strcmp(s->reason, AGENT_REASON_BEFORE) == 0;
}

/* *ret_before: the snapshot before the run's last command, 0 for none or when
 * one after it exists; *ret_after: the first one of another run behind it, or
 * 0. */
static void find_killed_states(const struct home_history *l, const char *run_id,
			       uint64_t *ret_before, uint64_t *ret_after)
{
	size_t i;

	*ret_before = *ret_after = 0;
	for (i = 0; i < l->count; i++) {
		const struct snapshot *s = &l->items[i];

		if (strcmp(s->run_id, run_id) == 0) {
			*ret_before = is_state_before(s) ? s->seq : 0;
			*ret_after = 0;
		} else if (*ret_before && !*ret_after) {
			*ret_after = s->seq;
		}
	}
}

int home_versions_judge_killed(struct context *c, const struct home_versions *h,
			       const struct profile *profile, const char *below,
			       struct session *s, struct err *err)
{
	AUTO(home_history) struct home_history states = {0};
	struct agent agent = {.profile = *profile};
	uint64_t before, after;
	int got;

	if (s->state != RUN_INTERRUPTED)
		return 0;
	if (context_store(c, STORE_WRITE, err) < 0 ||
	    load_home_history(c->store, h->path, &states, err) < 0)
		return -err->num;
	find_killed_states(&states, s->id, &before, &after);
	if (!before)
		return 0;
	if (!after &&
	    home_versions_store_dir(&c->state, s, c->store, h->path,
				    (const char *const *)h->logins,
				    AGENT_REASON_AFTER, &after, err) < 0)
		return -err->num;
	if (!h->prefix && !record_get(&s->more, AGENT_BEFORE))
		record_set_int(&s->more, AGENT_BEFORE, (int64_t)before);
	if (!h->prefix)
		record_set_int(&s->more, AGENT_AFTER, (int64_t)after);
	got = agent_code_compare(&agent, &c->state, c->store, below, before,
				 after, s, err);
	names_free(&agent.commands);
	names_free(&agent.written);
	return got < 0 ? got : 0;
}

/* ---- logins ---- */

/* ".codex/auth.json" -> ".codex%auth.json" */
static char *login_copy_name(const struct home_versions *h, const char *login)
{
	char *name = mem_strdup(path_rest(login, h->path)), *at;

	for (at = name; (at = strchr(at, '/'));)
		*at = '%';
	return name;
}

/* False: the file is missing, without a login, or no regular one. */
static bool read_login(const struct home_versions *h, const char *login,
		       struct buf *to)
{
	struct err ignored;
	auto_close int home = open(h->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd =
		home < 0 ? -1
			 : beneath_open(home, path_rest(login, h->path),
					O_RDONLY | O_NONBLOCK, 0, &ignored);

	return fd >= 0 && fd_slurp(fd, LOGIN_BYTES_MAX, to, &ignored) == 0 &&
	       to->len >= LOGIN_BYTES_MIN;
}

bool home_versions_has_login(const struct home_versions *h)
{
	char **login;

	for (login = h->logins; login && *login; login++) {
		AUTO(buf) struct buf text = {0};

		if (read_login(h, *login, &text))
			return true;
	}
	return false;
}

static int open_login_copies(const struct home_versions *h,
			     const struct state *state, struct err *err)
{
	auto_close int dir = agent_open_state(state, h->name, false, err);

	if (dir < 0)
		return dir;
	if (mkdirat(dir, LOGINS_DIR, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create a directory");
	return beneath_open(dir, LOGINS_DIR, O_RDONLY | O_DIRECTORY, 0, err);
}

void home_versions_keep_logins(const struct home_versions *h,
			       const struct state *state)
{
	struct err ignored;
	auto_close int copies =
		h->logins ? open_login_copies(h, state, &ignored) : -1;
	char **login;

	for (login = h->logins; copies >= 0 && *login; login++) {
		auto_free char *name = login_copy_name(h, *login);
		AUTO(buf) struct buf now = {0}, copy = {0};

		if (!read_login(h, *login, &now))
			continue;
		if (fd_slurp_at(copies, name, LOGIN_BYTES_MAX, &copy,
				&ignored) == 0 &&
		    copy.len == now.len &&
		    memcmp(copy.data, now.data, now.len) == 0)
			continue;
		(void)atomic_write(copies, name, now.data, now.len, 0600,
				   ATOMIC_NO_SYNC, &ignored);
	}
}

char **home_versions_lost_logins(const struct home_versions *h,
				 const struct state *state)
{
	struct err ignored;
	auto_close int copies =
		h->logins ? open_login_copies(h, state, &ignored) : -1;
	char **lost = NULL, **login;

	for (login = h->logins; copies >= 0 && *login; login++) {
		auto_free char *name = login_copy_name(h, *login);
		AUTO(buf) struct buf now = {0};

		if (!read_login(h, *login, &now) && fd_exists(copies, name))
			mem_list_add(&lost, *login);
	}
	return lost;
}

static int put_login_back(const struct home_versions *h, int copies,
			  const char *login, struct err *err)
{
	auto_free char *name = login_copy_name(h, login);
	auto_close int home = open(h->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int above = -1;
	AUTO(buf) struct buf text = {0};
	const char *last;

	if (home < 0)
		return fail_errno(err, "open %s", text_quote(h->path));
	if (fd_slurp_at(copies, name, LOGIN_BYTES_MAX, &text, err) < 0)
		return -err->num;
	above = beneath_parent(home, path_rest(login, h->path), &last, err);
	return above < 0 ? above
			 : atomic_write(above, last, text.data, text.len, 0600,
					ATOMIC_DURABLE, err);
}

/* ---- losses of a run ---- */

struct losses {
	const struct profile *profile;
	size_t histories;
};

static int count_lost_history(void *arg, const char *path,
			      const struct entry *before,
			      const struct entry *after, struct err *err)
{
	struct losses *l = arg;

	(void)err;
	if (before && !after && S_ISREG(before->mode) &&
	    profile_match(l->profile, PROFILE_HISTORY, path))
		l->histories++;
	return 0;
}

void home_versions_report_losses(const struct home_versions *h,
				 const struct state *state,
				 const struct profile *profile,
				 struct store *store, bool had_login,
				 uint64_t before, uint64_t after)
{
	AUTO(snapshot) struct snapshot old = {0}, new = {0};
	struct losses losses = {.profile = profile};
	char **logins = had_login ? home_versions_lost_logins(h, state) : NULL;
	struct err ignored;

	if (catalog_load(store, before, &old, &ignored) == 0 &&
	    catalog_load(store, after, &new, &ignored) == 0)
		(void)tree_diff(store, &old.root, &new.root, count_lost_history,
				&losses, &ignored);
	if (logins || losses.histories)
		report_warning("the run deleted %s%s%s of %s: guard agents %s "
			       "--undo restores the home",
			       logins ? "the login" : "",
			       logins && losses.histories ? " and " : "",
			       losses.histories ? text_count(losses.histories,
							     "history file")
						: "",
			       h->name, h->name);
	mem_list_free(&logins);
}

/* ---- the way back ---- */

void home_undo_free(struct home_undo *u)
{
	changeset_free(&u->change);
	mem_list_free(&u->kept);
	mem_list_free(&u->lost_logins);
}

static int open_home(struct context *c, const struct home_versions *h,
		     struct home_undo *u, struct err *err)
{
	struct changeset_root *root;
	char **login;

	if (context_store(c, STORE_WRITE, err) < 0 ||
	    recover_project(c, h->path, err) < 0)
		return -err->num;
	changeset_init(&u->change, c, 1);
	root = &u->change.roots[0];
	root->prefix = mem_strdup(h->prefix ?: "~/");
	if (changeset_open_root(&u->change, 0, h->path, err) < 0)
		return -err->num;
	for (login = h->logins; !h->prefix && login && *login; login++)
		mem_list_add(&root->project.skip, *login);
	return changeset_inspect_root(&u->change, 0, "pre-restore", "", err);
}

static int plan_home(struct home_undo *u, const struct plan_options *options,
		     struct err *err)
{
	struct changeset_root *root = &u->change.roots[0];
	const struct plan *plan = &root->plan;
	size_t i;

	if (changeset_plan_root(&u->change, 0,
				root->base.seq ? &root->base.root : NULL,
				options, err) < 0)
		return -err->num;
	if (plan->conflicts.count)
		return fail(err, EBUSY, "%s: %s",
			    text_quote(plan->conflicts.items[0].path),
			    conflict_text(plan->conflicts.items[0].kind));
	for (i = 0; i < plan->kept.count; i++)
		mem_list_add(&u->kept, plan->kept.items[i].path);
	return 0;
}

static int stop_at_change(void *arg, const char *path, const struct entry *a,
			  const struct entry *b, struct err *err)
{
	(void)arg;
	(void)path;
	return entry_same_state(a, b) ? 0 : fail(err, EEXIST, "a change");
}

/* Modification times alone are no change. */
static int home_changed(struct store *store, const struct entry *before,
			const struct entry *after, struct err *err)
{
	int got = tree_diff(store, before, after, stop_at_change, NULL, err);

	return got == -EEXIST ? 1 : got;
}

/* The snapshot before the agent's last `runs` runs that changed the home. Each
 * snapshot before a command is compared with the next one of the home, which is
 * that after the command unless the run was killed. lost_login: the newest run
 * counts, since no snapshot has the login. *ret_left: as the newest of these
 * runs left the home; not set when that is the present state. */
static int find_state_before(struct store *store, const char *path,
			     const struct snapshot *now, unsigned long runs,
			     bool lost_login, struct snapshot *ret,
			     struct snapshot *ret_left, struct err *err)
{
	AUTO(home_history) struct home_history states = {0};
	const struct entry *after = &now->root;
	/* The oldest snapshot so far of the current run; a run that was
	 * continued has several. */
	struct snapshot *first = NULL;
	bool changed = lost_login; /* the current run has changed it */
	struct snapshot *left = NULL;
	unsigned long found = 0;
	size_t i;

	if (load_home_history(store, path, &states, err) < 0)
		return -err->num;
	for (i = states.count + 1; i-- > 0;) {
		struct snapshot *s = i ? &states.items[i - 1] : NULL;
		bool before = s && is_state_before(s);

		if (first &&
		    (!s || (before && strcmp(first->run_id, s->run_id) != 0))) {
			found += changed;
			if (changed && found == runs) {
				*ret = *first;
				*first = (struct snapshot){0};
				if (left && ret_left) {
					*ret_left = *left;
					*left = (struct snapshot){0};
				}
				return 0;
			}
			changed = false;
		}
		if (before) {
			int got = home_changed(store, &s->root, after, err);

			if (got < 0)
				return got;
			if (got && !changed && !found && i < states.count)
				left = &states.items[i];
			changed |= got;
			first = s;
		}
		after = s ? &s->root : NULL;
	}
	if (found)
		return fail(err, ENOENT,
			    "only %s that changed it can be undone",
			    text_count(found, "run"));
	return fail(err, ENOENT,
		    first ? "no run has changed it"
			  : "no state before a run is stored");
}

int home_undo_plan_runs(struct context *c, const struct home_versions *h,
			unsigned long runs, struct home_undo *ret,
			struct err *err)
{
	const struct plan_options options = {0};
	struct changeset_root *root;

	if (open_home(c, h, ret, err) < 0)
		return -err->num;
	root = &ret->change.roots[0];
	ret->lost_logins = home_versions_lost_logins(h, &c->state);
	if (find_state_before(c->store, h->path, &root->now, runs,
			      ret->lost_logins != NULL, &root->want, NULL,
			      err) < 0)
		return -err->num;
	return plan_home(ret, &options, err);
}

uint64_t home_versions_last(struct context *c, const struct home_versions *h)
{
	AUTO(home_history) struct home_history l = {0};
	struct err ignored;
	size_t i;

	if (context_store(c, STORE_WRITE, &ignored) < 0 ||
	    load_home_history(c->store, h->path, &l, &ignored) < 0)
		return 0;
	for (i = l.count; i-- > 0;)
		if (is_state_before(&l.items[i]))
			return l.items[i].seq;
	return 0;
}

static int replace_entry(struct store *store, struct entry *root,
			 const char *path, const struct entry *e,
			 struct err *err)
{
	struct tree_editor *editor = tree_editor_new(store, root);

	return tree_editor_end(&editor, tree_editor_put(editor, path, e, err),
			       root, err);
}

/* The newest login is the valid one. */
static int keep_logins_of_now(struct store *store,
			      const struct home_versions *h,
			      const struct entry *now, struct entry *root,
			      struct err *err)
{
	char **login;

	for (login = h->logins; login && *login; login++) {
		const char *path = path_rest(*login, h->path);
		AUTO(entry) struct entry e = {0};

		if (tree_lookup(store, now, path, &e, err) > 0 &&
		    replace_entry(store, root, path, &e, err) < 0)
			return -err->num;
	}
	return 0;
}

int home_undo_plan_shared(struct context *c, const struct home_versions *h,
			  unsigned long runs, struct home_undo *ret,
			  struct err *err)
{
	const struct plan_options options = {.resolve = RESOLVE_OURS};
	struct changeset_root *root;

	if (open_home(c, h, ret, err) < 0)
		return -err->num;
	root = &ret->change.roots[0];
	if (find_state_before(c->store, h->path, &root->now, runs, false,
			      &root->want, &root->base, err) < 0)
		return -err->num;
	if (keep_logins_of_now(c->store, h, &root->now.root, &root->want.root,
			       err) < 0 ||
	    (root->base.seq && keep_logins_of_now(c->store, h, &root->now.root,
						  &root->base.root, err) < 0))
		return -err->num;
	return plan_home(ret, &options, err);
}

/* Whether the record names members of the file, and not the file itself. */
static bool has_members_only(const struct session *s, const char *path)
{
	size_t len = strlen(path), i;
	bool members = false;

	for (i = 0; i < s->more.count; i++) {
		const char *change = s->more.items[i].value;

		if (strcmp(s->more.items[i].key, AGENT_CODE) != 0 ||
		    strlen(change) < 3 || strncmp(change + 2, path, len) != 0)
			continue;
		if (!change[2 + len])
			return false;
		members |= change[2 + len] == '#';
	}
	return members;
}

/* False: the file is missing, too large, or no regular one. */
static bool read_entry(struct store *store, const struct entry *root,
		       const char *path, struct entry *ret, struct buf *to)
{
	struct err ignored;

	return tree_lookup(store, root, path, ret, &ignored) > 0 &&
	       S_ISREG(ret->mode) && ret->size <= SETTINGS_MAX &&
	       content_append(store, &ret->content, to, &ignored) == 0;
}

/* The next start adds them: they are no change of a run. */
static void add_own_members(const struct profile *profile, const char *home,
			    const struct members *m, struct buf *text)
{
	const struct profile_item *item = NULL;
	const size_t len = strlen(m->file);
	struct err ignored;

	while ((item = profile_next(profile, PROFILE_WRITE, item))) {
		AUTO(buf) struct buf with = {0};
		auto_free char *wanted = agent_own_member(item, home);

		if (wanted && strncmp(item->value, m->file, len) == 0 &&
		    item->value[len] == '#' &&
		    settings_add(m->file, text, wanted, m->project, &with,
				 &ignored) > 0) {
			buf_clear(text);
			buf_add(text, with.data, with.len);
		}
	}
}

/* Later runs write the same file, for their counters. The present file becomes
 * the base, and the wanted file is the present one with the earlier members.
 * complete: the run changed more than members, and only a file that has become
 * the base since by its own members can be taken back. */
static int plan_members(struct context *c, struct changeset_root *root,
			const struct profile *profile, const struct members *m,
			bool complete, struct err *err)
{
	AUTO(buf) struct buf before = {0}, after = {0}, now = {0}, text = {0};
	AUTO(entry) struct entry old = {0}, left = {0}, present = {0};
	const char *home = c->state.home;
	bool had =
		read_entry(c->store, &root->want.root, m->file, &old, &before);
	struct entry wanted; /* its texts are those of present */
	int got;

	if ((!had && old.mode) ||
	    !read_entry(c->store, &root->base.root, m->file, &left, &after) ||
	    !read_entry(c->store, &root->now.root, m->file, &present, &now))
		return 0;
	add_own_members(profile, home, m, &after);
	if (complete)
		return buf_same(&after, &now)
			       ? replace_entry(c->store, &root->base.root,
					       m->file, &present, err)
			       : 0;
	if (had)
		add_own_members(profile, home, m, &before);
	add_own_members(profile, home, m, &now);
	got = settings_undo(m, had ? &before : NULL, &after, &now, &text, err);
	if (got <= 0)
		return got < 0 ? err_context(err, "%s cannot be read",
					     text_quote(m->file))
			       : 0;
	wanted = present;
	wanted.size = text.len;
	if (content_put_bytes(c->store, text.data, text.len, &wanted.content,
			      err) < 0)
		return -err->num;
	got = replace_entry(c->store, &root->want.root, m->file, &wanted, err);
	/* The directory is missing there: the complete file goes. */
	if (got == -ENOTDIR)
		return 0;
	return got < 0 ? got
		       : replace_entry(c->store, &root->base.root, m->file,
				       &present, err);
}

int home_undo_plan_paths(struct context *c, const struct home_versions *h,
			 const struct profile *profile, const struct session *s,
			 const char *const *paths, struct home_undo *ret,
			 struct err *err)
{
	const struct plan_options options = {
		.paths = paths,
		.resolve = RESOLVE_OURS,
	};
	uint64_t before = (uint64_t)record_get_int(&s->more, AGENT_BEFORE);
	uint64_t after = (uint64_t)record_get_int(&s->more, AGENT_AFTER);
	struct changeset_root *root;

	if (!before || !after)
		return fail(err, ENOENT,
			    "the home was not stored with the run");
	if (open_home(c, h, ret, err) < 0)
		return -err->num;
	root = &ret->change.roots[0];
	if (catalog_load(c->store, before, &root->want, err) < 0 ||
	    catalog_load(c->store, after, &root->base, err) < 0)
		return -err->num;
	for (; *paths; paths++) {
		auto_free char *data = agent_data_members(profile, *paths);
		const struct members m = {*paths, data, s->project};

		if (plan_members(c, root, profile, &m,
				 !has_members_only(s, *paths), err) < 0)
			return -err->num;
	}
	return plan_home(ret, &options, err);
}

int home_undo_execute(struct home_undo *u, const struct home_versions *h,
		      struct err *err)
{
	AUTO(action)
	struct action action = {
		.kind = mem_strdup("restore"),
		.run_id = mem_strdup(""),
		.complete = true,
	};
	struct context *c = u->change.c;
	auto_close int copies = -1;
	char **login = u->lost_logins;

	if (changeset_has_steps(&u->change)) {
		if (changeset_execute(&u->change, &action, err) < 0)
			return -err->num;
		action_close(u->change.roots[0].project.workspace_fd, &action);
	}
	if (login)
		copies = open_login_copies(h, &c->state, err);
	for (; login && *login; login++)
		if (copies < 0 || put_login_back(h, copies, *login, err) < 0)
			return err_context(err, "restore the login");
	state_log(&c->state, "restore", "agent", h->name, NULL);
	return 0;
}
