#include "guard/change/changeset_private.h"

#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/vec.h"

#define SECOND 1000000000
#define MICROSECOND 1000
/* The coarsest tick of the kernel's clock, and that of file systems which keep
 * whole seconds (vfat: two). */
#define TICK 10000000
#define COARSE_TICK 2

static struct timestamp add_time(struct timestamp t, int64_t sec, uint64_t nsec)
{
	nsec += t.nsec;
	return (struct timestamp){
		.sec = t.sec + sec + (int64_t)(nsec / SECOND),
		.nsec = (uint32_t)(nsec % SECOND),
	};
}

struct build_times {
	bool apply;
	struct timestamp newest; /* mtime of a changed file outside
				    of the plans */
	VEC(struct step *) written;
};

/* Entries of a .git are neither sources nor products. */
static bool is_in_git(const char *path)
{
	return path_has_part(path, ".git");
}

/* --- the files outside of the action --- */

struct outside {
	const struct changeset_root *root;
	struct pathset steps; /* with all entries below deleted directories */
	struct timestamp *newest;
};

static int raise_newest(void *arg, const char *path, const struct entry *was,
			const struct entry *now, struct err *err)
{
	struct outside *o = arg;

	(void)err;
	if (now && !(o->root->restores_all && was) && !S_ISDIR(now->mode) &&
	    !is_in_git(path) && !pathset_contains(&o->steps, path))
		timestamp_raise(o->newest, now->mtime);
	return 0;
}

/* The newest file that differs between base and the present state and is no
 * path of the plan. Where all files are restored, the newest file that is not
 * among them. */
static int find_newest(struct changeset *set, const struct changeset_root *root,
		       struct timestamp *newest, struct err *err)
{
	const struct entry *was =
		root->restores_all ? &root->want.root : &root->base.root;
	const struct plan *plan = &root->plan;
	auto_free const char **paths =
		mem_zalloc((plan->steps.count + 1) * sizeof(*paths));
	struct outside o = {.root = root, .newest = newest};
	size_t count = 0, i;
	int got;

	if (root->only || !was->mode)
		return 0;
	for (i = 0; i < plan->steps.count; i++)
		if (!S_ISDIR(plan->steps.items[i].to.mode))
			paths[count++] = plan->steps.items[i].path;
	o.steps = pathset_make(paths);
	got = tree_diff(set->c->store, was, &root->now.root, raise_newest, &o,
			err);
	pathset_free(&o.steps);
	return got < 0 ? got : 0;
}

/* --- the written files --- */

static bool is_moved_from_upper(const struct changeset_root *root,
				const char *path)
{
	char *const *dir = root->layer ? root->layer->paths : NULL;

	while (dir && *dir && !path_below(path, *dir))
		dir++;
	return dir && *dir;
}

/* all: also new files, and files of which only the time differs. */
static bool is_written(const struct changeset_root *root, const struct step *s,
		       bool all)
{
	/* A hard link of an unchanged file has the time of that file. */
	if (!S_ISREG(s->to.mode) || s->hardlink_to || is_in_git(s->path))
		return false;
	if (!all || s->kind == STEP_REPLACE)
		return s->kind == STEP_REPLACE;
	return s->kind == STEP_CREATE ? !is_moved_from_upper(root, s->path)
				      : !entry_same_time(&s->from, &s->to);
}

/* Adds the files that the plan writes, unless their times can be kept. */
static void add_written(struct build_times *b, struct changeset_root *root)
{
	bool all = b->apply || root->restores_all, keep = all && !root->only;
	size_t before = b->written.count, i;

	for (i = 0; i < root->plan.steps.count; i++) {
		struct step *s = &root->plan.steps.items[i];

		if (!is_written(root, s, all))
			continue;
		*VEC_ADD(&b->written) = s;
		keep = keep && timestamp_compare(s->to.mtime, b->newest) > 0;
	}
	if (keep)
		b->written.count = before;
}

static int compare_times(const void *a, const void *b)
{
	return timestamp_compare((*(struct step *const *)a)->to.mtime,
				 (*(struct step *const *)b)->to.mtime);
}

/* A time that is later than all of the changed files. */
static struct timestamp present_time(const struct build_times *b)
{
	struct timestamp at = timestamp_now();
	size_t i;

	timestamp_raise(&at, b->newest.nsec
				     ? add_time(b->newest, 0, TICK)
				     : add_time(b->newest, COARSE_TICK, 0));
	for (i = 0; i < b->written.count; i++) {
		const struct step *s = b->written.items[i];

		if (s->kind == STEP_REPLACE && s->from.mtime.sec == at.sec)
			at = (struct timestamp){.sec = at.sec + 1};
	}
	return at;
}

int changeset_times_set(struct changeset *set, bool apply,
			struct timestamp *ret_last, struct err *err)
{
	struct build_times b = {.apply = apply};
	struct timestamp at, was = {0};
	size_t i;
	int got = 0;

	*ret_last = (struct timestamp){0};
	for (i = 0; i < set->root_count + set->hidden && got == 0; i++)
		if (!set->roots[i].excluded)
			got = find_newest(set, &set->roots[i], &b.newest, err);
	for (i = 0; i < set->root_count + set->hidden && got == 0; i++)
		if (!set->roots[i].excluded)
			add_written(&b, &set->roots[i]);
	VEC_SORT(&b.written, compare_times);
	at = present_time(&b);
	for (i = 0; i < b.written.count; i++) {
		struct entry *to = &b.written.items[i]->to;

		if (!i || timestamp_compare(to->mtime, was) != 0)
			at = add_time(at, 0, MICROSECOND);
		was = to->mtime;
		to->mtime = *ret_last = at;
	}
	VEC_FREE(&b.written);
	return got;
}

void changeset_times_wait(struct timestamp last)
{
	struct timespec until = {.tv_sec = last.sec, .tv_nsec = last.nsec};

	if (last.sec <= add_time(timestamp_now(), COARSE_TICK, 0).sec)
		(void)clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until,
				      NULL);
}
