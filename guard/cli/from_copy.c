#include "guard/cli/from_copy.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/passphrase.h"
#include "restore/plan/unit.h"

void from_copy_free(struct from_copy *f)
{
	struct err ignored;

	/* No cache for a store that ends here. */
	f->view.writable = false;
	context_free(&f->view);
	copy_free(&f->copy);
	if (f->name)
		(void)dirtree_remove(f->c->state.trash_fd, f->name, &ignored);
	free(TAKE(f->name));
	copy_sources_free(&f->sources);
	backups_free(&f->known);
	destination_free(&f->destination);
}

int from_copy_open(struct from_copy *f, struct context *c, const char *dir,
		   const char *passphrase_file, struct err *err)
{
	auto_free char *path = path_resolve(dir, err);
	int got;

	f->c = c;
	if (path && access(path, F_OK) < 0)
		return fail_errno(err, "%s", text_quote(path));
	if (!path || backups_load(&c->state, &f->known, err) < 0 ||
	    backups_open(&f->known, path, &f->destination, &f->own, err) < 0)
		return -err->num;
	if ((!f->own || passphrase_file) &&
	    passphrase_open_key(passphrase_file, &f->destination, err) < 0)
		return -err->num;
	got = copy_list(&f->destination, &f->sources, err);
	if (got == -ENOENT && f->own && f->own->number)
		return err_context(err, "backup %" PRIu64 " was the last",
				   f->own->number);
	if (got < 0)
		return got;
	if (f->own)
		push_read_last(f->own->dir, &f->last);
	return 0;
}

void from_copy_list(const struct from_copy *f, FILE *to)
{
	AUTO(table) struct table t = {0};
	size_t i;

	for (i = 0; i < f->sources.count; i++) {
		const struct copy_source *s = &f->sources.items[i];
		AUTO(buf) struct buf host = {0};

		text_escape_name(&host, s->host);
		table_row(&t, buf_text(&host),
			  text_printf("backup %" PRIu64, s->newest.number),
			  s->time ? text_age((struct timestamp){.sec = s->time})
				  : "",
			  !s->newest.number ? "cannot be listed"
			  : s->damaged	    ? "newest manifest damaged"
					    : text_printf("snapshot %" PRIu64,
							  s->snapshots),
			  s->name);
	}
	table_print(&t, "", to);
}

bool from_copy_is_own(const struct from_copy *f, const struct copy_source *s)
{
	if (!f->own || !f->own->number ||
	    memcmp(f->own->space, s->space, SEAL_SPACE_LEN) != 0)
		return false;
	return !s->forked || f->last.number == 0 ||
	       memcmp(&f->last, &s->newest, sizeof(f->last)) == 0;
}

/* Whether both chains begin with the same backup of that number. */
static bool have_both(const struct copy_source *a, const struct copy_source *b,
		      uint64_t number)
{
	return number && number < a->newest.number &&
	       number < b->newest.number &&
	       memcmp(a->space, b->space, SEAL_SPACE_LEN) == 0;
}

/* The number of sources of this name, NULL: of this machine; *ret is the last
 * one. */
static size_t match_machine(const struct from_copy *f, const char *machine,
			    uint64_t number, const struct copy_source **ret)
{
	size_t i, count = 0;

	for (i = 0; i < f->sources.count; i++) {
		const struct copy_source *s = &f->sources.items[i];

		if (machine ? strcmp(s->host, machine) != 0 &&
				      strncmp(s->name, machine,
					      strlen(machine)) != 0
			    : !from_copy_is_own(f, s))
			continue;
		count += !count || !have_both(*ret, s, number);
		*ret = s;
	}
	return count;
}

int from_copy_choose(struct from_copy *f, const char *machine, uint64_t number,
		     struct err *err)
{
	size_t count = match_machine(f, machine, number, &f->source);

