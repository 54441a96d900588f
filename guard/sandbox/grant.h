/*
 * Grants: files and directories of the machine that an option or a line of a
 * profile exposes to a run (--ro, --rw, `ro`), or gives a layer of its own
 * (--cow). One resolver for all of them, and for the paths that --hide masks.
 *
 * A run can make symbolic links, and they reach the real files by `guard
 * apply`. A grant through such a link would expose what the link's author
 * chooses, so the resolver opens a path part by part, never follows a link
 * itself, and records each one. The caller then refuses a link to a masked
 * path and names the target of any other one. A mount uses a descriptor of
 * the very file that was checked: grant_reopen().
 */
#ifndef GUARD_SANDBOX_GRANT_H
#define GUARD_SANDBOX_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

enum grant_kind { GRANT_READ_ONLY, GRANT_READ_WRITE, GRANT_LAYER, GRANT_MASK };

struct grant {
	enum grant_kind kind;
	char *label; /* for messages: "--rw 'dist'" */
	char *written; /* as the user wrote it */
	char *real; /* absolute, without links */
	int fd; /* O_PATH of real */
	mode_t mode; /* of real */
	bool project; /* a line of the project's own profile */
	struct names links; /* absolute paths of the links on the way */
};

struct grants {
	struct grant *items;
	size_t count, capacity;
};

/*
 * Resolves written (absolute, or below the current directory) and appends the
 * grant to `to`. label becomes the grant's, also after an error. beneath: an
 * absolute path without links that no link or ".." may leave, or NULL. Errors
 * have the label in front; -ENOENT and -ENOTDIR: no such file, -EXDEV: it
 * leads out of beneath, -ELOOP: too many links.
 */
int grants_add(struct grants *to, enum grant_kind kind, char *label,
	       const char *written, const char *beneath, struct err *err);
void grants_free(struct grants *grants);

/* Opens real again in this mount namespace, with O_PATH. -ESTALE: a link or
 * another file is there now. */
int grant_reopen(const struct grant *g, struct err *err);

/* True if a grant of the list is path, or a directory above it. */
bool grants_cover(const struct grants *grants, const char *path);

/* True if path itself is granted. */
bool grants_name(const struct grants *grants, const char *path);

/*
 * Returns the path of `hide` (as listed) that is, or is above, the grant's
 * file, under any of its mount points; NULL: none. *ret_named: the user wrote
 * the name of that path, or no link led there.
 */
const char *grant_find_hidden(const struct grant *g, char *const *hide,
			      bool *ret_named);

/* "--rw 'dist' is '/srv/data'" for a grant through a link that lies below the
 * project or the home directory (or NULL) and leads out of the project; to
 * free. NULL: no such link. */
char *grant_describe_link(const struct grant *g, const char *project,
			  const char *home);

#endif
