#include "guard/change/user_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/rules/risk.h"
#include "guard/state/state.h"

#define RULES ".config/guard/risk.rules"
#define RULES_MAX (1u << 20)

int user_rules_load(struct err *err)
{
	auto_free char *home = state_find_home(err);
	auto_free char *path = home ? path_join(home, RULES) : NULL;
	/* Opened without O_NONBLOCK, a FIFO would block. */
	auto_close int fd =
		path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	AUTO(buf) struct buf text = {0};

	if (!home && err->num)
		return -err->num;
	if (fd < 0)
		return !path || errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : fail_errno(err, "open %s", text_quote(path));
	if (fd_slurp_own(fd, RULES_MAX, &text, err) < 0)
		return err_context(err, "%s", text_quote(path));
	risk_user_clear();
	return risk_user_parse(buf_text(&text), path, err);
}
