#include "guard/sandbox/encryption.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/sandbox/mount.h"

/* Parts of the names of FUSE file systems that encrypt: fuse.gocryptfs,
 * fuse.cryptomator, fuse.encfs ... */
static const char *const fuse_names[] = {"crypt", "encfs", "cryfs", "securefs"};

/* LVM on dm-crypt and the like. */
#define LEVELS_MAX 4

/* "CRYPT-LUKS2-..." is in the uuid of a block device of dm-crypt; a device that
 * is made of others has links to them in slaves/. */
static bool is_dm_crypt(const char *device, int levels)
{
	auto_free char *uuid = path_join(device, "dm/uuid");
	auto_free char *slaves = path_join(device, "slaves");
	auto_close int fd = open(uuid, O_RDONLY | O_CLOEXEC);
	auto_close int dir = -1;
	AUTO(dirlist) struct dirlist list = {0};
	char text[6];
	struct err ignored;
	size_t i;

	if (fd >= 0 && read(fd, text, sizeof(text)) == sizeof(text) &&
	    memcmp(text, "CRYPT-", sizeof(text)) == 0)
		return true;
	dir = levels ? fd_open_dir(AT_FDCWD, slaves) : -1;
	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0)
		return false;
	for (i = 0; i < list.count; i++) {
		auto_free char *below = path_join(slaves, list.items[i].name);

		if (is_dm_crypt(below, levels - 1))
			return true;
	}
	return false;
}

/* The name of the FUSE file system at the path, to free; NULL: it does not
 * encrypt. */
static char *find_fuse(const char *path)
{
	AUTO(mountinfo) struct mountinfo table = {0};
	const char *point = "", *type = "";
	struct err ignored;
	size_t i;

	if (mountinfo_load(0, &table, &ignored) < 0)
		return NULL;
	for (i = 0; i < table.count; i++)
		if (path_below(path, table.items[i].point) &&
		    strlen(table.items[i].point) >= strlen(point)) {
			point = table.items[i].point;
			type = table.items[i].type;
		}
	for (i = 0; i < ARRAY_SIZE(fuse_names); i++)
		if (strstr(type, fuse_names[i]))
			return mem_strdup(strchr(type, '.')
						  ? strchr(type, '.') + 1
						  : type);
	return NULL;
}

static bool is_fscrypt(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, 0, STATX_TYPE, &st) == 0 &&
	       st.stx_attributes & STATX_ATTR_ENCRYPTED;
}

static bool is_below_dm_crypt(dev_t dev)
{
	auto_free char *device =
		mem_printf("/sys/dev/block/%u:%u", major(dev), minor(dev));

	return is_dm_crypt(device, LEVELS_MAX);
}

/* The name of the encryption of the path alone, to free; NULL: none. */
static char *find(const char *path, const char *other)
{
	struct stat here, there;
	auto_close int fd = -1;
	const char *type;

	if (stat(path, &here) < 0 || stat(other, &there) < 0)
		return NULL;
	if (is_fscrypt(path))
		return is_fscrypt(other) ? NULL : mem_strdup("fscrypt");
	if (here.st_dev == there.st_dev)
		return NULL;
	fd = fd_open_dir(AT_FDCWD, path);
	type = fd >= 0 ? fstype_of_fd(fd)->name : NULL;
	if (type && strcmp(type, "FUSE") == 0)
		return find_fuse(path);
	if (type && strcmp(type, "eCryptfs") == 0)
		return mem_strdup(type);
	return is_below_dm_crypt(here.st_dev) &&
			       !is_below_dm_crypt(there.st_dev)
		       ? mem_strdup("dm-crypt")
		       : NULL;
}

char *encryption_note(const char *path, const char *copies)
{
	auto_free char *how = find(path, copies);

	return how ? mem_printf("%s is encrypted (%s), and guard keeps "
				"unencrypted copies of its files in %s: "
				"`guard purge %s` removes them",
				text_quote(path), how, text_quote(copies),
				text_shell(path))
		   : NULL;
}
