#include "snapshot/backup/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/copybytes.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#define TEMP_MARK ".tmp-"
#define TEMP_RANDOM 8 /* bytes, in hex digits behind it */
#define TEMP_AGE (24 * 60 * 60) /* seconds */
#define FILE_MODE 0444
#define CREATE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define HASH_DIGITS ((size_t)2 * SEAL_HASH_LEN)
/* The content of the file of destination_try(). */
#define TRY_TEXT "guard\n"

/* --- errors --- */

static const char *way_out(const struct destination *d, int num)
{
	switch (num) {
	case ENOSPC:
	case EDQUOT:
		return d->has_backups
			       ? text_printf("free space there, or delete old "
					     "backups: guard backup --prune %s",
					     text_shell(d->path))
			       : "free space there";
	case EROFS:
		return "it is read-only: mount it for writing";
	case EACCES:
	case EPERM:
		return text_printf("see its owner, mode and flags: "
				   "ls -ld %s; lsattr -d %s",
				   text_shell(d->path), text_shell(d->path));
	case EIO:
	case ENODEV:
	case ENXIO:
	case ENOTCONN:
	case ESTALE:
	case ESHUTDOWN:
	case ETIMEDOUT:
	case EHOSTDOWN:
	case EHOSTUNREACH:
		return "see that the disk or the server is there, mount it "
		       "again, and repeat the command";
	case EXDEV:
		return "another file system is mounted below it: unmount it";
	default:
		return NULL;
	}
}

int destination_explain(const struct destination *d, struct err *err)
{
	auto_free char *text = mem_strdup(err->text);
	const char *way = way_out(d, err->num);

	return err_set_at(err, err->num, err->file, err->line,
			  "destination %s: %s%s%s", text_quote(d->path), text,
			  way ? "; " : "", way ? way : "");
}

bool destination_is_damage(int got)
{
	return got == -EBADMSG || got == -ENOENT || got == -EIO ||
	       got == -EINVAL || got == -ELOOP || got == -ENOTDIR ||
	       got == -EACCES;
}

/* --- the directory --- */

