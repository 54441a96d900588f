#include "restore/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"

#define MAGIC "GUARDJNL"
#define MAGIC_LEN 8
#define VERSION 4
#define VERSION_TABLE 4
#define VERSION_CHATTR 3
#define VERSION_ONE_ROOT 1
#define STATE_AT 9
#define CHECK_AT 10
#define HEAD_LEN 18 /* magic, version, state, checksum */
#define BODY_AT 26 /* the body's length comes before it */
#define TABLE_HEAD 8
#define JOURNAL_MAX (1u << 30)
#define ROOTS_MAX 64

struct step *journal_op_own(struct op *op)
{
	op->own = mem_zalloc(sizeof(*op->own));
	op->from = &op->own->from;
	op->to = &op->own->to;
	return op->own;
}

void journal_op_free(struct op *op)
{
	if (op->own)
		plan_step_free(op->own);
	free(op->own);
}

void journal_free(struct journal *j)
{
	size_t i, k;

	for (i = 0; i < j->roots.count; i++) {
		struct journal_root *r = &j->roots.items[i];

		for (k = 0; k < r->ops.count; k++)
			journal_op_free(&r->ops.items[k]);
		for (k = 0; k < r->parent_mtimes.count; k++)
			free(r->parent_mtimes.items[k].path);
		free(r->ops.items);
		free(r->parent_mtimes.items);
		free(r->path);
		free(r->staging);
	}
	free(j->roots.items);
	free(j->action);
	free(j->run_id);
	*j = (struct journal){0};
}

void journal_op_name(const struct journal_root *j, const struct op *op,
		     char *ret)
{
	(void)snprintf(ret, JOURNAL_OP_NAME_LEN, "%c%zu",
		       op->kind == OP_DELETE ? 'd' : 'n',
		       (size_t)(op - j->ops.items));
}

/* FNV-1a: detects damage, not an attack. */
static uint64_t journal_checksum(const unsigned char *data, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ data[i]) * 0x100000001b3;
	return h;
}

static void encode_journal_time(struct buf *b, struct timestamp m)
{
	enc_svar(b, m.sec);
	enc_var(b, m.nsec);
}

static struct timestamp decode_journal_time(struct dec *d)
{
	struct timestamp m = {.sec = dec_svar(d)};
	uint64_t nsec = dec_var(d);

	if (nsec >= 1000000000)
		d->bad = true;
	m.nsec = (uint32_t)nsec;
	return m;
}

static void put_oid(struct buf *b, const struct oid *id)
{
	enc_u8(b, id->type);
	if (id->type == OBJECT_NONE)
		return;
	buf_add(b, id->hash, sizeof(id->hash));
	enc_var(b, id->len);
	enc_u16(b, id->ord);
}

static struct oid get_oid(struct dec *d)
{
	struct oid id = {.type = dec_u8(d)};
	const unsigned char *hash;

	if (id.type == OBJECT_NONE)
		return id;
	hash = dec_raw(d, sizeof(id.hash));
	if (hash)
		memcpy(id.hash, hash, sizeof(id.hash));
	id.len = dec_var(d);
	id.ord = dec_u16(d);
	return id;
}

static void put_entry(struct buf *b, const struct entry *e)
{
	enc_var(b, e->mode);
	if (!e->mode)
		return;
	enc_var(b, e->uid);
	enc_var(b, e->gid);
	encode_journal_time(b, e->mtime);
	enc_var(b, e->size);
	enc_var(b, e->rdev);
	put_oid(b, &e->content);
	put_oid(b, &e->attrs);
	enc_text(b, e->link);
	enc_var(b, e->link_group);
	enc_var(b, e->chattr);
}

static struct entry get_entry(struct dec *d, int version)
{
	struct entry e = {.mode = (uint32_t)dec_var(d)};

	if (!e.mode)
		return e;
	e.uid = (uint32_t)dec_var(d);
	e.gid = (uint32_t)dec_var(d);
	e.mtime = decode_journal_time(d);
	e.size = dec_var(d);
	e.rdev = dec_var(d);
	e.content = get_oid(d);
	e.attrs = get_oid(d);
	e.link = dec_text(d);
	e.link_group = dec_var(d);
	if (version >= VERSION_CHATTR)
		e.chattr = (uint32_t)dec_var(d);
	e.name = mem_strdup("");
	if (!*e.link) {
		free(e.link);
		e.link = NULL;
	}
	return e;
}

