#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"
#include "guard/cli/passphrase.h"
#include "guard/retention/settings.h"
#include "guard/state/backups.h"
#include "guard/state/background.h"
#include "snapshot/backup/copy_prune.h"

/* A file whose mtime is the time of the last backup in the background. */
#define STAMP "last-backup"
#define INTERVAL 900 /* seconds */

struct backup_command {
	const struct options *o;
	struct context *c;
	struct settings settings;
	struct backups known;
	json_t *array; /* of destinations; NULL: no --json */
	/* Of the present destination. */
	struct destination d;
	struct backup *b; /* in known */
	char words[KEYFILE_WORDS_LEN]; /* of a new recovery sheet, or "" */
	const char *promise; /* NULL: the destination is not new */
};

static void close_destination(struct backup_command *x)
{
	destination_free(&x->d);
	x->b = NULL;
	x->words[0] = '\0';
	x->promise = NULL;
}

static int open_destination(struct backup_command *x, const char *path,
			    struct err *err)
{
	close_destination(x);
	return backups_open(&x->known, path, &x->d, &x->b, err);
}

static int check_new_destination(const struct state *state, const char *path,
				 struct err *err)
{
	auto_free char *git = path_join(path, ".git");
	unsigned char space[SEAL_SPACE_LEN];

	if (path_below(path, state->path))
		return fail(err, EPERM, "%s is guard's own state",
			    text_quote(path));
	if (manifest_space_parse(path_name(path), space))
		return fail(err, EPERM,
			    "%s has the backups of one machine: name the "
			    "directory above",
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

/* With --json on stderr: a secret is in no JSON. */
static int print_sheet(const struct backup_command *x, struct err *err)
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
		text_quote(x->d.path), x->words,
		text_hex(x->d.id, KEYFILE_ID_LEN), text_time(timestamp_now()));
	return fflush(to) == 0 ? 0
			       : fail(err, EIO,
				      "the recovery sheet cannot be printed "
				      "(%s): no backup was made",
				      strerror(errno));
}

/* Writes guard-copy, after its sheet, without which it could be lost, and reads
 * it again. The destination is tried before: no sheet should be printed in
 * vain. */
static int make_keyfile(struct backup_command *x, struct err *err)
{
	const char *question =
		text_printf("guard: new passphrase for the backups in %s: ",
			    text_quote(x->d.path));
	AUTO(passphrase) char *passphrase = NULL;
	AUTO(buf) struct buf bytes = {0};
	enum destination_promise promise;
	struct err why;
	int got;

	if (passphrase_choose(x->o->passphrase_file, question, &passphrase,
			      err) < 0 ||
	    destination_try(&x->d, &promise, err) < 0 ||
	    keyfile_make(passphrase, x->d.id, x->d.key, x->words, &bytes, err) <
		    0)
		return -err->num;
	x->promise = from_copy_promise_text(promise);
	if (print_sheet(x, err) < 0)
		return -err->num;
	got = backups_write_keyfile(&x->d, &bytes, err);
	if (backups_read_keyfile(&x->d, &why) < 0) {
		if (got == 0)
			*err = why;
		return err_context(err, "the recovery sheet above is void");
	}
	if (got == 0 && !buf_same(&x->d.keyfile, &bytes))
		return fail(err, EIO,
			    "%s/" KEYFILE_NAME
			    " has other bytes than were written",
			    text_quote(x->d.path));
	return got;
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

/* After a backup to a disk that is mounted elsewhere than the last time, or to
 * a copy of a destination. */
static int change_path(struct backup_command *x, struct err *err)
{
	const char *old = x->b->path;

	output_print("this destination was %s: guard backup now writes to %s",
		     text_quote(old), text_quote(x->d.path));
	if (!mem_list_has(x->settings.backups, old))
		return 0;
	return set_every(x, x->d.path, true, err) < 0
		       ? -err->num
		       : set_every(x, old, false, err);
}

/* A destination without a key on this machine. */
static int add_destination(struct backup_command *x, struct err *err)
{
	if (check_new_destination(&x->c->state, x->d.path, err) < 0 ||
	    (x->d.keyfile.len
		     ? passphrase_open_key(x->o->passphrase_file, &x->d, err)
		     : make_keyfile(x, err)) < 0 ||
	    backups_remember(&x->c->state, &x->d, NULL, 0, err) < 0)
		return -err->num;
	backups_free(&x->known);
	if (backups_load(&x->c->state, &x->known, err) < 0)
		return -err->num;
	x->b = backups_find_id(&x->known, x->d.id);
	if (!x->b)
		return fail(err, EIO, "the key was not stored");
	return *x->words ? backups_note_sheet(x->b, true, err) : 0;
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
		if (keyfile_open(&x->d.keyfile, line, true, key, &why) == 0) {
			output_print("the recovery sheet opens the backups");
			return x->b && x->b->untried
				       ? backups_note_sheet(x->b, false, err)
				       : 0;
		}
		output_warn("%s", why.text);
	}
}

