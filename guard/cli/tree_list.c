#include "guard/cli/tree_list.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "guard/cli/jsonstream.h"
#include "guard/history/runview.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/output.h"
#include "guard/cli/table.h"

static void add_listed_name(struct buf *b, const struct entry *e)
{
	text_escape_name(b, e->name);
	if (S_ISDIR(e->mode))
		buf_add_char(b, '/');
}

static void add_long_row(struct table *t, const struct entry *e)
{
	static const char letters[IFTODT(S_IFMT) + 1] = {
		[DT_DIR] = 'd',	 [DT_LNK] = 'l', [DT_FIFO] = 'p',
		[DT_SOCK] = 's', [DT_CHR] = 'c', [DT_BLK] = 'b',
	};
	char letter = letters[IFTODT(e->mode)];
	AUTO(buf) struct buf name = {0};
	char chattr[CHATTR_TEXT_LEN];

	add_listed_name(&name, e);
	if (e->link) {
		buf_add_text(&name, " -> ");
		text_escape_name(&name, e->link);
	}
	if (e->chattr)
		buf_printf(&name, "  (chattr %s)",
			   chattr_text(e->chattr, chattr));
	if (e->flags & ENTRY_INCOMPLETE)
		buf_add_text(&name, "  (incomplete)");
	table_row(t, text_printf("%c%04o", letter ?: '-', e->mode & 07777),
		  text_printf("%u:%u", e->uid, e->gid),
		  S_ISREG(e->mode) ? text_printf("%" PRIu64, e->size) : "-",
		  text_time(e->mtime), buf_text(&name));
}

void tree_list_entries(const struct tree *tree, enum tree_list_form form)
{
	AUTO(table) struct table t = {.width = TABLE_WHOLE};
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < tree->count; i++) {
		const struct entry *e = &tree->entries[i];
		AUTO(buf) struct buf name = {0};

		if (form == TREE_LIST_LONG) {
			add_long_row(&t, e);
		} else if (form == TREE_LIST_RAW) {
			(void)printf("%s%c", e->name, '\0');
		} else if (form == TREE_LIST_JSON) {
			json_t *object = json_object();
			char chattr[CHATTR_TEXT_LEN];

			jsonout_text(object, "name", e->name);
			jsonout_text(object, "type", jsonout_type(e->mode));
			jsonout_mode(object, e->mode);
			jsonout_number(object, "uid", e->uid);
			jsonout_number(object, "gid", e->gid);
			jsonout_time(object, "mtime", e->mtime);
			if (S_ISREG(e->mode))
				jsonout_number(object, "size", e->size);
			if (e->chattr)
				jsonout_text(object, "chattr",
					     chattr_text(e->chattr, chattr));
			if (e->link)
				jsonout_text(object, "target", e->link);
			jsonout_bool(object, "incomplete",
				     e->flags & ENTRY_INCOMPLETE);
			jsonout_add(array, object);
		} else {
			add_listed_name(&name, e);
			(void)printf("%s\n", buf_text(&name));
		}
	}
	table_print(&t, "", stdout);
	if (form == TREE_LIST_JSON)
		jsonstream_print_list("guard.ls/1", "entries", array);
	else
		json_decref(array);
}

int tree_list(struct store *store, const struct entry *e,
	      enum tree_list_form form, struct err *err)
{
	AUTO(tree) struct tree tree = {0};

	if (runview_load_tree(store, e, &tree, err) < 0)
		return -err->num;
	tree_list_entries(&tree, form);
	return 0;
}
