#include "restore/git/gitwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/text.h"

#define OBJECTS_MAX 4000000
#define BYTES_MAX (64ull << 30)
#define OBJECT_MAX (512ull << 20)
#define SMALL_MAX (64ull << 20) /* of a commit, tag or tree */

struct node {
	struct gitid id;
	int8_t type; /* 0: not looked at yet; GITTYPE_ANY: slot is free */
	bool reached;
};

struct step {
	struct gitid id;
	enum gittype type; /* what it must be */
};

struct gitwalk {
	const struct libgit *git;
	git_odb *from, *to;
	uint64_t salt[3]; /* nobody can make ids that meet in the table */
	struct node *table;
	size_t used, size; /* size: a power of two */
	struct step *steps;
	size_t count, room;
	struct gitid *wanted;
	size_t wanted_count, wanted_room;
	struct gitwalk_sum sum;
};

struct gitwalk *gitwalk_new(const struct libgit *git, git_odb *from,
			    git_odb *to)
{
	struct gitwalk *w = mem_zalloc(sizeof(*w));

	w->git = git;
	w->from = from;
	w->to = to;
	if (getrandom(w->salt, sizeof(w->salt), 0) < 0)
		w->salt[0] = (uintptr_t)w;
	return w;
}

void gitwalk_free(struct gitwalk **w)
{
	if (!*w)
		return;
	free((*w)->table);
	free((*w)->steps);
	free((*w)->wanted);
	free(TAKE(*w));
}

static struct node *slot_of(const struct gitwalk *w, const struct gitid *id)
{
	uint64_t a, b, mixed;
	size_t i;

	memcpy(&a, id->raw, sizeof(a));
	memcpy(&b, id->raw + sizeof(a), sizeof(b));
	mixed = (a ^ w->salt[0]) * (w->salt[1] | 1) +
		(b ^ w->salt[2]) * (w->salt[0] | 1);
	mixed ^= mixed >> 32;
	for (i = mixed & (w->size - 1);; i = (i + 1) & (w->size - 1)) {
		struct node *n = &w->table[i];

		if (n->type == GITTYPE_ANY ||
		    memcmp(&n->id, id, sizeof(*id)) == 0)
			return n;
	}
}

static void grow(struct gitwalk *w)
{
	struct node *old = w->table;
	size_t old_size = w->size, i;

	w->size = old_size ? old_size * 2 : 1024;
	w->table = mem_resize(NULL, w->size, sizeof(*w->table));
	for (i = 0; i < w->size; i++)
		w->table[i] = (struct node){.type = GITTYPE_ANY};
	for (i = 0; i < old_size; i++)
		if (old[i].type != GITTYPE_ANY)
			*slot_of(w, &old[i].id) = old[i];
	free(old);
}

static struct node *find(struct gitwalk *w, const struct gitid *id)
{
	struct node *n = w->size ? slot_of(w, id) : NULL;

	return n && n->type != GITTYPE_ANY ? n : NULL;
}

/* The object's node, made when there is none. */
static struct node *node_of(struct gitwalk *w, const struct gitid *id)
{
	struct node *n;

	if (w->used * 2 >= w->size)
		grow(w);
	n = slot_of(w, id);
	if (n->type == GITTYPE_ANY) {
		*n = (struct node){.id = *id};
		w->used++;
	}
	return n;
}

static void push(struct gitwalk *w, const struct gitid *id, enum gittype type)
{
	GROW(w->steps, w->count, w->room);
	w->steps[w->count++] = (struct step){*id, type};
}

void gitwalk_add(struct gitwalk *w, const struct gitid *id)
{
	push(w, id, GITTYPE_ANY);
}

static const char *short_of(const struct gitid *id)
{
	static char text[2][GITID_HEX + 1];
	static unsigned int next;
	char *hex = text[next++ % 2];

	gitparse_hex(id, hex);
	hex[12] = '\0';
	return hex;
}

static int wrong_type(const struct gitid *id, enum gittype is,
		      enum gittype wanted, struct err *err)
{
	if (wanted == GITTYPE_ANY || is == wanted)
		return 0;
	return fail(err, EBADMSG, "object %s is a %s where a %s is named",
		    short_of(id), gitparse_type_name(is),
		    gitparse_type_name(wanted));
}

static int each_named(void *arg, enum gittype type, const struct gitid *id,
		      struct err *err)
{
	struct gitwalk *w = arg;
	struct node *n = node_of(w, id);

	n->reached = true;
	if (n->type)
		return wrong_type(id, n->type, type, err);
	if (w->used > OBJECTS_MAX || w->count > 16 * OBJECTS_MAX)
		return fail(err, E2BIG, "the run made more than %d objects",
			    OBJECTS_MAX);
	push(w, id, type);
	return 0;
}

static int each_reached(void *arg, enum gittype type, const struct gitid *id,
			struct err *err)
{
	(void)type;
	(void)err;
	node_of(arg, id)->reached = true;
	return 0;
}

