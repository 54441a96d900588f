#include "restore/git/gitparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "restore/git/gitname.h"

#define SUBJECT_MAX 200

struct reader {
	const char *at, *end;
	int (*each)(void *arg, enum gittype type, const struct gitid *id,
		    struct err *err);
	void *arg;
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gitparse_id(const char *hex, struct gitid *ret)
{
	size_t i;

	for (i = 0; i < GITID_LEN; i++) {
		int high = hex_value(hex[2 * i]);
		int low = high < 0 ? -1 : hex_value(hex[2 * i + 1]);

		if (low < 0)
			return false;
		ret->raw[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

void gitparse_hex(const struct gitid *id, char *hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < GITID_LEN; i++) {
		hex[2 * i] = digits[id->raw[i] >> 4];
		hex[2 * i + 1] = digits[id->raw[i] & 15];
	}
	hex[GITID_HEX] = '\0';
}

const char *gitparse_type_name(enum gittype type)
{
	switch (type) {
	case GITTYPE_COMMIT:
		return "commit";
	case GITTYPE_TREE:
		return "tree";
	case GITTYPE_BLOB:
		return "blob";
	case GITTYPE_TAG:
		return "tag";
	default:
		return "object";
	}
}

/* The line that begins with word and a blank: what is behind it; NULL when
 * the next line is another. */
static const char *line(struct reader *r, const char *word, size_t *ret_len)
{
	size_t n = strlen(word);
	const char *start = r->at, *stop;

	if ((size_t)(r->end - start) <= n || memcmp(start, word, n) != 0 ||
	    start[n] != ' ')
		return NULL;
	start += n + 1;
	stop = memchr(start, '\n', (size_t)(r->end - start));
	if (!stop)
		return NULL;
	*ret_len = (size_t)(stop - start);
	r->at = stop + 1;
	return start;
}

/* 1: there was such a line, 0: another stands there. */
static int id_line(struct reader *r, const char *word, enum gittype type,
		   struct err *err)
{
	struct gitid id;
	size_t len;
	const char *text = line(r, word, &len);
	int got;

	if (!text)
		return 0;
	if (len != GITID_HEX || !gitparse_id(text, &id))
		return fail(err, EBADMSG, "its line \"%s\" holds no id", word);
	got = r->each(r->arg, type, &id, err);
	return got < 0 ? got : 1;
}

/* "Name <address> seconds +hhmm", as fsck_ident() in git wants it. */
static bool ident_ok(const char *text, size_t len)
{
	const char *end = text + len, *p = text, *digits;

	while (p < end && *p != '<' && *p != '>' && *p)
		p++;
	if (p == text || p == end || *p != '<' || p[-1] != ' ')
		return false;
	p++;
	while (p < end && *p != '<' && *p != '>' && *p)
		p++;
	if (end - p < 2 || *p != '>' || p[1] != ' ')
		return false;
	digits = p += 2;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (p == digits || p - digits > 18 ||
	    (*digits == '0' && p - digits > 1))
		return false;
	return end - p == 6 && p[0] == ' ' && (p[1] == '+' || p[1] == '-') &&
	       strspn(p + 2, "0123456789") >= 4;
}

static int ident_line(struct reader *r, const char *word, struct err *err)
{
	size_t len;
	const char *text = line(r, word, &len);

	if (!text)
		return fail(err, EBADMSG, "it has no line \"%s\"", word);
	if (!ident_ok(text, len))
		return fail(err, EBADMSG,
			    "its line \"%s\" is not \"name <address> time "
			    "zone\"",
			    word);
	return 0;
}

static int header_whole(const char *data, size_t len, struct err *err)
{
	const char *stop = memmem(data, len, "\n\n", 2);

	if (!stop && (!len || data[len - 1] != '\n'))
		return fail(err, EBADMSG, "its header has no end");
	if (memchr(data, '\0', stop ? (size_t)(stop - data) : len))
		return fail(err, EBADMSG, "there is a NUL in its header");
	return 0;
}

static int read_commit(struct reader *r, struct err *err)
{
	int got = id_line(r, "tree", GITTYPE_TREE, err);

	if (got == 0)
		return fail(err, EBADMSG, "it has no line \"tree\"");
	while (got > 0)
		got = id_line(r, "parent", GITTYPE_COMMIT, err);
	if (got < 0 || ident_line(r, "author", err) < 0 ||
	    ident_line(r, "committer", err) < 0)
		return -err->num;
	return 0;
}

static int read_tag(struct reader *r, struct err *err)
{
	static const enum gittype types[] = {GITTYPE_COMMIT, GITTYPE_TREE,
					     GITTYPE_BLOB, GITTYPE_TAG};
	struct gitid id;
	const char *object, *type, *name;
	size_t len, type_len, name_len, i;

	object = line(r, "object", &len);
	if (!object || len != GITID_HEX || !gitparse_id(object, &id))
		return fail(err, EBADMSG, "it names no object");
	type = line(r, "type", &type_len);
	name = type ? line(r, "tag", &name_len) : NULL;
	if (!name)
		return fail(err, EBADMSG, "it has no type or no name");
	if (ident_line(r, "tagger", err) < 0)
		return -err->num;
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		const char *known = gitparse_type_name(types[i]);

		if (strlen(known) == type_len &&
		    memcmp(known, type, type_len) == 0)
			return r->each(r->arg, types[i], &id, err);
	}
	return fail(err, EBADMSG, "it is for an unknown type of object");
}

struct item {
	const char *name;
	size_t len;
	bool folder;
};

/* Git sorts a tree as if each folder's name ended with a slash. */
static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int got = memcmp(x->name, y->name, len);
	unsigned char p, q;

	if (got)
		return got;
	p = x->len > len ? (unsigned char)x->name[len] : x->folder ? '/' : 0;
	q = y->len > len ? (unsigned char)y->name[len] : y->folder ? '/' : 0;
	return p - q;
}

static int check_items(const struct item *items, size_t count, struct err *err)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct item file = items[i];
		auto_free char *name = mem_strndup(file.name, file.len);

