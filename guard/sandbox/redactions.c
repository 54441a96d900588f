#include "guard/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/sandbox/redact.h"
#include "base/vec.h"

#define SETTINGS_MAX (1u << 20)

/* Settings files below the home directory that may contain tokens. */
static const char *const settings_files[] = {
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

/* Returns 0; 1 for a file that is unreadable or not text, and may be all
 * secret; -1 for a missing file. */
static int read_settings_file(const char *path, struct buf *ret)
{
	struct err ignored;
	auto_close int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -1 : 1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	if (fd_slurp(fd, SETTINGS_MAX, ret, &ignored) < 0 ||
	    (ret->len && memchr(ret->data, '\0', ret->len))) {
		buf_clear(ret);
		return 1;
	}
	return 0;
}

/* Returns 1 and the text for the run; 0 if the file is missing, contains no
 * secret, or is masked as a whole. */
static int redact_settings_file(const char *path, bool listed,
				struct redaction *ret)
{
	AUTO(buf) struct buf text = {0};
	AUTO(buf) struct buf cut = {0};
	int got = read_settings_file(path, &text);
	bool any;

	if (got < 0 || (got && listed))
		return 0;
	any = got || redact_text(text.data, text.len, &cut);
	if (!any && !listed)
		return 0;
	*ret = (struct redaction){
		.path = mem_strdup(path), .text = cut, .any = any};
	cut = (struct buf){0};
	return 1;
}

void redactions_find(const char *home, struct redactions *ret)
{
	const char *const *name;

	for (name = settings_files; home && *name; name++) {
		auto_free char *path = mem_printf("%s/%s", home, *name);
		struct redaction cut;

		if (!redact_settings_file(path, credentials_listed(*name),
					  &cut))
			continue;
		*VEC_ADD(ret) = cut;
	}
}

void redactions_free(struct redactions *redactions)
{
	size_t i;

	for (i = 0; i < redactions->count; i++) {
		free(redactions->items[i].path);
		buf_free(&redactions->items[i].text);
	}
	free(redactions->items);
	*redactions = (struct redactions){0};
}
