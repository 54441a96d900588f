#include "guard/state/free_space.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "base/text.h"

#define OF_GUARD                                                               \
	"guard du shows guard's disk usage, guard prune --trash empties the "  \
	"trash; GUARD_HOME=/some/path moves the state"

static char *state, *project;

void free_space_state(const char *path)
{
	free(state);
	state = mem_strdup(path);
}

void free_space_project(const char *path)
{
	free(project);
	project = mem_strdup(path);
}

static bool read_free_space(const char *path, dev_t *ret_dev,
			    uint64_t *ret_free)
{
	struct statvfs fs;
	struct stat st;

	if (!path || stat(path, &st) < 0 || statvfs(path, &fs) < 0)
		return false;
	*ret_dev = st.st_dev;
	/* A file system without free inodes has no usable space. */
	*ret_free = fs.f_files && !fs.f_favail
			    ? 0
			    : (uint64_t)fs.f_bavail * fs.f_frsize;
	return true;
}

char *free_space_hint(void)
{
	uint64_t ours, theirs;
	dev_t ours_dev, theirs_dev;

	if (!read_free_space(state, &ours_dev, &ours) ||
	    !read_free_space(project, &theirs_dev, &theirs) ||
	    ours_dev == theirs_dev)
		return mem_printf(OF_GUARD);
	if (theirs < ours)
		return mem_printf("the disk of %s is full: it has %s left "
				  "(guard's own disk has %s)",
				  text_quote(project), text_size(theirs),
				  text_size(ours));
	return mem_printf(
		"guard's disk has %s left, the disk of %s has %s; " OF_GUARD,
		text_size(ours), text_quote(project), text_size(theirs));
}
