#include "snapshot/tree/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sorted.h"
#include "base/atomic.h"
#include "base/auto.h"
#include "base/boot.h"
#include "base/codec.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "base/sorted.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/ring.h"
#include "snapshot/store/store_dir.h"

/* --- the file --- */

/*
 * The encoding of a snapshot's file:
 *
 * 	file   = "GUARDSN1" version body check
 * 	version = u16                       ; 1; 2: with more; 3: with more, and
 * 	                                    ; chattr in the root entry; 4: with
 * 	                                    ; that, and origin
 * 	check  = u64                        ; XXH3-64 of all before it
 * 	body   = seq parent time boot_id uid reason run_id command message
 * 	         root_path root_dev files dirs bytes root notes
 * 	         [more]                     ; from version 2 on
 * 	         [origin]                   ; from version 4 on
 * 	more   = texts texts                ; tags, excludes
 * 	origin = 16*byte text               ; see origin.h; the host's name
 * 	texts  = count *text
 * 	time   = svar var                   ; seconds, nanoseconds
 * 	root   = u8 [entry]                 ; 0: there was none; 1: see entry.c
 * 	notes  = count *( kind path text )  ; sorted by path
 *
 * Numbers are var, texts var *byte, u16 and u64 little-endian.
 */
#define FILE_MAGIC "GUARDSN1"
#define FILE_MAGIC_LEN 8
#define FILE_VERSION_MORE 2
#define FILE_VERSION 4
/* Largest number of tags or excludes; a longer list is damaged. */
#define TEXTS_MAX 10000

static void encode_texts(char *const *texts, struct buf *to)
{
	size_t count = 0, i;

	while (texts && texts[count])
		count++;
	enc_var(to, count);
	for (i = 0; i < count; i++)
		enc_text(to, texts[i]);
}

static void snapfile_encode(const struct snapshot *s, struct buf *to)
{
	size_t i;

	buf_add(to, FILE_MAGIC, FILE_MAGIC_LEN);
	enc_u16(to, FILE_VERSION);
	enc_var(to, s->seq);
	enc_var(to, s->parent);
	enc_svar(to, s->time.sec);
	enc_var(to, s->time.nsec);
	enc_text(to, s->boot_id);
	enc_var(to, s->uid);
	enc_text(to, s->reason);
	enc_text(to, s->run_id);
	enc_text(to, s->command);
	enc_text(to, s->message);
	enc_text(to, s->root_path);
	enc_var(to, s->root_dev);
	enc_var(to, s->files);
	enc_var(to, s->dirs);
	enc_var(to, s->bytes);
	enc_u8(to, s->root.mode != 0);
	if (s->root.mode)
		entry_encode(to, &s->root);
	enc_var(to, s->note_count);
	for (i = 0; i < s->note_count; i++) {
		enc_var(to, s->notes[i].kind);
		enc_text(to, s->notes[i].path);
		enc_text(to, s->notes[i].text);
	}
	encode_texts(s->tags, to);
	encode_texts(s->excludes, to);
	buf_add(to, s->origin, sizeof(s->origin));
	enc_text(to, s->host ? s->host : "");
	enc_u64(to, hash_check(to->data, to->len));
}

static char **decode_texts(struct dec *d)
{
	uint64_t count = dec_var(d), i;
	char **texts;

	if (count > TEXTS_MAX)
		d->bad = true;
	if (d->bad || !count)
		return NULL;
	texts = mem_zalloc((count + 1) * sizeof(*texts));
	for (i = 0; i < count && !d->bad; i++)
		texts[i] = dec_text(d);
	return texts;
}

static void decode_snapshot_body(struct dec *d, unsigned int version,
				 struct snapshot *s)
{
	auto_free char *boot_id = NULL;
	const unsigned char *origin;
	uint8_t has_root;
	uint64_t count;

