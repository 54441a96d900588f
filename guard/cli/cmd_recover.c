#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"

/* A store that is being made, in the trash: it follows the time. */
#define UNFINISHED "-recover"

/* Removes an empty store, which a command such as guard restore has created.
 * -EEXIST: it has or had snapshots. */
static int remove_empty_store(struct context *c, struct err *err)
{
	auto_close int lock = -1;
	uint64_t newest;

	if (!fd_exists(c->state.fd, "store"))
		return 0;
	lock = lock_take(c->state.fd, "store/lock", true, false, err);
	if (lock < 0 || context_store(c, STORE_READ, err) < 0 ||
	    catalog_newest(c->store, &newest, err) < 0)
		return -err->num;
	store_free(&c->store);
	if (newest)
		return fail(err, EEXIST,
			    "%s has or had snapshots of this machine: guard "
			    "restore "
			    "--from DIR restores single files of a backup, "
			    "and GUARD_HOME=/some/path guard recover DIR "
			    "makes a store elsewhere",
			    text_quote(c->state.store_path));
	return dirtree_remove_aside(c->state.fd, "store", err);
}

/* Snapshots of directories in the old home become snapshots of directories in
 * the new one. */
static int move_home(const char *store_path, const char *old, const char *new,
		     struct err *err)
{
	AUTO(store) struct store *store = NULL;
	auto_free uint64_t *seqs = NULL;
	size_t count, i;

	if (store_open(&store, store_path, STORE_WRITE, err) < 0 ||
	    catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		char *path;

		/* A damaged one was reported when it was unpacked. */
		if (catalog_load(store, seqs[i], &s, err) < 0 ||
		    !path_below(s.root_path, old))
			continue;
		path = path_join(new, path_rest(s.root_path, old));
		free(s.root_path);
		s.root_path = path;
		if (catalog_replace(store, &s, err) < 0)
			return -err->num;
	}
	return 0;
}

/* The home that the snapshots get, to free; NULL: they keep their paths. */
static int choose_home(const struct from_copy *f, const char *into, char **ret,
		       struct err *err)
{
	const char *old = f->source->home, *own = f->c->state.home;

	*ret = NULL;
	if (into && !*old)
		return fail(err, EINVAL,
			    "--into: the manifests with the old home are "
			    "damaged");
	if (into) {
		*ret = state_directory(&f->c->state, into, err);
		if (!*ret)
			return err_context(err, "--into");
		output_print("snapshots of %s become snapshots of %s",
			     text_quote(old), text_quote(*ret));
		return 0;
	}
	if (!*old || !own || strcmp(old, own) == 0)
		return 0;
	if (output_ask("guard: the home of %s was %s; is it %s now?",
		       text_quote(f->source->host), text_quote(old),
		       text_quote(own)) > 0)
		*ret = mem_strdup(own);
	else
		output_print("paths in %s stay as they are: --into PATH moves "
			     "them to another home",
			     text_quote(old));
	return 0;
}

/* Removes the unfinished stores of killed calls from the trash. */
static int remove_unfinished(const struct state *state, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(state->trash_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		const char *after = strchr(name, '-');

		/* A run in the trash has the run's id at the end. */
		if (after && strcmp(after, UNFINISHED) == 0 &&
		    dirtree_remove(state->trash_fd, name, err) < 0)
			return -err->num;
	}
	return 0;
}

/* The store is made in the trash, so that no other command finds a part of
 * one, and a killed call leaves nothing for long. */