int destination_open(const char *path, struct destination *ret, struct err *err)
{
	struct destination d = DESTINATION_NONE;
	auto_free char *full = path_resolve(path, err);

	if (!full)
		return err_context(err, "destination %s", text_quote(path));
	d.path = full;
	d.fd = RETRY_ENOENT(open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (d.fd < 0 && errno == ENOENT)
		return fail(err, ENOENT,
			    "destination %s does not exist; mount its disk, or "
			    "create it: mkdir -p %s",
			    text_quote(full), text_shell(full));
	if (d.fd < 0 && errno == ENOTDIR)
		return fail(err, ENOTDIR,
			    "destination %s is not a directory; name one",
			    text_quote(full));
	if (d.fd < 0) {
		(void)fail_errno(err, "open the directory");
		return destination_explain(&d, err);
	}
	*ret = d;
	full = NULL;
	return 0;
}

void destination_free(struct destination *d)
{
	fd_close(&d->fd);
	free(d->path);
	buf_free(&d->keyfile);
	mem_list_free(&d->swept);
	explicit_bzero(d->key, sizeof(d->key));
	*d = (struct destination)DESTINATION_NONE;
}

static int open_dir(const struct destination *d, const char *dir,
		    struct err *err)
{
	return beneath_open(d->fd, dir, O_RDONLY | O_DIRECTORY, 0, err);
}

/* Opens a directory. It is created where it is missing, with those above. */
static int make_dir(const struct destination *d, const char *dir,
		    struct err *err)
{
	int fd = open_dir(d, dir, err);
	auto_free char *parent = path_parent(dir);
	auto_close int above = -1;

	if (fd != -ENOENT || !*dir)
		return fd;
	above = make_dir(d, parent, err);
	if (above < 0)
		return above;
	if (mkdirat(above, path_name(dir), 0755) < 0 && errno != EEXIST)
		return fail_errno(err, "create directory %s", text_quote(dir));
	if (atomic_sync_dir(above, err) < 0)
		return -err->num;
	return open_dir(d, dir, err);
}

/* --- writing --- */

/* Only guard's own: the directory may have other files of the user. */
static bool is_temp(const char *name)
{
	unsigned char random[TEMP_RANDOM];

	return strncmp(name, TEMP_MARK, strlen(TEMP_MARK)) == 0 &&
	       text_unhex(random, name + strlen(TEMP_MARK), sizeof(random));
}

/* Killed processes leave such files. A younger one may be another machine's, in
 * use. */
static void remove_old_temps(int dir_fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	struct stat st;
	size_t i;

	if (dirlist_read(dir_fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;

		if (is_temp(name) &&
		    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime < time(NULL) - TEMP_AGE)
			(void)unlinkat(dir_fd, name, 0);
	}
}

/* A file without a name (O_TMPFILE) leaves nothing when the process is killed,
 * and gets its name by link(2), which chattr +a allows. */
static int create_file(struct destination *d, int dir_fd, const char *dir,
		       char **ret_temp)
{
	unsigned char random[TEMP_RANDOM];
	int fd = d->no_renames
			 ? memfd_create("guard-backup", MFD_CLOEXEC)
			 : openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
				  FILE_MODE);

	if (fd >= 0 || d->no_renames)
		return fd;
	if (mem_list_add_once(&d->swept, dir))
		remove_old_temps(dir_fd);
	mem_random(random, sizeof(random));
	*ret_temp =
		mem_printf(TEMP_MARK "%s", text_hex(random, sizeof(random)));
	fd = openat(dir_fd, *ret_temp, CREATE_FLAGS, FILE_MODE);
	if (fd < 0)
		free(TAKE(*ret_temp));
	return fd;
}

int destination_begin(struct destination *d, const char *dir,
		      struct atomic_file *ret, struct err *err)
{
	auto_close int dir_fd = make_dir(d, dir, err);
	struct atomic_file f = ATOMIC_FILE_NONE;

	if (dir_fd < 0)
		return destination_explain(d, err);
	f.fd = create_file(d, dir_fd, dir, &f.temp);
	if (f.fd < 0) {
		(void)fail_errno(err, "create a file in %s",
				 text_quote(*dir ? dir : "."));
		return destination_explain(d, err);
	}
	f.dirfd = TAKE_FD(dir_fd);
	*ret = f;
	return 0;
}

void destination_file_free(struct atomic_file *f)
{
	int dir_fd = f->dirfd;

	atomic_file_free(f);
	fd_close(&dir_fd);
}

/* Whether the errno of atomic_publish() is that of a directory whose files keep
 * their names. ENOENT: /proc is missing. */
static bool refuses_names(int num)
{
	return num == EPERM || num == EACCES || num == EOPNOTSUPP ||
	       num == ENOSYS || num == EINVAL || num == ENOENT;
}

/* Writes the bytes again, under the final name at once. */
static int copy_to_name(const struct atomic_file *f, const char *name,
			struct err *err)
{
	auto_close int from = fd_reopen(f->fd, O_RDONLY), to = -1;
	struct stat st;
	int got;

	if (from < 0 || fstat(from, &st) < 0)
		return fail_errno(err, "read the temporary file of %s",
				  text_quote(name));
	to = openat(f->dirfd, name, CREATE_FLAGS, FILE_MODE);
	if (to < 0)
		return fail_errno(err, "create %s", text_quote(name));
	got = copybytes(from, to, st.st_size, NULL, NULL, err);
	if (got == 0 && fsync(to) < 0)
		got = fail_errno(err, "write %s", text_quote(name));
	if (got == 0)
		return atomic_sync_dir(f->dirfd, err);
	/* Where it stays, its bytes do not match its name. */
	(void)unlinkat(f->dirfd, name, 0);
	return got;
}

bool destination_is_hashed(const char *name)
{
	unsigned char hash[SEAL_HASH_LEN];
	size_t len = strlen(name);

	return len >= HASH_DIGITS &&
	       text_unhex(hash, name + len - HASH_DIGITS, sizeof(hash));
}

int destination_publish(struct destination *d, struct atomic_file *f,
			const char *name, struct err *err)
{
	int got = d->no_renames ? 0 : atomic_publish(f, name, err);

	if (d->no_renames || refuses_names(-got)) {
		got = copy_to_name(f, name, err);
		d->no_renames |= got == 0;
	}
	if (got == -EEXIST && destination_is_hashed(name))
		got = atomic_sync_dir(f->dirfd, err);
	return got < 0 ? destination_explain(d, err) : 0;
}

/* --- reading --- */

int destination_read(const struct destination *d, const char *path,
		     struct err *err)
{
	auto_close int fd =
		beneath_open(d->fd, path, O_RDONLY | O_NONBLOCK, 0, err);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) < 0)
		(void)fail_errno(err, "read %s", text_quote(path));
	else if (fd == -ELOOP || fd == -ENXIO ||
		 (fd >= 0 && !S_ISREG(st.st_mode)))
		(void)fail(err, EBADMSG, "%s is no regular file",
			   text_quote(path));
	else if (fd >= 0)
		return TAKE_FD(fd);
	return destination_explain(d, err);
}

