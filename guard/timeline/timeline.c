#include "guard/timeline/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"

#define HEADER_LEN 12
#define RECORD_MAX (1u << 16)
#define FILE_MAX ((uint64_t)1 << 32)

const char *timeline_kind_name(enum timeline_kind kind)
{
	static const char *const names[] = {
		"",    "begin",	  "entry",   "opaque", "gone",	"none",
		"gap", "sampled", "thinned", "mark",   "alarm", "end",
	};

	return kind <= TIMELINE_END ? names[kind] : "";
}

/* --- format --- */

void timeline_encode(struct buf *to, const struct timeline_record *r)
{
	AUTO(buf) struct buf body = {0};

	enc_var(&body, r->number);
	enc_u8(&body, (uint8_t)r->kind);
	enc_svar(&body, r->time.sec);
	enc_var(&body, r->time.nsec);
	enc_svar(&body, r->boot_ns);
	enc_var(&body, r->root);
	enc_text(&body, r->path);
	enc_text(&body, r->text);
	enc_var(&body, r->mode);
	enc_var(&body, r->size);
	enc_svar(&body, r->mtime.sec);
	enc_var(&body, r->mtime.nsec);
	enc_var(&body, r->ino);
	enc_var(&body, r->content);
	enc_var(&body, r->uid);
	enc_var(&body, r->gid);
	enc_u32(to, (uint32_t)body.len);
	enc_u64(to, hash_check(body.data, body.len));
	buf_add(to, body.data, body.len);
}

/* The texts of a record stay in the file's bytes, each followed by the length
 * or number after it: a byte is moved down to make room for the NUL. */
static const char *decode_text(struct buf *bytes, struct dec *d)
{
	size_t len;
	const unsigned char *from = dec_bytes(d, &len);
	unsigned char *at;

	if (!from || !len)
		return "";
	if (memchr(from, '\0', len)) {
		d->bad = true;
		return "";
	}
	/* The last byte of the length is before the text, and read. */
	at = bytes->data + (from - bytes->data);
	memmove(at - 1, at, len);
	at[len - 1] = '\0';
	return (const char *)at - 1;
}

static bool decode_body(struct buf *bytes, struct dec *d,
			struct timeline_record *r)
{
	r->number = dec_var(d);
	r->kind = dec_u8(d);
	r->time.sec = dec_svar(d);
	r->time.nsec = (uint32_t)dec_var(d);
	r->boot_ns = dec_svar(d);
	r->root = dec_var(d);
	r->path = decode_text(bytes, d);
	r->text = decode_text(bytes, d);
	r->mode = (uint32_t)dec_var(d);
	r->size = dec_var(d);
	r->mtime.sec = dec_svar(d);
	r->mtime.nsec = (uint32_t)dec_var(d);
	r->ino = dec_var(d);
	r->content = dec_var(d);
	r->uid = (uint32_t)dec_var(d);
	r->gid = (uint32_t)dec_var(d);
	return dec_end(d);
}

void timeline_parse(struct timeline *t, struct buf *bytes)
{
	struct dec d;
	uint64_t last = 0;

	t->bytes = *bytes;
	*bytes = (struct buf){0};
	d = dec_start(t->bytes.data, t->bytes.len);
	for (;;) {
		struct timeline_record r;
		const struct timeline_record *of;
		uint32_t len = dec_u32(&d);
		uint64_t check = dec_u64(&d);
		const unsigned char *body;
		struct dec inner;

		body = d.bad || len > RECORD_MAX ? NULL : dec_raw(&d, len);
		if (!body || hash_check(body, len) != check)
			return;
		inner = dec_start(body, len);
		if (!decode_body(&t->bytes, &inner, &r) || r.number <= last)
			return;
		/* The file had no name any more when its content was lost. */
		of = *r.path ? NULL
			     : sorted_find_number(r.content, t->items, t->count,
						  sizeof(*t->items));
		if (of) {
			r.path = of->path;
			r.root = of->root;
		}
		last = r.number;
		*VEC_ADD(t) = r;
		t->valid = (size_t)(d.at - t->bytes.data);
	}
}

int timeline_load(struct timeline *t, int run_fd, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	int got = fd_slurp_at(run_fd, TIMELINE_RECORDS, FILE_MAX, &bytes, err);

	if (got < 0 && got != -ENOENT)
		return got;
	timeline_parse(t, &bytes);
	return 0;
}

void timeline_free(struct timeline *t)
{
	VEC_FREE(t);
	buf_free(&t->bytes);
}

bool timeline_has_end(const struct timeline *t)
{
	const struct timeline_record *r = t->items + t->count;

	/* A gap behind the end: a part of the run without versions. */
	while (r-- > t->items && r->kind != TIMELINE_BEGIN &&
	       (r->kind != TIMELINE_GAP || r->content))
		if (r->kind == TIMELINE_END)
			return true;
	return false;
}

/* --- the writer --- */

int timeline_open(struct timeline_writer *w, int run_fd, struct err *err)
{
	AUTO(timeline) struct timeline t = {0};

	*w = (struct timeline_writer){.fd = -1, .next = 1};
	if ((mkdirat(run_fd, TIMELINE_DIR, 0700) < 0 && errno != EEXIST) ||
	    (mkdirat(run_fd, TIMELINE_SPOOL, 0700) < 0 && errno != EEXIST))
		return fail_errno(err, "make directory '%s'", TIMELINE_SPOOL);
	if (timeline_load(&t, run_fd, err) < 0)
		return -err->num;
	w->fd = openat(run_fd, TIMELINE_RECORDS,
		       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (w->fd < 0)
		return fail_errno(err, "open '%s'", TIMELINE_RECORDS);
	if (ftruncate(w->fd, (off_t)t.valid) < 0)
		return fail_errno(err, "cut '%s'", TIMELINE_RECORDS);
	w->bytes = t.valid;
	if (t.count)
		w->next = t.items[t.count - 1].number + 1;
	return 0;
}

uint64_t timeline_add(struct timeline_writer *w, struct timeline_record *r)
{
	r->boot_ns = timestamp_boot_ns();
	r->time = timestamp_now();
	r->number = w->next++;
	if (!r->content && S_ISREG(r->mode) && r->kind == TIMELINE_ENTRY)
		r->content = r->number;
	timeline_encode(&w->pending, r);
	return r->number;
}

int timeline_flush(struct timeline_writer *w, struct err *err)
{
	if (!w->pending.len)
		return 0;
	if (fd_write(w->fd, w->pending.data, w->pending.len) < 0) {
		int got = fail_errno(err, "write '%s'", TIMELINE_RECORDS);

		/* A part of a record would hide what follows it. */
		return ftruncate(w->fd, (off_t)w->bytes) < 0 ? -errno : got;
	}
	w->bytes += w->pending.len;
	buf_clear(&w->pending);
	return 0;
}

void timeline_close(struct timeline_writer *w)
{
	fd_close(&w->fd);
	buf_free(&w->pending);
}
