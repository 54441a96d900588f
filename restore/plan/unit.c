#include "restore/plan/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "snapshot/store/content.h"

static const char *const suffixes[] = {
	[UNIT_MAIN] = "",
	[UNIT_JOURNAL] = "-journal",
	[UNIT_SHM] = "-shm",
	[UNIT_WAL] = "-wal",
};

size_t unit_stem(const char *path)
{
	size_t len = strlen(path), i;

	for (i = UNIT_JOURNAL; i < UNIT_MEMBERS; i++) {
		size_t suffix = strlen(suffixes[i]);

		if (len > suffix && path[len - suffix - 1] != '/' &&
		    strcmp(path + len - suffix, suffixes[i]) == 0)
			return len - suffix;
	}
	return 0;
}

char *unit_path(const char *main, enum unit_member member)
{
	return mem_printf("%s%s", main, suffixes[member]);
}

/* https://www.sqlite.org/fileformat2.html: 1.3.1, 3 and 4.1. The last bit of a
 * WAL's number is the byte order of its checksums. */
bool unit_head_fits(enum unit_member member, const void *head, size_t len)
{
	static const char wal[] = {0x37, 0x7f, 0x06};
	static const unsigned char journal[] = {0xd9, 0xd5, 0x05, 0xf9,
						0x20, 0xa1, 0x63, 0xd7};
	static const char main[] = "SQLite format 3";

	switch (member) {
	case UNIT_MAIN:
		return len >= sizeof(main) &&
		       memcmp(head, main, sizeof(main)) == 0;
	case UNIT_JOURNAL:
		return !len || (len >= sizeof(journal) &&
				memcmp(head, journal, sizeof(journal)) == 0);
	case UNIT_WAL:
		return !len || (len > sizeof(wal) &&
				memcmp(head, wal, sizeof(wal)) == 0 &&
				(((const char *)head)[3] & ~1) == (char)0x82);
	case UNIT_SHM:
	case UNIT_MEMBERS:
		break;
	}
	return member == UNIT_SHM;
}

void unit_add_paths(int root_fd, char ***only)
{
	size_t count = 0, i, k;

	while (*only && (*only)[count])
		count++;
	for (i = 0; i < count; i++) {
		const char *path = (*only)[i];
		size_t stem = unit_stem(path);
		auto_free char *main =
			mem_strndup(path, stem ? stem : strlen(path));

		if (path_ends(path, "/"))
			continue;
		for (k = 0; k < UNIT_MEMBERS; k++) {
			auto_free char *member =
				unit_path(main, (enum unit_member)k);

			if (faccessat(root_fd, member, F_OK,
				      AT_SYMLINK_NOFOLLOW) == 0)
				mem_list_add_once(only, member);
		}
	}
	while (*only && (*only)[count])
		count++;
	if (count)
		qsort(*only, count, sizeof(**only), sorted_compare_paths);
}

void unit_free(struct unit *u)
{
	size_t i;

	for (i = 0; i < UNIT_MEMBERS; i++)
		free(u->paths[i]);
	*u = (struct unit){0};
}

struct head {
	char bytes[UNIT_HEAD];
	size_t len;
};

static int copy_head(void *arg, const void *data, size_t len, struct err *err)
{
	struct head *h = arg;
	size_t more = UNIT_HEAD - h->len < len ? UNIT_HEAD - h->len : len;

	(void)err;
	memcpy(h->bytes + h->len, data, more);
	h->len += more;
	return h->len == UNIT_HEAD ? -ECANCELED : 0;
}

static int entry_fits(struct store *store, enum unit_member member,
		      const struct entry *e, struct err *err)
{
	struct head head = {.len = 0};
	int got = 0;

	if (e->content.type != OBJECT_NONE)
		got = content_each(store, &e->content, copy_head, &head, err);
	if (got < 0 && got != -ECANCELED)
		return got;
	return unit_head_fits(member, head.bytes, head.len);
}

int unit_is_main(struct store *store, const struct entry *e, struct err *err)
{
	return S_ISREG(e->mode) ? entry_fits(store, UNIT_MAIN, e, err) : 0;
}

/* 1: one of the trees has this member; 0: none has; -EXDEV without a text: the
 * path is something else than a file. */
static int find_member(struct lookup *const *trees, size_t count,
		       const char *path, int member, struct err *err)
{
	size_t i;
	int fits = 0;

	for (i = 0; i < count && fits >= 0; i++) {
		AUTO(entry) struct entry e = {0};
		int got = lookup_find(trees[i], path, &e, err);

		if (got < 0)
			return got;
		if (got && !S_ISREG(e.mode))
			return -EXDEV;
		if (got && !fits)
			fits = member < 0 ? 1
					  : entry_fits(trees[i]->store,
						       (enum unit_member)member,
						       &e, err);
	}
	return fits;
}

int unit_of(struct lookup *const *trees, size_t count, const char *path,
	    struct unit *ret, struct err *err)
{
	size_t stem = unit_stem(path);
	auto_free char *main = mem_strndup(path, stem ? stem : strlen(path));
	AUTO(unit) struct unit u = {0};
	bool any = stem, self = !stem;
	int got = 0, i;

	/* Few files have such a neighbor: only then bytes are read. */
	for (i = UNIT_JOURNAL; i < UNIT_MEMBERS && !any && got >= 0; i++) {
		auto_free char *name = unit_path(main, (enum unit_member)i);

		got = find_member(trees, count, name, -1, err);
		any = got > 0;
	}
	for (i = 0; i < UNIT_MEMBERS && any && got >= 0; i++) {
		u.paths[i] = unit_path(main, (enum unit_member)i);
		got = find_member(trees, count, u.paths[i], i, err);
		if (got > 0) {
			self |= i && strcmp(u.paths[i], path) == 0;
			continue;
		}
		free(u.paths[i]);
		u.paths[i] = NULL;
		if (i == UNIT_MAIN)
			any = false;
	}
	if (got < 0)
		return got == -EXDEV ? 0 : got;
	if (!any || !self ||
	    !(u.paths[UNIT_JOURNAL] || u.paths[UNIT_SHM] || u.paths[UNIT_WAL]))
		return 0;
	*ret = TAKE(u);
	return 1;
}
