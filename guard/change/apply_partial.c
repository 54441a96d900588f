/*
 * A large project of which a run changed little is not read whole for that,
 * twice: what the plan will not ask for, nobody has to look at. The snapshots
 * before and after such an apply are of those paths only.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/apply_log.h"
#include "guard/change/apply_plan.h"
#include "guard/change/partial_snapshot.h"

struct partial_choice {
	char **paths;
	const char *last; /* that comes with all below; in paths */
	uint64_t count, max;
	bool all; /* something needs all of it to be known */
	struct differences *differences;
};

static bool has_hard_links(const struct entry *e)
{
	return e && e->link_group && S_ISREG(e->mode);
}

/* A file's other names may be anywhere. */
static int collect_partial_path(void *arg, const char *path,
				const struct entry *base,
				const struct entry *want, struct err *err)
{
	struct partial_choice *s = arg;
	bool is_dir =
		base && want && S_ISDIR(base->mode) && S_ISDIR(want->mode);
	auto_free char *alone = NULL;

	(void)err;
	/* Below a path that counts once there may be any number. */
	if (s->differences->count < 4 * s->max)
		differences_add(s->differences, path, base, want);
	else
		s->differences->complete = false;
	if (has_hard_links(base) || has_hard_links(want))
		s->all = true;
	if (s->all || !*path || path_has_part(path, ".git") ||
	    (s->last && path_below(path, s->last)))
		return 0;
	if (++s->count > s->max) {
		s->all = true;
		return 0;
	}
	if (is_dir)
		alone = mem_printf("%s/", path);
	s->last = NULL;
	mem_list_add(&s->paths, is_dir ? alone : path);
	if (!is_dir)
		s->last = s->paths[s->count - 1];
	return 0;
}

/* What else an apply takes from is of another kind: it has its own look. */
bool apply_partial_is_possible(const struct apply_plan *a)
{
	const struct resolved_run *p = a->p;

	return a->may_be_partial && !p->session.live &&
	       !resolve_run_home_paths(p) && p->session.root_count == 1 &&
	       !resolve_run_names_git(resolve_run_paths(p, 0)) &&
	       partial_snapshot_max_paths(&a->change.roots[0].base) &&
	       !apply_log_any(&p->session);
}

int apply_partial_choose_paths(struct apply_plan *a, struct err *err)
{
	struct changeset_root *root = &a->change.roots[0];
	struct partial_choice s = {
		.max = partial_snapshot_max_paths(&root->base),
		.differences = &a->differences,
	};
	int got;

	s.differences->complete = true;
	got = tree_diff(a->c->store, &root->base.root, &root->want.root,
			collect_partial_path, &s, err);
	if (got < 0 || s.all)
		mem_list_free(&s.paths);
	if (got < 0 || !s.differences->complete)
		differences_free(s.differences);
	root->only = s.paths;
	return got < 0 ? got : 0;
}
