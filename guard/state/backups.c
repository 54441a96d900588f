#include "guard/state/backups.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/record.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"

#define BACKUPS "backups"
#define KEY "key"
/* A check of the key follows it. */
#define KEY_LEN (SEAL_KEY_LEN + 8)
#define RECORD "record"
#define RECORD_KIND "backup"
#define SUCCESS "success"
#define UNSENT "unsent"
#define TAKEN "taken"
#define TAKEN_MAX ((size_t)256 << 20)
/* Two slots are less than 1 KiB. */
#define KEYFILE_MAX ((size_t)64 << 10)

/* --- the known destinations --- */

void backups_free(struct backups *b)
{
	size_t i;

	for (i = 0; i < b->count; i++) {
		fd_close(&b->items[i].dir);
		free(b->items[i].path);
		free(b->items[i].failure);
		buf_free(&b->items[i].keyfile);
		explicit_bzero(b->items[i].key, SEAL_KEY_LEN);
	}
	VEC_FREE(b);
}

/* The name of its directory, in the state. */
static char *backup_dir_name(const unsigned char id[KEYFILE_ID_LEN])
{
	return mem_printf(BACKUPS "/%s", text_hex(id, KEYFILE_ID_LEN));
}

/* False: missing or damaged. Nothing may be sealed with a damaged key. */
static bool load_key(int dir, unsigned char ret[SEAL_KEY_LEN])
{
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;

	if (fd_slurp_at(dir, KEY, KEY_LEN, &bytes, &ignored) < 0 ||
	    bytes.len != KEY_LEN ||
	    get_le(bytes.data + SEAL_KEY_LEN, 8) !=
		    hash_check(bytes.data, SEAL_KEY_LEN))
		return false;
	memcpy(ret, bytes.data, SEAL_KEY_LEN);
	explicit_bzero(bytes.data, KEY_LEN);
	return true;
}

/* 0: there is no such file. */
static int64_t load_mtime(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mtime
								 : 0;
}

static void load_backup(int backups_fd, const char *name, struct backups *to)
{
	auto_close int dir = fd_open_dir(backups_fd, name);
	AUTO(record) struct record r = {0};
	struct backup b = {0};
	const char *path, *space;
	struct err ignored;

	if (dir < 0 || !text_unhex(b.id, name, sizeof(b.id)) ||
	    record_load(dir, RECORD, RECORD_KIND, 1, &r, &ignored) < 0)
		return;
	path = record_get(&r, "path");
	space = record_get(&r, "space");
	if (!path || path[0] != '/')
		return;
	b.path = mem_strdup(path);
	b.has_key = load_key(dir, b.key);
	(void)fd_slurp_at(dir, KEYFILE_NAME, KEYFILE_MAX, &b.keyfile, &ignored);
	if (space && manifest_space_parse(space, b.space))
		b.number = (uint64_t)record_get_int(&r, "number");
	b.failure = mem_strdup(record_get(&r, "failure"));
	b.time = load_mtime(dir, SUCCESS);
	b.unsent = load_mtime(dir, UNSENT);
	b.untried = record_get(&r, "sheet") != NULL;
	b.dir = TAKE_FD(dir);
	*VEC_ADD(to) = b;
}

int backups_load(const struct state *state, struct backups *ret,
		 struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(state->fd, BACKUPS);
	auto_free char *snaps = NULL;
	int64_t changed;
	size_t i;

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "%s/" BACKUPS, state->path);
	if (dirlist_read(fd, &list, err) < 0)
		return -err->num;
	snaps = path_join(state->store_path, "snaps");
	changed = load_mtime(AT_FDCWD, snaps);
	for (i = 0; i < list.count; i++)
		load_backup(fd, list.items[i].name, ret);
	for (i = 0; i < ret->count; i++)
		ret->items[i].changed = changed > ret->items[i].time;
	return 0;
}

struct backup *backups_find(const struct backups *b, const char *path)
{
	size_t i;

	for (i = 0; i < b->count; i++)
		if (strcmp(b->items[i].path, path) == 0)
			return &b->items[i];
	return NULL;
}

struct backup *backups_find_id(const struct backups *b,
			       const unsigned char id[KEYFILE_ID_LEN])
{
	size_t i;

	for (i = 0; i < b->count; i++)
		if (b->items[i].has_key &&
		    memcmp(b->items[i].id, id, KEYFILE_ID_LEN) == 0)
			return &b->items[i];
	return NULL;
}

