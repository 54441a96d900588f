#include "guard/sandbox/git_process.h"

#include <unistd.h>

#include "base/auto.h"
#include "guard/sandbox/filter.h"
#include "guard/sandbox/namespaces.h"

int git_process_confine(const struct names *readable)
{
	AUTO(buf) struct buf program = {0};
	struct err err;

	if (landlock_allow_files(readable, &err) < 0)
		return -err.num;
	filter_make_git(getpid(), &program);
	return filter_load(program.data, program.len, &err);
}
