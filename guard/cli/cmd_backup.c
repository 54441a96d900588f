#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"
#include "guard/cli/passphrase.h"
#include "guard/retention/backups.h"
#include "guard/retention/settings.h"
#include "snapshot/backup/copy_prune.h"

struct backup_command {
	const struct options *o;
	struct context *c;
	struct settings settings;
	struct backups known;
	json_t *array; /* of destinations; NULL: no --json */
	/* Of the present destination. */
	struct destination d;
	struct buf keyfile;
	struct backup *b; /* in known */
	char words[KEYFILE_WORDS_LEN]; /* of a new recovery sheet, or "" */
	enum destination_promise promise; /* with words */
};

static int check_new_destination(const struct state *state, const char *path,
				 struct err *err)
{
	auto_free char *git = path_join(path, ".git");

	if (path_below(path, state->path))
		return fail(err, EPERM, "%s is guard's own state",
			    text_quote(path));
	if (path_below(state->path, path) ||
	    (state->home && path_below(state->home, path)))
		return fail(err, EPERM,
			    "%s contains your home directory or guard's state: "
			    "name a directory of its own for backups",
			    text_quote(path));
	return path_has_part(path, ".git") || access(git, F_OK) == 0
		       ? fail(err, EPERM,
			      "%s belongs to a git repository: name "
			      "a directory of its own for backups",
			      text_quote(path))
		       : 0;
}

/* With --json the words are in the object, too. */
static void print_sheet(const struct backup_command *x,
			const unsigned char id[KEYFILE_ID_LEN])
{
	FILE *to = x->array ? output_stderr() : stdout;

	(void)fprintf(
		to,
		"Recovery sheet for the backups in %s\n\n"
		"\twords        %s\n"
		"\tdestination  %s\n"
		"\tbackup       1, %s\n\n"
		"The words open the backups without the passphrase: keep "
		"them on paper,\naway from this machine. The number of the "
		"newest backup beside them shows\nlater whether newer "
		"backups are missing.\n",
		text_quote(x->d.path), x->words, text_hex(id, KEYFILE_ID_LEN),
		text_time(timestamp_now()));
	(void)fflush(to);
}

/* Writes guard-copy, after its sheet, without which it could be lost, and opens
 * it again by the words. The destination is tried before: no sheet should be
 * printed in vain. */
static int make_keyfile(struct backup_command *x, const char *passphrase,
			unsigned char key[SEAL_KEY_LEN], struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	unsigned char id[KEYFILE_ID_LEN], again[SEAL_KEY_LEN];
	struct err why;
	int got;

	if (destination_try(&x->d, &x->promise, err) < 0 ||
	    keyfile_make(passphrase, id, key, x->words, &bytes, err) < 0)
		return -err->num;
	print_sheet(x, id);
	got = backups_write_keyfile(&x->d, &bytes, err);
	if (backups_read_keyfile(&x->d, &x->keyfile, id, &why) < 0) {
		if (got == 0)
			*err = why;
		return err_context(err, "the recovery sheet above is void");
	}
	if (got < 0 || keyfile_open(&x->keyfile, x->words, again, err) < 0)
		return -err->num;
	if (memcmp(key, again, SEAL_KEY_LEN) != 0)
		return fail(err, EIO,
			    "%s/" KEYFILE_NAME
			    " has other bytes than were written",
			    text_quote(x->d.path));
	return 0;
}

static int check_setting(const char *path, struct err *err)
{
	auto_free char *trimmed = text_trim(path, strlen(path));

	return strcmp(trimmed, path) != 0 || strchr(path, '\n')
		       ? fail(err, EINVAL,
			      "%s cannot stand in the settings: rename it",
			      text_quote(path))
		       : 0;
}

/* The line "backup = DIR" of the settings. */
static int set_every(struct backup_command *x, const char *path, bool on,
		     struct err *err)
{
	if (on && check_setting(path, err) < 0)
		return -err->num;
	return x->o->dry_run
		       ? 0
		       : settings_change(&x->c->state, "backup", path, on, err);
}

