#include "snapshot/tree/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/boot.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "snapshot/store/ring.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/snapfile.h"

/* Digits and a newline. */
#define HIGHEST_SEQ_LEN 20
#define SEQ_MAX UINT32_MAX
#define TEMP_LEN 32
/* Room for a million notes of long paths; a larger file is not a snapshot. */
#define FILE_LEN_MAX (256u << 20)
#define SUFFIX ".gsn"

static void free_note(struct note *n)
{
	free(n->path);
	free(n->text);
}

void snapshot_free(struct snapshot *s)
{
	size_t i;

	mem_list_free(&s->tags);
	mem_list_free(&s->excludes);

	for (i = 0; i < s->note_count; i++)
		free_note(&s->notes[i]);
	free(s->notes);
	free(s->reason);
	free(s->run_id);
	free(s->command);
	free(s->message);
	free(s->root_path);
	entry_free(&s->root);
	*s = (struct snapshot){0};
}

void catalog_file_name(char name[32], uint64_t seq)
{
	(void)snprintf(name, 32, "%010" PRIu64 SUFFIX, seq);
}

/* The sequence number in a file's name; 0 for any other name. */
uint64_t catalog_file_seq(const char *name)
{
	char again[32];
	uint64_t seq = 0;
	size_t i;

	for (i = 0; name[i] >= '0' && name[i] <= '9' && i < 19; i++)
		seq = seq * 10 + (uint64_t)(name[i] - '0');
	catalog_file_name(again, seq);
	return strcmp(again, name) == 0 ? seq : 0;
}

static int compare_seqs(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return p < q ? -1 : p > q;
}

int catalog_list(struct store *store, uint64_t **ret, size_t *ret_count,
		 struct err *err)
{
	auto_close int fd = store_open_subdir(store, "snaps", err);
	AUTO(dirlist) struct dirlist list = {0};
	uint64_t *seqs;
	size_t count = 0, i;

	if (fd < 0 || dirlist_read(fd, &list, err) < 0)
		return -err->num;
	seqs = mem_resize(NULL, list.count, sizeof(*seqs));
	for (i = 0; i < list.count; i++) {
		seqs[count] = catalog_file_seq(list.items[i].name);
		count += seqs[count] != 0;
	}
	qsort(seqs, count, sizeof(*seqs), compare_seqs);
	*ret = seqs;
	*ret_count = count;
	return 0;
}

int catalog_load_from(int dir_fd, uint64_t seq, struct snapshot *ret,
		      struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	char name[32];
	int got;

	catalog_file_name(name, seq);
	got = fd_slurp_at(dir_fd, name, FILE_LEN_MAX, &bytes, err);
	if (got == -ENOENT)
		return fail(err, ENOENT,
			    "there is no snapshot %" PRIu64
			    ": `guard log --all` lists them",
			    seq);
	if (got == 0)
		got = snapfile_decode(&bytes, seq, ret, err);
	return got < 0 ? err_context(err, "snapshot %" PRIu64 " (%s)", seq,
				     name)
		       : 0;
}

int catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
		 struct err *err)
{
	auto_close int fd = store_open_subdir(store, "snaps", err);

	return fd < 0 ? fd : catalog_load_from(fd, seq, ret, err);
}

/*
 * Creates a locked file in tmp/. Another process deletes files there that no
 * process has locked. When that happened before the lock was taken, the file
 * has no name any more and is created again. No name is used twice: a process
 * that clears tmp/ deletes by name and may have opened a file of that name
 * earlier.
 */
static int create_temp_snapshot(int tmp_fd, char temp[TEMP_LEN],
				struct err *err)
{
	uint64_t random;
	struct stat st;
	int fd, got;

	for (;;) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return fail_errno(err, "random bytes");
		(void)snprintf(temp, TEMP_LEN, "snap-%016" PRIx64 ".tmp",
			       random);
		fd = openat(tmp_fd, temp,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0400);
		if (fd < 0)
			return fail_errno(err, "create a snapshot's file");
		got = flock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
		if (!got && fstat(fd, &st) == 0 && st.st_nlink == 1)
			return fd;
		if (got && got != EWOULDBLOCK) {
			(void)fail_num(err, got, "lock a snapshot's file");
			(void)close(fd);
			(void)unlinkat(tmp_fd, temp, 0);
			return -err->num;
		}
		(void)close(fd);
	}
}

static int write_temp_snapshot(int fd, const struct snapshot *s,
			       struct err *err)
{
	AUTO(buf) struct buf bytes = {0};

	snapfile_encode(s, &bytes);
	if (bytes.len > FILE_LEN_MAX)
		return fail(err, EFBIG,
			    "too many paths could not be kept (%zu)",
			    s->note_count);
	if (fd_write(fd, bytes.data, bytes.len) < 0)
		return fail_errno(err, "write a snapshot's file");
	return 0;
}

/* The commit lock's file holds the highest number. The number is written when
 * the snapshot is durable and is not synced: it only has to outlive the
 * deletion of the newest snapshot's file. */
static void save_highest_seq(int lock, uint64_t seq)
{
	char text[HIGHEST_SEQ_LEN + 1];

	(void)snprintf(text, sizeof(text), "%019" PRIu64 "\n", seq);
	(void)fd_pwrite(lock, text, HIGHEST_SEQ_LEN, 0);
}

