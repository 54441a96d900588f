#include "snapshot/tree/snapfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/path.h"
#include "snapshot/store/hash.h"

#define FILE_MAGIC "GUARDSN1"
#define FILE_MAGIC_LEN 8
#define FILE_VERSION_MORE 2
#define FILE_VERSION 3
/* A snapshot without new fields is written in the oldest version, so that older
 * guards can read it. */
#define FILE_VERSION_PLAIN 1
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

void snapfile_encode(const struct snapshot *s, struct buf *to)
{
	unsigned int version = s->root.chattr		? FILE_VERSION
			       : s->tags || s->excludes ? FILE_VERSION_MORE
							: FILE_VERSION_PLAIN;
	size_t i;

	buf_add(to, FILE_MAGIC, FILE_MAGIC_LEN);
	enc_u16(to, (uint16_t)version);
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
	if (version >= FILE_VERSION_MORE) {
		encode_texts(s->tags, to);
		encode_texts(s->excludes, to);
	}
	enc_u64(to, hash_check(to->data, to->len));
}

static void decode_notes(struct dec *d, struct snapshot *s)
{
	uint64_t count = dec_var(d);

	while (count-- && !d->bad) {
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
	uint8_t has_root;

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
	decode_notes(d, s);
	if (version >= FILE_VERSION_MORE) {
		s->tags = decode_texts(d);
		s->excludes = decode_texts(d);
	}
}

int snapfile_decode(const struct buf *bytes, uint64_t seq, struct snapshot *ret,
		    struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct dec d = dec_start(bytes->data, bytes->len);
	const unsigned char *magic = dec_raw(&d, FILE_MAGIC_LEN);
	unsigned int version = dec_u16(&d);
	struct dec tail;

	if (!magic || memcmp(magic, FILE_MAGIC, FILE_MAGIC_LEN) != 0 || d.bad ||
	    d.end - d.at < 8)
		return fail(err, EBADMSG, "no file of a snapshot");
	d.end -= 8;
	tail = dec_start(d.end, 8);
	if (dec_u64(&tail) != hash_check(bytes->data, bytes->len - 8))
		return fail(err, EBADMSG, "damaged (its check does not fit)");
	if (version > FILE_VERSION)
		return fail(err, EPROTO,
			    "of version %u: written by a newer guard", version);
	decode_snapshot_body(&d, version, &s);
	if (!dec_end(&d) || s.seq != seq)
		return fail(err, EBADMSG, "damaged");
	*ret = s;
	s = (struct snapshot){0};
	return 0;
}