/* key: may be the one in x->b. */
static int remember(struct backup_command *x, const unsigned char *key,
		    struct err *err)
{
	AUTO(backups) struct backups known = {0};
	unsigned char id[KEYFILE_ID_LEN];

	if (backups_remember(&x->c->state, &x->d, key, NULL, 0, err) < 0 ||
	    keyfile_read_id(&x->keyfile, id, err) < 0 ||
	    backups_load(&x->c->state, &known, err) < 0)
		return -err->num;
	backups_free(&x->known);
	x->known = TAKE(known);
	x->b = backups_find_id(&x->known, id);
	return x->b ? 0 : fail(err, EIO, "the key was not stored");
}

/* After a backup to a disk that is mounted elsewhere than the last time, or to
 * a copy of a destination. */
static int change_path(struct backup_command *x, struct err *err)
{
	auto_free char *old = mem_strdup(x->b->path);

	if (remember(x, x->b->key, err) < 0)
		return -err->num;
	output_print("this destination was %s: guard backup now writes to %s",
		     text_quote(old), text_quote(x->d.path));
	if (!mem_list_has((const char *const *)x->settings.backups, old))
		return 0;
	return set_every(x, x->d.path, true, err) < 0
		       ? -err->num
		       : set_every(x, old, false, err);
}

/* A destination without a key on this machine. */
static int add_destination(struct backup_command *x, struct err *err)
{
	const char *file = x->o->passphrase_file;
	const char *path = x->d.path;
	AUTO(passphrase) char *passphrase = NULL;
	unsigned char key[SEAL_KEY_LEN];

	if (check_new_destination(&x->c->state, path, err) < 0)
		return -err->num;
	if (x->keyfile.len) {
		if (passphrase_open_key(file, path, &x->keyfile, key, err) < 0)
			return -err->num;
	} else if (passphrase_choose(
			   file,
			   text_printf("guard: new passphrase for the backups "
				       "in %s: ",
				       text_quote(path)),
			   &passphrase, err) < 0 ||
		   make_keyfile(x, passphrase, key, err) < 0) {
		return -err->num;
	}
	if (remember(x, key, err) < 0)
		return -err->num;
	return *x->words ? backups_note_sheet(&x->c->state, x->b, true, err)
			 : 0;
}

/* The user types the words of the sheet. 1: not now. */
static int try_sheet(struct backup_command *x, struct err *err)
{
	unsigned char key[SEAL_KEY_LEN];
	struct err why;

	for (;;) {
		auto_free char *line =
			x->o->yes ? NULL
				  : output_ask_line(
					    "guard: type the words of the "
					    "recovery sheet (Enter alone: not "
					    "now): ");

		if (!line || !*line) {
			output_print("the recovery sheet was not tried: guard "
				     "backup --sheet %s tries it, on a "
				     "terminal",
				     text_shell(x->d.path));
			return 1;
		}
		if (keyfile_open_sheet(&x->keyfile, line, key, &why) == 0) {
			output_print("the recovery sheet opens the backups");
			return x->b && x->b->untried
				       ? backups_note_sheet(&x->c->state, x->b,
							    false, err)
				       : 0;
		}
		output_warn("%s", why.text);
	}
}

static int sheet(struct backup_command *x, const char *path, struct err *err)
{
	if (backups_open(&x->known, path, &x->d, &x->keyfile, &x->b, err) < 0)
		return -err->num;
	if (!x->keyfile.len)
		return fail(err, ENOENT,
			    "%s has no backup: there is no file " KEYFILE_NAME,
			    text_quote(x->d.path));
	return try_sheet(x, err);
}

static json_t *add_object(struct backup_command *x, const char *path, bool done)
{
	json_t *object = json_object();

	jsonout_text(object, "path", path);
	if (x->b)
		jsonout_text(object, "id", text_hex(x->b->id, KEYFILE_ID_LEN));
	jsonout_bool(object, "done", done);
	if (*x->words)
		jsonout_text(object, "words", x->words);
	jsonout_add(x->array, object);
	return object;
}