static int recover_store(struct from_copy *f, const struct options *o,
			 uint64_t *ret_faults, struct err *err)
{
	const struct state *state = &f->c->state;
	const struct copy_source *s = f->source;
	const struct copy_options unpack = {
		.fault = from_copy_fault,
		.progress = progress_show_bytes,
	};
	auto_free char *name =
		mem_printf("%" PRId64 UNFINISHED, timestamp_now().sec);
	auto_free char *dir = mem_printf("%s/trash/%s", state->path, name);
	auto_free char *pins = mem_printf("%s/pins", name), *home = NULL;
	int got;

	if (choose_home(f, o->into, &home, err) < 0 ||
	    remove_unfinished(state, err) < 0)
		return -err->num;
	progress_start("recover");
	got = copy_unpack(&f->copy, dir, &unpack, ret_faults, err);
	progress_end();
	if (got < 0)
		return got;
	if (home && move_home(dir, s->home, home, err) < 0)
		return -err->num;
	/* Noted before the store exists: where it exists, the same call is
	 * refused. */
	if (backups_remember(state, &f->destination, s->space, f->number, err) <
	    0)
		return -err->num;
	/* A directory that moves to another one must be writable. Pins are a
	 * file of the state; a backup without pins has none. */
	if (chmod(dir, 0700) < 0 ||
	    (renameat(state->trash_fd, pins, state->fd, "pins") < 0 &&
	     errno != ENOENT) ||
	    fd_rename_new(state->trash_fd, name, state->fd, "store") < 0 ||
	    chmod(state->store_path, 0500) < 0)
		return fail_errno(err, "create %s",
				  text_quote(state->store_path));
	return atomic_sync_dir(state->fd, err);
}

/* The chosen machine, or all of the list. */
static void print_recover_json(const struct from_copy *f, bool done,
			       uint64_t faults)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < f->sources.count; i++) {
		const struct copy_source *s = &f->sources.items[i];
		json_t *object;

		if (f->source && f->source != s)
			continue;
		object = json_object();
		jsonout_text(object, "host", s->host);
		jsonout_text(object, "home", s->home);
		jsonout_text(object, "name", s->name);
		jsonout_number(object, "newest", s->newest.number);
		jsonout_time(object, "time",
			     (struct timestamp){.sec = s->time});
		jsonout_number(object, "snapshot", s->snapshots);
		jsonout_bool(object, "damaged", s->damaged);
		if (f->source) {
			jsonout_number(object, "backup", f->number);
			jsonout_bool(object, "done", done);
			jsonout_number(object, "faults", faults);
		}
		jsonout_add(list, object);
	}
	jsonstream_print_list("guard.recover/1", "machines", list);
}

static void report_recovery(const struct from_copy *f, uint64_t faults)
{
	output_print("recovered %s of backup %" PRIu64 " of %s",
		     faults ? "a part" : "all", f->number,
		     text_quote(f->source->host));
	if (faults)
		output_warn("%s: only the files in the objects listed above "
			    "are lost; guard verify --read-data lists them",
			    text_count(faults, "damaged object"));
	output_hint("guard log --all lists the snapshots, guard restore PATH "
		    "restores a file or directory");
	output_hint("settings are not in a backup: guard backup --every %s "
		    "makes backups again",
		    text_shell(f->destination.path));
}

int cmd_recover(const struct options *o, struct context *c, struct err *err)
{
	AUTO(from_copy) struct from_copy f = FROM_COPY_NONE;
	const char *machine = o->operands[1];
	auto_close int lock = -1;
	uint64_t faults = 0;

	if (!o->dry_run) {
		lock = lock_take(c->state.fd, "recover.lock", true, false, err);
		if (lock == -EWOULDBLOCK)
			return fail(err, EBUSY,
				    "another guard recover is running: try "
				    "again when it has ended");
		if (lock < 0 || remove_empty_store(c, err) < 0)
			return -err->num;
	}
	if (from_copy_open(&f, c, o->operands[0], o->passphrase_file, err) < 0)
		return -err->num;
	if ((!o->dry_run || machine || o->backup) &&
	    from_copy_choose(&f, machine, o->backup, err) < 0)
		return -err->num;
	if (!o->dry_run) {
		if (recover_store(&f, o, &faults, err) < 0)
			return -err->num;
		state_log(&c->state, "recover", "from", f.destination.path,
			  "host", f.source->host, NULL);
		report_recovery(&f, faults);
	} else if (f.source) {
		output_print("backup %" PRIu64 " of %s is there", f.number,
			     text_quote(f.source->host));
	} else if (!o->json) {
		from_copy_list(&f, stdout);
	}
	if (o->json)
		print_recover_json(&f, !o->dry_run, faults);
	return output_finish() && !faults ? STATUS_OK : STATUS_REFUSED;
}