int destination_list(const struct destination *d, const char *dir,
		     struct dirlist *ret, struct err *err)
{
	auto_close int fd = open_dir(d, dir, err);

	return fd == -ENOENT || (fd >= 0 && dirlist_read(fd, ret, err) == 0)
		       ? 0
		       : destination_explain(d, err);
}

int destination_delete(const struct destination *d, const char *path,
		       struct err *err)
{
	const char *last;
	auto_close int above = beneath_parent(d->fd, path, &last, err);

	if (above == -ENOENT)
		return 0;
	if (above >= 0 && (unlinkat(above, last, 0) == 0 || errno == ENOENT))
		return 0;
	if (above >= 0)
		(void)fail_errno(err, "delete %s", text_quote(path));
	return destination_explain(d, err);
}

/* --- promises --- */

static int make_try_file(const struct destination *d, struct err *err)
{
	auto_close int fd = openat(d->fd, DESTINATION_TRY, CREATE_FLAGS, 0644);
	struct statvfs fs;

	/* All files of a read-only file system look locked. */
	if (fd < 0 && errno == EEXIST && fstatvfs(d->fd, &fs) == 0 &&
	    fs.f_flag & ST_RDONLY)
		errno = EROFS;
	if (fd < 0 && errno == EEXIST)
		return 0; /* an earlier try could not delete it */
	if (fd < 0 || fd_write(fd, TRY_TEXT, strlen(TRY_TEXT)) < 0 ||
	    fsync(fd) < 0) {
		(void)fail_errno(err, "create %s", text_quote(DESTINATION_TRY));
		return destination_explain(d, err);
	}
	return 0;
}

/* Whether the file can be opened so and takes a byte. A file system of a server
 * may refuse only the write. */
static bool takes_byte(const struct destination *d, int flags)
{
	auto_close int fd =
		openat(d->fd, DESTINATION_TRY,
		       O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);

	return fd >= 0 && fd_write(fd, TRY_TEXT, 1) == 0 && fsync(fd) == 0;
}

int destination_try(struct destination *d, enum destination_promise *ret,
		    struct err *err)
{
	if (make_try_file(d, err) < 0)
		return -err->num;
	(void)!fchmodat(d->fd, DESTINATION_TRY, 0644, 0);
	if (unlinkat(d->fd, DESTINATION_TRY, 0) == 0 || errno == EISDIR)
		*ret = DESTINATION_PLAIN;
	else if (takes_byte(d, 0))
		*ret = DESTINATION_OVERWRITABLE;
	else
		*ret = takes_byte(d, O_APPEND) ? DESTINATION_APPEND_ONLY
					       : DESTINATION_LOCKED;
	return 0;
}
