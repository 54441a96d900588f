#include <unistd.h>

#include "base/path.h"
#include "base/shipped.h"
#include "guard/cli/commands.h"

/* The demo gets these variables alone: others of git, guard and the shell would
 * lead it out of its own directory. */
static const char *const kept[] = {"PATH",     "TERM",	 "COLORTERM",
				   "NO_COLOR", "LC_ALL", "LANG",
				   "LC_CTYPE", "TMPDIR", "XDG_RUNTIME_DIR"};

int cmd_demo(const struct options *o, struct context *c, struct err *err)
{
	auto_free char *self = path_resolve("/proc/self/exe", err);
	auto_free char *here = getcwd(NULL, 0);
	const char *values[ARRAY_SIZE(kept)];
	size_t i;

	(void)c;
	if (!self)
		return -err->num;
	for (i = 0; i < ARRAY_SIZE(kept); i++)
		values[i] = getenv(kept[i]);
	(void)clearenv();
	for (i = 0; i < ARRAY_SIZE(kept); i++)
		if (values[i])
			(void)setenv(kept[i], values[i], 1);
	/* A shell in a deleted directory begins with a message. */
	if (!here && chdir("/") < 0)
		return fail_errno(err, "/");
	(void)execl("/bin/sh", "sh", "-c", shipped_text("guard/cli/demo.sh"),
		    "guard demo", self, o->yes ? "-y" : NULL, NULL);
	return fail(err, errno, "cannot execute /bin/sh");
}