enum gittype gitwalk_has(const struct libgit *git, git_odb *odb,
			 const struct gitid *id)
{
	git_object_t type;
	git_oid oid;
	size_t len;

	memcpy(oid.id, id->raw, sizeof(oid.id));
	if (!git->odb_exists_ext(odb, &oid, GIT_ODB_LOOKUP_NO_REFRESH) ||
	    git->odb_read_header(&len, &type, odb, &oid) < 0)
		return 0;
	return (enum gittype)type;
}

/* The library's own words may hold names of the run. */
static int bad_object(struct gitwalk *w, const struct gitid *id, int got,
		      struct err *err)
{
	const git_error *last = w->git->error_last();

	if (got == GIT_ENOTFOUND)
		return fail(err, ENODATA,
			    "object %s is named but in neither repository",
			    short_of(id));
	return fail(err, EBADMSG, "object %s cannot be read: %s", short_of(id),
		    last && last->message ? text_quote(last->message)
					  : "unknown error");
}

static int check_size(struct gitwalk *w, const struct gitid *id, size_t len,
		      git_object_t type, struct err *err)
{
	if (len > OBJECT_MAX || (type != GIT_OBJECT_BLOB && len > SMALL_MAX))
		return fail(err, E2BIG, "object %s has %s: too much",
			    short_of(id), text_size(len));
	w->sum.bytes += len;
	if (w->sum.bytes > BYTES_MAX)
		return fail(err, E2BIG, "the run's commits hold more than %s",
			    text_size(BYTES_MAX));
	return 0;
}

static int read_checked(struct gitwalk *w, git_odb *odb, const struct gitid *id,
			git_odb_object **ret, struct err *err)
{
	git_object_t type;
	git_oid oid;
	size_t len;
	int got;

	memcpy(oid.id, id->raw, sizeof(oid.id));
	got = w->git->odb_read_header(&len, &type, odb, &oid);
	if (got < 0)
		return bad_object(w, id, got, err);
	if (check_size(w, id, len, type, err) < 0)
		return -err->num;
	got = w->git->odb_read(ret, odb, &oid);
	if (got == 0)
		return 0;
	/* It was found a moment ago. */
	return bad_object(w, id, GIT_ERROR, err);
}

static int parse(struct gitwalk *w, const struct gitid *id,
		 git_odb_object *object,
		 int (*each)(void *arg, enum gittype type,
			     const struct gitid *id, struct err *err),
		 struct err *err)
{
	enum gittype type = (enum gittype)w->git->odb_object_type(object);
	int got =
		gitparse_object(type, w->git->odb_object_data(object),
				w->git->odb_object_size(object), each, w, err);

	return got < 0 ? err_context(err, "%s %s", gitparse_type_name(type),
				     short_of(id))
		       : 0;
}

static int visit(struct gitwalk *w, const struct step *s, struct err *err)
{
	struct node *n = node_of(w, &s->id);
	git_odb_object *object;
	enum gittype type;
	int got;

	if (n->type)
		return wrong_type(&s->id, n->type, s->type, err);
	type = gitwalk_has(w->git, w->to, &s->id);
	if (type) {
		n->type = (int8_t)type;
		return wrong_type(&s->id, type, s->type, err);
	}
	if (read_checked(w, w->from, &s->id, &object, err) < 0)
		return -err->num;
	type = (enum gittype)w->git->odb_object_type(object);
	n->type = (int8_t)type;
	got = wrong_type(&s->id, type, s->type, err);
	if (got == 0)
		got = parse(w, &s->id, object, each_named, err);
	w->git->odb_object_free(object);
	if (got < 0)
		return got;
	GROW(w->wanted, w->wanted_count, w->wanted_room);
	w->wanted[w->wanted_count++] = s->id;
	w->sum.objects++;
	w->sum.commits += type == GITTYPE_COMMIT;
	return 0;
}

int gitwalk_go(struct gitwalk *w, struct err *err)
{
	while (w->count) {
		struct step s = w->steps[--w->count];

		if (visit(w, &s, err) < 0)
			return -err->num;
	}
	return 0;
}

int gitwalk_reach(struct gitwalk *w, const struct gitid *id, struct err *err)
{
	git_odb_object *object;
	int got;

	if (read_checked(w, w->to, id, &object, err) < 0)
		return -err->num;
	got = parse(w, id, object, each_reached, err);
	w->git->odb_object_free(object);
	return got;
}

bool gitwalk_is_reached(struct gitwalk *w, const struct gitid *id)
{
	const struct node *n = find(w, id);

	return n && n->reached;
}

enum gittype gitwalk_type(struct gitwalk *w, const struct gitid *id)
{
	const struct node *n = find(w, id);

	return n ? (enum gittype)n->type : 0;
}

const struct gitid *gitwalk_wanted(const struct gitwalk *w, size_t *ret_count)
{
	*ret_count = w->wanted_count;
	return w->wanted;
}

const struct gitwalk_sum *gitwalk_sum(const struct gitwalk *w)
{
	return &w->sum;
}
