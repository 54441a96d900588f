#include "base/boot.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/fd.h"

const char *boot_id(void)
{
	static char id[40];
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	if (*id || fd_slurp_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
			       4096, &text, &ignored) < 0)
		return id;
	(void)snprintf(id, sizeof(id), "%.36s", buf_text(&text));
	return id;
}
