/*
 * Merge of metadata that both sides changed: owner, mode and xattrs. The side
 * that changed a value wins; each xattr is a value of its own.
 *
 * The ACL is an exception: the group bits of the mode are its mask, and the
 * owner and other bits exist in both (acl(5)). The ACL of one side with the
 * mode of the other would grant permissions that no user gave. Where the three
 * ACLs differ, mode and ACL must come from the same side.
 */
#include <string.h>

#include "base/auto.h"
#include "restore/plan/plan_private.h"
#include "snapshot/tree/tree.h"

#define ACCESS "system.posix_acl_access"

struct attr_sides {
	struct xattrs base, want, now;
	struct xattrs merged;
};

static void attr_sides_free(struct attr_sides *s)
{
	xattrs_free(&s->base);
	xattrs_free(&s->want);
	xattrs_free(&s->now);
	xattrs_free(&s->merged);
}

enum side { SIDE_NOW, SIDE_WANT, SIDE_NEITHER };

/* Selects the side. same: both sides have the same value. */
static enum side choose_attr_side(bool want_changed, bool now_changed,
				  bool same)
{
	if (!want_changed || same)
		return SIDE_NOW;
	return now_changed ? SIDE_NEITHER : SIDE_WANT;
}

/* False: both sides changed the number, to different values. */
static bool merge_number(uint32_t base, uint32_t want, uint32_t now,
			 uint32_t *ret)
{
	enum side side =
		choose_attr_side(want != base, now != base, want == now);

	*ret = side == SIDE_WANT ? want : now;
	return side != SIDE_NEITHER;
}

static bool merge_attr(struct attr_sides *s, const char *name)
{
	const struct xattr *base = xattrs_find(&s->base, name);
	const struct xattr *want = xattrs_find(&s->want, name);
	const struct xattr *now = xattrs_find(&s->now, name);
	enum side side = choose_attr_side(!xattrs_same_value(want, base),
					  !xattrs_same_value(now, base),
					  xattrs_same_value(want, now));
	const struct xattr *has = side == SIDE_WANT ? want : now;

	if (has && side != SIDE_NEITHER)
		xattrs_add(&s->merged, name, has->value, has->len);
	return side != SIDE_NEITHER;
}

/* Merges the mode together with the ACL. */
static bool merge_modes(struct attr_sides *s, const struct row *row,
			struct entry *to)
{
	const struct xattr *base = xattrs_find(&s->base, ACCESS);
	const struct xattr *want = xattrs_find(&s->want, ACCESS);
	const struct xattr *now = xattrs_find(&s->now, ACCESS);
	bool want_other = !xattrs_same_value(want, base);
	bool now_other = !xattrs_same_value(now, base);
	enum side side;

	if (!want_other && !now_other) {
		(void)merge_attr(s, ACCESS);
		return merge_number(row->base->mode, row->want->mode,
				    row->now.mode, &to->mode);
	}
	side = choose_attr_side(want_other ||
					row->want->mode != row->base->mode,
				now_other || row->now.mode != row->base->mode,
				xattrs_same_value(want, now) &&
					row->want->mode == row->now.mode);
	if (side == SIDE_WANT) {
		to->mode = row->want->mode;
		now = want;
	}
	if (now)
		xattrs_add(&s->merged, ACCESS, now->value, now->len);
	return side != SIDE_NEITHER;
}

int plan_meta_merge(struct planner *pl, const struct row *row, struct entry *to,
		    struct err *err)
{
	const struct entry *base = row->base, *want = row->want,
			   *now = &row->now;
	AUTO(attr_sides) struct attr_sides s = {0};
	size_t i;

	if (!merge_number(base->uid, want->uid, now->uid, &to->uid) ||
	    !merge_number(base->gid, want->gid, now->gid, &to->gid) ||
	    !merge_number(base->chattr, want->chattr, now->chattr, &to->chattr))
		return 0;
	if (oid_equal(&want->attrs, &base->attrs) &&
	    oid_equal(&now->attrs, &base->attrs))
		return merge_number(base->mode, want->mode, now->mode,
				    &to->mode);
	if (attrset_load(pl->store, &base->attrs, &s.base, err) < 0 ||
	    attrset_load(pl->store, &want->attrs, &s.want, err) < 0 ||
	    attrset_load(pl->store, &now->attrs, &s.now, err) < 0)
		return -err->num;
	if (!merge_modes(&s, row, to))
		return 0;
	/* Xattrs that neither side has any more need no merge. */
	for (i = 0; i < s.now.count; i++)
		if (strcmp(s.now.items[i].name, ACCESS) != 0 &&
		    !merge_attr(&s, s.now.items[i].name))
			return 0;
	for (i = 0; i < s.want.count; i++)
		if (strcmp(s.want.items[i].name, ACCESS) != 0 &&
		    !xattrs_find(&s.now, s.want.items[i].name) &&
		    !merge_attr(&s, s.want.items[i].name))
			return 0;
	return attrset_save(pl->store, &s.merged, &to->attrs, err) < 0
		       ? -err->num
		       : 1;
}
