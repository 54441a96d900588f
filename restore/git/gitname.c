#include "restore/git/gitname.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* A ref is a file of that name: longer ones cannot be made. */
#define REF_MAX 1024
#define REF_PART_MAX 250

/* One character of UTF-8; 0 at the end, -1 where it is none. */
static int32_t next_char(const char **at, const char *end)
{
	const unsigned char *p = (const unsigned char *)*at;
	size_t left = (size_t)(end - *at), len, i;
	int32_t c;

	if (!left)
		return 0;
	len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len > left || (p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4)
		return -1;
	c = len == 1 ? p[0] : p[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return -1;
		c = c << 6 | (p[i] & 0x3f);
	}
	*at += len;
	return c;
}

/* HFS+ compares names as if these were not there: utf8.c in git. */
static bool hfs_ignores(int32_t c)
{
	return (c >= 0x200c && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x206a && c <= 0x206f) || c == 0xfeff;
}

static bool is_hfs(const char *name, size_t len, const char *plain)
{
	const char *end = name + len;

	for (;;) {
		int32_t c = next_char(&name, end);

		if (c > 0 && hfs_ignores(c))
			continue;
		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		if (c != *plain)
			return false;
		if (!c)
			return true;
		plain++;
	}
}

/* NTFS drops blanks and dots at a name's end, and what is behind a colon is
 * a stream of the same file. */
static bool is_ntfs(const char *name, size_t len, const char *plain)
{
	size_t n = strlen(plain);

	if (len < n || strncasecmp(name, plain, n) != 0)
		return false;
	while (n < len && (name[n] == ' ' || name[n] == '.'))
		n++;
	return n == len || name[n] == ':';
}

/* On NTFS a backslash divides a name, so that each part of it counts. */
static bool any_part_is_git(const char *name, size_t len)
{
	const char *end = name + len;

	for (;;) {
		const char *stop = memchr(name, '\\', (size_t)(end - name));
		size_t n = (size_t)((stop ?: end) - name);

		if (is_ntfs(name, n, ".git") || is_ntfs(name, n, "git~1"))
			return true;
		if (!stop)
			return false;
		name = stop + 1;
	}
}

const char *gitname_fault(const char *name, size_t len)
{
	if (len == 0)
		return "an empty name";
	if (memchr(name, '/', len))
		return "a name with a slash";
	if (len == 1 && name[0] == '.')
		return "a name that means the folder itself";
	if (len == 2 && memcmp(name, "..", 2) == 0)
		return "a name that means the folder above";
	if (is_hfs(name, len, ".git") || any_part_is_git(name, len))
		return "a name that some system takes for .git";
	return NULL;
}

bool gitname_is_modules(const char *name, size_t len)
{
	return is_hfs(name, len, ".gitmodules") ||
	       is_ntfs(name, len, ".gitmodules") ||
	       is_ntfs(name, len, "gitmod~1");
}

static bool part_ok(const char *part, size_t len)
{
	size_t i;

	if (!len || len > REF_PART_MAX || part[0] == '.' ||
	    part[len - 1] == '.')
		return false;
	if (len >= 5 && memcmp(part + len - 5, ".lock", 5) == 0)
		return false;
	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)part[i];

		if (c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c))
			return false;
		if (i && ((c == '.' && part[i - 1] == '.') ||
			  (c == '{' && part[i - 1] == '@')))
			return false;
	}
	return true;
}

bool gitname_ref_ok(const char *name)
{
	if (strncmp(name, "refs/", 5) != 0 || strlen(name) > REF_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(name, "/");

		if (!part_ok(name, len))
			return false;
		if (!name[len])
			return true;
		name += len + 1;
	}
}