static int sheet(struct backup_command *x, const char *path, struct err *err)
{
	if (open_destination(x, path, err) < 0)
		return -err->num;
	if (!x->d.keyfile.len)
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
	jsonout_add(x->array, object);
	return object;
}

static void report_backup(struct backup_command *x, const struct push_result *r,
			  const char *error)
{
	const char *path = text_quote(x->d.path);
	bool dry = x->o->dry_run;
	json_t *object;

	if (x->array) {
		object = add_object(x, x->d.path, !dry);
		jsonout_bool(object, "nothing", r->nothing);
		jsonout_number(object, "backup", r->number);
		jsonout_number(object, "snapshots", r->snapshots);
		jsonout_number(object, "files", r->files);
		jsonout_number(object, "bytes", r->bytes);
		jsonout_bool(object, "damaged", r->damaged);
		if (x->promise)
			jsonout_text(object, "protection", x->promise);
		if (error)
			jsonout_text(object, "error", error);
		return;
	}
	if (r->nothing)
		output_print("%s has everything: backup %" PRIu64, path,
			     r->number);
	else if (dry)
		output_print("%s of %s would be sent to %s",
			     text_size(r->bytes),
			     text_count(r->snapshots, "snapshot"), path);
	else
		output_print("backup %" PRIu64 " in %s: %s in %s, %s",
			     r->number, path,
			     text_count(r->snapshots, "snapshot"),
			     text_count(r->files, "file"), text_size(r->bytes));
	if (r->damaged)
		output_warn("the store is damaged, and the backup keeps what "
			    "it had: guard verify lists the damage, guard "
			    "repair repairs it as far as possible");
	if (x->promise)
		output_print("%s", x->promise);
}

/* whole: the same directory, else the same file system. */
static bool is_one_place(int fd, int other_fd, bool whole)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(other_fd, &b) == 0 &&
	       a.st_dev == b.st_dev && (!whole || a.st_ino == b.st_ino);
}

/* 1: backup-command has failed. complete: as of push_options. */
static int send_missing(struct backup_command *x, bool complete,
			struct push_result *ret, struct err *err)
{
	const struct push_options options = {
		.dry_run = x->o->dry_run,
		.complete = complete,
		.busy = progress_wait,
		.progress = progress_show_bytes,
	};
	int got;

	progress_start("backup");
	got = backups_send(&x->c->state, x->b, x->c->store, &x->d,
			   settings_backup_command(&x->settings, x->d.path),
			   &options, ret, err);
	progress_end();
	return got;
}

