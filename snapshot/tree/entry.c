#include "snapshot/tree/entry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"

/* Longer than any link of the kernel (PATH_MAX with its NUL). */
#define LINK_LEN_MAX 4095

void entry_free(struct entry *e)
{
	free(e->name);
	free(e->link);
	*e = (struct entry){0};
}

void entry_copy(struct entry *to, const struct entry *from)
{
	*to = *from;
	to->name = mem_strdup(from->name);
	to->link = mem_strdup(from->link);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool entry_same_content(const struct entry *a, const struct entry *b)
{
	if ((a->mode & S_IFMT) != (b->mode & S_IFMT))
		return false;
	if (S_ISDIR(a->mode))
		return true;
	return oid_equal(&a->content, &b->content) && a->size == b->size &&
	       a->rdev == b->rdev && same_text(a->link, b->link);
}

bool entry_same_meta(const struct entry *a, const struct entry *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->chattr == b->chattr && oid_equal(&a->attrs, &b->attrs);
}

bool entry_same_state(const struct entry *a, const struct entry *b)
{
	if (!a || !b || !a->mode || !b->mode)
		return (!a || !a->mode) && (!b || !b->mode);
	return entry_same_content(a, b) && entry_same_meta(a, b);
}

struct meta entry_meta(const struct entry *e)
{
	return (struct meta){
		.mode = e->mode,
		.uid = e->uid,
		.gid = e->gid,
		.chattr = e->chattr,
		.nlink = 1,
		.size = e->size,
		.rdev = e->rdev,
		.mtime = e->mtime,
	};
}

bool entry_same_time(const struct entry *a, const struct entry *b)
{
	return timestamp_compare(a->mtime, b->mtime) == 0;
}

bool entry_equal(const struct entry *a, const struct entry *b)
{
	return entry_same_meta(a, b) && entry_same_content(a, b) &&
	       oid_equal(&a->content, &b->content) && a->flags == b->flags &&
	       timestamp_compare(a->mtime, b->mtime) == 0;
}

static bool oid_absent(const struct oid *id)
{
	return id->type == OBJECT_NONE;
}

static bool is_content_valid(const struct entry *e)
{
	uint8_t type = e->content.type;

	if (S_ISDIR(e->mode))
		return type == OBJECT_NONE || type == OBJECT_TREE;
	if (!S_ISREG(e->mode))
		return type == OBJECT_NONE;
	if (type == OBJECT_DATA)
		return e->content.len == e->size && e->size > 0;
	if (type == OBJECT_CHUNKLIST)
		return e->size > 0;
	/* A file that could not be read is not an empty file. */
	return type == OBJECT_NONE &&
	       (e->size == 0 || (e->flags & ENTRY_INCOMPLETE));
}

bool entry_ok(const struct entry *e, bool is_root)
{
	size_t link_len = e->link ? strlen(e->link) : 0;

	if (is_root ? e->name && *e->name
		    : !e->name || !path_name_ok(e->name, strlen(e->name)))
		return false;
	switch (e->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFIFO:
	case S_IFSOCK:
		if (e->rdev || e->link)
			return false;
		break;
	case S_IFCHR:
	case S_IFBLK:
		if (e->link)
			return false;
		break;
	case S_IFLNK:
		if (e->rdev || link_len > LINK_LEN_MAX ||
		    (!link_len && !(e->flags & ENTRY_INCOMPLETE)))
			return false;
		break;
	default:
		return false;
	}
	return e->mode <= 0177777 && e->mtime.nsec < 1000000000 &&
	       (S_ISREG(e->mode) || !e->size) && is_content_valid(e) &&
	       (S_ISREG(e->mode) || S_ISDIR(e->mode) || !e->chattr) &&
	       (oid_absent(&e->attrs) || e->attrs.type == OBJECT_ATTRSET) &&
	       !(e->flags & ~(uint32_t)ENTRY_INCOMPLETE);
}

/*
 * 	entry   = head name mode uid gid mtime
 * 	          [size] [content] [attrs] [link] [rdev] [group] [chattr]
 * 	head    = var                       ; which of the optional ones follow,
 * 	                                    ; and flags: see enum head
 * 	name    = var *byte                 ; length, 1-255 bytes; a root's: 0
 * 	mtime   = svar var                  ; seconds, nanoseconds
 * 	content, attrs = 16*16byte var var byte ; hash, length, ordinal, type
 * 	link    = var *byte
 *
 * var is LEB128 in its shortest form, svar the same after zigzag. An absent
 * field is 0 or none. An unknown bit of head makes the entry unreadable: its
 * meaning is never guessed.
 */
enum head {
	HEAD_SIZE = 1,
	HEAD_CONTENT = 2,
	HEAD_ATTRS = 4,
	HEAD_LINK = 8,
	HEAD_RDEV = 16,
	HEAD_GROUP = 32,
	HEAD_INCOMPLETE = 64,
	HEAD_CHATTR = 128, /* trees from version 2 on, snapshots from 3 on */
	HEAD_ALL = 255,
};

void entry_encode_oid(struct buf *to, const struct oid *id)
{
	buf_add(to, id->hash, sizeof(id->hash));
	enc_var(to, id->len);
	enc_var(to, id->ord);
	enc_u8(to, id->type);
}

void entry_encode(struct buf *to, const struct entry *e)
{
	unsigned int head =
		(e->size ? HEAD_SIZE : 0) |
		(oid_absent(&e->content) ? 0 : HEAD_CONTENT) |
		(oid_absent(&e->attrs) ? 0 : HEAD_ATTRS) |
		(e->link ? HEAD_LINK : 0) | (e->rdev ? HEAD_RDEV : 0) |
		(e->link_group ? HEAD_GROUP : 0) |
		(e->flags & ENTRY_INCOMPLETE ? HEAD_INCOMPLETE : 0) |
		(e->chattr ? HEAD_CHATTR : 0);

	enc_var(to, head);
	enc_text(to, e->name);
	enc_var(to, e->mode);
	enc_var(to, e->uid);
	enc_var(to, e->gid);
	enc_svar(to, e->mtime.sec);
	enc_var(to, e->mtime.nsec);
	if (head & HEAD_SIZE)
		enc_var(to, e->size);
	if (head & HEAD_CONTENT)
		entry_encode_oid(to, &e->content);
	if (head & HEAD_ATTRS)
		entry_encode_oid(to, &e->attrs);
	if (head & HEAD_LINK)
		enc_text(to, e->link);
	if (head & HEAD_RDEV)
		enc_var(to, e->rdev);
	if (head & HEAD_GROUP)
		enc_var(to, e->link_group);
	if (head & HEAD_CHATTR)
		enc_var(to, e->chattr);
}

void entry_encode_part(struct buf *to, const struct entry *part)
{
	enc_text(to, part->name);
	entry_encode_oid(to, &part->content);
}

static uint64_t decode_up_to(struct dec *d, uint64_t max)
{
	uint64_t v = dec_var(d);

	if (v > max)
		d->bad = true;
	return v;
}

/* A number that is encoded only when it is not 0. */
static uint64_t decode_text_or_null(struct dec *d)
{
	uint64_t v = dec_var(d);

	if (!v)
		d->bad = true;
	return v;
}

static void decode_oid(struct dec *d, struct oid *ret)
{
	const unsigned char *hash = dec_raw(d, sizeof(ret->hash));

	if (hash)
		memcpy(ret->hash, hash, sizeof(ret->hash));
	ret->len = dec_var(d);
	ret->ord = (uint16_t)decode_up_to(d, UINT16_MAX);
	ret->type = dec_u8(d);
	if (ret->type == OBJECT_NONE)
		d->bad = true; /* an absent field has no bit in head */
}

bool entry_decode(struct dec *d, bool is_root, struct entry *ret)
{
	AUTO(entry) struct entry e = {0};
	unsigned int head = (unsigned int)decode_up_to(d, HEAD_ALL);

	e.name = dec_text(d);
	e.mode = (uint32_t)decode_up_to(d, 0177777);
	e.uid = (uint32_t)decode_up_to(d, UINT32_MAX);
	e.gid = (uint32_t)decode_up_to(d, UINT32_MAX);
	e.mtime.sec = dec_svar(d);
	e.mtime.nsec = (uint32_t)decode_up_to(d, 999999999);
	if (head & HEAD_SIZE)
		e.size = decode_text_or_null(d);
	if (head & HEAD_CONTENT)
		decode_oid(d, &e.content);
	if (head & HEAD_ATTRS)
		decode_oid(d, &e.attrs);
	if (head & HEAD_LINK)
		e.link = dec_text(d);
	if (head & HEAD_RDEV)
		e.rdev = decode_text_or_null(d);
	if (head & HEAD_GROUP)
		e.link_group = decode_text_or_null(d);
	if (head & HEAD_INCOMPLETE)
		e.flags |= ENTRY_INCOMPLETE;
	if (head & HEAD_CHATTR)
		e.chattr = (uint32_t)decode_up_to(d, UINT32_MAX);
	if ((head & HEAD_CHATTR) && !e.chattr)
		d->bad = true;
	if (d->bad || !entry_ok(&e, is_root)) {
		d->bad = true;
		*ret = (struct entry){0};
		return false;
	}
	*ret = TAKE(e);
	return true;
}

bool entry_decode_part(struct dec *d, struct entry *ret)
{
	AUTO(entry) struct entry e = {.mode = S_IFDIR};

	e.name = dec_text(d);
	decode_oid(d, &e.content);
	if (d->bad || e.content.type != OBJECT_TREE || !entry_ok(&e, false)) {
		d->bad = true;
		*ret = (struct entry){0};
		return false;
	}
	*ret = TAKE(e);
	return true;
}