	s->seq = dec_var(d);
	s->parent = dec_var(d);
	s->time.sec = dec_svar(d);
	s->time.nsec = (uint32_t)dec_var(d);
	boot_id = dec_text(d);
	(void)snprintf(s->boot_id, sizeof(s->boot_id), "%s", boot_id);
	s->uid = (uint32_t)dec_var(d);
	s->reason = dec_text(d);
	s->run_id = dec_text(d);
	s->command = dec_text(d);
	s->message = dec_text(d);
	s->root_path = dec_text(d);
	s->root_dev = dec_var(d);
	s->files = dec_var(d);
	s->dirs = dec_var(d);
	s->bytes = dec_var(d);
	has_root = dec_u8(d);
	if (has_root > 1 || s->time.nsec > 999999999)
		d->bad = true;
	if (has_root)
		(void)entry_decode(d, true, &s->root);
	for (count = dec_var(d); count && !d->bad; count--) {
		uint64_t kind = dec_var(d);
		struct note n = {.path = dec_text(d), .text = dec_text(d)};
		size_t last = s->note_count;

		if ((kind != NOTE_INCOMPLETE && kind != NOTE_MOVED) ||
		    !path_ok(n.path) ||
		    (last && path_compare(s->notes[last - 1].path, n.path) > 0))
			d->bad = true;
		n.kind = (enum note_kind)kind;
		GROW(s->notes, s->note_count, s->note_capacity);
		s->notes[s->note_count++] = n;
	}
	if (version >= FILE_VERSION_MORE) {
		s->tags = decode_texts(d);
		s->excludes = decode_texts(d);
	}
	if (version >= FILE_VERSION) {
		origin = dec_raw(d, ORIGIN_LEN);
		if (origin)
			memcpy(s->origin, origin, ORIGIN_LEN);
		s->host = dec_text(d);
		/* A snapshot of an earlier version that was written again. */
		if (s->host && !*s->host) {
			free(s->host);
			s->host = NULL;
		}
	}
}

static int snapfile_decode(const struct buf *bytes, uint64_t seq,
			   struct snapshot *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct dec d = dec_start(bytes->data, bytes->len);
	const unsigned char *magic = dec_raw(&d, FILE_MAGIC_LEN);
	unsigned int version = dec_u16(&d);
	struct dec tail;

	if (!magic || memcmp(magic, FILE_MAGIC, FILE_MAGIC_LEN) != 0 || d.bad ||
	    d.end - d.at < 8)
		return fail(err, EBADMSG, "not a snapshot file");
	d.end -= 8;
	tail = dec_start(d.end, 8);
	if (dec_u64(&tail) != hash_check(bytes->data, bytes->len - 8))
		return fail(err, EBADMSG, "damaged (checksum mismatch)");
	if (version > FILE_VERSION)
		return fail(
			err, EPROTO,
			"written by a newer guard (format %u): update guard",
			version);
	decode_snapshot_body(&d, version, &s);
	if (!dec_end(&d) || s.seq != seq)
		return fail(err, EBADMSG, "damaged");
	*ret = TAKE(s);
	return 0;
}

void snapshot_copy(struct snapshot *to, const struct snapshot *from)
{
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;

	snapfile_encode(from, &bytes);
	if (snapfile_decode(&bytes, from->seq, to, &ignored) < 0)
		abort();
}

const char *snapshot_label(const struct snapshot *s)
{
	return s->seq ? text_printf("snapshot %" PRIu64, s->seq)
		      : text_quote(s->message);
}

/* --- notes --- */

/* Index of the first note whose path is not before the given one. */
static size_t first_note_from(const struct snapshot *s, const char *path)
{
	return INDEX_BY_PATH(path, s->notes, s->note_count, path);
}

static bool has_note_at(const struct snapshot *s, enum note_kind kind,
			const char *path)
{
	size_t at = first_note_from(s, path);

	for (; at < s->note_count && strcmp(s->notes[at].path, path) == 0; at++)
		if (s->notes[at].kind == kind)
			return true;
	return false;
}

