#include "guard/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/sandbox/internal.h"
#include "guard/sandbox/redact.h"

#define CUT_MAX (1u << 20)

/* Below the home folder: settings that may have tokens among them. */
static const char *const mixed[] = {
	".npmrc",
	".yarnrc",
	".yarnrc.yml",
	".gitconfig",
	".config/git/config",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".config/pip/pip.conf",
	".pip/pip.conf",
	".cargo/config",
	".cargo/config.toml",
	NULL,
};

/* 0; 1: it is no text that can be read, and may be all secret; -1: there is
 * none. */
static int read_text(const char *path, struct buf *ret)
{
	struct err ignored;
	auto_close int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -1 : 1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	if (fd_slurp(fd, CUT_MAX, ret, &ignored) < 0 ||
	    (ret->len && memchr(ret->data, '\0', ret->len))) {
		buf_clear(ret);
		return 1;
	}
	return 0;
}

/*
 * 1: *ret is what the run shall see instead of the file; 0: it is not there,
 * or has nothing to hide, or is hidden as a whole already.
 */
static int look(const char *path, bool listed, struct sandbox_cut *ret)
{
	AUTO(buf) struct buf text = {0};
	AUTO(buf) struct buf cut = {0};
	int got = read_text(path, &text);
	bool any;

	if (got < 0 || (got && listed))
		return 0;
	any = got || redact_text(text.data, text.len, &cut);
	if (!any && !listed)
		return 0;
	*ret = (struct sandbox_cut){
		.path = mem_strdup(path), .text = cut, .any = any};
	cut = (struct buf){0};
	return 1;
}

void sandbox_cuts_find(const char *home, struct sandbox_cuts *ret)
{
	const char *const *name;

	for (name = mixed; home && *name; name++) {
		auto_free char *path = mem_printf("%s/%s", home, *name);
		struct sandbox_cut cut;

		if (!look(path, credentials_listed(*name), &cut))
			continue;
		GROW(ret->items, ret->count, ret->room);
		ret->items[ret->count++] = cut;
	}
}

void sandbox_cuts_free(struct sandbox_cuts *cuts)
{
	size_t i;

	for (i = 0; i < cuts->count; i++) {
		free(cuts->items[i].path);
		buf_free(&cuts->items[i].text);
	}
	free(cuts->items);
	*cuts = (struct sandbox_cuts){0};
}