uint64_t catalog_highest_seq(struct store *store)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	uint64_t seq = 0;
	size_t i;

	if (fd_slurp_at(store_root_fd(store), "commit.lock", HIGHEST_SEQ_LEN,
			&text, &ignored) < 0 ||
	    text.len != HIGHEST_SEQ_LEN ||
	    text.data[HIGHEST_SEQ_LEN - 1] != '\n')
		return 0;
	for (i = 0; i < HIGHEST_SEQ_LEN - 1; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return 0;
		seq = seq * 10 + (uint64_t)(text.data[i] - '0');
	}
	return seq <= SEQ_MAX ? seq : 0;
}

/* A number is never given twice, even when its snapshot's file is gone. */
static int next_seq(struct store *store, uint64_t *ret, struct err *err)
{
	uint64_t mark = catalog_highest_seq(store);
	auto_free uint64_t *seqs = NULL;
	size_t count;

	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	*ret = count ? seqs[count - 1] + 1 : 1;
	if (*ret <= mark)
		*ret = mark + 1;
	return 0;
}

static int sync_files_at_once(const int *fds, size_t count, struct err *err)
{
	return ring_sync_files(fds, count, false, err);
}

/* Caller holds the commit lock. -EEXIST: another process took the number. */
static int add_snapshot_as_next(struct store *store, int snaps_fd,
				struct snapshot *s, catalog_with with,
				void *arg, struct err *err)
{
	auto_close int tmp_fd = store_open_subdir(store, "tmp", err);
	AUTO(atomic_set) struct atomic_set set = {0};
	char temp[TEMP_LEN], name[32];
	int fd;

	if (tmp_fd < 0 || next_seq(store, &s->seq, err) < 0)
		return -err->num;
	catalog_file_name(name, s->seq);
	fd = create_temp_snapshot(tmp_fd, temp, err);
	if (fd < 0)
		return fd;
	atomic_set_adopt(&set, fd, tmp_fd, temp, snaps_fd, name);
	if (write_temp_snapshot(fd, s, err) < 0 ||
	    (with && with(arg, s, &set, err) < 0) ||
	    atomic_set_sync(&set, sync_files_at_once, err) < 0)
		return err_context(err, "keep a snapshot");
	/* The packs get their names before the snapshot that refers to them.
	 * The disk received the bytes of both at the same time. */
	if (store_flush_locked(store, err) < 0)
		return -err->num;
	return atomic_set_publish(&set, sync_files_at_once, err) < 0
		       ? err_context(err, "keep a snapshot")
		       : 0;
}

/* Caller holds the commit lock. */
static int add_snapshot_locked(struct store *store, int snaps_fd, int lock,
			       struct snapshot *s, catalog_with with, void *arg,
			       struct err *err)
{
	int got;

	do
		got = add_snapshot_as_next(store, snaps_fd, s, with, arg, err);
	while (got == -EEXIST);
	if (got == 0)
		save_highest_seq(lock, s->seq);
	return got;
}

/* Caller holds the commit lock. */
static int replace_snapshot_locked(struct store *store, int snaps_fd,
				   const struct snapshot *s, struct err *err)
{
	char temp[TEMP_LEN], name[32];
	auto_close int tmp_fd = store_open_subdir(store, "tmp", err);
	auto_close int fd = -1;

	if (tmp_fd < 0)
		return tmp_fd;
	catalog_file_name(name, s->seq);
	fd = create_temp_snapshot(tmp_fd, temp, err);
	if (fd < 0 || write_temp_snapshot(fd, s, err) < 0)
		return -err->num;
	if (fdatasync(fd) < 0 || renameat(tmp_fd, temp, snaps_fd, name) < 0)
		return fail_errno(err, "put a snapshot's file into snaps/");
	return atomic_sync_dir(snaps_fd, err);
}

int catalog_replace(struct store *store, const struct snapshot *s,
		    struct err *err)
{
	auto_close int snaps_fd = -1;
	int lock, got;

	if (store_flush(store, err) < 0)
		return -err->num;
	snaps_fd = store_open_subdir(store, "snaps", err);
	if (snaps_fd < 0)
		return snaps_fd;
	lock = store_commit_begin(store, err);
	if (lock < 0)
		return lock;
	got = replace_snapshot_locked(store, snaps_fd, s, err);
	store_commit_end(store, lock);
	return got;
}

static int add_after_flush(struct store *store, struct snapshot *s,
			   catalog_with with, void *arg, struct err *err)
{
	auto_close int snaps_fd = store_open_subdir(store, "snaps", err);
	int lock, got;

	if (snaps_fd < 0)
		return snaps_fd;
	if (!*s->boot_id)
		(void)snprintf(s->boot_id, sizeof(s->boot_id), "%s", boot_id());
	lock = store_commit_begin(store, err);
	if (lock < 0)
		return lock;
	got = add_snapshot_locked(store, snaps_fd, lock, s, with, arg, err);
	store_commit_end(store, lock);
	return got;
}

int catalog_add_with(struct store *store, struct snapshot *s, catalog_with with,
		     void *arg, struct err *err)
{
	uint64_t seq = s->seq;
	int got = store_flush_begin(store, err);

	if (got < 0)
		return got;
	got = add_after_flush(store, s, with, arg, err);
	store_flush_end(store);
	if (got < 0)
		s->seq = seq;
	return got;
}

int catalog_add(struct store *store, struct snapshot *s, struct err *err)
{
	return catalog_add_with(store, s, NULL, NULL, err);
}