static const char *const keyfile_names[] = {KEYFILE_NAME, KEYFILE_SECOND};

/* Reads one of the two files. */
static int read_one_keyfile(const struct destination *d, const char *name,
			    struct buf *ret,
			    unsigned char ret_id[KEYFILE_ID_LEN],
			    struct err *err)
{
	auto_close int fd = destination_read(d, name, err);

	buf_clear(ret);
	if (fd < 0)
		return fd;
	return fd_slurp(fd, KEYFILE_MAX, ret, err) < 0 ||
			       keyfile_read_id(ret, ret_id, err) < 0
		       ? err_context(err, "%s/%s", d->path, name)
		       : 0;
}

int backups_read_keyfile(struct destination *d, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keyfile_names); i++) {
		struct err why;

		if (read_one_keyfile(d, keyfile_names[i], &d->keyfile, d->id,
				     &why) == 0)
			return 0;
		/* The first one may be missing, and the second one damaged. */
		if (i == 0 || err->num == ENOENT)
			*err = why;
		if (why.num == EPROTO)
			break;
	}
	buf_clear(&d->keyfile);
	return -err->num;
}

int backups_check_keyfiles(const struct destination *d, struct err *err)
{
	unsigned char id[KEYFILE_ID_LEN];
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keyfile_names); i++)
		if (read_one_keyfile(d, keyfile_names[i], &bytes, id, err) < 0)
			return -err->num;
	return 0;
}

static int write_one_keyfile(struct destination *d, const char *name,
			     const struct buf *bytes, struct err *err)
{
	AUTO(destination_file) struct atomic_file f = ATOMIC_FILE_NONE;

	if (destination_begin(d, "", &f, err) < 0)
		return -err->num;
	if (fd_write(f.fd, bytes->data, bytes->len) < 0) {
		(void)fail_errno(err, "write %s", name);
		return destination_explain(d, err);
	}
	return destination_publish(d, &f, name, err);
}

int backups_write_keyfile(struct destination *d, const struct buf *bytes,
			  struct err *err)
{
	size_t i = ARRAY_SIZE(keyfile_names);