	/* Without backups of this machine: of any. */
	if (!count && !machine)
		count = match_machine(f, "", number, &f->source);
	if (count != 1)
		from_copy_list(f, output_stderr());
	while (count != 1 && !machine) {
		auto_free char *line = output_ask_line(
			"guard: which one? Type its first word, or the "
			"beginning of the last: ");

		if (!line)
			break;
		count = match_machine(f, line, number, &f->source);
	}
	if (count != 1)
		return fail(err, count ? EEXIST : ENOENT,
			    "%s has %s: name one of those listed above",
			    text_quote(f->destination.path),
			    count ? "backups of several stores"
				  : "no backup of that name");
	f->number = number ? number : f->source->newest.number;
	return copy_open(&f->destination, f->source, number, &f->copy, err);
}

/* Adds the records of the run's timeline (run: RUN or RUN@WHEN), and of the
 * runs in which the path, which may be NULL, has versions. */
static int fetch_runs(struct from_copy *f, const char *run, const char *path,
		      struct err *err)
{
	struct store *store = f->view.store;
	AUTO(tree) struct tree wanted = {0};
	auto_free uint64_t *seqs = NULL;
	struct err ignored;
	size_t count, i, k;

	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};
		AUTO(tree) struct tree t = {0};

		if (catalog_load(store, seqs[i], &s, &ignored) < 0 ||
		    strcmp(s.reason, CATALOG_TIMELINE) != 0 ||
		    (strncmp(run, s.run_id, strlen(s.run_id)) != 0 &&
		     !(path && path_below(path, s.root_path))) ||
		    tree_load(store, &s.root.content, &t, &ignored) < 0)
			continue;
		/* Not the directory of contents. */
		for (k = 0; k < t.count; k++)
			if (S_ISREG(t.entries[k].mode))
				tree_add(&wanted, &t.entries[k]);
	}
	return wanted.count
		       ? copy_fetch(&f->copy, f->view.state.store_path, store,
				    wanted.entries, wanted.count, err)
		       : 0;
}

int from_copy_view(struct from_copy *f, struct context *c,
		   const struct options *o, const char *run, struct err *err)
{
	auto_free char *path =
		run && !o->at ? resolve_run_path(run, err) : NULL;
	struct timestamp now = timestamp_now();
	struct state *state = &f->view.state;
	const struct copy_options unpack = {
		.lazy = true,
		.fault = from_copy_fault,
		.progress = progress_show_bytes,
	};
	uint64_t faults;
	int got;

	if (from_copy_open(f, c, o->from, o->passphrase_file, err) < 0 ||
	    from_copy_choose(f, o->machine, 0, err) < 0)
		return -err->num;
	f->name = mem_printf("%" PRId64 "-copy-%u-%d", now.sec, now.nsec,
			     (int)getpid());
	state->path = mem_printf("%s/trash/%s", c->state.path, f->name);
	state->store_path = path_join(state->path, "store");
	if (mkdirat(c->state.trash_fd, f->name, 0700) < 0 ||
	    (state->fd = fd_open_dir(c->state.trash_fd, f->name)) < 0 ||
	    mkdirat(state->fd, "runs", 0700) < 0 ||
	    (state->runs_fd = fd_open_dir(state->fd, "runs")) < 0)
		return fail_errno(err, "create %s", text_quote(state->path));
	progress_start("read");
	got = copy_unpack(&f->copy, state->store_path, &unpack, &faults, err);
	progress_end();
	f->view.project = mem_strdup(c->project);
	/* As run_timeline_open() wants it. */
	if (got < 0 || context_store(&f->view, STORE_WRITE, err) < 0)
		return -err->num;
	return run ? fetch_runs(f, run, path, err) : 0;
}

int from_copy_fail(const struct from_copy *f, struct err *err)
{
	const char *remedy = strstr(err->text, "; `guard")
				     ?: strstr(err->text, ": `guard")
				     ?: strstr(err->text, "; run ")
				     ?: strchr(err->text, '\0');
	auto_free char *why =
		mem_strndup(err->text, (size_t)(remedy - err->text));
	const char *home = f->source->home, *own = f->c->state.home;
	bool moved = own && *home && strcmp(home, own) != 0;

	return fail(err, err->num,
		    "in the backup, which ends with snapshot %" PRIu64
		    "%s%s: %s",
		    f->source->snapshots,
		    moved ? " and is of the home directory " : "",
		    moved ? text_quote(home) : "", why);
}

