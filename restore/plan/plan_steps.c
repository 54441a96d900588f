/* Addition of steps to the plan: refusal of dangerous permissions, and creation
 * of missing parents. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "restore/plan/plan_private.h"
#include "snapshot/tree/tree.h"

/* 1: an xattr gives capabilities to every user of the file. kept: the xattrs
 * exist already, so the same capabilities are not new. */
static int grants_capability(struct planner *pl, const struct entry *from,
			     const struct entry *to, bool kept, struct err *err)
{
	static const char name[] = "security.capability";
	AUTO(xattrs) struct xattrs shall = {0};
	AUTO(xattrs) struct xattrs is = {0};
	const struct xattr *given;

	if (kept && oid_equal(&to->attrs, &from->attrs))
		return 0;
	if (attrset_load(pl->store, &to->attrs, &shall, err) < 0)
		return -err->num;
	given = xattrs_find(&shall, name);
	if (!given || !kept)
		return given != NULL;
	if (attrset_load(pl->store, &from->attrs, &is, err) < 0)
		return -err->num;
	return !xattrs_same_value(given, xattrs_find(&is, name));
}

/* The set-group-ID bit of a directory only passes the group on. A file that has
 * the bits already and keeps its bytes gains no permission. */
static int grants_permission(struct planner *pl, const struct entry *from,
			     const struct entry *to, struct err *err)
{
	bool kept = from->mode && entry_same_content(from, to) &&
		    from->uid == to->uid && from->gid == to->gid;

	if (!S_ISREG(to->mode))
		return 0;
	if ((to->mode & 06000) &&
	    !(kept && (to->mode & 06000) == (from->mode & 06000)))
		return 1;
	return grants_capability(pl, from, to, kept, err);
}

static bool is_unreadable_dir(const struct entry *e)
{
	return S_ISDIR(e->mode) && (e->mode & 0500) != 0500;
}

/* 1: the refusal stands, and the plan lists it now, or the user leaves the
 * entry out. */
static int settle_refusal(struct planner *pl, struct refusal *refusal,
			  const char *path, const struct entry *from,
			  const struct entry *to)
{
	const struct plan_options *o = pl->options;
	enum plan_consent consent = CONSENT_ASK;

	refusal->path = mem_strdup(path);
	if (o->consent)
		consent = o->consent(o->consent_arg, from, to, refusal);
	else if (refusal->kind == REFUSED_RISK)
		consent = CONSENT_GIVEN;
	if (consent == CONSENT_ASK) {
		*VEC_ADD(&pl->plan->refusals) = *refusal;
		return 1;
	}
	if (consent == CONSENT_LEAVE)
		names_add(&pl->plan->excepted, path);
	free(refusal->path);
	free(refusal->text);
	return consent == CONSENT_LEAVE;
}

/* 1: this entry becomes no step. */
static int refuse_step(struct planner *pl, const char *path,
		       const struct entry *from, const struct entry *to,
		       struct err *err)
{
	const struct plan_options *o = pl->options;
	struct refusal refusal = {.kind = REFUSED_RISK};
	int got;

	if (!o->refuse_special)
		return 0;
	if (mem_list_has(o->agreed, path))
		return 0;
	if (o->git_apart && !S_ISDIR(to->mode) &&
	    plan_git_obeys(pl, path, to->mode) &&
	    !mem_list_has(o->paths, path)) {
		refusal.kind = REFUSED_GIT;
	} else if (o->refuse_unreadable && is_unreadable_dir(to) &&
		   !is_unreadable_dir(from)) {
		refusal.kind = REFUSED_UNREADABLE;
	} else {
		got = grants_permission(pl, from, to, err);
		if (got < 0)
			return got;
		if (got)
			refusal.kind = REFUSED_SETID;
	}
	return settle_refusal(pl, &refusal, path, from, to);
}

uint32_t step_group(const struct plan *plan, const struct entry *e)
{
	return geteuid() == 0 || e->gid == getegid() || group_member(e->gid)
		       ? e->gid
		       : plan->group;
}

int step_change(struct planner *pl, enum step_kind kind, const struct row *row,
		const struct entry *to, struct err *err)
{
	int got = refuse_step(pl, row->path, &row->now, to, err);
	struct entry wanted = *to;

	/* A plain user cannot chgrp(1) to a group of others. */
	if (kind == STEP_META && step_group(pl->plan, to) != to->gid)
		wanted.gid = row->now.gid;
	if (got == 0 && wanted.gid != to->gid &&
	    entry_same_meta(&row->now, &wanted) &&
	    entry_same_time(&row->now, &wanted))
		pl->plan->already++;
	else if (got == 0)
		step_push(pl, kind, row->path, &row->now, &wanted);
	return got < 0 ? got : 0;
}

void step_add_create(struct planner *pl, const char *path,
		     const struct entry *to)
{
	step_push(pl, STEP_CREATE, path, &planner_nothing, to);
	if (S_ISDIR(to->mode))
		*VEC_ADD(&pl->made) = mem_strdup(path);
}

/*
 * 1: the parent directory of path exists or will exist. A missing parent is
 * created when want has it and base did not, because it is part of the request;
 * a parent that the user deleted only when want may replace the user's changes.
 * 0: it may not be created.
 */
static int parent_ready(struct planner *pl, const char *dir, const char *path,
			struct err *err)
{
	AUTO(entry) struct entry now = {0};
	AUTO(entry) struct entry base = {0};
	AUTO(entry) struct entry want = {0};
	auto_free char *up = NULL;
	int got;

	if ((pl->ready && strcmp(pl->ready, dir) == 0) ||
	    sorted_find(dir, pl->made.items, pl->made.count,
			sizeof(*pl->made.items), 0, path_compare))
		return 1;
	if (lookup_find(&pl->find_now, dir, &now, err) < 0 ||
	    lookup_find(&pl->find_base, dir, &base, err) < 0 ||
	    lookup_find(&pl->find_want, dir, &want, err) < 0)
		return -err->num;
	if (now.mode)
		return S_ISDIR(now.mode);
	if ((base.mode && !planner_takes_theirs(pl, path)) ||
	    !S_ISDIR(want.mode))
		return 0;
	up = path_parent(dir);
	got = *dir ? parent_ready(pl, up, path, err) : 1;
	if (got != 1)
		return got;
	if (base.mode)
		planner_overwrite(pl, CONFLICT_DELETED_NOW, dir);
	step_add_create(pl, dir, &want);
	return 1;
}

int step_create(struct planner *pl, const struct row *row, struct err *err)
{
	auto_free char *dir = path_parent(row->path);
	int got = *row->path ? parent_ready(pl, dir, row->path, err) : 1;

	if (got < 0)
		return got;
	if (got && !(pl->ready && strcmp(pl->ready, dir) == 0)) {
		free(pl->ready);
		pl->ready = TAKE(dir);
	}
	if (!got) {
		planner_conflict_subtree(pl, CONFLICT_PARENT, row->path);
		return 0;
	}
	got = refuse_step(pl, row->path, &planner_nothing, row->want, err);
	if (got == 0)
		step_add_create(pl, row->path, row->want);
	return got < 0 ? got : 0;
}

int step_change_type(struct planner *pl, const struct row *row, struct err *err)
{
	int got = refuse_step(pl, row->path, &row->now, row->want, err);

	if (got)
		return got < 0 ? got : 0;
	step_push(pl, STEP_DELETE, row->path, &row->now, &planner_nothing);
	step_add_create(pl, row->path, row->want);
	return 0;
}