static void report_backup(struct backup_command *x, const struct push_result *r,
			  const char *error, const char *promise)
{
	const char *path = text_quote(x->d.path);
	bool dry = x->o->dry_run;
	json_t *object;

	if (!x->array) {
		if (r->nothing)
			output_print("%s has everything: backup %" PRIu64, path,
				     r->number);
		else if (dry)
			output_print("%s of %s would be sent to %s",
				     text_size(r->bytes),
				     text_count(r->snapshots, "snapshot"),
				     path);
		else
			output_print("backup %" PRIu64 " in %s: %s in %s, %s",
				     r->number, path,
				     text_count(r->snapshots, "snapshot"),
				     text_count(r->files, "file"),
				     text_size(r->bytes));
		if (promise)
			output_print("%s", promise);
		return;
	}
	object = add_object(x, x->d.path, !dry);
	jsonout_bool(object, "nothing", r->nothing);
	jsonout_number(object, "backup", r->number);
	jsonout_number(object, "snapshots", r->snapshots);
	jsonout_number(object, "files", r->files);
	jsonout_number(object, "bytes", r->bytes);
	if (promise)
		jsonout_text(object, "protection", promise);
	if (error)
		jsonout_text(object, "error", error);
}

static bool is_on_store_disk(const struct backup_command *x)
{
	struct stat store, destination;

	return fstat(x->c->state.fd, &store) == 0 &&
	       fstat(x->d.fd, &destination) == 0 &&
	       store.st_dev == destination.st_dev;
}

/* 1: backup-command has failed. */
static int send_and_report(struct backup_command *x, struct err *err)
{
	const struct push_options options = {
		.dry_run = x->o->dry_run,
		.progress = progress_show_bytes,
	};
	struct push_result r = {0};
	const char *text = NULL;
	int got;

	progress_start("backup");
	got = backups_send(&x->c->state, x->b, x->c->store, &x->d,
			   x->settings.backup_command, &options, &r, err);
	progress_end();
	if (got < 0)
		return got;
	if (*x->words)
		text = from_copy_promise_text(x->promise);
	report_backup(x, &r, got ? err->text : NULL, text);
	if (*x->words && !x->settings.backup_command && is_on_store_disk(x))
		output_warn("%s is on the same disk as guard's store: the loss "
			    "of that disk loses both, unless a program carries "
			    "the backups elsewhere",
			    text_quote(x->d.path));
	if (*x->words)
		return try_sheet(x, err) < 0 ? -err->num : got;
	if (x->b->untried && x->o->count && isatty(STDIN_FILENO) &&
	    isatty(STDERR_FILENO))
		output_print("the recovery sheet of %s was never tried: guard "
			     "backup --sheet %s tries it",
			     text_quote(x->d.path), text_shell(x->d.path));
	return got;
}

/* The destination that is at this path now. */
static int back_up(struct backup_command *x, const char *path, struct err *err)
{
	int got = context_store(x->c, STORE_READ, err);
	unsigned char key[SEAL_KEY_LEN];
	struct backup *known;
	struct err why;

	if (got == 0)
		got = backups_open(&x->known, path, &x->d, &x->keyfile, &x->b,
				   err);
	if (got == 0 && !x->b && x->o->dry_run) {
		got = check_new_destination(&x->c->state, path, err);
		if (got == 0)
			output_print("%s would become a destination, with all "
				     "snapshots of this machine",
				     text_quote(path));
	} else if (got == 0) {
		if (!x->b)
			got = add_destination(x, err);
		else if (x->o->passphrase_file)
			got = passphrase_open_key(x->o->passphrase_file, path,
						  &x->keyfile, key, err);
		if (got == 0)
			got = send_and_report(x, err);
		if (got >= 0 && !x->o->dry_run &&
		    strcmp(x->b->path, x->d.path) != 0 &&
		    change_path(x, &why) < 0) {
			*err = why;
			got = -why.num;
		}
	}
	known = x->b ? x->b : backups_find(&x->known, path);
	if (got && known && !x->o->dry_run)
		backups_note_failure(&x->c->state, known, err);
	if (got < 0 && x->array)
		jsonout_text(add_object(x, path, false), "error", err->text);
	destination_free(&x->d);
	x->d = (struct destination)DESTINATION_NONE;
	buf_free(&x->keyfile);
	x->b = NULL;
	x->words[0] = '\0';
	return got;
}