void snapshot_add_note(struct snapshot *s, enum note_kind kind,
		       const char *path, const char *text)
{
	size_t at;

	if (has_note_at(s, kind, path))
		return;
	at = first_note_from(s, path);
	GROW(s->notes, s->note_count, s->note_capacity);
	memmove(&s->notes[at + 1], &s->notes[at],
		(s->note_count - at) * sizeof(*s->notes));
	s->note_count++;
	s->notes[at] = (struct note){
		.kind = kind,
		.path = mem_strdup(path),
		.text = mem_strdup(text ? text : ""),
	};
}

/* Cuts the last part off; false at the root. */
static bool cut_last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (!*path)
		return false;
	*(slash ? slash : path) = '\0';
	return true;
}

bool snapshot_has_note(const struct snapshot *s, enum note_kind kind,
		       const char *path)
{
	auto_free char *at = mem_strdup(path);

	if (!s->note_count)
		return false;
	do {
		if (has_note_at(s, kind, at))
			return true;
	} while (cut_last_part(at));
	return false;
}

bool snapshot_moved(const struct snapshot *s, const char *path, bool in_tree)
{
	auto_free char *at = mem_strdup(path);
	bool marked, below_marked = false;

	if (!s->note_count)
		return false;
	if (has_note_at(s, NOTE_MOVED, at))
		return true;
	if (!in_tree && cut_last_part(at) && has_note_at(s, NOTE_MOVED, at))
		return true;
	while (cut_last_part(at)) {
		marked = has_note_at(s, NOTE_MOVED, at);
		if (marked && below_marked)
			return true;
		below_marked = marked;
	}
	return false;
}

int snapshot_covers_path(struct store *store, const struct snapshot *s,
			 const char *path, struct err *err)
{
	const char *rest = path_rest(path, s->root_path);
	auto_free char *at = mem_strdup(rest);

	if (!(s->root.flags & ENTRY_INCOMPLETE))
		return 1;
	for (;; (void)cut_last_part(at)) {
		AUTO(entry) struct entry e = {0};
		int got = tree_lookup(store, &s->root, at, &e, err);

		if (got < 0 || (got && strcmp(at, rest) == 0))
			return got;
		if (got)
			return !(e.flags & ENTRY_INCOMPLETE);
	}
}

bool snapshot_of_run(const struct snapshot *s)
{
	return strcmp(s->reason, "post-run") == 0 ||
	       strcmp(s->reason, "during-run") == 0 || snapshot_is_hidden(s);
}

bool snapshot_is_hidden(const struct snapshot *s)
{
	return strcmp(s->reason, APPLIED_BASE) == 0 ||
	       strcmp(s->reason, CATALOG_TIMELINE) == 0;
}

char **snapshot_copy_texts(const char *const *texts)
{
	char **copy = NULL;
	size_t i;

	for (i = 0; texts && texts[i]; i++)
		mem_list_add(&copy, texts[i]);
	return copy;
}

bool snapshot_is_exclusion(const struct note *n)
{
	return strncmp(n->text, NOTE_EXCLUSION, strlen(NOTE_EXCLUSION)) == 0;
}

const char *snapshot_purge_note(const struct snapshot *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->note_count; i++)
		if (path_below(path, s->notes[i].path) &&
		    strncmp(s->notes[i].text, NOTE_PURGED,
			    strlen(NOTE_PURGED)) == 0)
			return s->notes[i].text;
	return NULL;
}

/* --- snaps/ --- */

/* Digits and a newline. */
#define HIGHEST_SEQ_LEN 20
#define SEQ_MAX UINT32_MAX
/* Room for a million notes of long paths; a larger file is not a snapshot. */
#define FILE_LEN_MAX (256u << 20)
#define SUFFIX ".gsn"

void snapshot_free(struct snapshot *s)
{
	size_t i;

	mem_list_free(&s->tags);
	mem_list_free(&s->excludes);
	for (i = 0; i < s->note_count; i++) {
		free(s->notes[i].path);
		free(s->notes[i].text);
	}
	free(s->notes);
	free(s->reason);
	free(s->run_id);
	free(s->command);
	free(s->message);
	free(s->root_path);
	free(s->host);
	entry_free(&s->root);
	*s = (struct snapshot){0};
}

