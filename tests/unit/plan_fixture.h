/*
 * Trees from a few lines of text, for tests of plans and transactions.
 *
 *	"d dir"			a directory, mode 755
 *	"f dir/file=text"	a file, mode 644
 *	"l dir/link=target"	a symbolic link
 *	"p pipe"		a FIFO
 *	"s socket", "c node"	a socket, a device node
 *
 * A bar in a file's text is a line feed. Before a path may stand, in this
 * order: a number after '#', which hard links of one inode share, an octal mode
 * in brackets, a time after '@', '!' for an incomplete entry, '+' for an
 * attribute user.x, '^' for a file capability, other attributes in braces:
 * "f #1[4755]@7!+^{user.y=1,user.z=2}bin=x".
 */
#ifndef GUARD_TESTS_UNIT_PLAN_FIXTURE_H
#define GUARD_TESTS_UNIT_PLAN_FIXTURE_H

#include "tests/unit/snap_fixture.h"

#include "restore/plan/plan.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

#define BEFORE 1700000000

/* Parses "{name=value,name=value}"; returns the text after it. */
static const char *add_attrs(const char *at, struct xattrs *to)
{
	while (*at != '}') {
		const char *name = at + 1;
		size_t name_len = strcspn(name, "=");
		const char *value = name + name_len + 1;
		size_t len = strcspn(value, ",}");
		char *text = mem_strndup(name, name_len);

		xattrs_add(to, text, value, len);
		free(text);
		at = value + len;
	}
	return at + 1;
}

static uint32_t type_of(char c)
{
	switch (c) {
	case 'd':
		return S_IFDIR | 0755;
	case 'l':
		return S_IFLNK | 0777;
	case 'p':
		return S_IFIFO | 0644;
	case 's':
		return S_IFSOCK | 0644;
	case 'c':
		return S_IFCHR | 0644;
	default:
		return S_IFREG | 0644;
	}
}

/* Parses "x #group[mode]@time!+^{attributes}path=text"; the path in *ret_path,
 * to free. */
static struct entry entry_of(struct box *box, const char *line, char **ret_path)
{
	struct entry e = {
		.name = mem_strdup(""),
		.mode = type_of(line[0]),
		.uid = geteuid(),
		.gid = getegid(),
		.mtime.sec = BEFORE,
	};
	const char *at = line + 2, *text;
	struct xattrs x = {0};
	struct err err;
	char *end;

	if (*at == '#') {
		e.link_group = strtoul(at + 1, &end, 10);
		at = end;
	}
	if (*at == '[') {
		e.mode = (e.mode & S_IFMT) | (uint32_t)strtoul(at + 1, &end, 8);
		at = end + 1;
	}
	if (*at == '@') {
		e.mtime.sec = BEFORE + strtol(at + 1, &end, 10);
		at = end;
	}
	if (*at == '!') {
		e.flags = ENTRY_INCOMPLETE;
		at++;
	}
	if (*at == '+') {
		xattrs_add(&x, "user.x", "value", 5);
		at++;
	}
	if (*at == '^') {
		xattrs_add(&x, "security.capability", "value", 5);
		at++;
	}
	if (*at == '{')
		at = add_attrs(at, &x);
	ok(attrset_save(box->store, &x, &e.attrs, &err));
	xattrs_free(&x);
	if (S_ISCHR(e.mode))
		e.rdev = 0x103;
	text = strchr(at, '=');
	*ret_path =
		text ? mem_strndup(at, (size_t)(text - at)) : mem_strdup(at);
	if (S_ISLNK(e.mode))
		e.link = mem_strdup(text ? text + 1 : "nowhere");
	if (S_ISREG(e.mode) && text && text[1]) {
		auto_free char *bytes = mem_strdup(text + 1);

		for (end = bytes; (end = strchr(end, '|'));)
			*end = '\n';
		e.size = strlen(bytes);
		ok(content_put_bytes(box->store, bytes, e.size, &e.content,
				     &err));
	}
	return e;
}

/* A root with these lines in it, directories before their entries. "" and NULL:
 * an empty root; "-": no root at all. */
static struct entry tree_of(struct box *box, const char *lines)
{
	struct entry root = {.name = mem_strdup(""),
			     .mode = S_IFDIR | 0755,
			     .uid = geteuid(),
			     .gid = getegid(),
			     .mtime.sec = BEFORE};
	struct tree_editor *ed;
	struct err err;
	struct entry done;

	if (lines && strcmp(lines, "-") == 0) {
		root.mode = 0;
		return root;
	}
	ed = tree_editor_new(box->store, &root);
	while (lines && *lines) {
		size_t len = strcspn(lines, "\n");
		char *line = mem_strndup(lines, len), *path;
		struct entry e = entry_of(box, line, &path);

		if (S_ISDIR(e.mode))
			ok(tree_editor_put_dir(ed, path, &e, &err));
		else
			ok(tree_editor_put(ed, path, &e, &err));
		entry_free(&e);
		free(path);
		free(line);
		lines += len + (lines[len] == '\n');
	}
	ok(tree_editor_save(ed, &done, &err));
	tree_editor_free(&ed);
	entry_free(&root);
	return done;
}

#endif
