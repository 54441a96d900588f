#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
/* version.h of libgit2 1.9 uses macros of common.h, and does not include it. */
#include <git2/common.h>
#include <git2/version.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

static const struct library libraries[LIBRARY_COUNT] = {
	[LIBRARY_LIBGIT2] =
		{
			.name = "libgit2",
			.soname = "libgit2.so." LIBGIT2_SOVERSION,
			.package = "libgit2-" LIBGIT2_SOVERSION,
			.loss = "no texts in diff and review, no merge in "
				"apply and undo, no patch, import or commit",
		},
	[LIBRARY_LIBARCHIVE] =
		{
			.name = "libarchive",
			/* The ABI of all releases since 3.0. */
			.soname = "libarchive.so.13",
			.package = "libarchive13",
			.loss = "no export",
		},
	[LIBRARY_LIBCRYPTO] =
		{
			.name = "libcrypto",
			.soname = "libcrypto.so.3",
			.older = "libcrypto.so.1.1",
			.package = "libssl3",
			.loss = "snapshots of large files are slower, no "
				"import with files of git-lfs",
		},
	[LIBRARY_NCURSESW] =
		{
			.name = "ncursesw",
			/* The ABI of all releases since 6.0. */
			.soname = "libncursesw.so.6",
			.package = "libncursesw6",
			.loss = "review asks line by line",
		},
	[LIBRARY_LIBSODIUM] =
		{
			.name = "libsodium",
			.soname = "libsodium.so.23",
			/* Since 1.0.19. */
			.older = "libsodium.so.26",
			.package = "libsodium23",
			.loss = "no backup, and none can be recovered",
		},
	[LIBRARY_LIBSYSTEMD] =
		{
			.name = "libsystemd",
			.soname = "libsystemd.so.0",
			.package = "libsystemd0",
			.loss = "a user's runs have limits without a control "
				"group",
		},
};

const struct library *library_info(enum library_id id)
{
	return &libraries[id];
}

int library_load(enum library_id id, const char *prefix, const char *names,
		 void *calls, struct err *err)
{
	const struct library *l = &libraries[id];
	void *library = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
	void **call = calls;
	size_t len;

	if (!library && l->older)
		library = dlopen(l->older, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fail(err, ENOPKG,
			    "%s cannot be loaded; install it: apt-get install "
			    "%s",
			    l->soname, l->package);
	for (; (len = strcspn(names, " "));
	     names += len + (names[len] == ' ')) {
		auto_free char *name =
			mem_printf("%s%.*s", prefix, (int)len, names);

		*call = dlsym(library, name);
		if (!*call++)
			return fail(err, ENOPKG,
				    "%s has no function %s; install another "
				    "version: apt-get install %s",
				    l->soname, name, l->package);
	}
	return 0;
}