struct import {
	struct from_copy *f;
	struct store *to;
	const struct entry *root;
	struct tree_editor *ed;
	transfer_lost *lost;
	void *arg;
};

/* above: a directory on the way to the target, of which only the target is
 * stored. */
static int import_path(struct import *x, const char *path, bool above,
		       struct err *err)
{
	struct from_copy *f = x->f;
	struct store *from = f->view.store;
	AUTO(entry) struct entry e = {0}, own = {0};
	int got = tree_lookup(from, x->root, path, &e, err);

	if (got <= 0)
		return got < 0 ? from_copy_fail(f, err) : 0;
	if (above) {
		e.content = (struct oid){0};
		e.flags |= ENTRY_INCOMPLETE;
	} else if (copy_fetch(&f->copy, f->view.state.store_path, from, &e, 1,
			      err) < 0) {
		return -err->num;
	}
	if (transfer_entry(from, x->to, path, &e, x->lost, x->arg, &own, err) <
	    0)
		return -err->num;
	return above ? tree_editor_put_dir(x->ed, path, &own, err)
		     : tree_editor_put(x->ed, path, &own, err);
}

int from_copy_import(struct from_copy *f, struct restore_target *t,
		     struct store *to, transfer_lost *lost, void *arg,
		     struct entry *ret, struct err *err)
{
	struct snapshot *s = &t->snapshot;
	size_t stem = unit_stem(t->path);
	auto_free char *main =
		stem ? mem_strndup(t->path, stem) : mem_strdup(t->path);
	struct import x = {
		.f = f,
		.to = to,
		.root = &s->root,
		.ed = tree_editor_new(to, &(struct entry){0}),
		.lost = lost,
		.arg = arg,
	};
	const char *at = t->path;
	struct entry root = {0};
	/* The state of a run has new directories. */
	int got = store_flush(f->view.store, err)
			  ?: import_path(&x, "", *t->path, err);
	size_t i;

	while (got >= 0 && (at = strchr(at, '/'))) {
		auto_free char *dir =
			mem_strndup(t->path, (size_t)(at++ - t->path));

		got = import_path(&x, dir, true, err);
	}
	/* The sidecars of a database, which the restore may need. */
	for (i = 0; i < UNIT_MEMBERS && got >= 0 && *t->path; i++) {
		auto_free char *path = unit_path(main, (enum unit_member)i);

		got = import_path(&x, path, false, err);
	}
	if (tree_editor_end(&x.ed, got < 0 ? got : 0, &root, err) < 0)
		return -err->num;
	entry_free(&s->root);
	s->root = root;
	if (s->seq) {
		free(s->message);
		s->message =
			mem_printf("%s:%" PRIu64, f->destination.path, s->seq);
		s->seq = 0;
	}
	return tree_lookup(to, &s->root, t->path, ret, err);
}

void from_copy_fault(void *unused, const char *object, const char *what,
		     const char *why)
{
	(void)unused;
	progress_pause();
	output_warn("damaged: %s: %s: %s", text_quote(object), what, why);
}

const char *from_copy_promise_text(enum destination_promise promise)
{
	static const char *const texts[] = {
		[DESTINATION_PLAIN] = "plain: a process of yours can change "
				      "and delete these backups",
		[DESTINATION_OVERWRITABLE] =
			"plain: the directory is append-only, but a process of "
			"yours can overwrite the files in it",
		[DESTINATION_APPEND_ONLY] =
			"append-only: you cannot delete these backups",
		[DESTINATION_LOCKED] =
			"locked: you can neither change nor delete these "
			"backups",
		[DESTINATION_UNKNOWN] = "read-only now: who can delete these "
					"backups is not known",
	};

	return texts[promise];
}
