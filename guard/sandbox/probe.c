#include "guard/sandbox/sandbox.h"

#include <stddef.h>

/* By doing it: whatever stands in the way of a run stands in this one's. */
int sandbox_probe(int (*in_child)(void *arg, struct err *err), void *arg,
		  struct err *err)
{
	static char name[] = "true", *argv[] = {name, NULL}, *envp[] = {NULL};
	struct sandbox_policy policy = {
		.argv = argv,
		.envp = envp,
		.cwd = "/",
		.tmp_fd = -1,
		.var_tmp_fd = -1,
		.exec_socket_fd = -1,
		.open_layers = in_child,
		.layers_arg = arg,
	};
	struct sandbox *sb = NULL;
	int rc = sandbox_start(&policy, &sb, err);

	sandbox_free(&sb);
	return rc;
}