void catalog_file_name(char name[32], uint64_t seq)
{
	(void)snprintf(name, 32, "%010" PRIu64 SUFFIX, seq);
}

uint64_t catalog_file_seq(const char *name)
{
	uint64_t seq = strtoull(name, NULL, 10);
	char same[32];

	catalog_file_name(same, seq);
	return seq <= INT64_MAX && strcmp(name, same) == 0 ? seq : 0;
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
	qsort(seqs, count, sizeof(*seqs), sorted_compare_numbers);
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
			    "no such snapshot: %" PRIu64
			    "; `guard log --all` lists all snapshots",
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

int catalog_load_version(struct store *store, uint64_t seq,
			 struct snapshot *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};

	if (catalog_load(store, seq, &s, err) < 0)
		return -err->num;
	if (strcmp(s.reason, CATALOG_TIMELINE) == 0)
		return fail(err, EINVAL,
			    "%" PRIu64 " is no snapshot of files: it has the "
			    "versions during run %s",
			    seq, s.run_id);
	*ret = TAKE(s);
	return 0;
}

uint64_t catalog_highest_seq(struct store *store)
{
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	unsigned long seq;

	if (fd_slurp_at(store_root_fd(store), "commit.lock", HIGHEST_SEQ_LEN,
			&text, &ignored) < 0 ||
	    text.len != HIGHEST_SEQ_LEN ||
	    text.data[HIGHEST_SEQ_LEN - 1] != '\n')
		return 0;
	text.len--;
	return parse_number(buf_text(&text), SEQ_MAX, &seq) == 0 ? seq : 0;
}

/* Whether the number in the commit lock's file was written since the machine
 * started: a power cut may lose it. */
