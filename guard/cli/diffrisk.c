#include "guard/cli/diffrisk.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/changes.h"
#include "guard/jsonout.h"
#include "guard/cli/output.h"
#include "guard/cli/collapse_risks.h"
#include "guard/cli/review_show.h"
#include "guard/risk.h"

struct changed_file {
	const struct changes_root *root;
	const struct change *c;
};

static bool read_changed_side(void *arg, bool now, struct buf *to)
{
	const struct changed_file *f = arg;
	uint32_t mode = now ? f->c->now.mode : f->c->old.mode;
	struct err ignored;

	return (S_ISLNK(mode) || S_ISREG(mode)) &&
	       changes_read(f->root, f->c->path, mode, now, to, &ignored) >= 0;
}

static void find_change_risks(const struct change *c,
			      const struct changes_root *root,
			      struct risks *ret)
{
	struct changed_file changed = {root, c};
	struct risk_file f = {
		.path = c->path,
		.old_mode = c->old.mode,
		.now_mode = c->now.mode,
		.old_size = c->old.size,
		.now_size = c->now.size,
		.acl = (c->flags & CHANGE_ACL) != 0,
		.same_time = timestamp_compare(c->old.mtime, c->now.mtime) == 0,
		.special = (c->flags & CHANGE_SETID) != 0,
		.read = read_changed_side,
		.arg = &changed,
	};

	if (!root->home || !changes_is_cache(c->path))
		risk_judge(&f, ret);
}

/* The new path of a move decides. */
static char risk_letter(const struct change_list *list, const struct change *c)
{
	return c->kind != CHANGE_DELETED && changes_is_moved(list, c)
		       ? 'R'
		       : changes_letter(c->kind);
}

static void print_risk_head(bool *printed, const char *where)
{
	if (!*printed)
		(void)printf("\n%sDangerous, or executed later%s%s\n",
			     output_style(STYLE_BOLD), where,
			     output_style(STYLE_NONE));
	*printed = true;
}

void diffrisk_print(const struct changes_root *g)
{
	const struct change_list *list = &g->list;
	AUTO(collapse_risks) struct collapse_risks collapsed = {0};
	AUTO(buf) struct buf where = {0};
	bool any = false;
	size_t i, k;

	output_name(&where, g->where);

	for (i = 0; i < list->count && !output_has_failed(); i++) {
		const struct change *c = &list->items[i];
		AUTO(risks) struct risks r = {0};
		AUTO(buf) struct buf name = {0};

		find_change_risks(c, g, &r);
		for (k = 0; k < r.count; k++) {
			if (!collapse_risks_show(&collapsed, c->path,
						 &r.items[k]))
				continue;
			print_risk_head(&any, buf_text(&where));
			if (!name.len) {
				output_name(&name, g->prefix);
				output_name(&name, c->path);
				(void)printf("  %c  %s\n", risk_letter(list, c),
					     buf_text(&name));
			}
			collapse_risks_line(&r.items[k], "     ", NULL);
		}
	}
	if (collapse_risks_any(&collapsed)) {
		print_risk_head(&any, buf_text(&where));
		collapse_risks_print(&collapsed, "  ");
	}
}

void diffrisk_json(const struct changes_root *g, const char *dir,
		   struct jsonstream *to)
{
	const struct change_list *list = &g->list;
	size_t i, k;

	for (i = 0; i < list->count; i++) {
		AUTO(risks) struct risks r = {0};

		find_change_risks(&list->items[i], g, &r);
		for (k = 0; k < r.count; k++) {
			auto_free char *text = mem_printf(
				"%s%s", r.items[k].runs ? "runs " : "",
				r.items[k].text);
			json_t *object = json_object();

			jsonout_text(object, "path", list->items[i].path);
			(void)json_object_set_new(object, "home",
						  json_boolean(g->home));
			jsonout_text(object, "folder", dir);
			jsonout_text(object, "level",
				     risk_level_name(r.items[k].level));
			jsonout_text(object, "text", text);
			jsonstream_put(to, NULL, object);
		}
	}
}