static char *get_path(struct dec *d)
{
	char *path = dec_text(d);

	if (!path_ok(path))
		d->bad = true;
	return path;
}

/* root = path before staging root-time-set root-time count *parent-mtime count
 * *op */
static void encode_root(const struct journal_root *j, struct buf *b)
{
	size_t i;

	enc_text(b, j->path);
	enc_var(b, j->before);
	enc_text(b, j->staging);
	enc_u8(b, j->root_time_set);
	encode_journal_time(b, j->root_time);
	enc_var(b, j->parent_mtimes.count);
	for (i = 0; i < j->parent_mtimes.count; i++) {
		enc_text(b, j->parent_mtimes.items[i].path);
		encode_journal_time(b, j->parent_mtimes.items[i].mtime);
		enc_u8(b, j->parent_mtimes.items[i].keep);
	}
	enc_var(b, j->ops.count);
	for (i = 0; i < j->ops.count; i++) {
		enc_u8(b, (uint8_t)j->ops.items[i].kind);
		enc_text(b, j->ops.items[i].path);
		put_entry(b, j->ops.items[i].from);
		put_entry(b, j->ops.items[i].to);
		enc_var(b, j->ops.items[i].old_ino);
	}
}

/* Decodes a root from behind its path. */
static void decode_root(struct dec *d, int version, struct journal_root *j)
{
	uint64_t count, i;

	j->before = dec_var(d);
	j->staging = dec_text(d);
	j->root_time_set = dec_u8(d);
	j->root_time = decode_journal_time(d);
	count = dec_var(d);
	for (i = 0; i < count && !d->bad; i++) {
		struct parent_mtime *t = VEC_ADD(&j->parent_mtimes);

		*t = (struct parent_mtime){.path = get_path(d)};
		t->mtime = decode_journal_time(d);
		t->keep = dec_u8(d);
	}
	count = dec_var(d);
	for (i = 0; i < count && !d->bad; i++) {
		struct step *own;
		struct op *op = VEC_ADD(&j->ops);

		*op = (struct op){.kind = dec_u8(d)};
		own = journal_op_own(op);
		op->path = own->path = get_path(d);
		own->from = get_entry(d, version);
		own->to = get_entry(d, version);
		op->old_ino = dec_var(d);
		if (version < VERSION_TABLE)
			op->new_ino = dec_var(d);
		if (op->kind < OP_DELETE || op->kind > OP_META ||
		    (op->kind == OP_DELETE ? !op->from->mode : !op->to->mode))
			d->bad = true;
	}
	if (strncmp(j->staging, STAGING_PREFIX, strlen(STAGING_PREFIX)) != 0 ||
	    !path_name_ok(j->staging, strlen(j->staging)))
		d->bad = true;
}

struct journal_root *journal_add_root(struct journal *j, const char *path)
{
	struct journal_root *root = VEC_ADD(&j->roots);

	*root = (struct journal_root){.path = mem_strdup(path)};
	return root;
}

static void decode_journal_body(struct dec *d, int version, struct journal *j)
{
	uint64_t count = 1, i;

	j->action = dec_text(d);
	j->run_id = dec_text(d);
	if (version == VERSION_ONE_ROOT)
		decode_root(d, version, journal_add_root(j, ""));
	else
		count = dec_var(d);
	if (!count || count > ROOTS_MAX)
		d->bad = true;
	for (i = j->roots.count; i < count && !d->bad; i++) {
		auto_free char *path = dec_text(d);

		if (*path && *path != '/')
			d->bad = true;
		decode_root(d, version, journal_add_root(j, path));
	}
}

static size_t count_ops(const struct journal *j)
{
	size_t count = 0, i;

	for (i = 0; i < j->roots.count; i++)
		count += j->roots.items[i].ops.count;
	return count;
}