		if (i && compare(&items[i - 1], &items[i]) >= 0)
			return fail(err, EBADMSG,
				    "its entry %s is there twice or out of "
				    "order",
				    text_quote(name));
		if (!file.folder)
			continue;
		file.folder = false;
		if (bsearch(&file, items, count, sizeof(*items), compare))
			return fail(err, EBADMSG, "its entry %s is there twice",
				    text_quote(name));
	}
	return 0;
}

/* ANY: a submodule's commit, which is not in this repository. */
static int mode_type(unsigned long mode, enum gittype *ret)
{
	switch (mode) {
	case 040000:
		*ret = GITTYPE_TREE;
		return 0;
	case 0100644:
	case 0100664:
	case 0100755:
	case 0120000:
		*ret = GITTYPE_BLOB;
		return 0;
	case 0160000:
		*ret = GITTYPE_ANY;
		return 0;
	default:
		return -1;
	}
}

static int read_item(struct reader *r, struct item *ret, struct err *err)
{
	const char *stop = memchr(r->at, '\0', (size_t)(r->end - r->at));
	auto_free char *name = NULL;
	const char *fault;
	unsigned long mode;
	enum gittype type;
	struct gitid id;
	char *behind;

	if (!stop || r->end - stop <= GITID_LEN || *r->at < '0' || *r->at > '7')
		return fail(err, EBADMSG, "it is cut off or no tree");
	mode = strtoul(r->at, &behind, 8);
	if (*behind != ' ' || behind >= stop)
		return fail(err, EBADMSG, "an entry has no mode");
	ret->name = behind + 1;
	ret->len = (size_t)(stop - ret->name);
	name = mem_strndup(ret->name, ret->len);
	fault = gitname_fault(ret->name, ret->len);
	if (fault)
		return fail(err, EBADMSG, "its entry %s has %s",
			    text_quote(name), fault);
	if (mode_type(mode, &type) < 0)
		return fail(err, EBADMSG, "its entry %s has the mode %lo",
			    text_quote(name), mode);
	if (mode == 0120000 && gitname_is_modules(ret->name, ret->len))
		return fail(err, EBADMSG, "its entry %s is a link",
			    text_quote(name));
	ret->folder = type == GITTYPE_TREE;
	memcpy(id.raw, stop + 1, GITID_LEN);
	r->at = stop + 1 + GITID_LEN;
	return type == GITTYPE_ANY ? 0 : r->each(r->arg, type, &id, err);
}

static int read_tree(struct reader *r, struct err *err)
{
	auto_free struct item *items = NULL;
	size_t count = 0, room = 0;

	while (r->at < r->end) {
		GROW(items, count, room);
		if (read_item(r, &items[count], err) < 0)
			return -err->num;
		count++;
	}
	return check_items(items, count, err);
}

int gitparse_object(enum gittype type, const void *data, size_t len,
		    int (*each)(void *arg, enum gittype type,
				const struct gitid *id, struct err *err),
		    void *arg, struct err *err)
{
	const char *text = data;
	struct reader r = {text, text + len, each, arg};

	if (type == GITTYPE_BLOB)
		return 0;
	if (type == GITTYPE_TREE)
		return read_tree(&r, err);
	if (header_whole(text, len, err) < 0)
		return -err->num;
	if (type == GITTYPE_COMMIT)
		return read_commit(&r, err);
	if (type == GITTYPE_TAG)
		return read_tag(&r, err);
	return fail(err, EBADMSG, "it is of no known type");
}

void gitparse_subject(const void *data, size_t len, struct buf *to)
{
	const char *end = (const char *)data + len;
	const char *at = memmem(data, len, "\n\n", 2), *stop;

	if (!at)
		return;
	while (at < end && (*at == '\n' || *at == ' '))
		at++;
	stop = at;
	while (stop < end && *stop != '\n' && stop - at < SUBJECT_MAX)
		stop++;
	buf_add(to, at, (size_t)(stop - at));
}
