/* Judges a file by the user's own rules, which risk_rules.c reads. */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/rules/risk_private.h"

/* Both sides of a file, no bytes of a deleted one; false: the content is
 * unknown. */
static bool read_sides(const struct risk_file *f, struct buf *old,
		       struct buf *now)
{
	return f->now_size <= RISK_READ_MAX && f->old_size <= RISK_READ_MAX &&
	       (!f->now_mode ||
		(S_ISREG(f->now_mode) && f->read(f->arg, true, now))) &&
	       (!S_ISREG(f->old_mode) || f->read(f->arg, false, old));
}

/* The class of the first line of files that names the path; false: none. */
static bool names_file(const struct rule *r, const char *path,
		       enum risk_as *ret_as)
{
	size_t i;

	for (i = 0; i < r->files.count; i++) {
		const char *at = r->files.items[i].globs;

		*ret_as = r->files.items[i].as;
		while (*at) {
			size_t len = r->files.items[i].one ? strlen(at)
							   : strcspn(at, " \t");
			auto_free char *glob = mem_strndup(at, len);

			if (risk_pattern_matches(glob, path))
				return true;
			at += len;
			at += strspn(at, " \t");
		}
	}
	return false;
}

static int compare_levels(const void *a, const void *b)
{
	const struct risk *x = a, *y = b;

	return (x->level < y->level) - (x->level > y->level);
}

static void lower_switched_off(const char *path, struct risks *r)
{
	const struct rule_list *l = rule_list_users();
	enum risk_as ignored;
	bool any = false;
	size_t i, k;

	for (i = 0; i < l->count; i++)
		for (k = 0; l->items[i].off && k < r->count; k++) {
			const struct rule *off = &l->items[i];
			struct risk *risk = &r->items[k];

			if (risk->level != RISK_HIGH ||
			    strcmp(risk->id, off->rule.id) != 0 ||
			    (off->files.count &&
			     !names_file(off, path, &ignored)))
				continue;
			risk->level = RISK_NOTE;
			any = true;
		}
	if (any)
		VEC_SORT(r, compare_levels);
}

void risk_user_judge(const struct risk_file *f, bool complete,
		     struct risks *ret)
{
	const struct rule_list *l = rule_list_users();
	AUTO(buf) struct buf old = {0}, now = {0};
	bool tried = false, known = false;
	enum risk_as as;
	size_t i;

	for (i = 0; i < l->count; i++) {
		const struct rule *r = &l->items[i];

		if (r->off || (!complete && r->rule.level != RISK_CRITICAL) ||
		    S_ISDIR(f->now_mode) || !names_file(r, f->path, &as))
			continue;
		if (!tried)
			known = read_sides(f, &old, &now);
		tried = true;
		if (known && (r->conditions.count || as != AS_NAME))
			risk_judge_user_rule(f->path, r, as, &old,
					     f->now_mode ? &now : NULL, ret);
		else if (f->now_mode)
			risk_add(ret, &r->rule, RISK_NONE);
	}
	lower_switched_off(f->path, ret);
}