static int back_up_all(struct backup_command *x, struct err *err)
{
	AUTO(backups) struct backups all = {0};
	AUTO(mem_list) char **paths = NULL;
	int got = STATUS_OK;
	char **path;
	size_t i;

	if (backups_load_all(&x->c->state, &all, err) < 0)
		return -err->num;
	for (i = 0; i < all.count; i++)
		(void)mem_list_add_once(&paths, all.items[i].path);
	if (!paths)
		return fail(err, ENOENT,
			    "no destination is known: name a directory on "
			    "another disk, as in guard backup /mnt/usb");
	for (path = paths; *path; path++)
		if (back_up(x, *path, err) != 0) {
			output_error(err);
			got = STATUS_REFUSED;
		}
	return got;
}

/* Whether the destination has files that only the key in the state opens. */
static bool is_key_unique(struct backup_command *x, const char *path)
{
	AUTO(buf) struct buf keyfile = {0};
	unsigned char id[KEYFILE_ID_LEN];
	struct err ignored;

	return backups_open(&x->known, path, &x->d, &x->keyfile, &x->b,
			    &ignored) == 0 &&
	       x->b && backups_read_keyfile(&x->d, &keyfile, id, &ignored) < 0;
}

static int forget(struct backup_command *x, const char *path, struct err *err)
{
	int count = 0;

	if (!backups_find(&x->known, path) &&
	    !mem_list_has((const char *const *)x->settings.backups, path))
		return fail(err, ENOENT, "%s is no destination of backups",
			    text_quote(path));
	if (!x->o->dry_run && is_key_unique(x, path)) {
		output_warn(
			"%s has backups without a readable file " KEYFILE_NAME
			": only the key in guard's state opens them",
			text_quote(path));
		if (!output_confirm(x->o->yes, "guard: forget this key?"))
			return STATUS_REFUSED;
	}
	if (set_every(x, path, false, err) < 0)
		return -err->num;
	if (!x->o->dry_run)
		count = backups_forget(&x->c->state, path, err);
	if (count < 0)
		return count;
	output_print(x->o->dry_run
			     ? "%s and its key would be forgotten"
			     : "%s and its key are forgotten here; its files "
			       "stay, and the passphrase or the recovery sheet "
			       "opens them",
		     text_quote(path));
	return STATUS_OK;
}

/* --- --prune --- */

static void report_backup_prune(struct backup_command *x,
				const struct copy_prune_result *r, bool done)
{
	json_t *object;

	if (!x->array) {
		output_print("%s: %s in %s (%s) %s", text_quote(x->d.path),
			     text_count(r->backups, "backup"),
			     text_count(r->backups + r->files, "file"),
			     text_size(r->bytes),
			     done ? "deleted" : "would be deleted");
		return;
	}
	if (!done && !x->o->dry_run)
		return;
	object = json_object();
	jsonout_text(object, "path", x->d.path);
	jsonout_bool(object, "done", done);
	jsonout_number(object, "gone", r->backups);
	jsonout_number(object, "files", r->backups + r->files);
	jsonout_number(object, "bytes", r->bytes);
	jsonout_add(x->array, object);
}