static bool is_highest_seq_fresh(struct store *store)
{
	struct stat st;

	return fstatat(store_root_fd(store), "commit.lock", &st,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtime >
		       timestamp_now().sec - timestamp_boot_ns() / TIMESTAMP_NS;
}

int catalog_newest(struct store *store, uint64_t *ret, struct err *err)
{
	auto_close int fd = store_open_subdir(store, "snaps", err);
	uint64_t seq = catalog_highest_seq(store);
	auto_free uint64_t *seqs = NULL;
	char name[32];
	size_t count;

	if (fd < 0)
		return fd;
	if (!seq || !is_highest_seq_fresh(store)) {
		if (catalog_list(store, &seqs, &count, err) < 0)
			return -err->num;
		if (count && seqs[count - 1] > seq)
			seq = seqs[count - 1];
	}
	/* A process may be killed between its snapshot and the number. */
	for (;;) {
		catalog_file_name(name, seq + 1);
		if (!fd_exists(fd, name))
			break;
		seq++;
	}
	*ret = seq;
	return 0;
}

void catalog_drop_changed_paths(struct store *store)
{
	(void)unlinkat(store_root_fd(store), CATALOG_CHANGED_PATHS, 0);
}

/* Adds the snapshot's file to the set, first written in tmp/. new: its number
 * must be free. */
static int put_snapshot_file(int tmp_fd, int snaps_fd, const struct snapshot *s,
			     bool new, struct atomic_set *to, struct err *err)
{
	char temp[LOCK_TEMP_LEN], name[32];
	AUTO(buf) struct buf bytes = {0};
	int fd;

	catalog_file_name(name, s->seq);
	fd = lock_create_temp(tmp_fd, "snap", temp, NULL, err);
	if (fd < 0)
		return fd;
	atomic_set_adopt(to, fd, tmp_fd, temp, snaps_fd, name, new);
	snapfile_encode(s, &bytes);
	if (bytes.len > FILE_LEN_MAX)
		return fail(err, EFBIG,
			    "the notes about %zu unreadable or moved paths do "
			    "not fit in the snapshot",
			    s->note_count);
	if (fd_write(fd, bytes.data, bytes.len) < 0)
		return fail_errno(err, "write a snapshot file");
	return 0;
}

/* Caller holds the commit lock. -EEXIST: another process took the number. */
static int add_snapshot_as_next(struct store *store, int snaps_fd,
				struct snapshot *s, catalog_with with,
				void *arg, struct err *err)
{
	auto_close int tmp_fd = store_open_subdir(store, "tmp", err);
	AUTO(atomic_set) struct atomic_set set = {0};

	/* A number is never given twice, even when its snapshot's file is gone.
	 */
	if (tmp_fd < 0 || catalog_newest(store, &s->seq, err) < 0)
		return -err->num;
	s->seq++;
	if (put_snapshot_file(tmp_fd, snaps_fd, s, true, &set, err) < 0 ||
	    (with && with(arg, s, &set, err) < 0) ||
	    atomic_set_sync(&set, ring_sync_files, err) < 0)
		return err_context(err, "store a snapshot");
	/* The packs get their names before the snapshot that refers to them.
	 * The disk received the bytes of both at the same time. */
	if (store_flush_locked(store, err) < 0)
		return -err->num;
	return atomic_set_publish(&set, ring_sync_files, err) < 0
		       ? err_context(err, "store a snapshot")
		       : 0;
}

int catalog_replace(struct store *store, const struct snapshot *s,
		    struct err *err)
{
	auto_close int snaps_fd = -1, tmp_fd = -1;
	AUTO(atomic_set) struct atomic_set set = {0};
	int lock, got;

	if (store_flush(store, err) < 0)
		return -err->num;
	snaps_fd = store_open_subdir(store, "snaps", err);
	if (snaps_fd < 0)
		return snaps_fd;
	tmp_fd = store_open_subdir(store, "tmp", err);
	if (tmp_fd < 0)
		return tmp_fd;
	lock = store_commit_begin(store, err);
	if (lock < 0)
		return lock;
	got = put_snapshot_file(tmp_fd, snaps_fd, s, false, &set, err);
	if (got == 0) {
		catalog_drop_changed_paths(store);
		got = atomic_set_publish(&set, NULL, err);
	}
	store_commit_end(store, lock);
	return got;
}

/* A snapshot without an origin is better than none. */
static void set_origin(struct store *store, struct snapshot *s)
{
	char host[HOST_NAME_MAX + 1] = "";
	struct err ignored;

	(void)gethostname(host, sizeof(host) - 1);
	free(s->host);
	s->host = mem_strdup(host);
	if (origin_get(store_root_fd(store), s->origin, &ignored) < 0)
		memset(s->origin, 0, sizeof(s->origin));
}

int catalog_add_with(struct store *store, struct snapshot *s, catalog_with with,
		     void *arg, struct err *err)
{
	char text[HIGHEST_SEQ_LEN + 1];
	auto_close int snaps_fd = -1;
	uint64_t seq = s->seq;
	int lock, got = store_flush_begin(store, err);

	if (got < 0)
		return got;
	if (!*s->boot_id)
		(void)snprintf(s->boot_id, sizeof(s->boot_id), "%s", boot_id());
	snaps_fd = store_open_subdir(store, "snaps", err);
	lock = snaps_fd < 0 ? snaps_fd : store_commit_begin(store, err);
	if (lock < 0) {
		store_flush_end(store);
		return lock;
	}
	set_origin(store, s);
	do
		got = add_snapshot_as_next(store, snaps_fd, s, with, arg, err);
	while (got == -EEXIST);
	/* The commit lock's file holds the highest number. The number is
	 * written when the snapshot is durable and is not synced: it only has
	 * to outlive the deletion of the newest snapshot's file. */
	if (got == 0) {
		(void)snprintf(text, sizeof(text), "%019" PRIu64 "\n", s->seq);
		(void)fd_pwrite(lock, text, HIGHEST_SEQ_LEN, 0);
	} else {
		s->seq = seq;
	}
	store_commit_end(store, lock);
	store_flush_end(store);
	return got;
}

int catalog_add(struct store *store, struct snapshot *s, struct err *err)
{
	return catalog_add_with(store, s, NULL, NULL, err);
}