/* data: the bytes behind version, state and checksum. */
static bool decode_journal(const void *data, size_t len, int version,
			   uint64_t check, struct journal *j)
{
	struct dec d = dec_start(data, len), body = d, table;
	size_t i, k;

	if (version >= VERSION_TABLE) {
		len = dec_u64(&d);
		data = dec_raw(&d, len);
		if (!data)
			return false;
		body = dec_start(data, len);
	}
	decode_journal_body(&body, version, j);
	if (!dec_end(&body) || check != journal_checksum(data, len))
		return false;
	if (version < VERSION_TABLE)
		return true;
	len = count_ops(j) * 8;
	check = dec_u64(&d);
	data = dec_raw(&d, len);
	/* Before state "prepared" the table is meaningless and may be half
	 * written. */
	if (!data || j->state == JOURNAL_STAGING)
		return dec_end(&d);
	table = dec_start(data, len);
	for (i = 0; i < j->roots.count; i++)
		for (k = 0; k < j->roots.items[i].ops.count; k++)
			j->roots.items[i].ops.items[k].new_ino =
				dec_u64(&table);
	return check == journal_checksum(data, len) && dec_end(&d);
}

/* Writes a number into a gap that was left for it. */
static void fill_in(struct buf *b, size_t at, uint64_t number)
{
	AUTO(buf) struct buf bytes = {0};

	enc_u64(&bytes, number);
	memcpy(b->data + at, bytes.data, bytes.len);
}

int journal_add_to_set(int workspace_fd, const struct journal *j,
		       struct atomic_set *to, struct err *err)
{
	AUTO(buf) struct buf whole = {0};
	size_t table = TABLE_HEAD + count_ops(j) * 8, len, i;

	buf_add(&whole, MAGIC, MAGIC_LEN);
	enc_u8(&whole, VERSION);
	enc_u8(&whole, (uint8_t)j->state);
	enc_u64(&whole, 0);
	enc_u64(&whole, 0);
	/* body = action run-id count *root */
	enc_text(&whole, j->action);
	enc_text(&whole, j->run_id);
	enc_var(&whole, j->roots.count);
	for (i = 0; i < j->roots.count; i++)
		encode_root(&j->roots.items[i], &whole);
	len = whole.len - BODY_AT;
	fill_in(&whole, CHECK_AT, journal_checksum(whole.data + BODY_AT, len));
	fill_in(&whole, HEAD_LEN, len);
	/* Reserves the table's space now: overwriting bytes later allocates no
	 * disk block, so it cannot fail on a full disk. */
	memset(buf_reserve(&whole, table), 0, table);
	whole.len += table;
	return atomic_set_write(to, workspace_fd, JOURNAL_NAME, whole.data,
				whole.len, 0600, err);
}