static int prune_destination(struct backup_command *x, int local_fd,
			     const unsigned char *space, struct err *err)
{
	struct copy_prune_result r;
	unsigned long keep = x->o->keep_backups;

	if (copy_prune(&x->d, x->b->key, space, keep, true, local_fd, &r, err) <
	    0)
		return -err->num;
	report_backup_prune(x, &r, false);
	if (x->o->dry_run || !r.backups)
		return STATUS_OK;
	if (!output_confirm(
		    x->o->yes, "guard: delete them for good? The newest %s %s.",
		    text_count(keep, "backup"), keep == 1 ? "stays" : "stay"))
		return STATUS_REFUSED;
	if (copy_prune(&x->d, x->b->key, space, keep, false, local_fd, &r,
		       err) < 0)
		return -err->num;
	report_backup_prune(x, &r, true);
	state_log(&x->c->state, "backup-prune", "to", x->d.path, NULL);
	return STATUS_OK;
}

static int prune(struct backup_command *x, const char *path, struct err *err)
{
	const struct push_options options = {
		.complete = true,
		.progress = progress_show_bytes,
	};
	struct push_result r = {0};
	unsigned char key[SEAL_KEY_LEN];
	auto_close int local = -1;
	int got = backups_open(&x->known, path, &x->d, &x->keyfile, &x->b, err);

	if (got < 0)
		return got;
	if (!x->b || !x->b->number)
		return fail(err, ENOENT, "%s has no backup of this machine",
			    text_quote(path));
	local = backups_open_dir(&x->c->state, x->b->id, err);
	if (local < 0)
		return local;
	if (x->o->dry_run)
		return prune_destination(x, local, x->b->space, err);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fail(err, ENOTTY,
			    "--prune deletes backups, so it needs a terminal; "
			    "-n shows what it would delete");
	if (passphrase_open_key(x->o->passphrase_file, path, &x->keyfile, key,
				err) < 0 ||
	    context_store(x->c, STORE_READ, err) < 0)
		return -err->num;
	/* Later backups may need parts of packs that only old ones have. */
	progress_start("backup");
	got = backups_send(&x->c->state, x->b, x->c->store, &x->d,
			   x->settings.backup_command, &options, &r, err);
	progress_end();
	/* Where it is full, the deletion of old ones makes room for a new one.
	 */
	if (got == -ENOSPC || got == -EDQUOT) {
		output_warn("%s", err->text);
		return prune_destination(x, local, x->b->space, err);
	}
	return got < 0 ? got : prune_destination(x, local, r.space, err);
}

static int run_backup_verb(struct backup_command *x, const char *path,
			   struct err *err)
{
	int got;

	if (!path)
		return back_up_all(x, err);
	if (x->o->forget)
		return forget(x, path, err);
	if (x->o->prune)
		return prune(x, path, err);
	if (x->o->sheet)
		return sheet(x, path, err);
	if (x->o->every && check_setting(path, err) < 0)
		return -err->num;
	got = back_up(x, path, err);
	if (got == 1)
		output_error(err);
	if (got >= 0 && x->o->every && set_every(x, path, true, err) < 0)
		return -err->num;
	return got;
}

int cmd_backup(const struct options *o, struct context *c, struct err *err)
{
	struct backup_command x = {.o = o, .c = c, .d = DESTINATION_NONE};
	auto_free char *path = NULL;
	int got;

	if (o->count ? !*o->operands[0]
		     : o->every || o->forget || o->prune || o->sheet)
		return options_usage_error(o, "name the directory");
	if (o->count)
		path = path_resolve(o->operands[0], err);
	if ((o->count && !path) ||
	    settings_load(&c->state, &x.settings, err) < 0 ||
	    backups_load(&c->state, &x.known, err) < 0)
		return -err->num;
	x.array = o->json ? json_array() : NULL;
	got = run_backup_verb(&x, path, err);
	if (x.array && (got >= 0 || json_array_size(x.array)))
		jsonstream_print_list("guard.backup/1", "destinations",
				      TAKE(x.array));
	json_decref(x.array);
	settings_free(&x.settings);
	backups_free(&x.known);
	buf_free(&x.keyfile);
	destination_free(&x.d);
	if (got < 0)
		return got;
	return output_finish() && !got ? STATUS_OK : STATUS_REFUSED;
}