/* The same, with reports. */
static int send_and_report(struct backup_command *x, struct err *err)
{
	struct push_result r = {0};
	int got = send_missing(x, false, &r, err);

	if (got < 0)
		return got;
	report_backup(x, &r, got ? err->text : NULL);
	if (*x->words && is_one_place(x->c->state.fd, x->d.fd, false) &&
	    !settings_backup_command(&x->settings, x->d.path))
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

/* A destination that was copied would get every second backup, and its path
 * would replace that of the first one. */
static int check_copied(const struct backup_command *x, struct err *err)
{
	AUTO(destination) struct destination first = DESTINATION_NONE;
	struct err ignored;

	return strcmp(x->b->path, x->d.path) != 0 &&
			       destination_open(x->b->path, &first, &ignored) ==
				       0 &&
			       backups_read_keyfile(&first, &ignored) == 0 &&
			       memcmp(first.id, x->b->id, KEYFILE_ID_LEN) ==
				       0 &&
			       !is_one_place(first.fd, x->d.fd, true)
		       ? fail(err, EEXIST,
			      "%s is a copy of the destination %s: begin the "
			      "second one in an empty directory",
			      text_quote(x->d.path), text_quote(x->b->path))
		       : 0;
}

/* The destination that is at this path now. */
static int back_up_there(struct backup_command *x, const char *path,
			 struct err *err)
{
	int got;

	if (context_store(x->c, STORE_READ, err) < 0 ||
	    open_destination(x, path, err) < 0)
		return -err->num;
	if (!x->b && x->o->dry_run) {
		if (check_new_destination(&x->c->state, path, err) < 0)
			return -err->num;
		output_print("%s would become a destination, with all "
			     "snapshots of this machine",
			     text_quote(path));
		return 0;
	}
	if (x->b && check_copied(x, err) < 0)
		return -err->num;
	if (x->b && x->o->passphrase_file)
		got = passphrase_open_key(x->o->passphrase_file, &x->d, err);
	else
		got = x->b ? 0 : add_destination(x, err);
	if (got == 0)
		got = send_and_report(x, err);
	if (got < 0 || x->o->dry_run || strcmp(x->b->path, x->d.path) == 0)
		return got;
	return change_path(x, err) < 0 ? -err->num : got;
}

static int back_up(struct backup_command *x, const char *path, struct err *err)
{
	int got = back_up_there(x, path, err);
	struct backup *known = x->b ? x->b : backups_find(&x->known, path);

	if (got && known && !x->o->dry_run)
		backups_note_failure(known, err);
	if (got < 0 && x->array)
		jsonout_text(add_object(x, path, false), "error", err->text);
	close_destination(x);
	return got;
}

/* To all of them, each of which may fail. */
static int back_up_list(struct backup_command *x, char **paths, struct err *err)
{
	int got = STATUS_OK;

	for (; *paths; paths++)
		if (back_up(x, *paths, err) != 0) {
			output_error(err);
			got = STATUS_REFUSED;
		}
	return got;
}

static int back_up_all(struct backup_command *x, struct err *err)
{
	AUTO(mem_list) char **paths = NULL;
	char **path = x->settings.backups;
	size_t i;

	for (i = 0; i < x->known.count; i++)
		(void)mem_list_add_once(&paths, x->known.items[i].path);
	for (; path && *path; path++)
		(void)mem_list_add_once(&paths, *path);
	return paths ? back_up_list(x, paths, err)
		     : fail(err, ENOENT,
			    "no destination is known: name a directory on "
			    "another disk, as in guard backup /mnt/usb");
}

/* Whether the destination has files that only the key in the state opens. */
static bool is_key_unique(struct backup_command *x, const char *path)
{
	struct err ignored;

	return open_destination(x, path, &ignored) == 0 && x->b &&
	       backups_read_keyfile(&x->d, &ignored) < 0;
}

static int forget(struct backup_command *x, const char *path, struct err *err)
{
	bool dry = x->o->dry_run, unique;

	if (!backups_find(&x->known, path) &&
	    !mem_list_has(x->settings.backups, path))
		return fail(err, ENOENT, "%s is no destination of backups",
			    text_quote(path));
	unique = !dry && is_key_unique(x, path);
	if (unique) {
		output_warn(
			"%s has backups without a readable file " KEYFILE_NAME
			": only the key in guard's state opens them",
			text_quote(path));
		if (!output_confirm(x->o->yes, "guard: forget this key?"))
			return STATUS_REFUSED;
	}
	if (set_every(x, path, false, err) < 0 ||
	    (!dry && backups_forget(&x->c->state, &x->known, path, err) < 0))
		return -err->num;
	output_print(
		dry	 ? "%s and its key would be forgotten"
		: unique ? "%s and its key are forgotten: nothing opens the "
			   "backups there now"
			 : "%s and its key are forgotten here; the passphrase "
			   "or the recovery sheet opens what is there",
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
	object = add_object(x, x->d.path, done);
	jsonout_number(object, "gone", r->backups);
	jsonout_number(object, "files", r->backups + r->files);
	jsonout_number(object, "bytes", r->bytes);
}

static int prune_destination(struct backup_command *x, struct err *err)
{
	unsigned long keep = x->o->keep_backups;
	struct copy_prune_result r;
	bool done;

	for (done = false;; done = true) {
		if (copy_prune(&x->d, x->b->space, keep, !done, x->b->dir, &r,
			       err) < 0)
			return -err->num;
		report_backup_prune(x, &r, done);
		if (done)
			break;
		if (x->o->dry_run || !r.backups)
			return STATUS_OK;
		if (!output_confirm(x->o->yes,
				    "guard: delete them for good? The newest "
				    "%s %s.",
				    text_count(keep, "backup"),
				    keep == 1 ? "stays" : "stay"))
			return STATUS_REFUSED;
	}
	state_log(&x->c->state, "backup-prune", "to", x->d.path, NULL);
	return STATUS_OK;
}

static int prune(struct backup_command *x, const char *path, struct err *err)
{
	struct push_result r = {0};
	int got;

	if (open_destination(x, path, err) < 0)
		return -err->num;
	if (!x->b || !x->b->number)
		return fail(err, ENOENT, "%s has no backup of this machine",
			    text_quote(path));
	if (x->o->dry_run)
		return prune_destination(x, err);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fail(err, ENOTTY,
			    "--prune deletes backups, so it needs a terminal; "
			    "-n shows what it would delete");
	if (passphrase_open_key(x->o->passphrase_file, &x->d, err) < 0 ||
	    context_store(x->c, STORE_READ, err) < 0)
		return -err->num;
	/* Later backups may need parts of packs that only old ones have. Where
	 * the disk is full, the deletion of old ones makes room for a new one.
	 */
	got = send_missing(x, true, &r, err);
	if (got == -ENOSPC || got == -EDQUOT)
		output_warn("%s", err->text);
	else if (got < 0)
		return got;
	return prune_destination(x, err);
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

/* --- */

static int load_backup_command(struct backup_command *x, struct err *err)
{
	const struct state *state = &x->c->state;

	return settings_load(state, &x->settings, err) < 0
		       ? -err->num
		       : backups_load(state, &x->known, err);
}

static void backup_command_free(struct backup_command *x)
{
	close_destination(x);
	json_decref(x->array);
	settings_free(&x->settings);
	backups_free(&x->known);
}

/* A line for another directory, as after a typing error, is never used. */
static void warn_of_unused_commands(const struct backup_command *x)
{
	size_t i;

	for (i = 0; i < x->settings.backup_commands.count; i++) {
		const char *dir = x->settings.backup_commands.items[i].dir;
		struct err ignored;
		auto_free char *path = path_resolve(dir, &ignored);

		if (*dir && !(path && backups_find(&x->known, path)))
			output_warn("backup-command %s: it is no destination "
				    "of backups, and the command is not used",
				    text_quote(dir));
	}
}

int cmd_backup(const struct options *o, struct context *c, struct err *err)
{
	AUTO(backup_command)
	struct backup_command x = {.o = o, .c = c, .d = DESTINATION_NONE};
	auto_free char *path = NULL;
	int got;

	if (o->count ? !*o->operands[0]
		     : o->every || o->forget || o->prune || o->sheet)
		return options_usage_error(o, "name the directory");
	if (o->count)
		path = path_resolve(o->operands[0], err);
	if ((o->count && !path) || load_backup_command(&x, err) < 0)
		return -err->num;
	x.array = o->json ? json_array() : NULL;
	got = run_backup_verb(&x, path, err);
	warn_of_unused_commands(&x);
	if (x.array && (got >= 0 || json_array_size(x.array)))
		jsonstream_print_list("guard.backup/1", "destinations",
				      TAKE(x.array));
	if (got < 0)
		return got;
	return output_finish() && !got ? STATUS_OK : STATUS_REFUSED;
}

/* The process that runs on after the command. */
static void back_up_in_background(void)
{
	const struct options none = {0};
	struct context c = CONTEXT_NONE;
	struct backup_command x = {.o = &none, .c = &c, .d = DESTINATION_NONE};
	struct err err;

	if (background_enter("guard-backup", NULL, 0) == 0 &&
	    context_open(&c, false, &err) == 0 &&
	    load_backup_command(&x, &err) == 0 && x.settings.backups)
		(void)back_up_list(&x, x.settings.backups, &err);
	_exit(0);
}

void cmd_backup_start(void)
{
	AUTO(settings) struct settings settings = {0};
	struct state state;
	struct err ignored;

	if (state_open(&state, &ignored) < 0)
		return;
	/* Stamped before: what fails is not tried again after every run. */
	if (settings_load(&state, &settings, &ignored) == 0 &&
	    settings.backups && access(state.store_path, F_OK) == 0 &&
	    state_is_due(&state, STAMP, INTERVAL)) {
		(void)fflush(NULL);
		if (fork() == 0)
			back_up_in_background();
	}
	state_close(&state);
}