static int open_journal(int workspace_fd, struct err *err)
{
	int fd = openat(workspace_fd, JOURNAL_NAME,
			O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? fail_errno(err, "open the journal") : fd;
}

int journal_write_table(int workspace_fd, const struct journal *j,
			struct err *err)
{
	auto_close int fd = open_journal(workspace_fd, err);
	AUTO(buf) struct buf inodes = {0}, table = {0};
	struct stat st;
	size_t i, k;

	if (fd < 0)
		return fd;
	/* table = checksum *new-inode, for each operation in order */
	for (i = 0; i < j->roots.count; i++)
		for (k = 0; k < j->roots.items[i].ops.count; k++)
			enc_u64(&inodes,
				j->roots.items[i].ops.items[k].new_ino);
	enc_u64(&table, journal_checksum(inodes.data, inodes.len));
	buf_add(&table, inodes.data, inodes.len);
	if (fstat(fd, &st) < 0)
		return fail_errno(err, "stat the journal");
	if (fd_pwrite(fd, table.data, table.len,
		      st.st_size - (off_t)table.len) < 0)
		return fail_errno(err, "write the journal");
	return 0;
}

int journal_sync(int workspace_fd, struct err *err)
{
	auto_close int fd = open_journal(workspace_fd, err);

	if (fd < 0)
		return fd;
	return fdatasync(fd) < 0 ? fail_errno(err, "write the journal") : 0;
}

int journal_set_state(int workspace_fd, struct journal *j,
		      enum journal_state state, struct err *err)
{
	auto_close int fd = open_journal(workspace_fd, err);
	unsigned char byte = (unsigned char)state;

	if (fd < 0)
		return fd;
	if (fd_pwrite(fd, &byte, 1, STATE_AT) < 0 || fdatasync(fd) < 0)
		return fail_errno(err, "write the journal");
	j->state = state;
	return 0;
}

int journal_load_from(int workspace_fd, const char *name, struct journal *ret,
		      struct err *err)
{
	AUTO(journal) struct journal j = {0};
	AUTO(buf) struct buf b = {0};
	struct dec d;

	if (fd_slurp_at(workspace_fd, name, JOURNAL_MAX, &b, err) < 0)
		return -err->num;
	if (b.len < HEAD_LEN || memcmp(b.data, MAGIC, MAGIC_LEN) != 0)
		return fail(err, EBADMSG, "the journal is damaged");
	if (b.data[MAGIC_LEN] > VERSION)
		return fail(err, EPROTO,
			    "the journal was written by a newer guard: finish "
			    "the action with that version");
	j.state = b.data[STATE_AT];
	d = dec_start(b.data + STATE_AT + 1, 8);
	if (!b.data[MAGIC_LEN] ||
	    (j.state != JOURNAL_STAGING && j.state != JOURNAL_PREPARED &&
	     j.state != JOURNAL_ROLLBACK && j.state != JOURNAL_DONE) ||
	    !decode_journal(b.data + HEAD_LEN, b.len - HEAD_LEN,
			    b.data[MAGIC_LEN], dec_u64(&d), &j))
		return fail(err, EBADMSG, "the journal is damaged");
	*ret = TAKE(j);
	return 0;
}

int journal_load(int workspace_fd, struct journal *ret, struct err *err)
{
	return journal_load_from(workspace_fd, JOURNAL_NAME, ret, err);
}

int journal_remove(int workspace_fd, struct err *err)
{
	if (unlinkat(workspace_fd, JOURNAL_NAME, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "remove the journal");
	return 0;
}

#define JOINED "joined"
#define JOINED_VERSION 1

int journal_join_write(int workspace_fd, const char *first, struct err *err)
{
	AUTO(record) struct record r = {0};

	record_set(&r, "first", first);
	return record_save(workspace_fd, JOINED, JOINED, JOINED_VERSION, &r,
			   ATOMIC_DURABLE, err);
}

char *journal_join_first(int workspace_fd)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	if (record_load(workspace_fd, JOINED, JOINED, JOINED_VERSION, &r,
			&ignored) < 0)
		return NULL;
	return mem_strdup(record_get(&r, "first"));
}

void journal_join_drop(int workspace_fd)
{
	(void)unlinkat(workspace_fd, JOINED, 0);
}

int journal_orphan_set(int workspace_fd, struct err *err)
{
	if (renameat(workspace_fd, JOURNAL_NAME, workspace_fd, JOURNAL_ORPHAN) <
	    0)
		return fail_errno(err, "rename the journal");
	return 0;
}

bool journal_orphan_exists(int workspace_fd)
{
	return fd_exists(workspace_fd, JOURNAL_ORPHAN);
}

bool journal_orphan_is_available(int workspace_fd, const char *project_path)
{
	AUTO(journal) struct journal j = {0};
	struct err ignored;
	size_t i;

	if (!journal_orphan_exists(workspace_fd) ||
	    journal_load_from(workspace_fd, JOURNAL_ORPHAN, &j, &ignored) < 0)
		return false;
	for (i = 0; i < j.roots.count; i++) {
		const struct journal_root *r = &j.roots.items[i];
		auto_free char *staging = path_join(
			*r->path ? r->path : project_path, r->staging);
		struct stat st;

		if (lstat(staging, &st) == 0 && S_ISDIR(st.st_mode))
			return true;
	}
	return false;
}

int journal_orphan_adopt(int workspace_fd, const char *project_path,
			 struct err *err)
{
	if (!journal_orphan_is_available(workspace_fd, project_path))
		return 0;
	if (renameat2(workspace_fd, JOURNAL_ORPHAN, workspace_fd, JOURNAL_NAME,
		      RENAME_NOREPLACE) == 0)
		return 1;
	if (errno == EEXIST)
		return 0;
	return fail_errno(err, "rename a journal that was set aside");
}