	while (i-- > 0) {
		const char *name = keyfile_names[i];
		AUTO(buf) struct buf present = {0};
		unsigned char id[KEYFILE_ID_LEN];
		int got = read_one_keyfile(d, name, &present, id, err);

		if (got == 0)
			continue;
		if (got == -EBADMSG)
			got = destination_delete(d, name, err);
		if ((got < 0 && got != -ENOENT) ||
		    write_one_keyfile(d, name, bytes, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Sets values of the record: pairs of a key and a value, NULL to remove the
 * key, up to a key that is NULL. Nothing is written when all of them are there.
 */
__attribute__((sentinel)) static int change_record(int dir, struct err *err,
						   ...)
{
	AUTO(record) struct record r = {0};
	AUTO(buf) struct buf before = {0}, after = {0};
	int got = record_load(dir, RECORD, RECORD_KIND, 1, &r, err);
	const char *key;
	va_list list;

	if (got < 0 && got != -ENOENT && got != -EBADMSG)
		return got;
	record_encode(&r, RECORD_KIND, 1, &before);
	va_start(list, err);
	while ((key = va_arg(list, const char *)))
		record_set(&r, key, va_arg(list, const char *));
	va_end(list);
	record_encode(&r, RECORD_KIND, 1, &after);
	return buf_same(&before, &after)
		       ? 0
		       : atomic_write(dir, RECORD, after.data, after.len, 0600,
				      ATOMIC_DURABLE, err);
}

int backups_remember(const struct state *state, const struct destination *d,
		     const unsigned char *space, uint64_t number,
		     struct err *err)
{
	unsigned char bytes[KEY_LEN];
	auto_free char *name = backup_dir_name(d->id);
	auto_free char *text =
		space ? manifest_space_path(space, SEAL_ROOT) : NULL;
	auto_close int dir = -1;
	int got;

	(void)mkdirat(state->fd, BACKUPS, 0700);
	(void)mkdirat(state->fd, name, 0700);
	dir = fd_open_dir(state->fd, name);
	if (dir < 0)
		return fail_errno(err, "%s/%s", state->path, name);
	if (space)
		(void)unlinkat(dir, SUCCESS, 0);
	memcpy(bytes, d->key, SEAL_KEY_LEN);
	put_le(bytes + SEAL_KEY_LEN, hash_check(d->key, SEAL_KEY_LEN), 8);
	got = atomic_write(dir, KEYFILE_NAME, d->keyfile.data, d->keyfile.len,
			   0400, ATOMIC_DURABLE, err);
	if (got == 0)
		got = atomic_write(dir, KEY, bytes, KEY_LEN, 0400,
				   ATOMIC_DURABLE, err);
	explicit_bzero(bytes, KEY_LEN);
	return got < 0 ? got
		       : change_record(dir, err, "path", d->path,
				       space ? "space" : NULL, text, "number",
				       text_printf("%" PRIu64, number), NULL);
}

int backups_note_sheet(struct backup *b, bool untried, struct err *err)
{
	b->untried = untried;
	return change_record(b->dir, err, "sheet", untried ? "untried" : NULL,
			     NULL);
}

int backups_forget(const struct state *state, const struct backups *b,
		   const char *path, struct err *err)
{
	size_t i;

	for (i = 0; i < b->count; i++) {
		auto_free char *name = backup_dir_name(b->items[i].id);

		if (strcmp(b->items[i].path, path) == 0 &&
		    dirtree_remove(state->fd, name, err) < 0)
			return err_context(err, "%s", state->path);
	}
	return 0;
}

/* --- one backup --- */

/* The destination of this path whose files are there, though guard-copy is
 * not. */
static struct backup *find_by_files(const struct backups *b,
				    const struct destination *d)
{
	size_t i;

	for (i = 0; i < b->count; i++) {
		struct backup *item = &b->items[i];
		auto_free char *space =
			manifest_space_path(item->space, SEAL_ROOT);

		if (item->has_key && item->number && item->keyfile.len &&
		    fd_exists(d->fd, space))
			return item;
	}
	return NULL;
}

int backups_open(const struct backups *b, const char *path,
		 struct destination *ret_destination, struct backup **ret,
		 struct err *err)
{
	int got;

	if (destination_open(path, ret_destination, err) < 0 ||
	    seal_init(err) < 0)
		return -err->num;
	*ret = NULL;
	got = backups_read_keyfile(ret_destination, err);
	if (got == 0)
		*ret = backups_find_id(b, ret_destination->id);
	else if (got == -ENOENT || got == -EBADMSG)
		*ret = find_by_files(b, ret_destination);
	if (*ret && got < 0)
		buf_add(&ret_destination->keyfile, (*ret)->keyfile.data,
			(*ret)->keyfile.len);
	if (*ret) {
		memcpy(ret_destination->id, (*ret)->id, KEYFILE_ID_LEN);
		memcpy(ret_destination->key, (*ret)->key, SEAL_KEY_LEN);
	}
	if (*ret || got == 0)
		return 0;
	if (got == -ENOENT && backups_find(b, path))
		return fail(err, ENODEV,
			    "%s has no file " KEYFILE_NAME
			    ": mount its disk; to begin anew there, run guard "
			    "backup --forget %s first",
			    text_quote(path), text_shell(path));
	return got == -ENOENT ? 0 : got;
}

void backups_note_failure(const struct backup *b, const struct err *why)
{
	struct err ignored;
	auto_close int lock =
		lock_take(b->dir, PUSH_LOCK, true, false, &ignored);

	/* A backup that is running notes its own end. */
	if (lock >= 0)
		(void)change_record(b->dir, &ignored, "failure", why->text,
				    NULL);
}

/* The paths of all files of the namespace, the newest manifest last. */
static int list_all_paths(const struct destination *d,
			  const unsigned char space[SEAL_SPACE_LEN],
			  struct names *to, struct err *err)
{
	enum seal_kind kind;
	size_t i;

	names_add(to, KEYFILE_NAME);
	names_add(to, KEYFILE_SECOND);
	for (kind = SEAL_ROOT; kind <= SEAL_MANIFEST; kind++) {
		auto_free char *dir = manifest_space_path(space, kind);
		AUTO(dirlist) struct dirlist list = {0};

		if (destination_list(d, dir, &list, err) < 0)
			return -err->num;
		for (i = 0; i < list.count; i++)
			if (destination_is_hashed(list.items[i].name))
				*VEC_ADD(to) =
					path_join(dir, list.items[i].name);
	}
	return 0;
}

/* The paths that the command has taken. The first line is the command: another
 * one, which may carry them elsewhere, gets all. */
static int load_taken(int dir, const char *command, struct dirlist *ret,
		      struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	int got = fd_slurp_at(dir, TAKEN, TAKEN_MAX, &bytes, err);
	auto_free char *text = buf_take_text(&bytes);
	char *at = text, *line = strsep(&at, "\n");

	if (got < 0 || strcmp(line, command) != 0)
		return got == -ENOENT ? 0 : got;
	while ((line = strsep(&at, "\n")))
		dirlist_add(ret, line, strlen(line));
	dirlist_sort(ret);
	return 0;
}

/* Passes the paths in the file `unsent` to the command. -ECHILD: it failed. */
static int execute_command(int dir, const struct destination *d,
			   const char *command, struct err *err)
{
	auto_close int paths = openat(dir, UNSENT, O_RDONLY | O_CLOEXEC);
	pid_t pid;
	int status;

	if (paths < 0)
		return fail_errno(err, "open the list of files");
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (fchdir(d->fd) == 0 && dup2(paths, STDIN_FILENO) >= 0 &&
		    dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
		    setenv("GUARD_BACKUP_DIR", d->path, 1) == 0)
			(void)execl("/bin/sh", "sh", "-c", command,
				    (char *)NULL);
		_exit(127);
	}
	status = child_wait(pid);
	if (status == 0)
		return 0;
	return fail(
		err, ECHILD,
		"%s: backup-command failed (%s %d): the next backup "
		"passes these files to it again",
		text_quote(d->path), WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Lets the command take the files of the namespace that it has not taken. */
static int run_backup_command(int dir, const struct destination *d,
			      const unsigned char space[SEAL_SPACE_LEN],
			      const char *command, struct err *err)
{
	AUTO(dirlist) struct dirlist taken = {0};
	AUTO(names) struct names paths = {0};
	AUTO(buf) struct buf all = {0}, unsent = {0};
	size_t i;

	if (load_taken(dir, command, &taken, err) < 0 ||
	    list_all_paths(d, space, &paths, err) < 0)
		return -err->num;
	buf_printf(&all, "%s\n", command);
	for (i = 0; i < paths.count; i++) {
		buf_printf(&all, "%s\n", paths.items[i]);
		if (!dirlist_find(&taken, paths.items[i]))
			buf_printf(&unsent, "%s\n", paths.items[i]);
	}
	if (unsent.len && (atomic_write(dir, UNSENT, unsent.data, unsent.len,
					0600, ATOMIC_DURABLE, err) < 0 ||
			   execute_command(dir, d, command, err) < 0 ||
			   atomic_write(dir, TAKEN, all.data, all.len, 0600,
					ATOMIC_DURABLE, err) < 0))
		return -err->num;
	(void)unlinkat(dir, UNSENT, 0);
	return 0;
}

/* After a push. */
static int finish_backup(int dir, const struct destination *d,
			 const char *command, const struct push_result *pushed,
			 struct err *err)
{
	auto_free char *space = manifest_space_path(pushed->space, SEAL_ROOT);
	auto_close int success = -1;

	if (change_record(dir, err, "path", d->path, "space", space, "number",
			  text_printf("%" PRIu64, pushed->number), "failure",
			  NULL, NULL) < 0)
		return -err->num;
	if (command &&
	    run_backup_command(dir, d, pushed->space, command, err) < 0)
		return 1;
	if (!command) {
		(void)unlinkat(dir, TAKEN, 0);
		(void)unlinkat(dir, UNSENT, 0);
	}
	success = openat(dir, SUCCESS,
			 O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (success >= 0)
		(void)futimens(success, NULL);
	return 0;
}

int backups_send(const struct state *state, struct backup *b,
		 struct store *store, struct destination *d,
		 const char *command, const struct push_options *o,
		 struct push_result *ret, struct err *err)
{
	struct push_options options = *o;
	auto_close int lock = push_lock(b->dir, d, err);
	int got = 0;

	options.home = state->home;
	options.state_fd = state->fd;
	options.space = b->number ? b->space : NULL;
	/* A backup-command may never end. */
	if (lock == -EBUSY && o->busy && !fd_exists(b->dir, UNSENT)) {
		o->busy(o->arg, "another backup");
		lock = lock_take(b->dir, PUSH_LOCK, true, true, err);
	}
	if (lock < 0)
		return lock;
	/* guard-copy may have been lost there. */
	if (!o->dry_run)
		got = backups_write_keyfile(d, &d->keyfile, err);
	if (got == 0)
		got = push_store(store, d, b->dir, &options, ret, err);
	if (got < 0 || o->dry_run)
		return got;
	memcpy(b->space, ret->space, SEAL_SPACE_LEN);
	b->number = ret->number;
	return finish_backup(b->dir, d, command, ret, err);
}
